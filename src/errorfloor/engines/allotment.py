"""What one question may take of an engine, whether anybody still waits for it, and how engines' failures are said."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TypeVar

from errorfloor.errors import EngineError, ErrorFloorError

PER_FACT = 250  # bytes, about, that the public facts of one sum over one part of the rows take while they are read
Result = TypeVar("Result")


@dataclass
class Allotment:
    """Limits of the work that one thread does, which another thread may stop; None sets no limit.

    >>> allotment = Allotment(cells=1000)
    >>> allotment.parts(outputs=4, sums=2, divided=False)
    250
    >>> allotment.stop()
    >>> allotment.check()
    Traceback (most recent call last):
    errorfloor.errors.EngineError: nobody is waiting for this any more
    """

    cells: int | None = None
    memory: int | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)
    _interrupt: Callable[[], None] | None = field(default=None, repr=False)
    _stopped: bool = field(default=False, repr=False)

    def parts(self, *, outputs: int, sums: int, divided: bool) -> int | None:
        """Give how many parts of the rows, one per group and cell of accounts, a question may have.

        A part is a group if accounts are not ``divided``.
        """
        limits = []
        if self.cells is not None and not divided:
            limits.append(self.cells // max(1, outputs))
        if self.memory is not None:
            limits.append(self.memory // (PER_FACT * (1 + sums)))
        return min(limits) if limits else None

    def stop(self) -> None:
        """Interrupt what an engine does for it now, and let nothing more begin."""
        with self._lock:
            self._stopped = True
            if self._interrupt is not None:
                self._interrupt()

    def check(self) -> None:
        """Raise EngineError if it was stopped."""
        if self._stopped:
            raise EngineError("nobody is waiting for this any more", kind="stopped")

    @contextmanager
    def working(self, interrupt: Callable[[], None]) -> Iterator[None]:
        """Let an engine work in the block; ``interrupt`` stops it from another thread."""
        with self._lock:
            self.check()
            self._interrupt = interrupt
        try:
            yield
        finally:
            with self._lock:
                self._interrupt = None


UNLIMITED = Allotment()
_GIVEN: ContextVar[Allotment] = ContextVar("allotment", default=UNLIMITED)


def allotment() -> Allotment:
    """Give what the question of this thread may take.

    >>> allotment() is UNLIMITED
    True
    """
    return _GIVEN.get()


@contextmanager
def allotted(given: Allotment) -> Iterator[None]:
    """Limit the work of this thread in the block.

    >>> with allotted(Allotment(cells=5)):
    ...     allotment().cells
    5
    """
    before = _GIVEN.set(given)
    try:
        yield
    finally:
        _GIVEN.reset(before)


def attempt(engine: str, doing: str, work: Callable[[], Result]) -> Result:
    """Do some work on an engine; a failure becomes an EngineError that names only its kind.

    *Guarantee*: the error holds no text of the engine, and no exception that has one is chained to it. Errors of this
    package pass unchanged. Its ``fields["kind"]`` is the SQLSTATE, Spark's error condition, or the exception's class.

    >>> attempt("duckdb", "read the source", lambda: int("private text"))
    Traceback (most recent call last):
    errorfloor.errors.EngineError: duckdb could not read the source (ValueError)
    """
    try:
        return work()
    except ErrorFloorError:
        raise
    except Exception as problem:
        kind = _kind(problem)
    raise EngineError(f"{engine} could not {doing} ({kind})", engine=engine, kind=kind)


def _kind(problem: Exception) -> str:
    condition = getattr(problem, "getCondition", None)  # Spark's stable names, such as DIVIDE_BY_ZERO
    if condition is not None:
        return str(condition() or type(problem).__name__)
    return str(getattr(problem, "sqlstate", None) or type(problem).__name__)
