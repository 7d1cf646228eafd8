"""What a charge costs does not depend on how many were made before it."""

import json

from errorfloor.ledger import Account, Charge, Entry
from statements import watch, when_lent

KWH = Account("meters", "kwh", "")
TERMS = {"meters": {"account_by": []}}
ROOM = {KWH: Charge(1e9, 1e9)}


def entries(start, stop):
    return [Entry(f"{n:064x}", {KWH: Charge(1.0, 0.0)}, {}) for n in range(start, stop)]


def charge_and_ask(ledger, number):
    before = ledger.spent([KWH])[KWH].information
    assert ledger.charge(entries(number, number + 1), ROOM, TERMS) == [True]
    assert ledger.charge(entries(number, number + 1), ROOM, TERMS) == [False]
    assert ledger.known([f"{number:064x}"])
    assert ledger.spent([KWH])[KWH].information == before + 1


def lengthen(ledger, size):
    """Write records straight into the table, up to a number: what they say does not matter here."""
    numbers = "WITH RECURSIVE n(i) AS (SELECT ? UNION ALL SELECT i + 1 FROM n WHERE i < ?) "
    start = ledger.head().sequence + 1
    for rows in (
        "INSERT INTO ledger_entries SELECT i, '', '[]', '[]', '{}', '{}', '', printf('%064d', i) FROM n",
        "INSERT INTO ledger_labels SELECT printf('%064d', i), i FROM n",
    ):
        ledger._database.run(lambda connection, rows=rows: connection.run(numbers + rows, start, size), "write")
    assert ledger.head().sequence == size


def test_a_charge_takes_as_many_steps_after_a_hundred_thousand_entries_as_after_ten(sqlite_place):
    steps, counting = 0, None

    def count():
        nonlocal steps
        steps += 1

    measured = []
    with sqlite_place.open() as ledger:
        when_lent(ledger, lambda connection: connection._driver.set_progress_handler(counting, 1))
        ledger.charge(entries(1_000_000, 1_000_001), ROOM, TERMS)
        for size in (10, 100_000):
            lengthen(ledger, size)
            steps, counting = 0, count  # every step of SQLite's virtual machine
            charge_and_ask(ledger, 1_000_001 + size)
            measured.append(steps)
            counting = None
        assert ledger.head().sequence == 100_001
        steps, counting = 0, count
        ledger._database.run(lambda c: c.run("SELECT count(*) FROM @entries WHERE note = ''"), "read")
        assert steps > 100_000  # so a look at every row would have shown
    assert measured[0] > 100
    assert measured[0] == measured[1]


def test_a_charge_on_postgresql_finds_everything_by_an_index(postgresql_ledger_place):
    statements = []
    with postgresql_ledger_place.open() as ledger:
        ledger.charge(entries(0, 2000), ROOM, TERMS)
        for table in ("@entries", "@labels"):
            ledger._database.run(lambda connection, name=table: connection.run(f"ANALYZE {name}"), "write")

        def note(statement, *values):
            if statement.startswith("SELECT") and ("@entries" in statement or "@labels" in statement):
                statements.append((f"EXPLAIN (FORMAT JSON) {statement}", *values))

        watch(ledger, note)
        charge_and_ask(ledger, 5000)
        assert len(statements) >= 5
        for statement, *values in statements:
            plan = json.dumps(ledger._database.run(lambda c, s=statement, v=values: c.run(s, *v), "read"))
            assert "Seq Scan" not in plan, statement
            assert "Index" in plan, statement
