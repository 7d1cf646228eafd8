"""Unbounded supports with a quality term: solve where the loss leaves something of the density, inside the support.

The potential V = ¼ϱℓ confines the ground state: it decays like the exponential of −∫√(V − μ). The support is cut off
where V − inf V is so many times μ − inf V that little of it is left; the density lives on that piece, and all that is
stated is its own.
"""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import least_place, smallest_loss
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.polygon_mesh import graded, polygon_mesh
from errorfloor.designer.finite_elements.polytope_mesh import polytope_mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import MISSING, Region, aligned
from errorfloor.errors import SupportError
from errorfloor.support import Polytope

# times the energy; μ adds up over the coordinates, so that each alone may be cut off sooner the more of them there are,
# and a linear loss needs far more room than a quadratic one to become large
STEEP = {2: 14.0, 3: 6.0}
STEEP_ABSOLUTE = {2: 4.5, 3: 2.2}


def truncated_region(problem: Isotropic, weight: float, quotient: float) -> Region:
    """Mesh what is left of the support where V is not far above μ, of which ``quotient`` is an estimate."""
    A, b = _half_spaces(problem)
    assert problem.loss is not None, "without a loss nothing confines the noise"
    steep = STEEP_ABSOLUTE if problem.loss.is_absolute else STEEP
    normals, offsets = truncating_walls(problem, weight, quotient, steep[problem.dimension])
    body = Polytope(A=np.vstack([A @ problem.root, normals]), b=np.concatenate([b, offsets]))
    corners = body.facets.center + body.facets.size * body.facets.corners
    walls = np.column_stack([normals, offsets])
    outside = min(_beyond(problem, A, b, normal, offset) for normal, offset in zip(normals, offsets, strict=True))
    if problem.dimension == 3:
        coarse = aligned(problem, polytope_mesh(*body.half_spaces, corners, walls))
        return Region(coarse, coarse.refined_to(1.0 * float(coarse.volumes.sum()) ** (1 / 3)), outside)
    middle = corners - corners.mean(axis=0)
    corners = corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    plain = polygon_mesh(corners)
    coarse = aligned(problem, Mesh(plain.vertices, plain.cells, walls))
    far = np.abs(corners @ normals.T - offsets).min(axis=1) > 1e-9 * body.facets.size
    return Region(coarse, graded(coarse, corners, corners[far], MISSING), outside)


def truncating_walls(problem: Isotropic, weight: float, quotient: float, steep: float) -> tuple[Array, Array]:
    """Half-spaces outside of which V − inf V is more than ``steep`` times what the ground state has, about."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    least = weight / 4 * smallest_loss(problem.support, problem.loss)
    return _walls(problem, weight, least + steep * max(quotient - least, 0.05 * quotient))


def _half_spaces(problem: Isotropic) -> tuple[Array, Array]:
    half_spaces = problem.support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    return half_spaces


def first_guess(problem: Isotropic, weight: float) -> float:
    """About the least μ that the loss alone allows, on all of space."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    least = weight / 4 * smallest_loss(problem.support, problem.loss)
    if problem.loss.weight is not None:
        form = weight / 4 * problem.root.T @ problem.loss.weight @ problem.root
        return least + float(np.sqrt(np.linalg.eigvalsh(form)).sum())
    if problem.is_given:
        return _first_guess_of_given(problem, weight)
    spread = np.sqrt(np.diag(problem.sensitivity))
    return least + float(((weight / 4) ** (2 / 3) * spread ** (2 / 3)).sum())


def _walls(problem: Isotropic, weight: float, ceiling: float) -> tuple[Array, Array]:
    """Half-spaces in isotropic coordinates outside of which V is above the ceiling, normals of unit length."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    if problem.is_given:
        return _walls_of_given(problem, weight, ceiling)
    if problem.loss.weight is not None:
        strength, axes = np.linalg.eigh(weight / 4 * problem.root.T @ problem.loss.weight @ problem.root)
        reach, rows = np.sqrt(ceiling / strength), axes.T
    else:
        length = np.linalg.norm(problem.root, axis=1)
        rows, reach = problem.root / length[:, None], 4 * ceiling / (weight * length)
    return np.vstack([rows, -rows]), np.concatenate([reach, reach])


def _beyond(problem: Isotropic, A: Array, b: Array, normal: Array, offset: float) -> float:
    """What ¼ℓ is at least on the support beyond a wall, a little less for the accuracy of its computation."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    if problem.is_given:
        return 0.0  # of a given loss nothing is proved out there
    row = -normal @ problem.inverse
    try:
        rest = Polytope(A=np.vstack([A, row]), b=np.append(b, -offset))
    except SupportError:  # nothing of the support is there
        return math.inf
    return 0.999 * smallest_loss(rest, problem.loss) / 4


def _along_axes(problem: Isotropic, weight: float) -> tuple[Array, Callable[[Array], Array]]:
    """Where a given loss is least, in isotropic coordinates, and V there ± each of some steps along each axis."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    loss = problem.loss
    place = least_place(problem.support, loss) @ problem.inverse.T
    axes = np.vstack([np.eye(problem.dimension), -np.eye(problem.dimension)])

    def potential(steps: Array) -> Array:
        points = (place + steps[:, None, None] * axes) @ problem.root.T
        values = weight / 4 * np.asarray(loss(points))
        # outside the support a loss need not be known
        inside = problem.support.contains(points)
        return np.where(inside & np.isfinite(values), values, np.nan)

    return place, potential


def _first_guess_of_given(problem: Isotropic, weight: float) -> float:
    """The energy of a cube around the least place, of the best size."""
    place, potential = _along_axes(problem, weight)
    steps = (1 + float(np.abs(place).max())) * np.geomspace(1e-6, 1e6, 121)
    with np.errstate(over="ignore"):
        most = np.nanmax(np.column_stack([potential(steps), np.zeros(len(steps))]), axis=1)
    return float(np.min(problem.dimension * math.pi**2 / (4 * steps**2) + most))


def _walls_of_given(problem: Isotropic, weight: float, ceiling: float) -> tuple[Array, Array]:
    """Walls where a given loss reaches the ceiling along the axes, and half as far again; a guess, as all such."""
    m = problem.dimension
    place, potential = _along_axes(problem, weight)
    steps = (1 + float(np.abs(place).max())) * np.geomspace(1e-6, 1e6, 481)
    with np.errstate(over="ignore", invalid="ignore"):
        values = potential(steps)
        reached = values >= ceiling
    reach = np.where(reached.any(axis=0), steps[np.argmax(reached, axis=0)], np.nan)
    # an axis that leaves the support before says little: the wall across it stands as far off as the others
    inside = np.where(np.isfinite(values), steps[:, None], 0.0).max()
    reach = 1.5 * np.where(np.isnan(reach), np.nanmax(np.append(reach, min(10 * inside, steps[-1]))), reach)
    rows = np.vstack([np.eye(m), -np.eye(m)])
    return rows, rows @ place + reach
