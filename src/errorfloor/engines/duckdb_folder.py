"""DuckDB, a file for each table: many readers, and beside them one writer, who makes new files and changes none."""

import fcntl
import hashlib
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, final

from errorfloor.engines.base import NAME
from errorfloor.engines.duckdb import DuckDBEngine, connect_to_files, others_can_read, why_closed
from errorfloor.errors import CatalogueError, EngineError
from errorfloor.identity import private_file

LOCK = ".writing"
MAKING = ".making-"  # a file that is not whole yet; nobody reads it
SPILLING = ".spilling"
NOTES = ".notes"  # copies of the notes in all files, so that they need not all be opened; each is checked before use
AT_ONCE = 200  # notes that one query reads
NAMED = re.compile(  # a text, a quoted name or, as ``relation`` and ``tally_of`` write it, a file
    rf"""'(?:[^']|'')*'|"({NAME.pattern})"\.main\.|"(?:[^"]|"")*\""""
)

Stamp = tuple[int, int, int]  # inode, size and time of change (ctime, which nobody sets): one that changed has another


@final
class DuckDBFolder(DuckDBEngine):
    """Snapshots in a folder, each in a DuckDB file of its own, which never changes once it has its name.

    A reader finds files that were made after it opened the folder, and no longer finds those that were removed. So
    tables are registered while a server runs, and removing a file removes every row of it. A file is opened when a
    statement first names it: what exists beside it costs nothing.
    """

    def __init__(self, path: Path, folder: Path, *, read_only: bool) -> None:
        if read_only and not path.is_dir():
            raise CatalogueError(f"nothing is registered at {path} yet: run errorfloor register", path=str(path))
        self._path, self._folder, self._read_only = path.resolve(), folder, read_only
        self._readers = deque()
        self._attached: dict[str, Stamp] = {}
        self._counted = 0  # size of the file by which threads were counted last
        self._told: dict[str, str] = {}  # notes of files that are attached
        self._given: dict[str, bytes] = {}  # digests of notes that somebody goes by, whether attached yet or not
        self._copied: dict[str, tuple[Stamp, str]] | None = None
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
            text = f"others can read {path}, which holds private columns: allow its owner only (chmod 700 {path})"
            raise EngineError(text, engine="duckdb", kind="permissions")
        try:
            self._check_files()
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
        note = self._note_of(name)
        self._given[name] = _digest(note)
        return note

    def recall_all(self) -> dict[str, str]:
        """Read the notes of all files: from their copies, or many files at a time."""
        found, untold = dict[str, str](), list[str]()
        for name in self.known():
            stamp = self._stamp(name)
            if stamp is not None and self._attached.get(name) == stamp and name in self._told:
                found[name] = self._told[name]
            elif (copied := self._copy_of(name, stamp)) is not None:
                found[name] = copied
            elif self._attach(name):
                untold.append(name)
        for start in range(0, len(untold), AT_ONCE):
            some = untold[start : start + AT_ONCE]
            each = (f"SELECT '{name}' AS name, note FROM {self._notes(name)}" for name in some)
            read = self.query(" UNION ALL ".join(each)).to_pydict()
            found |= dict(zip(read["name"], read["note"], strict=True))
        self._told |= {name: found[name] for name in untold}
        self._given |= {name: _digest(note) for name, note in found.items()}
        return dict(sorted(found.items()))

    def query(self, sql: str) -> Any:
        """Open what the statement names, and ask."""
        self._attach_all(sql)
        return super().query(sql)

    def execute(self, sql: str) -> None:
        """Open what the statement names, and run it."""
        self._attach_all(sql)
        super().execute(sql)

    def note_anew(self, name: str, note: str) -> None:
        """Change the note in the file, which nobody may have open."""
        with self._lock:
            self._forget_copies()
            self._detach(name)
            self._given.pop(name, None)
            self.execute(f"ATTACH {self._location(self.file_of(name))} AS {self.dialect.identifier(name)}")
            try:
                super().execute(f"UPDATE {self._notes(name)} SET note = {self.dialect.literal(note)}")
                self.execute(f"CHECKPOINT {self.dialect.identifier(name)}")
            finally:
                self.execute(f"DETACH {self.dialect.identifier(name)}")

    def relation(self, name: str) -> str:
        """Give the table in its file; the same words name it where that file alone is opened."""
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
            self._forget_copies()
            self._detach(name)
            self._given.pop(name, None)
            self.file_of(name).unlink()
            private_file.settle(self._path)

    def let_go(self) -> None:
        """Close every file that was removed or replaced: what it holds is gone once nobody has it open.

        *Guarantee*: after this, and after the end of the queries that read it, this engine has no such file open, and
        keeps no more of its note than a digest.
        """
        with self._lock:
            for name in {*self._attached, *self._told}:
                if self._stamp(name) != self._attached.get(name):
                    self._detach(name)
            self._copied = None  # read anew when they are needed

    def close(self) -> None:
        """Close all files; a writer leaves copies of their notes."""
        try:
            if self._writing is not None and self._umask is not None:
                with suppress(EngineError, OSError):  # readers do without
                    self._copy_notes()
        finally:
            super().close()
        self._end_writing()

    def _make(self, name: str, select_sql: str, note: Callable[[str], str]) -> None:
        if self._read_only:
            raise EngineError(f"{self._path} is open for reading only, so nothing can be made there", engine="duckdb")
        making, database = self._path / f"{MAKING}{name}.duckdb", self.dialect.identifier(name)
        relation = f"{database}.main.{database}"
        with self._lock:
            self._clear(making)
            self._attach_all(select_sql)
            self.execute(f"ATTACH {self._location(making)} AS {database}")
            made = False
            try:
                with self._transaction():
                    super().execute(f"CREATE TABLE {relation} AS {select_sql}")
                    text = self.dialect.literal(note(relation))
                    super().execute(f"CREATE TABLE {self._notes(name)} AS SELECT {text} AS note")
                super().execute(f"CHECKPOINT {database}")
                made = True
            finally:
                self.execute(f"DETACH {database}")
                if not made:
                    self._clear(making)
            making.rename(self.file_of(name))  # whole, or not there
            private_file.settle(self._path)

    def _attach_all(self, sql: str) -> None:
        """Attach the files that a statement names; one that was replaced since stays until it is recalled.

        Raises EngineError if one is not the snapshot of the note that was given before: its rows are others. No thread
        finds one attached that was not compared.
        """
        named = set(NAMED.findall(sql)) - {""}
        with self._lock:
            for name in named - self._attached.keys():
                try:
                    if self._attach(name) and self._given.get(name) not in (None, _digest(self._note_of(name))):
                        how = "was replaced while it was in use: put it back, or open the catalogue again"
                        raise EngineError(f"{self.file_of(name)} {how}", engine="duckdb", kind="replaced")
                except BaseException:
                    self._detach(name)
                    raise

    def _note_of(self, name: str) -> str:
        """Give the note of an attached file."""
        if name not in self._told:
            found = super().query(f"SELECT note FROM {self._notes(name)}").column("note")
            self._told[name] = str(found[0])
        return self._told[name]

    def _attach(self, name: str) -> bool:
        """Attach a table's file if it exists, again if it has changed; say whether it exists."""
        with self._lock:
            stamp = self._stamp(name)
            if stamp is None:
                self._detach(name)
                return False
            if self._attached.get(name) == stamp:
                return True
            self._detach(name)
            self._check_closed_to_others(name)
            location = self._location(self.file_of(name))
            try:
                super().execute(f"ATTACH {location} AS {self.dialect.identifier(name)} (READ_ONLY)")
            except EngineError as problem:
                kind = problem.fields.get("kind")
                text = f"duckdb could not open {self.file_of(name)} ({kind}): {why_closed(self.file_of(name))}"
                raise EngineError(text, engine="duckdb", kind=kind) from None
            self._attached[name] = stamp
            if self._stamp(name) != stamp:  # replaced meanwhile: what was attached may be either of the two
                return self._attach(name)
            if (copied := self._copy_of(name, stamp)) is not None:
                self._told[name] = copied
            if self._read_only and stamp[1] > 1.5 * self._counted:  # that looks at all files, and most are alike
                self._counted = stamp[1]
                self._use_threads()
            return True

    def _check_files(self) -> None:
        """Open every file of whose note there is no copy: what is wrong with one is said before anything is asked."""
        for name in self.known():
            self._check_closed_to_others(name)
            if self._copy_of(name, self._stamp(name)) is None:
                self._attach(name)

    def _check_closed_to_others(self, name: str) -> None:
        if others_can_read(self.file_of(name)):
            text = f"others can read {self.file_of(name)}, which holds private columns: allow its owner only"
            raise EngineError(text, engine="duckdb", kind="permissions")

    def _stamp(self, name: str) -> Stamp | None:
        try:
            found = self.file_of(name).stat()
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_ctime_ns

    def _detach(self, name: str) -> None:
        self._told.pop(name, None)
        if self._attached.pop(name, None) is not None:
            self._readers = deque()  # those until now keep statements about it, also those at work
            self.execute(f"DETACH {self.dialect.identifier(name)}")

    def _notes(self, name: str) -> str:
        return f"{self.dialect.identifier(name)}.main.{self.notes}"

    def _location(self, file: Path) -> str:
        return self.dialect.literal(str(file))

    # -- copies of notes

    def _copy_of(self, name: str, stamp: Stamp | None) -> str | None:
        """Give the copy of a file's note; None if there is none, or the file has changed since."""
        copied = self._copies().get(name)
        return copied[1] if copied is not None and copied[0] == stamp else None

    def _copies(self) -> dict[str, tuple[Stamp, str]]:
        """Give the copies, with the stamp of the file that each was made of; none if they cannot be read."""
        if self._copied is None:
            self._copied = {}
            with suppress(OSError, ValueError, TypeError, LookupError, AttributeError):
                read = json.loads((self._path / NOTES).read_text(encoding="utf-8"))
                self._copied = {name: ((one[0], one[1], one[2]), str(one[3])) for name, one in read.items()}
        return self._copied

    def _copy_notes(self) -> None:
        """Write the copies anew if some are missing."""
        stamps = {name: stamp for name in self.known() if (stamp := self._stamp(name)) is not None}
        if stamps != {name: stamp for name, (stamp, _) in self._copies().items()}:
            told = {name: [*stamps[name], note] for name, note in self.recall_all().items() if name in stamps}
            new = self._path / f"{MAKING}notes"
            new.write_text(json.dumps(told), encoding="utf-8")
            new.rename(self._path / NOTES)

    def _forget_copies(self) -> None:
        """Remove the copies before a file goes: what is erased must not stay in them."""
        (self._path / NOTES).unlink(missing_ok=True)
        self._copied = {}

    # -- one writer

    def _begin_writing(self) -> None:
        """Be the only writer, and clear away what one that was killed left behind."""
        self._path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._writing = os.open(self._path / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._writing, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            text = f"{self._path} is in use: another registration is in progress: try again when it is done"
            raise EngineError(text, engine="duckdb", kind="busy") from None
        for left in self._path.glob(f"{MAKING}*"):
            self._clear(left)

    def _end_writing(self) -> None:
        if self._writing is not None:
            os.close(self._writing)
            self._writing = None

    def _clear(self, file: Path) -> None:
        for one in (file, file.with_name(f"{file.name}.wal")):
            one.unlink(missing_ok=True)


def _digest(note: str) -> bytes:
    return hashlib.sha256(note.encode()).digest()
