"""How often one token may ask: a bucket that fills steadily, and from which each request takes one."""

import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from errorfloor.server.failures import DoorError

MOST = 10000  # buckets that are remembered


class Rates:
    """At most ``burst`` requests at once and ``rate`` a second for long, for each name; a rate of 0 sets no limit.

    >>> now = [0.0]
    >>> rates = Rates(1.0, 2, clock=lambda: now[0])
    >>> rates.take("anna"), rates.take("anna"), rates.take("otto")
    (None, None, None)
    >>> rates.take("anna")
    Traceback (most recent call last):
    errorfloor.server.failures.DoorError: more than 1 requests per second: wait 1 s
    >>> now[0] = 1.0
    >>> rates.take("anna")
    """

    def __init__(self, rate: float, burst: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def take(self, name: str) -> None:
        """Count a request; raises DoorError (429) with the time to wait if it is one too many."""
        if self._rate <= 0:
            return
        with self._lock:
            now = self._clock()
            left, then = self._buckets.pop(name, (float(self._burst), now))
            left = min(float(self._burst), left + self._rate * (now - then))
            allowed = left >= 1
            self._buckets[name] = (left - 1 if allowed else left, now)
            if len(self._buckets) > MOST:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = max(1, math.ceil((1 - left) / self._rate))
            raise DoorError(
                429,
                "rate",
                f"more than {self._rate:g} requests per second: wait {wait} s",
                headers={"Retry-After": str(wait)},
                wait=wait,
            )
