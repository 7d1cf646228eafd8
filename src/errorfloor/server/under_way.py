"""How many questions each token has in progress, so that nobody takes all the threads."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from errorfloor.server.failures import DoorError


class UnderWay:
    """Counts, for one event loop; a question counts until its reply has left.

    >>> under_way = UnderWay(1)
    >>> with under_way.counted("anna"), under_way.counted("otto"):
    ...     under_way.enter("anna")
    Traceback (most recent call last):
    errorfloor.server.failures.DoorError: this token has 1 question in progress, but 1 is allowed: wait for an answer
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._running: Counter[str] = Counter()

    def enter(self, token: str) -> None:
        """Count one more; raises DoorError (429) if that is too many."""
        running = self._running[token]
        if running >= self._most:
            raise DoorError(
                429,
                "running",
                f"this token has {running} question{'s' if running != 1 else ''} in progress, but {self._most} "
                f"{'are' if self._most != 1 else 'is'} allowed: wait for an answer",
                headers={"Retry-After": "1"},
                running_per_token=self._most,
            )
        self._running[token] += 1

    def leave(self, token: str) -> None:
        """Count one less."""
        self._running[token] -= 1
        if not self._running[token]:
            del self._running[token]

    @contextmanager
    def counted(self, token: str) -> Iterator[None]:
        """Count one in the block."""
        self.enter(token)
        try:
            yield
        finally:
            self.leave(token)
