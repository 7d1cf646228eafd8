"""What can go wrong with a ledger's database is said in words that name the ledger and the remedy."""

import os
import shutil
import socket
import sqlite3
import stat
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from errorfloor.catalogue.model import Place
from errorfloor.errors import CatalogueError, LedgerError, MissingExtraError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, SqlLedger, open_ledger
from errorfloor.ledger.connections import MOST
from statements import watch, when_lent

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
ROOM = {KWH: Charge(1e6, 1.0)}
NOBODY = 65534


def charge(ledger, *numbers, note=None):
    return ledger.charge([Entry(f"{n:064x}", {KWH: Charge(1.0, 0.0)}, note or {}) for n in numbers], ROOM, TERMS)


@contextmanager
def as_ordinary_user():
    """Give a folder of an ordinary user's, and be that user: permissions mean nothing to root."""
    folder = Path(tempfile.mkdtemp(prefix="errorfloor-ledger-"))
    root = os.geteuid() == 0
    try:
        if root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        yield folder
    finally:
        if root:
            os.seteuid(0)
        shutil.rmtree(folder)


def test_a_ledger_belongs_to_its_owner_alone(sqlite_place):
    before = os.umask(0)
    try:
        with sqlite_place.open() as ledger:
            charge(ledger, 1)
            files = sorted(Path(sqlite_place.place).parent.glob("ledger.sqlite*"))
            assert [file.name for file in files] == ["ledger.sqlite", "ledger.sqlite-shm", "ledger.sqlite-wal"]
            assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    finally:
        os.umask(before)


def test_every_commit_is_on_disk_before_it_returns(ledger_place):
    with ledger_place.open() as ledger:
        if ledger._database.path is not None:
            assert shown(ledger, "PRAGMA", "journal_mode", "synchronous") == ["wal", 2]
        else:
            assert shown(ledger, "SHOW", "synchronous_commit", "transaction_isolation") == ["on", "serializable"]


def shown(ledger, word, *names):
    """Settings of the database, as a writer finds them."""
    return [ledger._database.run(lambda c, n=name: c.run(f"{word} {n}")[0][n], "write") for name in names]


def test_a_server_that_answers_before_it_has_written_is_told_not_to(postgresql_ledger_place):
    place = postgresql_ledger_place
    for setting, wanted in (("off", "on"), ("local", "local")):
        asked = f"{place.place}&options=-c%20synchronous_commit%3D{setting}"
        ledger = SqlLedger(asked, FileAnchor(place.anchor), create=True)
        with ledger:
            assert shown(ledger, "SHOW", "synchronous_commit") == [wanted]


def test_a_server_that_is_set_to_answer_early_while_it_is_in_use_changes_no_connection(postgresql_ledger_place):
    import psycopg

    place = postgresql_ledger_place
    with place.open() as ledger, psycopg.connect(place.place, autocommit=True) as server:
        charge(ledger, 1)
        try:
            server.execute("ALTER SYSTEM SET synchronous_commit = off")
            server.execute("SELECT pg_reload_conf()")
            until = time.monotonic() + 30
            while server.execute("SHOW synchronous_commit").fetchone() != ("off",):
                assert time.monotonic() < until
                time.sleep(0.01)
            time.sleep(0.1)  # the other session hears of it, too
            assert shown(ledger, "SHOW", "synchronous_commit") == ["on"]
        finally:
            server.execute("ALTER SYSTEM RESET synchronous_commit")
            server.execute("SELECT pg_reload_conf()")


def test_what_is_not_a_ledger_is_refused_and_left_alone(tmp_path):
    (tmp_path / "text").write_text("a letter, and nothing that SQLite wrote\n" * 100)
    with sqlite3.connect(tmp_path / "other") as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    other.close()
    for name in ("text", "other"):
        before = (tmp_path / name).read_bytes()
        with pytest.raises(LedgerError, match=f"{name} is not a ledger: name the file of the ledger"):
            SqlLedger(tmp_path / name, FileAnchor(tmp_path / "anchor"), create=True)
        assert (tmp_path / name).read_bytes() == before
    (tmp_path / "folder").mkdir()
    with pytest.raises(LedgerError, match=r"cannot open the ledger .*folder: it must be a file"):
        SqlLedger(tmp_path / "folder", FileAnchor(tmp_path / "anchor"), create=True)
    with pytest.raises(LedgerError, match=r"cannot make the ledger .*: No such file or directory: .*nowhere"):
        SqlLedger(tmp_path / "nowhere" / "ledger", FileAnchor(tmp_path / "anchor"), create=True)


def test_a_ledger_is_not_made_where_none_was_asked_for(tmp_path):
    with pytest.raises(LedgerError, match=r"there is no ledger .*, nor its anchor .* errorfloor ledger create"):
        open_ledger(Place(), tmp_path, create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_file_is_refused(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, *range(200))
    file = Path(sqlite_place.place)
    content = bytearray(file.read_bytes())
    content[4096 * 2 : 4096 * 6] = b"\x55" * (4096 * 4)
    file.write_bytes(content)
    with pytest.raises(LedgerError, match=r"restore"), sqlite_place.open() as ledger:
        ledger.verify()


def test_a_ledger_that_cannot_be_read_or_written_says_so():
    with as_ordinary_user() as folder:
        ledger, anchor = folder / "ledger.sqlite", FileAnchor(folder / "anchor")
        with SqlLedger(ledger, anchor, create=True) as made:
            charge(made, 1)
        ledger.chmod(0o400)
        with SqlLedger(ledger, anchor) as opened:
            assert opened.spent([KWH])[KWH].information == 1.0
            with pytest.raises(LedgerError, match=r"cannot be written; nothing was charged: let this user write"):
                charge(opened, 2)
        ledger.chmod(0o000)
        with pytest.raises(LedgerError, match="cannot open the ledger"):
            SqlLedger(ledger, anchor)
        folder.chmod(0o500)
        with pytest.raises(LedgerError, match=r"cannot make the ledger .*: Permission denied"):
            SqlLedger(folder / "other.sqlite", anchor, accept=True, restore=[])
        folder.chmod(0o700)


def test_a_ledger_that_others_hold_is_waited_for_and_then_named(ledger_place):
    with ledger_place.open() as holder, ledger_place.open(patience=0.2) as ledger:
        with holder._database.connections.lend() as held, held.transaction("write"):
            with pytest.raises(LedgerError, match=r"for more than 0\.2 s; nothing was charged: try again"):
                charge(ledger, 1)
            assert ledger.known([f"{1:064x}"]) == set()  # reading need not wait
        assert charge(ledger, 1) == [True]


def test_threads_that_use_up_the_connections_are_waited_for_and_then_named(sqlite_place):
    with sqlite_place.open(patience=0.2) as ledger, ExitStack() as held:
        for _ in range(MOST):
            held.enter_context(ledger._database.connections.lend())
        with pytest.raises(LedgerError, match=r"other processes have held the ledger .* for more than 0\.2 s"):
            charge(ledger, 1)
        held.close()
        assert charge(ledger, 1) == [True]


def test_a_ledger_whose_version_is_lost_is_refused(ledger_place):
    with ledger_place.open() as ledger:
        ledger._database.run(lambda connection: connection.run("DELETE FROM @schema"), "write")
    with pytest.raises(LedgerError, match="its version is missing"):
        ledger_place.open()


def test_a_full_disk_charges_nothing_and_says_so(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
    with sqlite_place.open() as ledger:
        when_lent(ledger, lambda connection: connection.run("PRAGMA max_page_count = 14"))
        with pytest.raises(LedgerError, match=r"the disk of the ledger .* is full; nothing was charged: make room"):
            charge(ledger, *range(2, 500), note={"output": "x" * 1000})
        assert ledger.head().sequence == 1
        assert ledger.verify().totals[KWH].face("information") == 1
    with sqlite_place.open() as ledger:
        assert all(charge(ledger, *range(2, 500)))


def test_a_ledger_of_a_newer_version_is_refused(ledger_place):
    with ledger_place.open() as ledger:
        ledger._database.run(lambda connection: connection.run("UPDATE @schema SET version = version + 1"), "write")
    with pytest.raises(LedgerError, match=r"has version 6 and this program knows 5: install a newer errorfloor"):
        ledger_place.open()


def test_a_transaction_that_another_came_between_is_done_again(postgresql_ledger_place):
    attempts = []
    with postgresql_ledger_place.open() as ledger, postgresql_ledger_place.open() as other:
        charge(ledger, 1)

        def between(statement, *_):
            if statement.startswith("SELECT") and "@accounts" in statement:
                attempts.append(statement)
                if len(attempts) == 1:  # once the view is fixed, the same row changes, outside the queue
                    change = "UPDATE @accounts SET amount = '2' WHERE coordinate = 'A2'"
                    other._database.run(lambda intruder: intruder.run(change), "prepare")

        watch(ledger, after=between)
        assert charge(ledger, 2) == [True]
        assert ledger.spent([KWH])[KWH].information == 3.0  # 2 + 1: the intruder's change was seen
    assert len(attempts) > 2


def test_a_transaction_that_never_gets_through_is_given_up(postgresql_ledger_place, monkeypatch):
    from errorfloor.ledger import sql_ledger as database

    monkeypatch.setattr(database, "ATTEMPTS", 3)
    with postgresql_ledger_place.open() as ledger:

        def always(connection):
            attempts.append(1)
            connection.run("DO $$ BEGIN RAISE EXCEPTION SQLSTATE '40001'; END $$")

        attempts = []
        with pytest.raises(LedgerError, match="other transactions keep interfering"):
            ledger._database.run(always, "write")
        assert len(attempts) == 3


def test_a_server_out_of_reach_is_named_without_its_password(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    url = f"postgresql://custodian:s3cret@127.0.0.1:{port}/books?application_name=s3cret"
    with pytest.raises(LedgerError, match=r"postgresql://127\.0\.0\.1/books cannot be reached") as problem:
        SqlLedger(url, FileAnchor(tmp_path / "anchor"))
    seen = problem.value
    assert "s3cret" not in str(seen)
    assert "s3cret" not in repr(seen.fields)
    assert seen.__context__ is None


@pytest.mark.parametrize("place", ["mysql://s3cret@host/db", "postgresql://u:s3cret@host:port/db", "sqlite:///x"])
def test_a_url_of_something_else_is_refused_unquoted(tmp_path, place):
    with pytest.raises(CatalogueError, match="the path of a file or postgresql://") as problem:
        open_ledger(Place(ledger=place), tmp_path)
    assert "s3cret" not in str(problem.value)


def test_without_its_driver_postgresql_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'errorfloor\[postgres\]'"):
        SqlLedger("postgresql://host/db", FileAnchor(tmp_path / "anchor"))


def test_without_its_libraries_the_room_says_what_to_install():
    code = (
        "import sys; sys.modules['pydantic'] = None\n"
        "try:\n    import errorfloor.ledger\nexcept ImportError as problem:\n    print(type(problem).__name__, problem)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.startswith("MissingExtraError") and "errorfloor[sql]" in shown
