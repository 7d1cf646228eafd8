"""A place for unfinished work beside the file that it will become."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errorfloor.errors import InputError


@contextmanager
def workplace(target: Path) -> Iterator[Path]:
    """Give an empty folder that only its owner can enter, and keep other releases from the same target meanwhile.

    It is removed at the end; what a killed process left behind is removed at the beginning.

    >>> with tempfile.TemporaryDirectory() as folder, workplace(Path(folder) / "out.csv") as place:
    ...     place.name.startswith(".out.csv.errorfloor-")
    True
    """
    prefix = f".{target.name}.errorfloor-"
    lock = target.with_name(f"{prefix}lock")
    descriptor = _locked(lock, target)
    try:
        for left in target.parent.iterdir():
            if left.name.startswith(prefix) and left != lock:
                left.unlink() if left.is_symlink() or left.is_file() else shutil.rmtree(left, ignore_errors=True)
        place = Path(tempfile.mkdtemp(prefix=prefix, dir=target.parent))
        try:
            yield place
        finally:
            shutil.rmtree(place, ignore_errors=True)
    finally:
        lock.unlink(missing_ok=True)
        os.close(descriptor)


def _locked(lock: Path, target: Path) -> int:
    """Hold the lock file, or say who does."""
    busy = f"another release to {target} is running: wait for it, or choose another name"
    problem, descriptor = busy, None
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), lock.stat()):  # not one that its owner has just removed
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        problem = busy
    except OSError as error:
        problem = f"cannot write beside {target}: {error.strerror}"
    if descriptor is not None:
        os.close(descriptor)
    raise InputError(problem)
