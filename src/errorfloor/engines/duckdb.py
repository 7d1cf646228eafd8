"""DuckDB: one file, many readers or one writer; and what a folder of files shares with it."""

import os
import re
import stat
from collections import OrderedDict, deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.allotment import allotment, attempt
from errorfloor.engines.base import PLAIN, TransactionalEngine
from errorfloor.engines.dialects import DuckDBDialect
from errorfloor.engines.sources import NAMED, Source, find_files, finer_than_microseconds, identified, kind_of
from errorfloor.engines.text_tables import SETTINGS, opening
from errorfloor.errors import CatalogueError, EngineError

MAGIC, VERSION = slice(8, 12), slice(52, 84)  # of a DuckDB file: its mark, and the release that wrote it
READER = {**SETTINGS, "enable_external_access": False}  # a question can reach nothing but the file itself
ROW_GROUP = 122_880  # rows that DuckDB gives one thread at the least
MOST_KEPT = 64  # statements that a reader need not read again
LONGEST_KEPT = 10_000  # characters of such a statement


class DuckDBEngine(TransactionalEngine):
    """Snapshots in one DuckDB file, as older versions made them; ``DuckDBFolder`` keeps a file for each.

    Sources: Parquet files, text files or sheets, a folder of Parquet files, or a table of another file,
    ``other.duckdb::table``.
    """

    name = "duckdb"
    dialect = DuckDBDialect()
    notes = "errorfloor_notes"
    _most_threads: int | None = None

    def __init__(self, path: Path, folder: Path, *, read_only: bool) -> None:
        if read_only and not path.exists():
            raise CatalogueError(f"nothing is registered at {path} yet: run errorfloor register", path=str(path))
        self._folder = folder
        self._read_only = read_only
        self._recalled: dict[str, str | None] = {}
        self._readers: deque[_Reader] = deque()  # those that nobody uses now
        self._umask = None if read_only else os.umask(0o077)  # the file, its log and what spills are for its owner
        try:
            self._connection = _connect(path, read_only=read_only)
        except BaseException:
            self._restore_umask()
            raise
        if others_can_read(path):
            self.close()
            raise EngineError(
                f"others can read {path}, which holds private columns: allow its owner only (chmod 600 {path})",
                engine="duckdb",
                kind="permissions",
            )
        if read_only:
            self._use_threads()
        else:
            # a Parquet file's least and greatest number leave out NaN, and DuckDB would conclude that there is none
            self.execute("SET disabled_optimizers = 'statistics_propagation'")
            self.execute(f"CREATE TABLE IF NOT EXISTS {self.notes} (name VARCHAR PRIMARY KEY, note VARCHAR NOT NULL)")

    def _use_threads(self) -> None:
        """Use no more threads than the largest table keeps busy: the others would be woken to find nothing to do."""
        found = self.query("SELECT current_setting('threads') AS now, max(estimated_size) AS rows FROM duckdb_tables()")
        now, rows = (found.column(name)[0].as_py() for name in ("now", "rows"))
        self._most_threads = self._most_threads or int(now)
        self._connection.execute(f"SET threads = {min(self._most_threads, 1 + (rows or 0) // ROW_GROUP)}")

    def recall(self, name: str) -> str | None:
        """Read the table of notes; once only for a reader, since no one can write to a file while it is read."""
        if not self._read_only:
            return super().recall(name)
        if name not in self._recalled:
            self._recalled[name] = super().recall(name)
        return self._recalled[name]

    def query(self, sql: str) -> Any:
        """Ask on a connection of its own, so that threads do not meet; a writer stays in its transaction."""
        if not self._read_only:
            return attempt(self.name, "answer a query", lambda: self._connection.sql(sql).to_arrow_table())
        readers = self._readers
        try:
            reader = readers.pop()
        except IndexError:
            reader = _Reader(self._connection.cursor())
        with allotment().working(reader.interrupt):
            found = attempt(self.name, "answer a query", lambda: reader.query(sql))
        readers.append(reader)  # one that failed is not used again, nor one that may know a file which was let go
        return found

    def execute(self, sql: str) -> None:
        """Run it on the connection."""
        attempt(self.name, "carry out a statement", lambda: self._connection.execute(sql))

    def close(self) -> None:
        """Close the file."""
        while self._readers:
            self._readers.pop().close()
        self._connection.close()
        self._restore_umask()

    def _restore_umask(self) -> None:
        if self._umask is not None:
            os.umask(self._umask)
            self._umask = None

    def identify(self, source: Sequence[str]) -> str:
        """Resolve the paths; names of tables ignore capitals, and ``main`` is the schema unless another is named."""
        path, mark, table = source[0].partition("::")
        if not mark:
            return identified(source, self._folder) or str((self._folder / path).resolve())
        return f"{(self._folder / path).resolve()}{mark}{table.lower().removeprefix('main.')}"

    @contextmanager
    def reading(
        self, source: Sequence[str], columns: Mapping[str, PublicType] | None = None, how: Reading = PLAIN
    ) -> Iterator[Source]:
        """Read files in place; attach another DuckDB file while it is read."""
        path, mark, table = source[0].partition("::")
        files = None if mark else find_files(source, self._folder)
        if files is not None and files.format == "parquet":
            yield self._described(f"read_parquet([{', '.join(map(self.dialect.literal, files.parquet))}])")
            return
        if files is not None:
            with opening(files, how, columns, self._folder) as texts:
                yield Source(texts.relation, texts.kinds)
            return
        where = (self._folder / path).resolve()
        if not mark or not where.exists():
            raise CatalogueError(
                f"source {source[0]!r} cannot be found from {self._folder.resolve()}: {NAMED}, or a table of another "
                f"file as other.duckdb::table",
                source=source[0],
            )
        self.execute(f"ATTACH {self.dialect.literal(str(where))} AS errorfloor_source (READ_ONLY)")
        try:
            yield self._described(".".join(map(self.dialect.identifier, ["errorfloor_source", *table.split(".")])))
        finally:
            self.execute("DETACH errorfloor_source")

    def relation(self, name: str) -> str:
        """Quote the name."""
        return self.dialect.identifier(name)

    def _has_notes(self) -> bool:
        return bool(self.query(f"SELECT 1 AS one FROM duckdb_tables() WHERE table_name = '{self.notes}'").num_rows)

    def _described(self, relation: str) -> Source:
        schema = self.query(f"SELECT * FROM {relation} LIMIT 0").schema
        cut = [
            f"make_timestamp({self.dialect.floor_divide(f'epoch_ns({name})', 1000, 2**63 - 1)}) AS {name}"
            for name in map(self.dialect.identifier, finer_than_microseconds(schema))
        ]
        if cut:  # a cast would round
            relation = f"(SELECT * REPLACE ({', '.join(cut)}) FROM {relation})"
        return Source(relation, {field.name: kind_of(field.type) for field in schema})


class _Reader:
    """A connection that keeps the statements it has read; they run as often as they are asked for.

    Nobody can change a file while it is open for reading, so that what a statement means does not change either.
    """

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._kept: OrderedDict[str, Any] = OrderedDict()

    def query(self, sql: str) -> Any:
        """Run a statement."""
        relation = self._kept.pop(sql, None)
        if relation is None:
            relation = self._connection.sql(sql)
        if len(sql) <= LONGEST_KEPT:
            self._kept[sql] = relation
            if len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return relation.to_arrow_table()

    def interrupt(self) -> None:
        """Stop the statement that runs now."""
        self._connection.interrupt()

    def close(self) -> None:
        self._kept.clear()
        self._connection.close()


def why_closed(path: Path) -> str:
    """Say what a file is that DuckDB does not open: its header names the DuckDB that wrote it."""
    try:
        with path.open("rb") as file:
            header = file.read(VERSION.stop)
    except OSError as problem:
        return f"{problem.strerror}"
    if not os.access(path.parent, os.W_OK):
        return f"nothing can be written to {path.parent}: allow its owner to"
    if header[MAGIC] != b"DUCK":
        return "is it a DuckDB file?"
    writer = header[VERSION].rstrip(b"\0").decode("ascii", "replace").removeprefix("v")
    if writer == duckdb.__version__:
        return f"DuckDB {writer} wrote it and is installed, so the file is damaged: put a copy back, or register again"
    return (
        f"DuckDB {writer} wrote it and {duckdb.__version__} is installed, which reads its own files and older ones: "
        f"pip install 'duckdb=={writer}', or register again"
    )


def others_can_read(path: Path) -> bool:
    """Say whether anybody but its owner may read a file, or enter a folder."""
    return bool(stat.S_IMODE(path.stat().st_mode) & 0o077)


def connect_to_files(folder: Path, spilling: Path, *, read_only: bool) -> Any:
    """Give a connection to which the files of a folder can be attached; a reader's reaches nothing else."""
    literal = DuckDBDialect().literal
    connection = duckdb.connect(":memory:", config=SETTINGS)
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    connection.execute("SET enable_progress_bar = false")  # standard output is for answers
    connection.execute(f"SET temp_directory = {literal(str(spilling))}")
    if read_only:
        connection.execute(f"SET allowed_directories = [{literal(f'{folder}/')}]")
        connection.execute("SET enable_external_access = false")
    return connection


def _connect(path: Path, *, read_only: bool) -> Any:
    kind = ""
    try:
        connection = duckdb.connect(str(path), read_only=read_only, config=READER if read_only else SETTINGS)
        connection.execute("SET GLOBAL TimeZone = 'UTC'")
        connection.execute("SET enable_progress_bar = false")  # standard output is for answers
        return connection
    except duckdb.ConnectionException:
        pass  # open in this process in the other mode
    except duckdb.Error as problem:
        kind = "" if re.search(r"\block\b", str(problem)) else type(problem).__name__
    if kind:
        raise EngineError(f"duckdb could not open {path} ({kind}): {why_closed(path)}", engine="duckdb", kind=kind)
    holder = "a registration is in progress" if read_only else "a server, a session or another registration has it open"
    raise EngineError(
        f"{path} is in use: {holder}. A DuckDB file has many readers or one writer: try again when it is closed, or "
        "keep the snapshots on PostgreSQL",
        engine="duckdb",
        kind="busy",
    )
