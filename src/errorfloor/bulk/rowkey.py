"""The row key of an Arrow table: what makes a row the same row."""

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.identity.labels import row_tags, text_words


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
