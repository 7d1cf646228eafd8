"""Tables to read and to write, a batch at a time: CSV, Parquet, Arrow files and DuckDB tables; and where they are made.

The libraries' own error texts may quote a value, so only the kind of a problem is passed on, and the error that carries
it is raised outside the handler, where it keeps no reference to the original.
"""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from errorfloor.errors import ErrorFloorError, InputError

Result = TypeVar("Result")
ROWS = 122_880  # rows in a batch: what DuckDB stores and sorts together, so that most batches pass as they are
FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow", ".duckdb": "duckdb"}
PROBLEMS = (pa.ArrowException, duckdb.Error, OSError)


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table; a DuckDB file holds several, so its table is named.

    >>> TableFile.of("meters.parquet").format, TableFile.of("town.duckdb::meters").table
    ('parquet', 'meters')
    """

    path: Path
    format: str
    table: str | None = None

    @classmethod
    def of(cls, path: str | Path) -> "TableFile":
        """Tell the format from the ending of the name, as in ``meters.parquet`` or ``town.duckdb::meters``."""
        name, separator, named = Path(path).name.partition("::")
        file, table = Path(path).with_name(name) if separator and name else Path(path), named if separator else None
        kind = FORMATS.get(file.suffix.lower())
        if kind is None:
            raise InputError(f"cannot tell the format of {file}: its name must end in {', '.join(FORMATS)}")
        if any(sign in file.name for sign in "*?["):
            raise InputError(f"{file} has a pattern in its name: name one file")
        if (kind == "duckdb") != (table is not None):
            raise InputError(
                f"{file} is a DuckDB file: name the table in it, {file.name}::table"
                if kind == "duckdb"
                else f"{file} holds one table: leave out the table name {table!r}"
            )
        return cls(file, kind, table)

    def stamp(self) -> tuple[int, ...]:
        """Give what changes when somebody writes to the file."""
        self._must_exist()
        facts = self.path.stat()
        return facts.st_ino, facts.st_size, facts.st_mtime_ns

    def schema(self) -> pa.Schema:
        """Give the names and types of the columns."""
        self._must_exist()

        def work() -> pa.Schema:
            if self.format == "parquet":
                return pq.read_schema(self.path)
            with ExitStack() as stack:
                return self._relation(self._connect(stack, None), stack).limit(0).to_arrow_table().schema

        return _told(work, self._unreadable)

    @contextmanager
    def read(self, scratch: Path, columns: Sequence[str], order: Sequence[str] = ()) -> Iterator[Any]:
        """Open some columns as a stream of batches, sorted by ``order`` or, without it, as they are stored."""
        self._must_exist()
        with ExitStack() as stack:
            reader = _told(lambda: self._open(stack, scratch, columns, order), self._unreadable)
            stack.callback(reader.close)  # or whoever still holds it would keep DuckDB from opening the file again
            yield reader

    def _must_exist(self) -> None:
        if not self.path.is_file():
            raise InputError(f"there is no file {self.path}")

    def batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Give the rows of a reader in batches of ``ROWS``, the last one less.

        How a target is cut into pieces follows from the number of its rows, not from how the source stored them.
        """
        return regrouped(reader, self._unreadable)

    def _unreadable(self, problem: str) -> ErrorFloorError:
        return InputError(f"cannot read {self.path} as {self.format} ({problem}): is it complete, and of one shape?")

    def _open(self, stack: ExitStack, scratch: Path, columns: Sequence[str], order: Sequence[str]) -> Any:
        relation = self._relation(self._connect(stack, scratch), stack)
        kinds = {name: str(kind) for name, kind in zip(relation.columns, relation.types, strict=True)}
        relation = relation.project(", ".join(_plain(name, kinds[name]) for name in columns))
        if order:
            relation = relation.order(", ".join(_ordered(name, kinds[name]) for name in order))
        return relation.to_arrow_reader(ROWS)

    def _connect(self, stack: ExitStack, scratch: Path | None) -> Any:
        """Open the DuckDB file, or a database in memory that reads other files; it sorts in the scratch folder."""
        if self.format == "duckdb":
            connection = stack.enter_context(_connected(self.path, read_only=True))
        else:
            connection = stack.enter_context(_connected(":memory:"))
        connection.execute("SET memory_limit = '512MB'")
        if scratch is not None:
            connection.execute("SET temp_directory = '" + str(scratch / "sorting").replace("'", "''") + "'")
        return connection

    def _relation(self, connection: Any, stack: ExitStack) -> Any:
        if self.format == "parquet":
            return connection.read_parquet(str(self.path))
        if self.format == "csv":
            return connection.read_csv(str(self.path))
        if self.format == "arrow":
            source = stack.enter_context(pa.memory_map(str(self.path)))
            file = stack.enter_context(pa.ipc.open_file(source))
            parts = (file.get_batch(i) for i in range(file.num_record_batches))
            return connection.from_arrow(pa.RecordBatchReader.from_batches(file.schema, parts))
        names = _tables(connection)
        if str(self.table).lower() not in names:
            raise InputError(f"{self.path} has no table {self.table}; it has {', '.join(sorted(names)) or 'none'}")
        return connection.table(_quoted(str(self.table)))

    def exists(self) -> bool:
        """Whether writing would replace something."""
        if self.format != "duckdb" or not self.path.exists():
            return self.path.exists()

        def work() -> bool:
            with _connected(self.path, read_only=True) as connection:
                return str(self.table).lower() in _tables(connection)

        return _told(work, lambda kind: InputError(f"{self.path} cannot be opened as a DuckDB file ({kind})"))

    def write(
        self,
        scratch: Path,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        metadata: dict[str, str],
        check: Callable[[], None],
        overwrite: bool,
    ) -> None:
        """Write all batches in ``scratch``, then ``check``, then put the result in place: whole or not at all."""
        partial = scratch / f"partial{self.path.suffix}"
        partial.unlink(missing_ok=True)
        failures: list[ErrorFloorError] = []
        problem = ""
        try:
            self._write(partial, schema.with_metadata(metadata), _watched(batches, failures))
            check()
            _place(partial, self, overwrite)
        except PROBLEMS as error:
            problem = type(error).__name__
        if failures:  # ours, which a library may have wrapped on the way
            raise failures[0]
        if problem:
            raise InputError(f"cannot write {self.path} ({problem}): is there room, and may you write there?")

    def _write(self, path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        if self.format == "parquet":
            with pq.ParquetWriter(path, schema, compression="snappy") as writer:
                _write_groups(writer, batches, schema)
        elif self.format == "arrow":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as ipc:
                for batch in batches:
                    ipc.write_batch(batch)
        elif self.format == "csv":
            with pa.csv.CSVWriter(path, schema) as csv:
                for batch in batches:
                    csv.write_batch(batch)
        else:
            with _connected(path) as connection:
                connection.register("released_batches", pa.RecordBatchReader.from_batches(schema, batches))
                connection.execute(f"CREATE TABLE {_quoted(str(self.table))} AS SELECT * FROM released_batches")


def _place(partial: Path, target: TableFile, overwrite: bool) -> None:
    """Let the finished file be seen, in one step."""
    with partial.open("rb+") as file:
        os.fsync(file.fileno())
    if target.format == "duckdb" and target.path.exists():
        name = _quoted(str(target.table))
        with _connected(target.path) as connection:
            connection.execute("ATTACH '" + str(partial).replace("'", "''") + "' AS finished (READ_ONLY)")
            verb = "CREATE OR REPLACE TABLE" if overwrite else "CREATE TABLE"
            connection.execute(f"{verb} {name} AS SELECT * FROM finished.{name}")
    elif overwrite:
        partial.replace(target.path)
    else:
        os.link(partial, target.path)  # refused if somebody has made the target meanwhile


def _watched(batches: Iterator[pa.RecordBatch], failures: list[ErrorFloorError]) -> Iterator[pa.RecordBatch]:
    try:
        yield from batches
    except ErrorFloorError as problem:
        failures.append(problem)
        raise


def _connected(path: Path | str, *, read_only: bool = False) -> Any:
    """Open a database that keeps silent and does not know where it is.

    DuckDB's own progress bar would be mixed with what is printed as data; the time zone of a machine would be written
    into the files that it makes.
    """
    connection = duckdb.connect(str(path), read_only=read_only)
    connection.execute("SET enable_progress_bar = false; SET TimeZone = 'UTC'")
    return connection


def _tables(connection: Any) -> set[str]:
    return {str(name).lower() for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()}


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _plain(name: str, kind: str) -> str:
    """Read a column; an enumeration as texts, since the order of its values could be that of private ones."""
    return f"CAST({_quoted(name)} AS VARCHAR) AS {_quoted(name)}" if kind.startswith("ENUM") else _quoted(name)


def _ordered(name: str, kind: str) -> str:
    """Sort by a column; texts byte by byte, whatever collation the table declares."""
    return f'{_quoted(name)} COLLATE "binary"' if kind == "VARCHAR" or kind.startswith("ENUM") else _quoted(name)


def regrouped(reader: Any, unreadable: Callable[[str], ErrorFloorError]) -> Iterator[pa.RecordBatch]:
    """Give the rows of a reader in batches of ``ROWS``; ``unreadable`` makes an error of the kind of a problem."""
    kept: list[pa.RecordBatch] = []
    count = 0
    while (batch := _next(reader, unreadable)) is not None:
        while count + batch.num_rows >= ROWS:
            kept.append(batch.slice(0, ROWS - count))
            batch = batch.slice(ROWS - count)
            yield _joined(kept)
            kept, count = [], 0
        if batch.num_rows:
            kept.append(batch)
            count += batch.num_rows
    if kept:
        yield _joined(kept)


def _next(reader: Any, unreadable: Callable[[str], ErrorFloorError]) -> pa.RecordBatch | None:
    with suppress(StopIteration):
        return _told(reader.read_next_batch, unreadable)
    return None


def _told(work: Callable[[], Result], unreadable: Callable[[str], ErrorFloorError]) -> Result:
    """Do some work with a library; if that fails, nothing is told of it but its kind."""
    try:
        return work()
    except PROBLEMS as error:
        problem = type(error).__name__
    raise unreadable(problem)


def _joined(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


def _write_groups(writer: Any, batches: Iterator[pa.RecordBatch], schema: pa.Schema) -> None:
    """Write row groups of eight batches: large enough to compress, small enough to hold."""
    group: list[pa.RecordBatch] = []
    for batch in batches:
        group.append(batch.replace_schema_metadata(schema.metadata))
        if len(group) == 8:
            writer.write_table(pa.Table.from_batches(group, schema), row_group_size=8 * ROWS)
            group = []
    if group:
        writer.write_table(pa.Table.from_batches(group, schema), row_group_size=8 * ROWS)


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
