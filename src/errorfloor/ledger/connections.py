"""Connections to the database of a ledger: one way to run a statement, whether SQLite or PostgreSQL is behind it."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, final

from errorfloor.ledger.failures import DatabaseError

Mode = Literal["read", "write", "prepare"]
MOST = 15  # connections at a time


@dataclass(frozen=True)
class DatabaseKind:
    """How one kind of database is spoken to.

    ``connect`` gives a connection of the driver's that begins nothing by itself; ``failure`` is what the driver raises;
    ``begin`` are the statements that open a transaction of each mode; ``words`` is what the database has for ``@`` (in
    ``@entries``, the table ledger_entries), ``?`` (a value), ``WHOLE`` (a number of 64 bits) and ``BYTES`` in our
    statements; ``tables`` lists the tables that there are; ``room`` makes the place for ours, if they need one.
    """

    connect: Callable[[], Any]
    failure: type[Exception]
    begin: Mapping[str, Sequence[str]]
    words: tuple[tuple[str, str], ...]
    tables: str
    room: Sequence[str] = ()


@final
class LedgerConnection:
    """One connection, inside a transaction while it is lent."""

    def __init__(self, kind: DatabaseKind) -> None:
        self.kind = kind
        self.is_sound = True
        try:
            self._driver = kind.connect()
        except kind.failure as problem:
            raise DatabaseError(problem) from None

    def run(self, statement: str, *values: Any) -> list[dict[str, Any]]:
        """Run a statement; give its rows, by the names of their columns.

        Raises DatabaseError if the database does.
        """
        try:
            cursor = self._driver.execute(in_words(statement, self.kind.words), values)
            if cursor.description is None:
                return []
            names = [column[0] for column in cursor.description]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        except self.kind.failure as problem:
            raise DatabaseError(problem) from None

    def insert(self, table: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Write rows into a table; all have the same columns."""
        given = [(list(row), list(row.values())) for row in rows]
        if given:
            names = given[0][0]
            self.run_all(
                f"INSERT INTO @{table} ({', '.join(names)}) VALUES ({marks(len(names))})", [row for _, row in given]
            )

    def run_all(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement for every row of values."""
        if len(rows) == 1:
            self.run(statement, *rows[0])
        elif rows:
            try:
                self._driver.cursor().executemany(in_words(statement, self.kind.words), rows)
            except self.kind.failure as problem:
                raise DatabaseError(problem) from None

    @contextmanager
    def transaction(self, mode: Mode) -> Iterator[None]:
        """Begin, and commit; or roll back what is done under it if that raises."""
        try:
            for statement in self.kind.begin[mode]:
                self.run(statement)
            yield
            self.run("COMMIT")
        except BaseException:
            try:
                self.run("ROLLBACK")
            except DatabaseError:
                self.is_sound = False
            raise

    def close(self) -> None:
        """Close it; a transaction that is open is lost."""
        with suppress(self.kind.failure):
            self._driver.close()


@final
class Connections:
    """Connections that threads borrow, at most ``MOST`` at a time; one that failed is not lent again."""

    def __init__(self, kind: DatabaseKind, patience: float) -> None:
        self._kind = kind
        self._patience = patience
        self._free = threading.Semaphore(MOST)
        self._idle: list[LedgerConnection] = []

    @contextmanager
    def lend(self) -> Iterator[LedgerConnection]:
        """Lend a connection; raises DatabaseError if none becomes free in time, or none can be made."""
        if not self._free.acquire(timeout=self._patience):
            raise DatabaseError(None)
        try:
            idle = self._idle
            try:
                connection = idle.pop()
            except IndexError:
                connection = LedgerConnection(self._kind)
            try:
                yield connection
            finally:
                if not connection.is_sound:
                    self.close()  # a server that went away is gone for the others too
                if idle is self._idle:
                    idle.append(connection)
                else:
                    connection.close()
        finally:
            self._free.release()

    def close(self) -> None:
        """Close all that are idle; those that are lent are closed when they come back."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


@cache
def in_words(statement: str, words: tuple[tuple[str, str], ...]) -> str:
    """Put a statement of ours into a database's words.

    >>> in_words("SELECT label FROM @labels WHERE label = ?", (("@", "books.ledger_"), ("?", "%s")))
    'SELECT label FROM books.ledger_labels WHERE label = %s'
    """
    for ours, theirs in words:
        statement = statement.replace(ours, theirs)
    return statement


@cache
def marks(count: int) -> str:
    """Give the places of values in a statement.

    >>> marks(3)
    '?, ?, ?'
    """
    return ", ".join("?" * count)
