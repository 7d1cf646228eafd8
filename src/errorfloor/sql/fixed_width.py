"""Exact sums in one or two words: neither the size of a result nor the cost of reading it follows a private number.

Which of the two it is follows from a bound on the sum, so from declarations and public facts; ``Dialect.exact`` writes
them. A number of 128 bits comes as such, or, from an engine that has none, as the 38 digits of itself and ``RAISED``.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.checks import Array
from errorfloor.engines.dialects.postgresql import RAISED
from errorfloor.sql.double_words import DoubleWord, two_sum

DIGITS = 38


def flat(column: Any) -> Any:
    """Give a column of a table as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def whole(column: Any) -> Any:
    """Give exact numbers of an engine as one Arrow array of int64 or decimal128(38, 0); NULL stays NULL.

    >>> whole(pa.chunked_array([[str(RAISED - 3), None]])).to_pylist()
    [Decimal('-3'), None]
    """
    array = flat(column)
    if pa.types.is_integer(array.type):
        return array.cast(pa.int64())
    if pa.types.is_decimal(array.type):
        return array.cast(pa.decimal128(DIGITS, 0))
    lower, upper = words_of(array.cast(pa.decimal128(DIGITS, 0)))
    borrowed = lower < np.uint64(RAISED % 2**64)
    found = np.stack([lower - np.uint64(RAISED % 2**64), (upper - RAISED // 2**64 - borrowed).view("<u8")], axis=1)
    return pa.Array.from_buffers(
        pa.decimal128(DIGITS, 0), len(array), [array.is_valid().buffers()[1], pa.py_buffer(found)]
    )


def words_of(array: Any) -> tuple[Array, Array]:
    """Give whole numbers in two words of 64 bits, the lower and the upper one; a NULL may be anything.

    >>> words_of(pa.array([-1, 3]))[1].tolist()
    [-1, 0]
    """
    if pa.types.is_decimal(array.type):
        pairs = np.frombuffer(array.buffers()[1], dtype="<u8")[2 * array.offset :][: 2 * len(array)].reshape(-1, 2)
        return pairs[:, 0], pairs[:, 1].view("<i8")
    values = integers(array)
    return values.view("<u8"), values >> 63


def integers(array: Any) -> Array:
    """Give an Arrow array of int64 as it is in memory; a NULL may be anything."""
    return np.frombuffer(array.buffers()[1], dtype="<i8")[array.offset :][: len(array)]


def read(column: Any) -> DoubleWord:
    """Give the sums of an Arrow column, 0 for NULL.

    >>> [read(pa.chunked_array([column])).high.tolist() for column in ([str(RAISED - 3), None], [7, None])]
    [[-3.0, 0.0], [7.0, 0.0]]
    """
    array = whole(column)
    if not len(array):
        return DoubleWord(np.zeros(0), np.zeros(0))
    array = array.fill_null(0)
    if pa.types.is_integer(array.type):
        values = integers(array)
        return DoubleWord(*two_sum((values >> 32) * 2.0**32, (values & 0xFFFFFFFF).astype(float)))
    lower, upper = words_of(array)
    return DoubleWord.of_words(upper, lower)
