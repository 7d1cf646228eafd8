"""Triangulations of polygons, graded towards the corners where the ground state is not smooth."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.errors import SupportError

FAN = 6  # a convex polygon with more corners than this is a fan around its middle
SMOOTH = 1e-6  # a corner whose exponent is this close to a whole number has a smooth ground state


def polygon_mesh(corners: Array) -> Mesh:
    """Triangulate a polygon, given anticlockwise, with triangles of about half its size."""
    if len(corners) > FAN and (angles(corners) < math.pi).all():
        around = np.arange(len(corners))
        cells = np.column_stack([around, np.roll(around, -1), np.full(len(corners), len(corners))])
        mesh = Mesh.of(np.vstack([corners, corners.mean(axis=0)]), cells)
    else:
        mesh = Mesh.of(corners, ears(corners))
    return mesh.refined_to(0.6 * math.sqrt(float(mesh.volumes.sum())))


def graded(mesh: Mesh, corners: Array, special: Array, missing: float) -> Mesh:
    """Halve the triangles at the ``special`` ones of the corners until what a polynomial misses there is negligible.

    At a corner of angle ω the ground state is about r^a, a = π/ω; beside it a polynomial on triangles of size r misses
    a share of about d²(r/R)^(2a) of the energy, d the distance of a from the whole numbers and R the polygon's size.
    The triangles are halved until that is below ``missing``.
    """
    exponent = math.pi / angles(corners)
    off = np.abs(exponent - exponent.round())
    size = math.sqrt(float(mesh.volumes.sum()))
    wanted = size * (missing / np.maximum(off, SMOOTH) ** 2) ** (1 / (2 * exponent))
    wanted = np.where((off > SMOOTH) & (corners[:, None] == special).all(axis=2).any(axis=1), wanted, math.inf)
    while True:
        at_corner = (mesh.corners[:, :, None] == corners).all(axis=3).any(axis=1)
        marked = (at_corner & (mesh.diameters[:, None] > wanted)).any(axis=1)
        if not marked.any():
            return mesh
        mesh = mesh.refined(marked)


def angles(corners: Array) -> Array:
    """The inner angle at each corner, between 0 and 2π."""
    ahead = np.roll(corners, -1, axis=0) - corners
    behind = np.roll(corners, 1, axis=0) - corners
    turn = np.arctan2(behind[:, 1], behind[:, 0]) - np.arctan2(ahead[:, 1], ahead[:, 0])
    return np.asarray(np.mod(turn, 2 * math.pi))


def ears(corners: Array) -> Array:
    """Cut off corners that hold no other corner, one after the other.

    >>> ears(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])).tolist()
    [[3, 0, 1], [1, 2, 3]]
    """
    left = list(range(len(corners)))
    found = []
    while len(left) > 3:
        best, quality = None, 0.0
        for k in range(len(left)):
            triple = [left[k - 1], left[k], left[(k + 1) % len(left)]]
            others = [v for v in left if v not in triple]
            score = _fatness(corners[triple])
            if score > quality and not _holds(corners[triple], corners[others]).any():
                best, quality = k, score
        if best is None:
            raise SupportError("Polygon is too thin to be cut into triangles in double precision: rescale it")
        found.append([left[best - 1], left[best], left[(best + 1) % len(left)]])
        del left[best]
    return np.array([*found, left])


def _signed(triangle: Array) -> float:
    (ax, ay), (bx, by) = triangle[1] - triangle[0], triangle[2] - triangle[0]
    return float(ax * by - ay * bx)


def _fatness(triangle: Array) -> float:
    """The signed area beside the square of the longest side."""
    longest = max(float(((triangle[i] - triangle[i - 1]) ** 2).sum()) for i in range(3))
    return _signed(triangle) / longest


def _holds(triangle: Array, points: Array) -> Array:
    """Which points lie in a triangle or on its sides."""
    inside = np.ones(len(points), dtype=bool)
    for i in range(3):
        side, offset = triangle[(i + 1) % 3] - triangle[i], points - triangle[i]
        inside &= side[0] * offset[:, 1] - side[1] * offset[:, 0] >= 0
    return inside
