"""Nothing that is written down can be changed, dropped, moved or added without verify noticing."""

import pytest

from errorfloor.errors import LedgerError
from errorfloor.ledger import Account, Charge, Entry, Record
from errorfloor.ledger.entry import EMPTY, Head, follow

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
KEPT = {'["meters"]': {"account_by": []}}
ROOM = {KWH: Charge(100.0, 100.0)}


def entry(number, amount=1.0):
    return Entry(f"{number:064x}", {KWH: Charge(amount, 0.25)}, {"output": f"o{number}"})


@pytest.fixture
def written(ledger_place):
    """A ledger of five records, and a way to change its tables behind its back."""
    with ledger_place.open() as ledger:
        for number in range(5):
            ledger.charge([entry(number)], ROOM, TERMS)

        def change(statement):
            changed = f"{statement.replace('ledger_', '@')} RETURNING 1"
            return len(ledger._database.run(lambda connection: connection.run(changed), "write"))

        yield ledger, change


CHANGES = {
    "a charge": "UPDATE ledger_entries SET charges = replace(charges, 'A2', 'A1') WHERE sequence = 3",
    "an amount": "UPDATE ledger_entries SET charges = replace(charges, '1/4', '1/8') WHERE sequence = 3",
    "a note": "UPDATE ledger_entries SET note = replace(note, 'o2', 'o9') WHERE sequence = 3",
    "a time": "UPDATE ledger_entries SET time = '1999-01-01T00:00:00+00:00' WHERE sequence = 3",
    "a label": f"UPDATE ledger_entries SET labels = replace(labels, '{'0' * 60}', '{'f' * 60}') WHERE sequence = 3",
    "no label": "UPDATE ledger_entries SET labels = '[]' WHERE sequence = 3",
    "a label that nothing paid for": f"INSERT INTO ledger_labels VALUES ('{'f' * 64}', 3)",
    "a paid label changed": f"UPDATE ledger_labels SET label = '{'f' * 64}' WHERE sequence = 3",
    "a paid label moved": "UPDATE ledger_labels SET sequence = 4 WHERE sequence = 3",
    "a paid label gone": "DELETE FROM ledger_labels WHERE sequence = 3",
    "terms of a record": "UPDATE ledger_entries SET terms = '{}' WHERE sequence = 1",
    "a hash": f"UPDATE ledger_entries SET hash = '{'f' * 64}' WHERE sequence = 3",
    "a link": f"UPDATE ledger_entries SET previous = '{'f' * 64}' WHERE sequence = 3",
    "a record gone": "DELETE FROM ledger_entries WHERE sequence = 3",
    "the first record gone": "DELETE FROM ledger_entries WHERE sequence = 1",
    "the last record gone": "DELETE FROM ledger_entries WHERE sequence = 5",
    "a record moved": "UPDATE ledger_entries SET sequence = 9 WHERE sequence = 3",
    "no JSON": "UPDATE ledger_entries SET charges = '[' WHERE sequence = 3",
    "no charges": "UPDATE ledger_entries SET charges = '[[1, 2]]' WHERE sequence = 3",
    "a sum": "UPDATE ledger_accounts SET amount = '4' WHERE coordinate = 'A2'",
    "the other sum": "UPDATE ledger_accounts SET amount = '1/3' WHERE coordinate = 'E'",
    "a sum of another kind": "UPDATE ledger_accounts SET coordinate = 'A1' WHERE coordinate = 'A2'",
    "a sum that nobody knows": "UPDATE ledger_accounts SET coordinate = 'Z' WHERE coordinate = 'A2'",
    "no sum": "UPDATE ledger_accounts SET amount = 'much' WHERE coordinate = 'A2'",
    "an account gone": "DELETE FROM ledger_accounts WHERE coordinate = 'A2'",
    "an account renamed": "UPDATE ledger_accounts SET account = replace(account, 'kwh', 'a') WHERE coordinate = 'E'",
    "no account": "UPDATE ledger_accounts SET account = '{' WHERE coordinate = 'E'",
    "terms": 'UPDATE ledger_terms SET terms = \'{"account_by":["tariff"]}\'',
    "terms gone": "DELETE FROM ledger_terms",
}


@pytest.mark.parametrize("statement", CHANGES.values(), ids=CHANGES)
def test_every_change_behind_the_ledgers_back_is_found(written, statement):
    ledger, change = written
    assert ledger.verify().head.sequence == 5
    assert change(statement) == 1
    with pytest.raises(LedgerError, match=r"restore|newest|newer"):
        ledger.verify()


def test_an_added_record_that_is_not_chained_is_found(written):
    ledger, change = written
    change(
        "INSERT INTO ledger_entries SELECT 6, time, labels, charges, note, terms, hash, hash "
        "FROM ledger_entries WHERE sequence = 5"
    )
    with pytest.raises(LedgerError, match="record 6 is not what was written"):
        ledger.verify()


def test_verify_gives_the_totals_that_follow_from_the_records(written):
    replay = written[0].verify()
    assert replay.totals[KWH].rounded_up() == Charge(5.0, 1.25) == written[0].spent([KWH])[KWH]
    assert replay.terms == {'["meters"]': '{"account_by":[]}'}


def test_a_checkpoint_of_the_same_history_verifies_and_another_does_not(written):
    ledger, _ = written
    third = list(ledger.entries())[2].head
    assert ledger.verify(third).head.sequence == 5
    for other in (Head(3, "f" * 64), Head(6, "f" * 64)):
        with pytest.raises(LedgerError, match=f"record {other.sequence} of the checkpoint is not in this ledger"):
            ledger.verify(other)


def test_every_part_of_a_record_enters_its_hash():
    first = Record.after(EMPTY, entry(1), time="noon", terms=KEPT)
    others = [
        Record.after(EMPTY, entry(2), time="noon", terms=KEPT),
        Record.after(EMPTY, entry(1, 2.0), time="noon", terms=KEPT),
        Record.after(EMPTY, Entry(entry(1).label, entry(1).charges, {}), time="noon", terms=KEPT),
        Record.after(EMPTY, entry(1), time="one", terms=KEPT),
        Record.after(EMPTY, entry(1), time="noon", terms={}),
        Record.after(Head(0, "f" * 64), entry(1), time="noon", terms=KEPT),
        Record.after(Head(1, EMPTY.hash), entry(1), time="noon", terms=KEPT),
    ]
    assert len({first.hash, *(other.hash for other in others)}) == 8
    assert follow(EMPTY, [first, Record.after(first.head, entry(2), time="noon", terms={})]).sequence == 2
    with pytest.raises(LedgerError, match="record 1 is missing"):
        follow(EMPTY, [Record.after(first.head, entry(2), time="noon", terms={})])


def test_a_record_of_something_else_is_refused():
    plain = Record.after(EMPTY, entry(1), time="noon", terms=KEPT).to_json()
    for wrong in (None, [], {}, {**plain, "sequence": "1"}, {**plain, "note": None}):
        with pytest.raises(LedgerError, match="not a record of a ledger"):
            Record.from_json(wrong)
    row = ["meters", "kwh", "", 1.0, 0.0]
    for wrong in ([row, row], [row[:4]], [[*row[:3], -1.0, 0.0]], [[*row[:3], "1", 0.0]], [[1, *row[1:]]]):
        with pytest.raises(LedgerError, match="record 1 is damaged"):
            Record.from_json({**plain, "charges": wrong})
