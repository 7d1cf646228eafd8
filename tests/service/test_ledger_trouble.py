"""Whatever happens to the ledger: a clear error, nothing private read, no answer without a charge, and a way back."""

import json
import os
import re
import shutil

import pytest

from errorfloor.catalogue import Place
from errorfloor.errors import LedgerError
from errorfloor.ledger import FileAnchor, Record, SqlLedger, open_ledger
from statements import when_lent
from town import open_town, write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


class Served:
    """A town with a ledger on disk, and what was read of its private columns."""

    def __init__(self, folder, ledger=None, patience=30.0):
        self.folder = folder
        place = ledger or str(folder / "ledger.sqlite")
        self.ledger = SqlLedger(place, FileAnchor(folder / "ledger.anchor"), create=True, patience=patience)
        self.town = open_town(folder, ledger=self.ledger, make=not (folder / "vault.duckdb").exists())
        self.scans = 0
        query = self.town._engine.query

        def watched(sql):
            self.scans += re.search(r"\bx\d", re.sub(r"\bx\d+ IS (NOT )?NULL", "", sql)) is not None
            return query(sql)

        self.town._engine.query = watched

    def ask(self, number):
        return self.town.ask(AVERAGE, max_error=1000 - number)

    def refused(self, number, words):
        """See an answer refused with these words, before anything private is read."""
        before = self.scans
        with pytest.raises(LedgerError, match=words):
            self.ask(number)
        assert self.scans == before

    def charged(self):
        self.ledger.verify()
        return sum(bool(record.charges) for record in self.ledger.entries())


@pytest.fixture
def serve(tmp_path):
    write_town(tmp_path / "town")
    opened = []

    def make(**options):
        opened.append(Served(tmp_path / "town", **options))
        return opened[-1]

    yield make
    for served in opened:
        served.town.close()


def test_a_full_disk(serve):
    served = serve()
    served.ask(0)
    room = 0

    def fill(connection):
        (found,) = connection.run("PRAGMA page_count")
        connection.run(f"PRAGMA max_page_count = {found['page_count'] + room}")

    when_lent(served.ledger, fill)
    with pytest.raises(LedgerError, match=r"the disk of the ledger .* is full; nothing was charged: make room"):
        for number in range(1, 100):  # what is left of the last page is used up first
            served.ask(number)
    charged, scans = served.charged(), served.scans
    assert scans == charged
    served.refused(100, "is full; nothing was charged")
    room = 1000
    assert served.ask(100).fresh == (True,)
    assert served.charged() == charged + 1


def test_a_ledger_that_cannot_be_written(serve):
    served = serve()
    served.ask(0)
    switch = ["ON"]
    when_lent(served.ledger, lambda connection: connection.run(f"PRAGMA query_only = {switch[0]}"))
    served.refused(1, r"cannot be written; nothing was charged: let this user write")
    assert served.town.ask(AVERAGE, max_error=1000, charge=False).fresh == (False,)  # what was released can be read
    switch[0] = "OFF"
    assert served.ask(1).fresh == (True,)
    assert served.charged() == 2


def test_a_ledger_that_another_process_holds(serve):
    served = serve(patience=0.2)
    served.ask(0)
    other = SqlLedger(served.folder / "ledger.sqlite", FileAnchor(served.folder / "ledger.anchor"))
    with other, other._database.connections.lend() as held, held.transaction("write"):
        served.refused(1, r"other processes have held the ledger .*; nothing was charged: try again")
    assert served.ask(1).fresh == (True,)


def test_a_database_that_is_gone_and_comes_back(serve, postgresql_place):
    import psycopg

    url = postgresql_place.place.snapshots
    name = url.partition("///")[2].partition("?")[0]
    served = serve(ledger=url)
    served.ask(0)
    with psycopg.connect(url.replace(f"/{name}?", "/postgres?"), autocommit=True) as server:
        server.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        for number in (1, 2):
            served.refused(number, r"cannot be reached, does not let this user in, or went away; .* then ask again")
        server.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")
    assert served.ask(1).fresh == (True,)
    assert served.charged() == 2


def test_a_file_that_is_gone_and_comes_back(serve):
    served = serve()
    served.ask(0)
    away = served.folder / "away"
    (served.folder / "ledger.sqlite").rename(away)
    for number in (1, 2):
        served.refused(number, r"was moved or replaced while it was in use; nothing was charged: put the newest one")
    assert not (served.folder / "ledger.sqlite").exists()  # no empty one was made in its place
    away.rename(served.folder / "ledger.sqlite")
    assert served.ask(1).fresh == (True,)
    assert served.charged() == 2


def test_an_old_backup_put_back_while_questions_are_answered(serve):
    served = serve()
    served.ask(0)
    backup = served.folder / "backup.sqlite"
    copy(served.folder / "ledger.sqlite", backup)
    served.ask(1)
    newest = served.folder / "newest.sqlite"
    copy(served.folder / "ledger.sqlite", newest)
    put_back(backup, served.folder)
    served.refused(2, "was moved or replaced while it was in use")
    served.refused(2, r"the ledger has 3 records, its anchor .* says 4: an older copy does not know")
    put_back(newest, served.folder)
    served.refused(2, "was moved or replaced")
    assert served.ask(2).fresh == (True,)
    assert served.charged() == 3


def copy(source, target):
    """Copy a ledger that is in use, as SQLite's own backup does."""
    import sqlite3

    one, two = sqlite3.connect(source), sqlite3.connect(target)
    one.backup(two)
    one.close()
    two.close()


def put_back(backup, folder):
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm"):
        (folder / name).unlink(missing_ok=True)
    shutil.copy(backup, folder / "ledger.sqlite")


def test_a_copy_of_the_ledger_in_use_elsewhere(serve, tmp_path):
    """Two servers, each with a copy of the ledger, and one anchor: the one that comes second is refused."""
    served = serve()
    served.ask(0)
    copy(served.folder / "ledger.sqlite", tmp_path / "copied.sqlite")
    with SqlLedger(tmp_path / "copied.sqlite", FileAnchor(served.folder / "ledger.anchor")) as copied:
        with open_town(served.folder, ledger=copied, make=False) as elsewhere:
            elsewhere.ask(AVERAGE, max_error=7)
        served.refused(2, "an older copy does not know all that was spent")
    with pytest.raises(LedgerError, match="an older copy"):
        SqlLedger(served.folder / "ledger.sqlite", FileAnchor(served.folder / "ledger.anchor"))


def test_a_corrupt_page(serve):
    served = serve()
    for number in range(30):
        served.ask(number)
    export = [record.to_json() for record in served.ledger.entries()]
    served.town.close()
    file = served.folder / "ledger.sqlite"
    content = bytearray(file.read_bytes())
    for page in range(1, len(content) // 4096):
        content[4096 * page : 4096 * (page + 1)] = b"\x55" * 4096
    file.write_bytes(content)
    with pytest.raises(LedgerError, match="restore"):
        serve().ask(31)
    file.unlink()
    records = [Record.from_json(json.loads(json.dumps(line))) for line in export]
    with open_ledger(Place(), served.folder, restore=records) as restored:
        restored.verify()
        assert sum(bool(record.charges) for record in restored.entries()) == 30
    assert serve().ask(31).fresh == (True,)


def test_an_anchor_whose_disk_fails(serve, monkeypatch):
    served = serve()
    served.ask(0)

    def fails(_descriptor):
        raise OSError(5, os.strerror(5))

    with monkeypatch.context() as broken:
        broken.setattr(os, "fdatasync", fails)
        words = r"cannot write the anchor .*; what was charged stays charged, and nothing is answered"
        with pytest.raises(LedgerError, match=words):
            served.ask(1)
    again = served.ask(1)
    assert again.fresh == (False,)  # it had been charged, and nothing more is


def test_an_anchor_that_is_gone(serve):
    served = serve()
    served.ask(0)
    (served.folder / "ledger.anchor").rename(served.folder / "away")
    served.refused(1, r"its anchor .* is missing.*put the anchor back")
    (served.folder / "away").rename(served.folder / "ledger.anchor")
    assert served.ask(1).fresh == (True,)
