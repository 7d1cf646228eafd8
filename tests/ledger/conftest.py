"""Ledgers in memory, on SQLite and on PostgreSQL: one suite for all of them."""

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from errorfloor.ledger import FileAnchor, MemoryLedger, SqlLedger

POSTGRESQL = any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None
STRACE = shutil.which("strace") is not None and subprocess.run(["strace", "-o", "/dev/null", "true"]).returncode == 0
DATABASES = [pytest.param("sqlite"), *([pytest.param("postgresql")] if POSTGRESQL else [])]


def pytest_terminal_summary(terminalreporter):
    if not STRACE:
        terminalreporter.write_line("NOT TESTED: the order of syncs, since strace cannot trace here", yellow=True)


@pytest.fixture(params=DATABASES if STRACE else [])
def traced_database(request):
    """The name of each database whose system calls can be traced, in turn."""
    return request.param


@dataclass
class LedgerPlace:
    """A place for a ledger on a database, and its anchor."""

    place: str
    anchor: Path

    def open(self, **options):
        """Open the ledger, or make it where there is none."""
        options.setdefault("create", "restore" not in options)
        return SqlLedger(self.place, FileAnchor(self.anchor), **options)

    @property
    def arguments(self):
        return [str(self.place), str(self.anchor)]


@pytest.fixture(params=DATABASES)
def ledger_place(request, tmp_path):
    """A place where no ledger is yet, on each database in turn."""
    if request.param == "sqlite":
        return LedgerPlace(str(tmp_path / "ledger.sqlite"), tmp_path / "anchor")
    return LedgerPlace(request.getfixturevalue("postgresql_database"), tmp_path / "anchor")


@pytest.fixture(params=DATABASES[1:])
def postgresql_ledger_place(request, tmp_path):
    """A place where no ledger is yet, on PostgreSQL."""
    return LedgerPlace(request.getfixturevalue("postgresql_database"), tmp_path / "anchor")


@pytest.fixture
def sqlite_place(tmp_path):
    """A place where no ledger is yet, on SQLite."""
    return LedgerPlace(str(tmp_path / "ledger.sqlite"), tmp_path / "anchor")


@pytest.fixture(params=["memory", *DATABASES])
def ledger(request, tmp_path):
    """An empty ledger of each kind in turn."""
    if request.param == "memory":
        made = MemoryLedger()
    elif request.param == "sqlite":
        made = SqlLedger(tmp_path / "ledger.sqlite", FileAnchor(tmp_path / "anchor"), create=True)
    else:
        made = SqlLedger(request.getfixturevalue("postgresql_database"), FileAnchor(tmp_path / "anchor"), create=True)
    with made:
        yield made
