"""Slices of a support along a subspace: their shape, and the longest chord."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError, IllPosedError
from errorfloor.support import Ball, Box, Ellipsoid, HalfLine, Interval, Polygon, Polytope, Reals, Support

EMPTY = "the slice does not meet the support"


@dataclass(frozen=True)
class Slice:
    """A slice {shift + basis·z : z in inner} of a support."""

    basis: Array
    shift: Array
    inner: Support
    proved: bool  # whether no other slice costs less


def center_of(support: Support) -> Array | None:
    """The centre of a convex set that is symmetric about it: its central slice costs least (see the proof)."""
    if isinstance(support, (Ball, Ellipsoid)):
        return support.middle
    return (support.low + support.high) / 2 if isinstance(support, Box) else None


def longest_chord(support: Support, v: Array) -> Slice:
    """The longest chord along v, by a linear programme, from the corners of a polygon, or through a centre."""
    if isinstance(support, (Ball, Ellipsoid)):
        reach = 1 / np.sqrt(float(v @ np.linalg.solve(support.shape, v)))
        return Slice(v[:, None], support.middle, Interval(-reach, reach), True)
    if isinstance(support, Box):
        width = support.high - support.low
        with np.errstate(divide="ignore"):
            reach = float(np.min(width / np.abs(v))) / 2
        return Slice(v[:, None], (support.low + support.high) / 2, Interval(-reach, reach), True)
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
    return Slice(v[:, None], found.x[:m] + found.x[-1] / 2 * v, Interval(-half, half), True)


def _ends(A: Array, b: Array, point: Array, v: Array) -> tuple[float, float]:
    """Where the line through an inner point leaves a polyhedron."""
    depth, speed = b - A @ point, A @ v
    with np.errstate(divide="ignore", invalid="ignore"):
        times = depth / speed
    return float(times[speed < 0].max(initial=-np.inf)), float(times[speed > 0].min(initial=np.inf))


def _run_through(polygon: Polygon, point: Array, v: Array) -> tuple[float, float]:
    """Where the line through an inner point of a polygon, convex or not, first leaves it on either side."""
    starts, ends = polygon.vertices - point, np.roll(polygon.vertices, -1, axis=0) - point
    normal = np.array([-v[1], v[0]])
    one, two = starts @ normal, ends @ normal
    hit = (one > 0) != (two > 0)
    share = one[hit] / (one[hit] - two[hit])
    where = ((1 - share)[:, None] * starts[hit] + share[:, None] * ends[hit]) @ v
    low, high = where[where < 0].max(initial=-np.inf), where[where > 0].min(initial=np.inf)
    if not np.isfinite([low, high]).all():
        raise IllPosedError("the slice touches the polygon in a point only")
    return float(low) * (1 - 1e-12), float(high) * (1 - 1e-12)


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
    return Slice(v[:, None], shift, Interval(-half, half), True)


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


def slice_at(support: Support, B: Array, point: Array, *, proved: bool) -> Slice:
    """The slice of a support through a point, which need not lie in it unless the support is not convex.

    Raises InputError where the slice is empty.
    """
    r = B.shape[1]
    if isinstance(support, (Ball, Ellipsoid)):
        inverse = np.linalg.inv(support.shape)
        Q = B.T @ inverse @ B
        offset = point - support.middle
        middle = -np.linalg.solve(Q, B.T @ inverse @ offset)
        rest = 1 - float(offset @ inverse @ offset) + float(middle @ Q @ middle)
        if not rest > 0:
            raise IllPosedError(EMPTY)
        inner: Support = (
            Ellipsoid(np.linalg.inv(Q) * rest, middle)
            if r > 1
            else Interval(float(middle[0] - np.sqrt(rest / Q[0, 0])), float(middle[0] + np.sqrt(rest / Q[0, 0])))
        )
        return Slice(B, point, inner, proved)
    if support.half_spaces is None:
        assert isinstance(support, Polygon), "only polygons need not be convex"
        if not support.contains(point):
            raise IllPosedError(EMPTY)
        return Slice(B, point, Interval(*_run_through(support, point, B[:, 0])), proved)
    A, b = support.half_spaces
    rows = A @ B
    live = np.linalg.norm(rows, axis=1) > 1e-12
    if ((b - A @ point)[~live] < 0).any():
        raise IllPosedError(EMPTY)
    rows, depth = rows[live], (b - A @ point)[live]
    if r == 1:
        low, high = _ends(rows, depth, np.zeros(1), np.ones(1))
        return Slice(B, point, line_set(low, high), proved)
    return Slice(B, point, Polytope(A=rows, b=depth) if len(rows) else Reals(r), proved)


def line_set(low: float, high: float) -> Support:
    """The interval, half-line or line between two ends, these possibly infinite."""
    if np.isinf(low) and np.isinf(high):
        return Reals(1)
    if np.isinf(low):
        return HalfLine(high=high)
    return HalfLine(low) if np.isinf(high) else Interval(low, high)


def moved_by(inner: Support, by: Array) -> Support:
    """The set of all z with z + by in a set."""
    if isinstance(inner, Reals) or not by.any():
        return inner
    if isinstance(inner, (Ball, Ellipsoid)):
        return Ellipsoid(inner.shape, inner.middle - by)
    if inner.dimension == 1:
        low, high = inner.bounding_box
        return line_set(float(low[0] - by[0]), float(high[0] - by[0]))
    half_spaces = inner.half_spaces
    assert half_spaces is not None, "slices with several dimensions are convex"
    return Polytope(A=half_spaces[0], b=half_spaces[1] - half_spaces[0] @ by)
