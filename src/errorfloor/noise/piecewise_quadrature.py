"""Gauss rules on a simplex, as products of Gauss–Jacobi rules in collapsed coordinates."""

from functools import lru_cache

import numpy as np

from errorfloor.checks import Array


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
