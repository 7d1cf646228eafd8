"""Meshes of convex polytopes: cones over their faces from a point inside."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.mesh import Mesh

SAME = 1e-9  # corners this close to each other, beside the polytope's size, are one; so are corners and planes


def polytope_mesh(normals: Array, offsets: Array, corners: Array, walls: Array | None = None) -> Mesh:
    """Mesh {z : normals·z ≤ offsets}, given its corners too.

    Every face is a fan from one of its corners, and the whole a cone from the mean of the corners: faces share edges
    only, and these are not cut, so the mesh is conforming. From four dimensions on a face is a cone from the first of
    its corners over those of its own faces that do not touch it, each cut up in the same way wherever it occurs; a
    simplex is left whole.
    """
    size = float(np.ptp(corners, axis=0).max())
    corners = distinct(corners, SAME * size)
    length = np.linalg.norm(normals, axis=1)
    touching = np.abs(corners @ normals.T - offsets) <= SAME * size * length
    inside = len(corners)
    if corners.shape[1] > 3:
        if inside == corners.shape[1] + 1:
            return Mesh.of(corners, np.arange(inside)[None], walls)
        faces = [frozenset(np.flatnonzero(face).tolist()) for face in touching.T]
        parts = [[*part, inside] for face in set(faces) for part in _pulled(face, faces, corners, corners.shape[1] - 1)]
        return Mesh.of(np.vstack([corners, corners.mean(axis=0)]), np.array(parts), walls)
    cells = []
    for face, normal in zip(touching.T, normals, strict=True):
        members = np.flatnonzero(face)
        if len(members) < corners.shape[1]:
            continue
        cycle = members if corners.shape[1] == 2 else members[around(corners[members], normal)]
        if corners.shape[1] == 2:
            cells.append([int(members[0]), int(members[-1]), inside])
        else:
            cells += [[int(cycle[0]), int(cycle[k]), int(cycle[k + 1]), inside] for k in range(1, len(cycle) - 1)]
    return Mesh.of(np.vstack([corners, corners.mean(axis=0)]), np.array(cells), walls)


def _pulled(face: frozenset[int], faces: list[frozenset[int]], corners: Array, dimension: int) -> list[list[int]]:
    """Cut up a face of the given dimension, or nothing if it has less than that."""
    members = sorted(face)
    if len(members) <= dimension or _flatness(corners[members]) < dimension:
        return []
    if len(members) == dimension + 1:
        return [members]
    first = members[0]
    parts = []
    for own in {face & other for other in faces if not face <= other}:
        if first not in own:
            parts += [[first, *part] for part in _pulled(own, faces, corners, dimension - 1)]
    return parts


def _flatness(points: Array) -> int:
    """The dimension of the plane through some points."""
    size = float(np.ptp(points, axis=0).max())
    return int(np.linalg.matrix_rank(points - points[0], tol=1e-7 * size)) if size > 0 else 0


def distinct(points: Array, apart: float) -> Array:
    """Leave out points that come again."""
    kept: list[Array] = []
    for point in points:
        if all(np.abs(point - other).max() > apart for other in kept):
            kept.append(point)
    return np.array(kept)


def around(points: Array, normal: Array) -> Array:
    """The order of a planar face's corners around its centre."""
    middle = points - points.mean(axis=0)
    first = middle[np.linalg.norm(middle, axis=1).argmax()]
    second = np.cross(normal, first)
    return np.argsort(np.arctan2(middle @ second, middle @ first))
