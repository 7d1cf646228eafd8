"""What the processes of one server count together, in files that they share; what a dead process held is free again."""

import fcntl
import hashlib
import mmap
import os
import struct
import threading
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
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(self._file, SLOTS * RECORD.size)
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
            file = os.open(self._folder / f"{digest}-{number}", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(file)
                continue
            self._held.setdefault(name, []).append(file)
            return True
        return False

    def leave(self, name: str) -> None:
        """Free a seat that was taken here."""
        os.close(self._held[name].pop())
        if not self._held[name]:
            del self._held[name]
