"""Probes: one look at a time at how the parts are, whose outcome everybody gets who asks meanwhile."""

import asyncio
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from errorfloor.access.threads import Threads

Outcome = TypeVar("Outcome")


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
