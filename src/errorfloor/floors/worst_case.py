"""Floors under the mean-square error of any estimator, in the worst case over an entry's declared range.

Each gives a mean square; its root is an error in the data's units. All take the information I about the entry, a bound
that holds everywhere on the range of width L, and E, the information of evaluation errors.
"""

import math
from functools import cache

import numpy as np

from errorfloor.checks import Array, positive, whole
from errorfloor.errors import InputError
from errorfloor.floors.adversary.table import value_table
from errorfloor.floors.two_point import angle, told_apart

MOST_LATTICE_STEPS = 100_000
STEPS = 1200  # of the sum below an integral whose integrand is not smooth


@cache
def rule(count: int = 48) -> tuple[Array, Array]:
    """Give the nodes and weights of Gauss and Legendre on [−1, 1].

    They are computed when they are wanted: NumPy wakes all cores for their eigenvalues, and most answers do without.

    >>> float(rule(2)[1].sum())
    2.0
    """
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return nodes, weights


def van_trees(information: float, width: float) -> float:
    """1/(I + 4π²/L²): van Trees' inequality with a raised-cosine prior on the range.

    Guarantee: sup over the range of E(x̂ − x)² is at least this, for a continuum of values and a smooth query. It
    bounds the worst case, not the average over a uniform x.

    >>> round(van_trees(4 * math.pi**2 / 0.25, 1.0) ** 0.5, 4)
    0.0712
    """
    _check(information, width)
    return 1 / (information + 4 * math.pi**2 / width**2)


def ziv_zakai(information: float, width: float, evaluation: float = 0.0, raised_cosine: float = 0.0) -> float:
    """∫₀ᴸ h(1 − h/L)·q(h) dh: Ziv and Zakai's inequality with a uniform prior on the range.

    q(h) is how often values h apart are mistaken at least: ½(1 − sin min(a(h), π/2)) or, with ``raised_cosine``, the
    larger one of the adversary's game. Then the integral is replaced by a sum below it.

    Guarantee: the average over uniform x of E(x̂ − x)², and so the worst case, is at least this; values form a
    continuum, but the query need not be smooth.

    >>> round(ziv_zakai(0.0, 1.0), 9)  # no answer at all: L²/12
    0.083333333
    """
    _check(information, width, evaluation, raised_cosine)
    if math.isinf(information + raised_cosine):
        return 0.0
    reach = doubtful(information, evaluation, raised_cosine, width)
    if raised_cosine:
        edges = np.linspace(0.0, reach, STEPS + 1)
        weight = np.diff(edges**2 / 2 - edges**3 / (3 * width))
        return float((weight * doubt(edges[1:], information, evaluation, raised_cosine)).sum()) * (1 - 1e-12)
    nodes, weights = rule()
    h = reach * (nodes + 1) / 2
    return float(reach / 2 * (weights * h * (1 - h / width) * doubt(h, information, evaluation)).sum())


def doubt(distance: Array, information: float, evaluation: float = 0.0, raised_cosine: float = 0.0) -> Array:
    """Give q(h), how often values h apart are mistaken at least, at even odds; it does not rise with h.

    >>> doubt(np.array([0.0, 1.0, 9.0]), 0.0, 0.0, 2.0).round(3).tolist()
    [0.5, 0.234, 0.0]
    """
    if raised_cosine:
        return np.asarray(1 - told_apart(distance, information, evaluation, raised_cosine))
    return np.asarray(0.5 * (1 - np.sin(np.minimum(angle(distance, information, evaluation), math.pi / 2))))


def doubtful(information: float, evaluation: float, raised_cosine: float, width: float) -> float:
    """Give the distance up to which values can be mistaken at all, and at most the ``width``."""
    if raised_cosine > 0:
        most, root = math.sqrt(float(value_table().levels[-1])), math.sqrt(raised_cosine)
    elif information > 0:
        most, root = math.pi, math.sqrt(information)
    else:
        return width
    return min(width, max(0.0, (most - 2 * math.sqrt(evaluation)) / root))


def ziv_zakai_lattice(
    information: float, spacing: float, count: int, evaluation: float = 0.0, raised_cosine: float = 0.0
) -> float:
    """Σ_{k<N} d²(k − ½)(1 − k/N)·q(kd): the same for N values of spacing d.

    Guarantee: the worst case over the N values of E(x̂ − x)² is at least this, whatever the estimator. (It is the
    average over all N or, where they are very many, over every so many of them.)

    >>> round(ziv_zakai_lattice(0.0, 1.0, 2), 3)  # a fair coin nobody can see: 1/8 is promised, 1/4 is true
    0.125
    """
    _check(information, spacing, evaluation, raised_cosine)
    if whole("count", count, least=2) and math.isinf(information + raised_cosine):
        return 0.0
    # terms that are not zero: beyond them two values can be told apart for certain
    reach = doubtful(information, evaluation, raised_cosine, math.inf) / spacing
    most = min(count - 1, math.ceil(reach)) if math.isfinite(reach) else count - 1
    stride = max(1, -(-most // MOST_LATTICE_STEPS))
    d, n = spacing * stride, (count - 1) // stride + 1
    k = np.arange(1, min(n - 1, -(-most // stride)) + 1)
    return float((d**2 * (k - 0.5) * (1 - k / n) * doubt(k * d, information, evaluation, raised_cosine)).sum())


def minimax(
    information: float,
    width: float,
    evaluation: float = 0.0,
    spacing: float | None = None,
    raised_cosine: float = 0.0,
) -> float:
    """Give the best of these floors that its hypotheses allow, as a mean square.

    With a ``spacing`` only the lattice bound is proved; with evaluation errors van Trees' inequality is not.
    ``raised_cosine`` is the information of answers with raised-cosine or Gaussian noise, ``information`` of all others.

    >>> round(minimax(4 * math.pi**2 / 9, 1.0) ** 0.5, 4)
    0.2069
    >>> round(minimax(0.0, 1.0, raised_cosine=4 * math.pi**2 / 9) ** 0.5, 3)
    0.223
    """
    _check(information, width, evaluation, raised_cosine)
    if spacing is not None:
        positive("spacing", spacing)
        count = math.floor(width / spacing * (1 + 1e-12)) + 1
        return ziv_zakai_lattice(information, spacing, count, evaluation, raised_cosine)
    smooth = van_trees(information + raised_cosine, width) if evaluation == 0 else 0.0
    return max(smooth, ziv_zakai(information, width, evaluation, raised_cosine))


def _check(information: float, length: float, evaluation: float = 0.0, raised_cosine: float = 0.0) -> None:
    given = (("information", information), ("evaluation", evaluation), ("raised_cosine", raised_cosine))
    for name, value in given:
        if not value >= 0:
            raise InputError(f"{name} must not be negative, got {value}")
    positive("a width or spacing", length)
