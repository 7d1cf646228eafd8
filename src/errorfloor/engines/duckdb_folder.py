"""DuckDB, a file for each table: many readers, and beside them one writer, who makes new files and changes none."""

import fcntl
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import final

from errorfloor.engines.base import NAME
from errorfloor.engines.duckdb import DuckDBEngine, connect_to_files, others_can_read, why_closed
from errorfloor.errors import CatalogueError, EngineError

LOCK = ".writing"
MAKING = ".making-"  # a file that is not whole yet; nobody reads it
SPILLING = ".spilling"
AT_ONCE = 200  # notes that one query reads


@final
class DuckDBFolder(DuckDBEngine):
    """Snapshots in a folder, each in a DuckDB file of its own, which never changes once it has its name.

    A reader finds files that were made after it opened the folder, and no longer finds those that were removed. So
    tables are registered while a server runs, and removing a file removes every row of it.
    """

    def __init__(self, path: Path, folder: Path, *, read_only: bool) -> None:
        if read_only and not path.is_dir():
            raise CatalogueError(f"nothing is registered at {path} yet: run errorfloor register", path=str(path))
        self._path, self._folder, self._read_only = path.resolve(), folder, read_only
        self._readers = deque()
        self._attached: dict[str, int] = {}  # the inode of each file that is attached
        self._told: dict[str, str] = {}
        self._lock = threading.RLock()
        self._writing: int | None = None
        self._umask = None if read_only else os.umask(0o077)
        try:
            if not read_only:
                self._begin_writing()
            self._connection = connect_to_files(self._path, self._path / SPILLING, read_only=read_only)
        except BaseException:
            self._end_writing()
            self._restore_umask()
            raise
        if others_can_read(self._path):
            self.close()
            raise EngineError(
                f"others can read {path}, which holds private columns: allow its owner only (chmod 700 {path})",
                engine="duckdb",
                kind="permissions",
            )
        try:
            for name in self.known():
                self._attach(name, alone=False)
            if read_only:
                self._use_threads()
        except BaseException:
            self.close()
            raise
        if not read_only:
            self.execute("SET disabled_optimizers = 'statistics_propagation'")  # as in a file: it overlooks NaN

    def known(self) -> list[str]:
        """Name the files."""
        return sorted(file.stem for file in self._path.glob("*.duckdb") if NAME.fullmatch(file.stem))

    def recall(self, name: str) -> str | None:
        """Read the note in the file of a table."""
        if not NAME.fullmatch(name) or not self._attach(name):
            return None
        if name not in self._told:
            found = self.query(f"SELECT note FROM {self._notes(name)}").column("note")
            self._told[name] = str(found[0])
        return self._told[name]

    def recall_all(self) -> dict[str, str]:
        """Read the notes of all files, many at a time."""
        names = [name for name in self.known() if self._attach(name)]
        untold = [name for name in names if name not in self._told]
        for start in range(0, len(untold), AT_ONCE):
            some = untold[start : start + AT_ONCE]
            each = (f"SELECT '{name}' AS name, note FROM {self._notes(name)}" for name in some)
            found = self.query(" UNION ALL ".join(each)).to_pydict()
            self._told |= dict(zip(found["name"], found["note"], strict=True))
        return {name: self._told[name] for name in names}

    def note_anew(self, name: str, note: str) -> None:
        """Change the note in the file, which nobody may have open."""
        with self._lock:
            self._detach(name)
            self.execute(f"ATTACH {self._location(self.file_of(name))} AS {self.dialect.identifier(name)}")
            try:
                self.execute(f"UPDATE {self._notes(name)} SET note = {self.dialect.literal(note)}")
                self.execute(f"CHECKPOINT {self.dialect.identifier(name)}")
            finally:
                self.execute(f"DETACH {self.dialect.identifier(name)}")

    def relation(self, name: str) -> str:
        """Give the table in its file; the same words name it where that file alone is opened."""
        self._attach(name)
        return f"{self.dialect.identifier(name)}.main.{self.dialect.identifier(name)}"

    def tally_of(self, name: str, place: int) -> str:
        """Give a table in the same file."""
        return f"{self.dialect.identifier(name)}.main.tally_{place}"

    def file_of(self, name: str) -> Path:
        """Give the file that a table is kept in."""
        return self._path / f"{name}.duckdb"

    def check_destroys(self) -> None:
        """A file can be removed."""

    def destroy(self, name: str) -> None:
        """Remove the file of a table, with every row of it and its note; copies and backups of it stay.

        The disk may hold its bytes until it writes over them, as with every file.
        """
        with self._lock:
            self._detach(name)
            self.file_of(name).unlink()
            self._keep_folder()

    def let_go(self) -> None:
        """Close every file that was removed or replaced: what it holds is gone once nobody has it open.

        *Guarantee*: after this, and after the end of the queries that read it, this process has no such file open.
        """
        with self._lock:
            for name, inode in list(self._attached.items()):
                if self._inode(name) != inode:
                    self._detach(name)

    def close(self) -> None:
        """Close all files."""
        super().close()
        self._end_writing()

    def _make(self, name: str, select_sql: str, note: Callable[[str], str]) -> None:
        if self._read_only:
            raise EngineError(f"{self._path} is open for reading only, so nothing can be made there", engine="duckdb")
        making, database = self._path / f"{MAKING}{name}.duckdb", self.dialect.identifier(name)
        relation = f"{database}.main.{database}"
        with self._lock:
            self._clear(making)
            self.execute(f"ATTACH {self._location(making)} AS {database}")
            made = False
            try:
                self.execute("BEGIN")
                self.execute(f"CREATE TABLE {relation} AS {select_sql}")
                text = self.dialect.literal(note(relation))
                self.execute(f"CREATE TABLE {self._notes(name)} AS SELECT {text} AS note")
                self.execute("COMMIT")
                self.execute(f"CHECKPOINT {database}")
                made = True
            finally:
                if not made:
                    with suppress(EngineError):  # the failure that led here is the one to tell
                        self.execute("ROLLBACK")
                self.execute(f"DETACH {database}")
                if not made:
                    self._clear(making)
            making.rename(self.file_of(name))  # whole, or not there
            self._keep_folder()

    def _attach(self, name: str, *, alone: bool = True) -> bool:
        """Attach a table's file if it exists, again if it has changed; say whether it exists.

        Threads are counted anew for each file that is attached ``alone``: that looks at all files.
        """
        with self._lock:
            inode = self._inode(name)
            if inode is None:
                self._detach(name)
                return False
            if self._attached.get(name) == inode:
                return True
            self._detach(name)
            if others_can_read(self.file_of(name)):
                raise EngineError(
                    f"others can read {self.file_of(name)}, which holds private columns: allow its owner only",
                    engine="duckdb",
                    kind="permissions",
                )
            location = self._location(self.file_of(name))
            try:
                self.execute(f"ATTACH {location} AS {self.dialect.identifier(name)} (READ_ONLY)")
            except EngineError as problem:
                kind = problem.fields.get("kind")
                text = f"duckdb could not open {self.file_of(name)} ({kind}): {why_closed(self.file_of(name))}"
                raise EngineError(text, engine="duckdb", kind=kind) from None
            self._attached[name] = inode
            if self._read_only and alone:
                self._use_threads()
            return True

    def _inode(self, name: str) -> int | None:
        try:
            return self.file_of(name).stat().st_ino
        except OSError:
            return None

    def _detach(self, name: str) -> None:
        if self._attached.pop(name, None) is not None:
            self._told.pop(name, None)
            self._readers = deque()  # those until now keep statements about it, also those at work
            self.execute(f"DETACH {self.dialect.identifier(name)}")

    def _notes(self, name: str) -> str:
        return f"{self.dialect.identifier(name)}.main.{self.notes}"

    def _location(self, file: Path) -> str:
        return self.dialect.literal(str(file))

    # -- one writer

    def _begin_writing(self) -> None:
        """Be the only writer, and clear away what one that was killed left behind."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._writing = os.open(self._path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._writing, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise EngineError(
                f"{self._path} is in use: another registration is in progress: try again when it is done",
                engine="duckdb",
                kind="busy",
            ) from None
        for left in self._path.glob(f"{MAKING}*"):
            self._clear(left)

    def _end_writing(self) -> None:
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None

    def _clear(self, file: Path) -> None:
        for one in (file, file.with_name(f"{file.name}.wal")):
            one.unlink(missing_ok=True)

    def _keep_folder(self) -> None:
        descriptor = os.open(self._path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
