"""What answers have in common: cells that none tells apart, sums that contain each other, sums of neighbours."""

from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array

DEEPEST = 8  # levels of a tree: beyond, as with running totals, other ways are better

Tree = tuple[Array, Array, Array]  # parents, bounds and the nodes of the cells


def merged(answers: sparse.csr_matrix) -> tuple[sparse.csr_matrix, Array]:
    """Give the answers as sums of what they tell apart, and the place of every cell there; −1 if none has it.

    >>> less, place = merged(sparse.csr_matrix([[1.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0]]))
    >>> less.toarray().tolist(), place.tolist()
    ([[1.0, 1.0], [1.0, 0.0]], [0, 1, -1, 0])
    """
    columns = answers.tocsc()
    columns.sort_indices()
    known: dict[bytes, int] = {}
    place = np.full(columns.shape[1], -1)
    first: list[int] = []
    for cell in range(columns.shape[1]):
        part = slice(columns.indptr[cell], columns.indptr[cell + 1])
        if part.start == part.stop:
            continue
        key = columns.indices[part].tobytes() + columns.data[part].tobytes()
        if key not in known:
            known[key] = len(first)
            first.append(cell)
        place[cell] = known[key]
    return columns[:, first].tocsr(), place


def as_tree(answers: sparse.csr_matrix, bounds: Array) -> Tree | None:
    """Give the tree of sums that contain each other or have nothing in common; None if some only overlap, or many nest.

    >>> parents, bounds, leaves = as_tree(sparse.csr_matrix([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 2.0]))
    >>> parents.tolist(), bounds.tolist(), leaves.tolist()
    ([-1, 0, 0], [2.0, 1.0, 3.0], [1, 2])
    """
    sizes = np.diff(answers.indptr)
    smallest = np.full(answers.shape[1], -1)
    parents: list[int] = []
    limits: list[float] = []
    members: list[int] = []
    depths: list[int] = []
    for row in np.argsort(-sizes, kind="stable").tolist():
        part = slice(answers.indptr[row], answers.indptr[row + 1])
        cells, weights = answers.indices[part], answers.data[part]
        if not cells.size:
            continue
        above = int(smallest[cells[0]])
        if (weights != weights[0]).any() or (smallest[cells] != above).any():
            return None
        bound = float(bounds[row] / abs(weights[0]))
        if above >= 0 and members[above] == cells.size:
            limits[above] = min(limits[above], bound)
            continue
        smallest[cells] = len(parents)
        depths.append(depths[above] + 1 if above >= 0 else 1)
        if depths[-1] > DEEPEST:
            return None
        parents.append(above)
        limits.append(bound)
        members.append(cells.size)
    leaves = smallest.copy()
    inside = np.asarray(limits) + np.bincount(
        [parent for parent in parents if parent >= 0],
        [limit for parent, limit in zip(parents, limits, strict=True) if parent >= 0],
        len(parents),
    )
    for cell, node in enumerate(smallest.tolist()):
        if members[node] > 1:  # what is left of a sum once its other parts are taken away has no bound but theirs
            leaves[cell] = len(parents)
            parents.append(node)
            limits.append(float(inside[node]))
    return np.asarray(parents), np.asarray(limits), leaves


def roots_of_running(n: int) -> tuple[Array, Array]:
    """Give the first n coefficients of (1 − x)^−½, whose square has the running totals, and of its inverse (1 − x)^½.

    >>> [part.tolist() for part in roots_of_running(3)]
    [[1.0, 0.5, 0.375], [1.0, -0.5, -0.125]]
    """
    lag = np.arange(1.0, n)
    return np.cumprod(np.append(1.0, (lag - 0.5) / lag)), np.cumprod(np.append(1.0, (lag - 1.5) / lag))


def square_root_covariance(answers: sparse.csr_matrix) -> Array | None:
    """Give C⁻¹C⁻ᵀ, C·C being the running totals, where every answer is a sum of neighbouring cells; else None."""
    n = answers.shape[1]
    begins, ends = answers.indptr[:-1], answers.indptr[1:]
    if (begins == ends).any():
        return None
    sorted_columns: Any = answers.sorted_indices().indices
    if ((sorted_columns[ends - 1] - sorted_columns[begins] + 1) != ends - begins).any():
        return None
    inverse = np.zeros((n, n))
    for lag, coefficient in enumerate(roots_of_running(n)[1].tolist()):
        inverse[np.arange(lag, n), np.arange(n - lag)] = coefficient
    return np.asarray(inverse @ inverse.T)
