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
            object.__setattr__(self, "vertices", matrix("vertices", self.vertices, SupportError))
        else:
            A, b = matrix("A", self.A, SupportError), vector("b", self.b, SupportError)
            if A.shape[0] != b.size:
                raise SupportError(f"A and b must have equally many rows, got {A.shape[0]} and {b.size}")
            if not np.linalg.norm(A, axis=1).all():
                raise SupportError(
                    f"row {int(np.argmin(np.linalg.norm(A, axis=1)))} of A is zero: it is not a half-space"
                )
            object.__setattr__(self, "A", A)
            object.__setattr__(self, "b", b)
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
        """Coordinates that make it a product of intervals and half-lines, if it has exactly m facet directions."""
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
