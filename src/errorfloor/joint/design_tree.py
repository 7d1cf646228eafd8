"""The best tree noise: how wide each level is, and how wide families are cut into groups."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.joint.taper import STEPS, best_start
from errorfloor.joint.tree import TreeNoise, depths_of, ordered_sum
from errorfloor.joint.tree_exposure import Alike, exposures

WIDEST, GROUP = 20, 16  # families larger than the first are cut into groups of about the second
LOOSE = 4.0  # deviations from 0 to the bound of a sum that nobody asked for, or that its parts keep by themselves
NEVER = 1e200  # information of a noise that cannot be drawn
FULL = 0.9  # of what the bounds of parts add up to: a sum that comes nearer to it takes too many attempts


def design_tree(parents: Array, bounds: Array, leaves: Array) -> TreeNoise:
    """Give the noise with the least certified information about a cell; a node without a bound of its own has inf.

    Parents come before their parts.

    >>> noise = design_tree(np.array([-1, 0, 0]), np.ones(3), np.array([1, 2]))
    >>> bool(noise.cell_information.max() / np.pi**2 < 1.52)
    True
    """
    from scipy.optimize import minimize

    parents, bounds, leaves = grouped(parents, bounds, leaves)
    small = Alike.of(parents, bounds[:, None])
    own = np.zeros(len(small.parents))
    own[small.kind] = bounds
    levels = _levels(small.parents, own)
    first = np.full(int(levels.max()) + 1, 0.37)

    def worst(sizes: Array) -> float:
        inside = np.clip(sizes, 0.1, 0.7)
        found = _attempt(small, own, inside[levels])[0]
        return min(found, NEVER) * (1 + float(np.abs(sizes - inside).sum()))

    corners = first + 0.05 * np.vstack([np.zeros(first.size), np.eye(first.size)])
    options = {"initial_simplex": corners, "xatol": 2e-3, "fatol": 1e-4 * worst(first), "maxfev": 40 * first.size}
    sizes = minimize(worst, first, method="Nelder-Mead", options=options).x
    best = _attempt(small, own, np.clip(np.rint(sizes * STEPS) / STEPS, 0.1, 0.7)[levels])
    _, wide, starts, variances = best
    return TreeNoise(parents, wide[small.kind], starts[small.kind], variances[small.kind], leaves)


def _attempt(small: Alike, bounds: Array, sizes: Array) -> tuple[float, Array, Array, Array]:
    """Give the worst information about a cell (more if too few attempts are accepted), bounds, starts and variances."""
    free = np.isinf(bounds)
    square = (sizes * np.where(free, 0.0, bounds)) ** 2
    families = small.families()
    wide = bounds.copy()
    for parent, parts in reversed(families):
        total = _counted(square[parts], small.times[parts])
        if free[parent] or total <= square[parent]:
            square[parent], wide[parent] = total, min(wide[parent], LOOSE * math.sqrt(total))
        wide[parent] = min(wide[parent], FULL * _counted(wide[parts], small.times[parts]))
    variances, share = square.copy(), np.zeros(len(square))
    for parent, parts in families:
        times = small.times[parts]
        variances[parts] = _given_sum(square[parts], times, square[parent])
        share[parts] = variances[parts] / _counted(variances[parts], times)
    starts = best_start(np.sqrt(square) / wide)
    costs, accepted = exposures(small, variances, wide, starts)
    seen = (1 - share) / variances + costs
    for parent, parts in families:
        seen[parts] += seen[parent]
    return float(seen.max()) * max(1.0, 0.5 / max(accepted, 1e-9)) ** 4, wide, starts, variances


def _counted(values: Array, times: Array) -> float:
    return float(ordered_sum(values * times))


def _given_sum(wanted: Array, times: Array, total: float) -> Array:
    """Give variances q_k with which siblings whose sum has the variance ``total`` have the ``wanted`` ones.

    a_k²·total + q_k(1 − a_k) = wanted_k, a_k = q_k/Σq; where there are no such, nearly.

    >>> _given_sum(np.array([1.0]), np.array([2]), 1.0).round(6).tolist()
    [1.5]
    """
    q = wanted.copy()
    for _ in range(80):
        share = q / _counted(q, times)
        have = share * share * total + q * (1.0 - share)
        q = np.minimum(q * np.sqrt(wanted / have), 50.0 * wanted)
    return q


def _levels(parents: Array, bounds: Array) -> Array:
    """Give the level of each node, not counting nodes without a bound."""
    levels = np.zeros(len(parents), dtype=np.int64)
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            levels[node] = levels[parent] + bool(np.isfinite(bounds[parent]))
    return levels


def grouped(parents: Array, bounds: Array, leaves: Array) -> tuple[Array, Array, Array]:
    """Put nodes without a bound between a parent and too many parts, so that few bounds are accepted together."""
    parts_of: dict[int, list[int]] = {}
    for node, parent in enumerate(parents.tolist()):
        if parent >= 0:
            parts_of.setdefault(parent, []).append(node)
    above, limit = parents.tolist(), bounds.tolist()
    for parent, parts in parts_of.items():
        while len(parts) > WIDEST:
            groups = np.array_split(np.asarray(parts), math.ceil(len(parts) / GROUP))
            parts = []
            for group in groups:
                for node in group.tolist():
                    above[node] = len(above)
                parts.append(len(above))
                above.append(parent)
                limit.append(math.inf)
    order = np.argsort(depths_of(np.asarray(above)), kind="stable")
    place = np.empty(len(above), dtype=np.int64)
    place[order] = np.arange(len(above))
    moved = np.asarray(above)[order]
    return np.where(moved >= 0, place[np.maximum(moved, 0)], -1), np.asarray(limit)[order], place[leaves]
