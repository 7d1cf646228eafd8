"""A table of wages with a canary among them, and a server of it."""

import pytest

from errorfloor.service import open_database
from serving import served, write_pay


def pytest_terminal_summary(terminalreporter):
    reasons = {str(one.longrepr[2]) for one in terminalreporter.stats.get("skipped", ())}
    for reason in sorted(one for one in reasons if "NOT TESTED: " in one):
        terminalreporter.write_line(reason.removeprefix("Skipped: "), yellow=True)


@pytest.fixture(scope="module")
def pay(tmp_path_factory):
    """A catalogue whose allowance is never used up by a test: its ledger is of this module alone."""
    return write_pay(tmp_path_factory.mktemp("pay"), floor=10.0)


@pytest.fixture(scope="module")
def database(pay):
    with open_database(pay) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(database, tmp_path_factory):
    with served(database, tmp_path_factory.mktemp("server")) as here:
        yield here


@pytest.fixture
def analyst(server):
    return server.client("analyst")


@pytest.fixture
def owner(server):
    return server.client("owner")


@pytest.fixture
def reader(server):
    return server.client("reader")
