"""A proved lower bound of the ground state, from a trial function, its residual, and a rough bound of the next state.

With Rayleigh quotient μ, residual at most η and μ < ν ≤ λ₂: λ₁ ≥ μ/(1 + νη²/(μ(ν − μ))). The rough ν comes from a box
around the support or from hybrid elements; where it does not rise above μ they bound λ₁ themselves.
"""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.enclosure import Reach, level_in_box
from errorfloor.designer.finite_elements.hybrid import eigenvalue_lies_above
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import Region
from errorfloor.noise.piecewise_bernstein import exponents

APART = (1.005, 1.03, 1.12)  # the ν/μ that are tried; a better one gains little
SHARES = (0.99, 0.95, 0.85, 0.7, 0.5, 0.3)  # of μ that are tried as bounds of the least eigenvalue
FINER = (1.3, 2.0, 4.0)  # times what is to be bounded: what (π/h)² + V is made to be
CEILING = 3.0  # times μ: where the potential is above it nothing is looked at
MOST_CELLS = {2: 12_000, 3: 10_000}
ROUNDING = 1e-10  # what the bound is lowered by for rounding


@dataclass(frozen=True)
class Bound:
    """A proved lower bound of μ, and how it was proved."""

    value: float
    method: str


def from_residual(quotient: float, residual: float, second: float) -> float:
    """Give μ/(1 + νη²/(μ(ν − μ))).

    >>> from_residual(10.0, 0.0, 20.0)
    10.0
    """
    return quotient / (1 + second * residual / (quotient * (second - quotient)))


def proved_bound(
    problem: Isotropic,
    region: Region,
    reach: Reach,
    weight: float,
    quotient: float,
    residual: float,
    rough: float = 0.0,
    off: float = 0.0,
) -> Bound:
    """Bound μ from below, given the square ``residual`` of a trial function's residual.

    ``rough`` is the square of what the potential that the residual was computed with may be off by, times the function,
    and ``off`` the distance between μ and the level that it was computed with.
    """
    if off:
        least = level_in_box(problem, weight, reach, quotient, 0)
        residual = (math.sqrt(residual) + off / math.sqrt(least)) ** 2 if least > 0 else math.inf
    if rough:
        least = level_in_box(problem, 0.0, reach, CEILING * quotient, 0)
        residual = (math.sqrt(residual) + 2 * math.sqrt(rough / least)) ** 2
    outside = weight * region.outside if weight else math.inf
    second, how = second_eigenvalue(problem, region.coarse, reach, weight, quotient, outside)
    direct = Bound(0.0, "")
    if second > quotient * (1 + 1e-6):
        value = from_residual(quotient, residual, second) * (1 - ROUNDING)
        direct = Bound(value, f"lower bound by a balanced flux, {how} bounding the second eigenvalue")
        if value > 0.99 * quotient:
            return direct
    first = first_eigenvalue(problem, region.coarse, weight, quotient, outside, direct.value)
    others = [Bound(first * (1 - ROUNDING), "lower bound by hybrid elements")]
    box = level_in_box(problem, weight, reach, CEILING * quotient, 0)
    others.append(Bound(box * (1 - ROUNDING), "lower bound by a box around the support"))
    return max([direct, *others], key=lambda bound: bound.value)


def second_eigenvalue(
    problem: Isotropic, mesh: Mesh, reach: Reach, weight: float, quotient: float, outside: float = math.inf
) -> tuple[float, str]:
    """A proved lower bound of the second eigenvalue: by a box, or by elements on meshes until it is above the first."""
    best, how = min(outside, level_in_box(problem, weight, reach, CEILING * quotient, 1)), "a box around the support"
    ceiling = CEILING * quotient
    for finer in FINER:
        if best > APART[0] * quotient:
            break
        mesh = _resolved(problem, mesh, weight, APART[0] * quotient, finer)
        potential = lower_potential(problem, mesh, weight)
        for target in (ratio * quotient for ratio in APART):
            if target > outside or not eigenvalue_lies_above(mesh, potential, 1, target, ceiling):
                break
            best, how = target, "hybrid elements"
    return best, how


def first_eigenvalue(
    problem: Isotropic, mesh: Mesh, weight: float, quotient: float, outside: float = math.inf, known: float = 0.0
) -> float:
    """A proved lower bound of the least eigenvalue by elements, 0 if none is found above the one that is known."""
    mesh = _resolved(problem, mesh, weight, quotient, FINER[1])
    potential = lower_potential(problem, mesh, weight)
    for target in (share * quotient for share in SHARES):
        if known < target <= outside and eigenvalue_lies_above(mesh, potential, 0, target, CEILING * quotient):
            return target
    return 0.0


def least_potential(problem: Isotropic, mesh: Mesh, weight: float) -> Array:
    """A lower bound of V ≥ 0 on each cell."""
    return np.asarray((weight * problem.least_potential(mesh)).clip(min=0.0))


def lower_potential(problem: Isotropic, mesh: Mesh, weight: float) -> Array:
    """V itself on each cell, or a constant below it, as Bernstein coefficients of degree two."""
    if problem.is_given or not weight:
        count = len(exponents(problem.dimension, 2))
        return np.repeat(least_potential(problem, mesh, weight)[:, None], count, axis=1)
    return weight * problem.potential(mesh)


def _resolved(problem: Isotropic, mesh: Mesh, weight: float, target: float, finer: float) -> Mesh:
    """Refine where V does not reach the target until (π/h)² + V is so many times it, or there are too many cells."""
    while True:
        least = least_potential(problem, mesh, weight)
        low = least < target
        coarse = low & ((math.pi / mesh.diameters) ** 2 + least < finer * target)
        if not coarse.any() or low.sum() > MOST_CELLS[problem.dimension]:
            return mesh
        mesh = mesh.refined(coarse)
