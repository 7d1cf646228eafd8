"""What the rows of a table hold, told by a digest that depends neither on their order nor on how they are stored."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from errorfloor.bulk.rowkey import RowKey, kind_of
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.checks import Array
from errorfloor.identity import Key, Label

MODULUS = 1 << 128


@dataclass(frozen=True)
class Content:
    """Adds up a keyed hash of every row, for each column that is to be released.

    The hash of a row is the tag of its key, its value and whether it has one; the sum is taken modulo 2¹²⁸. Values that
    break the rules of their column are refused here, before anything is drawn.

    Guarantee: different rows, with keys that are unique in each table, have different sums up to chance 2⁻¹²⁸, to
    whoever lacks the key. See content.proof.md.

    >>> from errorfloor.bulk.columns import ReleasedColumn
    >>> from errorfloor.support import Interval
    >>> column = ReleasedColumn.plan("kwh", Interval(0, 1), out_of_range="refuse", nulls="keep")
    >>> rows = pa.record_batch({"id": [1, 2, 3], "kwh": [9.0, None, 8.0]})
    >>> content = Content.prepare(rows.schema, [column], ["id"], Key.fresh())
    >>> parts = [content.of(rows.slice(place, 1))["kwh"] for place in (2, 0, 1)]
    >>> sum(parts) % MODULUS == content.of(rows)["kwh"]
    True
    """

    row_keys: tuple[RowKey, ...]
    columns: tuple[RuledColumn, ...]

    @classmethod
    def prepare(cls, schema: pa.Schema, columns: Sequence[RuledColumn], key: Sequence[str], secret: Key) -> "Content":
        """Derive a key for each column from what names it."""
        kinds = tuple(kind_of(schema.field(name).type, name) for name in key)
        whose = [Label("release content", (tuple(key), kinds, column.name)) for column in columns]
        return cls(tuple(RowKey(tuple(key), secret.derive(label)) for label in whose), tuple(columns))

    def of(self, batch: pa.RecordBatch) -> dict[str, int]:
        """Give the sums of some rows, by column."""
        pairs = zip(self.row_keys, self.columns, strict=True)
        return {column.name: total(row_key.tags(batch, *_words(column, batch))) for row_key, column in pairs}

    def digests(self, rows: int, sums: Sequence[int], secret: Key) -> list[str]:
        """Give for each column what stands in the register: it follows from the sum, and does not give it away."""
        pairs = zip(self.columns, sums, strict=True)
        labels = [Label("release content sum", (column.name, rows, value)) for column, value in pairs]
        return [secret.derive(label).hex() for label in labels]


def total(tags: Array) -> int:
    """Add up tags as numbers of 128 bits, modulo 2¹²⁸.

    >>> total(np.array([[2**64 - 1, 2**64 - 1], [2, 0]], dtype="<u8"))
    1
    """
    quarters = np.ascontiguousarray(tags, dtype="<u8").view("<u4").reshape(-1, 4).sum(axis=0, dtype=np.uint64)
    return sum(int(quarter) << (32 * place) for place, quarter in enumerate(quarters)) % MODULUS


def _words(column: RuledColumn, batch: pa.RecordBatch) -> tuple[Array, Array]:
    """Give a value as a double, before it is clamped, and whether there is one."""
    values, missing = column.numbers(batch.column(column.name))
    absent = np.zeros(len(values), dtype="<u8") if missing is None else missing.astype("<u8")
    bits = np.where(absent, 0.0, values + 0.0).view("<u8")  # −0.0 is released as 0.0 is
    return bits, absent
