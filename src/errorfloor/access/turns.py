"""Turns: who is served next, so that those who ask large questions do not keep those who ask small ones waiting."""

import asyncio
from collections import deque
from collections.abc import Callable

from errorfloor.access.failures import DoorError

LARGE = 0.05  # seconds of this process's own work on one question before its charge; on public facts alone
FORGOTTEN = 0.01  # seconds below which nothing is remembered of an asker


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
