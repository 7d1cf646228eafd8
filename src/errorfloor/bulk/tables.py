"""Tables to read and to write, a batch at a time: CSV, Parquet, Arrow files and DuckDB tables."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from errorfloor.errors import InputError

ROWS = 1 << 17  # rows in a batch
FORMATS = {".parquet": "parquet", ".csv": "csv", ".arrow": "arrow", ".feather": "arrow", ".duckdb": "duckdb"}


@dataclass(frozen=True)
class TableFile:
    """A file that holds a table; a DuckDB file holds several, so its table is named.

    >>> TableFile.of("meters.parquet", None).format
    'parquet'
    """

    path: Path
    format: str
    table: str | None = None

    @classmethod
    def of(cls, path: str | Path, table: str | None) -> "TableFile":
        """Tell the format from the ending of the name."""
        file = Path(path)
        kind = FORMATS.get(file.suffix.lower())
        if kind is None:
            raise InputError(f"cannot tell the format of {file}: its name must end in {', '.join(FORMATS)}")
        if (kind == "duckdb") != (table is not None):
            raise InputError(
                f"{file} is a DuckDB file: name the table in it"
                if kind == "duckdb"
                else f"{file} holds one table: leave out the table name {table!r}"
            )
        return cls(file, kind, table)

    @contextmanager
    def read(self) -> Iterator[pa.RecordBatchReader]:
        """Open the table as a stream of batches, in its own order."""
        if not self.path.exists():
            raise InputError(f"there is no file {self.path}")
        try:
            with self._reader() as reader:
                yield reader
        except (pa.ArrowInvalid, duckdb.Error, OSError) as problem:
            # the library's own words may quote a value, so only the kind of problem is passed on
            raise InputError(f"cannot read {self.path} as {self.format} ({type(problem).__name__})") from None

    @contextmanager
    def _reader(self) -> Iterator[pa.RecordBatchReader]:
        if self.format == "parquet":
            with pq.ParquetFile(self.path) as file:
                yield pa.RecordBatchReader.from_batches(file.schema_arrow, file.iter_batches(ROWS))
        elif self.format == "arrow":
            with pa.memory_map(str(self.path)) as source, pa.ipc.open_file(source) as file:
                batches = (file.get_batch(i) for i in range(file.num_record_batches))
                yield pa.RecordBatchReader.from_batches(file.schema, batches)
        elif self.format == "csv":
            with duckdb.connect() as connection:
                yield connection.read_csv(str(self.path)).to_arrow_reader(ROWS)
        else:
            with duckdb.connect(str(self.path), read_only=True) as connection:
                yield connection.table(str(self.table)).to_arrow_reader(ROWS)

    def write(
        self,
        schema: pa.Schema,
        batches: Iterator[pa.RecordBatch],
        metadata: dict[str, str],
        check: Callable[[], None],
    ) -> None:
        """Write all batches, then ``check``, then let the result be seen: it appears whole or not at all."""
        if self.format == "duckdb":
            self._write_duckdb(schema, batches, check)
            return
        partial = self.scratch("partial")
        described = schema.with_metadata({**(schema.metadata or {}), **metadata})
        try:
            self._write_file(partial, described, batches)
            check()
            with partial.open("rb+") as file:
                os.fsync(file.fileno())
            partial.replace(self.path)
        except BaseException:
            partial.unlink(missing_ok=True)
            raise

    def _write_file(self, path: Path, schema: pa.Schema, batches: Iterator[pa.RecordBatch]) -> None:
        if self.format == "parquet":
            with pq.ParquetWriter(path, schema, compression="snappy") as writer:
                _write_groups(writer, batches, schema)
        elif self.format == "arrow":
            with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, schema) as ipc:
                for batch in batches:
                    ipc.write_batch(batch)
        else:
            with pa.csv.CSVWriter(path, schema) as csv:
                for batch in batches:
                    csv.write_batch(batch)

    def _write_duckdb(self, schema: pa.Schema, batches: Iterator[pa.RecordBatch], check: Callable[[], None]) -> None:
        name = '"' + str(self.table).replace('"', '""') + '"'
        with duckdb.connect(str(self.path)) as connection:
            connection.register("released_batches", pa.RecordBatchReader.from_batches(schema, batches))
            connection.begin()
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM released_batches")
            check()
            connection.commit()

    def scratch(self, purpose: str) -> Path:
        """Give the hidden name beside the path for what is not finished yet; a later release clears it away."""
        return self.path.with_name(f".{self.path.name}.errorfloor-{purpose}")

    def exists(self) -> bool:
        """Whether writing would replace something."""
        if self.format != "duckdb" or not self.path.exists():
            return self.path.exists()
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return (self.table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()


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
