"""Convex sets with flat faces, in any dimension."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, matrix, vector
from errorfloor.errors import SupportError
from errorfloor.support.base import ROUNDING, Support
from errorfloor.support.halfline import HalfLine
from errorfloor.support.interval import Interval

PARALLEL = 1e-9  # facets whose unit normals agree to this are one facet, or opposite ones


@dataclass(frozen=True, eq=False)
class Polytope(Support):
    """The convex hull of ``vertices``, or the intersection {w : A w ≤ b} of half-spaces, which may be unbounded.

    >>> triangle = Polytope(vertices=[[0, 0], [1, 0], [0, 1]])
    >>> round(triangle.volume, 12), triangle.contains([0.2, 0.2]), triangle.contains([0.9, 0.9])
    (0.5, True, False)
    >>> Polytope(A=[[1.0, 0.0], [-1.0, 0.0]], b=[0.0, -1.0])
    Traceback (most recent call last):
    errorfloor.errors.SupportError: Polytope is empty: no point satisfies A w ≤ b
    """

    A: Array | None = None
    b: Array | None = None
    vertices: Array | None = None

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(
            self, A: ArrayLike | None = None, b: ArrayLike | None = None, vertices: ArrayLike | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        by_facets = self.A is not None and self.b is not None
        if by_facets == (self.vertices is not None) or (self.A is None) != (self.b is None):
            raise SupportError("Polytope takes either vertices=…, or both A=… and b=… for A w ≤ b")
        if self.vertices is not None:
            object.__setattr__(self, "vertices", matrix("vertices", self.vertices, SupportError))
        else:
            A, b = matrix("A", self.A, SupportError), vector("b", self.b, SupportError)
            if A.shape[0] != b.size:
                raise SupportError(f"A and b must have as many rows, got {A.shape[0]} and {b.size}")
            if not np.linalg.norm(A, axis=1).all():
                raise SupportError(f"row {int(np.argmin(np.linalg.norm(A, axis=1)))} of A is zero: it is no half-space")
            object.__setattr__(self, "A", A)
            object.__setattr__(self, "b", b)
        _ = self.facets  # an empty or flat set is refused here, not when it is first used

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        given = self.vertices if self.vertices is not None else self.A
        return int(np.asarray(given).shape[1])

    @cached_property
    def facets(self) -> tuple[Array, Array]:
        """The pair (A, b) with one unit row a facet and none redundant."""
        if self.vertices is None:
            return _irredundant(np.asarray(self.A), np.asarray(self.b))
        return _hull_facets(self.vertices)

    @property
    def half_spaces(self) -> tuple[Array, Array]:
        """Its facets."""
        return self.facets

    @cached_property
    def corners(self) -> Array | None:
        """The extreme points, or None if the set is unbounded."""
        if not self.is_bounded:
            return None
        if self.dimension == 1:
            return np.stack(self.bounding_box)
        from scipy.spatial import ConvexHull, HalfspaceIntersection

        if self.vertices is not None:
            return np.asarray(self.vertices[ConvexHull(self.vertices).vertices])
        A, b = self.facets
        center = _deepest_point(A, b)[0]
        return np.asarray(HalfspaceIntersection(np.column_stack([A, -b]), center).intersections)

    @cached_property
    def bounding_box(self) -> tuple[Array, Array]:
        """Least and greatest coordinates, by linear programming; infinite where it is unbounded."""
        if self.vertices is not None:
            return self.vertices.min(axis=0), self.vertices.max(axis=0)
        A, b = self.facets
        axes = np.eye(self.dimension)
        return np.array([-_greatest(-e, A, b) for e in axes]), np.array([_greatest(e, A, b) for e in axes])

    @property
    def volume(self) -> float:
        """The volume of the convex hull of its corners."""
        corners = self.corners
        if corners is None:
            return math.inf
        if self.dimension == 1:
            return float(np.ptp(corners))
        from scipy.spatial import ConvexHull

        return float(ConvexHull(corners).volume)

    @cached_property
    def product_form(self) -> tuple[Array, tuple[Support, ...]] | None:
        """Coordinates that make it a product of intervals and half-lines: it needs exactly m facet directions."""
        normals, offsets = self.facets
        rows: list[Array] = []
        ends: list[list[float]] = []
        for normal, offset in zip(normals, offsets, strict=True):
            opposite = next((k for k, row in enumerate(rows) if np.linalg.norm(row + normal) <= PARALLEL), None)
            if opposite is None:
                rows.append(normal)
                ends.append([-math.inf, float(offset)])
            else:
                ends[opposite][0] = -float(offset)
        N = np.array(rows)
        if N.shape != (self.dimension, self.dimension) or np.linalg.matrix_rank(N) < self.dimension:
            return None
        # a box should come out as itself: rows in the order of the axes that they lie along, pointing up them
        main = np.argmax(np.abs(N) > np.abs(N).max(axis=1, keepdims=True) - PARALLEL, axis=1)
        order = np.argsort(main, kind="stable")
        signs = np.sign(N[np.arange(len(N)), main])
        sets = tuple(_line_set(ends[k][0], ends[k][1], signs[k]) for k in order)
        return (N * signs[:, None] + 0.0)[order], sets

    def _contains(self, w: Array) -> Array:
        A, b = self.facets
        size = max(1.0, float(np.abs(b).max()))
        return np.asarray((w @ A.T <= b + ROUNDING * size).all(axis=-1))

    def _image(self, A: Array, b: Array) -> Support:
        if self.vertices is not None:
            return Polytope(vertices=self.vertices @ A.T + b)
        rows = np.linalg.solve(A.T, np.asarray(self.A).T).T
        return Polytope(A=rows, b=np.asarray(self.b) + rows @ b)


def _line_set(low: float, high: float, sign: float) -> Support:
    low, high = (low + 0.0, high + 0.0) if sign > 0 else (0.0 - high, 0.0 - low)
    if math.isinf(low):
        return HalfLine(high=high)
    return HalfLine(low) if math.isinf(high) else Interval(low, high)


def _hull_facets(vertices: Array) -> tuple[Array, Array]:
    flat = "Polytope is flat: its vertices lie in a plane of lower dimension"
    if vertices.shape[1] == 1:
        if np.ptp(vertices) == 0:
            raise SupportError(flat)
        return np.array([[-1.0], [1.0]]), np.array([-vertices.min(), vertices.max()])
    from scipy.spatial import ConvexHull, QhullError

    try:
        equations = ConvexHull(vertices).equations
    except (QhullError, ValueError):
        raise SupportError(flat) from None
    return _merged(equations[:, :-1], -equations[:, -1])


def _merged(A: Array, b: Array) -> tuple[Array, Array]:
    """Join half-spaces that are parallel, keeping the tightest of each direction."""
    kept: list[int] = []
    for i in np.argsort(b):
        if all(np.linalg.norm(A[i] - A[k]) > PARALLEL for k in kept):
            kept.append(int(i))
    return A[sorted(kept)], b[sorted(kept)]


def _irredundant(A: Array, b: Array) -> tuple[Array, Array]:
    length = np.linalg.norm(A, axis=1)
    A, b = A / length[:, None], b / length
    _, depth = _deepest_point(A, b)
    if depth <= ROUNDING * max(1.0, float(np.abs(b).max())):
        raise SupportError("Polytope is flat: A w ≤ b leaves no interior")
    A, b = _merged(A, b)
    kept = list(range(len(b)))
    for i in range(len(b)):
        others = [k for k in kept if k != i]
        if others and _greatest(A[i], A[others], b[others]) <= b[i] * (1 + np.sign(b[i]) * PARALLEL):
            kept = others
    return A[kept], b[kept]


def _deepest_point(A: Array, b: Array) -> tuple[Array, float]:
    """The centre and radius of the largest inscribed ball, its radius capped in unbounded sets."""
    from scipy.optimize import linprog

    cap = max(1.0, float(np.abs(b).max()))
    cost = np.zeros(A.shape[1] + 1)
    cost[-1] = -1
    found = linprog(
        cost,
        A_ub=np.column_stack([A, np.linalg.norm(A, axis=1)]),
        b_ub=b,
        bounds=[(None, None)] * A.shape[1] + [(None, cap)],
    )
    if found.x is None or found.x[-1] < -ROUNDING * cap:
        raise SupportError("Polytope is empty: no point satisfies A w ≤ b")
    return found.x[:-1], float(found.x[-1])


def _greatest(direction: Array, A: Array, b: Array) -> float:
    from scipy.optimize import linprog

    found = linprog(-direction, A_ub=A, b_ub=b, bounds=(None, None))
    return math.inf if found.x is None else float(direction @ found.x)
