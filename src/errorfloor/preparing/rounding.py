"""From values and noise to released numbers, and to the ends of their certain intervals.

The value is rounded to grains, 2²⁰ of which make a step of the lattice, the noise is rounded to grains, and their sum
is exact. So what leaves is a function of the rounded value plus the noise, in steps that do not depend on either.

The truth is within the bounds of the released number, and within what declarations and public facts allow: a share in
0 … 1, an average in the declared range. Both are known to anybody who sees the number, so that cutting tells nothing.
``rounding.proof.md`` has the reasons.
"""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from errorfloor.arithmetic.double_words import NOTHING, DoubleWord
from errorfloor.checks import Array
from errorfloor.noise.lattice import Lattice
from errorfloor.pricing.interval import quiet

BITS = 20
GRAINS = 2**BITS  # of a step
FINER = 100  # parts of a step: ends are multiples of one
FINEST = 10**7  # parts of a step to which an average of released numbers is rounded: far less than bounds can spare
SLACK = 1e-6  # of a part: what is nearer to a multiple is taken for it; bounds have more to spare than that
POSSIBLE = 1e-5  # the same for what is possible, if it is that near only
ENCLOSED = 2.0**-32  # of the larger end of what is possible: more than evaluation errs, with which it is enclosed
LARGEST = 2.0**32  # parts; beyond, doubles are too far from multiples to be told from others
ROUNDED = 2.0**50  # the same where any number is rounded to the nearest multiple
COARSE = 100  # parts in the width of what is possible: with fewer, its ends are written finer
POWERS = 10**22  # powers of ten up to this one are doubles


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
    if max(step.numerator, step.denominator) <= POWERS and not (step.numerator > 1 and step.denominator > 1):
        return steps * float(step.numerator) / float(step.denominator) + 0.0
    return np.array([int(count) * step.numerator / step.denominator for count in steps], dtype=float)


@quiet
def cut(
    values: Array,
    off: tuple[Array, Array],
    possible: tuple[Array, Array],
    step: str,
    kind: Any = ...,
    *,
    fine: bool = True,
) -> tuple[Array, Array]:
    """Give where truths lie: ``values`` less what they are ``off`` by, at most, and no farther than is ``possible``.

    What is possible is given for each value, or for each ``kind`` of them. Ends are rounded outwards to a hundredth of
    a ``step``; what is possible more finely, if ``fine``, where that is coarse beside it.

    >>> off, possible = (np.array([-0.5]), np.array([0.5])), (np.array([0.0]), np.array([7.0]))
    >>> [end.tolist() for end in cut(np.array([0.3, 6.69]), off, possible, "0.01")]
    [[0.0, 6.19], [0.8, 7.0]]
    """
    part, kind = Fraction(step) / FINER, 0 if len(possible[0]) == 1 else kind
    parts = _parts(values, part)
    below, above = _beside(possible, lambda ends: _parts(ends, part))
    first = np.maximum(np.floor(parts + SLACK) - _up(off[1], part), below[kind])
    last = np.minimum(-np.floor(SLACK - parts) - _down(off[0], part), above[kind])
    low = _written(first, part, lambda: np.maximum(values - off[1], possible[0][kind]))
    high = _written(last, part, lambda: np.minimum(values - off[0], possible[1][kind]))
    if not fine or not (is_coarse := possible[1] - possible[0] < COARSE * float(part)).any():
        return low, high
    least, most = (np.where(is_coarse, end, far) for end, far in zip(_finely(possible), (-np.inf, np.inf), strict=True))
    return np.maximum(low, least[kind]), np.minimum(high, most[kind])


@quiet
def rounded(values: Array, lattice: Lattice) -> Array:
    """Round averages and sums of released numbers to a ten-millionth of a step; sums are then multiples of the step.

    >>> rounded(np.array([0.1 + 0.2]), Lattice("0.01")).tolist()
    [0.3]
    """
    part = Fraction(lattice.step) / FINEST
    return _written(np.rint(_parts(values, part)), part, lambda: values, ROUNDED)


@quiet
def centred(values: Array, bias: float, lattice: Lattice) -> Array:
    """Give released numbers less the mean of what was added, to a hundredth of a step; as they are where that is 0.

    >>> centred(np.array([6.94]), 0.25, Lattice("0.01")).tolist()
    [6.69]
    """
    if bias == 0:
        return values
    part = Fraction(lattice.step) / FINER
    return _written(np.rint(_parts(values - bias, part)), part, lambda: values - bias, ROUNDED)


def _finely(possible: tuple[Array, Array]) -> tuple[Array, Array]:
    """Round what is possible outwards to a ten-thousandth of its width, or less: a power of ten.

    >>> [end.tolist() for end in _finely((np.array([0.0]), np.array([49.99999])))]
    [[0.0], [50.0]]
    """
    low, high = possible
    power = np.floor(np.log10(np.where(high > low, high - low, 1.0))) - 4
    many, large = 10.0 ** np.maximum(-power, 0), 10.0 ** np.maximum(power, 0)
    first, last = _beside(possible, lambda ends: ends * many / large)
    return first * large / many + 0.0, last * large / many + 0.0


def _beside(possible: tuple[Array, Array], parts: Callable[[Array], Array]) -> tuple[Array, Array]:
    """Round what is possible outwards to whole parts; to the part inside only if it is as near as evaluation can tell.

    >>> one, two = _beside((np.array([1 - 1e-15, 1 - 1e-8]), np.array([2.5, 4.0])), lambda ends: ends)
    >>> one.tolist(), two.tolist()
    ([1.0, 0.0], [3.0, 4.0])
    """
    low, high = (parts(end) for end in possible)
    sizes = np.where(np.isfinite(low), np.abs(low), 0.0), np.where(np.isfinite(high), np.abs(high), 0.0)
    slack = np.minimum(ENCLOSED * np.maximum(*sizes), POSSIBLE)
    return np.floor(low + slack), -np.floor(slack - high)


def _parts(values: Array, part: Fraction) -> Array:
    parts: Array = values * float(part.denominator)
    return parts if part.numerator == 1 else parts / float(part.numerator)


def _down(values: Array, part: Fraction) -> Array:
    found: Array = np.floor(_parts(values, part) + SLACK)
    return found


def _up(values: Array, part: Fraction) -> Array:
    return -_down(-values, part)


def _written(parts: Array, part: Fraction, bare: Callable[[], Array], most: float = LARGEST) -> Array:
    """Give the doubles nearest to multiples of a decimal; the bare number where it is too large to be one."""
    if max(part.numerator, part.denominator) > POWERS:
        return bare()
    exact = (parts if part.numerator == 1 else parts * float(part.numerator)) / float(part.denominator) + 0.0
    if parts.max(initial=0.0) < most and parts.min(initial=0.0) > -most:  # released, so anybody may know it
        return exact
    return np.where(np.abs(parts) < most, exact, bare())
