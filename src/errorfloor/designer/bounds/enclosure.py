"""Lower bounds of eigenvalues from independent coordinates: on a box around the support, a sum over lines.

If V = zᵀSz, in coordinates along the eigenvectors of S it is a sum Σ s_i q_i², and on the box around the support the
eigenvalues are sums of those of −d²/dq² + s_i q² on its sides. Enlarging a domain lowers its eigenvalues. An absolute
loss is a sum along the coordinates of w: −div(K∇) + ¼ϱΣ|w_i| is at least Σ(−d_i ∂_i² + ¼ϱ|w_i|) if diag(d) ≤ K.

On a line, levels of −k u″ + V u, V convex, follow from values of V alone. A convex function lies above the secants of
neighbouring cells, continued, and so above a step function. With the steps in place of V, Crouzeix–Raviart elements on
the line bound the levels; where V has reached a ceiling the line may be cut, if nothing is asked of functions there.
"""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import Isotropic

PIECES = 1500
INNER = 4.0  # where V is below the ceiling by this factor most of the pieces are
LEVEL_ROUNDING = 1e-12  # relative: what levels without a potential are lowered by
Reach = Callable[[Array], tuple[Array, Array]]  # the least and greatest values on the support along given axes

TURNS = 24  # of the box in the plane, where no potential fixes its axes
MOST_FRAMES = 4  # that are tried where the potential is round
ROUNDING = 1e-9  # relative: what a diagonal is lowered by, so that it is below K in spite of rounding


def free_levels(k: float, low: float, high: float, count: int) -> Array:
    """The first levels of −k u″ between two ends, a little less for rounding: kπ²n²/width²."""
    return np.asarray(k * (math.pi * np.arange(1, count + 1) / (high - low)) ** 2 * (1 - LEVEL_ROUNDING))


def levels_on_line(
    k: float,
    potential: Callable[[Array], Array],
    ends: tuple[float, float],
    place: float,
    ceiling: float,
    count: int,
) -> Array:
    """Lower bounds, up to ``ceiling``, of the first ``count`` levels of −k u″ + V u between two ends, zero there.

    Guarantee: they hold for every convex V with these values. ``place`` is about where V is least; where V is not below
    the ceiling there, nothing is known.

    >>> levels_on_line(1.0, np.abs, (-math.inf, math.inf), 0.0, 5.0, 2).round(2).tolist()  # 1.0188 and 2.3381, Airy's
    [1.02, 2.33]
    """
    if not float(potential(np.array([place]))[0]) < ceiling:
        return np.full(count, -math.inf)
    low, high = (_reached(potential, place, sign, end, ceiling) for sign, end in zip((-1, 1), ends, strict=True))
    unit = math.sqrt(k)
    # most of the pieces where the lowest states live
    inner = [_reached(potential, place, sign, end, ceiling / INNER) for sign, end in zip((-1, 1), ends, strict=True)]
    each = PIECES // 6
    parts = [
        np.linspace(low, inner[0], each),
        np.linspace(inner[0], inner[1], PIECES - 2 * each),
        np.linspace(inner[1], high, each),
    ]
    grid = np.unique(np.concatenate(parts))
    steps = steps_below(potential(grid), grid)
    least = float(steps.min())
    walls = [[1.0, place / unit] for place, end in ((low, ends[0]), (high, ends[1])) if place != end]
    cells = np.stack([np.arange(len(steps)), np.arange(1, len(grid))], axis=1)
    mesh = Mesh(grid[:, None] / unit, cells, np.array(walls) if walls else None)
    levels = [least + eigenvalue_bound(mesh, steps - least, which) for which in range(count)]
    return np.minimum(levels, ceiling)


def steps_below(values: Array, grid: Array) -> Array:
    """A step function below a convex function, from secants of the cells to the left and to the right."""
    width = np.diff(grid)
    slope = np.diff(values) / width
    left, right = np.full(len(slope), -math.inf), np.full(len(slope), -math.inf)
    left[1:] = np.minimum(values[1:-1], values[1:-1] + slope[:-1] * width[1:])
    right[:-1] = np.minimum(values[1:-1], values[1:-1] - slope[1:] * width[:-1])
    return np.asarray(np.maximum(left, right))


def _reached(potential: Callable[[Array], Array], place: float, sign: int, end: float, ceiling: float) -> float:
    """Where V is at least the ceiling on one side of a place, or that side's end."""
    above = abs(end - place) if math.isfinite(end) else 1 + abs(place)

    def is_high(distance: float) -> bool:
        return bool(float(potential(np.array([place + sign * distance]))[0]) >= ceiling)

    while not is_high(above):
        if math.isfinite(end):
            return end
        above *= 2
    while is_high(above / 2) and above > 0:
        above /= 2
    below = above / 2
    for _ in range(20):
        middle = (below + above) / 2
        below, above = (below, middle) if is_high(middle) else (middle, above)
    return place + sign * above if above < abs(end - place) else end


def level_in_box(
    problem: Isotropic, weight: float, reach: Reach, ceiling: float, which: int, *, even: bool = False
) -> float:
    """A proved lower bound of the least (0) or second (1) eigenvalue on a support of this ``reach``, up to ``ceiling``.

    On a support that is symmetric about the origin, the second one may be asked for among ``even`` functions only.

    >>> from errorfloor.support import Box
    >>> square = reach_of(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> problem = Isotropic(Box([0, 0], [1, 1]), np.eye(2), None)
    >>> round(level_in_box(problem, 0.0, square, 100.0, 1) / math.pi**2, 9)
    5.0
    """
    loss = problem.loss
    count = 1 + which * (2 if even else 1)
    if not weight or loss is None or loss.weight is None:
        found = (
            np.array([free_levels(1.0, low, high, count) for low, high in zip(*reach(axes), strict=True)])
            for axes in _frames(problem)
        )
        return min(ceiling, max(sum_of_levels(levels, which, even=even) for levels in found))
    strength, axes = np.linalg.eigh(weight / 4 * problem.root.T @ loss.weight @ problem.root)
    strength = np.clip(strength, 0, None)
    # a round potential is a sum along any axes
    frames = _frames(problem)[:MOST_FRAMES] if strength[-1] - strength[0] <= 1e-12 * strength[-1] else [axes]
    strength = np.full_like(strength, strength[0]) if len(frames) > 1 else strength
    best = 0.0
    for frame in frames:
        lines = [
            _levels(lambda q, s=s: s * q**2, low, high, ceiling, count)  # type: ignore[misc]
            for s, low, high in zip(strength.tolist(), *reach(frame), strict=True)
        ]
        best = max(best, sum_of_levels(np.array(lines), which, even=even))
    return min(ceiling, best)


def reach_of(points: Array) -> Reach:
    """The reach of anything within the convex hull of some points, given as rows."""

    def reach(axes: Array) -> tuple[Array, Array]:
        along = points @ axes
        return along.min(axis=0), along.max(axis=0)

    return reach


def sum_of_levels(levels: Array, which: int, *, even: bool = False) -> float:
    """The least or second sum of one level of each axis, these given in rows; those of even functions if so asked."""
    ground, above = float(levels[:, 0].sum()), levels[:, 1:] - levels[:, :1]
    if not which:
        return ground
    if not even:
        return ground + float(above[:, 0].min())
    # levels of even and odd functions take turns: two axes are raised by one, or one by two
    return ground + min(float(np.sort(above[:, 0])[:2].sum()), float(above[:, 1].min()))


def share_of_diagonal(matrix: Array) -> float:
    """The greatest κ, a little less for rounding, with matrix ⪰ κ·diag matrix: 0 where that is not certain.

    >>> round(share_of_diagonal(np.array([[1.0, 0.5], [0.5, 1.0]])), 6)
    0.5
    """
    unit = np.sqrt(np.diag(matrix))
    values = np.linalg.eigvalsh(matrix / unit / unit[:, None])
    return 1.0 if len(matrix) == 1 else max(0.0, float(values[0]) * (1 - ROUNDING) - 1e-15 * len(matrix))


def _levels(potential: Callable[[Array], Array], low: float, high: float, ceiling: float, count: int) -> Array:
    found = levels_on_line(1.0, potential, (low, high), min(max(0.0, low), high), ceiling, count)
    return np.full(count, ceiling) if math.isinf(found[0]) else found  # the potential alone is above it everywhere


def _frames(problem: Isotropic) -> list[Array]:
    """Orthonormal axes in several directions, those of flat faces first."""
    half_spaces = problem.support.half_spaces
    normals = half_spaces[0] @ problem.root if half_spaces is not None else np.zeros((0, problem.dimension))
    identity = np.eye(problem.dimension)
    frames = [np.linalg.qr(np.column_stack([row, identity]))[0] for row in normals[:MOST_FRAMES]]
    if problem.dimension == 2:
        turns = np.arange(TURNS) * math.pi / (2 * TURNS)
        return frames + [np.array([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]]) for t in turns]
    return [*frames, identity, np.linalg.eigh(problem.root.T @ problem.root)[1]]
