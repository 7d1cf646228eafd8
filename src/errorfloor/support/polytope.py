"""Sets with flat faces: polygons in the plane, convex or not, and convex sets in any dimension."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, matrix, vector
from errorfloor.errors import SupportError
from errorfloor.support.base import ROUNDING, Support
from errorfloor.support.facets import Facets
from errorfloor.support.lines import line_between


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
            self._set(vertices=matrix("vertices", self.vertices, SupportError))
        else:
            A, b = matrix("A", self.A, SupportError), vector("b", self.b, SupportError)
            if A.shape[0] != b.size:
                raise SupportError(f"A and b must have equally many rows, got {A.shape[0]} and {b.size}")
            if not np.linalg.norm(A, axis=1).all():
                raise SupportError(
                    f"row {int(np.argmin(np.linalg.norm(A, axis=1)))} of A is zero: it is not a half-space"
                )
            self._set(A=A, b=b)
        _ = self.facets  # an empty or flat set is refused here, not when it is first used

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        given = self.vertices if self.vertices is not None else self.A
        return int(np.asarray(given).shape[1])

    @cached_property
    def facets(self) -> Facets:
        """Its faces, in standard position."""
        if self.vertices is None:
            return Facets.of_half_spaces(np.asarray(self.A), np.asarray(self.b))
        return Facets.of_hull(self.vertices)

    @property
    def half_spaces(self) -> tuple[Array, Array]:
        """One half-space a face."""
        return self.facets.half_spaces

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Least and greatest coordinates; infinite where it is unbounded."""
        if self.vertices is not None:
            return self.vertices.min(axis=0), self.vertices.max(axis=0)
        return self.facets.bounding_box

    @cached_property
    def volume(self) -> float:
        """The volume of the convex hull of its corners."""
        low, high = self.bounding_box
        if not self.is_bounded or self.dimension == 1:
            return float((high - low)[0]) if self.is_bounded else math.inf
        from scipy.spatial import ConvexHull

        return float(ConvexHull(self.facets.corners).volume) * self.facets.size**self.dimension

    @cached_property
    def product_form(self) -> tuple[Array, tuple[Support, ...]] | None:
        """Coordinates that make it a product of intervals, half-lines and lines, where facets are independent."""
        found = self.facets.coordinates
        if found is None:
            return None
        N, low, high = found
        middle = N @ self.facets.center
        sides = zip(middle + self.facets.size * low, middle + self.facets.size * high, strict=True)
        return N, tuple(line_between(float(a) + 0.0, float(b) + 0.0) for a, b in sides)

    def _contains(self, w: Array) -> Array:
        return self.facets.contains(w, ROUNDING)

    def _image(self, A: Array, b: Array) -> Support:
        if self.vertices is not None:
            return Polytope(vertices=self.vertices @ A.T + b)
        return image_of((np.asarray(self.A), np.asarray(self.b)), A, b)


def image_of(half_spaces: tuple[Array, Array], matrix: Array, shift: Array) -> Polytope:
    """Give the image of {w : A w ≤ b} under an invertible map.

    >>> image_of((np.eye(1), np.ones(1)), np.array([[2.0]]), np.zeros(1)).half_spaces
    (array([[1.]]), array([2.]))
    """
    A, b = half_spaces
    rows = np.linalg.solve(matrix.T, A.T).T
    return Polytope(A=rows, b=b + rows @ shift)


def _cross(a: Array, b: Array) -> Array:
    product: Array = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return product


@dataclass(frozen=True, eq=False)
class Polygon(Support):
    """The polygon with these corners, in order, either way round; it may be non-convex but not cross itself.

    >>> Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]).volume
    3.0
    >>> Polygon([[0, 0], [1, 1], [1, 0], [0, 1]])
    Traceback (most recent call last):
    errorfloor.errors.SupportError: Polygon crosses itself: sides 0 and 2 meet; list the corners in order around it
    """

    vertices: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, vertices: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        corners = matrix("vertices", self.vertices, SupportError)
        if corners.shape[1] != 2 or corners.shape[0] < 3:
            raise SupportError(
                f"Polygon needs at least 3 corners with 2 coordinates, got {corners.shape[0]} with {corners.shape[1]}"
            )
        size = float(np.ptp(corners, axis=0).max())
        sides = np.roll(corners, -1, axis=0) - corners
        if size == 0 or (np.linalg.norm(sides, axis=1) <= ROUNDING * size).any():
            raise SupportError("Polygon repeats a corner: list every corner once, without closing the loop")
        _refuse_crossings(corners, size)
        area = _signed_area(corners)
        if abs(area) <= ROUNDING * size**2:
            raise SupportError("Polygon is flat: its area is zero")
        if area < 0:
            corners = corners[::-1].copy()
        corners.setflags(write=False)
        self._set(vertices=corners)

    @property
    def is_convex(self) -> bool:
        """Whether it has no re-entrant corner."""
        sides = np.roll(self.vertices, -1, axis=0) - self.vertices
        turns = _cross(sides, np.roll(sides, -1, axis=0))
        return bool((turns >= -ROUNDING * self.volume).all())

    @property
    def dimension(self) -> int:
        """Always 2."""
        return 2

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The extremes of the corners."""
        return self.vertices.min(axis=0), self.vertices.max(axis=0)

    @property
    def volume(self) -> float:
        """The area."""
        return _signed_area(self.vertices)

    @property
    def half_spaces(self) -> tuple[Array, Array] | None:
        """One half-plane a side if the polygon is convex, else None."""
        if not self.is_convex:
            return None
        sides = np.roll(self.vertices, -1, axis=0) - self.vertices
        outward = np.stack([sides[:, 1], -sides[:, 0]], axis=1)
        outward /= np.linalg.norm(outward, axis=1, keepdims=True)
        return outward, (outward * self.vertices).sum(axis=1)

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]] | None:
        """A parallelogram is a product of two intervals in its own coordinates."""
        return Polytope(*self.half_spaces).product_form if self.half_spaces is not None else None

    def _contains(self, w: Array) -> Array:
        a, b = self.vertices, np.roll(self.vertices, -1, axis=0)
        p = w[..., None, :]
        side = b - a
        length = np.linalg.norm(side, axis=1)
        offset = p - a
        along = np.clip((offset * side).sum(axis=-1) / length**2, 0, 1)
        distance = np.linalg.norm(offset - along[..., None] * side, axis=-1)
        on_edge = (distance <= ROUNDING * math.sqrt(self.volume)).any(axis=-1)
        straddles = (a[:, 1] > p[..., 1]) != (b[:, 1] > p[..., 1])
        leftward = _cross(side, offset) * np.where(side[:, 1] > 0, 1.0, -1.0) > 0
        crossings = (straddles & leftward).sum(axis=-1)
        return np.asarray(on_edge | (crossings % 2 == 1))

    def _image(self, A: Array, b: Array) -> Support:
        return Polygon(self.vertices @ A.T + b)


def _signed_area(corners: Array) -> float:
    centered = corners - corners.mean(axis=0)
    return float(_cross(centered, np.roll(centered, -1, axis=0)).sum()) / 2


def _refuse_crossings(corners: Array, size: float) -> None:
    """Refuse any two sides that are not neighbours and meet, and neighbours that fold back."""
    count = len(corners)
    ends = np.roll(corners, -1, axis=0)
    slack = ROUNDING * size**2
    for i in range(count):
        j = np.arange(i + 1, count)
        if i == 0:
            j = j[j != count - 1]
        neighbours, others = j[j == i + 1], j[j > i + 1]
        p, q, c, d = corners[i], ends[i], corners[others], ends[others]
        c_side, d_side = _cross(q - p, c - p), _cross(q - p, d - p)
        p_side, q_side = _cross(d - c, p - c), _cross(d - c, q - c)
        apart = (np.minimum(c_side, d_side) > slack) | (np.maximum(c_side, d_side) < -slack)
        apart |= (np.minimum(p_side, q_side) > slack) | (np.maximum(p_side, q_side) < -slack)
        apart |= (np.maximum(c, d) < np.minimum(p, q)).any(axis=1) | (np.minimum(c, d) > np.maximum(p, q)).any(axis=1)
        if not apart.all():
            k = int(others[~apart][0])
            raise SupportError(f"Polygon crosses itself: sides {i} and {k} meet; list the corners in order around it")
        for k in neighbours:
            one, two = q - p, ends[k] - corners[k]
            if abs(_cross(one, two)) <= slack and float(one @ two) < 0:
                raise SupportError(f"Polygon folds back on itself at corner {k}")
