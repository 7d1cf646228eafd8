"""Lower bounds of eigenvalues from a box around the support, in which the problem falls into lines.

If V = zᵀSz, in coordinates along the eigenvectors of S it is a sum Σ s_i q_i², and on the box around the support the
eigenvalues are sums of those of −d²/dq² + s_i q² on its sides. Enlarging a domain lowers its eigenvalues.
"""

import itertools
import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic

Reach = Callable[[Array], tuple[Array, Array]]  # the least and greatest values on the support along given axes

PIECES = 600  # of a side
TURNS = 24  # of the box, where no potential fixes its axes
ROUND = 4  # of them are tried where the potential is round


def level_in_box(problem: Isotropic, weight: float, reach: Reach, ceiling: float, which: int) -> float:
    """A proved lower bound of the least (0) or second (1) eigenvalue on a support of this ``reach``, up to ``ceiling``.

    >>> from errorfloor.support import Box
    >>> square = reach_of(np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> problem = Isotropic(Box([0, 0], [1, 1]), np.eye(2), None)
    >>> round(level_in_box(problem, 0.0, square, 100.0, 1) / math.pi**2, 9)
    5.0
    """
    loss = problem.loss
    if not weight or loss is None or loss.weight is None:  # V ≥ 0 is all that is used of an absolute loss
        return min(ceiling, max(_without_potential(*reach(axes), which) for axes in _frames(problem)))
    strength, axes = np.linalg.eigh(weight / 4 * problem.root.T @ loss.weight @ problem.root)
    strength = np.clip(strength, 0, None)
    # a round potential is a sum along any axes
    frames = _frames(problem) if strength[-1] - strength[0] <= 1e-12 * strength[-1] else [axes]
    return max(
        _lines(np.full_like(strength, strength[0]) if len(frames) > 1 else strength, *reach(frame), ceiling, which)
        for frame in frames[:ROUND]
    )


def reach_of(points: Array) -> Reach:
    """The reach of anything within the convex hull of some points, given as rows."""

    def reach(axes: Array) -> tuple[Array, Array]:
        along = points @ axes
        return along.min(axis=0), along.max(axis=0)

    return reach


def _without_potential(low: Array, high: Array, which: int) -> float:
    widths = (high - low) * (1 + 1e-12)
    return math.pi**2 * float((1 / widths**2).sum() + 3 * which / widths.max() ** 2)


def _lines(strength: Array, least: Array, most: Array, ceiling: float, which: int) -> float:
    pairs = []
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
        pairs.append([min(ceiling, eigenvalue_bound(mesh, s * nearest**2, level)) for level in (0, 1)])
    ground = sum(first for first, _ in pairs)
    return min(ceiling, min(ground - first + second for first, second in pairs) if which else ground)


def _frames(problem: Isotropic) -> list[Array]:
    """Orthonormal axes in several directions, those of flat faces first."""
    half_spaces = problem.support.half_spaces
    normals = half_spaces[0] @ problem.root if half_spaces is not None else np.zeros((0, problem.dimension))
    identity = np.eye(problem.dimension)
    frames = [np.linalg.qr(np.column_stack([row, identity]))[0] for row in normals[:ROUND]]
    turns = [math.pi / 2 * k / TURNS for k in range(TURNS)]
    if problem.dimension == 2:
        return frames + [np.array([[math.cos(t), -math.sin(t)], [math.sin(t), math.cos(t)]]) for t in turns]
    for a, b, c in itertools.product(turns[::4], repeat=3):
        one = np.array([[math.cos(a), -math.sin(a), 0], [math.sin(a), math.cos(a), 0], [0, 0, 1]])
        two = np.array([[1, 0, 0], [0, math.cos(b), -math.sin(b)], [0, math.sin(b), math.cos(b)]])
        three = np.array([[math.cos(c), 0, -math.sin(c)], [0, 1, 0], [math.sin(c), 0, math.cos(c)]])
        frames.append(one @ two @ three)
    return frames
