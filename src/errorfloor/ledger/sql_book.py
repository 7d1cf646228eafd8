"""A book in tables: every read and write of a charge goes by a key, so its cost does not grow with the history."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, cast, final

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Connection,
    CursorResult,
    Dialect,
    FromClause,
    Row,
    bindparam,
    func,
    select,
)
from sqlalchemy.sql.compiler import SQLCompiler

from errorfloor.accounts import Account
from errorfloor.errors import InputError, LedgerError
from errorfloor.ledger import tables
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import (
    EMPTY,
    FORMAT,
    Head,
    Record,
    account_from_json,
    account_key,
    account_name,
    account_to_json,
    canonical,
    charges_to_json,
)
from errorfloor.ledger.total import Total

CHUNK = 500  # keys in one statement


class Compiled:
    """A statement that is put into words once for each kind of database.

    Whoever charges waits for these, and SQLAlchemy's own way from a statement to the driver is several times as long.
    """

    def __init__(self, statement: ClauseElement) -> None:
        self._statement = statement
        self._texts: dict[str, tuple[str, list[str] | None]] = {}

    def run(self, connection: Connection, **values: Any) -> CursorResult[Any]:
        """Run it with values for its parameters."""
        return self.run_all(connection, [values])

    def run_all(self, connection: Connection, rows: list[dict[str, Any]]) -> CursorResult[Any]:
        """Run it for every row of values."""
        text, order = self._words(connection.dialect)
        given = rows if order is None else [tuple(row[name] for name in order) for row in rows]
        return connection.exec_driver_sql(text, given if len(given) > 1 else given[0])

    def _words(self, dialect: Dialect) -> tuple[str, list[str] | None]:
        if dialect.name not in self._texts:
            compiled = cast(SQLCompiler, self._statement.compile(dialect=dialect))
            self._texts[dialect.name] = str(compiled), compiled.positiontup
        return self._texts[dialect.name]


class Lookup:
    """Statements that find rows by a key, made once: for one key and for many."""

    def __init__(self, key: ColumnElement[str], *columns: ColumnElement[Any], of: FromClause | None = None) -> None:
        found = select(*columns) if of is None else select(*columns).select_from(of)
        self.one = Compiled(found.where(key == bindparam("wanted")))
        self.many = found.where(key.in_(bindparam("wanted", expanding=True)))


KNOWN = Lookup(tables.labels.c.label, tables.labels.c.label)
FOUND = Lookup(
    tables.labels.c.label,
    tables.labels.c.label,
    *tables.entries.c,
    of=tables.labels.join(tables.entries, tables.labels.c.sequence == tables.entries.c.sequence),
)
ACCOUNTS = Lookup(tables.accounts.c.key, *tables.accounts.c)
TERMS = Lookup(tables.terms.c.name, *tables.terms.c)
FIRST = select(tables.entries.c.sequence, tables.entries.c.previous).order_by(tables.entries.c.sequence).limit(1)
HASH = select(tables.entries.c.hash).where(tables.entries.c.sequence == bindparam("sequence"))
LAST = Compiled(
    select(tables.entries.c.sequence, tables.entries.c.hash, tables.entries.c.time).where(
        tables.entries.c.sequence == select(func.max(tables.entries.c.sequence)).scalar_subquery()
    )
)
INSERT = Compiled(tables.entries.insert())
INSERT_LABELS = Compiled(tables.labels.insert())
UPDATE = Compiled(
    tables.accounts.update()
    .where(tables.accounts.c.key == bindparam("found"), tables.accounts.c.coordinate == bindparam("of"))
    .values(amount=bindparam("amount"))
)


@final
class SqlBook(Book):
    """The tables of a ledger inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tail: tuple[Head, str] | None = None
        self._there: dict[str, set[str]] = {}  # of which coordinates an account has rows, if it was looked for

    def tail(self) -> tuple[Head, str]:
        """Where the ledger stands, and the time of its last record."""
        if self._tail is None:
            row = LAST.run(self._connection).one_or_none()
            self._tail = (EMPTY, "") if row is None else (Head(row.sequence, row.hash), row.time)
        return self._tail

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""
        found = self._connection.execute(HASH, {"sequence": sequence}).scalar_one_or_none()
        if found is None and sequence == self.start().sequence:
            return self.start().hash
        return found

    def start(self) -> Head:
        """Where the ledger stood before its first record."""
        row = self._connection.execute(FIRST).one_or_none()
        return EMPTY if row is None else Head(row.sequence - 1, row.previous)

    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""
        return {row.label for row in self._rows(KNOWN, labels)}

    def labels(self) -> Iterator[tuple[str, int]]:
        """Every label that is charged, with the number of the record that pays for it."""
        last = ""
        while True:
            page = select(tables.labels).where(tables.labels.c.label > last).order_by(tables.labels.c.label)
            rows = self._connection.execute(page.limit(CHUNK)).all()
            yield from ((row.label, row.sequence) for row in rows)
            if len(rows) < CHUNK:
                return
            last = rows[-1].label

    def found(self, labels: Collection[str]) -> dict[str, Record]:
        """The records with those labels; a label that was never charged is left out."""
        return {row.label: _record(row) for row in self._rows(FOUND, labels)}

    def totals(
        self, accounts: Collection[Account] | None = None, *, of: str | None = None, holder: str | None = None
    ) -> dict[Account, Total]:
        """The totals of accounts, or of all those of a table and a holder; one that was never charged is left out."""
        column = tables.accounts.c
        if accounts is None:
            every = select(tables.accounts)
            every = every if of is None else every.where(column.table_name == of)
            every = every if holder is None else every.where(column.holder == holder)
            rows = list(self._connection.execute(every))
        else:
            keys = [account_key(account) for account in accounts]
            rows = list(self._rows(ACCOUNTS, keys))
            self._there |= {key: set() for key in keys}
            for row in rows:
                self._there[row.key].add(row.coordinate)
        amounts: dict[str, dict[str, str]] = {}
        for row in rows:
            amounts.setdefault(row.account, {})[row.coordinate] = row.amount
        return {_account(account): _total(account, found) for account, found in amounts.items()}

    def terms(self, names: Collection[str] | None = None) -> dict[str, str]:
        """The terms of those names, or all; those that were never fixed are left out."""
        if names is None:
            rows: Iterator[Row[Any]] = iter(self._connection.execute(select(tables.terms)))
        else:
            rows = self._rows(TERMS, names)
        return {row.name: row.terms for row in rows}

    def records(self, after: int = 0, limit: int | None = None) -> Iterator[Record]:
        """The records after one number, in order, at most ``limit`` of them."""
        column = tables.entries.c
        while limit is None or limit > 0:  # by the page: a cursor left open on the server would outlive an error
            count = CHUNK if limit is None else min(limit, CHUNK)
            page = select(tables.entries).where(column.sequence > after).order_by(column.sequence).limit(count)
            rows = self._connection.execute(page).all()
            yield from map(_record, rows)
            if len(rows) < count:
                return
            after, limit = rows[-1].sequence, None if limit is None else limit - count

    def append(self, records: Sequence[Record], totals: Mapping[Account, Total], terms: Mapping[str, str]) -> None:
        """Write records, the new totals of the accounts that they charge, and the terms that they fix."""
        if records:
            INSERT.run_all(self._connection, [_row(record) for record in records])
            paid = [{"label": label, "sequence": record.sequence} for record in records for label in record.labels]
            if paid:
                INSERT_LABELS.run_all(self._connection, paid)
            self._tail = records[-1].head, records[-1].time
        if terms:
            rows = [{"name": name, "terms": text} for name, text in terms.items()]
            self._connection.execute(tables.terms.delete().where(tables.terms.c.name.in_(terms)))
            self._connection.execute(tables.terms.insert(), rows)
        keys = {account_key(account): account for account in totals}
        self.totals([account for key, account in keys.items() if key not in self._there])
        new, old = [], []
        for key, account in keys.items():
            for coordinate, amount in totals[account].to_json().items():
                if coordinate in self._there[key]:
                    old.append({"found": key, "of": coordinate, "amount": amount})
                else:
                    new.append({**_place(key, account), "coordinate": coordinate, "amount": amount})
                    self._there[key].add(coordinate)
        if new:
            self._connection.execute(tables.accounts.insert(), new)
        if old:
            UPDATE.run_all(self._connection, old)

    def _rows(self, lookup: Lookup, wanted: Collection[str]) -> Iterator[Row[Any]]:
        """Give the rows with those keys, a chunk of keys at a time."""
        keys = list(wanted)
        if len(keys) == 1:
            yield from lookup.one.run(self._connection, wanted=keys[0])
            return
        for start in range(0, len(keys), CHUNK):
            yield from self._connection.execute(lookup.many, {"wanted": keys[start : start + CHUNK]})


def _row(record: Record) -> dict[str, Any]:
    return {
        "sequence": record.sequence,
        "time": record.time,
        "labels": json.dumps(record.labels),
        "charges": json.dumps(charges_to_json(record.charges)),
        "note": canonical("note", record.note),
        "terms": canonical("terms", record.terms),
        "previous": record.previous,
        "hash": record.hash,
    }


def _record(row: Row[Any]) -> Record:
    plain = dict(row._mapping) | {"format": FORMAT}
    try:
        plain |= {name: json.loads(plain[name]) for name in ("labels", "charges", "note", "terms")}
    except ValueError:
        raise LedgerError(f"record {row.sequence} is damaged: restore the ledger from its newest export") from None
    return Record.from_json(plain)


def _place(key: str, account: Account) -> dict[str, str]:
    return {
        "key": key,
        "table_name": account.table,
        "holder": account.holder,
        "account": canonical("account", account_to_json(account)),
    }


def _account(text: str) -> Account:
    try:
        return account_from_json(json.loads(text))
    except (ValueError, TypeError, InputError):
        raise LedgerError("the name of an account is damaged: restore the ledger from its newest export") from None


def _total(account: str, amounts: Mapping[str, str]) -> Total:
    try:
        return Total.from_json(amounts)
    except (ValueError, ZeroDivisionError):
        raise LedgerError(
            f"what is kept as spent of {account_name(_account(account))} is not a number: restore the ledger from its "
            f"newest export"
        ) from None
