"""Meshes of convex polytopes: cones over their faces from a point inside."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh

SAME = 1e-9  # corners this close to each other, beside the polytope's size, are one; so are corners and planes


def polytope_mesh(normals: Array, offsets: Array, corners: Array, walls: Array | None = None) -> Mesh:
    """Mesh {z : normals·z ≤ offsets} in the plane or in space, given its corners too.

    Every face is a fan from one of its corners, and the whole a cone from the mean of the corners: faces share edges
    only, and these are not cut, so the mesh is conforming.
    """
    size = float(np.ptp(corners, axis=0).max())
    corners = distinct(corners, SAME * size)
    length = np.linalg.norm(normals, axis=1)
    touching = np.abs(corners @ normals.T - offsets) <= SAME * size * length
    inside = len(corners)
    cells = []
    for face, normal in zip(touching.T, normals, strict=True):
        members = np.flatnonzero(face)
        if len(members) < corners.shape[1]:
            continue
        cycle = members if corners.shape[1] == 2 else members[cyclic_order(corners[members], normal)]
        if corners.shape[1] == 2:
            cells.append([int(members[0]), int(members[-1]), inside])
        else:
            cells += [[int(cycle[0]), int(cycle[k]), int(cycle[k + 1]), inside] for k in range(1, len(cycle) - 1)]
    return Mesh.of(np.vstack([corners, corners.mean(axis=0)]), np.array(cells), walls)


def distinct(points: Array, apart: float) -> Array:
    """Leave out points that come again."""
    kept: list[Array] = []
    for point in points:
        if all(np.abs(point - other).max() > apart for other in kept):
            kept.append(point)
    return np.array(kept)


def cyclic_order(points: Array, normal: Array) -> Array:
    """The order of a planar face's corners around its centre."""
    middle = points - points.mean(axis=0)
    first = middle[np.linalg.norm(middle, axis=1).argmax()]
    second = np.cross(normal, first)
    return np.argsort(np.arctan2(middle @ second, middle @ first))
