"""A place for unfinished work beside the file that it will become."""

import ctypes
import errno
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from errorfloor.errors import InputError

CURRENT, EXCHANGE = -100, 2  # of Linux's renameat2: paths start where the process is, and both names stay


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


def appear(finished: Path, target: Path, *, overwrite: bool) -> None:
    """Let a finished folder be seen under its name, in one step; an older one takes its place in the workplace.

    Raises InputError if there is something else under that name, or if the file system cannot exchange two folders.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     (Path(folder) / "new").mkdir()
    ...     appear(Path(folder) / "new", Path(folder) / "out", overwrite=False)
    ...     [path.name for path in Path(folder).iterdir()]
    ['out']
    """
    for file in finished.rglob("*"):
        _kept(file)
    _kept(finished)
    problem = ""
    try:
        if overwrite and target.exists():
            _exchange(finished, target)
        else:
            finished.rename(target)  # refused if somebody has filled a folder of that name meanwhile
    except OSError as error:
        problem = str(error.strerror)
    if problem:
        raise InputError(f"cannot put the finished folder at {target} in one step ({problem}): choose another name")
    with suppress(OSError):  # it can be seen already, so this is no longer a failure
        _kept(target.parent)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two names in one step, which Linux can do and Python does not offer."""
    exchange = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if exchange is None or exchange(CURRENT, os.fsencode(one), CURRENT, os.fsencode(other), EXCHANGE):
        reason = ctypes.get_errno() or errno.ENOSYS
        raise OSError(reason, os.strerror(reason))


def _kept(path: Path) -> None:
    """See to it that a file or folder survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
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
