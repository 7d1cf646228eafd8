"""An export holds everything: it can be restored on any database, and an old one is refused."""

import json

import pytest

from errorfloor.catalogue.model import Place
from errorfloor.errors import AllowanceError, LedgerError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, Record, SqlLedger, open_ledger
from errorfloor.ledger.entry import EMPTY

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
KEPT = {'["meters"]': {"account_by": []}}
ROOM = {KWH: Charge(1000.0, 1.0)}


def charge(ledger, *numbers, room=ROOM):
    return ledger.charge([Entry(f"{n:064x}", {KWH: Charge(0.1, 0.0)}, {"output": "é"}) for n in numbers], room, TERMS)


def export(ledger):
    return [json.dumps(record.to_json()) for record in ledger.entries()]


def records(lines):
    return (Record.from_json(json.loads(line)) for line in lines)


def test_an_export_restores_the_whole_ledger(ledger_place, tmp_path):
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(ledger_place.anchor), create=True) as old:
        charge(old, *range(1500))
        lines, head, spent = export(old), old.head(), old.spent([KWH])
    with ledger_place.open(restore=records(lines)) as ledger:
        assert (ledger.head(), ledger.spent([KWH])) == (head, spent)
        assert export(ledger) == lines
        assert ledger.verify().head == head
        assert charge(ledger, 3, 2000) == [False, True]
        with pytest.raises(AllowanceError):
            charge(ledger, 3000, room=dict.fromkeys(ROOM, spent[KWH]))
    with ledger_place.open() as ledger:
        assert ledger.head().sequence == 1501
    with pytest.raises(LedgerError, match=r"has 1500 records, its anchor .* says 1501"):
        SqlLedger(tmp_path / "old.sqlite", FileAnchor(ledger_place.anchor))  # the old place is an older ledger now


def test_moving_to_postgresql_is_an_export_and_a_restore(postgresql_database, tmp_path):
    with open_ledger(Place(), tmp_path, create=True) as old:
        charge(old, 1, 2, 3)
        lines = export(old)
    with open_ledger(Place(ledger=postgresql_database), tmp_path, restore=records(lines)) as moved:
        assert charge(moved, 3, 4) == [False, True]
        assert moved.verify().head.sequence == 4


def test_an_old_export_is_refused_and_nothing_is_kept_of_it(ledger_place, tmp_path):
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(ledger_place.anchor), create=True) as old:
        charge(old, 1, 2)
        lines = export(old)
        charge(old, 3)
        newest = export(old)
    with pytest.raises(LedgerError, match=r"has 2 records, its anchor .* says 3: an older copy"):
        ledger_place.open(restore=records(lines))
    with pytest.raises(LedgerError, match=r"there is no ledger .*, and its anchor .* says that it has 3 records"):
        ledger_place.open()
    with ledger_place.open(restore=records(newest)) as ledger:
        assert ledger.head().sequence == 3


def test_a_restore_without_an_anchor_must_be_vouched_for(ledger_place, tmp_path):
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(tmp_path / "lost"), create=True) as old:
        charge(old, 1, 2)
        lines = export(old)
    with pytest.raises(LedgerError, match=r"its anchor .* is missing"):
        ledger_place.open(restore=records(lines))
    with ledger_place.open(restore=records(lines), accept=True) as ledger:
        assert ledger.verify().head.sequence == 3  # that it was accepted is a record, too
        assert ledger.acceptances() == 1


def test_a_ledger_with_records_is_not_overwritten(ledger_place):
    with ledger_place.open() as ledger:
        charge(ledger, 1)
        lines = export(ledger)
    with pytest.raises(LedgerError, match="there are 1 records already in the ledger"):
        ledger_place.open(restore=records(lines))


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda lines: lines[1:], "record 1 is missing"),
        (lambda lines: [lines[0], lines[2]], "record 2 is missing"),
        (lambda lines: [*lines, lines[2]], "record 4 is missing"),
        (lambda lines: [lines[0], lines[1].replace('"A2"', '"A1"'), lines[2]], "record 2 is not what was written"),
        (lambda lines: [lines[0].replace('"account_by"', '"by"'), *lines[1:]], "record 1 is not what was written"),
    ],
)
def test_a_damaged_export_is_refused(ledger_place, tmp_path, damage, words):
    with SqlLedger(tmp_path / "old.sqlite", FileAnchor(ledger_place.anchor), create=True) as old:
        charge(old, 1, 2, 3)
        lines = export(old)
    with pytest.raises(LedgerError, match=words):
        ledger_place.open(restore=records(damage(lines)))


def test_a_forged_export_that_charges_a_label_twice_is_refused(sqlite_place):
    entry = Entry("ab" * 32, {KWH: Charge(1.0, 0.0)}, {})
    first = Record.after(EMPTY, entry, time="noon", terms=KEPT)
    again = Record.after(first.head, entry, time="noon", terms={})
    with pytest.raises(LedgerError, match="record 2 repeats a label"):
        sqlite_place.open(restore=[first, again], accept=True)
    with pytest.raises(LedgerError, match="record 1 has no terms"):
        sqlite_place.open(restore=[Record.after(EMPTY, entry, time="noon", terms={})], accept=True)
    other = Entry("cd" * 32, {}, {})
    twice = Record.after(first.head, other, time="noon", terms=KEPT)
    with pytest.raises(LedgerError, match="record 2 fixes the terms of meters a second time"):
        sqlite_place.open(restore=[first, twice], accept=True)
