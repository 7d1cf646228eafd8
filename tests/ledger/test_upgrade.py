"""A ledger of an older version is never opened as it is; an upgrade keeps its balances, all of it or nothing."""

import json
import re
from fractions import Fraction

import pytest

from errorfloor.errors import LedgerError
from errorfloor.ledger import Account, Charge, Entry, FileAnchor, tables
from errorfloor.ledger.entry import Head
from errorfloor.ledger.sql_ledger import LedgerStore
from errorfloor.ledger.upgrade import upgrade

KWH, OWNERS = Account("meters", "kwh", '["north"]'), Account("meters", "", "")
TERMS = {"meters": {"account_by": ["region"]}}
ROOM = {KWH: Charge(1.0, 1.0), OWNERS: Charge(1.0, 1.0)}
NOW = "2026-11-16T00:00:00+00:00"

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
    database = LedgerStore(place.place, patience=5)

    def work(connection):
        for statement in (*connection.kind.room, *FIRST):
            connection.run(re.sub(r"(TABLE|INTO|ON) ledger_", r"\1 @", statement))
        texts = ("charges", "note", "terms")
        connection.insert("entries", [one | {name: json.dumps(one[name]) for name in texts} for one in records])
        connection.run_all("INSERT INTO @accounts VALUES (?, ?, ?, ?, ?, ?)", ACCOUNTS)
        terms = json.dumps(TERMS["meters"], separators=(",", ":"))
        connection.run("INSERT INTO @terms VALUES ('meters', ?)", terms)

    records = [json.loads(record) for record in RECORDS]
    try:
        database.run(work, "prepare")
    finally:
        database.close()
    last = records[-1]
    place.anchor.write_text(Head(last["sequence"], last["hash"]).to_text())


def upgraded(place, **options):
    return upgrade(place.place, FileAnchor(place.anchor), lambda old: ({"opened": True}, TERMS), now=NOW, **options)


def charge(ledger, name):
    return ledger.charge([Entry(name * 32, {KWH: Charge(0.5, 0.0)}, {})], ROOM, TERMS)


def test_an_older_ledger_is_refused_with_advice_and_left_as_it_is(ledger_place):
    write_first(ledger_place)
    for _ in range(2):
        with pytest.raises(LedgerError, match=r"written by an older errorfloor \(version 1.*run errorfloor upgrade"):
            ledger_place.open()
    old = upgraded(ledger_place)
    assert [json.dumps(record) for record in map(in_order, old.records)] == RECORDS


def in_order(record):
    return {name: record[name] for name in json.loads(RECORDS[0])}


def test_an_upgrade_keeps_balances_and_goes_on_with_the_chain(ledger_place):
    write_first(ledger_place)
    upgraded(ledger_place)
    last = json.loads(RECORDS[-1])
    with ledger_place.open() as ledger:
        assert ledger.verify().head.sequence == 3
        assert ledger.spent([KWH, OWNERS]) == {KWH: Charge(0.30000000000000004, 1e-9), OWNERS: Charge(0.25, 0.0)}
        (opening,) = ledger.entries()
        assert (opening.sequence, opening.previous, opening.labels) == (3, last["hash"], ())
        assert opening.charges[KWH].amounts == {"A2": Fraction(ACCOUNTS[0][4]), "E": Fraction(ACCOUNTS[0][5])}
        assert charge(ledger, "bb") == [True]  # an old label is not taken over: another draw, another charge
        assert ledger.verify().head.sequence == 4
    assert FileAnchor(ledger_place.anchor).read().sequence == 4
    with ledger_place.open() as ledger:
        assert ledger.spent([KWH])[KWH].information == 0.8
    assert upgraded(ledger_place) is None  # and a second time does nothing


def test_an_upgraded_ledger_can_be_exported_and_restored(sqlite_place):
    write_first(sqlite_place)
    upgraded(sqlite_place)
    with sqlite_place.open() as ledger:
        charge(ledger, "bb")
        lines = list(ledger.entries())
    for file in sqlite_place.anchor.parent.glob("ledger.sqlite*"):
        file.unlink()
    with sqlite_place.open(restore=lines) as ledger:
        assert ledger.verify().head.sequence == 4
        assert ledger.spent([KWH])[KWH].information == 0.8


def test_an_upgrade_that_dies_half_way_leaves_everything_as_it_was(ledger_place, monkeypatch):
    write_first(ledger_place)
    create = tables.create

    def dies(connection):
        create(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "create", dies)
    with pytest.raises(KeyboardInterrupt):
        upgraded(ledger_place)
    monkeypatch.setattr(tables, "create", create)
    assert FileAnchor(ledger_place.anchor).read().sequence == 2
    assert upgraded(ledger_place).head.sequence == 2


def test_an_upgrade_that_dies_before_the_anchor_is_taken_up(sqlite_place):
    write_first(sqlite_place)
    kept = sqlite_place.anchor.read_bytes()
    upgraded(sqlite_place)
    sqlite_place.anchor.write_bytes(kept)
    with sqlite_place.open() as ledger:
        assert ledger.head() == FileAnchor(sqlite_place.anchor).read() == ledger.verify().head


def test_a_damaged_older_or_unanchored_ledger_is_not_upgraded(sqlite_place):
    write_first(sqlite_place)
    kept = sqlite_place.anchor.read_bytes()
    sqlite_place.anchor.unlink()
    with pytest.raises(LedgerError, match=r"its anchor .* is missing"):
        upgraded(sqlite_place)
    sqlite_place.anchor.write_text(Head(3, "f" * 64).to_text())
    with pytest.raises(LedgerError, match=r"has 2 records, its anchor .* says 3"):
        upgraded(sqlite_place)
    sqlite_place.anchor.write_text(Head(2, "f" * 64).to_text())
    with pytest.raises(LedgerError, match="another record 2 than its anchor"):
        upgraded(sqlite_place)
    sqlite_place.anchor.write_bytes(kept)
    database = LedgerStore(sqlite_place.place, patience=5)
    change = "UPDATE @entries SET charges = replace(charges, '0.25', '0.125')"
    database.run(lambda connection: connection.run(change), "write")
    database.close()
    with pytest.raises(LedgerError, match="record 1 is missing or not what was written"):
        upgraded(sqlite_place)


def test_a_making_that_dies_half_way_leaves_nothing(ledger_place, monkeypatch):
    create = tables.create

    def dies(connection):
        create(connection)
        raise KeyboardInterrupt

    monkeypatch.setattr(tables, "create", dies)
    with pytest.raises(KeyboardInterrupt):
        ledger_place.open()
    monkeypatch.setattr(tables, "create", create)
    with ledger_place.open() as ledger:
        assert charge(ledger, "aa") == [True]
