"""Levels of an absolute loss on lines: what is left of the problem when K is replaced by a smaller diagonal matrix.

In w = Cz the operator is −div(K∇) + ¼ϱΣ|w_i|. If D = diag(d) ≤ K, it is at least Σ(−d_i ∂_i² + ¼ϱ|w_i|), a sum of
operators on lines, and in units of length (4d_i/ϱ)^⅓ each of these is (d_iϱ²/16)^⅓ (−d²/dt² + |t|).
"""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic

# −d²/dt² + |t| on all of the line: zeros of Ai′ and Ai but for their signs, in turn, rounded down
ON_THE_LINE = (1.018792971, 2.338107410, 3.248197582)
PIECES = 2000  # of a side
ROUNDING = 1e-12  # relative: what D is lowered by, so that it is below K in spite of rounding


def absolute_levels(problem: Isotropic, weight: float, least: Array, most: Array, ceiling: float, count: int) -> Array:
    """Lower bounds, up to ``ceiling``, of the first ``count`` levels on each line: (coordinate, level).

    ``least`` and ``most`` are the ends of a box around the support, in the coordinates of the loss.

    >>> from errorfloor.noise import Loss
    >>> from errorfloor.support import Reals
    >>> everywhere = np.full(2, np.inf)
    >>> problem = Isotropic(Reals(2), np.eye(2), Loss.parse("absolute", 2))
    >>> absolute_levels(problem, 4.0, -everywhere, everywhere, 10.0, 2).round(5).tolist()
    [[1.01879, 2.33811], [1.01879, 2.33811]]
    """
    strength = weight / 4
    rows = []
    for d, low, high in zip(diagonal_below(problem.sensitivity), least, most, strict=True):
        length, energy = math.cbrt(d / strength), math.cbrt(d * strength**2)
        levels = _levels(low / length, high / length, ceiling / energy, count)
        rows.append([min(ceiling, energy * level) for level in levels])
    return np.array(rows)


def diagonal_below(K: Array) -> Array:
    """The entries of a diagonal D ≤ K, of about the greatest Σd_i^⅓ that such a matrix can have.

    >>> diagonal_below(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 2.0]])).round(3).tolist()
    [0.5, 0.5, 2.0]
    """
    from scipy.optimize import minimize

    def scaled(logarithms: Array) -> Array:
        unit = np.exp(logarithms / 2)
        values = np.linalg.eigvalsh(K / unit / unit[:, None])
        share = float(values[0] - 8 * len(K) * np.finfo(float).eps * values[-1])
        return np.asarray(max(share, 0.0) * (1 - ROUNDING) * unit**2)

    start = np.log(np.diag(K))
    options = {"xatol": 1e-5, "fatol": 1e-7, "maxfev": 2000}
    found = minimize(lambda x: -float(np.cbrt(scaled(x)).sum()), start, method="Nelder-Mead", options=options)
    return max(scaled(start), scaled(found.x), key=lambda d: float(np.cbrt(d).sum()))


def _levels(low: float, high: float, ceiling: float, count: int) -> list[float]:
    """Lower bounds of the least levels of −d²/dt² + |t| between two ends, up to a ceiling."""
    everywhere = [min(ceiling, level) for level in ON_THE_LINE[:count]]
    a, b = max(low, -ceiling), min(high, ceiling)  # beyond ±ceiling |t| is above it
    if a >= b:
        return [ceiling] * count
    if a != low and b != high:
        return everywhere  # what is cut off by neither end is as good as the whole line
    grid = np.linspace(a, b, PIECES + 1)[:, None]
    walls = [[1.0, end] for end, real in ((a, low), (b, high)) if end != real]
    cells = np.stack([np.arange(PIECES), np.arange(1, PIECES + 1)], axis=1)
    mesh = Mesh(grid, cells, np.array(walls) if walls else None)
    ends = np.abs(grid[:, 0])
    nearest = np.where(grid[:-1, 0] * grid[1:, 0] < 0, 0.0, np.minimum(ends[:-1], ends[1:]))
    return [max(level, min(ceiling, eigenvalue_bound(mesh, nearest, k))) for k, level in enumerate(everywhere)]
