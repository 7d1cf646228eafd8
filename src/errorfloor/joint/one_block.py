"""All answers accepted together: any covariance, up to a few thousand bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.joint.rows import Rows
from errorfloor.joint.taper import ROUNDING, accepted_share, kept, taper_cost
from errorfloor.noise.base import rejection
from errorfloor.random import Bits
from errorfloor.values import Value

AT_ONCE = 2**21  # numbers that a batch of draws may hold


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
        for name in ("bounds", "starts", "factor"):
            object.__setattr__(self, name, np.asarray(getattr(self, name), dtype=float))

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
        shown = np.asarray(
            (self.rows.matrix @ moves).todense() if hasattr(moves, "todense") else self.rows.matrix @ moves
        )
        dense = np.asarray(moves.todense()) if hasattr(moves, "todense") else np.asarray(moves)
        both = np.vstack([np.linalg.solve(self.factor, dense), taper[:, None] * shown])
        return np.asarray(both * (1 + ROUNDING))

    def sample(self, count: int, bits: Bits) -> Array:
        """Draw ``count`` vectors of noise on the cells."""

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            drawn = lanes.normals(self.cells, batch)
            cells = np.zeros((batch, self.cells))
            for column in range(self.cells):  # a matrix product whose order no library decides
                cells[:, column:] += drawn[column][:, None] * self.factor[column:, column]
            share = accepted_share(self.rows.times(cells) / self.bounds, self.starts)
            return cells, lanes.uniform(batch) < share

        batch = max(1, AT_ONCE // max(self.cells, self.rows.count))
        parts = [np.arange(at, min(at + batch, count)) for at in range(0, count, batch)]
        return np.concatenate(
            [np.zeros((0, self.cells)), *(rejection(part.size, bits.lanes(part), propose) for part in parts)]
        )
