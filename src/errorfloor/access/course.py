"""The course of one piece of work: until the charge it may be refused and given up, after it neither.

Then the reply leaves on the grid, and nothing that others see of it follows a measured time.
"""

import datetime
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from errorfloor.access.failures import DoorError
from errorfloor.access.grid import TimeGrid
from errorfloor.access.size import reply_bytes
from errorfloor.answering.asking import Attendant
from errorfloor.catalogue.model import Limit
from errorfloor.engines.allotment import Allotment
from errorfloor.errors import AnswerFailedError, LedgerError, RefusedError
from errorfloor.preparing.cost import public_cost
from errorfloor.preparing.preparation import Prepared
from errorfloor.pricing.facts import too_many
from errorfloor.service import Price

FIGURES = 2  # of a row that a standing question shows: the period's, and the total
Result = TypeVar("Result")
Noted = Callable[[Price, Sequence[bool], Sequence[str]], None]


class Course(Attendant):
    """Attends to one request, in the thread that works and in the one that waits for it.

    Guarantee: ``give_up`` succeeds only while nothing is charged, and then nothing will be. Once private columns are
    read, when the reply leaves, its status and what is written down of it follow from public facts, unless the work
    takes longer than its public cost.

    ``time_limit`` is the largest public cost, in seconds, that is not refused; ``limit`` what the catalogue lets one
    question take, and ``question`` the share of the allowance. ``noted`` is told of the charge, for the log and the
    metrics, before private columns are read. ``said`` are failures that depend on nothing private wherever they occur;
    for others there is one fixed reply.

    >>> course = Course(TimeGrid(1.25), time_limit=30.0)
    >>> course.give_up()
    True
    >>> course.charging()
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: abandoned before anything was charged
    """

    def __init__(
        self,
        grid: TimeGrid,
        *,
        time_limit: float,
        limit: Limit | None = None,
        question: float | None = None,
        noted: Noted | None = None,
        said: tuple[type[Exception], ...] = (AnswerFailedError, LedgerError),
    ) -> None:
        self._grid, self._time_limit, self._noted, self._said = grid, time_limit, noted, said
        self._lock, self._limit = threading.Lock(), limit
        self.question = question
        self.allotment = Allotment() if limit is None else Allotment(limit.cells, limit.memory)
        self._given_up = self._is_charged = False
        self._cost = 0.0
        self._begun = 0.0
        self.thought = 0.0  # seconds of this process's work before anything private was read
        self._looked: tuple[float, datetime.datetime] | None = None
        self.left: tuple[float, datetime.datetime] | None = None

    def timed(self, work: Callable[[], Result]) -> Callable[[], Result]:
        """Give work that notes what it takes, in the thread that does it, until private columns are read."""

        def timed() -> Result:
            self._begun = time.thread_time()
            try:
                return work()
            finally:
                if self._looked is None:
                    self.thought = time.thread_time() - self._begun

        return timed

    def priced(self, prepared: Prepared) -> None:
        """Refuse what is too large, or takes too long to answer: after the charge it would not be given up."""
        self.releasing([prepared])

    def releasing(self, prepared: Sequence[Prepared], drawing: float = 0.0) -> None:
        """Refuse the same of several that are answered together; ``drawing`` are the seconds that noise takes, too."""
        for one in prepared:
            if self._limit is not None:
                _check_size(one, self._limit)
        self._cost = drawing + sum(map(public_cost, prepared))
        if self._cost > self._time_limit:
            raise RefusedError(
                f"answering this takes up to {self._cost:.3g} s, but {self._time_limit:g} s are allowed; nothing was "
                f"charged: ask for fewer groups or outputs, or in parts",
                reason="cost",
                cost=self._cost,
                time_limit=self._time_limit,
            )

    def showing(self, rows: int, drawing: float) -> None:
        """Refuse more figures of a standing question than an answer may have cells, or that take too long to draw."""
        most = None if self._limit is None else self._limit.cells // FIGURES
        if most is not None and rows > most:
            raise RefusedError(
                f"there are about {rows:,} rows of figures, and {most:,} are shown here ([limit] cells): read them "
                f"beside the data, with errorfloor follow",
                reason="cells",
            )
        if drawing > self._time_limit:
            raise RefusedError(
                f"drawing the noise of all periods for so many groups takes up to {drawing:.3g} s, but "
                f"{self._time_limit:g} s are allowed: follow a question with fewer groups, or for a shorter horizon; "
                f"or release it beside the data, with errorfloor follow",
                reason="cost",
                cost=drawing,
                time_limit=self._time_limit,
            )

    def charging(self) -> None:
        """Go on to the charge, unless it was given up."""
        with self._lock:
            if self._given_up:
                raise DoorError(503, "time", "abandoned before anything was charged")
            self._is_charged = True

    def looking(self, stated: Price | None, fresh: Sequence[bool], labels: Sequence[str]) -> None:
        """Note what was charged, and start the grid."""
        if self._noted is not None and stated is not None:
            self._noted(stated, fresh, labels)
        self.start(self._cost)

    def start(self, cost: float) -> None:
        """Start the grid: something private is looked at from here on."""
        with self._lock:
            self._is_charged = True
        self._cost = cost
        self.thought = time.thread_time() - self._begun
        self._looked = time.monotonic(), datetime.datetime.now(datetime.UTC)

    def give_up(self) -> bool:
        """Give it up, if nothing is charged yet; say whether that was so."""
        with self._lock:
            self._given_up = not self._is_charged
        if self._given_up:
            self.allotment.stop()  # it stops costing
        return self._given_up

    def until_it_leaves(self) -> float:
        """Give the seconds until the reply of work that is done may leave; what is written down is that time."""
        if self._looked is None:
            return 0.0
        start, moment = self._looked
        now = time.monotonic()
        passed = self._grid.after(now - start, cost=self._cost)
        self.left = start + passed, moment + datetime.timedelta(seconds=passed)
        return start + passed - now

    def public(self, problem: BaseException) -> BaseException:
        """Give what may be said of a failure: once something private was looked at, always the same."""
        if self._looked is None or isinstance(problem, self._said):
            return problem
        return AnswerFailedError()


def _check_size(prepared: Prepared, limit: Limit) -> None:
    """Refuse an answer with too many cells or bytes; pricing refuses it, too, before it knows all groups."""
    groups = len(prepared.bounds.groups)
    if groups * len(prepared.outputs) > limit.cells:
        raise too_many(f"{groups:,} groups", prepared.question)
    size = reply_bytes(prepared)
    if size > limit.bytes:
        raise RefusedError(
            f"the reply may have {size:,} bytes, and {limit.bytes:,} are allowed; nothing was charged: ask in parts, "
            f"or for fewer groups with LIMIT",
            reason="bytes",
            bytes=limit.bytes,
        )
