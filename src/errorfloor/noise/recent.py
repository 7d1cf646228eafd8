"""What was computed last, kept in memory: tables and solvers that the next call is likely to ask for again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

Result = TypeVar("Result")


class Recent(Generic[Result]):
    """The results of the last few distinct keys; safe to share between threads.

    >>> squares = Recent(kept=2)
    >>> [squares.find(n, lambda n=n: print("computed") or n * n) for n in (3, 3)]
    computed
    [9, 9]
    """

    def __init__(self, kept: int) -> None:
        self._kept = kept
        self._results: OrderedDict[Hashable, Result] = OrderedDict()
        self._lock = Lock()

    def find(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Give what is kept for a key, or compute it; two threads may compute the same thing at once."""
        with self._lock:
            if key in self._results:
                self._results.move_to_end(key)
                return self._results[key]
        result = compute()
        with self._lock:
            self._results[key] = result
            while len(self._results) > self._kept:
                self._results.popitem(last=False)
        return result
