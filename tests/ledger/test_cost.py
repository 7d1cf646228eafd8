"""What a charge costs does not depend on how many were made before it."""

import json

from sqlalchemy import event, text

from errorfloor.ledger import Account, Charge, Entry

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
    numbers = "WITH RECURSIVE n(i) AS (SELECT :start UNION ALL SELECT i + 1 FROM n WHERE i < :size) "
    start = ledger.head().sequence + 1
    for rows in (
        "INSERT INTO ledger_entries SELECT i, '', '[]', '[]', '{}', '{}', '', printf('%064d', i) FROM n",
        "INSERT INTO ledger_labels SELECT printf('%064d', i), i FROM n",
    ):
        statement = text(numbers + rows).bindparams(start=start, size=size)
        ledger._database.run(lambda connection, statement=statement: connection.execute(statement), "write")
    assert ledger.head().sequence == size


def test_a_charge_takes_as_many_steps_after_a_hundred_thousand_entries_as_after_ten(sqlite_place):
    steps, counting = 0, None

    def count():
        nonlocal steps
        steps += 1

    measured = []
    with sqlite_place.open() as ledger:
        event.listen(ledger._database.engine, "checkout", lambda raw, *_: raw.set_progress_handler(counting, 1))
        ledger.charge(entries(1_000_000, 1_000_001), ROOM, TERMS)
        for size in (10, 100_000):
            lengthen(ledger, size)
            steps, counting = 0, count  # every step of SQLite's virtual machine
            charge_and_ask(ledger, 1_000_001 + size)
            measured.append(steps)
            counting = None
        assert ledger.head().sequence == 100_001
        steps, counting = 0, count
        with ledger._database.engine.connect() as connection, connection.execution_options(mode="read").begin():
            connection.execute(text("SELECT count(*) FROM ledger_entries WHERE note = ''"))
        assert steps > 100_000  # so a look at every row would have shown
    assert measured[0] > 100
    assert measured[0] == measured[1]


def test_a_charge_on_postgresql_finds_everything_by_an_index(postgresql_ledger_place):
    statements = []
    with postgresql_ledger_place.open() as ledger:
        ledger.charge(entries(0, 2000), ROOM, TERMS)
        engine = ledger._database.engine
        for table in ("ledger_entries", "ledger_labels"):
            ledger._database.run(lambda c, name=table: c.execute(text(f"ANALYZE errorfloor.{name}")), "write")

        def note(_connection, _cursor, statement, parameters, *_):
            if statement.startswith("SELECT") and ("ledger_entries" in statement or "ledger_labels" in statement):
                statements.append((statement, parameters))

        event.listen(engine, "before_cursor_execute", note)
        charge_and_ask(ledger, 5000)
        event.remove(engine, "before_cursor_execute", note)
        assert len(statements) >= 5
        for statement, parameters in statements:
            explained = f"EXPLAIN (FORMAT JSON) {statement}"
            plan = json.dumps(
                ledger._database.run(lambda c, e=explained, p=parameters: c.exec_driver_sql(e, p).scalar(), "read")
            )
            assert "Seq Scan" not in plan, statement
            assert "Index" in plan, statement
