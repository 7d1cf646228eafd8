"""All answers accepted together, from their rows of coefficients: any covariance, up to a few thousand bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.joint.taper import ROUNDING, accepted_share, drawn, kept, taper_cost
from errorfloor.random import Bits
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
        self._arrays(np.int64, "ends", "columns")
        self._arrays(float, "weights")

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


@dataclass(frozen=True, eq=False)
class OneBlock(Value):
    """The density N(v; 0, LLᵀ)·Π c_j(T_jv/b_j)²/Z, with L the lower triangular ``factor`` and T the ``rows``.

    Guarantee: |T_jv| ≤ b_j in every draw, and the information of a shift of v is at most GᵀG.
    """

    rows: Rows
    bounds: Array
    starts: Array
    factor: Array

    def __post_init__(self) -> None:
        self._arrays(float, "bounds", "starts", "factor")

    @property
    def cells(self) -> int:
        """The number n of cells."""
        return self.rows.cells

    @cached_property
    def deviations(self) -> Array:
        """The deviation of each answer's normal part, in units of its bound."""
        return np.asarray(np.sqrt(((self.rows.matrix @ self.factor) ** 2).sum(axis=1)) / self.bounds)

    @property
    def accepted(self) -> float:
        """A lower bound on the share of attempts that are accepted."""
        return float(np.exp(np.log(kept(self.deviations, self.starts)).sum()))

    def information_root(self, moves: Any) -> Array:
        """Give G·moves, with GᵀG the certified bound on the information."""
        taper = np.sqrt(taper_cost(self.deviations, self.starts)) / self.bounds
        given = sparse.csc_matrix(moves)
        shown = taper[:, None] * (self.rows.matrix @ given).toarray()
        both = np.vstack([np.linalg.solve(self.factor, given.toarray()), shown])
        return np.asarray(both * (1 + ROUNDING))

    def sample(self, count: int, bits: Bits) -> Array:
        """Draw ``count`` vectors of noise on the cells."""

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            normal = lanes.normals(self.cells, batch)
            cells = np.zeros((batch, self.cells))
            for column in range(self.cells):  # a matrix product whose order no library decides
                cells[:, column:] += normal[column][:, None] * self.factor[column:, column]
            share = accepted_share(self.rows.times(cells) / self.bounds, self.starts)
            return cells, lanes.uniform(batch) < share

        return drawn(count, self.cells, max(self.cells, self.rows.count), bits, propose)
