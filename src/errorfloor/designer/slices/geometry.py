"""Slices of a support along a subspace: their shape, and the longest chord."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.support import Ball, Box, Ellipsoid, Interval, Polygon, Polytope, Support


@dataclass(frozen=True)
class Slice:
    """A slice {shift + basis·z : z in inner} of a support."""

    basis: Array
    shift: Array
    inner: Support


def longest_chord(support: Support, v: Array) -> Slice:
    """The longest chord along v, by a linear programme, or from the corners of a polygon that need not be convex."""
    if support.half_spaces is None:
        assert isinstance(support, Polygon), "only polygons need not be convex"
        return _chord_of_polygon(support, v)
    from scipy.optimize import linprog

    A, b = support.half_spaces
    m = len(v)
    rows = np.vstack([np.column_stack([A, np.zeros(len(A))]), np.column_stack([A, A @ v])])
    found = linprog(
        np.append(np.zeros(m), -1.0), A_ub=rows, b_ub=np.tile(b, 2), bounds=[(None, None)] * m + [(0, None)]
    )
    if found.status != 0:
        raise ConvergenceError("the longest chord along the range of K was not found: rescale the data")
    half = float(found.x[-1]) / 2 * (1 - 1e-12)  # the programme's own tolerance must not lead outside
    return Slice(v[:, None], found.x[:m] + found.x[-1] / 2 * v, Interval(-half, half))


def _chord_of_polygon(polygon: Polygon, v: Array) -> Slice:
    """The longest chord of a polygon, convex or not, passes through a corner."""
    best, shift, half = 0.0, polygon.vertices[0], 0.0
    normal = np.array([-v[1], v[0]])
    starts, ends = polygon.vertices, np.roll(polygon.vertices, -1, axis=0)
    for corner in polygon.vertices:
        one, two = (starts - corner) @ normal, (ends - corner) @ normal
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(one != two, one / (one - two), 0.0)
        hit = (one == 0) | (two == 0) | (one * two < 0)
        where = ((starts + share[:, None] * (ends - starts)) - corner) @ v
        where = np.unique(np.concatenate([where[hit], ((ends - corner) @ v)[two == 0], [0.0]]))
        for a, b in _runs(polygon, corner, v, where):
            if b - a > best:
                best, shift, half = b - a, corner + (a + b) / 2 * v, (b - a) / 2
    return Slice(v[:, None], shift, Interval(-half, half))


def _runs(polygon: Polygon, corner: Array, v: Array, where: Array) -> list[tuple[float, float]]:
    """Stretches of a line whose pieces between crossings all lie inside."""
    runs: list[tuple[float, float]] = []
    for a, b in zip(where[:-1].tolist(), where[1:].tolist(), strict=True):
        if polygon.contains(corner + (a + b) / 2 * v):
            if runs and runs[-1][1] == a:
                runs[-1] = (runs[-1][0], b)
            else:
                runs.append((a, b))
    return runs


def central_slice(support: Ball | Ellipsoid | Box, B: Array) -> Slice:
    """The slice through the centre of a symmetric set: no other one costs less."""
    if isinstance(support, (Ball, Ellipsoid)):
        shape = np.linalg.inv(B.T @ np.linalg.inv(support.shape) @ B)
        reach = float(np.sqrt(shape[0, 0]))
        return Slice(B, support.middle, Ellipsoid(shape) if len(shape) > 1 else Interval(-reach, reach))
    center, half = (support.low + support.high) / 2, (support.high - support.low) / 2
    if B.shape[1] == 1:
        with np.errstate(divide="ignore"):
            reach = float(np.min(half / np.abs(B[:, 0])))
        return Slice(B, center, Interval(-reach, reach))
    live = np.linalg.norm(B, axis=1) > 1e-12
    return Slice(B, center, Polytope(A=np.vstack([B[live], -B[live]]), b=np.tile(half[live], 2)))
