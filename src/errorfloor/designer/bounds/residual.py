"""A proved lower bound of the ground state, from a trial function, its residual, and a rough bound of the next state.

With Rayleigh quotient μ, residual at most η and μ < ν ≤ λ₂: λ₁ ≥ μ/(1 + νη²/(μ(ν − μ))). The rough ν comes from a box
around the support or from Crouzeix–Raviart elements; where it does not rise above μ these bound λ₁ themselves.
"""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import SHARE, eigenvalue_bound, interpolation_constants
from errorfloor.designer.bounds.enclosure import Reach, level_in_box
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import Isotropic, Region

APART = 1.005  # the ν/μ that will do; a better one gains little
FINER = (3.0, 6.0, 12.0, 40.0, 160.0)  # times what is to be bounded: what (π/h)² is made to be
CEILING = 8.0  # times μ: how far levels in a box are followed
LOOKED_AT = 1.4  # times μ: where the potential is above it elements look at nothing
HOPEFUL = 2.5  # times μ: what bounds from a mesh must be able to reach for elements to be tried
FLAT = 0.3  # times μ: a potential that varies less is replaced by its least value
MOST_CELLS = {2: 30_000, 3: 12_000}
ROUNDING = 1e-10  # what the bound is lowered by for rounding


@dataclass(frozen=True)
class Bound:
    """A proved lower bound of μ, and how it was proved."""

    value: float
    proof: str


def from_residual(quotient: float, residual: float, second: float) -> float:
    """Give μ/(1 + νη²/(μ(ν − μ))).

    >>> from_residual(10.0, 0.0, 20.0)
    10.0
    """
    return quotient / (1 + second * residual / (quotient * (second - quotient)))


def proved_bound(
    problem: Isotropic, region: Region, reach: Reach, weight: float, quotient: float, residual: float
) -> Bound:
    """Bound μ from below, given the square ``residual`` of a trial function's residual."""
    second, how = second_eigenvalue(problem, region, reach, weight, quotient)
    direct = Bound(0.0, "")
    if second > quotient * (1 + 1e-6):
        value = from_residual(quotient, residual, second) * (1 - ROUNDING)
        direct = Bound(value, f"lower bound by a balanced flux, {how} bounding the second eigenvalue")
        if value > 0.99 * quotient:
            return direct
    outside = weight * region.outside if weight else math.inf
    mesh = _refined(problem, region.coarse, weight, quotient, FINER[-1])
    first = min(outside, _from_elements(problem, mesh, weight, quotient, 0))
    box = level_in_box(problem, weight, reach, CEILING * quotient, 0)
    others = [
        Bound(first * (1 - ROUNDING), "lower bound by Crouzeix–Raviart elements"),
        Bound(box * (1 - ROUNDING), "lower bound by a box around the support"),
    ]
    return max([direct, *others], key=lambda bound: bound.value)


def second_eigenvalue(
    problem: Isotropic, region: Region, reach: Reach, weight: float, quotient: float
) -> tuple[float, str]:
    """A proved lower bound of the second eigenvalue: by a box, or by elements on meshes until it is above the first."""
    outside = weight * region.outside if weight else math.inf
    best, how = min(outside, level_in_box(problem, weight, reach, CEILING * quotient, 1)), "a box around the support"
    mesh = region.coarse
    for finer in FINER:
        if best > APART * quotient:
            break
        finest = _refined(problem, mesh, weight, quotient, finer)
        if len(finest.cells) > len(mesh.cells) or finer == FINER[0]:
            mesh = finest
            found = min(outside, _from_elements(problem, mesh, weight, quotient, 1))
            best, how = max((best, how), (found, "Crouzeix–Raviart elements"))
    return best, how


def least_potential(problem: Isotropic, mesh: Mesh, weight: float) -> Array:
    """A lower bound of V ≥ 0 on each cell: the least of its Bernstein coefficients, or of each |wᵢ|."""
    if not weight:
        return np.zeros(len(mesh.cells))
    if problem.loss is not None and problem.loss.weight is None:
        w = mesh.corners @ problem.root.T
        return np.asarray(weight / 4 * np.maximum(w.min(axis=1), -w.max(axis=1)).clip(min=0.0).sum(axis=1))
    return np.asarray((weight * problem.potential(mesh)).min(axis=1).clip(min=0.0))


def _refined(problem: Isotropic, mesh: Mesh, weight: float, quotient: float, finer: float) -> Mesh:
    """Refine where V is low until (π/h)² is so many times the quotient, or there are too many cells."""
    while True:
        low = least_potential(problem, mesh, weight) < LOOKED_AT * quotient
        coarse = low & ((math.pi / mesh.diameters) ** 2 < finer * quotient)
        if not coarse.any() or low.sum() > MOST_CELLS[problem.dimension]:
            return mesh
        mesh = mesh.refined(coarse)


def _from_elements(problem: Isotropic, mesh: Mesh, weight: float, quotient: float, which: int) -> float:
    """A lower bound of the least (0) or second (1) eigenvalue; 0 where the mesh is too coarse to tell anything."""
    least, ceiling = least_potential(problem, mesh, weight), LOOKED_AT * quotient
    floor = float(least.min())
    if float(least.max()) - floor < FLAT * quotient:  # then its least value serves as well, and costs nothing else
        return floor + eigenvalue_bound(mesh, np.zeros(len(least)), which)
    if not (least < ceiling).any():
        return ceiling
    reached = (1 - SHARE) / float(interpolation_constants(mesh)[least < ceiling].max())  # what no bound can exceed
    if reached < HOPEFUL * quotient:
        return 0.0
    return eigenvalue_bound(mesh, least, which, ceiling)
