"""What is done to each batch of rows on its way to the target: tags from their keys, noise from their tags.

Rows are read ahead, perturbed on several cores, watched and counted.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from queue import Empty, Queue
from threading import Event
from typing import Any, Protocol

import pyarrow as pa

from errorfloor.bulk.rowkey import RowKey, kind_of
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.identity import Key, Label, Part

WORKERS = 2
AHEAD = 10  # batches in flight


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
