"""Answers that depend on each other: K has a null space, and the best noise lives on a slice along its range.

The cost J = Tr(K I_w) only counts derivatives along range K, so it is the average over slices W ∩ (w₀ + range K) of
what each slice costs by itself, and the infimum is the least of them, approached but not attained by densities.
"""

from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.numerical import solve_regular
from errorfloor.designer.problem import Problem
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise import Flat, Loss, Noise
from errorfloor.support import Ball, Box, Ellipsoid, Interval, Polygon, Polytope, Reals, Support

SHORTENED = 5e-12  # what a bound may be off by since chords end a little inside
WORDS = "K has rank {rank} of {m}: no density is optimal, and the noise lives on the best slice along the range of K"


@dataclass(frozen=True)
class Slice:
    """A slice {shift + basis·z : z in inner} of a support."""

    basis: Array
    shift: Array
    inner: Support


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
    noise = solve_regular(_restricted(problem, found), progress)
    own = noise.certificate
    assert own is not None, "every design carries its certificate"
    words = WORDS.format(rank=problem.rank, m=problem.support.dimension)
    certificate = replace(
        own,
        lower_bound=None if own.lower_bound is None else own.lower_bound * (1 - SHORTENED),
        method=f"{words}; {own.method}",
    )
    return Flat(replace(noise, certificate=None), found.basis, found.shift, problem.support, certificate=certificate)


def _best_slice(problem: Problem, B: Array) -> Slice:
    """The slice that costs least, where a theorem names it: a central slice, or the longest chord."""
    support, loss = problem.support, problem.loss
    if isinstance(support, Reals):
        return Slice(B, np.zeros(support.dimension), Reals(B.shape[1]))
    low, high = support.bounding_box
    if isinstance(support, (Ball, Ellipsoid, Box)) and (loss is None or np.array_equal(low, -high)):
        return central_slice(support, B)
    if loss is None and B.shape[1] == 1:
        return longest_chord(support, B[:, 0])
    raise InputError(
        f"K has rank {problem.rank} of {support.dimension}, and no theorem names the best slice of this support: ask "
        f"for {problem.rank} independent answers and compute the others from them, or design for a box or an ellipsoid "
        f"around 0 inside it"
    )


def _restricted(problem: Problem, found: Slice) -> Problem:
    """The problem in the slice's own coordinates; where there is a loss, the slice passes through 0."""
    B, loss = found.basis, problem.loss
    pseudo = np.linalg.pinv(B)
    K = pseudo @ problem.sensitivity @ pseudo.T
    along = None
    if loss is not None and loss.weight is not None:
        R = B.T @ loss.weight @ B
        along = Loss((R + R.T) / 2)
    elif loss is not None:
        along = Loss(None, lambda z: loss((np.asarray(z)[..., None] if B.shape[1] == 1 else np.asarray(z)) @ B.T))
    return replace(problem, support=found.inner, sensitivity=(K + K.T) / 2, loss=along, rank=len(K))


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
