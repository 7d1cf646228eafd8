"""The answers as rows of coefficients, multiplied with cells in a fixed order."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.values import Value


@dataclass(frozen=True, eq=False)
class Rows(Value):
    """A sparse q × n matrix: row j has the coefficients ``weights[ends[j−1]:ends[j]]`` in those ``columns``.

    >>> rows = Rows.of([[1.0, 1.0], [0.0, 2.0]])
    >>> rows.times(np.array([[1.0, 10.0]])).tolist()
    [[11.0, 20.0]]
    """

    cells: int
    ends: Array
    columns: Array
    weights: Array

    def __post_init__(self) -> None:
        for name, kind in (("ends", np.int64), ("columns", np.int64), ("weights", float)):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=kind))

    @classmethod
    def of(cls, matrix: Any) -> "Rows":
        """Read a dense or sparse matrix."""
        try:
            found = sparse.csr_matrix(matrix, dtype=float, copy=True)
        except (TypeError, ValueError):
            raise InputError("answers must be a matrix with one row per answer and one column per cell") from None
        found.sum_duplicates()
        found.eliminate_zeros()
        if not np.isfinite(found.data).all():
            raise InputError("answers must have finite coefficients")
        return cls(found.shape[1], found.indptr[1:], found.indices, found.data)

    @property
    def count(self) -> int:
        """The number q of answers."""
        return int(self.ends.size)

    @cached_property
    def matrix(self) -> sparse.csr_matrix:
        """The same for SciPy."""
        return sparse.csr_matrix((self.weights, self.columns, np.append(0, self.ends)), (self.count, self.cells))

    @cached_property
    def _layers(self) -> list[tuple[Array, Array, Array]]:
        """The first coefficient of every row, the second, …: which rows have one, in which column, and how large."""
        begins = np.append(0, self.ends[:-1])
        lengths = self.ends - begins
        found = []
        for place in range(int(lengths.max(initial=0))):
            rows = np.flatnonzero(lengths > place)
            found.append((rows, self.columns[begins[rows] + place], self.weights[begins[rows] + place]))
        return found

    def times(self, cells: Array) -> Array:
        """Give T·v for each row v of ``cells``: sums in the order of the columns, the same on every machine."""
        total = np.zeros((len(cells), self.count))
        for rows, columns, weights in self._layers:
            total[:, rows] += cells[:, columns] * weights
        return total
