"""Convex shapes with flat faces in four dimensions: polynomials on a coarse mesh, and bounds by larger shapes.

The noise is the best continuous piecewise polynomial on a mesh of the support, or of what a loss leaves of an unbounded
one; its value is its own. From below it is bounded by inclusion: on simplices of faces, by ``alcoves``; on boxes along
faces; and with a loss by what all of space, or a product around the support, costs.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.around import bound_around
from errorfloor.designer.finite_elements.adaptive import Discretisation
from errorfloor.designer.finite_elements.assembly import Space
from errorfloor.designer.finite_elements.eigen import least_pair
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.polytope_mesh import polytope_mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import aligned
from errorfloor.designer.finite_elements.truncation import first_guess, truncating_walls
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.noise import Loss, Piecewise
from errorfloor.support import Polytope, Support

DEGREES = (9, 8, 7, 6, 5, 4)
MOST_UNKNOWNS = 1500
MOST_CELLS = 200  # of a mesh that an absolute loss has cut along its kinks
GIVEN = (5, 4)  # of a loss whose moments have to be computed one by one
STEEP = {"square": 2.2, "other": 1.5}  # times the energy: where the potential is above that little of the density is
NEAR = 2.0  # weights this close, as a factor, use one mesh
REFERENCE = "Rayleigh and Ritz; designer/alcoves.proof.md"


@dataclass(frozen=True, eq=False)
class _Kept:
    """The matrices of a problem, used again at other weights near ``weight``."""

    problem: Isotropic
    discretisation: Discretisation
    weight: float

    def serves(self, weight: float) -> bool:
        """Whether the mesh reaches far enough, and not too far, at another weight."""
        return weight == self.weight or (self.weight > 0 and 1 / NEAR <= weight / self.weight <= NEAR)


def ground_state(
    support: Support,
    sensitivity: Array,
    loss: Loss | None,
    loss_weight: float,
    *,
    tolerance: float,
    progress: Progress | None = None,
    start: GroundState | None = None,
    certify: bool = True,
) -> GroundState:
    """Give a good noise on a polytope in four dimensions, which may be unbounded if there is a loss.

    ``tolerance`` has no say: the mesh is as fine as it can be. ``start`` keeps the discretisation of an earlier state.

    >>> corner = Polytope(vertices=np.vstack([np.zeros(4), np.eye(4)]))
    >>> found = ground_state(corner, np.eye(4), None, 0.0, tolerance=1e-6)
    >>> bool(found.gap < 0.01), bool(corner.contains(found.noise.sample(100)).all())
    (True, True)
    """
    weight = loss_weight if loss is not None else 0.0
    kept = start.memory if start is not None and isinstance(start.memory, _Kept) else None
    if kept is None or not kept.serves(weight):
        if progress is not None:
            progress("polynomials in four dimensions", 0.3)
        kept = _discretised(Isotropic(support, sensitivity, loss), weight)
    space, (_, x) = kept.discretisation.space, _solved(kept.discretisation, weight)
    mesh = space.mesh
    noise = Piecewise(support, mesh.vertices @ kept.problem.root.T, mesh.cells, space.degree, space.extended(x))
    value = float(np.trace(sensitivity @ noise.information))
    if weight and loss is not None:
        value += weight * noise.expected_loss(loss)
    lower, how = None, "no lower bound was asked for"
    if certify:
        if progress is not None:
            progress("lower bound", 0.7)
        found, how = bound_around(support, sensitivity, loss, weight)
        lower = None if found is None else min(found, value)
    method = f"polynomials of degree {space.degree} on {len(mesh.cells)} simplices; {how}"
    return GroundState(noise, value, lower, method, REFERENCE, kept)


def _solved(discretisation: Discretisation, weight: float) -> tuple[float, Array]:
    space = discretisation.space
    form = space.stiffness if weight == 0 else space.stiffness + weight * discretisation.loss
    return least_pair(form, space.mass)


def _discretised(problem: Isotropic, weight: float) -> _Kept:
    """Mesh the support, or what a loss leaves of it: the energy that this depends on is that of an earlier solution."""
    if weight == 0:
        return _Kept(problem, Discretisation(problem, _space(_mesh(problem, problem, 0.0, 0.0))), 0.0)
    guess = first_guess(problem, weight)
    if problem.support.is_bounded:
        low, high = problem.support.bounding_box
        narrow = 4 * np.linalg.inv(problem.sensitivity).diagonal() * (high - low) ** 2
        guess = guess + 4 * math.pi**2 * float((1 / narrow).sum())
    for _ in range(4):
        found = _on_mesh(problem, weight, guess)
        energy = _solved(found, weight)[0] + weight * found.problem.offset / 4
        if 0.4 * guess <= energy <= 1.1 * guess:
            break
        guess = energy
    return _Kept(found.problem, found, weight)


def _on_mesh(problem: Isotropic, weight: float, energy: float) -> Discretisation:
    mesh, own = _mesh(problem, problem, weight, energy), problem
    if len(mesh.cells) > MOST_CELLS and problem.loss is not None and problem.loss.is_absolute:
        own = replace(problem, loss=Loss(None, problem.loss))  # kinks would cut too many cells: only values are used
        mesh = _mesh(problem, own, weight, energy)
    if own.is_given:
        own = replace(own, offset=4 * float(own.interpolated(mesh).min()))
    return Discretisation(own, _space(mesh, GIVEN if own.is_given else DEGREES), interpolates=True)


def _mesh(walled: Isotropic, problem: Isotropic, weight: float, energy: float) -> Mesh:
    """Mesh what walls leave of the support, aligned with the kinks of a loss that has known ones."""
    half_spaces = problem.support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    A, b = half_spaces[0] @ problem.root, half_spaces[1]
    if weight:
        kind = "square" if walled.loss is not None and walled.loss.weight is not None else "other"
        normals, offsets = truncating_walls(walled, weight, energy, STEEP[kind])
        A, b = np.vstack([A, normals]), np.concatenate([b, offsets])
    body = Polytope(A=A, b=b)
    corners = body.facets.center + body.facets.size * body.facets.corners
    mesh = aligned(problem, polytope_mesh(*body.half_spaces, corners))
    while problem.is_given and len(mesh.cells) < 24:
        mesh = mesh.refined()
    return mesh


def _space(mesh: Mesh, degrees: tuple[int, ...] = DEGREES) -> Space:
    """The highest degree that leaves few enough unknowns."""
    spaces = (Space(mesh, degree) for degree in degrees if _about(mesh, degree) <= 8 * MOST_UNKNOWNS)
    return next((space for space in spaces if len(space.free) <= MOST_UNKNOWNS), Space(mesh, degrees[-1]))


def _about(mesh: Mesh, degree: int) -> int:
    """How many control points lie inside the cells."""
    return len(mesh.cells) * math.comb(degree - 1, 4)
