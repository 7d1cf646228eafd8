"""The allowance: how much information answers may give away before a declared floor breaks."""

import math
from collections.abc import Mapping
from functools import lru_cache
from typing import Protocol

import numpy as np

from errorfloor.accounts import Charge
from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.catalogue.model import Owner
from errorfloor.checks import Array
from errorfloor.floors.adversary import best_success
from errorfloor.floors.adversary.table import value_table
from errorfloor.floors.tapered import DeclaredLoss
from errorfloor.floors.worst_case import STEPS, doubt, doubtful, rule, ziv_zakai

EVALUATION = 1e-6  # information that evaluation errors may carry: an angle of 0.001, far below what noise gives away
COARSE = 100  # a resolution above this part of the floor is summed value by value
FEW = 1000  # and so are this many values or fewer
STATED = 10  # a resolution below this part of the floor is a continuum in the floors that are stated with answers
MARGIN = 1e-10  # relative, on the mean square: far above the rounding of its evaluation
HALVINGS = 48
FEWER = 22  # where each takes a thousand times as long
OTHERS = 1 / 500  # of what raised-cosine answers may spend, for all other noises: it costs them one part in a hundred


class Protected(Protocol):
    """What is protected together: private columns and perhaps their owners, of a table or of a stream."""

    @property
    def private(self) -> Mapping[str, PrivateColumn]:
        """The private columns or states."""

    @property
    def owner(self) -> Owner | None:
        """Who owns several of them, if that is declared."""

    @property
    def exact(self) -> bool:
        """Whether raised-cosine answers are counted apart, by the adversary's game."""


def allowed(table: Protected, column: str) -> Charge:
    """Give the whole allowance of the entries of a private column of a table or, for "", of its owners.

    >>> from errorfloor.catalogue import Table
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> table = Table(source="-", version="1", row_key=["id"], private={"kwh": kwh}, public={"id": "whole"})
    >>> round(allowed(table, "kwh").raised_cosine, 3)
    0.208
    """
    if column:
        declared = table.private[column]
        return Charge(*(exact_allowance(declared) if table.exact else allowance(declared)))
    assert table.owner is not None
    return Charge(*(exact_owner_allowance(table.owner) if table.exact else owner_allowance(table.owner)))


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
    return _allowance(float(column.width), float(column.resolution), column.floor, False), EVALUATION


def exact_allowance(column: PrivateColumn) -> tuple[float, float, float]:
    """Give (Ā₂, Ē, Ā₁) for accounts of raised-cosine answers: A₁ for those and Gaussian noise, A₂ for all other noises.

    Ē = 10⁻⁶, Ā₂ = Ā₁/500, and Ā₁ is the largest for which the floor stays, by the value of the adversary's game.

    Guarantee: as for ``allowance``, as long as each of the three sums stays below its own limit on every transcript.

    >>> other, evaluation, information = exact_allowance(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0))
    >>> round(information, 3), round(other, 6), evaluation
    (0.208, 0.000417, 1e-06)
    """
    information = _allowance(float(column.width), float(column.resolution), column.floor, True)
    return information * OTHERS, EVALUATION, information


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


def exact_owner_allowance(owner: Owner) -> tuple[float, float, float]:
    """Give (Ā₂, 0, Ā₁) for an owner's account of raised-cosine answers: the largest Ā₁ with min(U, sine) ≤ 1 − floor.

    With a declared δ it is also the largest with which ε can be stated, and the floor leaves room for what is cut off.

    Guarantee: as for ``owner_allowance``, as long as both sums stay below their limits on every transcript.

    >>> other, _, information = exact_owner_allowance(Owner(column="household", floor=0.2))
    >>> round(information, 3), round(other, 5)
    (2.668, 0.00534)
    """
    if (stated := owner.stated) is None:
        information = _owner_allowance(owner.floor)
    else:
        information = _stated_allowance(owner.floor, stated)
    return information * OTHERS, 0.0, information


@lru_cache(maxsize=1024)
def _owner_allowance(floor: float) -> float:
    low, high = 0.0, float(value_table().levels[-1])
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if best_success(middle, middle * OTHERS) <= 1 - floor else (low, middle)
    return low * (1 - MARGIN)


@lru_cache(maxsize=1024)
def _stated_allowance(floor: float, stated: DeclaredLoss) -> float:
    most = stated.largest_charge
    if stated.told(float(best_success(most, 0.0)), 1.0) <= 1 - floor:
        return most
    room = stated.told(1 - floor, 1.0) - (1 - floor)
    return min(most, _owner_allowance(floor + 2 * room))


def least_error(
    information: float, evaluation: float, width: float, spacing: float, floor: float, raised_cosine: float = 0.0
) -> float:
    """Bound from below the worst mean-square error of any estimator of an entry with values ``spacing`` apart.

    Few values, or a spacing d above a hundredth of the floor: Σ_{k<N} d²(k − ½)(1 − k/N) q(kd). Fine lattices:
    ∫₀ᴸ (h − d)(1 − h/L) q(h) dh, which is below that sum and costs the same however fine the lattice is. Here
    q(h) = ½(1 − sin min(a(h), π/2)), a(h) = ½(h√A + 2√E), which is zero beyond h = (π − 2√E)/√A; or, with
    ``raised_cosine``, one minus the value of the adversary's game, and a sum below the integral.

    Guarantee: it bounds the worst case over the lattice, for these and any smaller ``information`` and ``evaluation``.

    >>> round(least_error(0.0, 0.0, 1.0, 1e-9, 0.1), 6)  # no answer: L²/12
    0.083333
    """
    reach = doubtful(information, evaluation, raised_cosine, width)
    count = math.floor(width / spacing * (1 + 1e-12)) + 1
    if count > FEW and spacing * COARSE <= floor:
        if raised_cosine:
            return _below_integral(information, evaluation, width, spacing, raised_cosine)
        nodes, weights = rule()
        h: Array = reach * (nodes + 1) / 2
        weight: Array = reach / 2 * weights * (h - spacing) * (1 - h / width)
    else:
        k = np.arange(1, min(count - 1, math.ceil(reach / spacing)) + 1)
        h = k * spacing
        weight = spacing**2 * (k - 0.5) * (1 - k / count)
    return float((weight * doubt(h, information, evaluation, raised_cosine)).sum())


def _below_integral(information: float, evaluation: float, width: float, spacing: float, raised_cosine: float) -> float:
    """Sum ∫(h − d)(1 − h/L)dh over steps, each with the least q of its step; below d, where h − d < 0, with q = ½."""
    reach = doubtful(information, evaluation, raised_cosine, width)
    if reach <= spacing:
        return 0.0
    edges = np.linspace(spacing, reach, STEPS + 1)
    primitive = -spacing * edges + (1 + spacing / width) * edges**2 / 2 - edges**3 / (3 * width)
    q = doubt(edges[1:], information, evaluation, raised_cosine)
    return float((np.diff(primitive) * q).sum()) - spacing**2 / 4


@lru_cache(maxsize=4096)
def _allowance(width: float, spacing: float, floor: float, exact: bool) -> float:
    wanted = floor**2 * (1 + MARGIN)

    def holds(root: float) -> bool:
        given = (root**2 * OTHERS, root**2) if exact else (root**2, 0.0)
        if spacing * STATED <= floor and ziv_zakai(given[0], width, EVALUATION, given[1]) < wanted:
            return False  # proved for the lattice or not: what is stated must not fall below what is declared
        return least_error(given[0], EVALUATION, width, spacing, floor, given[1]) >= wanted

    # The root of A enters the angle. At π/floor nothing is left but doubt about values less than the floor apart, which
    # is too little; halving from there meets the answer while the sums are still short.
    low = high = (math.sqrt(float(value_table().levels[-1])) if exact else math.pi) / floor
    while not holds(low):
        low, high = low / 2, low
    for _ in range(FEWER if exact else HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low**2 * (1 - MARGIN)
