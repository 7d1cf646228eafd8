"""Over HTTP twins say the same but for released numbers: status, size, order, log lines and metrics."""

import re

import pytest

from errorfloor.errors import AnswerFailedError
from errorfloor.service import Database, open_database
from serving import served
from twins import TWINS, question, shape, sixty, write_twins


def outside(here, table):
    """What can be seen of a twin from outside: of every reply all but times and released numbers, and the metrics."""
    seen = []
    with here.client("analyst") as client, here.client("owner") as owner:
        before = counters(owner)
        for sql in [sixty(table), *(question(number, table) for number in range(12))]:
            reply = client.post("/v1/ask", json={"sql": sql, "spend": 1e-5})
            line = {name: value for name, value in here.line_of(reply).items() if name not in ("time", "request")}
            line["labels"] = len(line.get("labels", ()))  # they name the table, and its snapshot
            headers = sorted(set(reply.headers) - {"content-length"})
            said = shape(reply.content) if reply.status_code == 200 else reply.json()["error"]["code"]
            seen.append([reply.status_code, headers, said, named(line)])
        return seen, {name: value - before.get(name, 0.0) for name, value in counters(owner).items()}


def counters(client):
    """All metrics that count something but time, and what one twin has used by itself."""
    lines = [line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#")]
    return {name: float(value) for name, value in lines if not re.search("seconds|_created|twin", name)}


def named(line):
    return re.sub("|".join(TWINS), "twin", str(line))


class Telling(Database):
    """Fails after the charge where the private numbers are high."""

    def ask(self, sql, **wish):
        answer = super().ask(sql, **wish)
        if TWINS[1] in sql:
            raise AnswerFailedError
        return answer


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory):
    return write_twins(tmp_path_factory.mktemp("twins") / "served")


def test_status_size_order_log_and_metrics_are_the_same_for_twins(catalogue, tmp_path):
    with open_database(catalogue) as database, served(database, tmp_path) as here:
        first, second = (outside(here, table) for table in TWINS)
    assert first == second
    assert sum(status == 200 for status, *_ in first[0]) >= 8


def test_a_status_that_follows_private_numbers_would_be_seen(catalogue, tmp_path):
    with open_database(catalogue) as opened:
        database = Telling(opened.catalogue, engine=opened._engine, ledger=opened.ledger, keys=opened.keys[-1])
        with served(database, tmp_path) as here:
            first, second = (outside(here, table) for table in TWINS)
    assert first[0] != second[0]
    assert first[1] != second[1]
