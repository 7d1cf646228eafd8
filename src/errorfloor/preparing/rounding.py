"""From values and noise to released numbers, in whole grains: 2²⁰ of them make a step of the lattice.

The value is rounded to grains, the noise is rounded to grains, and their sum is exact. So what leaves is a function of
the rounded value plus the noise, as ``rounding.proof.md`` needs it, in steps that do not depend on either.
"""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from errorfloor.arithmetic.double_words import NOTHING, DoubleWord
from errorfloor.checks import Array
from errorfloor.noise.lattice import Lattice

BITS = 20
GRAINS = 2**BITS  # of a step
EXACT = 22  # powers of ten up to this one are doubles


def grain(lattice: Lattice) -> float:
    """Give the size of a grain.

    >>> grain(Lattice("1")) == 2.0**-20
    True
    """
    return float(lattice.size / GRAINS)


def in_grains(values: DoubleWord, lattice: Lattice) -> Array:
    """Give the nearest whole number of grains of each value; off by half a grain, and a little of the value.

    >>> in_grains(DoubleWord.of(Fraction(1, 4)), Lattice("0.5")).item() == 2**19
    True
    """
    return (values / _exact_grain(lattice.step)).nearest_whole()


def released(values: DoubleWord, noise: Array, offset: float, lattice: Lattice) -> Array:
    """Give the double nearest to the lattice point nearest to value + offset + noise, halves upwards.

    >>> released(DoubleWord(np.array([1 / 3]), np.zeros(1)), np.array([0.25]), 0.0, Lattice("0.01")).tolist()
    [0.58]
    """
    added = DoubleWord(noise, NOTHING)
    if offset:  # which is public
        added = added + DoubleWord.of(Fraction(offset))
    grains = in_grains(values, lattice) + in_grains(added, lattice)
    return multiples((grains + GRAINS // 2) >> BITS, lattice)


@lru_cache(maxsize=64)
def _exact_grain(step: str) -> DoubleWord:
    return DoubleWord.of(Fraction(step) / GRAINS)


def multiples(steps: Array, lattice: Lattice) -> Array:
    """Give the doubles nearest to whole multiples of the step; below 2⁵³ one rounded operation is enough.

    >>> multiples(np.array([3, -7]), Lattice("0.1")).tolist()
    [0.3, -0.7]
    """
    step = Fraction(lattice.step)
    if max(step.numerator, step.denominator) <= 10**EXACT and not (step.numerator > 1 and step.denominator > 1):
        return steps * float(step.numerator) / float(step.denominator) + 0.0
    return np.array([_nearest(int(count), step) for count in steps], dtype=float)


def _nearest(count: int, step: Fraction) -> float:
    return count * step.numerator / step.denominator
