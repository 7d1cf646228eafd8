"""Draws from a policy: a fixed number of words each, integer comparisons where it matters, the same everywhere."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies import sphere
from errorfloor.policies.answers import Cells
from errorfloor.random import Bits

UNIT = 2.0**-53


@dataclass(frozen=True)
class DrawTables:
    """Cumulated probabilities of every node's law and of every step's middle law √(p₀p₁)/ρ, one below the other."""

    cells: Cells
    angles: Array
    cumulated: Array  # (2n − 1, M)
    overlaps: Array  # ρ of every step

    @classmethod
    def build(cls, cells: Cells, laws: Array, roots: Array, angles: Array) -> "DrawTables":
        """Sum up from the first cell to the last, in this order."""
        middle = roots[:-1] * roots[1:]
        cumulated = np.cumsum(np.concatenate([laws, middle]), axis=1)
        total = cumulated[:, -1:]
        overlaps = total[len(laws) :, 0].copy()
        # from the last cell that has any probability on, the sum is exactly one: no cell without probability is drawn
        cumulated = np.where(cumulated >= total, 1.0, cumulated / np.where(total > 0, total, 1.0))
        return cls(cells, angles, np.ascontiguousarray(cumulated), overlaps)

    def draw(self, step: Array, t: Array, bits: Bits) -> Array:
        """One answer for each pair of a step and a share of the way along it."""
        count = len(step)
        choice, place = _uniform(bits, count), _uniform(bits, count)
        a, b = sphere.weights(self.angles[step], t)
        first, second = a * a, b * b
        both = choice >= first + second
        both &= self.overlaps[step] > 0
        nodes = (len(self.cumulated) + 1) // 2
        row = np.where(both, nodes + step, np.where(choice < first, step, step + 1))
        cell = self._search(row, place)
        if self.cells.are_points:
            return np.asarray(self.cells.low[cell])
        low, high = self.cells.low[cell], self.cells.high[cell]
        return np.asarray(np.clip(low + (high - low) * (_uniform(bits, count) + UNIT / 2), low, high))

    def _search(self, row: Array, place: Array) -> Array:
        """The first cell whose cumulated probability exceeds ``place``, by halving."""
        width = self.cumulated.shape[1]
        low, high = np.zeros(len(row), dtype=np.intp), np.full(len(row), width - 1, dtype=np.intp)
        for _ in range(max(1, width - 1).bit_length()):
            middle = (low + high) // 2
            beyond = self.cumulated[row, middle] > place
            high = np.where(beyond, middle, high)
            low = np.where(beyond, low, np.minimum(middle + 1, high))
        return low


def _uniform(bits: Bits, count: int) -> Array:
    """Multiples of 2⁻⁵³ in [0, 1)."""
    return (bits.words(count) >> np.uint64(11)).astype(np.float64) * UNIT
