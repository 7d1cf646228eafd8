"""Lower bounds of the two least eigenvalues from a sum of convex functions of one coordinate each that lies below V.

If V ≥ f₁(q₁) + … + f_m(q_m) on what of the support lies in a box, and V ≥ τ on the rest, then the eigenvalues up to τ
are at least those of the sum on the box, with nothing asked of functions where the box cuts the support; and these are
sums of eigenvalues on lines. The best such sum is sought by linear programming.
"""

import math
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.finite_elements.mesh import Mesh

NODES = 12  # of the functions of one coordinate, on each side of the least place
PIECES = 600  # of a side of the box, for eigenvalues on it


def levels_of_sum(
    mesh: Mesh, below: Array, axes: Array, reach: tuple[Array, Array], quotient: float
) -> tuple[float, float]:
    """Proved lower bounds of the two least eigenvalues on the support, as far as they do not exceed V beyond the mesh.

    ``mesh`` is of what of the support lies in a box along ``axes``, with walls where that cuts it; ``below`` holds
    affine functions below V, at the corners of each cell; ``reach`` is that of the whole support along the axes, and
    ``quotient`` about the least eigenvalue, to weigh where V matters.
    """
    low, high = reach
    assert mesh.walls is not None, "an unbounded support is cut by walls"
    offsets = mesh.walls[:, -1]
    start, end = np.maximum(low, -offsets[len(low) :]), np.minimum(high, offsets[: len(low)])
    limits = np.full(len(mesh.vertices), math.inf)
    np.minimum.at(limits, mesh.cells, below)
    along = mesh.vertices @ axes
    place = np.clip(along[int(np.argmin(limits))], start, end)
    nodes = [_nodes(a, b, c) for a, b, c in zip(start.tolist(), end.tolist(), place.tolist(), strict=True)]
    parts = _best_sum(nodes, along, limits, _importance(mesh, limits, quotient))
    if parts is None:
        return -math.inf, -math.inf
    lines = [_line(x, f, x[0] > a, x[-1] < b) for x, f, a, b in zip(nodes, parts, low, high, strict=True)]
    ground = sum(first for first, _ in lines)
    return ground, ground + min(second - first for first, second in lines)


def _nodes(start: float, end: float, place: float) -> Array:
    """Nodes between two ends, and at a place that is not close to one of them."""
    before, after = (NODES if side > 1e-2 * (end - start) else 0 for side in (place - start, end - place))
    if not before or not after:
        return np.linspace(start, end, before + after + 1)
    return np.concatenate([np.linspace(start, place, before, endpoint=False), np.linspace(place, end, after)])


def _importance(mesh: Mesh, heights: Array, quotient: float) -> Array:
    """How much V matters at each vertex for the lowest states, about."""
    volumes = np.zeros(len(heights))
    np.add.at(volumes, mesh.cells, mesh.volumes[:, None])
    return np.asarray(volumes * np.exp(-np.clip(heights, 0, None) / quotient))


def _best_sum(nodes: list[Array], points: Array, limits: Array, weights: Array) -> list[Array] | None:
    """Piecewise linear convex functions, one a coordinate, of the greatest mean sum that is not above limits at points.

    A convex function that is below an affine one at the corners of a cell is below it on the cell.
    """
    from scipy.optimize import linprog
    from scipy.sparse import block_diag, hstack, vstack

    if not np.isfinite(limits).all():
        return None
    rows = hstack([_interpolation(x, points[:, i]) for i, x in enumerate(nodes)]).tocsr()
    bends = block_diag([_bends(x) for x in nodes])
    scale = float(np.abs(limits).mean()) or 1.0
    found = linprog(
        -(rows.T @ (weights / weights.sum())),
        A_ub=vstack([rows, -bends]),
        b_ub=np.concatenate([limits / scale, np.zeros(bends.shape[0])]),
        bounds=(-1e3, 1e3),
    )
    if found.status != 0:
        return None
    parts = np.split(found.x * scale, np.cumsum([len(x) for x in nodes])[:-1])
    parts = [_bent(x, f) for x, f in zip(nodes, parts, strict=True)]
    # what is left of the programme's tolerance, and the rounding of this difference
    excess = float((rows @ np.concatenate(parts) - limits).max()) + 1e-12 * scale
    return [f - max(excess, 0.0) / len(parts) for f in parts]


def _interpolation(x: Array, points: Array) -> Any:
    """The matrix that takes values at nodes to those of a piecewise linear function, continued beyond the ends."""
    from scipy.sparse import csr_matrix

    k = np.clip(np.searchsorted(x, points) - 1, 0, len(x) - 2)
    share = (points - x[k]) / (x[k + 1] - x[k])
    row = np.arange(len(points))
    places = np.concatenate([row, row]), np.concatenate([k, k + 1])
    return csr_matrix((np.concatenate([1 - share, share]), places), shape=(len(points), len(x)))


def _bends(x: Array) -> Array:
    """The matrix that takes values at nodes to differences of slopes at inner nodes, in units of the mean spacing."""
    unit = float(np.diff(x).mean())
    slopes = np.diff(np.eye(len(x)), axis=0) * (unit / np.diff(x))[:, None]
    return np.diff(slopes, axis=0)


def _bent(x: Array, f: Array) -> Array:
    """The function with the same first value and slopes that never fall, not even by a programme's tolerance."""
    slopes = np.maximum.accumulate(np.diff(f) / np.diff(x))
    return np.asarray(f[0] + np.concatenate([[0.0], np.cumsum(slopes * np.diff(x))]))


def _line(x: Array, f: Array, free_start: bool, free_end: bool) -> tuple[float, float]:
    """Lower bounds of the two least eigenvalues of −d²/dq² + f between the ends of x, zero there or free."""
    # nodes are part of the grid, so that f is linear on every piece
    each = PIECES // (len(x) - 1)
    grid = np.append((x[:-1, None] + np.diff(x)[:, None] * np.arange(each) / each).reshape(-1), x[-1])
    values = np.interp(grid, x, f)
    least = float(values.min())
    walls = [[1.0, place] for place, free in ((x[0], free_start), (x[-1], free_end)) if free]
    cells = np.stack([np.arange(len(grid) - 1), np.arange(1, len(grid))], axis=1)
    mesh = Mesh(grid[:, None], cells, np.array(walls) if walls else None)
    lowest = np.minimum(values[:-1], values[1:]) - least
    first, second = (eigenvalue_bound(mesh, lowest, level) + least for level in (0, 1))
    return first, second
