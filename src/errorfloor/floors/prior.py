"""A floor under the error of any estimator of a number on a lattice, averaged under a stated prior."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from errorfloor.checks import Array, positive, real, whole
from errorfloor.floors.adversary import value
from errorfloor.floors.two_point import angle
from errorfloor.floors.worst_case import doubtful

NEGLIGIBLE = 150.0  # z² above its least, from where on all 2⁴¹ values together weigh less than 10⁻²⁰
COUNTED = 25.0  # the same, up to where doubt is counted; what is left out can only raise the floor
MOST_WEIGHED = 50_000  # blocks of values whose weights are summed
MOST_COUNTED = 1000  # blocks of values whose doubts are summed
MOST_DISTANCES = 300


@dataclass(frozen=True)
class LatticeNormal:
    """A normal law on values x_i = low + i·spacing: p_i ∝ exp(−½((x_i − mean)/deviation)²), what everybody may believe.

    The values are those that can be stored: ``count`` of them, the first at ``low``. A prior narrower than the spacing
    leaves little doubt, whatever its deviation says.

    >>> fine = LatticeNormal(mean=10.0, deviation=8.0, low=0.0, spacing=0.001, count=50_001)
    >>> coarse = LatticeNormal(mean=10.0, deviation=0.25, low=0.0, spacing=1.0, count=51)
    >>> round(fine.spread, 2), round(coarse.spread, 3)
    (6.71, 0.026)
    """

    mean: float
    deviation: float
    low: float
    spacing: float
    count: int

    def __post_init__(self) -> None:
        real("mean", self.mean)
        real("low", self.low)
        positive("deviation", self.deviation)
        positive("spacing", self.spacing)
        whole("count", self.count, least=2)

    def _place(self, index: float) -> float:
        """Give how many deviations a value lies from the mean."""
        return (self.low + index * self.spacing - self.mean) / self.deviation

    @property
    def likeliest(self) -> int:
        """The index of the value nearest to the mean."""
        return min(max(round((self.mean - self.low) / self.spacing), 0), self.count - 1)

    def relative(self, index: Array) -> Array:
        """Give p_i over its largest value; it rises up to ``likeliest`` and falls from there on."""
        steps = (np.asarray(index, dtype=float) - self.likeliest) * (self.spacing / self.deviation)
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(-np.maximum(0.5 * steps * (steps + 2 * self._place(self.likeliest)), 0.0)))

    def within(self, excess: float) -> tuple[int, int]:
        """Give the first and the last index whose z² exceeds the least by no more than ``excess``, or a little more."""
        reach = self.deviation * math.sqrt(excess + self._place(self.likeliest) ** 2)
        first, last = ((self.mean + sign * reach - self.low) / self.spacing for sign in (-1, 1))
        return max(0, math.floor(first)), min(self.count - 1, math.ceil(last))

    @cached_property
    def _weights(self) -> tuple[Array, Array, float]:
        """Give the middles of blocks of values, about how much they weigh, and a bound from above on the sum of all."""
        first, last = self.within(NEGLIGIBLE)
        size = -(-(last - first + 1) // MOST_WEIGHED)
        begins = np.arange(first, last + 1, size)
        ends = np.minimum(begins + size - 1, last)
        highest = self.relative(np.clip(self.likeliest, begins, ends))
        middles, counts = (begins + ends) / 2, ends - begins + 1.0
        return middles, counts * self.relative(middles), float(counts @ highest) * (1 + 1e-12)

    @property
    def spread(self) -> float:
        """The standard deviation: the error of the best guess without any answer."""
        middles, weights, _ = self._weights
        off = middles - middles @ weights / weights.sum()
        return self.spacing * math.sqrt(float(weights @ off**2 / weights.sum()))

    def missed(self, steps: int, information: float, evaluation: float, raised_cosine: float = 0.0) -> float:
        """Bound from below how often any estimate is off by half of ``steps`` spacings or more: q_k of the floor."""
        first, last = self.within(COUNTED)
        size = max(1, -(-(last - first + 1) // MOST_COUNTED))
        begins = np.arange(first, last - steps + 1, size)
        ends = np.minimum(begins + size - 1, last - steps)
        one, two = (np.minimum(self.relative(begins + k), self.relative(ends + k)) for k in (0, steps))
        distance = steps * self.spacing
        if raised_cosine:
            others = (2 * angle(distance, information, evaluation)) ** 2 if information else 0.0
            mistakes = value.mistaken((2 * angle(distance, raised_cosine, evaluation)) ** 2, others, one, two)
        else:
            mistakes = mistaken(one, two, float(angle(distance, information, evaluation)))
        return float((ends - begins + 1.0) @ mistakes) / self._weights[2]


def mistaken(one: Array, two: Array, bound: float) -> Array:
    """Bound from below the weight of the mistakes of any test between two laws with weights p and p′.

    ½[p + p′ − √((p + p′)² − 4pp′cos²a)], a the angle between the laws, at most ``bound``; written without a difference.

    >>> mistaken(np.array([0.5, 0.2]), np.array([0.5, 0.8]), 0.0).round(12).tolist()
    [0.5, 0.2]
    """
    both = one + two
    hidden = 4 * one * two * math.cos(min(bound, math.pi / 2)) ** 2
    least = both + np.sqrt(np.maximum(both**2 - hidden, 0.0))
    return np.asarray(np.divide(0.5 * hidden, least, out=np.zeros_like(least), where=least > 0))


@lru_cache(maxsize=1024)  # stated several times of one answer, and the same at the allowance for every one
def ziv_zakai_under(
    law: LatticeNormal, information: float, evaluation: float = 0.0, raised_cosine: float = 0.0
) -> float:
    """½ Σ_k d²(k − ½) q_k, q_k = Σ_i ½[p_i + p_{i+k} − √((p_i − p_{i+k})² + 4p_i p_{i+k} sin² a(kd))]: a mean square.

    Guarantee: averaged under the prior, the mean-square error of any estimator that sees the answers is at least this;
    a(h) is the two-point angle, so that neither smoothness nor unbiasedness is needed. Values form a lattice, however
    coarse; where they are very many, sums over blocks of them are replaced by bounds from below. With ``raised_cosine``
    information the mistakes in q_k are those of the adversary's game, where they are more.

    >>> law = LatticeNormal(mean=10.0, deviation=8.0, low=0.0, spacing=0.001, count=50_001)
    >>> round(ziv_zakai_under(law, 0.0) ** 0.5, 1), round(ziv_zakai_under(law, 0.05) ** 0.5, 1)
    (6.3, 2.7)
    >>> coarse = LatticeNormal(mean=10.0, deviation=0.25, low=0.0, spacing=1.0, count=51)
    >>> ziv_zakai_under(coarse, 0.0) ** 0.5 <= coarse.spread
    True
    """
    first, last = law.within(COUNTED)
    reach = doubtful(information, evaluation, raised_cosine, math.inf) / law.spacing
    most = min(last - first, math.ceil(reach)) if math.isfinite(reach) else last - first
    stride = max(1, -(-most // MOST_DISTANCES))
    doubts = [law.missed(k, information, evaluation, raised_cosine) for k in range(stride, most + 1, stride)]
    return float((np.arange(len(doubts)) + 0.5) @ np.array(doubts)) * (stride * law.spacing) ** 2 / 2
