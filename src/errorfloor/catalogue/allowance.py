"""The allowance: how much information answers may give away before a declared floor breaks."""

import math
from functools import lru_cache

import numpy as np

from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.catalogue.model import Owner
from errorfloor.checks import Array
from errorfloor.floors.two_point import angle
from errorfloor.floors.worst_case import NODES, WEIGHTS, ziv_zakai

EVALUATION = 1e-6  # information that evaluation errors may carry: an angle of 0.001, far below what noise gives away
COARSE = 100  # a resolution above this part of the floor is summed value by value
FEW = 1000  # and so are this many values or fewer
STATED = 10  # a resolution below this part of the floor is a continuum in the floors that are stated with answers
MARGIN = 1e-10  # relative, on the mean square: far above the rounding of its evaluation
HALVINGS = 48


def allowance(column: PrivateColumn) -> tuple[float, float]:
    """Give the information A and the evaluation error E that all answers together may spend on an entry of a column.

    E = 10⁻⁶; A is the largest for which the floor under any estimator, worst case over the range, stays at or above the
    declared one: ``least_error(A, E, …) ≥ floor²``, rounded down. Where the resolution is a tenth of the floor or
    finer, the floor for a continuum must stay there too; that decides only where there are few values.

    Guarantee: whatever answers are given, as long as Σ I_k L_k² ≤ A and Σ I_k η_k² ≤ E for an entry, every estimator of
    it, even one that knows all else, has for some stored value of the range a root-mean-square error of at least the
    declared floor.

    >>> information, evaluation = allowance(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0))
    >>> round(information, 3), evaluation
    (0.107, 1e-06)
    """
    return _allowance(float(column.width), float(column.resolution), column.floor), EVALUATION


def owner_allowance(owner: Owner) -> tuple[float, float]:
    """Give the information that all answers together may spend on an owner; evaluation errors are inside it.

    ½(1 + sin a) ≤ 1 − floor with the angle a = ½√A gives A = (2 arcsin(1 − 2·floor))², rounded down.

    Guarantee: as long as Σ_k I_k (Σ_i L_ki R_i + 2η_k)² ≤ A, nobody tells two histories of the owner apart more often
    than 1 − floor of the time, at even odds.

    >>> information, evaluation = owner_allowance(Owner(column="household", floor=0.2))
    >>> round(information, 3), evaluation
    (1.656, 0.0)
    """
    return (2 * math.asin(1 - 2 * owner.floor)) ** 2 * (1 - MARGIN), 0.0


def least_error(information: float, evaluation: float, width: float, spacing: float, floor: float) -> float:
    """Bound from below the worst mean-square error of any estimator of an entry with values ``spacing`` apart.

    Few values, or a spacing d above a hundredth of the floor: Σ_{k<N} d²(k − ½)(1 − k/N) q(kd). Fine lattices:
    ∫₀ᴸ (h − d)(1 − h/L) q(h) dh, which is below that sum and costs the same however fine the lattice is. Here
    q(h) = ½(1 − sin min(a(h), π/2)), a(h) = ½(h√A + 2√E), which is zero beyond h = (π − 2√E)/√A.

    Guarantee: it bounds the worst case over the lattice, for these and any smaller ``information`` and ``evaluation``.

    >>> round(least_error(0.0, 0.0, 1.0, 1e-9, 0.1), 6)  # no answer: L²/12
    0.083333
    """
    reach = width
    if information > 0:
        reach = min(width, max(0.0, (math.pi - 2 * math.sqrt(evaluation)) / math.sqrt(information)))
    count = math.floor(width / spacing * (1 + 1e-12)) + 1
    if count > FEW and spacing * COARSE <= floor:
        h: Array = reach * (NODES + 1) / 2
        weight: Array = reach / 2 * WEIGHTS * (h - spacing) * (1 - h / width)
    else:
        k = np.arange(1, min(count - 1, math.ceil(reach / spacing)) + 1)
        h = k * spacing
        weight = spacing**2 * (k - 0.5) * (1 - k / count)
    doubt = 0.5 * (1 - np.sin(np.minimum(angle(h, information, evaluation), math.pi / 2)))
    return float((weight * doubt).sum())


@lru_cache(maxsize=4096)
def _allowance(width: float, spacing: float, floor: float) -> float:
    wanted = floor**2 * (1 + MARGIN)

    def holds(root: float) -> bool:
        if spacing * STATED <= floor and ziv_zakai(root**2, width, EVALUATION) < wanted:
            return False  # proved for the lattice or not: what is stated must not fall below what is declared
        return least_error(root**2, EVALUATION, width, spacing, floor) >= wanted

    # The root of A enters the angle. At π/floor nothing is left but doubt about values less than the floor apart, which
    # is too little; halving from there meets the answer while the sums are still short.
    low = high = math.pi / floor
    while not holds(low):
        low, high = low / 2, low
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low**2 * (1 - MARGIN)
