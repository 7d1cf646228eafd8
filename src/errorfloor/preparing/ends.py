"""The ends of certain intervals: cut to what is possible, and written with the digits that are real.

The truth is within the bounds of the released number, and within what declarations and public facts allow: a share in
0 … 1, an average in the declared range. Both are known to anybody who sees the number, so that cutting tells nothing.
``ends.proof.md`` says why the truth stays inside.
"""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.pricing import OutputBounds
from errorfloor.pricing.interval import quiet

FINER = 100  # parts of a step: ends are multiples of one
FINEST = 10**7  # parts of a step to which an average of released numbers is rounded: far less than bounds can spare
SLACK = 1e-6  # of a part: what is nearer to a multiple is taken for it; bounds have more to spare than that
POSSIBLE = 1e-5  # the same for what is possible, which is enclosed with the errors of evaluation
LARGEST = 2.0**32  # parts; beyond, doubles are too far from multiples to be told from others
ROUNDED = 2.0**50  # the same where any number is rounded to the nearest multiple
COARSE = 100  # parts in the width of what is possible: with fewer, its ends are written finer
POWERS = 10**22  # powers of ten up to this one are doubles


def interval(
    values: Array, added: CellNoise, bounds: OutputBounds, kind: Array, *, fine: bool = True
) -> tuple[Array, Array]:
    """Give the ends of the certain interval of each released number; cells are of the kind ``kind``.

    *Guarantee*: the truth lies between them. They follow from the released number and from public facts.
    """
    least, most = bounds.low, bounds.high
    if not added.varies:
        off = np.array(added.widest.low), np.array(added.widest.high)
        return cut(values, off, (least, most), added.widest.lattice.step, kind, fine=fine)
    low, high = np.empty(len(values)), np.empty(len(values))
    off = added.of_kind("low"), added.of_kind("high")
    steps = [one.lattice.step for one in added.each]
    for step in dict.fromkeys(steps):
        mine = np.array([one == step for one in steps])[added.level[kind]]
        own = kind[mine]
        low[mine], high[mine] = cut(values[mine], (off[0][own], off[1][own]), (least[own], most[own]), step, fine=fine)
    return low, high


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
    first = np.maximum(np.floor(parts + SLACK) - _up(off[1], part), _down(possible[0], part, POSSIBLE)[kind])
    last = np.minimum(-np.floor(SLACK - parts) - _down(off[0], part), _up(possible[1], part, POSSIBLE)[kind])
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
    first, last = np.floor(low * many / large + POSSIBLE), -np.floor(POSSIBLE - high * many / large)
    return first * large / many + 0.0, last * large / many + 0.0


def _parts(values: Array, part: Fraction) -> Array:
    parts: Array = values * float(part.denominator)
    return parts if part.numerator == 1 else parts / float(part.numerator)


def _down(values: Array, part: Fraction, slack: float = SLACK) -> Array:
    found: Array = np.floor(_parts(values, part) + slack)
    return found


def _up(values: Array, part: Fraction, slack: float = SLACK) -> Array:
    return -_down(-values, part, slack)


def _written(parts: Array, part: Fraction, bare: Callable[[], Array], most: float = LARGEST) -> Array:
    """Give the doubles nearest to multiples of a decimal; the bare number where it is too large to be one."""
    if max(part.numerator, part.denominator) > POWERS:
        return bare()
    exact = (parts if part.numerator == 1 else parts * float(part.numerator)) / float(part.denominator) + 0.0
    if parts.max(initial=0.0) < most and parts.min(initial=0.0) > -most:  # released, so anybody may know it
        return exact
    return np.where(np.abs(parts) < most, exact, bare())
