"""Lower bounds of eigenvalues from a box around the support, in which the coordinates are independent.

If V = zᵀSz, in coordinates along the eigenvectors of S it is a sum Σ s_i q_i², and on the box around the support the
eigenvalues are sums of those of −d²/dq² + s_i q² on its sides. Enlarging a domain lowers its eigenvalues. An absolute
loss is a sum along the coordinates of w: −div(K∇) + ¼ϱΣ|w_i| is at least Σ(−d_i ∂_i² + ¼ϱ|w_i|) if diag(d) ≤ K.
"""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.lines import free_levels, levels_on_line
from errorfloor.designer.meshes.isotropic import Isotropic

Reach = Callable[[Array], tuple[Array, Array]]  # the least and greatest values on the support along given axes

TURNS = 24  # of the box in the plane, where no potential fixes its axes
MOST_FRAMES = 4  # that are tried where the potential is round
ROUNDING = 1e-9  # relative: what a diagonal is lowered by, so that it is below K in spite of rounding


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
            _levels(1.0, lambda q, s=s: s * q**2, low, high, ceiling, count)  # type: ignore[misc]
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


def _levels(
    k: float, potential: Callable[[Array], Array], low: float, high: float, ceiling: float, count: int
) -> Array:
    if k <= 0:
        return np.zeros(count)
    place = min(max(0.0, low), high)
    found = levels_on_line(k, potential, (low, high), place, ceiling, count)
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
