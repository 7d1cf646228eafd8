"""Parallel slices of a support, told apart by their offset."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.support import Ball, Ellipsoid, Support


def is_convex(support: Support) -> bool:
    """Whether a support is known to be convex: of several dimensions, only polygons need not be.

    >>> from errorfloor.support import Polygon
    >>> is_convex(Ball(2, 1.0)), is_convex(Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]))
    (True, False)
    """
    return support.half_spaces is not None or isinstance(support, (Ball, Ellipsoid))


@dataclass(frozen=True)
class Offsets:
    """The slices along a basis, their offsets counted from the one through a point, in units of a size.

    >>> from errorfloor.support import Box
    >>> slices = Offsets(Box([0, 0], [2, 4]), np.array([[1.0], [0.0]]), np.zeros(2), 1.0)
    >>> place, depth = slices.inside(np.array([0.5]))
    >>> abs(float(place[1])), depth
    (0.5, 0.5)
    """

    support: Support
    basis: Array
    point: Array
    size: float

    @cached_property
    def across(self) -> Array:
        """An orthonormal basis of the offsets, in rows."""
        return np.asarray(np.linalg.svd(self.basis.T)[2][self.basis.shape[1] :])

    @cached_property
    def around(self) -> tuple[Array, Array]:
        """Half-spaces with unit normals around a convex support: its own, or those of a box around an ellipsoid."""
        support = self.support
        if isinstance(support, (Ball, Ellipsoid)):
            values, vectors = np.linalg.eigh(support.shape)
            middle, reach = vectors.T @ support.middle, np.sqrt(values)
            return np.vstack([vectors.T, -vectors.T]), np.concatenate([middle + reach, reach - middle])
        half_spaces = support.half_spaces
        assert half_spaces is not None, "asked only for convex supports"
        length = np.linalg.norm(half_spaces[0], axis=1)
        return half_spaces[0] / length[:, None], half_spaces[1] / length

    def of(self, point: Array) -> Array:
        """The offset of the slice through a point."""
        return np.asarray(self.across @ (point - self.point) / self.size)

    def inside(self, offset: Array) -> tuple[Array, float]:
        """A point deep inside the slice of a convex support, and its depth in units of the size, negative outside."""
        support, E = self.support, self.across
        moved = self.point + self.size * offset @ E
        if isinstance(support, (Ball, Ellipsoid)):
            away, spread = E @ (moved - support.middle), E @ support.shape @ E.T
            solved = np.linalg.solve(spread, away)
            depth = 1 - float(np.sqrt(away @ solved))
            thin = float(np.sqrt(np.linalg.eigvalsh(support.shape)[0]))
            return support.middle + support.shape @ E.T @ solved, depth * thin / self.size
        from scipy.optimize import linprog

        A, b = self.around
        along = A @ self.basis
        r = along.shape[1]
        found = linprog(
            np.append(np.zeros(r), -1.0),
            A_ub=np.column_stack([along, np.ones(len(A))]),
            b_ub=(b - A @ moved) / self.size,
            bounds=[(None, None)] * r + [(None, 1.0)],
        )
        if found.status != 0:
            return moved, -np.inf
        return moved + self.size * self.basis @ found.x[:r], float(found.x[r])
