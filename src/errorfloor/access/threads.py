"""Threads: the event loop only reads and writes; whatever thinks, waits for a disk or an engine, does so elsewhere."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from errorfloor.access.course import Course
from errorfloor.access.failures import DoorError
from errorfloor.access.grid import COARSE
from errorfloor.access.turns import Turns

Result = TypeVar("Result")
Part = TypeVar("Part")


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
