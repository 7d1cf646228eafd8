"""A ledger in memory, for demonstrations and tests: it forgets everything when its process ends."""

import threading
import weakref
from collections.abc import Callable
from typing import ClassVar, TypeVar, final

from errorfloor.ledger import sqlite, tables
from errorfloor.ledger.base import Ledger
from errorfloor.ledger.book import Book
from errorfloor.ledger.connections import LedgerConnection
from errorfloor.ledger.failures import DatabaseError

Result = TypeVar("Result")


@final
class MemoryLedger(Ledger):
    """A ledger that is not durable: floors hold for the life of the process only.

    >>> from errorfloor.ledger import Account, Charge, Entry
    >>> kwh = Account("meters", "kwh", "")
    >>> ledger = MemoryLedger()
    >>> entry = Entry("ab" * 32, {kwh: Charge(0.5, 0.0)}, {"output": "avg_kwh"})
    >>> ledger.charge([entry], {kwh: Charge(0.75, 0.0)}, {"meters": {"account_by": []}})
    [True]
    >>> ledger.charge([entry], {kwh: Charge(0.75, 0.0)}, {"meters": {"account_by": []}})  # the same again is free
    [False]
    >>> ledger.spent([kwh])[kwh].information
    0.5
    """

    is_forgotten: ClassVar[bool] = True

    def __init__(self) -> None:
        super().__init__(anchor=None)
        self._connection = LedgerConnection(sqlite.kind(":memory:", 0.0))
        self._lock = threading.Lock()
        weakref.finalize(self, self._connection.close)  # and not in close: it is there for the life of the process
        with self._connection.transaction("prepare"):
            tables.create(self._connection)

    def _read(self, work: Callable[[Book], Result]) -> Result:
        return self._write(work)

    def _write(self, work: Callable[[Book], Result]) -> Result:
        try:
            with self._lock, self._connection.transaction("write"):
                return work(Book(self._connection))
        except DatabaseError as problem:
            raise problem.explained("in memory", 0.0) from None
