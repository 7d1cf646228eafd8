"""Group keys and account cells, as an engine gives them and as labels hold them."""

import decimal
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.identity import Part, encode
from errorfloor.sql.compile import denominator
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Column, Question, Scalar
from errorfloor.sql.polynomial import Polynomial

DIGITS = 60  # integers of an engine have at most 38: two different keys stay different


def keys_of(result: Any, question: Question, layout: Layout) -> list[tuple[Part, ...]]:
    """Give the group of each row of a result, an Arrow table with columns k0, k1 and so on.

    Whole numbers are ``int``; other numbers are ``Decimal``, exact where they have a decimal form.
    """
    return _tuples(result, [(f"k{j}", key.value) for j, key in enumerate(question.keys)], layout)


def canonical_groups(result: Any, question: Question, layout: Layout) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different groups of a result in canonical order, and for each row the number of its group."""
    return _canonical(result, [(f"k{j}", key.value) for j, key in enumerate(question.keys)], layout)


def canonical_cells(result: Any, columns: Sequence[Column], layout: Layout) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different cells of accounts of a result, from columns a0, a1 and so on, and the number of each row's."""
    scalars = [Polynomial.atom(column) if column.type == "number" else column for column in columns]
    return _canonical(result, [(f"a{j}", scalar) for j, scalar in enumerate(scalars)], layout)


def _canonical(
    result: Any, wanted: Sequence[tuple[str, Scalar]], layout: Layout
) -> tuple[list[tuple[Part, ...]], Array]:
    """Sort the different tuples of some columns by their encoding; nothing runs row by row."""
    codes = np.zeros(result.num_rows, dtype=np.int64)
    for name, _ in wanted:
        column = result.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        index = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = np.unique(codes * max(len(column.dictionary), 1) + index, return_inverse=True)[1]
    _, first, number = np.unique(codes, return_index=True, return_inverse=True)
    values = _tuples(result.take(first), wanted, layout)
    encoded = [encode(value) for value in values]
    order = sorted(range(len(values)), key=encoded.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return [values[i] for i in order], place[number]


def _tuples(result: Any, wanted: Sequence[tuple[str, Scalar]], layout: Layout) -> list[tuple[Part, ...]]:
    if not wanted:
        return [()] * result.num_rows
    return list(zip(*(_values(result.column(name), scalar, layout) for name, scalar in wanted), strict=True))


def _values(column: Any, scalar: Scalar, layout: Layout) -> list[Part]:
    values: list[Part] = column.to_pylist()
    if not isinstance(scalar, Polynomial):
        return values
    unit = denominator(scalar, layout)
    return [None if value is None else _number(int(str(value)), unit) for value in values]


def _number(integer: int, unit: int) -> int | Decimal:
    """Give integer/unit; the type follows from the unit alone.

    >>> _number(6, 1), _number(6, 4), _number(8, 4)
    (6, Decimal('1.5'), Decimal('2'))
    """
    if unit == 1:
        return integer
    value = Fraction(integer, unit)
    context = decimal.Context(prec=DIGITS)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))
