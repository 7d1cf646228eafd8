"""An older or another ledger is refused; one that is ahead because of a crash is taken up."""

import errno
import json
import os
import shlex
import shutil
import stat
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from errorfloor.catalogue.model import Place
from errorfloor.errors import LedgerError
from errorfloor.ledger import Account, Charge, CommandAnchor, Entry, FileAnchor, Record, SqlLedger, open_ledger
from errorfloor.ledger.entry import Head

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
ROOM = {KWH: Charge(100.0, 100.0)}


def charge(ledger, *numbers):
    return ledger.charge([Entry(f"{n:064x}", {KWH: Charge(1.0, 0.0)}, {}) for n in numbers], ROOM, TERMS)


def head(number):
    return Head(number, f"{number:064x}")


def fails(_descriptor):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


def copied(place, name):
    """Copy a closed SQLite ledger, as a backup would."""
    target = Path(place).with_name(name)
    shutil.copy(place, target)
    return str(target)


def test_an_older_copy_is_refused(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
    backup = copied(sqlite_place.place, "backup")
    with sqlite_place.open() as ledger:
        charge(ledger, 2)
    shutil.copy(backup, sqlite_place.place)
    with pytest.raises(LedgerError, match=r"has 1 records, its anchor .* says 2: an older copy does not know"):
        sqlite_place.open()
    with pytest.raises(LedgerError, match="an older copy"):
        sqlite_place.open(accept=True)


def test_an_older_copy_is_refused_while_the_server_runs(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
    backup = copied(sqlite_place.place, "backup")
    with sqlite_place.open() as newest:
        charge(newest, 2)
    with pytest.raises(LedgerError, match="an older copy"), SqlLedger(backup, FileAnchor(sqlite_place.anchor)):
        pass
    away = sqlite_place.anchor.rename(sqlite_place.anchor.with_name("away"))
    with SqlLedger(backup, FileAnchor(sqlite_place.anchor), accept=True) as older:
        away.replace(sqlite_place.anchor)  # what is open now does not continue what is anchored
        for attempt in (lambda: charge(older, 3), lambda: charge(older, 1), older.verify):
            with pytest.raises(LedgerError, match="another record 2 than its anchor"):
                attempt()
        assert older.head().sequence == 2  # that it was accepted is a record, too


def test_each_acceptance_of_a_ledger_is_counted(sqlite_place, tmp_path):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
        assert ledger.acceptances() == 0
        lines = [one.to_json() for one in ledger.entries()]
    for count in range(1, 20):
        sqlite_place.anchor.unlink()
        with sqlite_place.open(accept=True) as ledger:
            assert ledger.acceptances() == count
            assert ledger.verify().head.sequence == 1 + count
    with sqlite_place.open(accept=True) as ledger:  # its anchor is there, and may have been put back with it
        assert ledger.acceptances() == 20
    with sqlite_place.open(), sqlite_place.open(read_only=True, accept=True) as ledger:
        assert ledger.acceptances() == 20
    anchor = FileAnchor(tmp_path / "other.anchor")
    restored = SqlLedger(
        tmp_path / "other.sqlite", anchor, accept=True, restore=[Record.from_json(one) for one in lines]
    )
    with restored:
        assert restored.acceptances() == 1
    with pytest.raises(LedgerError, match="older copy"):  # of the ledger as it was before it was accepted
        SqlLedger(tmp_path / "third.sqlite", anchor, restore=[Record.from_json(one) for one in lines])


def test_an_anchor_that_knows_no_record_vouches_for_none(ledger_place, tmp_path):
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(tmp_path / "old.anchor"), create=True) as old:
        charge(old, 1, 2)
        lines = [one.to_json() for one in old.entries()]
    with ledger_place.open():
        pass  # a new ledger, whose anchor is at the beginning
    with ledger_place.open(restore=[Record.from_json(one) for one in lines]) as restored:
        assert restored.acceptances() == 1
    with ledger_place.open() as ledger:
        assert ledger.acceptances() == 1


def test_records_beside_an_anchor_that_knows_none_are_an_acceptance(sqlite_place, tmp_path):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
    backup = copied(sqlite_place.place, "backup")
    Path(sqlite_place.place).unlink()
    sqlite_place.anchor.unlink()
    with sqlite_place.open() as ledger:
        assert ledger.acceptances() == 0  # an empty one lacks nothing
    shutil.copy(backup, sqlite_place.place)
    with sqlite_place.open() as ledger:
        assert ledger.acceptances() == 1
        charge(ledger, 2)
    with sqlite_place.open() as ledger:
        assert ledger.acceptances() == 1


def test_a_fork_is_refused(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
    fork = copied(sqlite_place.place, "fork")
    other_anchor = sqlite_place.anchor.with_name("other")
    shutil.copy(sqlite_place.anchor, other_anchor)
    with sqlite_place.open() as ledger:
        charge(ledger, 2)
    with SqlLedger(fork, FileAnchor(other_anchor)) as ledger:
        charge(ledger, 3, 4)
    with pytest.raises(LedgerError, match="another record 2 than its anchor"):
        SqlLedger(fork, FileAnchor(sqlite_place.anchor))


def test_a_ledger_that_vanished_is_not_made_anew(ledger_place):
    with ledger_place.open():
        pass
    FileAnchor(ledger_place.anchor).advance(head(7))
    with pytest.raises(LedgerError, match=r"has 0 records, its anchor .* says 7"):
        ledger_place.open()
    if "://" not in ledger_place.place:
        Path(ledger_place.place).unlink()
        with pytest.raises(LedgerError, match=r"there is no ledger .*, and its anchor .* says that it has 7 records"):
            ledger_place.open()
        assert not Path(ledger_place.place).exists()


def test_a_missing_anchor_is_refused_until_it_is_accepted(ledger_place):
    with ledger_place.open() as ledger:
        charge(ledger, 1)
        ledger_place.anchor.unlink()
        with pytest.raises(LedgerError, match="checkpoint --accept"):
            charge(ledger, 2)
        with pytest.raises(LedgerError, match="checkpoint --accept"):
            ledger.verify()
    with pytest.raises(LedgerError, match=r"has 1 records but its anchor .* is missing.*checkpoint --accept"):
        ledger_place.open()
    with ledger_place.open(accept=True) as ledger:
        assert FileAnchor(ledger_place.anchor).read() == ledger.head()
    with ledger_place.open() as ledger:
        assert charge(ledger, 1, 2) == [False, True]


def test_a_missing_anchor_of_an_empty_ledger_is_made(ledger_place):
    with ledger_place.open():
        ledger_place.anchor.unlink()
    with ledger_place.open():
        assert FileAnchor(ledger_place.anchor).read().sequence == 0


def test_what_is_accepted_is_audited_first(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
        ledger._database.run(lambda connection: connection.run("UPDATE @accounts SET amount = '1/7'"), "write")
    sqlite_place.anchor.unlink()
    with pytest.raises(LedgerError, match=r"what is kept as spent of meters\.kwh is not the sum"):
        sqlite_place.open(accept=True)
    assert not sqlite_place.anchor.exists()


def test_a_ledger_ahead_of_its_anchor_is_taken_up_if_it_follows(ledger_place):
    with ledger_place.open() as ledger:
        charge(ledger, 1)
        kept = ledger_place.anchor.read_text()
        charge(ledger, 2)
        charge(ledger, 3)
    ledger_place.anchor.write_text(kept)  # as if the process had died before it wrote the anchor
    with ledger_place.open() as ledger:
        assert FileAnchor(ledger_place.anchor).read() == ledger.head() == ledger.verify().head
    ledger_place.anchor.write_text(kept)
    with ledger_place.open() as ledger:
        change = "UPDATE @entries SET note = '{\"a\":1}' WHERE sequence = 2"
        ledger._database.run(lambda connection: connection.run(change), "write")
    ledger_place.anchor.write_text(kept)
    with pytest.raises(LedgerError, match="record 2 is not what was written"):
        ledger_place.open()


def test_a_free_answer_waits_for_the_anchor_too(sqlite_place):
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
        kept = sqlite_place.anchor.read_text()
        charge(ledger, 2)
        sqlite_place.anchor.write_text(kept)
        assert charge(ledger, 2) == [False]
        assert FileAnchor(sqlite_place.anchor).read().sequence == 2


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"\xff", b"[1]", b'{"format": 2, "sequence": 1, "hash": "%s"}' % (b"a" * 64),
     b'{"format": 1, "sequence": -1, "hash": "%s"}' % (b"a" * 64), b'{"format": 1, "sequence": 1, "hash": "a"}',
     b'{"format": 1, "sequence": 0, "hash": "%s"}' % (b"a" * 64)],
)  # fmt: skip
def test_a_damaged_anchor_is_refused(sqlite_place, content):
    sqlite_place.anchor.write_bytes(content)
    with pytest.raises(LedgerError, match="does not hold the head of a ledger"):
        sqlite_place.open()


def test_an_anchor_that_cannot_be_kept_stops_the_answer_but_not_the_charge(tmp_path, monkeypatch):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    anchor = FileAnchor(folder / "anchor")
    with SqlLedger(tmp_path / "ledger.sqlite", anchor, create=True) as ledger:
        charge(ledger, 1)
        with monkeypatch.context() as broken:
            broken.setattr(os, "fdatasync", fails)  # the disk of the anchor cannot be written now
            with pytest.raises(LedgerError, match=r"cannot write the anchor .*: Input/output error; what was charged"):
                charge(ledger, 2)
            assert anchor.read().sequence == 1  # not what may have reached the file, but not the disk
            with pytest.raises(LedgerError, match="cannot write the anchor"):
                charge(ledger, 2)
        assert charge(ledger, 2) == [False]
        assert anchor.read().sequence == 2
    (tmp_path / ".other.new").mkdir()  # no such file can be made
    with pytest.raises(LedgerError, match=r"cannot write the anchor .*: Is a directory; what was charged stays"):
        FileAnchor(tmp_path / "other").advance(head(1))
    with pytest.raises(LedgerError, match="cannot use the folder"):
        FileAnchor(tmp_path / "nowhere" / "anchor").advance(head(1))
    (tmp_path / "folder").mkdir()
    with pytest.raises(LedgerError, match="cannot read the anchor"):
        FileAnchor(tmp_path / "folder").read()


def test_an_anchor_never_moves_backwards(tmp_path):
    anchor = FileAnchor(tmp_path / "anchor")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: FileAnchor(tmp_path / "anchor").advance(head(1 + n * 37 % 64)), range(64)))
    assert anchor.read() == head(64)
    anchor.advance(head(12))
    assert anchor.read() == head(64)
    with pytest.raises(LedgerError, match="another record 64 than its anchor"):
        anchor.advance(Head(64, "f" * 64))
    assert stat.S_IMODE((tmp_path / "anchor").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["anchor"]


@pytest.mark.parametrize("torn", [1, 40, 90, 100, 130])
def test_an_anchor_that_was_torn_while_it_was_written_is_the_one_before(tmp_path, torn):
    anchor = FileAnchor(tmp_path / "anchor")
    for number in (1, 2, 3):
        anchor.advance(head(number))
    before = (tmp_path / "anchor").read_bytes()
    anchor.advance(head(4))
    after = (tmp_path / "anchor").read_bytes()
    place = next(n for n in range(0, len(after), 4096) if before[n : n + 4096] != after[n : n + 4096])
    mixed = after[: place + torn] + before[place + torn :]  # only a part of the new one reached the disk
    (tmp_path / "anchor").write_bytes(mixed)
    assert FileAnchor(tmp_path / "anchor").read() == (head(4) if mixed == after else head(3))
    anchor.advance(head(5))
    assert FileAnchor(tmp_path / "anchor").read() == head(5)


def test_an_anchor_of_one_line_is_read_and_becomes_one_of_two_places(tmp_path):
    (tmp_path / "anchor").write_text(head(7).to_text())
    anchor = FileAnchor(tmp_path / "anchor")
    assert anchor.read() == head(7)
    anchor.advance(head(8))
    assert (tmp_path / "anchor").stat().st_size == 2 * 4096
    assert anchor.read() == head(8)
    (tmp_path / "anchor").write_bytes(b"\x55" * 2 * 4096)
    with pytest.raises(LedgerError, match="does not hold the head"):
        anchor.read()


NOTARY = """
import sys
from pathlib import Path
kept = Path("kept by the notary")
if sys.argv[1] == "read":
    print(kept.read_text() if kept.exists() else "", end="")
elif sys.argv[1] == "write":
    kept.write_text(sys.stdin.read())
"""


def test_a_command_of_the_custodians_keeps_the_head(tmp_path):
    (tmp_path / "notary.py").write_text(NOTARY)
    place = Place(anchor=f"!{shlex.join([sys.executable, 'notary.py'])}")
    with open_ledger(place, tmp_path, create=True) as ledger:
        charge(ledger, 1, 2)
        kept = json.loads((tmp_path / "kept by the notary").read_text())
        assert kept == {"format": 1, "sequence": 2, "hash": ledger.head().hash}
    (tmp_path / "kept by the notary").write_text(head(3).to_text())
    with pytest.raises(LedgerError, match=r"has 2 records, its anchor !.*notary\.py says 3"):
        open_ledger(place, tmp_path)
    (tmp_path / "kept by the notary").unlink()
    with pytest.raises(LedgerError, match="is missing"):
        open_ledger(place, tmp_path)


def test_a_command_that_fails_is_named(tmp_path):
    with pytest.raises(LedgerError, match=r"the anchor !false read failed with exit code 1"):
        CommandAnchor("false", tmp_path).read()
    with pytest.raises(LedgerError, match=r"cannot run the anchor !no-such-notary read: No such file"):
        CommandAnchor("no-such-notary", tmp_path).read()
    with pytest.raises(LedgerError, match="must name a command"):
        open_ledger(Place(anchor="! "), tmp_path)
    with pytest.raises(LedgerError, match="does not hold the head"):
        CommandAnchor("echo hello", tmp_path).read()


def test_a_charge_is_anchored_when_its_call_returns_whoever_else_charges(sqlite_place):
    anchor = FileAnchor(sqlite_place.anchor)
    with sqlite_place.open() as ledger, ThreadPoolExecutor(8) as threads:

        def follows(number):
            charge(ledger, number)
            kept = anchor.read()
            return kept.sequence >= ledger.found([f"{number:064x}"])[f"{number:064x}"].sequence

        assert all(threads.map(follows, range(1, 81)))


def test_a_head_is_anchored_though_another_thread_forgot_it(sqlite_place):
    """Two threads that note the newest head at once may leave the older one noted."""
    with sqlite_place.open() as ledger:
        charge(ledger, 1)
        anchor = FileAnchor(sqlite_place.anchor)
        ledger._newest = head(0)
        ledger._keep(anchor, Head(2, "ab" * 32))
        assert anchor.read() == Head(2, "ab" * 32)
