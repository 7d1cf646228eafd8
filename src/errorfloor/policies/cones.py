"""Many cones of positive semi-definite 2×2 matrices [[p, r], [r, p′]] at once, in coordinates of a light cone.

u = ((p + p′)/√2, (p − p′)/√2, √2 r) is semi-definite when u₀ ≥ √(u₁² + u₂²), and the trace of a product of two
matrices is the inner product of their u. Nesterov and Todd's scaling W maps the dual point to the primal one; with
w the scaling point, W² = η²(2wwᵀ − diag(1, −1, −1)).
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array

HALF = np.sqrt(0.5)


def from_entries(first: Array, second: Array, off: Array) -> Array:
    """Coordinates u of the matrices [[first, off], [off, second]]."""
    return np.stack([(first + second) * HALF, (first - second) * HALF, off / HALF])


def to_entries(u: Array) -> tuple[Array, Array, Array]:
    """The transpose of ``from_entries``: what a linear function of u is in (first, second, off)."""
    return (u[0] + u[1]) * HALF, (u[0] - u[1]) * HALF, u[2] / HALF


def determinant(u: Array) -> Array:
    """u₀² − u₁² − u₂²."""
    size = np.hypot(u[1], u[2])
    return np.asarray((u[0] - size) * (u[0] + size))


def longest_step(u: Array, du: Array) -> float:
    """The largest α ≤ 1 with u + α du in every cone."""
    a = determinant_form(du, du)
    b = determinant_form(u, du)
    c = determinant(u)
    # the least positive root of c + 2bα + aα²
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        limit = np.where((b < 0) | (a < 0), c / (root - b), np.inf)
    limit = np.where((b * b - a * c < 0) | (limit <= 0) | np.isnan(limit), np.inf, limit)
    with np.errstate(divide="ignore"):
        limit = np.minimum(limit, np.where(du[0] < 0, -u[0] / du[0], np.inf))
    return float(min(1.0, limit.min(initial=np.inf)))


def determinant_form(u: Array, v: Array) -> Array:
    """u₀v₀ − u₁v₁ − u₂v₂."""
    return np.asarray(u[0] * v[0] - u[1] * v[1] - u[2] * v[2])


def product(u: Array, v: Array) -> Array:
    """The Jordan product of the light cone."""
    return np.stack([(u * v).sum(axis=0), u[0] * v[1] + v[0] * u[1], u[0] * v[2] + v[0] * u[2]])


@dataclass(frozen=True)
class Scaling:
    """The scaling of pairs (s, z) inside the cone: ``apply`` is W, ``undo`` its inverse; W z = W⁻¹ s = ``middle``."""

    point: Array  # w, of determinant 1
    size: Array  # η

    @classmethod
    def of(cls, s: Array, z: Array) -> "Scaling":
        """Find w and η from both points."""
        root_s, root_z = np.sqrt(determinant(s)), np.sqrt(determinant(z))
        s, z = s / root_s, z / root_z
        half = np.sqrt((1 + (s * z).sum(axis=0)) / 2)
        point = np.stack([s[0] + z[0], s[1] - z[1], s[2] - z[2]]) / (2 * half)
        point[0] = np.sqrt(1 + point[1] ** 2 + point[2] ** 2)
        return cls(point, np.sqrt(root_s / root_z))

    def apply(self, u: Array) -> Array:
        """W u."""
        return self._act(u, self.point[1], self.point[2]) * self.size

    def undo(self, u: Array) -> Array:
        """W⁻¹ u."""
        return self._act(u, -self.point[1], -self.point[2]) / self.size

    def _act(self, u: Array, w1: Array, w2: Array) -> Array:
        inner = w1 * u[1] + w2 * u[2]
        along = u[0] + inner / (1 + self.point[0])
        return np.stack([self.point[0] * u[0] + inner, u[1] + along * w1, u[2] + along * w2])

    def divide(self, middle: Array, d: Array) -> Array:
        """The x with ``middle`` ∘ x = d, and W⁻¹ applied to it."""
        first = determinant_form(middle, d) / determinant(middle)
        x = np.stack([first, (d[1] - first * middle[1]) / middle[0], (d[2] - first * middle[2]) / middle[0]])
        return self.undo(x)

    def weigh(self, u: Array) -> Array:
        """W⁻² u."""
        flipped = np.stack([self.point[0], -self.point[1], -self.point[2]])
        inner = 2 * (flipped * u).sum(axis=0)
        weighed = np.stack([inner * flipped[0] - u[0], inner * flipped[1] + u[1], inner * flipped[2] + u[2]])
        return np.asarray(weighed / self.size**2)

    def entries(self) -> tuple[Array, Array, Array, Array]:
        """(a, b, c, κ): in matrix entries (p, p′, r) W⁻² is κ(2ggᵀ − …) with g = (a, b, c), and 2ab = 1 + c²/2."""
        w0, w1, w2 = self.point[0], -self.point[1], -self.point[2]
        # of w₀ ± w₁ the smaller one is found from their product, 1 + w₂², so that it keeps its digits
        large = w0 + np.abs(w1)
        small = (1 + w2**2) / large
        a, b = np.where(w1 >= 0, large, small) * HALF, np.where(w1 >= 0, small, large) * HALF
        return a, b, w2 / HALF, 1 / self.size**2
