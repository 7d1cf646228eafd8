"""Polygons in the plane, convex or not."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, matrix
from errorfloor.errors import SupportError
from errorfloor.support.base import ROUNDING, Support
from errorfloor.support.polytope import Polytope


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
        object.__setattr__(self, "vertices", corners)

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
