"""Lower bounds of eigenvalues from a box around the support, in which the problem falls into lines.

If V = zᵀSz, in coordinates along the eigenvectors of S it is a sum Σ s_i q_i², and on the box around the support the
eigenvalues are sums of those of −d²/dq² + s_i q² on its sides. Enlarging a domain lowers its eigenvalues. An absolute
loss is a sum along the coordinates of w, and falls into lines once K is lowered to a diagonal matrix (``absolute``).
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.absolute import absolute_levels
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic

Reach = Callable[[Array], tuple[Array, Array]]  # the least and greatest values on the support along given axes

PIECES = 600  # of a side
TURNS = 24  # of the box, where no potential fixes its axes
ROUND = 4  # of them are tried where the potential is round


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
    if weight and loss is not None and loss.is_absolute:
        lines = absolute_levels(problem, weight, *reach(problem.root.T), ceiling, 1 + which * (2 if even else 1))
        bound = _sum_of_levels(np.pad(lines, ((0, 0), (0, 3 - lines.shape[1])), constant_values=math.inf), which, even)
        # without the potential K need not be lowered, which may be better on a bounded support
        free = level_in_box(problem, 0.0, reach, ceiling, which, even=even) if problem.support.is_bounded else 0.0
        return min(ceiling, max(bound, free))
    if not weight or loss is None or loss.weight is None:  # V ≥ 0 is all that is used of a given loss
        return min(ceiling, max(_without_potential(*reach(axes), which, even) for axes in _frames(problem)))
    strength, axes = np.linalg.eigh(weight / 4 * problem.root.T @ loss.weight @ problem.root)
    strength = np.clip(strength, 0, None)
    # a round potential is a sum along any axes
    frames = _frames(problem) if strength[-1] - strength[0] <= 1e-12 * strength[-1] else [axes]
    strength = np.full_like(strength, strength[0]) if len(frames) > 1 else strength
    return max(_lines(strength, *reach(frame), ceiling, which, even) for frame in frames[:ROUND])


def reach_of(points: Array) -> Reach:
    """The reach of anything within the convex hull of some points, given as rows."""

    def reach(axes: Array) -> tuple[Array, Array]:
        along = points @ axes
        return along.min(axis=0), along.max(axis=0)

    return reach


def _without_potential(low: Array, high: Array, which: int, even: bool) -> float:
    widths = (high - low) * (1 + 1e-12)
    return _sum_of_levels(math.pi**2 * np.array([1.0, 4.0, 9.0]) / widths[:, None] ** 2, which, even)


def _sum_of_levels(levels: Array, which: int, even: bool) -> float:
    """The least or second sum of one level of each axis, these given in rows; those of even functions if so asked."""
    ground, above = float(levels[:, 0].sum()), levels[:, 1:] - levels[:, :1]
    if not which:
        return ground
    if not even:
        return ground + float(above[:, 0].min())
    # levels of even and odd functions take turns: two axes are raised by one, or one by two
    return ground + min(float(np.sort(above[:, 0])[:2].sum()), float(above[:, 1].min()))


def _lines(strength: Array, least: Array, most: Array, ceiling: float, which: int, even: bool) -> float:
    rows = []
    for s, low, high in zip(strength, least, most, strict=True):
        far = math.sqrt(ceiling / s) if s > 0 else math.inf
        a, b = max(low, -far), min(high, far)
        if a >= b:
            return ceiling  # the potential alone is above it everywhere
        grid = np.linspace(a, b, PIECES + 1)[:, None]
        walls = [[1.0, end] for end, real in ((a, low), (b, high)) if end != real]
        mesh = Mesh(
            grid, np.stack([np.arange(PIECES), np.arange(1, PIECES + 1)], axis=1), np.array(walls) if walls else None
        )
        ends = np.abs(grid[:, 0])
        nearest = np.where(grid[:-1, 0] * grid[1:, 0] < 0, 0.0, np.minimum(ends[:-1], ends[1:]))
        count = 1 + which * (2 if even else 1)
        # on all of the line the levels are √s(2k + 1), and no part of it has lower ones
        free = [math.sqrt(s) * (2 * k + 1) * (1 - 1e-12) for k in range(count)]
        levels = [min(ceiling, max(free[k], eigenvalue_bound(mesh, s * nearest**2, k))) for k in range(count)]
        rows.append(levels + [math.inf] * (3 - count))
    return min(ceiling, _sum_of_levels(np.array(rows), which, even))


def _frames(problem: Isotropic) -> list[Array]:
    """Orthonormal axes in several directions, those of flat faces first."""
    half_spaces = problem.support.half_spaces
    normals = half_spaces[0] @ problem.root if half_spaces is not None else np.zeros((0, problem.dimension))
    identity = np.eye(problem.dimension)
    frames = [np.linalg.qr(np.column_stack([row, identity]))[0] for row in normals[:ROUND]]
    turns = [math.pi / 2 * k / TURNS for k in range(TURNS)]
    if problem.dimension == 2:
        return frames + [np.array([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]]) for t in turns]
    if problem.dimension > 3:
        generator = np.random.default_rng(0)
        others = [np.linalg.qr(generator.normal(size=identity.shape))[0] for _ in range(TURNS)]
        return [*frames, identity, np.linalg.eigh(problem.root.T @ problem.root)[1], *others]
    for a, b, c in itertools.product(turns[::4], repeat=3):
        one = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
        two = np.array([[1, 0, 0], [0, math.cos(b), -math.sin(b)], [0, math.sin(b), math.cos(b)]])
        three = np.array([[math.cos(c), 0, -math.sin(c)], [0, 1, 0], [math.sin(c), 0, math.cos(c)]])
        frames.append(one @ two @ three)
    return frames
