"""Connections to the database of a ledger: one way to run a statement, whether SQLite or PostgreSQL is behind it.

Writers that wait together share one transaction, and so one sync of the disk.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar, final

from errorfloor.errors import LedgerError
from errorfloor.ledger.failures import DatabaseError

Mode = Literal["read", "write", "prepare"]
MOST = 15  # connections at a time
MOST_WORKS = 64  # of one transaction; the others wait for the next
Result = TypeVar("Result")
Row = TypeVar("Row")


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


Work = Callable[[LedgerConnection], Result]


class Turn(Generic[Result]):
    """The work of one thread, and what comes of it."""

    def __init__(self, work: Work[Result]) -> None:
        self._work = work
        self._result: Result | None = None
        self._failure: Exception | None = None
        self._woken = threading.Event()
        self.is_over = False

    def do(self, connection: LedgerConnection) -> None:
        """Do the work in a part of a transaction that it alone loses if it raises.

        A failure of the database passes: then the whole transaction is done again, or fails.
        """
        self._failure = None
        connection.run("SAVEPOINT part")
        try:
            self._result = self._work(connection)
        except DatabaseError:
            raise
        except Exception as problem:
            connection.run("ROLLBACK TO part")
            self._failure = problem
        connection.run("RELEASE part")

    def end(self, failure: Exception | None = None) -> None:
        """Let its thread go on, once the transaction is durable or has failed."""
        self._failure = failure or self._failure
        self.is_over = True
        self._woken.set()

    def lead(self) -> None:
        """Let its thread go on, to do its own work and that of all who wait by then."""
        self._woken.set()

    def wait(self) -> None:
        """Wait until it is over, or leads."""
        self._woken.wait()

    def outcome(self) -> Result:
        """Give the result, or raise what the work raised."""
        if self._failure is not None:
            raise self._failure
        return self._result  # type: ignore[return-value]  # it is over, and did not fail


class Together:
    """Lets one thread at a time write, with the work of all who have come meanwhile.

    ``transact`` does work in one transaction, which is durable when it returns.

    *Guarantee*: ``run`` returns after the transaction of its work is durable; a work that raises loses nobody else's;
    works are done one after the other, each seeing what those before it wrote.

    >>> from errorfloor.ledger.sqlite import kind
    >>> connection = LedgerConnection(kind(":memory:", 30))
    >>> def transact(work):
    ...     with connection.transaction("write"):
    ...         return work(connection)
    >>> Together(transact).run(lambda connection: connection.run("SELECT 1 AS one"))
    [{'one': 1}]
    """

    def __init__(self, transact: Callable[[Work[object]], object]) -> None:
        self._transact = transact
        self._lock = threading.Lock()
        self._waiting: list[Turn[object]] = []
        self._leader: Turn[Any] | None = None

    def run(self, work: Work[Result]) -> Result:
        """Do work in a transaction, alone or with others; give what it gives, or raise what it raises."""
        turn = Turn(work)
        with self._lock:
            self._waiting.append(turn)  # type: ignore[arg-type]  # only its own thread looks at what it gives
            leads = self._leader is None
            if leads:
                self._leader = turn
        try:
            if not leads:
                turn.wait()
            return turn.outcome() if turn.is_over else self._lead(turn, work)
        finally:
            self._leave(turn)

    def _lead(self, turn: Turn[Result], work: Work[Result]) -> Result:
        with self._lock:
            batch, self._waiting = self._waiting[:MOST_WORKS], self._waiting[MOST_WORKS:]
        if len(batch) == 1:
            return self._transact(work)  # type: ignore[return-value]  # it gives what work gives
        self._share(batch)
        return turn.outcome()

    def _leave(self, turn: Turn[Result]) -> None:
        """Let the next lead if this one did, or was to; one who was interrupted while it waited does not wait on."""
        with self._lock:
            self._waiting = [one for one in self._waiting if one is not turn]
            if self._leader is not turn:
                return
            following = self._leader = self._waiting[0] if self._waiting else None
        if following is not None:
            following.lead()

    def _share(self, batch: list[Turn[object]]) -> None:
        failure: Exception | None = LedgerError(
            "the process was stopped while it wrote to the ledger; whether the charge was written is not known, but "
            "asking again charges it once at most"
        )

        def all_of_them(connection: LedgerConnection) -> None:
            for one in batch:
                one.do(connection)

        try:
            self._transact(all_of_them)
            failure = None
        except LedgerError as problem:
            failure = problem
        finally:
            for one in batch:
                one.end(None if failure is None else LedgerError(str(failure), **getattr(failure, "fields", {})))


@cache
def in_words(statement: str, words: tuple[tuple[str, str], ...]) -> str:
    """Put a statement of ours into a database's words.

    >>> in_words("SELECT label FROM @labels WHERE label = ?", (("@", "books.ledger_"), ("?", "%s")))
    'SELECT label FROM books.ledger_labels WHERE label = %s'
    """
    for ours, theirs in words:
        statement = statement.replace(ours, theirs)
    return statement


def paged(
    read: Callable[[Any, int], Sequence[Row]], after: Any, limit: int | None, most: int, place: Callable[[Row], Any]
) -> Iterator[Row]:
    """Give what comes after a place, at most ``limit`` of it, in pages: none is left open while others write.

    >>> list(paged(lambda after, count: range(after + 1, 10)[:count], 3, None, 2, lambda row: row))
    [4, 5, 6, 7, 8, 9]
    """
    while limit is None or limit > 0:
        count = most if limit is None else min(limit, most)
        page = read(after, count)
        yield from page
        if len(page) < count:
            return
        after, limit = place(page[-1]), None if limit is None else limit - count


@cache
def marks(count: int) -> str:
    """Give the places of values in a statement.

    >>> marks(3)
    '?, ?, ?'
    """
    return ", ".join("?" * count)
