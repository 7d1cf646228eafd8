"""What is done to each batch of rows on its way to the target: tags from their keys, noise from their tags.

What makes a row the same row is its key. Rows are read ahead, perturbed on several cores, watched and counted.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from queue import Empty, Queue
from threading import Event
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.identity import Key, Label, Part
from errorfloor.identity.labels import row_tags, text_words

WORKERS = 2
AHEAD = 10  # batches in flight


@dataclass(frozen=True)
class RowKey:
    """The columns that name a row, and the derived key that turns them into tags.

    The same key gives the same tag whether a file stores it in 32 or 64 bits, as texts or as a dictionary of texts.
    """

    columns: tuple[str, ...]
    derived: bytes = field(repr=False)

    def tags(self, batch: pa.RecordBatch, *further: Array) -> Array:
        """Give the tag of every row, and of ``further`` words that belong to it, as an (n, 2) array of words."""
        return row_tags(self.derived, [*(self._words(batch.column(name), name) for name in self.columns), *further])

    def _words(self, column: pa.Array, name: str) -> Array:
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        if column.null_count:
            raise InputError(f"key column {name} has nulls: every row needs its own key")
        kind = kind_of(column.type, name)
        if kind == "text":
            flat = column.cast(pa.large_string())
            _, offsets, content = flat.buffers()
            places = np.frombuffer(offsets, dtype="<i8")[flat.offset : flat.offset + len(flat) + 1]
            return text_words(self.derived, np.frombuffer(content or b"", dtype=np.uint8), places)
        if kind.startswith("decimal"):
            wide = column.cast(pa.decimal128(38, column.type.scale))
            words = np.frombuffer(wide.buffers()[1], dtype="<u8").reshape(-1, 2)
            return words[wide.offset : wide.offset + len(wide)]
        integers = np.asarray(_as_integers(column, kind).to_numpy(zero_copy_only=False), dtype="<i8")
        return integers.view("<u8")


def kind_of(kind: pa.DataType, name: str) -> str:
    """Name what a key column holds, whatever its width or encoding.

    >>> kind_of(pa.int32(), "id"), kind_of(pa.dictionary(pa.int8(), pa.string()), "id")
    ('integer', 'text')
    """
    if pa.types.is_dictionary(kind):
        return kind_of(kind.value_type, name)
    if pa.types.is_boolean(kind):
        return "truth"
    if pa.types.is_integer(kind):
        return "integer"
    if pa.types.is_date(kind):
        return "date"
    if pa.types.is_timestamp(kind):
        return f"moment{' utc' if kind.tz else ''}{' ns' if kind.unit == 'ns' else ''}"
    if pa.types.is_decimal128(kind):
        return f"decimal {kind.scale}"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return "text"
    raise InputError(f"key column {name} holds {kind}: a key is made of integers, texts, dates, times or decimals")


def _as_integers(column: pa.Array, kind: str) -> Any:
    if kind == "date":
        return column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    if kind.startswith("moment"):
        unit = "ns" if kind.endswith("ns") else "us"
        return column.cast(pa.timestamp(unit, column.type.tz)).cast(pa.int64())
    if kind == "truth":
        return column.cast(pa.int8()).cast(pa.int64())
    integers = None
    with suppress(pa.ArrowInvalid):
        integers = pc.cast(column, pa.int64())
    if integers is None:
        raise InputError("a key column has an integer above 2⁶³ − 1: store it as text or as a decimal")
    return integers


@dataclass(frozen=True)
class Perturbation:
    """What is done to each batch of a table. It holds derived keys, enough to take this batch's noise away again.

    >>> from errorfloor.bulk.columns import ReleasedColumn
    >>> from errorfloor.support import Interval
    >>> column = ReleasedColumn.plan("x", Interval(-1, 1), step="0.5", out_of_range="refuse", nulls="keep")
    >>> batch = pa.record_batch({"id": [1, 2], "x": [0.0, 0.0]})
    >>> released, tags = Perturbation.prepare(batch.schema, [column], ["id"], "2013", Key.fresh()).apply(batch)
    >>> set(released.column("x").to_pylist()) <= {-1.0, -0.5, 0.0, 0.5, 1.0}, tags.shape
    (True, (2, 2))
    """

    row_key: RowKey
    columns: tuple[RuledColumn, ...]

    @classmethod
    def prepare(
        cls, schema: pa.Schema, columns: Sequence[RuledColumn], key: Sequence[str], batch: Part, secret: Key
    ) -> "Perturbation":
        """Derive the keys of rows and columns from what names them."""
        rows = RowKey(tuple(key), secret.derive(Label("release rows", _whose(schema, key, batch))))
        derived = (secret.derive(noise_label(schema, column, key, batch)) for column in columns)
        return cls(rows, tuple(replace(c, derived=d) for c, d in zip(columns, derived, strict=True)))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Give the schema of the released table: doubles for what carries noise, and no metadata of the source."""
        noisy = {column.name for column in self.columns}
        return pa.schema([(f.name, pa.float64() if f.name in noisy else f.type) for f in schema])

    def apply(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
        """Give the released batch and its rows' tags."""
        tags = self.row_key.tags(batch)
        arrays = list(batch.columns)
        for column in self.columns:
            place = batch.schema.get_field_index(column.name)
            arrays[place] = column.perturb(arrays[place], tags)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema(batch.schema)), tags


def noise_label(schema: pa.Schema, column: RuledColumn, key: Sequence[str], batch: Part) -> Label:
    """Give all that decides a column's noise besides the custodian's key and the rows' keys."""
    return Label("release column", (*_whose(schema, key, batch), *column.identity))


def _whose(schema: pa.Schema, key: Sequence[str], batch: Part) -> tuple[Part, ...]:
    return batch, tuple(key), tuple(kind_of(schema.field(name).type, name) for name in key)


class Watch(Protocol):
    """Somebody who looks at every batch, to tell in the end that no two rows share a key."""

    def look(self, batch: pa.RecordBatch, tags: Array) -> Any:
        """Look at a batch, on any core and in any order; what is found is taken later."""

    def take(self, found: Any) -> None:
        """Take what was found, in the order of the batches."""

    def settle(self) -> None:
        """Refuse a table in which two rows share a key."""


class Counter:
    """Counts rows on their way to the target."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.rows = 0
        self._progress = progress

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Pass the batches on."""
        for batch in batches:
            yield batch
            self.rows += batch.num_rows
            if self._progress is not None:
                self._progress(self.rows)


def perturbed(
    batches: Iterator[pa.RecordBatch], work: Perturbation, watch: Watch
) -> Generator[pa.RecordBatch, None, None]:
    """Read ahead, perturb on several cores, and give the batches in their order."""
    line: Queue[Future[tuple[pa.RecordBatch, Any]] | None] = Queue(AHEAD)
    stopped = Event()

    def perturb(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Any]:
        released, tags = work.apply(batch)
        return released, watch.look(batch, tags)

    with ThreadPoolExecutor(WORKERS + 1) as pool:

        def feed() -> None:
            try:
                for batch in batches:
                    if stopped.is_set():
                        return
                    line.put(pool.submit(perturb, batch))
            finally:
                line.put(None)

        feeder = pool.submit(feed)
        try:
            while (future := line.get()) is not None:
                released, found = future.result()
                watch.take(found)
                yield released
            feeder.result()
        finally:
            stopped.set()
            while not feeder.done():  # it may be waiting for room in the line
                with suppress(Empty):
                    line.get(timeout=0.01)
