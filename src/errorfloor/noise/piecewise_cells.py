"""Simplices in space: their volumes, gradients, and shared control points."""

import itertools
import math
from functools import lru_cache

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.piecewise_bernstein import exponents


def volumes(corners: Array) -> Array:
    """The volumes of simplices given by their corners, an array (cell, corner, coordinate)."""
    edges = corners[:, 1:] - corners[:, :1]
    return np.asarray(np.abs(np.linalg.det(edges)) / math.factorial(corners.shape[2]))


def gradients(corners: Array) -> Array:
    """The gradients of barycentric coordinates, an array (cell, corner, coordinate)."""
    edges = corners[:, 1:] - corners[:, :1]
    inverse = np.linalg.inv(edges).transpose(0, 2, 1)
    return np.concatenate([-inverse.sum(axis=1, keepdims=True), inverse], axis=1)


def control_points(cells: Array, degree: int) -> tuple[Array, int]:
    """Number the control points of continuous piecewise polynomials: an array (cell, exponent), and how many there are.

    Each cell lists its corners in rising order, so that two cells see a common face in the same way.
    """
    corners = cells.shape[1]
    lattice = np.array(exponents(corners - 1, degree))
    numbers = np.zeros((len(cells), len(lattice)), dtype=np.intp)
    count = 0
    for size in range(1, corners + 1):
        inner = [a for a in itertools.product(range(1, degree + 1), repeat=size) if sum(a) == degree]
        if not inner:
            continue
        faces = list(itertools.combinations(range(corners), size))
        stacked = np.concatenate([cells[:, face] for face in faces])
        found, entity = np.unique(stacked, axis=0, return_inverse=True)
        entity = entity.reshape(len(faces), len(cells))
        for f, face in enumerate(faces):
            for j, alpha in enumerate(inner):
                wanted = np.zeros(corners, dtype=int)
                wanted[list(face)] = alpha
                column = int(np.flatnonzero((lattice == wanted).all(axis=1))[0])
                numbers[:, column] = count + entity[f] * len(inner) + j
        count += len(found) * len(inner)
    return numbers, count


def outer_facets(cells: Array) -> tuple[Array, Array]:
    """The facets that belong to one cell only: which cell, and which of its corners they lie opposite to."""
    corners = cells.shape[1]
    others = [[k for k in range(corners) if k != i] for i in range(corners)]
    facets = np.concatenate([cells[:, keep] for keep in others])
    _, inverse, counts = np.unique(facets, axis=0, return_inverse=True, return_counts=True)
    single = np.flatnonzero(counts[inverse.reshape(-1)] == 1)
    return single % len(cells), single // len(cells)


def control_points_on(cells: Array, degree: int, which: Array, opposite: Array) -> Array:
    """The numbers of the control points on given facets, without repetition."""
    numbers, _ = control_points(cells, degree)
    lattice = np.array(exponents(cells.shape[1] - 1, degree))
    found = [numbers[which[opposite == i]][:, lattice[:, i] == 0].reshape(-1) for i in range(cells.shape[1])]
    return np.unique(np.concatenate(found))


@lru_cache(maxsize=32)
def simplex_rule(dimension: int, points: int) -> tuple[Array, Array]:
    """Barycentric nodes and weights (of sum one), exact for polynomials of degree 2·points − 1.

    >>> nodes, weights = simplex_rule(2, 3)
    >>> round(float(weights @ (nodes[:, 0] ** 2 * nodes[:, 1])), 12)  # 2!·2!·1!/(3+2)!
    0.033333333333
    """
    from scipy.special import roots_jacobi

    nodes, weights = np.ones((1, 1)), np.ones(1)
    for k in range(1, dimension + 1):
        # a simplex of dimension k is a pencil of copies of the last one, shrinking as 1 − t
        x, weight = roots_jacobi(points, k - 1, 0)
        t, weight = (1 + x) / 2, weight / weight.sum()
        grown = np.concatenate(
            [np.repeat(t, len(nodes))[:, None], ((1 - t)[:, None, None] * nodes).reshape(-1, k)], axis=1
        )
        nodes, weights = grown, np.outer(weight, weights).reshape(-1)
    for array in (nodes, weights):
        array.setflags(write=False)
    return nodes, weights
