"""Joining a register: what was spent of a table's owners is spent of the register's, from the same moment on.

*Guarantee*: the account of a register is never below the sum of what was spent of its tables' owners. A table joins in
one transaction, which writes down the register and adds the sum; it joins once, and never leaves.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from errorfloor.accounts import REGISTER, Account
from errorfloor.errors import CatalogueError
from errorfloor.ledger.book import Book
from errorfloor.ledger.total import Total

Totals = dict[Account, Total]
JOINED = "joined"  # the event of a record by which a table joins a register


def brought(book: Book, fixed: Mapping[str, str]) -> tuple[Totals, Totals]:
    """Give what is added to the accounts of registers by terms that are about to be fixed, and the sums after that.

    Quotas come along, too. A table's own account stays as it is, and is charged no more.
    """
    moved: Totals = {}
    for table, register in _joining(fixed):
        for account, total in _spent(book, table).items():
            there = replace(account, table=accounts_of(register))
            moved[there] = moved.get(there, Total()).plus(total)
    before = book.totals(list(moved)) if moved else {}
    return moved, {account: before.get(account, Total()).plus(total) for account, total in moved.items()}


def check_joined(book: Book, fixed: Mapping[str, str]) -> None:
    """Refuse a first charge to a register that does not know yet what was spent of the table's owners."""
    for table, register in _joining(fixed):
        if _spent(book, table):
            raise not_joined(table, register)


def not_joined(table: str, register: str) -> CatalogueError:
    """Say that a table was charged before it declared a register."""
    return CatalogueError(
        f"{table} was charged before its owners were in the register {register!r}, whose accounts do not count that "
        f"yet: run errorfloor register, which adds it",
        table=table,
        register=register,
    )


def accounts_of(register: str) -> str:
    """Name what the accounts of a register are kept for; no table has a space in its name.

    >>> accounts_of("persons")
    'register persons'
    """
    return f"{REGISTER} {register}"


def _joining(fixed: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Give the tables, with their registers, that join by terms."""
    for name, text in fixed.items():
        match json.loads(name):
            case [str(table), "register"] if (register := json.loads(text)[REGISTER]) is not None:
                yield table, register


def _spent(book: Book, table: str) -> Totals:
    return {account: total for account, total in book.totals(of=table).items() if not account.column}
