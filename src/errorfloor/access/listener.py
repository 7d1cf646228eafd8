"""One socket that several processes listen on: the one with the fewest open lines takes the next."""

import fcntl
import mmap
import os
import socket
import struct
import time
from collections.abc import Callable
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, ClassVar

SLOT = struct.Struct("<qq")  # a process, and how many lines it has
MOST = 64  # processes
GIVEN = 0.001  # seconds that a process has to take the next, for each line that it has less
LONGEST = 0.005


class OpenLines:
    """How many lines each process of a server has open, in memory that they share.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     lines = OpenLines(Path(folder) / "lines")
    ...     lines.change(+1)
    ...     lines.surplus()
    0
    """

    def __init__(self, path: Path) -> None:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.posix_fallocate(file, 0, MOST * SLOT.size)
            self._memory = mmap.mmap(file, MOST * SLOT.size)
            slots = range(0, MOST * SLOT.size, SLOT.size)
            self._place = next(place for place in slots if not _lives(SLOT.unpack_from(self._memory, place)[0]))
            self._count = 0
            self.change(0)
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # the memory keeps the file open
            os.close(file)

    def change(self, by: int) -> None:
        """Count lines that were opened here, or closed."""
        self._count += by
        SLOT.pack_into(self._memory, self._place, os.getpid(), self._count)

    def surplus(self) -> int:
        """Give how many more this process has than the one that lives with the fewest."""
        held = (SLOT.unpack_from(self._memory, place) for place in range(0, MOST * SLOT.size, SLOT.size))
        return self._count - min(int(count) for process, count in held if process == os.getpid() or _lives(process))


class CountedLine:
    """A protocol whose lines are counted, if there are other processes."""

    lines: ClassVar[OpenLines | None] = None

    @classmethod
    def count(cls, lines: OpenLines) -> None:
        """Count the lines of this process from now on."""
        cls.lines = lines

    def change(self, by: int) -> None:
        """Count a line that was opened, or closed."""
        if self.lines is not None:
            self.lines.change(by)


class SharedListener(socket.socket):
    """A listening socket whose processes take one line at a time, and give way to one that has fewer.

    The system wakes all that wait for a line, mostly in the same order, and the first would take all that have come:
    the others would stay idle for as long as the lines are kept open.
    """

    def __init__(self, taken: socket.socket, path: Path, opened: Callable[[OpenLines], None]) -> None:
        super().__init__(taken.family, taken.type, taken.proto, fileno=taken.detach())
        self._path, self._opened = path, opened
        self._lines: OpenLines | None = None
        self._has_taken = False

    def count(self) -> None:
        """Count lines from now on, in the process that takes them; whoever counts them when they end is told."""
        self._lines = OpenLines(self._path)
        self._opened(self._lines)

    def accept(self) -> tuple[socket.socket, Any]:
        """Take a line; raises BlockingIOError after each, so that others come to it, and if another took it."""
        if self._has_taken:
            self._has_taken = False
            raise BlockingIOError
        surplus = 0 if self._lines is None else self._lines.surplus()
        if surplus:
            time.sleep(min(surplus * GIVEN, LONGEST))
        found = super().accept()
        self._has_taken = True
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Go to another process, which listens on the same."""
        kind = (self.family, self.type, self.proto)
        return _arrived, (DupFd(self.fileno()), kind, self._path, self._opened)


def _arrived(
    descriptor: Any, kind: tuple[int, int, int], path: Path, opened: Callable[[OpenLines], None]
) -> SharedListener:
    listener = SharedListener(socket.socket(*kind, fileno=descriptor.detach()), path, opened)
    listener.count()
    return listener


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return process > 0
