"""Refinement of simplicial meshes in any dimension: every cut halves a cell's longest edge, until nothing hangs."""

import numpy as np

from errorfloor.checks import Array


def bisected(vertices: Array, cells: Array, marked: Array) -> tuple[Array, Array]:
    """Halve the marked cells, and others whose edges were halved, each at its own longest edge (Rivara).

    Among edges of equal length the one with the least vertex numbers counts as longest; lengths are compared after
    rounding, so that neighbours agree.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> vertices, cells = bisected(square, np.array([[0, 1, 2], [1, 2, 3]]), np.array([True, False]))
    >>> len(vertices), len(cells)
    (5, 4)
    """
    count = len(vertices)
    points = [vertices]
    halved = np.zeros((0, 2), dtype=np.intp)  # edges with a middle; number count + k belongs to edge k
    waiting = marked
    done = []
    while True:
        done.append(cells[~waiting])
        cells = cells[waiting]
        if not len(cells):
            cells = np.concatenate(done)
            waiting = _hangs(cells, halved)
            if not waiting.any():
                return np.concatenate(points), cells
            done = []
            continue
        everything = np.concatenate(points)
        edge = _longest(everything, cells)
        fresh = np.unique(edge, axis=0)
        fresh = fresh[~_among(fresh, halved)]
        points.append((everything[fresh[:, 0]] + everything[fresh[:, 1]]) / 2)
        halved = np.concatenate([halved, fresh])
        middle = count + _position(edge, halved)
        children = []
        for end in (0, 1):
            child = cells.copy()
            child[child == edge[:, end, None]] = middle
            children.append(np.sort(child, axis=1))
        cells = np.concatenate(children)
        waiting = _hangs(cells, halved)


def _edges(cells: Array) -> Array:
    first, second = np.triu_indices(cells.shape[1], 1)
    return np.stack([cells[:, first], cells[:, second]], axis=2)


def _longest(vertices: Array, cells: Array) -> Array:
    edges = _edges(cells)
    length = np.linalg.norm(vertices[edges[..., 0]] - vertices[edges[..., 1]], axis=2)
    near = length >= length.max(axis=1, keepdims=True) * (1 - 1e-9)
    return np.asarray(edges[np.arange(len(cells)), near.argmax(axis=1)])


def _keys(edges: Array) -> Array:
    return np.asarray(edges[..., 0].astype(np.int64) << 32 | edges[..., 1].astype(np.int64))


def _among(edges: Array, known: Array) -> Array:
    return np.isin(_keys(edges), _keys(known))


def _hangs(cells: Array, halved: Array) -> Array:
    return np.asarray(_among(_edges(cells), halved).any(axis=1))


def _position(edges: Array, known: Array) -> Array:
    keys = _keys(known)
    order = np.argsort(keys)
    return np.asarray(order[np.searchsorted(keys[order], _keys(edges))])
