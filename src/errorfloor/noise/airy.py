"""The least informative noise on the line at a given mean absolute error."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.base import ScaledNoise, rejection
from errorfloor.noise.quadrature import integrate
from errorfloor.random import Bits

TURN = -1.0187929716474710890  # a₁′, the first zero of Ai′
FAR = 1e4  # beyond it the density is below the smallest double many times over


@dataclass(frozen=True, eq=False)
class Airy(ScaledNoise):
    """Noise on the line with root density u(w) ∝ Ai(|w|/τ + a₁′), τ the ``scale`` and a₁′ the first zero of Ai′.

    Guarantee: among all densities on the line with E|w| ≤ ⅔|a₁′|τ, this one has the least Fisher information,
    I_w = (4/3)|a₁′|/τ².

    >>> noise = Airy(1.0)
    >>> round(float(noise.information[0, 0]) * noise.expected_loss("absolute") ** 2, 6)
    0.626634
    """

    @property
    def information(self) -> Array:
        """(4/3)|a₁′|/τ²."""
        return np.array([[-4 / 3 * TURN / self.scale**2]])

    @property
    def covariance(self) -> Array:
        """τ²(8a₁′²/15 + 1/(5|a₁′|))."""
        return np.array([[self.scale**2 * (8 * TURN**2 / 15 - 1 / (5 * TURN))]])

    @cached_property
    def entropy(self) -> float:
        """By quadrature: it has no simpler form."""
        return -integrate(lambda w: self.pdf(w) * self.logpdf(w), self.knots, self.unit)

    def _log_density(self, w: Array) -> Array:
        # ∫ u² over the line is 2τ|a₁′|Ai(a₁′)², so the peak of the density is 1/(2τ|a₁′|)
        return 2 * _log_ratio(np.abs(w) / self.scale) - math.log(-2 * self.scale * TURN)

    def _slope(self, w: Array) -> Array:
        return np.sign(w) * 2 * _log_derivative(np.abs(w) / self.scale) / self.scale

    def _cdf(self, w: Array) -> Array:
        upper = _tail(np.abs(w) / self.scale)
        return np.where(w > 0, 1 - upper, upper)

    def _icdf(self, q: Array) -> Array:
        from scipy.optimize.elementwise import find_root

        tail = np.minimum(q, 1 - q)
        reach = 75.0  # the tail beyond it is below the smallest double
        solvable = (tail > 0) & (tail < 0.5)
        target = np.where(solvable, tail, 0.25)
        root = find_root(lambda t, p: _tail(t) - p, (np.zeros_like(q), np.full_like(q, reach)), args=(target,)).x
        distance = np.where(solvable, root, np.where(tail <= 0, math.inf, 0.0))
        return np.where(q <= 0.5, -1.0, 1.0) * self.scale * distance

    def _sample(self, count: int, bits: Bits) -> Array:
        # the log-density is concave and flat at zero: it lies below the lesser of its peak and one tangent
        touch = 1.5
        slope = -2 * float(_log_derivative(np.array(touch)))
        height = 2 * float(_log_ratio(np.array(touch)))
        corner = touch + height / slope
        mass_flat, mass_tail = corner, 1 / slope

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            flat = lanes.uniform(batch) < mass_flat / (mass_flat + mass_tail)
            place = lanes.uniform(batch)
            t = np.where(flat, corner * place, corner - np.log(place) / slope)
            envelope = np.minimum(0.0, height - slope * (t - touch))
            return t, np.log(lanes.uniform(batch)) < 2 * _log_ratio(t) - envelope

        sign = bits.sign(count)
        return self.scale * sign * rejection(count, bits, propose)


def _log_ratio(t: Array) -> Array:
    """Give log(Ai(t + a₁′)/Ai(a₁′)) for t ≥ 0."""
    from scipy.special import airy, airye

    x = t + TURN
    above = np.clip(x, 0.0, FAR)
    scaled = np.log(airye(above)[0]) - 2 / 3 * np.clip(x, 0.0, None) ** 1.5
    plain = np.log(airy(np.minimum(x, 0.0))[0])
    return np.asarray(np.where(x > 0, scaled, plain) - math.log(float(airy(TURN)[0])))


def _log_derivative(t: Array) -> Array:
    """Give Ai′/Ai at t + a₁′ for t ≥ 0."""
    from scipy.special import airy, airye

    x = t + TURN
    scaled, plain = airye(np.clip(x, 0.0, FAR)), airy(np.minimum(x, 0.0))
    return np.asarray(np.where(x > 0, scaled[1] / scaled[0], plain[1] / plain[0]))


def _tail(t: Array) -> Array:
    """Probability above t ≥ 0 at unit scale: (Ai′² − xAi²)/(2|a₁′|Ai(a₁′)²) at x = t + a₁′."""
    from scipy.special import airy, airye

    x = t + TURN
    above = np.clip(x, 0.0, FAR)
    scaled, plain = airye(above), airy(np.minimum(x, 0.0))
    positive_side = (scaled[1] ** 2 - above * scaled[0] ** 2) * np.exp(-4 / 3 * above**1.5)
    negative_side = plain[1] ** 2 - np.minimum(x, 0.0) * plain[0] ** 2
    return np.asarray(np.where(x > 0, positive_side, negative_side) / (-2 * TURN * float(airy(TURN)[0]) ** 2))
