"""HTTP on a line, stricter than usual: a head arrives within bounded time, and has one meaning."""

import asyncio
import re
import time
from collections import OrderedDict
from typing import Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from errorfloor.access.shared import CountedLine

HEAD_TIME = 10.0  # seconds within which the head of a request must have arrived, from its first byte or the connection
MOST_WAITING = 1000  # connections of a process that are waited for; the one that waited longest makes room
BARE = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")  # line ends, and folded lines, that two parsers may read differently


class StrictProtocol(CountedLine, H11Protocol):
    """Closes a line on which no whole head arrives in time, and refuses heads that could be read in two ways.

    Guarantee: a process waits for at most ``MOST_WAITING`` heads, each for at most ``HEAD_TIME`` seconds, so that lines
    that are opened and left alone do not keep others out.
    """

    waiting: ClassVar["OrderedDict[StrictProtocol, float]"] = OrderedDict()  # of this process

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self.change(+1)
        self._head = b""
        self._timer: asyncio.TimerHandle | None = None
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Read on; a head that is not whole yet has to be soon."""
        if self.conn.their_state is h11.IDLE and not self._is_plain(data):
            self._settle()
            self.send_400_response("Invalid HTTP request received.")
            return
        super().data_received(data)
        if self.conn.their_state is h11.IDLE and not self.transport.is_closing():
            self._wait()
        else:
            self._head = b""
            self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._settle()
        self.change(-1)
        super().connection_lost(exc)

    def _is_plain(self, data: bytes) -> bool:
        """Say whether the head so far has plain line ends; a last carriage return waits for what follows it."""
        self._head = (self._head + data)[: 2**16]
        head, found, _ = self._head.partition(b"\r\n\r\n")
        return BARE.search(head if found else head.removesuffix(b"\r")) is None

    def _wait(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(HEAD_TIME, self._late)
            self.waiting[self] = time.monotonic()
            if len(self.waiting) > MOST_WAITING:
                next(iter(self.waiting))._late()

    def _late(self) -> None:
        self._settle()
        if not self.transport.is_closing():
            self.transport.abort()

    def _settle(self) -> None:
        self.waiting.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def is_ambiguous(headers: list[tuple[bytes, bytes]], version: str) -> bool:
    """Say whether a request's length, or whom it is for, could be read in two ways, by a proxy and by this server.

    >>> is_ambiguous([(b"content-length", b"5"), (b"transfer-encoding", b"chunked")], "1.1")
    True
    >>> is_ambiguous([(b"host", b"x"), (b"content-length", b"5")], "1.1")
    False
    """
    names = [name for name, _ in headers]
    lengths, codings = names.count(b"content-length"), names.count(b"transfer-encoding")
    twice = lengths > 1 or codings > 1 or names.count(b"host") > 1
    return twice or (lengths > 0 and codings > 0) or (codings > 0 and version != "1.1")


def line_settings() -> dict[str, Any]:
    """Give what ``uvicorn.Config`` takes so that lines are read like this."""
    return {"http": StrictProtocol, "ws": "none", "h11_max_incomplete_event_size": 2**15}
