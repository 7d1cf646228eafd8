"""Writers that wait together share one transaction, and so one sync of the disk."""

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from errorfloor.errors import LedgerError
from errorfloor.ledger.connections import LedgerConnection
from errorfloor.ledger.failures import DatabaseError

Result = TypeVar("Result")
Work = Callable[[LedgerConnection], Result]
MOST = 64  # works of one transaction; the others wait for the next


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
            batch, self._waiting = self._waiting[:MOST], self._waiting[MOST:]
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
