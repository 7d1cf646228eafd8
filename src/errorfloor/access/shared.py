"""What the processes of one server count together, in files that they share; what a dead process held is free again.

A process that is alone gives no file or folder, and counts in its own memory.
"""

import fcntl
import hashlib
import mmap
import os
import secrets
import struct
import threading
from collections.abc import Callable
from pathlib import Path

SLOTS = 1 << 14  # names that are remembered; more push the oldest out
PROBES = 8  # places where a name may be found
RECORD = struct.Struct("<16sdd")


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
