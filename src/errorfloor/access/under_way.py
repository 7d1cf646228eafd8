"""How many questions each token has in progress, so that nobody takes all the threads."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from errorfloor.access.failures import DoorError
from errorfloor.access.shared import OwnSeats, SharedSeats


class UnderWay:
    """Counts, for all processes that are given the same folder; a question counts until its reply has left.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     under_way = UnderWay(1, Path(folder))
    ...     with under_way.counted("anna"), under_way.counted("otto"):
    ...         under_way.enter("anna")
    Traceback (most recent call last):
    errorfloor.access.failures.DoorError: this token has 1 question in progress, but 1 is allowed: wait for an answer
    """

    def __init__(self, most: int, folder: Path | None = None) -> None:
        self._most = most
        self._seats = OwnSeats() if folder is None else SharedSeats(folder)

    def enter(self, token: str) -> Callable[[], None]:
        """Count one more, and give what counts it off again, once however often it is called.

        Raises DoorError (429) if that is too many.
        """
        if not self._seats.take(token, self._most):
            raise DoorError(
                429,
                "running",
                f"this token has {self._most} question{'s' if self._most != 1 else ''} in progress, but {self._most} "
                f"{'are' if self._most != 1 else 'is'} allowed: wait for an answer",
                headers={"Retry-After": "1"},
                running_per_token=self._most,
            )
        left = [False]

        def leave() -> None:
            if not left[0]:
                left[0] = True
                self._seats.leave(token)

        return leave

    @contextmanager
    def counted(self, token: str) -> Iterator[None]:
        """Count one in the block."""
        leave = self.enter(token)
        try:
            yield
        finally:
            leave()
