"""Bounded noises in common use whose density jumps at its edge, for comparison only.

A jump makes the Fisher information infinite: the least and the greatest of K repeated answers pin the truth at rate
1/K, where a finite information I allows no better than 1/√(KI). No floor can be stated for them.
"""

import math
from abc import ABC
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive, real
from errorfloor.noise.base import NoiseOnInterval, where_inside
from errorfloor.noise.quadrature import integrate
from errorfloor.random import Bits


@dataclass(frozen=True, eq=False)
class JumpingNoise(NoiseOnInterval, ABC):
    """Noise on an interval, proportional to a function that does not vanish at its ends."""

    low: float = field(kw_only=True)
    high: float = field(kw_only=True)

    @property
    def information(self) -> Array:
        """Infinite."""
        return np.array([[math.inf]])

    @property
    def why_infinite(self) -> str:
        """The jump."""
        return (
            f"the density jumps from 0 to {self.pdf(self.low):.4g} at {self.low:g}: its root is not in H¹, and the "
            f"extremes of K repeated answers pin the truth at rate 1/K"
        )

    @property
    def mean(self) -> Array:
        """By quadrature."""
        return np.array([integrate(lambda w: w * self.pdf(w), self.knots)])

    @property
    def covariance(self) -> Array:
        """By quadrature."""
        mean = float(self.mean[0])
        return np.array([[integrate(lambda w: (w - mean) ** 2 * self.pdf(w), self.knots)]])

    @property
    def entropy(self) -> float:
        """By quadrature."""
        return -integrate(lambda w: self.pdf(w) * self.logpdf(w), self.knots)

    def _sample(self, count: int, bits: Bits) -> Array:
        return np.clip(self._icdf(bits.uniform(count)), self.low, self.high)


@dataclass(frozen=True, eq=False)
class Uniform(JumpingNoise):
    """Equal density everywhere on [low, high].

    >>> Uniform(low=0, high=1).information
    array([[inf]])
    """

    @property
    def mean(self) -> Array:
        """The mid-point."""
        return np.array([self.support.center])

    @property
    def covariance(self) -> Array:
        """Δ²/12."""
        return np.array([[self.width**2 / 12]])

    @property
    def entropy(self) -> float:
        """Ln Δ."""
        return math.log(self.width)

    def _log_density(self, w: Array) -> Array:
        return where_inside(self, w, np.full_like(w, -math.log(self.width)), -math.inf)

    def _slope(self, w: Array) -> Array:
        return where_inside(self, w, np.zeros_like(w), math.nan)

    def _cdf(self, w: Array) -> Array:
        return np.clip((w - self.low) / self.width, 0, 1)

    def _icdf(self, q: Array) -> Array:
        return self.low + q * self.width


@dataclass(frozen=True, eq=False)
class TruncatedLaplace(JumpingNoise):
    """Laplace noise of ``scale`` around ``center``, conditioned to stay in [low, high].

    >>> TruncatedLaplace(1.0, low=-1, high=1).why_infinite
    'the density jumps from 0 to 0.291 at -1: ...'
    """

    scale: float
    center: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(scale=positive("scale", self.scale), center=real("center", self.center))

    @property
    def knots(self) -> tuple[float, ...]:
        """The ends, and the kink if it lies between them."""
        kink = (self.center,) if self.low < self.center < self.high else ()
        return (self.low, *kink, self.high)

    @property
    def _peak(self) -> float:
        """Where the density is greatest; the law is that of a Laplace noise centred here, cut off at the ends."""
        return min(max(self.center, self.low), self.high)

    def _share(self, w: Array) -> Array:
        """∫ exp(−|t − peak|/scale) dt/scale from low to w, as differences of tails so that no digits are lost."""
        z, a = (w - self._peak) / self.scale, (self.low - self._peak) / self.scale
        left = np.exp(np.minimum(z, 0)) - math.exp(a)
        return np.asarray(left - np.expm1(-np.maximum(z, 0)))

    def _log_density(self, w: Array) -> Array:
        mass = float(self._share(np.array(self.high))) * self.scale
        return where_inside(self, w, -np.abs(w - self._peak) / self.scale - math.log(mass), -math.inf)

    def _slope(self, w: Array) -> Array:
        return where_inside(self, w, -np.sign(w - self.center) / self.scale, math.nan)

    def _cdf(self, w: Array) -> Array:
        return self._share(np.clip(w, self.low, self.high)) / self._share(np.array(self.high))

    def _icdf(self, q: Array) -> Array:
        share = q * self._share(np.array(self.high))
        start = math.exp((self.low - self._peak) / self.scale)
        to_peak = 1 - start
        with np.errstate(divide="ignore", invalid="ignore"):
            z = np.where(share < to_peak, np.log(start + share), -np.log1p(to_peak - share))
        return np.clip(self._peak + self.scale * z, self.low, self.high)


@dataclass(frozen=True, eq=False)
class TruncatedGaussian(JumpingNoise):
    """Normal noise of standard deviation ``deviation`` around ``center``, conditioned to stay in [low, high].

    >>> round(float(TruncatedGaussian(1.0, low=-1, high=1).cdf(0.0)), 12)
    0.5
    """

    deviation: float
    center: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(deviation=positive("deviation", self.deviation), center=real("center", self.center))

    @property
    def knots(self) -> tuple[float, ...]:
        """The ends, and the peak if it lies between them."""
        peak = (self.center,) if self.low < self.center < self.high else ()
        return (self.low, *peak, self.high)

    @cached_property
    def _law(self) -> Any:
        from scipy.stats import truncnorm

        ends = ((end - self.center) / self.deviation for end in (self.low, self.high))
        return truncnorm(*ends, loc=self.center, scale=self.deviation)

    def _log_density(self, w: Array) -> Array:
        return where_inside(self, w, self._law.logpdf(np.clip(w, self.low, self.high)), -math.inf)

    def _slope(self, w: Array) -> Array:
        return where_inside(self, w, -(w - self.center) / self.deviation**2, math.nan)

    def _cdf(self, w: Array) -> Array:
        return np.asarray(self._law.cdf(np.clip(w, self.low, self.high)))

    def _icdf(self, q: Array) -> Array:
        return np.asarray(np.clip(self._law.ppf(q), self.low, self.high))
