"""A book in tables: every read and write of a charge goes by a key, so its cost does not grow with the history."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, final

from sqlalchemy import ColumnElement, Connection, Row, bindparam, select

from errorfloor.errors import LedgerError
from errorfloor.ledger import tables
from errorfloor.ledger.book import Book
from errorfloor.ledger.entry import account_key, canonical
from errorfloor.ledger.record import EMPTY, Head, Record, charges_to_json
from errorfloor.ledger.total import Total
from errorfloor.pricing.accounts import Account

CHUNK = 500  # keys in one statement


@final
class SqlBook(Book):
    """The tables of a ledger inside one transaction."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def head(self) -> Head:
        """Where the ledger stands."""
        column = tables.entries.c
        last = select(column.sequence, column.hash).order_by(column.sequence.desc()).limit(1)
        row = self._connection.execute(last).one_or_none()
        return EMPTY if row is None else Head(row.sequence, row.hash)

    def hash_at(self, sequence: int) -> str | None:
        """The hash of one record; None if there is no such record."""
        if sequence == 0:
            return EMPTY.hash
        one = select(tables.entries.c.hash).where(tables.entries.c.sequence == sequence)
        return self._connection.execute(one).scalar_one_or_none()

    def known(self, labels: Collection[str]) -> set[str]:
        """Those labels that are charged already."""
        return {row.label for row in self._rows(tables.entries.c.label, labels, tables.entries.c.label)}

    def totals(self, accounts: Collection[Account] | None = None, *, of: str | None = None) -> dict[Account, Total]:
        """The totals of accounts, of a table's or of all; an account that was never charged is left out."""
        columns = tuple(tables.accounts.c)
        if accounts is not None:
            rows = self._rows(tables.accounts.c.key, [account_key(account) for account in accounts], *columns)
        elif of is not None:
            rows = self._rows(tables.accounts.c.table_name, [of], *columns)
        else:
            rows = iter(self._connection.execute(select(*columns)))
        return {Account(row.table_name, row.column_name, row.cell): _total(row) for row in rows}

    def terms(self, tables_: Collection[str] | None = None) -> dict[str, str]:
        """The terms of tables, or of all; a table that was never charged is left out."""
        columns = tuple(tables.terms.c)
        if tables_ is None:
            rows: Iterator[Row[Any]] = iter(self._connection.execute(select(*columns)))
        else:
            rows = self._rows(tables.terms.c.table_name, tables_, *columns)
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
            self._connection.execute(tables.entries.insert(), [_row(record) for record in records])
        if terms:
            rows = [{"table_name": table, "terms": text} for table, text in terms.items()]
            self._connection.execute(tables.terms.insert(), rows)
        keys = {account_key(account): account for account in totals}
        there = {row.key for row in self._rows(tables.accounts.c.key, keys, tables.accounts.c.key)}
        new = [{**_place(key, account), **_sums(totals[account])} for key, account in keys.items() if key not in there]
        old = [{"found": key, **_sums(totals[account])} for key, account in keys.items() if key in there]
        if new:
            self._connection.execute(tables.accounts.insert(), new)
        if old:
            one = tables.accounts.update().where(tables.accounts.c.key == bindparam("found"))
            self._connection.execute(
                one.values(information=bindparam("information"), evaluation=bindparam("evaluation")), old
            )

    def _rows(
        self, key: ColumnElement[str], wanted: Collection[str], *columns: ColumnElement[Any]
    ) -> Iterator[Row[Any]]:
        """Give the rows with those keys, a chunk of keys at a time."""
        keys = list(wanted)
        for start in range(0, len(keys), CHUNK):
            yield from self._connection.execute(select(*columns).where(key.in_(keys[start : start + CHUNK])))


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
    return {"key": key, "table_name": account.table, "column_name": account.column, "cell": account.cell}


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
