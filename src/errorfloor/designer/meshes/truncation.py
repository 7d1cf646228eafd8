"""Unbounded supports with a quality term: solve where the loss leaves something of the density, inside the support.

The potential V = ¼ϱℓ confines the ground state: it decays like the exponential of −∫√(V − μ). The support is cut off
where V − inf V is so many times μ − inf V that little of it is left; the density lives on that piece, and all that is
stated is its own.
"""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import least_over_half_spaces, smallest_loss
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.polygons import graded, polygon_mesh
from errorfloor.designer.meshes.polytopes import polytope_mesh
from errorfloor.designer.meshes.region import MISSING, Region
from errorfloor.support import Polytope

# times the energy; μ adds up over the coordinates, so that each alone may be cut off sooner the more of them there are
STEEP = {2: 14.0, 3: 6.0}
STEEP_ABSOLUTE = 2.5  # enough for a second level; a linear loss needs far more room to become large


def truncated_region(problem: Isotropic, weight: float, quotient: float) -> Region:
    """Mesh what is left of the support where V is not far above μ, of which ``quotient`` is an estimate."""
    A, b = _half_spaces(problem)
    normals, offsets = truncating_walls(problem, weight, quotient)
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
        return polytope_mesh(*body.half_spaces, corners, walls), corners
    middle = corners - corners.mean(axis=0)
    corners = corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))]
    plain = polygon_mesh(corners)
    return Mesh(plain.vertices, plain.cells, walls), corners


def truncating_walls(problem: Isotropic, weight: float, quotient: float) -> tuple[Array, Array]:
    """Half-spaces outside of which V is far above what the ground state has; normals of unit length."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    least = weight / 4 * smallest_loss(problem.support, problem.loss)
    steep = STEEP_ABSOLUTE if problem.loss.weight is None else STEEP[problem.dimension]
    ceiling = least + steep * max(quotient - least, 0.05 * quotient)
    if problem.loss.weight is None:
        length = np.linalg.norm(problem.root, axis=1)
        rows, reach = problem.root / length[:, None], 4 * ceiling / (weight * length)
    else:
        strength, axes = np.linalg.eigh(weight / 4 * problem.root.T @ problem.loss.weight @ problem.root)
        rows, reach = axes.T, np.sqrt(ceiling / strength)
    return np.vstack([rows, -rows]), np.concatenate([reach, reach])


def first_guess(problem: Isotropic, weight: float) -> float:
    """About the least μ that the loss alone allows, on all of space."""
    assert problem.loss is not None and problem.loss.weight is not None, "a quadratic loss confines the noise"
    least = weight / 4 * smallest_loss(problem.support, problem.loss)
    form = weight / 4 * problem.root.T @ problem.loss.weight @ problem.root
    return least + float(np.sqrt(np.linalg.eigvalsh(form)).sum())


def _half_spaces(problem: Isotropic) -> tuple[Array, Array]:
    half_spaces = problem.support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    return half_spaces


def _beyond(problem: Isotropic, A: Array, b: Array, normal: Array, offset: float) -> float:
    """What ¼ℓ is at least on the support beyond a wall, a little less for the accuracy of its computation."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    if problem.loss.weight is None:  # one |wᵢ| alone is as large as this
        return 0.999 * offset / float(np.linalg.norm(problem.inverse.T @ normal)) / 4
    rows = np.vstack([A, -normal @ problem.inverse])
    return 0.999 * least_over_half_spaces(rows, np.append(b, -offset), problem.loss.weight) / 4
