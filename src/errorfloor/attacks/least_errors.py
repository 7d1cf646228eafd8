"""How small errors can be by luck: the least ones that a promise allows, and the least mean square of many."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array

TILTS = np.geomspace(1e-3, 1e7, 400)  # over the mean square; any of them gives a bound, and the best is taken


@dataclass(frozen=True, eq=False)
class LeastErrors:
    """Sizes of errors and their probabilities, such that every estimate's error is at least as large, in law.

    Guarantee: if, whatever went before, each of n errors is off by t or more at least as often as these, for every t,
    then their mean square is at or below ``by_luck(n, α)`` with a probability of at most α.

    >>> coin = LeastErrors(np.array([0.0, 1.0]), np.array([0.5, 0.5]))
    >>> coin.mean_square, round(coin.by_luck(100, 1e-6), 2), coin.by_luck(10, 1e-6)
    (0.5, 0.24, 0.0)
    """

    sizes: Array
    masses: Array

    @property
    def mean_square(self) -> float:
        """The mean square of one of them."""
        return float(self.masses @ self.sizes**2)

    def by_luck(self, runs: int, chance: float) -> float:
        """Give a mean square of ``runs`` errors that is reached from below with at most this chance; 0 if none is."""
        if self.mean_square == 0:
            return 0.0
        tilts = TILTS / self.mean_square
        moments = np.exp(-np.outer(tilts, self.sizes**2)) @ self.masses
        return max(0.0, float(((math.log(chance) - runs * np.log(moments)) / tilts).max()) / runs)
