"""Laplace noise, for comparison: what pure differential privacy adds."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.base import ScaledNoise
from errorfloor.random import Bits


@dataclass(frozen=True, eq=False)
class Laplace(ScaledNoise):
    """Noise with density exp(−|w|/b)/(2b), b the ``scale``; its information 1/b² is twice a Gaussian's of its variance.

    >>> float(Laplace(2.0).covariance[0, 0] * Laplace(2.0).information[0, 0])
    2.0
    """

    @property
    def information(self) -> Array:
        """1/b²: the density has a kink, not a jump, so it is finite."""
        return np.array([[1 / self.scale**2]])

    @property
    def covariance(self) -> Array:
        """2b²."""
        return np.array([[2 * self.scale**2]])

    @property
    def entropy(self) -> float:
        """1 + ln(2b)."""
        return 1 + math.log(2 * self.scale)

    def _log_density(self, w: Array) -> Array:
        return -np.abs(w) / self.scale - math.log(2 * self.scale)

    def _slope(self, w: Array) -> Array:
        return -np.sign(w) / self.scale

    def _cdf(self, w: Array) -> Array:
        tail = np.exp(-np.abs(w) / self.scale) / 2
        return np.where(w > 0, 1 - tail, tail)

    def _icdf(self, q: Array) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(self.scale * np.where(q <= 0.5, np.log(2 * q), -np.log(2 * (1 - q))))

    @property
    def repeatable(self) -> bool:
        """Draws are made of sums, products and quotients of doubles alone."""
        return True

    def _sample(self, count: int, bits: Bits) -> Array:
        return self.scale * bits.sign(count) * bits.exponential(count)
