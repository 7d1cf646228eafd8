"""Draws of an index with given probabilities in constant time, by Walker and Vose's alias table."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.random import Bits
from errorfloor.random.bits import Words


@dataclass(frozen=True, eq=False)
class Alias:
    """Walker and Vose's table: index k with a probability proportional to ``weights``, in constant time.

    >>> Alias.of(np.array([1.0, 3.0])).threshold
    array([0.5, 1. ])
    """

    threshold: Array
    other: Array

    @classmethod
    def coarsely(cls, weights: Array) -> tuple["Alias", Array]:
        """Build the table of weights of few bits, rounded up, and give these too.

        Another machine's last bit then changes neither the table nor a draw.
        """
        mantissa, power = np.frexp(weights)
        rounded = np.ldexp(np.ceil(mantissa * 2**24) / 2**24, power)
        return cls.of(rounded), np.asarray(rounded)

    @classmethod
    def of(cls, weights: Array) -> "Alias":
        """Build the table."""
        count = weights.size
        share = weights * (count / weights.sum())
        threshold, other = np.ones(count), np.arange(count)
        below, above = list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1))
        while below and above:
            small, large = below.pop(), above[-1]
            threshold[small], other[small] = share[small], large
            share[large] -= 1 - share[small]
            if share[large] < 1:
                below.append(above.pop())
        return cls(threshold, other)

    def draw(self, bits: Bits, count: int) -> Array:
        """Draw ``count`` indices with two words each."""
        first = scaled(bits.words(count), self.threshold.size)
        return np.where(bits.uniform(count) <= self.threshold[first], first, self.other[first])


def scaled(words: Words, count: int) -> Array:
    """⌊word·count/2⁶⁴⌋ without a wider type, for count < 2³².

    >>> scaled(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 10).tolist()
    [0, 5, 9]
    """
    factor, half = np.uint64(count), np.uint64(32)
    low = (words & np.uint64(2**32 - 1)) * factor
    high = (words >> half) * factor
    return ((high + (low >> half)) >> half).astype(np.intp)
