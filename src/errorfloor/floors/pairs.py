"""An entry that can only be one of two values: exact distances between the two laws of the answer."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, positive, real, whole
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.noise.quadrature import integrate


@dataclass(frozen=True)
class Pair:
    """Bounds for an entry known to be x or x + ``gap``, from the laws p and p′ of the answer at the two.

    ``divergence`` is D = 2∫(p′ − p)²/(p′ + p) ≤ 4, ``total_variation`` ½∫|p′ − p| and ``affinity`` ∫√(pp′).

    >>> from errorfloor.noise import RaisedCosine
    >>> both = pair(RaisedCosine(0, 1), slope=1.0, gap=0.25)
    >>> round(both.total_variation, 6), round(both.testing_error, 6)
    (0.475079, 0.26246)
    """

    gap: float
    divergence: float
    total_variation: float
    affinity: float

    @property
    def unbiased(self) -> float:
        """Root-mean-square error, at the worse of the two values, of any estimator unbiased at both: h√(1/D − ¼)."""
        return self.gap * math.sqrt(max(0.0, 1 / self.divergence - 0.25)) if self.divergence > 0 else math.inf

    @property
    def any_estimator(self) -> float:
        """Root-mean-square error of any estimator, averaged over the two values at even odds: h√(¼ − D/16)."""
        return self.gap * math.sqrt(max(0.0, 0.25 - self.divergence / 16))

    @property
    def testing_error(self) -> float:
        """The least probability of naming the wrong value at even odds: (1 − TV)/2."""
        return (1 - self.total_variation) / 2

    def testing_error_after(self, answers: int) -> float:
        """The same after several independent answers, at least (1 − √(1 − ρ²ᴷ))/2, ρ the affinity.

        >>> from errorfloor.noise import RaisedCosine
        >>> both = pair(RaisedCosine(0, 1), slope=1.0, gap=0.01)
        >>> both.testing_error_after(1) < both.testing_error
        True
        """
        together = self.affinity ** (2 * whole("answers", answers))
        return (1 - math.sqrt(max(0.0, 1 - together))) / 2


def pair(noise: Noise, *, slope: float, gap: float) -> Pair:
    """Compare the two laws of ``slope``·x + noise at values ``gap`` apart.

    The noise must be log-concave, as all in the catalogue are: then the two densities cross once.

    >>> from errorfloor.noise import Gaussian
    >>> round(pair(Gaussian(1.0), slope=1.0, gap=2.0).affinity, 6) == round(math.exp(-0.5), 6)
    True
    """
    if noise.dimension != 1:
        raise InputError(f"pair compares answers of one number; this noise has dimension {noise.dimension}")
    gap = positive("gap", gap)
    shift = abs(real("slope", slope)) * gap
    start, end = noise.knots[0] + shift, noise.knots[-1]
    if start >= end:
        return Pair(gap, divergence=4.0, total_variation=1.0, affinity=0.0)
    crossing = _crossing(noise, shift)
    cuts = [*noise.knots, *(knot + shift for knot in noise.knots), crossing]

    def divergence(y: Array) -> Array:
        p, q = noise.pdf(y), noise.pdf(y - shift)
        return np.asarray(2 * (q - p) ** 2 / (q + p))

    def affinity(y: Array) -> Array:
        return np.asarray(np.sqrt(noise.pdf(y) * noise.pdf(y - shift)))

    return Pair(
        gap,
        divergence=integrate(divergence, cuts, noise.unit),
        total_variation=float(noise.cdf(crossing) - noise.cdf(crossing - shift)),
        affinity=integrate(affinity, [cut for cut in cuts if start <= cut <= end], noise.unit),
    )


def _crossing(noise: Noise, shift: float) -> float:
    """Give the point where the density and its shift cross; it lies between their peaks, each near its mean."""
    from scipy.optimize import brentq

    center, spread = float(noise.mean[0]), 2 * math.sqrt(float(noise.covariance[0, 0]))
    low = max(noise.knots[0] + shift, center - spread)
    high = min(noise.knots[-1], center + shift + spread)

    def ahead(y: float) -> float:
        return float(noise.pdf(y) - noise.pdf(y - shift))

    if ahead(low) <= 0:
        return low
    return high if ahead(high) >= 0 else float(brentq(ahead, low, high, xtol=1e-14 * (high - low)))
