"""Messages for whoever runs the server, on the standard error; nobody waits for them to be read."""

import logging
import os
import queue
import threading
from contextlib import suppress

MOST = 1000  # that wait to be written; further ones are dropped
PATIENCE = 2.0  # seconds that the last ones have when the server stops
STANDARD_ERROR = 2


class Messages(logging.Handler):
    r"""Hands messages to a thread of its own, which writes them to a file or pipe.

    Guarantee: whoever logs never waits, whether or not somebody reads what is written.

    >>> reading, writing = os.pipe()
    >>> messages = Messages(writing)
    >>> messages.handle(logging.makeLogRecord({"msg": "the ledger is away"}))
    True
    >>> messages.close()
    >>> os.read(reading, 100)
    b'the ledger is away\n'
    """

    def __init__(self, descriptor: int = STANDARD_ERROR) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._waiting: queue.Queue[str | None] = queue.Queue(MOST)
        self._thread = threading.Thread(target=self._work, name="errorfloor-messages", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        """Hand a message over, or drop it if too many wait."""
        with suppress(queue.Full):
            self._waiting.put_nowait(f"{self.format(record)}\n")

    def close(self) -> None:
        """Write what is left, if that can be done soon."""
        with suppress(queue.Full):
            self._waiting.put_nowait(None)
        self._thread.join(PATIENCE)
        super().close()

    def _work(self) -> None:
        for text in iter(self._waiting.get, None):
            rest = text.encode("utf-8", "backslashreplace")
            with suppress(OSError):  # nobody can be told that nothing can be told
                while rest:
                    rest = rest[os.write(self._descriptor, rest) :]
