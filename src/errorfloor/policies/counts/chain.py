"""The rows of a table as one vector of unknowns, with the pairs of neighbours that share a published count."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.counts.rules import CountRules, Row
from errorfloor.policies.counts.tail import Tail


@dataclass(frozen=True, eq=False)
class Chain:
    """Rows 0 … ``length`` of a table, the last of which is the tail's and fixed.

    Unknowns are probabilities, row after row; ``row_of`` and ``noise`` name the row and the noise of each. Pair m joins
    the unknowns ``left[m]`` and ``right[m]``, which publish the same count from rows i and i + 1, i = ``link[m]``.

    >>> from errorfloor.policies.counts.tail import tail_row
    >>> rules = CountRules(max_noise=1, variance=0.5, unbiased=True, keep_zero=True)
    >>> chain = Chain(rules, tail_row(1, 0.5), length=2)
    >>> chain.row_of.tolist(), list(zip(chain.left.tolist(), chain.right.tolist()))
    ([0, 1, 1, 1, 2, 2, 2], [(0, 1), (2, 4), (3, 5)])
    """

    rules: CountRules
    tail: Tail
    length: int

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """What each row allows."""
        return tuple(self.rules.row(count) for count in range(self.length + 1))

    @cached_property
    def starts(self) -> Array:
        """The place of each row's first unknown, and the number of all."""
        return np.concatenate([[0], np.cumsum([len(row.published) for row in self.rows])]).astype(int)

    @cached_property
    def row_of(self) -> Array:
        """The row of each unknown."""
        return np.repeat(np.arange(self.length + 1), np.diff(self.starts))

    @cached_property
    def noise(self) -> Array:
        """Published minus true count, of each unknown."""
        return np.concatenate([row.noise for row in self.rows])

    @cached_property
    def free(self) -> Array:
        """Which rows are to be found: neither settled by the rules nor the tail's."""
        chosen = np.array([not row.settled for row in self.rows])
        chosen[-1] = False
        return chosen

    @cached_property
    def _pairs(self) -> tuple[Array, Array, Array]:
        left, right, link = [], [], []
        for i in range(self.length):
            below = {j: self.starts[i] + m for m, j in enumerate(self.rows[i].published)}
            for m, j in enumerate(self.rows[i + 1].published):
                if j in below:
                    left.append(below[j])
                    right.append(self.starts[i + 1] + m)
                    link.append(i)
        return np.array(left, dtype=int), np.array(right, dtype=int), np.array(link, dtype=int)

    @property
    def left(self) -> Array:
        """The first unknown of each pair."""
        return self._pairs[0]

    @property
    def right(self) -> Array:
        """The second."""
        return self._pairs[1]

    @property
    def link(self) -> Array:
        """The lower row of each pair."""
        return self._pairs[2]

    def affinities(self, probabilities: Array) -> Array:
        """ρ_i = Σ_j √(p_i(j) p_{i+1}(j)) for i = 0 … length − 1."""
        products = np.sqrt(probabilities[self.left] * probabilities[self.right])
        return np.bincount(self.link, products, minlength=self.length)

    def start(self) -> Array:
        """Probabilities that keep every rule with room to spare: the least noisy ones, mixed with widespread ones."""
        parts = [row.only_choice if row.settled else _middle(row, self.rules) for row in self.rows[:-1]]
        return np.concatenate([*parts, self.tail.probabilities])


def _middle(row: Row, rules: CountRules) -> Array:
    noise = row.noise.astype(float)
    spread = _tilted(noise) if row.mean else np.full(len(noise), 1 / len(noise))
    if not row.limited:
        return spread
    near = nearest(row)
    least, most = float(noise**2 @ near), float(noise**2 @ spread)
    share = min(0.9, 0.5 * (rules.variance - least) / (most - least))
    return (1 - share) * near + share * spread


def nearest(row: Row) -> Array:
    """Give the least noisy probabilities that a row allows.

    >>> nearest(Row(count=1, published=(0, 2, 3), mean=True, limited=True)).tolist()
    [0.5, 0.5, 0.0]
    """
    noise = row.noise
    near = np.zeros(len(noise))
    if not row.mean:
        closest = noise**2 == (noise**2).min()
        return np.asarray(closest / closest.sum())
    a, b = int(noise[noise <= 0][-1]), int(noise[noise >= 0][0])
    if a == b:
        near[noise == 0] = 1.0
    else:
        near[noise == a], near[noise == b] = b / (b - a), -a / (b - a)
    return near


def _tilted(noise: Array) -> Array:
    """Probabilities proportional to e^{ck} with mean zero."""
    from scipy.optimize import brentq

    def mean(tilt: float) -> float:
        weights = np.exp(tilt * noise - (tilt * noise).max())
        return float(noise @ weights / weights.sum())

    tilt = brentq(mean, -40.0, 40.0, xtol=1e-15)
    weights = np.exp(tilt * noise - (tilt * noise).max())
    weights /= weights.sum()
    return np.asarray(weights)
