"""Kinds: rows of numbers that are alike in all columns, so that what follows from them is worked out once."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from errorfloor.checks import Array


def kinds_of(columns: Sequence[Array]) -> tuple[Array, Array] | None:
    """Number the different rows of some columns, and give the place of the first of each; None if most differ.

    >>> kind, first = kinds_of([np.array([7, 7, 9, 7]), np.array([1, 1, 1, 1])])
    >>> kind.tolist(), first.tolist(), kinds_of([np.arange(9)])
    ([0, 0, 1, 0], [0, 2], None)
    """
    kind, many = np.zeros(len(columns[0]), dtype=np.int64), 1
    seen: list[Array] = []
    for column in columns:
        if any(column is other or np.array_equal(column, other) for other in seen):
            continue
        if column.dtype == object:
            return None
        seen.append(column)
        own, values = _numbered(column)
        kind, many = _numbered(kind * values + own)
        if 2 * many > len(kind):
            return None
    first = np.empty(many, dtype=np.int64)
    first[kind[::-1]] = np.arange(len(kind))[::-1]  # the last of those that are put in one place stays
    return kind, first


def _numbered(column: Array) -> tuple[Array, int]:
    """Number the different values of a column, in the order in which they come; and say how many there are."""
    encoded = pa.array(column).dictionary_encode()
    return encoded.indices.to_numpy().astype(np.int64), len(encoded.dictionary)
