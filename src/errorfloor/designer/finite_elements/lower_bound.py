"""A proved lower bound of the ground state, from a trial function, its residual, and a rough bound of the next state.

With Rayleigh quotient μ, residual at most η and μ < ν ≤ λ₂: λ₁ ≥ μ/(1 + νη²/(μ(ν − μ))). The rough ν comes from
Crouzeix–Raviart elements; where it does not rise above μ they bound λ₁ themselves.
"""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound, interpolation_constants, lies_above
from errorfloor.designer.finite_elements.enclosure import Reach, level_in_box
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import Region

APART = (1.005, 1.03, 1.2)  # the ν/μ that are tried; a better one gains little
CEILING = 3.0  # times μ: where the potential is above it nothing needs to be resolved
MOST_CELLS = {2: 24_000, 3: 16_000}
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
) -> Bound:
    """Bound μ from below, given the square ``residual`` of a trial function's residual.

    ``rough`` is the square of what the potential that the residual was computed with may be off by, times the function.
    """
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
    mesh = _resolved(problem, region.coarse, weight, quotient, MOST_CELLS[problem.dimension])
    first = min(outside, eigenvalue_bound(mesh, least_potential(problem, mesh, weight), 0, CEILING * quotient))
    others = [Bound(first * (1 - ROUNDING), "lower bound by Crouzeix–Raviart elements")]
    box = level_in_box(problem, weight, reach, CEILING * quotient, 0)
    others.append(Bound(box * (1 - ROUNDING), "lower bound by a box around the support"))
    return max([direct, *others], key=lambda bound: bound.value)


def second_eigenvalue(
    problem: Isotropic, mesh: Mesh, reach: Reach, weight: float, quotient: float, outside: float = math.inf
) -> tuple[float, str]:
    """A proved lower bound of the second eigenvalue: by a box, or by elements on meshes until it is above the first."""
    best, how = min(outside, level_in_box(problem, weight, reach, CEILING * quotient, 1)), "a box around the support"
    cells = MOST_CELLS[problem.dimension] / 16
    while best <= APART[0] * quotient and cells <= MOST_CELLS[problem.dimension]:
        mesh = _resolved(problem, mesh, weight, quotient, cells)
        potential = least_potential(problem, mesh, weight)
        for target in (ratio * quotient for ratio in APART):
            if target > outside or not lies_above(mesh, potential, 1, target, CEILING * quotient):
                break
            best, how = target, "Crouzeix–Raviart elements"
        cells *= 2
    return best, how


def least_potential(problem: Isotropic, mesh: Mesh, weight: float) -> Array:
    """A lower bound of V ≥ 0 on each cell."""
    return np.asarray((weight * problem.least_potential(mesh)).clip(min=0.0))


def _resolved(problem: Isotropic, mesh: Mesh, weight: float, quotient: float, cells: float) -> Mesh:
    """Refine where the potential does not reach the ceiling, largest cells first, to about so many cells."""
    while len(mesh.cells) < cells:
        constant = interpolation_constants(mesh)
        low = least_potential(problem, mesh, weight) < CEILING * quotient
        mesh = mesh.refined(low & (constant > 0.5 * constant[low].max()))
    return mesh
