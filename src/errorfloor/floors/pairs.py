"""An entry that can only be one of two values: exact distances between the two laws of the answer."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, positive, real, whole
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.noise.quadrature import integrate

NEAR = 1e-4  # shifts of less information than this squared are treated by their bounds
FAR = 200  # shifts, in sizes of the noise, beyond which the overlap is taken for nothing


@dataclass(frozen=True)
class Pair:
    """Bounds for an entry known to be x or x + ``gap``, from the laws p and p′ of the answer at the two.

    ``divergence`` is D = 2∫(p′ − p)²/(p′ + p) = 4 − 8V, ``overlap`` V = ∫pp′/(p + p′), ``total_variation`` ½∫|p′ − p|,
    and ``separation`` 1 − ∫√(pp′). Each is computed by itself: none is the difference of two others that nearly agree.

    >>> from errorfloor.noise import RaisedCosine
    >>> both = pair(RaisedCosine(0, 1), slope=1.0, gap=0.25)
    >>> round(both.total_variation, 6), round(both.testing_error, 6)
    (0.475079, 0.26246)
    """

    gap: float
    divergence: float
    overlap: float
    total_variation: float
    separation: float

    @classmethod
    def of_laws(cls, gap: float, p: Array, q: Array) -> "Pair":
        """Compare two laws on the same finite set.

        >>> Pair.of_laws(1.0, np.array([0.75, 0.25, 0.0]), np.array([0.25, 0.75, 0.0])).total_variation
        0.5
        """
        both = np.where(p + q > 0, p + q, 1.0)
        return cls(
            gap,
            divergence=min(4.0, float((2 * (q - p) ** 2 / both).sum())),
            overlap=float((p * q / both).sum()),
            total_variation=min(1.0, float(np.abs(q - p).sum()) / 2),
            separation=min(1.0, float(((np.sqrt(q) - np.sqrt(p)) ** 2).sum()) / 2),
        )

    @property
    def affinity(self) -> float:
        """ρ = ∫√(pp′)."""
        return 1 - self.separation

    @property
    def unbiased(self) -> float:
        """Root-mean-square error, at the worse of the two values, of any estimator unbiased at both: h√(1/D − ¼)."""
        if self.divergence == 0:
            return math.inf  # the two laws are one: no estimator is unbiased at both
        return self.gap * math.sqrt(2 * self.overlap / self.divergence)

    @property
    def any_estimator(self) -> float:
        """Root-mean-square error of any estimator, averaged over the two values at even odds: h√(¼ − D/16)."""
        return self.gap * math.sqrt(self.overlap / 2)

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
        if self.separation >= 1:
            return 0.0
        together = math.exp(2 * whole("answers", answers) * math.log1p(-self.separation))
        return together / (1 + math.sqrt(1 - together)) / 2


def pair(noise: Noise, *, slope: float, gap: float) -> Pair:
    """Compare the two laws of ``slope``·x + noise at values ``gap`` apart.

    The noise must be log-concave, as all in the catalogue are: then the two densities cross once. Where the shift is
    tiny, D and 1 − ρ are replaced by their upper bounds s²I and s²I/8, which they approach.

    >>> from errorfloor.noise import Gaussian
    >>> round(pair(Gaussian(1.0), slope=1.0, gap=2.0).affinity, 6) == round(math.exp(-0.5), 6)
    True
    """
    if not isinstance(noise, Noise) or noise.dimension != 1:
        raise InputError("pair compares answers of one number: it needs a one-dimensional noise")
    gap = positive("gap", gap)
    shift = positive("slope times gap", abs(real("slope", slope)) * gap)
    start, end = noise.knots[0] + shift, noise.knots[-1]
    if start >= end or shift > FAR * noise.unit:
        return Pair(gap, divergence=4.0, overlap=0.0, total_variation=1.0, separation=1.0)
    crossing = _crossing(noise, shift)
    distance = float(noise.cdf(crossing) - noise.cdf(crossing - shift))
    squared_shift = shift**2 * float(noise.information[0, 0])
    if squared_shift < NEAR**2:
        return Pair(gap, squared_shift, (4 - squared_shift) / 8, distance, squared_shift / 8)
    cuts = [*noise.knots, *(knot + shift for knot in noise.knots), crossing]

    def integral(function: Callable[[Array, Array], Array]) -> float:
        return integrate(lambda y: function(noise.pdf(y), noise.pdf(y - shift)), cuts, noise.unit)

    return Pair(
        gap,
        divergence=min(4.0, integral(lambda p, q: 2 * (q - p) ** 2 / (q + p))),
        overlap=integral(lambda p, q: p * (q / (p + q))),
        total_variation=distance,
        separation=min(1.0, integral(lambda p, q: (np.sqrt(p) - np.sqrt(q)) ** 2 / 2)),
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
