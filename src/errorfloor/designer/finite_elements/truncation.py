"""Unbounded supports with a quality term: solve where the loss leaves something of the density, inside the support.

The potential V = ¼ϱℓ confines the ground state: it decays like the exponential of −∫√(V − μ). The support is cut off
where V − inf V is so many times μ − inf V that little of it is left; the density lives on that piece, and all that is
stated is its own.
"""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import least_place, smallest_loss
from errorfloor.designer.finite_elements.convex import least_value
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.polygon_mesh import graded, polygon_mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import MISSING, Region, aligned, spatial_mesh
from errorfloor.errors import SupportError
from errorfloor.support import Polytope

# times the energy; μ adds up over the coordinates, so that each alone may be cut off sooner the more of them there are,
# and a linear loss needs far more room than a quadratic one to become large
STEEP = {2: 14.0, 3: 6.0}
STEEP_ABSOLUTE = {2: 4.5, 3: 2.2}
SPARE = 1.05  # times as far as rays come below a ceiling: the first walls beyond which that is to be proved
WIDER, MOVES = 1.3, 12  # and how they are moved outwards where it is not


def truncated_region(problem: Isotropic, weight: float, quotient: float) -> Region:
    """Mesh what is left of the support where V is not far above μ, of which ``quotient`` is an estimate."""
    A, b = _half_spaces(problem)
    assert problem.loss is not None, "without a loss nothing confines the noise"
    steep = STEEP_ABSOLUTE if problem.loss.is_absolute else STEEP
    normals, offsets = truncating_walls(problem, weight, quotient, steep[problem.dimension])
    coarse, corners = _cut_off(problem, normals, offsets)
    outside = min(_beyond(problem, A, b, normal, offset) for normal, offset in zip(normals, offsets, strict=True))
    if problem.dimension == 3:
        return Region(coarse, coarse.refined_to(1.0 * float(coarse.volumes.sum()) ** (1 / 3)), outside)
    far = np.abs(corners @ normals.T - offsets).min(axis=1) > 1e-9 * float(np.ptp(corners, axis=0).max())
    return Region(coarse, graded(coarse, corners, corners[far], MISSING), outside)


def _cut_off(problem: Isotropic, normals: Array, offsets: Array) -> tuple[Mesh, Array]:
    """A coarse mesh of the support between some walls, in isotropic coordinates, and its corners."""
    A, b = _half_spaces(problem)
    body = Polytope(A=np.vstack([A @ problem.root, normals]), b=np.concatenate([b, offsets]))
    corners = body.facets.center + body.facets.size * body.facets.corners
    walls = np.column_stack([normals, offsets])
    if problem.dimension == 3:
        return spatial_mesh(problem, *body.half_spaces, corners, walls), corners
    middle = corners - corners.mean(axis=0)
    corners = corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    plain = polygon_mesh(corners)
    return aligned(problem, Mesh(plain.vertices, plain.cells, walls)), corners


def box_below(problem: Isotropic, weight: float, ceiling: float, axes: Array) -> Mesh | None:
    """Mesh what of the support is in a box along some axes beyond which a given V is proved to be at least a ceiling.

    The segment from the least place to a point beyond the box passes a wall of it; convexity lets V rise from there on
    if it has risen up to there. The walls are moved outwards until V is proved to be high on all of them.
    """
    place, rays, steps, values = _along_rays(problem, weight, 241)
    low = values < ceiling
    reach = np.where(low.all(axis=0), steps[-1], steps[np.argmin(low, axis=0)])
    rows = np.vstack([axes.T, -axes.T])
    extent = (rows @ (rays * reach[:, None]).T).max(axis=1)
    start, wanted = float(problem.values(place @ problem.root.T)), 4 * ceiling / weight
    extent = SPARE * np.maximum(extent, 0.1 * extent.max())
    for _ in range(MOVES):
        mesh, _ = _cut_off(problem, rows, rows @ place + extent)
        facets, on = _facets_on_walls(mesh)
        parts = [facets[on == k] @ problem.root.T for k in range(len(rows))]
        least = np.array([least_value(problem.values, part, 0.02 * (wanted - start))[0] for part in parts])
        if (least >= wanted).all() and wanted >= start:
            return mesh
        extent = np.where(least >= wanted, extent, WIDER * extent)
    return None


def _facets_on_walls(mesh: Mesh) -> tuple[Array, Array]:
    """The corners of the outer facets that lie on walls, (facet, corner, coordinate), and which walls these are."""
    assert mesh.walls is not None, "asked only where a support was cut off"
    cell, opposite = (index[mesh.insulated] for index in mesh.outer)
    count = mesh.cells.shape[1]
    others = np.array([[k for k in range(count) if k != i] for i in range(count)])
    facets = mesh.vertices[np.take_along_axis(mesh.cells[cell], others[opposite], axis=1)]
    heights = np.abs(facets @ mesh.walls[:, :-1].T - mesh.walls[:, -1]).max(axis=1)
    return np.asarray(facets), np.argmin(heights, axis=1)


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
        return 0.0  # what a given loss is out there is found when it is asked for, nearer by
    row = -normal @ problem.inverse
    try:
        rest = Polytope(A=np.vstack([A, row]), b=np.append(b, -offset))
    except SupportError as error:
        return math.inf if "empty" in str(error) else 0.0  # nothing of the support is there, or nothing is known
    return 0.999 * smallest_loss(rest, problem.loss) / 4


def _along_rays(problem: Isotropic, weight: float, count: int) -> tuple[Array, Array, Array, Array]:
    """Where a given loss is least, in isotropic coordinates, rays from there, steps along them, and V at each step.

    V is infinite beyond the support, where a loss need not be known.
    """
    assert problem.loss is not None, "without a loss nothing confines the noise"
    place = least_place(problem.support, problem.loss) @ problem.inverse.T
    grid = np.stack(np.meshgrid(*[np.arange(-2.0, 3.0)] * problem.dimension), axis=-1).reshape(-1, problem.dimension)
    rays = np.vstack([grid[np.abs(grid).max(axis=1) == 2], _inwards(problem)])
    rays = np.vstack([rays, _along_faces(problem, place, rays)])
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    steps = (1 + float(np.abs(place).max())) * np.geomspace(1e-6, 1e6, count)
    points = (place + steps[:, None, None] * rays) @ problem.root.T
    inside = problem.support.contains(points)
    values = np.full(inside.shape, math.inf)
    with np.errstate(over="ignore"):
        values[inside] = weight / 4 * np.asarray(problem.loss(points[inside]))
    return place, rays, steps, np.where(np.isnan(values), math.inf, values)


def _inwards(problem: Isotropic) -> Array:
    """The direction in which an unbounded support opens widest, in isotropic coordinates."""
    from scipy.optimize import linprog

    A, m = _half_spaces(problem)[0] @ problem.root, problem.dimension
    if not len(A):
        return np.ones(m)
    rows = np.column_stack([A, np.linalg.norm(A, axis=1)])  # A·ray + |A|·depth ≤ 0
    found = linprog(np.append(np.zeros(m), -1.0), A_ub=rows, b_ub=np.zeros(len(A)), bounds=[(-1, 1)] * m + [(0, 1)])
    return np.asarray(found.x[:m] if found.status == 0 and np.abs(found.x[:m]).max() > 0.1 else np.ones(m))


def _along_faces(problem: Isotropic, place: Array, rays: Array) -> Array:
    """Rays that leave the support at once, turned along its faces and edges, and a little inwards."""
    A, b = _half_spaces(problem)
    normals = A @ problem.root
    length = np.linalg.norm(normals, axis=1)
    near = b - normals @ place <= 1e-6 * length * (1 + float(np.abs(place).max()))
    turned = rays[(rays @ normals[near].T > 0).any(axis=1)]
    for _ in range(20):  # onto one face after the other
        for normal in normals[near] / length[near, None]:
            turned = turned - (turned @ normal).clip(min=0.0)[:, None] * normal
    turned = turned[np.linalg.norm(turned, axis=1) > 0.1]
    return np.asarray(turned + 1e-6 * _inwards(problem))


def _first_guess_of_given(problem: Isotropic, weight: float) -> float:
    """The energy of a cube around the least place, of the best size."""
    _, _, steps, values = _along_rays(problem, weight, 121)
    reached = np.isfinite(values).any(axis=1)
    most = np.where(np.isfinite(values), values, -math.inf).max(axis=1)[reached]
    return float(np.min(problem.dimension * math.pi**2 / (4 * steps[reached] ** 2) + most))


def _walls_of_given(problem: Isotropic, weight: float, ceiling: float) -> tuple[Array, Array]:
    """Walls half as far again as rays come before a given loss reaches the ceiling; a guess, as all such."""
    place, rays, steps, values = _along_rays(problem, weight, 481)
    low = values < ceiling
    reach = np.where(low.all(axis=0), steps[-1], steps[np.argmin(low, axis=0)])
    rows = np.vstack([np.eye(problem.dimension), -np.eye(problem.dimension)])
    extent = (rows @ (rays * reach[:, None]).T).max(axis=1)
    # where no ray goes the support ends: the wall there cuts nothing off
    return rows, rows @ place + 1.5 * np.maximum(extent, 0.1 * extent.max())
