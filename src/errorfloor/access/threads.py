"""Threads and turns: the event loop only reads and writes; what thinks, or waits for a disk or an engine, has a thread.

Those who ask large questions do not keep those who ask small ones waiting. A probe is one look at a time at how the
parts are, whose outcome everybody gets who asks meanwhile.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from errorfloor.access.course import Course
from errorfloor.access.failures import DoorError
from errorfloor.access.grid import COARSE

LARGE = 0.05  # seconds of this process's own work on one question before its charge; on public facts alone
FORGOTTEN = 0.01  # seconds below which nothing is remembered of an asker
Result = TypeVar("Result")
Part = TypeVar("Part")
Outcome = TypeVar("Outcome")


class Turns:
    """A fixed number of seats and of places to wait, for one event loop.

    What an asker's questions took lately is a mean in which the last one counts half. Whoever is at ``LARGE`` or above
    has one seat, together with all others of that kind, and half of the places to wait. What a question took is
    measured before its charge, when nothing private has been read: turns tell nothing private.

    >>> turns = Turns(8, 64)
    >>> async def ask(seconds: float) -> bool:
    ...     large = await turns.begin("anna")
    ...     turns.end(large, "anna", seconds)
    ...     return large
    >>> [asyncio.run(ask(seconds)) for seconds in (0.5, 0.001, 0.001, 0.001, 0.001)]
    [False, True, True, True, False]
    """

    def __init__(
        self, seats: int, places: int, changed: Callable[[int, int], None] = lambda busy, queued: None
    ) -> None:
        self._seats, self._places, self._changed = seats, places, changed
        self._lately: dict[str, float] = {}
        self._queue: deque[tuple[bool, asyncio.Future[None]]] = deque()
        self._busy_large = 0
        self.busy = 0  # seats that are taken

    async def begin(self, asker: str) -> bool:
        """Wait for a seat; say whether it is the one for large questions. Raises DoorError (503) without a place."""
        large = self._lately.get(asker, 0.0) >= LARGE
        if self._free(large):
            self._take(large)
            return large
        waiting = self._waiting()
        alike = [turn for turn in waiting if turn[0] == large]
        if len(waiting) >= self._places or (large and 2 * len(alike) >= self._places):
            raise DoorError(
                503, "busy", "too many questions are waiting already: try again", headers={"Retry-After": "1"}
            )
        turn = asyncio.get_running_loop().create_future()
        self._queue.append((large, turn))
        self._changed(self.busy, len(waiting) + 1)
        try:
            await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self.end(large)  # it came in the same moment
            raise
        return large

    def end(self, large: bool, asker: str = "", seconds: float = 0.0) -> None:
        """End a turn that took ``seconds`` of work; the next is whoever waits for longest and may have a seat.

        Nothing is remembered of work that has no asker: one would share it with all others.
        """
        lately = (self._lately.pop(asker, 0.0) + seconds) / 2
        if asker and lately >= FORGOTTEN:
            self._lately[asker] = lately
        self.busy -= 1
        self._busy_large -= large
        for one in self._waiting():
            if self._free(one[0]):
                self._queue.remove(one)
                self._take(one[0])
                one[1].set_result(None)
        self._changed(self.busy, len(self._waiting()))

    def _free(self, large: bool) -> bool:
        return self.busy < self._seats and not (large and self._busy_large)

    def _take(self, large: bool) -> None:
        self.busy += 1
        self._busy_large += large
        self._changed(self.busy, len(self._waiting()))

    def _waiting(self) -> list[tuple[bool, "asyncio.Future[None]"]]:
        """Give those who still wait; nobody does for a turn that is done."""
        self._queue = deque(one for one in self._queue if not one[1].done())
        return list(self._queue)


class Threads:
    """A fixed number of threads with a bounded queue, for one event loop.

    Guarantee: at most ``count`` pieces of work run and ``waiting`` wait; of those who ask large questions one at a time
    is served. Those whose request was given up count as long as they run: a thread cannot be stopped. Those that looked
    at something private count until their reply leaves, on the grid, so that when the next one begins shows no more
    than that.

    >>> threads = Threads(2, waiting=8, time_limit=5.0)
    >>> asyncio.run(threads.run(lambda: 6 * 7))
    42
    >>> threads.close()
    """

    def __init__(
        self,
        count: int,
        *,
        waiting: int,
        time_limit: float,
        name: str = "questions",
        changed: Callable[[int, int], None] = lambda busy, queued: None,
    ) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=f"errorfloor-{name}")
        self._time_limit = time_limit
        self._writing = asyncio.Lock()
        self._turns = Turns(count, waiting, changed)  # is told how many are busy, and how many wait

    async def run(self, work: Callable[[], Result], course: Course | None = None, *, asker: str = "") -> Result:
        """Do work in a thread; a ``course`` says whether it can still be given up, and when its reply may leave.

        The ``asker`` waits for those who ask large questions if that is what the asker did before.

        Raises DoorError (503) if too many are waiting, or the time is over before anything was charged. After a charge
        it takes the time that it takes.
        """
        loop = asyncio.get_running_loop()
        course = Course(COARSE, time_limit=self._time_limit) if course is None else course
        deadline = loop.time() + self._time_limit
        large = await self._turn(asker, deadline)
        told: asyncio.Future[Result] = loop.create_future()
        try:
            future = self._pool.submit(course.timed(work))
        except RuntimeError:  # the pool is closed
            self._turns.end(large)
            raise _stopping() from None

        def ended(future: "Future[Result]") -> None:
            _tell(future, told)
            if abandoned:
                self._turns.end(large, asker, course.thought)

        def done(future: "Future[Result]") -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(ended, future)

        abandoned = False
        future.add_done_callback(done)
        try:
            return await self._outcome(told, course, deadline)
        finally:
            if future.done():
                _look_at(told)
                self._turns.end(large, asker, course.thought)
            else:
                told.cancel()
                abandoned = True  # it runs on, and its turn ends with it

    async def paced(self, parts: AsyncIterable[Part]) -> AsyncIterator[Part]:
        """Pass on the parts of a large reply: of all such replies one part at a time is written.

        While questions are under way the next part begins as much later as this one took.
        """
        loop, rest = asyncio.get_running_loop(), aiter(parts)
        while True:
            async with self._writing:
                begun = loop.time()
                try:
                    part = await anext(rest)
                except StopAsyncIteration:
                    return
                if self._turns.busy:
                    await asyncio.sleep(loop.time() - begun)
            yield part

    async def _outcome(self, told: "asyncio.Future[Result]", course: Course, deadline: float) -> Result:
        """Wait for what becomes of some work, and then until that may leave."""
        await asyncio.wait([told], timeout=deadline - asyncio.get_running_loop().time())
        if not told.done() and course.give_up():
            raise self._out_of_time()
        await asyncio.wait([told])
        if told.cancelled():
            raise _stopping()
        await asyncio.sleep(course.until_it_leaves())
        problem = told.exception()
        if problem is not None:
            raise course.public(problem) from None
        return told.result()

    async def _turn(self, asker: str, deadline: float) -> bool:
        """Wait for a turn; say whether it is one of those for large questions."""
        try:
            async with asyncio.timeout_at(deadline):
                return await self._turns.begin(asker)
        except TimeoutError:
            raise self._out_of_time() from None

    def _out_of_time(self) -> DoorError:
        return DoorError(
            503,
            "time",
            f"not done within {self._time_limit:g} s, and abandoned; nothing was charged: try again, or ask in parts",
            headers={"Retry-After": "5"},
            time_limit=self._time_limit,
        )

    def close(self) -> None:
        """Let what has begun come to its end."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def _stopping() -> DoorError:
    return DoorError(503, "stopping", "the server is being stopped: try again")


def _look_at(told: "asyncio.Future[Result]") -> None:
    """Look at an outcome that nobody asked for, or let none come: one that nobody looks at is written to the log."""
    if not told.cancel() and not told.cancelled():
        told.exception()


def _tell(future: "Future[Result]", told: "asyncio.Future[Result]") -> None:
    """Pass on what became of the work, if somebody still waits for it."""
    if told.done():
        return
    if future.cancelled():
        told.cancel()
    elif (problem := future.exception()) is not None:
        told.set_exception(problem)
    else:
        told.set_result(future.result())


class SharedProbe(Generic[Outcome]):
    """A look in a thread of its own, which has ``time_limit`` seconds; its outcome counts ``kept`` seconds longer.

    *Guarantee*: however many ask at once, there is one look, and none of them is turned away. An outcome of None says
    that the look failed or was not done in its time, and never that too many asked.

    >>> looks = []
    >>> probe = SharedProbe(lambda: looks.append(1) or len(looks), time_limit=2.0, kept=60.0)
    >>> async def ask(times: int) -> list[int]:
    ...     return await asyncio.gather(*(probe() for _ in range(times)))
    >>> set(asyncio.run(ask(1000))), len(looks)
    ({1}, 1)
    >>> probe.close()
    """

    def __init__(self, look: Callable[[], Outcome], *, time_limit: float, kept: float, name: str = "probe") -> None:
        self._look, self._kept = look, kept
        self._threads = Threads(1, waiting=1, time_limit=time_limit, name=name)
        self._looking: asyncio.Task[Outcome | None] | None = None
        self._until = 0.0

    async def __call__(self) -> Outcome | None:
        """Give the outcome of the look under way, or of the last one if that still counts, or else of a new one."""
        looking = self._looking
        if looking is None or (looking.done() and time.monotonic() >= self._until):
            self._looking = looking = asyncio.create_task(self._outcome())
        return await asyncio.shield(looking)  # whoever goes away does not end it for the others

    async def _outcome(self) -> Outcome | None:
        try:
            return await self._threads.run(self._look)
        except Exception:
            return None
        finally:
            self._until = time.monotonic() + self._kept

    def close(self) -> None:
        """Let a look that has begun come to its end."""
        self._threads.close()
