"""What the processes of one server share, in files; what a dead process held is free again.

They count together, and listen on one socket: the one with the fewest open lines takes the next. A process that is
alone gives no file or folder, and counts in its own memory.
"""

import fcntl
import hashlib
import mmap
import os
import secrets
import socket
import struct
import threading
import time
from collections.abc import Callable
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, ClassVar

SLOTS = 1 << 14  # names that are remembered; more push the oldest out
PROBES = 8  # places where a name may be found
RECORD = struct.Struct("<16sdd")
SLOT = struct.Struct("<qq")  # a process, and how many lines it has
MOST = 64  # processes
GIVEN = 0.001  # seconds that a process has to take the next, for each line that it has less
LONGEST = 0.005


class SharedNumbers:
    """Two numbers for each name, changed by one process at a time; a name that was never seen has zeros.

    Where a name is kept nobody can foresee who does not know the path, or this process: else whoever can have many
    names, such as addresses, could choose some that push out another.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = (SharedNumbers(Path(folder) / "numbers") for _ in range(2))
    ...     one.change("anna", lambda count, then: (count + 1, 7.0))
    ...     other.change("anna", lambda count, then: (count + 1, then))
    ...     one.close(), other.close()
    (1.0, 7.0)
    (2.0, 7.0)
    (None, None)
    """

    def __init__(self, path: Path | None) -> None:
        self._turn = threading.Lock()
        self._salt = secrets.token_hex(16) if path is None else str(path.resolve())  # in a folder with a random name
        self._file = -1  # memory of this process alone
        if path is not None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.posix_fallocate(self._file, 0, SLOTS * RECORD.size)  # a full disk fails here, and kills nobody later
        self._memory = mmap.mmap(self._file, SLOTS * RECORD.size)

    def change(self, name: str, work: Callable[[float, float], tuple[float, float]]) -> tuple[float, float]:
        """Replace the numbers of a name by what ``work`` makes of them, and return those.

        The second number says how old they are: of all that are in a name's places, the least makes room.
        """
        digest = hashlib.sha256(f"{self._salt} {name}".encode()).digest()
        first, key = int.from_bytes(digest[:4]) % SLOTS, digest[4:20]
        places = [(first + step) % SLOTS * RECORD.size for step in range(PROBES)]
        with self._turn:
            if self._file >= 0:
                fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                held = {place: RECORD.unpack_from(self._memory, place) for place in places}
                own = [place for place in places if held[place][0] == key]
                place = own[0] if own else min(places, key=lambda one: held[one][2])
                numbers = work(*(held[place][1:] if own else (0.0, 0.0)))
                RECORD.pack_into(self._memory, place, key, *numbers)
            finally:
                if self._file >= 0:
                    fcntl.flock(self._file, fcntl.LOCK_UN)
        return numbers

    def close(self) -> None:
        """Close the file."""
        self._memory.close()
        if self._file >= 0:
            os.close(self._file)


class SharedSeats:
    """A few seats for each name; the system frees those of a process that ends, however it ends.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     one, other = (SharedSeats(Path(folder)) for _ in range(2))
    ...     one.take("anna", 2), other.take("anna", 2), other.take("anna", 2)
    ...     one.leave("anna")
    ...     other.take("anna", 2)
    (True, True, False)
    True
    >>> alone = SharedSeats(None)
    >>> alone.take("anna", 1), alone.take("anna", 1)
    (True, False)
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._held: dict[str, list[int]] = {}  # files; of a process that is alone, numbers of no meaning

    def take(self, name: str, most: int) -> bool:
        """Take one of ``most`` seats of a name; False if all are taken."""
        if self._folder is None:
            free = len(self._held.get(name, ())) < most
            if free:
                self._held.setdefault(name, []).append(-1)
            return free
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        for number in range(most):
            file = _opened(self._folder, f"{digest}-{number}")
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as problem:
                os.close(file)
                if isinstance(problem, BlockingIOError):
                    continue
                raise
            self._held.setdefault(name, []).append(file)
            return True
        return False

    def leave(self, name: str) -> None:
        """Free a seat that was taken here."""
        file = self._held[name].pop()
        if file >= 0:
            os.close(file)
        if not self._held[name]:
            del self._held[name]


def _opened(folder: Path, name: str) -> int:
    try:
        return os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)
    except FileNotFoundError:  # somebody cleans up in the folder of temporary files
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o600)


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
