"""One positive definite tridiagonal matrix for each column, all factorised side by side.

The matrices live on nodes × columns arrays: ``diagonal`` (n, M), and ``links`` (n − 1, M), minus what stands beside the
diagonal, never negative. With pivots d_i = D_i − o²_{i−1}/d_{i−1} and r_i = o_i/d_i, entries of the inverse G are

    G_ik = r_i ⋯ r_{k−1} G_kk for i ≤ k,   G_ii = 1/d_i + r_i² G_{i+1,i+1}:

sums and products of numbers that are not negative, so that nothing cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array

NOTHING = 1e-60  # products of ratios below this are zero: numbers near the least double would slow every sum down
BLOCK = 32  # nodes whose products of ratios are formed before matrices are multiplied


@dataclass(frozen=True)
class Columns:
    """The factorised matrices; where ``diagonal`` is infinite the node is left out of its column.

    >>> one = Columns.factorise(np.array([[2.0], [2.0]]), np.array([[1.0]]))
    >>> one.solve(np.array([[1.0], [1.0]])).ravel().tolist(), one.inverse_diagonal.ravel().round(3).tolist()
    ([1.0, 1.0], [0.667, 0.667])
    """

    pivots: Array
    ratios: Array  # (n, M), the last row zero

    @classmethod
    def factorise(cls, diagonal: Array, links: Array) -> "Columns":
        """Find pivots and ratios from the first node to the last."""
        pivots = diagonal.copy()
        ratios = np.zeros_like(diagonal)
        for i in range(len(links)):
            np.divide(links[i], pivots[i], out=ratios[i])
            pivots[i + 1] -= links[i] * ratios[i]
        return cls(pivots, ratios)

    def solve(self, right: Array) -> Array:
        """Solve all columns for one right side each."""
        out = right.copy()
        for i in range(1, len(out)):
            out[i] += self.ratios[i - 1] * out[i - 1]
        out /= self.pivots
        for i in range(len(out) - 2, -1, -1):
            out[i] += self.ratios[i] * out[i + 1]
        return out

    @cached_property
    def inverse_diagonal(self) -> Array:
        """G_ii."""
        out = 1 / self.pivots
        squares = self.ratios**2
        for i in range(len(out) - 2, -1, -1):
            out[i] += squares[i] * out[i + 1]
        return out

    def joined(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        """Σ_j left^k_ij (r_i ⋯ r_{m−1})_j right^l_mj for nodes i ≤ m: an array (K, n, L, n), zero for i > m.

        Every entry of a sum of inverses has this form; products of ratios are carried from block to block and the sums
        are matrix products.
        """
        n, width = self.ratios.shape
        found = np.zeros((len(left), n, len(right), n))
        carried = np.empty((n, width))  # r_i ⋯ r_{b−1} up to the block's first node b
        for b in range(0, n, BLOCK):
            e = min(n, b + BLOCK)
            ahead = np.ones((e - b, width))
            for k in range(1, e - b):
                np.multiply(ahead[k - 1], self.ratios[b + k - 1], out=ahead[k])
            if b:
                before = np.concatenate([carried[:b] * part[:b] for part in left])
                after = np.concatenate([ahead * part[b:e] for part in right])
                found[:, :b, :, b:e] = (before @ after.T).reshape(len(left), b, len(right), e - b)
            inside = np.zeros((e - b, width))
            for k in range(e - b):
                if k:
                    inside[:k] *= self.ratios[b + k - 1]
                    inside[:k][inside[:k] < NOTHING] = 0.0
                inside[k] = 1.0
                lefts = np.concatenate([inside[: k + 1] * part[b : b + k + 1] for part in left])
                rights = np.stack([part[b + k] for part in right])
                found[:, b : b + k + 1, :, b + k] = (lefts @ rights.T).reshape(len(left), k + 1, len(right))
            carried[:b] *= ahead[-1] * self.ratios[e - 1]
            carried[b:e] = inside * self.ratios[e - 1]
            carried[:e][carried[:e] < NOTHING] = 0.0
        return found
