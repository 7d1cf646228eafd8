"""What the processes of one server count together, in files that they share; what a dead process held is free again.

A process that is alone counts in its own memory.
"""

import fcntl
import hashlib
import mmap
import os
import struct
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path

SLOTS = 1 << 14  # names that are remembered; more push the oldest out
PROBES = 8  # places where a name may be found
RECORD = struct.Struct("<16sdd")


class SharedNumbers:
    """Two numbers for each name, changed by one process at a time; a name that was never seen has zeros.

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

    def __init__(self, path: Path) -> None:
        self._turn = threading.Lock()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.posix_fallocate(self._file, 0, SLOTS * RECORD.size)  # a full disk is said here, and kills nobody later
        self._memory = mmap.mmap(self._file, SLOTS * RECORD.size)

    def change(self, name: str, work: Callable[[float, float], tuple[float, float]]) -> tuple[float, float]:
        """Put what ``work`` makes of the numbers of a name in their place, and give it.

        The second number says how old they are: of all that are in a name's places, the least makes room.
        """
        digest = hashlib.sha256(name.encode()).digest()
        first, key = int.from_bytes(digest[:4]) % SLOTS, digest[4:20]
        places = [(first + step) % SLOTS * RECORD.size for step in range(PROBES)]
        with self._turn:
            fcntl.flock(self._file, fcntl.LOCK_EX)
            try:
                held = {place: RECORD.unpack_from(self._memory, place) for place in places}
                own = [place for place in places if held[place][0] == key]
                place = own[0] if own else min(places, key=lambda one: held[one][2])
                numbers = work(*(held[place][1:] if own else (0.0, 0.0)))
                RECORD.pack_into(self._memory, place, key, *numbers)
            finally:
                fcntl.flock(self._file, fcntl.LOCK_UN)
        return numbers

    def close(self) -> None:
        """Let go of the file."""
        self._memory.close()
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
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[str, list[int]] = {}

    def take(self, name: str, most: int) -> bool:
        """Take one of ``most`` seats of a name; False if all are taken."""
        digest = hashlib.sha256(name.encode()).hexdigest()[:32]
        for number in range(most):
            file = self._opened(f"{digest}-{number}")
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
        os.close(self._held[name].pop())
        if not self._held[name]:
            del self._held[name]

    def _opened(self, name: str) -> int:
        try:
            return os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)
        except FileNotFoundError:  # somebody cleans up in the folder of temporary files
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self._folder / name, os.O_RDWR | os.O_CREAT, 0o600)


class OwnNumbers:
    """The same for one process alone.

    >>> OwnNumbers().change("anna", lambda count, then: (count + 1, then))
    (1.0, 0.0)
    """

    def __init__(self) -> None:
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._turn = threading.Lock()

    def change(self, name: str, work: Callable[[float, float], tuple[float, float]]) -> tuple[float, float]:
        """Put what ``work`` makes of the numbers of a name in their place, and give it."""
        with self._turn:
            numbers = self._held[name] = work(*self._held.pop(name, (0.0, 0.0)))
            if len(self._held) > SLOTS:
                self._held.popitem(last=False)
        return numbers

    def close(self) -> None:
        """Do nothing."""


class OwnSeats:
    """The same for one process alone.

    >>> seats = OwnSeats()
    >>> seats.take("anna", 1), seats.take("anna", 1)
    (True, False)
    """

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def take(self, name: str, most: int) -> bool:
        """Take one of ``most`` seats of a name; False if all are taken."""
        if self._taken[name] >= most:
            return False
        self._taken[name] += 1
        return True

    def leave(self, name: str) -> None:
        """Free a seat."""
        self._taken[name] -= 1
        if not self._taken[name]:
            del self._taken[name]
