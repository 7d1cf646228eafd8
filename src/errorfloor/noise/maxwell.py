"""The least informative noise that is never negative, at a given mean square."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.base import ScaledNoise, where_inside
from errorfloor.random import Bits
from errorfloor.support import HalfLine


@dataclass(frozen=True, eq=False)
class Maxwell(ScaledNoise):
    """Noise on [0, ∞) with density γ(w) ∝ w² exp(−w²/2σ²), σ the ``scale``.

    Guarantee: among all densities on [0, ∞) with E w² ≤ 3σ² whose root is in H¹₀, this one has the least Fisher
    information, I_w = 3/σ².

    >>> Maxwell(2.0).information
    array([[0.75]])
    """

    @property
    def support(self) -> HalfLine:
        """The half-line [0, ∞)."""
        return HalfLine(0.0)

    @property
    def information(self) -> Array:
        """3/σ²."""
        return np.array([[3 / self.scale**2]])

    @property
    def mean(self) -> Array:
        """2σ√(2/π)."""
        return np.array([2 * self.scale * math.sqrt(2 / math.pi)])

    @property
    def covariance(self) -> Array:
        """σ²(3 − 8/π)."""
        return np.array([[self.scale**2 * (3 - 8 / math.pi)]])

    @property
    def entropy(self) -> float:
        """ln(σ√(2π)) + C − ½, C being Euler's constant."""
        return math.log(self.scale * math.sqrt(2 * math.pi)) + float(np.euler_gamma) - 0.5

    @property
    def knots(self) -> tuple[float, ...]:
        """Zero and infinity."""
        return (0.0, math.inf)

    def _log_density(self, w: Array) -> Array:
        z = w / self.scale
        value = 2 * np.log(np.abs(z)) - z * z / 2 + math.log(math.sqrt(2 / math.pi) / self.scale)
        return where_inside(self, w, value, -math.inf)

    def _slope(self, w: Array) -> Array:
        return where_inside(self, w, 2 / w - w / self.scale**2, math.nan)

    def _cdf(self, w: Array) -> Array:
        from scipy.special import gammainc

        return np.asarray(gammainc(1.5, np.clip(w / self.scale, 0, None) ** 2 / 2))

    def _icdf(self, q: Array) -> Array:
        from scipy.special import gammaincinv

        return np.asarray(self.scale * np.sqrt(2 * gammaincinv(1.5, q)))

    @property
    def repeatable(self) -> bool:
        """Draws are made of sums, products, quotients and roots of doubles alone."""
        return True

    def _sample(self, count: int, bits: Bits) -> Array:
        # the length of a standard normal vector in three dimensions
        x, y, z = bits.normals(3, count)
        return np.asarray(self.scale * np.sqrt(x * x + y * y + z * z))
