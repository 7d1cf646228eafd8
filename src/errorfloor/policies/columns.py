"""One positive definite tridiagonal matrix for each column, all factorised side by side.

The matrices live on nodes × columns arrays: Σ_i ``excess``_i p_i² + Σ_i o_i (√t_i p_i − p_{i+1}/√t_i)², with ``excess``
(…, n, M), ``links`` o and ``slopes`` t (…, n − 1, M), none negative. Pivots are d_i = o_i t_i + x_i with

    x_0 = excess_0,   x_i = excess_i + (o_{i−1}/t_{i−1}) x_{i−1}/d_{i−1};

and with r_i = o_i/d_i entries of the inverse G are

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
    """The factorised matrices.

    >>> one = Columns.factorise(np.array([[1.0], [1.0]]), np.array([[1.0]]), np.array([[1.0]]))  # 2, −1, 2
    >>> one.solve(np.array([[1.0], [1.0]])).ravel().tolist(), one.inverse_diagonal.ravel().round(3).tolist()
    ([1.0, 1.0], [0.667, 0.667])
    """

    pivots: Array
    ratios: Array  # (…, n, M), the last row zero

    @classmethod
    def factorise(cls, excess: Array, links: Array, slopes: Array) -> "Columns":
        """Find pivots and ratios from the first node to the last."""
        pivots, ratios = excess.copy(), np.zeros_like(excess)
        ahead, back = links * slopes, links / slopes
        for i in range(links.shape[-2]):
            own = pivots[..., i, :].copy()
            pivots[..., i, :] += ahead[..., i, :]
            np.divide(links[..., i, :], pivots[..., i, :], out=ratios[..., i, :])
            pivots[..., i + 1, :] += back[..., i, :] * (own / pivots[..., i, :])
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
        for i in range(out.shape[-2] - 2, -1, -1):
            out[..., i, :] += squares[..., i, :] * out[..., i + 1, :]
        return out

    @cached_property
    def from_first(self) -> Array:
        """r_0 ⋯ r_{i−1}: what node i passes on to the first."""
        out = np.ones_like(self.ratios)
        for i in range(1, out.shape[-2]):
            np.multiply(out[..., i - 1, :], self.ratios[..., i - 1, :], out=out[..., i, :])
        return out

    @cached_property
    def to_last(self) -> Array:
        """r_i ⋯ r_{n−2}: what the last node passes on to node i."""
        out = np.ones_like(self.ratios)
        for i in range(out.shape[-2] - 2, -1, -1):
            np.multiply(out[..., i + 1, :], self.ratios[..., i, :], out=out[..., i, :])
        return out

    def joined(self, left: Sequence[Array], right: Sequence[Array]) -> Array:
        """Σ_j left^k_ij (r_i ⋯ r_{m−1})_j right^l_mj for nodes i ≤ m: an array (…, K, n, L, n), zero for i > m.

        Every entry of a sum of inverses has this form; products of ratios are carried from block to block and the sums
        are matrix products.
        """
        n, width = self.ratios.shape[-2:]
        first, second = np.stack(left, axis=-3), np.stack(right, axis=-3)  # (…, K, n, M)
        outer = self.ratios.shape[:-2]
        found = np.zeros((*outer, len(left), n, len(right), n))
        carried = np.empty((*outer, n, width))  # r_i ⋯ r_{b−1} up to the block's first node b
        for b in range(0, n, BLOCK):
            e = min(n, b + BLOCK)
            if b:
                ahead = np.ones((*outer, e - b, width))
                for k in range(1, e - b):
                    np.multiply(ahead[..., k - 1, :], self.ratios[..., b + k - 1, :], out=ahead[..., k, :])
                before = (carried[..., None, :b, :] * first[..., :b, :]).reshape(*outer, -1, width)
                after = (ahead[..., None, :, :] * second[..., b:e, :]).reshape(*outer, -1, width)
                product = before @ np.swapaxes(after, -1, -2)
                found[..., :, :b, :, b:e] = product.reshape(*outer, len(left), b, len(right), e - b)
                carried[..., :b, :] *= (ahead[..., -1, :] * self.ratios[..., e - 1, :])[..., None, :]
            inside = np.zeros((*outer, e - b, width))
            for k in range(e - b):
                if k:
                    inside[..., :k, :] *= self.ratios[..., None, b + k - 1, :]
                inside[..., k, :] = 1.0
                lefts = (inside[..., None, : k + 1, :] * first[..., b : b + k + 1, :]).reshape(*outer, -1, width)
                product = lefts @ np.swapaxes(second[..., b + k, :], -1, -2)
                found[..., :, b : b + k + 1, :, b + k] = product.reshape(*outer, len(left), k + 1, len(right))
            carried[..., b:e, :] = inside * self.ratios[..., None, e - 1, :]
            carried[..., :e, :][carried[..., :e, :] < NOTHING] = 0.0
        return found
