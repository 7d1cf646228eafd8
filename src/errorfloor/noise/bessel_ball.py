"""The least informative noise in a ball."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array, positive, whole
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise.base import Noise, rejection
from errorfloor.noise.quadrature import integrate
from errorfloor.random import Bits
from errorfloor.support import Ball

MOST = 200  # beyond this dimension the Bessel functions underflow


@dataclass(frozen=True, eq=False)
class BesselBall(Noise):
    """Noise in the ball of ``radius`` R around 0, root density u ∝ r^{1−m/2} J_{m/2−1}(j r/R), j its first zero.

    It has two dimensions or more: on the line it would be ``RaisedCosine(-R, R)``.

    Guarantee: among all densities in the ball whose root is in H¹₀, this one has the least Tr I_w; its information
    is (4j²/(mR²)) Id.

    >>> disc = BesselBall(2, 1.0)
    >>> round(float(np.trace(disc.information)), 6)  # 4 j², j = 2.404826
    23.132744
    """

    dimension: int
    radius: float

    def __post_init__(self) -> None:
        self._set(dimension=whole("dimension", self.dimension, least=2), radius=positive("radius", self.radius))
        if self.dimension > MOST:
            raise InputError(f"dimension must be at most {MOST}, got {self.dimension}")

    @property
    def support(self) -> Ball:
        """The ball."""
        return Ball(self.dimension, self.radius)

    @cached_property
    def zero(self) -> float:
        """j, the first positive zero of the Bessel function of order m/2 − 1."""
        from scipy.optimize import brentq
        from scipy.special import jv

        order = self.dimension / 2 - 1
        below = math.sqrt((order + 1) * (order + 5))
        above = math.sqrt(order + 1) * (math.sqrt(order + 2) + 1)
        return float(brentq(lambda z: jv(order, z), below, above, xtol=1e-15, rtol=8.9e-16))

    @property
    def information(self) -> Array:
        """(4j²/(mR²)) Id."""
        return 4 * self.zero**2 / (self.dimension * self.radius**2) * np.eye(self.dimension)

    @property
    def mean(self) -> Array:
        """Zero."""
        return np.zeros(self.dimension)

    @property
    def _mean_square_ratio(self) -> float:
        """E r²/R² = (1 + 2(ν² − 1)/j²)/3 with ν = m/2 − 1."""
        order = self.dimension / 2 - 1
        return (1 + 2 * (order**2 - 1) / self.zero**2) / 3

    @property
    def covariance(self) -> Array:
        """(E r²/m) Id."""
        return self.radius**2 * self._mean_square_ratio / self.dimension * np.eye(self.dimension)

    @cached_property
    def entropy(self) -> float:
        """By quadrature along the radius."""
        return -integrate(
            lambda x: self._radial(x) * (self._log_peak + 2 * np.log(np.abs(self._profile(x)))), (0.0, 1.0)
        )

    def _profile(self, x: Array) -> Array:
        """u(xR)/u(0), a confluent hypergeometric function of −(jx)²/4."""
        from scipy.special import hyp0f1

        return np.asarray(hyp0f1(self.dimension / 2, -((self.zero * x) ** 2) / 4))

    def _log_slope(self, s: Array) -> Array:
        """Derivative of log(u/u(0)) with respect to s = (r/R)²."""
        from scipy.special import hyp0f1

        half, z = self.dimension / 2, -(self.zero**2) * s / 4
        return np.asarray(-(self.zero**2) / (4 * half) * hyp0f1(half + 1, z) / hyp0f1(half, z))

    @cached_property
    def _log_peak(self) -> float:
        """The logarithm of the density at the centre."""
        from scipy.special import jv

        m, order = self.dimension, self.dimension / 2 - 1
        log_g = math.lgamma(order + 1) + order * math.log(2 / self.zero)
        log_radial_mass = 2 * log_g + 2 * math.log(abs(float(jv(order + 1, self.zero)))) - math.log(2)
        log_sphere = math.log(2) + m / 2 * math.log(math.pi) - math.lgamma(m / 2)
        return -(log_sphere + m * math.log(self.radius) + log_radial_mass)

    def _radial(self, x: Array) -> Array:
        """Density of r/R."""
        m = self.dimension
        log_sphere = math.log(2) + m / 2 * math.log(math.pi) - math.lgamma(m / 2)
        scale = math.exp(self._log_peak + log_sphere + m * math.log(self.radius))
        return np.asarray(scale * x ** (m - 1) * self._profile(x) ** 2)

    def _logpdf(self, w: Array) -> Array:
        x = np.linalg.norm(w, axis=-1) / self.radius
        value = self._log_peak + 2 * np.log(np.abs(self._profile(np.minimum(x, 1.0))))
        return np.where(x < 1, value, np.where(np.isnan(x), math.nan, -math.inf))

    def _score(self, w: Array) -> Array:
        s = (w * w).sum(axis=-1) / self.radius**2
        slope = 4 * self._log_slope(s) / self.radius**2
        return np.where(s < 1, slope, math.nan)[..., None] * w

    def _sample(self, count: int, bits: Bits) -> Array:
        # log u is concave in s = (r/R)², so its tangent gives a Gaussian that lies above the density
        touch = np.array(self._mean_square_ratio)
        slope = 2 * float(self._log_slope(touch))
        height = 2 * math.log(float(self._profile(np.sqrt(touch))))
        deviation = self.radius / math.sqrt(-2 * slope)

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            w = deviation * lanes.normals(self.dimension, batch).T
            s = (w * w).sum(axis=1) / self.radius**2
            u = self._profile(np.sqrt(np.minimum(s, 1.0)))
            tangent = np.exp((height + slope * (s - float(touch))) / 2)
            return w, (s < 1) & (np.sqrt(lanes.uniform(batch)) * tangent < u)

        return rejection(count, bits, propose)

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        if offset != 0:
            raise NoClosedFormError("E|a·w + c| of noise in a ball has no closed form unless c = 0: use samples")
        m = self.dimension
        mean_radius = self.radius * integrate(lambda x: x * self._radial(x), (0.0, 1.0))
        cosine = math.exp(math.lgamma(m / 2) - math.lgamma((m + 1) / 2)) / math.sqrt(math.pi)
        return float(np.linalg.norm(direction)) * mean_radius * cosine
