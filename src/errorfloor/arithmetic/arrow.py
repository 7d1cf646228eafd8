"""Arrow's columns. A sum has one word or two: neither its size nor the cost of reading it follows a private number.

Which of the two it is follows from a bound on the sum, so from declarations and public facts; ``Dialect.exact`` writes
them. A number of 128 bits comes as such, or, from an engine that has none, as the 38 digits of itself and ``RAISED``.

Arrays go from Arrow to NumPy and back over the same memory. PyArrow's own conversions load pandas where it is
installed, to ask whether what they are given is its; that takes longer than most answers.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.arithmetic.double_words import DoubleWord, fast_two_sum
from errorfloor.checks import Array
from errorfloor.engines.dialects import RAISED

DIGITS = 38
DOUBLES = 2**53  # whole numbers up to this one are doubles
ARROW_TYPES = {np.dtype(np.int64): pa.int64(), np.dtype(np.float64): pa.float64(), np.dtype(bool): pa.bool_()}


def flat(column: Any) -> Any:
    """Give a column of a table as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def whole(column: Any) -> Any:
    """Give exact numbers of an engine as one Arrow array of int64 or decimal128(38, 0); NULL stays NULL.

    >>> whole(pa.chunked_array([[str(RAISED - 3), None]])).to_pylist()
    [Decimal('-3'), None]
    """
    array = flat(column)
    if array.type in (pa.int64(), pa.decimal128(DIGITS, 0)):
        return array
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
    values = values_of(array)
    return values.view("<u8"), values >> 63


def without_nulls(array: Any) -> Any:
    """Put 0 for NULL.

    >>> without_nulls(pa.array([7, None])).to_pylist()
    [7, 0]
    """
    return array.fill_null(scalar(0).cast(array.type)) if array.null_count else array


def whole_numbers(column: Any) -> Array:
    """Give exact integers of an engine, 0 for NULL: of 64 bits, or Python's where their bound is larger.

    >>> whole_numbers(pa.chunked_array([[3, None]])).tolist()
    [3, 0]
    """
    array = without_nulls(whole(column))
    if pa.types.is_integer(array.type):
        return values_of(array)
    return np.array([int(value) for value in array.to_pylist()], dtype=object)


def read(column: Any, most: int | None = None) -> DoubleWord:
    """Give the sums of an Arrow column, 0 for NULL; ``most`` is a public bound on them, if one is known.

    >>> [read(pa.chunked_array([column])).high.tolist() for column in ([str(RAISED - 3), None], [7, None])]
    [[-3.0, 0.0], [7.0, 0.0]]
    """
    array = whole(column)
    if not len(array):
        return DoubleWord(np.zeros(0), np.zeros(0))
    array = without_nulls(array)
    if pa.types.is_integer(array.type):
        values = values_of(array)
        if most is not None and most <= DOUBLES:
            return DoubleWord.whole(values, most)
        return DoubleWord(*fast_two_sum((values >> 32) * 2.0**32, (values & 0xFFFFFFFF).astype(float)))
    lower, upper = words_of(array)
    return DoubleWord.of_words(upper, lower)


def column(values: Array, defined: Array | None = None) -> Any:
    """Give an array of int64, double or bool as Arrow's, NULL where it is not ``defined``.

    >>> column(np.array([1.5, 2.5]), np.array([True, False])).to_pylist(), column(np.array([True, False])).to_pylist()
    ([1.5, None], [True, False])
    """
    kind = ARROW_TYPES[values.dtype]
    content = _bits(values) if values.dtype == bool else pa.py_buffer(np.ascontiguousarray(values))
    validity = None if defined is None or defined.all() else _bits(defined)
    return pa.Array.from_buffers(kind, len(values), [validity, content])


def scalar(value: int | float | bool) -> Any:
    """Give one number or truth as Arrow's.

    >>> scalar(0.5).as_py(), scalar(False).as_py()
    (0.5, False)
    """
    return column(np.array([value]))[0]


def values_of(array: Any) -> Array:
    """Give an Arrow array of numbers or truths as NumPy's; a NULL may be anything.

    >>> values_of(pa.array([3, 4]).slice(1)).tolist(), values_of(pa.array([True, False]).slice(1)).tolist()
    ([4], [False])
    """
    if not len(array):
        return np.zeros(0, dtype=array.type.to_pandas_dtype())
    content = array.buffers()[1]
    if pa.types.is_boolean(array.type):
        truths = np.unpackbits(np.frombuffer(content, dtype=np.uint8), bitorder="little").astype(bool)
        return truths[array.offset :][: len(array)]
    return np.frombuffer(content, dtype=array.type.to_pandas_dtype())[array.offset :][: len(array)]


def nulls(array: Any) -> Array:
    """Tell where an Arrow array is NULL.

    >>> nulls(pa.array(["a", None])).tolist()
    [False, True]
    """
    return values_of(array.is_null())


def _bits(truths: Array) -> Any:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
