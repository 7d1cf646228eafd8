"""Unbounded products with a quality term: a mesh of where the loss leaves something of the ground state.

The potential V = ¼ϱℓ confines the ground state: it decays like the exponential of −∫√(V − μ). The support is cut off
where V − inf V is so many times μ − inf V that little of it is left; elements bound the second level on that piece.
"""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import least_over_half_spaces, smallest_loss
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.polygons import polygon_mesh
from errorfloor.designer.meshes.region import Region, polytope_mesh
from errorfloor.support import Polytope

# times the energy; μ adds up over the coordinates, so that each alone may be cut off sooner the more of them there are
STEEP = {2: 14.0, 3: 6.0}
STEEP_ABSOLUTE = 2.5  # a linear loss needs far more room to become large


def truncated_region(problem: Isotropic, weight: float, quotient: float) -> Region:
    """Mesh what is left of the support where V is not far above μ, of which ``quotient`` is an estimate."""
    A, b = _half_spaces(problem)
    normals, offsets = truncating_walls(problem, weight, quotient)
    outside = min(_beyond(problem, A, b, normal, offset) for normal, offset in zip(normals, offsets, strict=True))
    body = Polytope(A=np.vstack([A @ problem.root, normals]), b=np.concatenate([b, offsets]))
    corners = body.facets.center + body.facets.size * body.facets.corners
    walls = np.column_stack([normals, offsets])
    if problem.dimension == 3:
        mesh = polytope_mesh(corners, walls)
    else:
        middle = corners - corners.mean(axis=0)
        plain = polygon_mesh(corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))])
        mesh = Mesh(plain.vertices, plain.cells, walls)
    return Region(mesh, mesh, outside)


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
