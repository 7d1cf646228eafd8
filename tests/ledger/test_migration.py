"""A ledger of an older version becomes one of this version, all of it or nothing, and says the same as before."""

import json

import pytest
from sqlalchemy import inspect, text

from errorfloor.ledger import Account, Charge, Entry, Quotas, Record, tables
from errorfloor.ledger.database import Database
from errorfloor.ledger.record import Head

KWH, OWNERS = Account("meters", "kwh", '["north"]'), Account("meters", "", "")
TERMS = {"meters": {"account_by": ["region"]}}
ROOM = {KWH: Charge(1.0, 1.0), OWNERS: Charge(1.0, 1.0)}

# Written by version 1, which knew no quotas: its tables, two records, and what they add up to.
FIRST = [
    "CREATE TABLE ledger_schema (version INTEGER NOT NULL)",
    "CREATE TABLE ledger_entries (sequence BIGINT NOT NULL, label VARCHAR(64) NOT NULL, time TEXT NOT NULL, "
    "charges TEXT NOT NULL, note TEXT NOT NULL, terms TEXT NOT NULL, previous VARCHAR(64) NOT NULL, "
    "hash VARCHAR(64) NOT NULL, PRIMARY KEY (sequence), UNIQUE (label))",
    "CREATE TABLE ledger_accounts (key VARCHAR(64) NOT NULL, table_name VARCHAR(63) NOT NULL, "
    "column_name TEXT NOT NULL, cell TEXT NOT NULL, information TEXT NOT NULL, evaluation TEXT NOT NULL, "
    "PRIMARY KEY (key))",
    "CREATE INDEX ix_ledger_accounts_table_name ON ledger_accounts (table_name)",
    "CREATE TABLE ledger_terms (table_name VARCHAR(63) NOT NULL, terms TEXT NOT NULL, PRIMARY KEY (table_name))",
    "INSERT INTO ledger_schema VALUES (1)",
]
RECORDS = [
    '{"sequence": 1, "time": "2026-11-15T13:19:43+00:00", "label": "' + "aa" * 32 + '", "charges": [["meters", "", "",'
    ' 0.25, 0.0], ["meters", "kwh", "[\\"north\\"]", 0.1, 1e-09]], "note": {"output": "avg_kwh", "version": "1"},'
    ' "terms": {"meters": {"account_by": ["region"]}}, "previous": "' + "00" * 32 + '", "hash":'
    ' "1e0902d67e34d192e9cafb10b24004062133b8e90145b703721aaabfcc68a198"}',
    '{"sequence": 2, "time": "2026-11-15T13:19:43+00:00", "label": "' + "bb" * 32 + '", "charges": [["meters", "kwh",'
    ' "[\\"north\\"]", 0.2, 0.0]], "note": {"output": "sum_kwh"}, "terms": {}, "previous":'
    ' "1e0902d67e34d192e9cafb10b24004062133b8e90145b703721aaabfcc68a198", "hash":'
    ' "6630667aa320c2565e444bb8b3003c426934a117069b717acaaf603920947c71"}',
]
ACCOUNTS = [
    ("e1dda7962bc003d10f59177073142952d6eb68a1ab5fa58f88a394f13241292d", "meters", "kwh", '["north"]',
     "10808639105689191/36028797018963968", "4835703278458517/4835703278458516698824704"),
    ("69f689c1f1b9386ad59a9f0a7f5e1468294c3ee6ade626bb2d989d03c173140c", "meters", "", "", "1/4", "0"),
]  # fmt: skip


def write_first(place):
    """Make a ledger of version 1, as that version did."""
    database = Database(place.place, patience=5)
    postgresql = database.path is None
    try:
        with database.engine.connect() as connection, connection.execution_options(mode="read").begin():
            if postgresql:
                connection.execute(text(f"CREATE SCHEMA {tables.SCHEMA}"))
                connection.execute(text(f"SET LOCAL search_path TO {tables.SCHEMA}"))
            for statement in FIRST:
                connection.execute(text(statement))
            for record in map(json.loads, RECORDS):
                row = record | {name: json.dumps(record[name]) for name in ("charges", "note", "terms")}
                names = ", ".join(row)
                values = ", ".join(f":{name}" for name in row)
                connection.execute(text(f"INSERT INTO ledger_entries ({names}) VALUES ({values})"), row)
            for account in ACCOUNTS:
                row = dict(zip("abcdef", account, strict=True))
                connection.execute(text("INSERT INTO ledger_accounts VALUES (:a, :b, :c, :d, :e, :f)"), row)
            one = {"terms": json.dumps(TERMS["meters"], separators=(",", ":"))}
            connection.execute(text("INSERT INTO ledger_terms VALUES ('meters', :terms)"), one)
    finally:
        database.close()
    last = json.loads(RECORDS[-1])
    place.anchor.write_text(Head(last["sequence"], last["hash"]).to_text())


def test_a_ledger_of_version_one_goes_on_with_all_it_knew(ledger_place):
    write_first(ledger_place)
    with ledger_place.open() as ledger:
        assert ledger.verify().head.sequence == 2
        assert [json.dumps(record.to_json()) for record in ledger.entries()] == RECORDS
        assert ledger.spent([KWH, OWNERS]) == {KWH: Charge(0.30000000000000004, 1e-9), OWNERS: Charge(0.25, 0.0)}
        assert ledger.accounts("meters") == ledger.spent([KWH, OWNERS])
        entries = [Entry(name * 32, {KWH: Charge(0.5, 0.0)}, {}) for name in ("bb", "cc")]
        assert ledger.charge(entries, ROOM, TERMS, Quotas({"analyst": 0.6}, "ada")) == [False, True]
        assert ledger.verify().head.sequence == 3
    with ledger_place.open() as ledger:
        assert ledger.spent([KWH])[KWH].information == 0.8
        assert list(ledger.accounts(holder='["analyst", "ada"]').values()) == [Charge(0.5, 0.0)]


def test_a_migrated_ledger_has_the_tables_of_a_new_one(ledger_place):
    def shape(ledger):
        def work(connection):
            inspector, schema = inspect(connection), None if ledger._database.path else tables.SCHEMA
            return {
                name: (
                    {column["name"]: column["nullable"] for column in inspector.get_columns(name, schema=schema)},
                    {index["name"] for index in inspector.get_indexes(name, schema=schema)},
                )
                for name in inspector.get_table_names(schema=schema)
            }

        return ledger._database.run(work, "read")

    write_first(ledger_place)
    with ledger_place.open() as migrated:
        old = shape(migrated)
        assert migrated._database.run(lambda connection: tables.version(connection, "it"), "read") == tables.VERSION
        schema = None if migrated._database.path else tables.SCHEMA
        for table in reversed(tables.metadata.sorted_tables):
            name = f"{schema}.{table.name}" if schema else table.name
            migrated._database.run(lambda c, name=name: c.execute(text(f"DROP TABLE {name}")), "prepare")
        assert migrated._database.run(lambda connection: tables.version(connection, "it"), "read") == 0
        migrated._database.run(lambda connection: tables.migrate(connection, "it"), "prepare")
        assert shape(migrated) == old
        migrated._database.run(lambda connection: tables.migrate(connection, "it"), "prepare")  # and stands still
        assert shape(migrated) == old
        assert migrated.head().sequence == 0


def test_a_migration_that_dies_half_way_leaves_everything_as_it_was(ledger_place, monkeypatch):
    write_first(ledger_place)
    step = tables.STEPS[1]

    def dies(connection):
        step(connection)
        raise KeyboardInterrupt

    monkeypatch.setitem(tables.STEPS, 1, dies)
    with pytest.raises(KeyboardInterrupt):
        ledger_place.open()
    monkeypatch.setitem(tables.STEPS, 1, step)
    with ledger_place.open() as ledger:
        assert ledger.verify().head.sequence == 2


def test_a_making_that_dies_half_way_leaves_nothing(ledger_place, monkeypatch):
    create = tables._create

    def dies(connection):
        create(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "_create", dies)
    with pytest.raises(KeyboardInterrupt):
        ledger_place.open()
    monkeypatch.setattr(tables, "_create", create)
    with ledger_place.open() as ledger:
        assert ledger.charge([Entry("aa" * 32, {KWH: Charge(0.5, 0.0)}, {})], ROOM, TERMS) == [True]


def test_records_with_and_without_quotas_are_hashed_apart():
    plain = Record.from_json(json.loads(RECORDS[1]))
    assert plain.digest() == plain.hash
    quota = Account(KWH.table, KWH.column, KWH.cell, '["analyst", "ada"]')
    both = Entry(plain.entry.label, {KWH: Charge(0.2, 0.0), quota: Charge(0.2, 0.0)}, plain.entry.note)
    head = Head(1, plain.previous)
    extended = Record.after(head, both, time=plain.time, terms={})
    assert extended.hash != plain.hash
    assert Record.from_json(json.loads(json.dumps(extended.to_json()))) == extended
