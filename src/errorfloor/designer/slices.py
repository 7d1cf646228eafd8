"""Answers that depend on each other: K has a null space, and the best noise lives on a slice along its range.

The cost J = Tr(K I_w) only counts derivatives along range K, so it is the average over slices W ∩ (w₀ + range K) of
what each slice costs by itself, and the infimum is the least of them, approached but not attained by densities.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import inner_point, least_place, smallest_loss
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.offsets import Offsets, is_convex
from errorfloor.designer.problem import Problem
from errorfloor.designer.regular import solve_regular
from errorfloor.designer.solvers import TOLERANCE
from errorfloor.errors import ConvergenceError, IllPosedError, InputError
from errorfloor.noise import Certificate, Flat, Loss, Noise
from errorfloor.support import Ball, Box, Ellipsoid, Interval, Polygon, Polytope, Reals, Support

# of the width of the noise, by a slice's dimension: how closely the best is sought; costs are good to its square
FINE = {1: 1e-4, 2: 1e-4, 3: 1e-2}
SHORTENED = 5e-12  # what a bound may be off by since chords end a little inside
WORDS = "K has rank {rank} of {m}: no density is optimal, and the noise lives on the best slice along the range of K"


@dataclass(frozen=True)
class Slice:
    """A slice {shift + basis·z : z in inner} of a support."""

    basis: Array
    shift: Array
    inner: Support
    proved: bool  # whether no other slice costs less


def range_of(K: Array, rank: int) -> Array:
    """An orthonormal basis of the range, computed in units in which K has a unit diagonal."""
    scale = np.sqrt(np.where(np.diag(K) > 0, np.diag(K), 1.0))
    vectors = np.linalg.eigh(K / scale / scale[:, None])[1][:, -rank:]
    basis = np.linalg.qr(scale[:, None] * vectors)[0]
    return np.asarray(basis * np.where(basis.sum(axis=0) < 0, -1.0, 1.0))


def slice_design(problem: Problem, progress: Progress | None = None) -> Noise:
    """Give the noise on the best slice, with the certificate of the slice's own problem and of all other slices."""
    assert problem.rank is not None, "asked only for a K without full rank"
    B = range_of(problem.sensitivity, problem.rank)
    found = _best_slice(problem, B)
    found, inner, offset = on_slice(problem, found)
    noise = solve_regular(inner, progress)
    own = noise.certificate
    assert own is not None, "every design carries its certificate"
    words = WORDS.format(rank=problem.rank, m=problem.support.dimension)
    more = 0.0 if problem.loss_weight is None else problem.loss_weight * offset
    lower, proof = None if own.lower_bound is None else own.lower_bound * (1 - SHORTENED) + more, ""
    if not found.proved:
        from errorfloor.designer.other_slices import least_of_all

        size = float(np.sqrt(np.trace(noise.covariance)))
        lower, proof = least_of_all(problem, Offsets(problem.support, B, found.shift, size), own, offset, progress)
    certificate = Certificate(
        value=own.value + more,
        lower_bound=None if lower is None else min(lower, own.value + more),
        method="; ".join(part for part in (words, own.method, proof) if part),
        reference=own.reference,
        loss=None if own.loss is None else own.loss + offset,
        loss_weight=own.loss_weight,
    )
    return Flat(replace(noise, certificate=None), found.basis, found.shift, problem.support, certificate=certificate)


def on_slice(problem: Problem, found: Slice) -> tuple[Slice, Problem, float]:
    """The problem in the slice's own coordinates, and a constant that is left out of its loss."""
    found, loss, offset = (found, None, 0.0) if problem.loss is None else _with_loss(problem.loss, found)
    pseudo = np.linalg.pinv(found.basis)
    K = pseudo @ problem.sensitivity @ pseudo.T
    bound = None if problem.max_loss is None else problem.max_loss - offset
    return found, Problem(found.inner, (K + K.T) / 2, loss, problem.loss_weight, bound, K.shape[0]), offset


def _with_loss(loss: Loss, found: Slice) -> tuple[Slice, Loss, float]:
    """The loss along the slice: quadratic once the slice's coordinates start where it is least, else a function."""
    B, r = found.basis, found.basis.shape[1]
    if loss.weight is not None:
        own = B.T @ loss.weight @ B
        least = -np.linalg.solve(own, B.T @ loss.weight @ found.shift)
        moved = replace(found, shift=found.shift + B @ least, inner=_moved(found.inner, least))
        return moved, Loss((own + own.T) / 2), float(loss(moved.shift))

    def along(z: Any) -> Any:
        points = np.asarray(z)[..., None] if r == 1 else np.asarray(z)
        return loss(found.shift + points @ B.T)

    return found, Loss(None, along), 0.0


def _moved(inner: Support, by: Array) -> Support:
    """The set of all z with z + by in a set."""
    if isinstance(inner, Reals) or not by.any():
        return inner
    if isinstance(inner, (Ball, Ellipsoid)):
        return Ellipsoid(inner.shape, inner.middle - by)
    if inner.dimension == 1:
        low, high = inner.bounding_box
        return _line_set(float(low[0] - by[0]), float(high[0] - by[0]))
    half_spaces = inner.half_spaces
    assert half_spaces is not None, "slices with several dimensions are convex"
    return Polytope(A=half_spaces[0], b=half_spaces[1] - half_spaces[0] @ by)


def _best_slice(problem: Problem, B: Array) -> Slice:
    support = problem.support
    even = problem.loss is None or problem.loss.function is None  # a given loss need not be
    if isinstance(support, Reals) and even:
        return Slice(B, np.zeros(support.dimension), Reals(B.shape[1]), True)
    symmetric = _center(support)
    if problem.loss is None and B.shape[1] == 1:
        return _longest_chord(support, B[:, 0])
    if symmetric is not None and even and (problem.loss is None or not symmetric.any()):
        return slice_at(support, B, symmetric, proved=True)
    return _searched(problem, B)


def _center(support: Support) -> Array | None:
    """The centre of a convex set that is symmetric about it: its central slice costs least (see the proof)."""
    if isinstance(support, (Ball, Ellipsoid)):
        return support.middle
    return (support.low + support.high) / 2 if isinstance(support, Box) else None


def _longest_chord(support: Support, v: Array) -> Slice:
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
    """The slice of a support through an inner point."""
    r = B.shape[1]
    if isinstance(support, (Ball, Ellipsoid)):
        inverse = np.linalg.inv(support.shape)
        Q = B.T @ inverse @ B
        offset = point - support.middle
        middle = -np.linalg.solve(Q, B.T @ inverse @ offset)
        rest = 1 - float(offset @ inverse @ offset) + float(middle @ Q @ middle)
        inner: Support = (
            Ellipsoid(np.linalg.inv(Q) * rest, middle)
            if r > 1
            else Interval(float(middle[0] - np.sqrt(rest / Q[0, 0])), float(middle[0] + np.sqrt(rest / Q[0, 0])))
        )
        return Slice(B, point, inner, proved)
    if support.half_spaces is None:
        assert isinstance(support, Polygon), "only polygons need not be convex"
        return Slice(B, point, Interval(*_run_through(support, point, B[:, 0])), proved)
    A, b = support.half_spaces
    rows = A @ B
    live = np.linalg.norm(rows, axis=1) > 1e-12
    rows, depth = rows[live], (b - A @ point)[live]
    if r == 1:
        low, high = _ends(rows, depth, np.zeros(1), np.ones(1))
        return Slice(B, point, _line_set(low, high), proved)
    return Slice(B, point, Polytope(A=rows, b=depth) if len(rows) else Reals(r), proved)


def _line_set(low: float, high: float) -> Support:
    from errorfloor.support import HalfLine

    if np.isinf(low) and np.isinf(high):
        return Reals(1)
    if np.isinf(low):
        return HalfLine(high=high)
    return HalfLine(low) if np.isinf(high) else Interval(low, high)


def _searched(problem: Problem, B: Array) -> Slice:
    """The best slice by a search over its offset: on a convex support what a slice costs is convex in it."""
    from scipy.optimize import minimize

    support = problem.support
    costs = Costs(problem, B)
    deep = inner_point(support)
    starts = [deep]
    if problem.loss is not None:  # the slice through the least loss may be the only kind that meets a tight bound
        near = least_place(support, problem.loss)
        starts += [near + share * (deep - near) for share in (0.3, 0.1, 0.03, 0.01)]
    start = min(starts, key=costs)
    least = costs(start)
    if not np.isfinite(least):
        raise IllPosedError("no slice along the range of K was found on which the problem can be solved")
    offsets = Offsets(support, B, start, costs.size)
    convex, d = is_convex(support), len(offsets.across)

    def place(offset: Array) -> Array:
        """A point of the slice at an offset; all slices of a convex support are reached, of others those in view."""
        return offsets.inside(offset)[0] if convex else start + offsets.size * offset @ offsets.across

    found = minimize(
        lambda offset: costs(place(offset)),
        np.zeros(d),
        method="Nelder-Mead",
        options={
            "initial_simplex": 0.5 * np.vstack([np.zeros(d), np.eye(d)]),
            "xatol": FINE[B.shape[1]],
            "fatol": FINE[B.shape[1]] ** 2 * least,
            "maxfev": 60 * d,
        },
    )
    return slice_at(support, B, place(found.x), proved=False)


@dataclass
class Costs:
    """What slices cost; remembers the weight of the loss that the last one came to, and how wide its noise was."""

    problem: Problem
    basis: Array
    start: tuple[GroundState, float] | None = None
    size: float = 0.0

    def __call__(self, point: Array) -> float:
        """The least cost on the slice through a point; infinite where there is none."""
        if not self.problem.support.contains(point):
            return float("inf")
        try:
            return self._on(*on_slice(self.problem, slice_at(self.problem.support, self.basis, point, proved=False)))
        except (InputError, ConvergenceError):  # too thin, or its loss cannot meet the bound
            return float("inf")

    def _on(self, found: Slice, inner: Problem, offset: float) -> float:
        from errorfloor.designer.numerical import numerical_design

        bound, loss = inner.max_loss, inner.loss
        if bound is not None and loss is not None and bound <= smallest_loss(inner.support, loss) * (1 + 1e-9):
            return float("inf")
        # at the best weight the cost does not change with it: it needs half the digits that the cost is to have
        start = None if inner.support.is_bounded else self.start
        fine = FINE[self.basis.shape[1]]
        noise, state, weight = numerical_design(
            inner, start=start, certify=False, accuracy=fine / 10, tolerance=max(TOLERANCE, fine**2)
        )
        self.start, self.size = (state, weight), float(np.sqrt(np.trace(noise.covariance)))
        own = noise.certificate
        assert own is not None, "every design carries its certificate"
        if bound is not None and own.loss is not None:
            return own.value + weight * (own.loss - bound)
        return own.value + (inner.loss_weight or 0.0) * offset
