"""The audit log: one line of JSON a request. Who, which route, what became of it, what was charged; nothing private.

The time of an answer is the one on the grid at which it left: a measured one could depend on private values.
"""

import datetime
import json
import os
import sys
import threading
from pathlib import Path

from errorfloor.errors import InputError
from errorfloor.server.visit import Visit


class Audit:
    """Writes lines to a file that only its owner can read, or to the standard error if there is none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     audit = Audit(Path(folder) / "audit.log")
    ...     audit.write(Visit("8f3a", who="anna"), "/v1/ask", "POST", 200, datetime.datetime.now(datetime.UTC))
    ...     audit.close()
    ...     line = json.loads((Path(folder) / "audit.log").read_text())
    >>> line["who"], line["route"], line["status"]
    ('anna', '/v1/ask', 200)
    """

    def __init__(self, path: Path | None) -> None:
        self._lock = threading.Lock()
        self._file: int | None = None
        if path is not None:
            try:
                self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            except OSError as problem:
                raise InputError(f"cannot write the audit log {path}: {problem.strerror}") from None

    def write(self, visit: Visit, route: str, method: str, status: int, moment: datetime.datetime) -> None:
        """Write the line of a request."""
        line = {
            "time": moment.isoformat(timespec="milliseconds"),
            "request": visit.id,
            "who": visit.who,
            "role": visit.role,
            "method": method,
            "route": route,
            "status": status,
            "code": visit.code,
            **visit.facts,
        }
        text = json.dumps(line) + "\n"
        with self._lock:
            if self._file is None:
                print(text, end="", file=sys.stderr, flush=True)
            else:
                self._append(self._file, text.encode())

    def _append(self, file: int, line: bytes) -> None:
        """Write a line; where the file cannot be written, it goes to the standard error, with the reason."""
        try:
            os.write(file, line)
        except OSError as problem:
            print(
                f"the audit log cannot be written ({problem.strerror}); its line: {line.decode()}",
                end="",
                file=sys.stderr,
            )

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
