"""What somebody believes about an entry in advance, on a lattice, and how closely answers may let it be guessed."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from errorfloor.attacks.least_errors import LeastErrors
from errorfloor.catalogue import PrivateColumn, believed
from errorfloor.checks import Array
from errorfloor.floors.prior import mistaken
from errorfloor.floors.two_point import angle

MOST = 2000  # values
DEVIATIONS = 6  # of a declared prior that are kept on each side
FLOORS = 30  # where none is declared: how many floors wide the values are that are thought equally likely


@dataclass(frozen=True, eq=False)
class Belief:
    """Values d apart and their probabilities p_i.

    ``missed`` bounds from below how often any estimate is off by kd/2 or more, if two values h apart can be told apart
    no better than by the angle a(h) = ½(h√A + 2√E):

    P(|x̂ − x| ≥ kd/2) ≥ q_k = Σ_i ½[p_i + p_{i+k} − √((p_i − p_{i+k})² + 4 p_i p_{i+k} sin² a(kd))],

    since an estimate decides between x_i and x_{i+k} by which is nearer. Then E(x̂ − x)² ≥ ½ Σ_k d²(k − ½) q_k.

    >>> two = Belief(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> two.missed(1, 0.0, 0.0), round(two.missed(1, np.pi**2, 0.0), 30), two.spread
    (0.5, 0.0, 0.5)
    """

    values: Array
    masses: Array

    @classmethod
    def of(cls, column: PrivateColumn) -> "Belief":
        """Take the declared prior; where there is none, all values within several floors of the middle are alike.

        >>> flat = Belief.of(PrivateColumn(range=(0, 50), resolution="0.001", floor=2.0))
        >>> float(flat.values[0]), float(flat.values[-1]), round(flat.spread, 1)
        (0.0, 50.0, 14.4)
        """
        lowest, highest = column.steps
        law = believed(column)
        if law is None:
            center, reach = (column.low + column.high) / 2, Fraction(FLOORS * column.floor) / 2
            first = max(lowest, math.ceil((center - reach) / column.resolution))
            last = min(highest, max(first + 1, math.floor((center + reach) / column.resolution)))
        else:
            first, last = (lowest + index for index in law.within(DEVIATIONS**2))
        steps = np.arange(first, last + 1, max(1, math.ceil((last - first) / MOST)))
        values = np.array([float(int(step) * column.resolution) for step in steps])
        masses = np.ones(len(values)) if law is None else law.relative(steps - lowest)
        return cls(values, masses / masses.sum())

    @property
    def spacing(self) -> float:
        """The distance d between values."""
        return float(self.values[1] - self.values[0])

    @property
    def spread(self) -> float:
        """The standard deviation: the error of the best guess without any answer."""
        return math.sqrt(float((self.masses * (self.values - self.mean) ** 2).sum()))

    @property
    def mean(self) -> float:
        """The best guess without any answer."""
        return float(self.masses @ self.values)

    def weighed(self, log_likelihoods: Array) -> float:
        """Give the best guess once answers have been seen: the posterior mean."""
        weights = self.masses * np.exp(log_likelihoods - log_likelihoods.max())
        return float(weights @ self.values / weights.sum())

    def missed(self, steps: int, information: float, evaluation: float) -> float:
        """Give q_k: how often any estimate is off by half of ``steps`` spacings or more, at least."""
        bound = float(angle(steps * self.spacing, information, evaluation))
        return float(mistaken(self.masses[:-steps], self.masses[steps:], bound).sum())

    def least_errors(self, information: float, evaluation: float) -> LeastErrors:
        """Give the law of errors that are nowhere larger than any estimate's: off by kd/2 or more as often as q_k.

        Without any information the best guess is the mean, and how far that is off is known exactly.
        """
        if information == evaluation == 0:
            return LeastErrors(np.abs(self.values - self.mean), self.masses)
        missed = [self.missed(k, information, evaluation) for k in range(1, len(self.values))]
        reached = np.maximum.accumulate([*missed, 0.0][::-1])[::-1]  # off by more is off by less, too
        masses = np.concatenate([[1 - reached[0]], reached[:-1] - reached[1:]])
        return LeastErrors(np.arange(len(masses)) * self.spacing / 2, masses)

    def floor(self, information: float, evaluation: float) -> float:
        """Give the root-mean-square error that no estimate gets below, on average under this belief."""
        return math.sqrt(self.least_errors(information, evaluation).mean_square)

    def telling(self, information: float, evaluation: float) -> int:
        """Give the number k of spacings at which a hit within kd/2 tells most: closest to half of the time allowed."""
        found = [self.missed(k, information, evaluation) for k in range(1, len(self.values))]
        return 1 + int(np.argmin(np.abs(np.array(found) - 0.5)))
