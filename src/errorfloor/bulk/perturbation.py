"""What is done to each batch of rows: tags from their keys, noise from their tags."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from errorfloor.bulk.rowkey import RowKey, kind_of
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.identity import Key, Label, Part


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
