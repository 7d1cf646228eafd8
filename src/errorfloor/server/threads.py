"""Threads: the event loop only reads and writes; whatever thinks, waits for a disk or an engine, does so elsewhere."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
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
        try:
            future = self._pool.submit(work)
        except RuntimeError:  # the pool is closed
            self._done(None)
            raise DoorError(503, "stopping", "the server is being stopped: try again") from None
        future.add_done_callback(self._done)
        waited = asyncio.wrap_future(future)
        waited.add_done_callback(lambda done: done.cancelled() or done.exception())  # none of it is left to be logged
        try:
            return await asyncio.wait_for(asyncio.shield(waited), self._time_limit)
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

    def _done(self, _: "Future[Result] | None") -> None:
        with self._lock:
            self._under_way -= 1
