"""One coordinate of a spectral density: conforming polynomials, piece by piece, that vanish at both ends.

The basis holds a hat at every inner break and, on every piece, integrated Legendre polynomials
N_k = (P_k − P_{k−2})/√(2(2k−1)), k = 2 … degree. Every combination of them is continuous and vanishes at the ends, so
its square is a density with finite information, whatever the coefficients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from errorfloor.checks import Array


@dataclass(frozen=True, eq=False)
class Axis:
    """Piecewise polynomials of a ``degree`` between ``breaks``, continuous, zero at the first and the last break.

    >>> axis = Axis(np.array([0.0, 1.0, 3.0]), 4)
    >>> axis.size, bool(np.abs(axis.values(np.array([0.0, 3.0]))).max() < 1e-15)
    (7, True)
    """

    breaks: Array
    degree: int

    @property
    def pieces(self) -> int:
        """The number of pieces."""
        return len(self.breaks) - 1

    @property
    def size(self) -> int:
        """The number of basis functions."""
        return self.pieces * self.degree - 1

    @cached_property
    def embedding(self) -> Array:
        """The basis in orthonormal Legendre polynomials on each piece: shape (pieces, degree + 1, size)."""
        n, width = self.degree, np.diff(self.breaks)
        table = np.zeros((self.pieces, n + 1, self.size))
        k = np.arange(2, n + 1)
        unit = np.sqrt(width[:, None] / (2 * np.arange(n + 1) + 1))  # of P_k on each piece
        # hats have the size of their neighbourhood, so that a change of units scales all functions alike
        peak = np.sqrt((width[:-1] + width[1:]) / 4)
        for e in range(self.pieces):
            column = self.pieces - 1 + e * (n - 1) + k - 2
            scale = np.sqrt(width[e] / 2) / np.sqrt(2 * (2 * k - 1))
            table[e, k, column] = scale * unit[e, k]
            table[e, k - 2, column] = -scale * unit[e, k - 2]
            if e > 0:  # the falling half of the hat at this piece's left end
                table[e, 0, e - 1], table[e, 1, e - 1] = peak[e - 1] * unit[e, 0] / 2, -peak[e - 1] * unit[e, 1] / 2
            if e < self.pieces - 1:
                table[e, 0, e], table[e, 1, e] = peak[e] * unit[e, 0] / 2, peak[e] * unit[e, 1] / 2
        return table

    @cached_property
    def differentiation(self) -> Array:
        """The matrix of d/dt in the orthonormal Legendre polynomials √((2k+1)/2) P_k on [−1, 1]."""
        j, k = np.meshgrid(np.arange(self.degree + 1), np.arange(self.degree + 1), indexing="ij")
        return np.where((k > j) & ((k - j) % 2 == 1), np.sqrt((2.0 * j + 1) * (2 * k + 1)), 0.0)

    @cached_property
    def slopes(self) -> Array:
        """The derivatives of the basis in orthonormal Legendre polynomials on each piece."""
        return np.asarray(
            np.einsum("kl,els->eks", self.differentiation, self.embedding) * (2 / np.diff(self.breaks))[:, None, None]
        )

    @cached_property
    def mass(self) -> Array:
        """∫φ_a φ_b."""
        flat = self.embedding.reshape(-1, self.size)
        return np.asarray(flat.T @ flat)

    @cached_property
    def stiffness(self) -> Array:
        """∫φ_a′φ_b′."""
        flat = self.slopes.reshape(-1, self.size)
        return np.asarray(flat.T @ flat)

    @cached_property
    def modes(self) -> tuple[Array, Array]:
        """Values and vectors of −φ″ = λφ, orthonormal in L²."""
        from scipy.linalg import eigh

        values, vectors = eigh(self.stiffness, self.mass)
        return values, vectors

    @cached_property
    def transport(self) -> Array:
        """∫φ_a φ_b′, antisymmetric because the basis vanishes at the ends."""
        product = self.embedding.reshape(-1, self.size).T @ self.slopes.reshape(-1, self.size)
        return np.asarray((product - product.T) / 2)

    @cached_property
    def rule(self) -> tuple[Array, Array, Array]:
        """Gauss nodes and weights on all pieces, and the basis there; exact for x²φ_aφ_b."""
        return self.rule_with(self.degree + 4)

    def rule_with(self, count: int) -> tuple[Array, Array, Array]:
        """Give a Gauss rule of ``count`` nodes a piece, and the basis at its nodes."""
        nodes, weights = gauss(count)
        width = np.diff(self.breaks)[:, None]
        x = self.breaks[:-1, None] + width * (nodes + 1) / 2
        w = width / 2 * weights
        table = np.polynomial.legendre.legvander(nodes, self.degree) * np.sqrt(2 * np.arange(self.degree + 1) + 1)
        values = np.einsum("qk,eks->eqs", table, self.embedding / np.sqrt(width)[..., None])
        return x.ravel(), w.ravel(), values.reshape(-1, self.size)

    def weighted(self, function: Callable[[Array], Array]) -> Array:
        """∫ f φ_a φ_b by the Gauss rule."""
        x, w, values = self.rule
        return np.asarray(values.T @ (values * (w * function(x))[:, None]))

    def place(self, x: Array) -> tuple[Array, Array]:
        """Give the piece of each point and its coordinate in [−1, 1] there."""
        piece = np.clip(np.searchsorted(self.breaks, x, side="right") - 1, 0, self.pieces - 1)
        left, right = self.breaks[piece], self.breaks[piece + 1]
        t = ((x - left) - (right - x)) / (right - left)
        return piece, np.clip(t, -1.0, 1.0)

    def local(self, t: Array, piece: int, *, slope: bool = False) -> Array:
        """Orthonormal Legendre polynomials of a piece, or their derivatives, at t in [−1, 1]."""
        width = self.breaks[piece + 1] - self.breaks[piece]
        table = np.polynomial.legendre.legvander(t, self.degree) * np.sqrt((2 * np.arange(self.degree + 1) + 1) / width)
        return np.asarray(table @ self.differentiation * (2 / width)) if slope else table

    def values(self, x: Array) -> Array:
        """The basis at points, shape (points, size)."""
        piece, t = self.place(x)
        out = np.zeros((x.size, self.size))
        for e in np.unique(piece):
            here = piece == e
            out[here] = self.local(t[here], int(e)) @ self.embedding[e]
        return out


@lru_cache(maxsize=64)
def gauss(count: int) -> tuple[Array, Array]:
    """Nodes and weights of the Gauss–Legendre rule on [−1, 1].

    >>> gauss(1)
    (array([0.]), array([2.]))
    """
    return np.polynomial.legendre.leggauss(count)


def along(matrix: Array, tensor: Array, axis: int) -> Array:
    """Apply a matrix to one axis of a tensor."""
    return np.moveaxis(np.tensordot(matrix, tensor, (1, axis)), 0, axis)
