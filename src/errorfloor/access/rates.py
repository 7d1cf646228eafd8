"""How often one token may ask: a bucket that fills steadily, and from which each request takes one."""

import math
import time
from collections.abc import Callable
from pathlib import Path

from errorfloor.access.failures import DoorError
from errorfloor.access.shared import OwnNumbers, SharedNumbers


class Rates:
    """At most ``burst`` requests at once and ``rate`` a second for long, for each name; a rate of 0 sets no limit.

    All processes that are given the same folder count together.

    >>> import tempfile
    >>> now = [100.0]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = (Rates(1.0, 2, Path(folder), clock=lambda: now[0]) for _ in range(2))
    ...     one.take("anna"), other.take("anna"), one.take("otto")
    ...     now[0] += 1.0
    ...     one.take("anna")
    ...     other.take("anna")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: more than 1 requests per second: wait 1 s
    """

    def __init__(
        self, rate: float, burst: int, folder: Path | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        # how much was taken, and when that was counted
        self._buckets = OwnNumbers() if folder is None else SharedNumbers(folder / "rates")

    def take(self, name: str) -> None:
        """Count a request; raises DoorError (429) with the time to wait if it is one too many."""
        if self._rate <= 0:
            return
        left = 0.0

        def count(taken: float, then: float) -> tuple[float, float]:
            nonlocal left
            now = self._clock()  # the same for all processes of a machine
            taken = max(0.0, taken - self._rate * max(0.0, now - then))
            left = self._burst - taken
            return (taken + 1 if left >= 1 else taken), now

        self._buckets.change(name, count)
        if left < 1:
            wait = max(1, math.ceil((1 - left) / self._rate))
            raise DoorError(
                429,
                "rate",
                f"more than {self._rate:g} requests per second: wait {wait} s",
                headers={"Retry-After": str(wait)},
                wait=wait,
            )

    def close(self) -> None:
        """Let go of the file."""
        self._buckets.close()
