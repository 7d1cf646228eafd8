"""Bounded noises in common use whose density jumps at its edge, for comparison only.

A jump makes the Fisher information infinite: the least and the greatest of K repeated answers pin the truth at rate
1/K, where a finite information I allows no better than 1/√(KI). No floor can be stated for them.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from errorfloor.checks import Array, positive, real
from errorfloor.noise.base import ScalarNoise, where_inside
from errorfloor.noise.quadrature import integrate
from errorfloor.random import Bits
from errorfloor.support import Interval


@dataclass(frozen=True, eq=False)
class JumpingNoise(ScalarNoise, ABC):
    """Noise on an interval, proportional to a function that does not vanish at its ends."""

    low: float = field(kw_only=True)
    high: float = field(kw_only=True)

    def __post_init__(self) -> None:
        interval = Interval(self.low, self.high)
        object.__setattr__(self, "low", interval.low)
        object.__setattr__(self, "high", interval.high)

    @property
    def support(self) -> Interval:
        """The interval [low, high]."""
        return Interval(self.low, self.high)

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

    def _log_density(self, w: Array) -> Array:
        return where_inside(self, w, self._log_shape(w) - self._log_mass, -math.inf)

    def _slope(self, w: Array) -> Array:
        return where_inside(self, w, self._shape_slope(w), math.nan)

    def _sample(self, count: int, bits: Bits) -> Array:
        return np.clip(self._icdf(bits.uniform(count)), self.low, self.high)

    @property
    @abstractmethod
    def _log_mass(self) -> float: ...

    @abstractmethod
    def _log_shape(self, w: Array) -> Array: ...

    @abstractmethod
    def _shape_slope(self, w: Array) -> Array: ...


@dataclass(frozen=True, eq=False)
class Uniform(JumpingNoise):
    """Equal density everywhere on [low, high].

    >>> Uniform(low=0, high=1).information
    array([[inf]])
    """

    @property
    def knots(self) -> tuple[float, ...]:
        """The ends."""
        return (self.low, self.high)

    @property
    def mean(self) -> Array:
        """The mid-point."""
        return np.array([self.support.center])

    @property
    def covariance(self) -> Array:
        """Δ²/12."""
        return np.array([[self.support.width**2 / 12]])

    @property
    def entropy(self) -> float:
        """Ln Δ."""
        return math.log(self.support.width)

    @property
    def _log_mass(self) -> float:
        return math.log(self.support.width)

    def _log_shape(self, w: Array) -> Array:
        return np.zeros_like(w)

    def _shape_slope(self, w: Array) -> Array:
        return np.zeros_like(w)

    def _cdf(self, w: Array) -> Array:
        return np.clip((w - self.low) / self.support.width, 0, 1)

    def _icdf(self, q: Array) -> Array:
        return self.low + q * self.support.width


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
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "center", real("center", self.center))

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

    @property
    def _log_mass(self) -> float:
        return math.log(float(self._share(np.array(self.high))) * self.scale)

    def _log_shape(self, w: Array) -> Array:
        return -np.abs(w - self._peak) / self.scale

    def _shape_slope(self, w: Array) -> Array:
        return -np.sign(w - self.center) / self.scale

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
        object.__setattr__(self, "deviation", positive("deviation", self.deviation))
        object.__setattr__(self, "center", real("center", self.center))

    @property
    def knots(self) -> tuple[float, ...]:
        """The ends, and the peak if it lies between them."""
        peak = (self.center,) if self.low < self.center < self.high else ()
        return (self.low, *peak, self.high)

    @property
    def _ends(self) -> tuple[float, float]:
        """The ends in standard units, mirrored so that tails are taken on the side where they keep their digits."""
        a, b = ((end - self.center) / self.deviation for end in (self.low, self.high))
        return (-b, -a) if a > 0 else (a, b)

    def _log_share(self, z: Array) -> Array:
        """Logarithm of the standard normal probability of [first end, z], which does not underflow far out."""
        from scipy.special import log_ndtr

        with np.errstate(divide="ignore"):
            return np.asarray(log_ndtr(z) + np.log(-np.expm1(log_ndtr(self._ends[0]) - log_ndtr(z))))

    @property
    def _mirrored(self) -> bool:
        return self.low > self.center

    @property
    def _log_mass(self) -> float:
        return float(self._log_share(np.array(self._ends[1]))) + math.log(self.deviation * math.sqrt(2 * math.pi))

    def _log_shape(self, w: Array) -> Array:
        return -(((w - self.center) / self.deviation) ** 2) / 2

    def _shape_slope(self, w: Array) -> Array:
        return -(w - self.center) / self.deviation**2

    def _cdf(self, w: Array) -> Array:
        z = (np.clip(w, self.low, self.high) - self.center) / self.deviation
        part = np.exp(self._log_share(-z if self._mirrored else z) - self._log_share(np.array(self._ends[1])))
        return np.asarray(1 - part if self._mirrored else part)

    def _icdf(self, q: Array) -> Array:
        from scipy.special import log_ndtr, ndtri_exp

        a, b = self._ends
        with np.errstate(divide="ignore"):
            log_share = np.log(1 - q if self._mirrored else q) + self._log_share(np.array(b))
        z = np.clip(ndtri_exp(np.minimum(np.logaddexp(log_ndtr(a), log_share), 0.0)), a, b)
        w = self.center + self.deviation * (-z if self._mirrored else z)
        return np.asarray(np.clip(w, self.low, self.high))
