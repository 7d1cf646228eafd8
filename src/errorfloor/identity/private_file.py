"""Files that hold secrets: only their owner can read them, and they are replaced whole, or stay as they were."""

import os
import secrets
import stat
from pathlib import Path

from errorfloor.errors import KeyFileError


def read(path: Path, what: str, close: str) -> str:
    """Give what is written in a file that is ``what``, unless others can read it; ``close`` says what to do then.

    Raises FileNotFoundError if there is none, KeyFileError if it cannot be read, or others can.
    """
    try:
        mode = path.stat().st_mode
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise
    except (OSError, UnicodeDecodeError) as problem:
        reason = getattr(problem, "strerror", None) or "it is not text"
        raise KeyFileError(f"cannot read the {what} {path}: {reason}") from None
    if stat.S_IMODE(mode) & 0o077:
        raise KeyFileError(f"others can read the {what} {path}: allow its owner only {close}")
    return text


def write_new(path: Path, content: bytes) -> None:
    """Make a file, durably; raises FileExistsError if there is one."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def replace(path: Path, content: bytes) -> None:
    """Put a file in the place of another, durably."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        write_new(temporary, content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def put(path: Path, content: bytes) -> None:
    """Put a file in the place of another, or where there is none: it and its name are on disk then.

    Processes take turns: what a killed one left unfinished is written over.
    """
    temporary = path.with_name(f".{path.name}.new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    settle(path.parent)


def settle(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
