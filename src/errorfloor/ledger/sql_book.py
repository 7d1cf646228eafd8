"""A book in tables: every read and write of a charge goes by a key, so its cost does not grow with the history."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, cast, final

from sqlalchemy import (
    ClauseElement,
    ColumnElement,
    Connection,
    CursorResult,
    Dialect,
    Row,
    bindparam,
    func,
    select,
)
from sqlalchemy.sql.compiler import SQLCompiler

from errorfloor.errors import LedgerError
from errorfloor.ledger import tables
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import account_key, canonical
from errorfloor.ledger.record import EMPTY, Head, Record, charges_to_json
from errorfloor.ledger.total import Total
from errorfloor.pricing.accounts import Account

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

    def __init__(self, key: ColumnElement[str], *columns: ColumnElement[Any]) -> None:
        self.one = Compiled(select(*columns).where(key == bindparam("wanted")))
        self.many = select(*columns).where(key.in_(bindparam("wanted", expanding=True)))


KNOWN = Lookup(tables.entries.c.label, tables.entries.c.label)
FOUND = Lookup(tables.entries.c.label, *tables.entries.c)
ACCOUNTS = Lookup(tables.accounts.c.key, *tables.accounts.c)
TERMS = Lookup(tables.terms.c.table_name, *tables.terms.c)
HASH = select(tables.entries.c.hash).where(tables.entries.c.sequence == bindparam("sequence"))
LAST = Compiled(
    select(tables.entries.c.sequence, tables.entries.c.hash, tables.entries.c.time).where(
        tables.entries.c.sequence == select(func.max(tables.entries.c.sequence)).scalar_subquery()
    )
)
INSERT = Compiled(tables.entries.insert())
UPDATE = Compiled(
    tables.accounts.update()
    .where(tables.accounts.c.key == bindparam("found"))
    .values(information=bindparam("information"), evaluation=bindparam("evaluation"))
)


@final
class SqlBook(Book):
    """The tables of a ledger inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tail: tuple[Head, str] | None = None
        self._there: dict[str, bool] = {}  # whether an account has a row, for those that were looked for

    def tail(self) -> tuple[Head, str]:
        """Where the ledger stands, and the time of its last record."""
        if self._tail is None:
            row = LAST.run(self._connection).one_or_none()
            self._tail = (EMPTY, "") if row is None else (Head(row.sequence, row.hash), row.time)
        return self._tail

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""
        if sequence == 0:
            return EMPTY.hash
        return self._connection.execute(HASH, {"sequence": sequence}).scalar_one_or_none()

    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""
        return {row.label for row in self._rows(KNOWN, labels)}

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
            found = {row.key for row in rows}
            self._there |= {key: key in found for key in keys}
        return {Account(row.table_name, row.column_name, row.cell, row.holder): _total(row) for row in rows}

    def terms(self, tables_: Collection[str] | None = None) -> dict[str, str]:
        """The terms of tables, or of all; a table that was never charged is left out."""
        if tables_ is None:
            rows: Iterator[Row[Any]] = iter(self._connection.execute(select(tables.terms)))
        else:
            rows = self._rows(TERMS, tables_)
        return {row.table_name: row.terms for row in rows}

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
            self._tail = records[-1].head, records[-1].time
        if terms:
            rows = [{"table_name": table, "terms": text} for table, text in terms.items()]
            self._connection.execute(tables.terms.delete().where(tables.terms.c.table_name.in_(terms)))
            self._connection.execute(tables.terms.insert(), rows)
        keys = {account_key(account): account for account in totals}
        self.totals([account for key, account in keys.items() if key not in self._there])
        new = [{**_place(k, account), **_sums(totals[account])} for k, account in keys.items() if not self._there[k]]
        old = [{"found": key, **_sums(totals[account])} for key, account in keys.items() if self._there[key]]
        if new:
            self._connection.execute(tables.accounts.insert(), new)
            self._there |= {row["key"]: True for row in new}
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
        "label": record.entry.label,
        "time": record.time,
        "charges": json.dumps(charges_to_json(record.entry.charges)),
        "note": canonical("note", record.entry.note),
        "terms": canonical("terms", record.terms),
        "previous": record.previous,
        "hash": record.hash,
    }


def _record(row: Row[Any]) -> Record:
    plain = dict(row._mapping)
    try:
        plain |= {name: json.loads(plain[name]) for name in ("charges", "note", "terms")}
    except ValueError:
        raise LedgerError(f"record {row.sequence} is damaged: restore the ledger from its newest export") from None
    return Record.from_json(plain)


def _place(key: str, account: Account) -> dict[str, str]:
    return {
        "key": key,
        "table_name": account.table,
        "column_name": account.column,
        "cell": account.cell,
        "holder": account.holder,
    }


def _sums(total: Total) -> dict[str, str]:
    return {"information": str(total.information), "evaluation": str(total.evaluation)}


def _total(row: Row[Any]) -> Total:
    try:
        return Total(Fraction(row.information), Fraction(row.evaluation))
    except (ValueError, ZeroDivisionError):
        raise LedgerError(
            f"what is kept as spent of {row.table_name}.{row.column_name} is not a number: restore the ledger from its "
            f"newest export"
        ) from None
