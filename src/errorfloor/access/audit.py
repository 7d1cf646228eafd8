"""The audit log: one line of JSON a request. Who, from where, what became of it, what was charged; nothing private.

The time of an answer is the one on the grid at which it left: a measured one could depend on private values.

Lines are written by a thread of their own, so that no request waits for a disk or for a pipe that nobody reads. A line
is in the file as a whole or not at all, also on a full disk: what was cut short is taken back and written again once
there is room. Lines that are ready together are made durable together, by one fsync, before the next are written: a
power failure loses at most those under way. The ledger, which is what counts, is durable before each answer.
"""

import datetime
import fcntl
import json
import os
import queue
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from errorfloor.access.metrics import Metrics
from errorfloor.access.visit import Visit
from errorfloor.errors import InputError

MOST_LINES = 10_000  # that wait to be written; further ones are counted, and the count is written
AT_ONCE = 1000
PATIENCE = 2.0  # seconds that the last lines have when the server stops


class AuditLog:
    """Writes lines to a file that only its owner can read, or to the standard error if there is none.

    Guarantee: ``write`` never waits; lines are never torn, whatever other processes write to the same file.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     audit = AuditLog(Path(folder) / "audit.log")
    ...     audit.write(Visit("8f3a", who="anna"), "/v1/ask", "POST", 200, datetime.datetime.now(datetime.UTC))
    ...     audit.close()
    ...     line = json.loads((Path(folder) / "audit.log").read_text())
    >>> line["who"], line["route"], line["status"]
    ('anna', '/v1/ask', 200)
    """

    def __init__(self, path: Path | None) -> None:
        self._path, self.lost = path, 0
        self._file = None if path is None else _opened(path)
        self._lines: queue.Queue[bytes | None] = queue.Queue(MOST_LINES)
        self._again, self._closing = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._work, name="errorfloor-audit", daemon=True)
        self._thread.start()

    def write(
        self,
        visit: Visit,
        route: str,
        method: str,
        status: int,
        moment: datetime.datetime,
        address: str | None = None,
    ) -> None:
        """Hand over the line of a request."""
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "request": visit.id,
            "address": address,
            "who": visit.who,
            "role": visit.role,
            "method": method,
            "route": route,
            "status": status,
            "code": visit.code,
            **visit.facts,
        }
        try:
            self._lines.put_nowait(json.dumps(line).encode() + b"\n")
        except queue.Full:
            self.lost += 1

    def reopen(self) -> None:
        """Reopen the file, as after it was renamed."""
        self._again.set()

    def close(self) -> None:
        """Write what is left, if that can be done soon, and close the file."""
        self._closing.set()
        with suppress(queue.Full):
            self._lines.put_nowait(None)
        self._thread.join(PATIENCE)

    # -- in the thread

    def _work(self) -> None:
        told = 0
        while True:
            lines = [self._lines.get()]
            while len(lines) < AT_ONCE and not self._lines.empty():
                lines.append(self._lines.get())
            text = b"".join(line for line in lines if line is not None)
            if self.lost > told:
                now = datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
                text += json.dumps({"time": now, "code": "lost", "lines": self.lost - told}).encode() + b"\n"
                told = self.lost
            while text and not self._is_written(text):
                if self._closing.is_set():
                    break
                self._closing.wait(0.5)
            if None in lines:
                if self._file is not None:
                    os.close(self._file)
                return

    def _is_written(self, text: bytes) -> bool:
        try:
            if self._path is None:
                _write_all(sys.stderr.fileno(), text)
                return True
            if self._again.is_set():
                self._again.clear()
                fresh = _opened(self._path)
                if self._file is not None:
                    os.close(self._file)
                self._file = fresh
            assert self._file is not None
            _append(self._file, text)
            return True
        except (OSError, ValueError, InputError):
            return False


@dataclass(frozen=True)
class VisitorsBook:
    """One line in the audit log and the metrics; the time of an answer is the one on the grid at which it left."""

    metrics: Metrics
    audit: AuditLog

    def write(self, visit: Visit, route: str, method: str, status: int, address: str | None) -> None:
        """End a visit: let go of what it held, and write it down."""
        for one in visit.ended:
            one()
        written = visit.written or status
        left, moment = visit.left or (time.monotonic(), datetime.datetime.now(datetime.UTC))
        self.metrics.request(route, method, written, visit.code, left - visit.began)
        self.audit.write(visit, route, method, written, moment, address)


def _opened(path: Path) -> int:
    """Open the file; a line that a crash cut short is ended, so that the next one is whole."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        size = os.fstat(file).st_size
        if size and os.pread(file, 1, size - 1) != b"\n":
            os.write(file, b"\n")
        return file
    except OSError as problem:
        raise InputError(f"cannot write the audit log {path}: {problem.strerror}") from None


def _append(file: int, text: bytes) -> None:
    """Append whole lines, durably, or nothing."""
    fcntl.flock(file, fcntl.LOCK_EX)
    try:
        before = os.fstat(file).st_size
        try:
            _write_all(file, text)
        except OSError:
            os.ftruncate(file, before)
            raise
        os.fsync(file)
    finally:
        fcntl.flock(file, fcntl.LOCK_UN)


def _write_all(file: int, text: bytes) -> None:
    while text:
        text = text[os.write(file, text) :]
