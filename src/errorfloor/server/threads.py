"""Threads: the event loop only reads and writes; whatever thinks, waits for a disk or an engine, does so elsewhere."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import TypeVar

from errorfloor.server.failures import DoorError

Result = TypeVar("Result")


class Threads:
    """A fixed number of threads with a bounded queue.

    Guarantee: at most ``count`` pieces of work run and ``waiting`` wait, those included whose request was given up: a
    thread cannot be stopped, and one that still runs still counts.

    >>> threads = Threads(2, waiting=8, time_limit=5.0)
    >>> asyncio.run(threads.run(lambda: 6 * 7))
    42
    >>> threads.close()
    """

    def __init__(self, count: int, *, waiting: int, time_limit: float, name: str = "questions") -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=f"errorfloor-{name}")
        self._most = count + waiting
        self._time_limit = time_limit
        self._under_way = 0
        self._lock = threading.Lock()

    async def run(self, work: Callable[[], Result]) -> Result:
        """Do work in a thread.

        Raises DoorError (503) if too many are waiting or the time is over. Work that was given up goes on: if it
        charged something, asking the same again is free.
        """
        with self._lock:
            if self._under_way >= self._most:
                raise DoorError(
                    503, "busy", "too many questions are waiting already: try again", headers={"Retry-After": "1"}
                )
            self._under_way += 1
        loop = asyncio.get_running_loop()
        told: asyncio.Future[Result] = loop.create_future()
        try:
            future = self._pool.submit(work)
        except RuntimeError:  # the pool is closed
            self._count_one_less()
            raise DoorError(503, "stopping", "the server is being stopped: try again") from None

        def done(future: "Future[Result]") -> None:
            self._count_one_less()
            with suppress(RuntimeError):  # the loop is closed, and nobody waits
                loop.call_soon_threadsafe(_tell, future, told)

        future.add_done_callback(done)
        try:
            async with asyncio.timeout(self._time_limit):
                return await told
        except TimeoutError:
            future.cancel()  # if it has not begun
            raise DoorError(
                503,
                "time",
                f"not done within {self._time_limit:g} s; it may have been charged, and asking the same again is free",
                headers={"Retry-After": "5"},
                time_limit=self._time_limit,
            ) from None

    def close(self) -> None:
        """Let what has begun come to its end."""
        self._pool.shutdown(wait=True, cancel_futures=True)

    def _count_one_less(self) -> None:
        with self._lock:
            self._under_way -= 1


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
