"""From a support to a coarse mesh of it, in isotropic coordinates."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.mesh import Mesh, cone
from errorfloor.designer.meshes.polygons import angles, graded, polygon_mesh
from errorfloor.support import Polygon, Polytope, Support

FEW = 12  # corners of a polygon that are all graded from the start; of more only the re-entrant ones are
SAME = 1e-9  # corners this close to each other, beside the polytope's size, are one
MISSING = 1e-10  # what a graded corner may miss of the energy


@dataclass(frozen=True)
class Region:
    """A coarse mesh, one graded towards corners, and what ¼ℓ is at least beyond its walls."""

    coarse: Mesh
    fine: Mesh
    outside: float = math.inf


def bounded_region(problem: Isotropic) -> Region:
    """Mesh a polygon, or a bounded polytope in two or three dimensions."""
    support = problem.support
    if isinstance(support, Polygon):
        corners = support.vertices @ problem.inverse.T
        if np.linalg.det(problem.inverse) < 0:
            corners = corners[::-1]
        return planar_region(corners)
    moved = image(support, problem.inverse)
    corners = moved.facets.center + moved.facets.size * moved.facets.corners
    if problem.dimension == 2:
        middle = corners - corners.mean(axis=0)
        return planar_region(corners[np.argsort(np.arctan2(middle[:, 1], middle[:, 0]))])
    coarse = polytope_mesh(corners)
    return Region(coarse, coarse.refined_to(0.7 * float(coarse.volumes.sum()) ** (1 / 3)))


def planar_region(corners: Array) -> Region:
    """Mesh a polygon given by its corners, anticlockwise, in isotropic coordinates."""
    coarse = polygon_mesh(corners)
    special = corners if len(corners) <= FEW else corners[angles(corners) > math.pi * (1 + 1e-6)]
    return Region(coarse, graded(coarse, corners, special, MISSING))


def polytope_mesh(corners: Array, walls: Array | None = None) -> Mesh:
    """Mesh the hull of some corners: a cone over its faces from their mean."""
    apart = SAME * float(np.ptp(corners, axis=0).max())
    kept: list[Array] = []
    for point in corners:
        if all(np.abs(point - other).max() > apart for other in kept):
            kept.append(point)
    return Mesh.of(*cone(np.array(kept)), walls)


def image(support: Support, matrix: Array) -> Polytope:
    """A convex support with flat faces, in other coordinates."""
    half_spaces = support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    A, b = half_spaces
    return Polytope(A=np.linalg.solve(matrix.T, A.T).T, b=b)
