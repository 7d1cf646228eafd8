"""The file of a ledger on SQLite: its owner's alone, with a write-ahead log, readable on a disk that is read-only."""

import fcntl
import os
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from errorfloor.errors import LedgerError
from errorfloor.ledger.connections import DatabaseKind
from errorfloor.ledger.failures import sqlite_failure

WORDS = (("@", "ledger_"), ("WHOLE", "INTEGER"), ("BYTES", "BLOB"))


def kind(path: str | Path, patience: float) -> DatabaseKind:
    """Say how the file is spoken to: transactions begin and end where ours do, and not where the driver guesses."""

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=patience, check_same_thread=False, isolation_level=None)
        connection.execute("PRAGMA synchronous=FULL")  # a commit returns when the log is on disk
        connection.execute("PRAGMA fullfsync=ON")  # which on macOS takes asking twice
        connection.execute("PRAGMA secure_delete=ON")  # what is forgotten is overwritten
        return connection

    begin = {"read": ["BEGIN"], "write": ["BEGIN IMMEDIATE"], "prepare": ["BEGIN IMMEDIATE"]}
    return DatabaseKind(connect, sqlite3.Error, begin, WORDS, "SELECT name FROM sqlite_master WHERE type = 'table'")


def prepare_file(path: Path, name: str, patience: float) -> None:
    """Make the file if need be, for its owner only, and switch it to a write-ahead log, one process at a time."""
    try:
        folder = os.open(path.parent, os.O_RDONLY)
    except OSError as problem:
        raise LedgerError(f"cannot make the ledger {name}: {problem.strerror}: {path.parent}") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
            os.fsync(folder)
        except OSError as problem:
            raise LedgerError(f"cannot make the ledger {name}: {problem.strerror}") from None
        _use_log(path, name, patience)
    finally:
        os.close(folder)


@contextmanager
def readable(path: Path, name: str) -> Iterator[Path]:
    """Give a file that SQLite can read: this one; or, where nothing can be written beside it, a copy with its log.

    SQLite keeps a file beside the log while it reads, and a disk that is read-only has no room for it.
    """
    if not path.exists() or (os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="errorfloor-") as folder:
        copied = Path(folder) / path.name
        try:
            for beside in (path, path.with_name(f"{path.name}-wal")):
                if beside.exists():
                    shutil.copyfile(beside, copied.with_name(beside.name))
        except OSError as problem:
            raise LedgerError(f"cannot read the ledger {name}: {problem.strerror}") from None
        yield copied


def _use_log(path: Path, name: str, patience: float) -> None:
    """Switch to a write-ahead log; SQLite does not always wait for a reader here, so this does."""
    until = time.monotonic() + patience
    while True:
        connection = sqlite3.connect(path, timeout=patience)
        try:
            (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
            failure = (
                None if mode == "wal" else LedgerError(f"the file system of the ledger {name} allows no log beside it")
            )
        except sqlite3.Error as problem:
            busy = (problem.sqlite_errorname or "").startswith("SQLITE_BUSY")
            failure = sqlite_failure(problem, name, patience)
            if busy and time.monotonic() < until:
                time.sleep(0.01)
                continue
        finally:
            connection.close()
        if failure is not None:
            raise failure
        return
