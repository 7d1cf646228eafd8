"""PostgreSQL through ADBC: results arrive as Arrow, files leave as Arrow."""

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, final

from adbc_driver_postgresql import dbapi

from errorfloor.catalogue.columns import PublicType
from errorfloor.catalogue.reading import Reading
from errorfloor.engines.allotment import allotment, attempt
from errorfloor.engines.base import PLAIN, TransactionalEngine
from errorfloor.engines.dialects import PostgreSQLDialect
from errorfloor.engines.sources import NAMED, Kind, Source, arrow_files, find_files, identified, kind_of
from errorfloor.engines.text_tables import as_parquet
from errorfloor.errors import CatalogueError, EngineError

WRITER_LOCK = 0x6572726F72  # a number that stands for "somebody registers"; any would do
COPY = "pg_temp.errorfloor_source"
SETTINGS = ("SET TimeZone = 'UTC'", "SET client_min_messages = error")
READER = "SET default_transaction_read_only = on"
KINDS: dict[str, Kind] = {
    **dict.fromkeys(("text", "varchar", "bpchar", "name", "uuid"), "text"),
    **dict.fromkeys(("int2", "int4", "int8"), "whole"),
    **dict.fromkeys(("float4", "float8"), "number"),
    **dict.fromkeys(("timestamp", "timestamptz"), "moment"),
    "numeric": "decimal",
    "date": "date",
    "bool": "flag",
}


@final
class PostgreSQLEngine(TransactionalEngine):
    """Snapshots in the schema ``errorfloor`` of a PostgreSQL database.

    Sources: ``schema.table`` of the same database; Parquet files, text files or sheets, or a folder of Parquet files.
    """

    name = "postgresql"
    dialect = PostgreSQLDialect()
    notes = "errorfloor.notes"

    def __init__(self, url: str, folder: Path, *, read_only: bool) -> None:
        self._folder = folder
        self._url = url
        self._settings = [*SETTINGS, *([READER] if read_only else [])]
        self._alone = threading.RLock()  # a connection carries one statement at a time
        self._connection = self._connect()
        self._readers = deque([self._connection]) if read_only else None  # connections that nobody uses now
        if not read_only:
            try:
                self._prepare()
            except EngineError:
                self.close()
                raise

    def query(self, sql: str) -> Any:
        """Fetch the result as the server's binary copy.

        Readers ask on connections of their own, so that one does not wait for another; one that broke, as it does when
        the server is restarted, is replaced. A writer stays in its transaction.
        """
        if self._readers is None:
            with self._alone:
                return attempt(self.name, "answer a query", lambda: _fetched(self._connection, sql))
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect()
        try:
            with allotment().working(connection.adbc_cancel):
                found = attempt(self.name, "answer a query", lambda: _fetched(connection, sql))
        except EngineError:
            if _works(connection):
                self._readers.append(connection)
                raise
            connection.close()
            connection = self._connect()
            found = attempt(self.name, "answer a query", lambda: _fetched(connection, sql))
        self._readers.append(connection)
        return found

    def execute(self, sql: str) -> None:
        """Run it on the connection."""
        with self._alone:
            attempt(self.name, "carry out a statement", lambda: _run(self._connection, sql))

    def check_destroys(self) -> None:
        """A table can be dropped, and its files go with it."""

    def destroy(self, name: str) -> None:
        """Drop a table and its note; logs and backups of the database keep their rows for as long as they are kept."""
        with self._transaction():
            self.execute(f"DROP TABLE {self.relation(name)}")
            self.execute(f"DELETE FROM {self.notes} WHERE name = {self.dialect.literal(name)}")

    def close(self) -> None:
        """Close the connections."""
        if self._readers is None:
            self._connection.close()
        while self._readers:
            self._readers.pop().close()

    def _connect(self) -> Any:
        reached = "be reached: is the server running, and place.snapshots its URL?"
        connection = attempt(self.name, reached, lambda: dbapi.connect(self._url, autocommit=True))
        try:
            for setting in self._settings:
                attempt(self.name, "carry out a statement", lambda: _run(connection, setting))  # noqa: B023 (at once)
        except EngineError:
            connection.close()
            raise
        return connection

    def identify(self, source: Sequence[str]) -> str:
        """Resolve paths; ``public`` is the schema unless another is named."""
        table = source[0] if "." in source[0] else f"public.{source[0]}"
        return identified(source, self._folder) or f"table {table}"

    @contextmanager
    def reading(
        self, source: Sequence[str], columns: Mapping[str, PublicType] | None = None, how: Reading = PLAIN
    ) -> Iterator[Source]:
        """Read a table in place; copy the columns of a file to a temporary table of this connection."""
        files = find_files(source, self._folder)
        if files is None:
            table = source[0]
            relation = ".".join(map(self.dialect.identifier, table.split(".")))
            if table.count(".") > 1 or not self._is_table(relation):  # a third name would be the same table again
                raise CatalogueError(
                    f"source {table!r}: not a table of the database, as schema.table, nor a file in "
                    f"{self._folder.resolve()}: {NAMED}, or a table",
                    source=table,
                )
            schema = self.query(f"SELECT * FROM {relation} LIMIT 0").schema
            yield Source(
                relation, {f.name: KINDS.get(f.metadata[b"POSTGRESQL:type"].decode(), "other") for f in schema}
            )
            return
        try:
            with as_parquet(files, how, columns, self._folder) as parquet:
                kinds = attempt(self.name, "read the source", lambda: self._copy(parquet.paths, columns))
                yield Source(COPY, {**parquet.kinds, **kinds})
        finally:
            self.execute(f"DROP TABLE IF EXISTS {COPY}")

    def relation(self, name: str) -> str:
        """Name the schema, too."""
        return f"errorfloor.{self.dialect.identifier(name)}"

    def as_double(self, sql: str, kind: Kind) -> str:
        """Numeric reaches further than double, and a cast would refuse what lies beyond."""
        if kind != "decimal":
            return super().as_double(sql, kind)
        number = self.dialect.number
        return (
            f"CASE WHEN {sql} = 'NaN' THEN {number(float('nan'))} WHEN {sql} > 1e300 THEN {number(float('inf'))} "
            f"WHEN {sql} < -1e300 THEN {number(float('-inf'))} WHEN abs({sql}) < 1e-300 THEN {number(0.0)} "
            f"ELSE {self.dialect.double(sql)} END"
        )

    def _has_notes(self) -> bool:
        return self._is_table(self.notes)

    def _is_table(self, relation: str) -> bool:
        return bool(self._value(f"to_regclass({self.dialect.literal(relation)}) IS NOT NULL"))

    def _value(self, expression: str) -> Any:
        return self.query(f"SELECT {expression} AS value").column("value")[0].as_py()

    def _prepare(self) -> None:
        if not self._value(f"pg_try_advisory_lock({WRITER_LOCK})"):
            raise EngineError("another registration is in progress in this database: try again when it is done")
        self.execute("CREATE SCHEMA IF NOT EXISTS errorfloor")
        self.execute(f"CREATE TABLE IF NOT EXISTS {self.notes} (name TEXT PRIMARY KEY, note TEXT NOT NULL)")

    def _copy(self, paths: Sequence[Path], columns: Mapping[str, PublicType] | None) -> dict[str, Kind]:
        import pyarrow as pa
        from pyarrow import compute

        files = arrow_files(paths)
        taken = {}
        for field in files.schema:
            if columns is None or field.name in columns:
                value = compute.field(field.name)
                if pa.types.is_uint64(field.type):  # would wrap to a negative bigint
                    value = value.cast(pa.decimal128(20, 0))
                elif pa.types.is_timestamp(field.type) and field.type.unit == "ns":  # cut, as on the other engines
                    value = compute.floor_temporal(value, unit="microsecond").cast(pa.timestamp("us", field.type.tz))
                elif pa.types.is_date64(field.type):
                    value = value.cast(pa.date32())
                taken[field.name] = value
        if taken:
            with self._alone, self._connection.cursor() as cursor:
                batches = files.scanner(columns=taken).to_reader()
                cursor.adbc_ingest(COPY.partition(".")[2], batches, mode="create", temporary=True)
        return {field.name: kind_of(field.type) for field in files.schema}


def _fetched(connection: Any, sql: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetch_arrow_table()


def _run(connection: Any, sql: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql)


def _works(connection: Any) -> bool:
    """Say whether a connection still reaches the server."""
    try:
        _fetched(connection, "SELECT 1 AS one")
    except Exception:
        return False
    return True
