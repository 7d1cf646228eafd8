"""Floors under the mean-square error of any estimator, in the worst case over an entry's declared range.

Each gives a mean square; its root is an error in the data's units. All take the information I about the entry, a bound
that holds everywhere on the range of width L, and E, the information of evaluation errors.
"""

import math

import numpy as np

from errorfloor.checks import positive, whole
from errorfloor.errors import InputError
from errorfloor.floors.two_point import angle

NODES, WEIGHTS = np.polynomial.legendre.leggauss(48)
MOST_LATTICE_STEPS = 100_000


def van_trees(information: float, width: float) -> float:
    """1/(I + 4π²/L²): van Trees' inequality with a raised-cosine prior on the range.

    Guarantee: sup over the range of E(x̂ − x)² is at least this, for a continuum of values and a smooth query. It
    bounds the worst case, not the average over a uniform x.

    >>> round(van_trees(4 * math.pi**2 / 0.25, 1.0) ** 0.5, 4)
    0.0712
    """
    _check(information, width)
    return 1 / (information + 4 * math.pi**2 / width**2)


def ziv_zakai(information: float, width: float, evaluation: float = 0.0) -> float:
    """∫₀ᴸ h(1 − h/L)·½(1 − sin min(a(h), π/2)) dh: Ziv and Zakai's inequality with a uniform prior on the range.

    Guarantee: the average over uniform x of E(x̂ − x)², and so the worst case, is at least this; values form a
    continuum, but the query need not be smooth.

    >>> round(ziv_zakai(0.0, 1.0), 9)  # no answer at all: L²/12
    0.083333333
    """
    _check(information, width, evaluation)
    if math.isinf(information):
        return 0.0
    reach = width
    if information > 0:
        reach = min(width, max(0.0, (math.pi - 2 * math.sqrt(evaluation)) / math.sqrt(information)))
    h = reach * (NODES + 1) / 2
    doubt = 0.5 * (1 - np.sin(np.minimum(angle(h, information, evaluation), math.pi / 2)))
    return float(reach / 2 * (WEIGHTS * h * (1 - h / width) * doubt).sum())


def ziv_zakai_lattice(information: float, spacing: float, count: int, evaluation: float = 0.0) -> float:
    """Σ_{k<N} d²(k − ½)(1 − k/N)·½(1 − sin min(a(kd), π/2)): the same for N values of spacing d.

    Guarantee: the worst case over the N values of E(x̂ − x)² is at least this, whatever the estimator. (It is the
    average over all N or, where they are very many, over every so many of them.)

    >>> round(ziv_zakai_lattice(0.0, 1.0, 2), 3)  # a fair coin nobody can see: 1/8 is promised, 1/4 is true
    0.125
    """
    _check(information, spacing, evaluation)
    if whole("count", count, least=2) and math.isinf(information):
        return 0.0
    most = count - 1  # terms that are not zero: beyond them two values can be told apart for certain
    if information > 0:
        reach = max(0.0, math.pi - 2 * math.sqrt(evaluation)) / (spacing * math.sqrt(information))
        most = min(most, math.ceil(reach))
    stride = max(1, -(-most // MOST_LATTICE_STEPS))
    d, n = spacing * stride, (count - 1) // stride + 1
    k = np.arange(1, min(n - 1, -(-most // stride)) + 1)
    doubt = 0.5 * (1 - np.sin(np.minimum(angle(k * d, information, evaluation), math.pi / 2)))
    return float((d**2 * (k - 0.5) * (1 - k / n) * doubt).sum())


def minimax(information: float, width: float, evaluation: float = 0.0, spacing: float | None = None) -> float:
    """Give the best of these floors that its hypotheses allow, as a mean square.

    With a ``spacing`` only the lattice bound is proved; with evaluation errors van Trees' inequality is not.

    >>> round(minimax(4 * math.pi**2 / 9, 1.0) ** 0.5, 4)
    0.2069
    """
    _check(information, width, evaluation)
    if spacing is not None:
        positive("spacing", spacing)
        count = math.floor(width / spacing * (1 + 1e-12)) + 1
        return ziv_zakai_lattice(information, spacing, count, evaluation)
    smooth = van_trees(information, width) if evaluation == 0 else 0.0
    return max(smooth, ziv_zakai(information, width, evaluation))


def _check(information: float, length: float, evaluation: float = 0.0) -> None:
    for name, value in (("information", information), ("evaluation", evaluation)):
        if not value >= 0:
            raise InputError(f"{name} must not be negative, got {value}")
    positive("a width or spacing", length)
