"""A floor under the error of any estimator, averaged under a stated prior, whatever the answers were."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, positive, real
from errorfloor.errors import InputError
from errorfloor.floors.two_point import angle

NODES, WEIGHTS = np.polynomial.legendre.leggauss(64)


@dataclass(frozen=True)
class CutNormal:
    """A normal law cut to a range: what everybody may be assumed to believe of an entry beforehand.

    >>> law = CutNormal(mean=10.0, deviation=8.0, low=0.0, high=50.0)
    >>> round(law.spread, 2)
    6.71
    """

    mean: float
    deviation: float
    low: float
    high: float

    def __post_init__(self) -> None:
        real("mean", self.mean)
        positive("deviation", self.deviation)
        if not self.low < self.high:
            raise InputError(f"a range needs low < high, got {self.low:g} … {self.high:g}")

    def density(self, x: Array) -> Array:
        """Give the density at each x; 0 outside the range."""
        z = (np.asarray(x, dtype=float) - self.mean) / self.deviation
        inside = (np.asarray(x) >= self.low) & (np.asarray(x) <= self.high)
        return np.where(inside, np.exp(-0.5 * z**2) / self._mass, 0.0)

    @property
    def _mass(self) -> float:
        ends = [(end - self.mean) / (self.deviation * math.sqrt(2)) for end in (self.low, self.high)]
        part = 0.5 * (math.erf(ends[1]) - math.erf(ends[0]))
        if not part > 1e-6:
            raise InputError(f"a prior with mean {self.mean:g} has next to nothing on {self.low:g} … {self.high:g}")
        return part * self.deviation * math.sqrt(2 * math.pi)

    @property
    def spread(self) -> float:
        """The standard deviation: the error of the best guess without any answer."""
        x, weight = _pieces(self.low, self.high)
        mass = weight * self.density(x)
        center = float((mass * x).sum())
        return math.sqrt(float((mass * (x - center) ** 2).sum()))


def ziv_zakai_under(law: CutNormal, information: float, evaluation: float = 0.0) -> float:
    """½∫h∫½[p + p′ − √((p − p′)² + 4pp′sin²a(h))] dx dh, p and p′ the prior at x and x + h: a mean square.

    Guarantee: averaged under the prior, the mean-square error of any estimator that sees the answers is at least this;
    a(h) is the two-point angle, so that neither smoothness nor unbiasedness is needed. Values form a continuum.

    >>> law = CutNormal(mean=10.0, deviation=8.0, low=0.0, high=50.0)
    >>> round(ziv_zakai_under(law, 0.0) ** 0.5, 2), round(ziv_zakai_under(law, 0.05) ** 0.5, 2)
    (6.39, 2.72)
    """
    width = law.high - law.low
    reach = width
    if information > 0:
        reach = min(width, max(0.0, (math.pi - 2 * math.sqrt(evaluation)) / math.sqrt(information)))
    h, h_weight = _pieces(0.0, reach)
    total = 0.0
    sine = np.sin(np.minimum(angle(h, information, evaluation), math.pi / 2))
    for distance, weight, apart in zip(h.tolist(), h_weight.tolist(), sine.tolist(), strict=True):
        x, x_weight = _pieces(law.low, law.high - distance)
        one, two = law.density(x), law.density(x + distance)
        missed = one + two - np.sqrt((one - two) ** 2 + 4 * one * two * apart**2)
        total += weight * distance * float((x_weight * missed).sum())
    return total / 4


def _pieces(low: float, high: float, count: int = 4) -> tuple[Array, Array]:
    """Give nodes and weights of Gauss and Legendre's rule on several pieces."""
    edges = np.linspace(low, high, count + 1)
    half = (edges[1:] - edges[:-1])[:, None] / 2
    nodes = (edges[1:] + edges[:-1])[:, None] / 2 + half * NODES
    return nodes.ravel(), (half * WEIGHTS).ravel()
