"""The problem in coordinates z with w = Cz, K = CCᵀ, −Δu + ¼ϱℓ(Cz)u = μu and Λ = 4μ; and a mesh of its support.

Polygons are graded towards the corners where the ground state is not smooth. An unbounded product with a quality term
is cut off where the loss leaves little of the ground state: the potential V = ¼ϱℓ confines it, so that it decays like
the exponential of −∫√(V − μ). The walls stand where V − inf V is so many times μ − inf V; elements bound the second
level on that piece.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import least_over_half_spaces, smallest_loss
from errorfloor.designer.meshes.mesh import Mesh, cone
from errorfloor.errors import SupportError
from errorfloor.noise import Loss
from errorfloor.noise.simplices import exponents
from errorfloor.support import Polygon, Polytope, Support
from errorfloor.support.polytope import image_of

FAN = 6  # a convex polygon with more corners than this is a fan around its middle
SMOOTH = 1e-6  # a corner whose exponent is this close to a whole number has a smooth ground state
FEW = 12  # corners of a polygon that are all graded from the start; of more only the re-entrant ones are
SAME = 1e-9  # corners this close to each other, beside the polytope's size, are one
MISSING = 1e-10  # what a graded corner may miss of the energy
# times the energy; μ adds up over the coordinates, so that each alone may be cut off sooner the more of them there are
STEEP = {2: 14.0, 3: 6.0}
STEEP_ABSOLUTE = 2.5  # a linear loss needs far more room to become large


@dataclass(frozen=True, eq=False)
class Isotropic:
    """A support and a quadratic loss, seen in the coordinates that make K the identity."""

    support: Support
    sensitivity: Array
    loss: Loss | None

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.support, self.sensitivity.tobytes(), self.loss

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Isotropic) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def root(self) -> Array:
        """C, lower triangular."""
        return np.linalg.cholesky(self.sensitivity)

    @cached_property
    def inverse(self) -> Array:
        """C⁻¹."""
        return np.linalg.inv(self.root)

    @cached_property
    def rounding(self) -> float:
        """What bounds are lowered by for the rounding of a root of K, and of a quadratic loss, near singularity."""
        share = 0.0
        for matrix in (self.sensitivity, None if self.loss is None else self.loss.weight):
            if matrix is not None:
                unit = np.sqrt(np.diag(matrix))
                share += 1 / max(float(np.linalg.eigvalsh(matrix / unit / unit[:, None])[0]), 1e-15)
        m = self.dimension
        return min(1.0, 8 * m * (m + 1) * float(np.finfo(float).eps) * share)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.support.dimension

    def potential(self, mesh: Mesh) -> Array:
        """¼ℓ(Cz) on each cell, as Bernstein coefficients of degree two."""
        pairs = [[i for i, a in enumerate(alpha) for _ in range(a)] for alpha in exponents(self.dimension, 2)]
        if self.loss is None or self.loss.weight is None:
            return np.zeros((len(mesh.cells), len(pairs)))
        first, second = np.array(pairs).T
        corners = mesh.corners @ self.root.T
        polar = np.einsum("cik,kl,cil->ci", corners[:, first], self.loss.weight, corners[:, second])
        return np.asarray(polar / 4)


def polygon_mesh(corners: Array) -> Mesh:
    """Triangulate a polygon, given anticlockwise, with triangles of about half its size."""
    if len(corners) > FAN and (angles(corners) < math.pi).all():
        around = np.arange(len(corners))  # every corner counts, also one that a hull would take for none
        fan = np.column_stack([around, np.roll(around, -1), np.full(len(corners), len(corners))])
        mesh = Mesh.of(np.vstack([corners, corners.mean(axis=0)]), fan)
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


def _fatness(triangle: Array) -> float:
    """The signed area beside the square of the longest side."""
    (ax, ay), (bx, by) = triangle[1] - triangle[0], triangle[2] - triangle[0]
    return float(ax * by - ay * bx) / max(float(((triangle[i] - triangle[i - 1]) ** 2).sum()) for i in range(3))


def _holds(triangle: Array, points: Array) -> Array:
    """Which points lie in a triangle or on its sides."""
    inside = np.ones(len(points), dtype=bool)
    for i in range(3):
        side, offset = triangle[(i + 1) % 3] - triangle[i], points - triangle[i]
        inside &= side[0] * offset[:, 1] - side[1] * offset[:, 0] >= 0
    return inside


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
    return image_of(_half_spaces(support), matrix, np.zeros(len(matrix)))


def truncated_region(problem: Isotropic, weight: float, quotient: float) -> Region:
    """Mesh what is left of the support where V is not far above μ, of which ``quotient`` is an estimate."""
    A, b = _half_spaces(problem.support)
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


def _half_spaces(support: Support) -> tuple[Array, Array]:
    half_spaces = support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    return half_spaces


def _beyond(problem: Isotropic, A: Array, b: Array, normal: Array, offset: float) -> float:
    """What ¼ℓ is at least on the support beyond a wall, a little less for the accuracy of its computation."""
    assert problem.loss is not None, "without a loss nothing confines the noise"
    if problem.loss.weight is None:  # one |wᵢ| alone is as large as this
        return 0.999 * offset / float(np.linalg.norm(problem.inverse.T @ normal)) / 4
    rows = np.vstack([A, -normal @ problem.inverse])
    return 0.999 * least_over_half_spaces(rows, np.append(b, -offset), problem.loss.weight) / 4
