"""The least loss that a support allows: below it no noise at all is admissible."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon, Support

EMPTY = 1e-12  # a share of a least-squares target that counts as nothing


def smallest_loss(support: Support, loss: Loss) -> float:
    """Give inf ℓ(w) over w in the support.

    >>> from errorfloor.support import Interval
    >>> round(smallest_loss(Interval(2, 3), Loss.parse("squared", 1)), 9)
    4.0
    """
    if loss.weight is None:
        return float(np.abs(np.clip(0.0, *support.bounding_box)).sum())
    if support.contains(np.zeros(support.dimension) if support.dimension > 1 else 0.0):
        return 0.0
    if isinstance(support, Polygon):
        return _over_sides(support.vertices, loss.weight)
    # lengths are brought to about one first: the solvers below have absolute tolerances
    if isinstance(support, (Ball, Ellipsoid)):
        size = float(np.linalg.norm(support.middle))
        return size**2 * _over_ellipsoid(support.shape / size**2, support.middle / size, loss.weight)
    half_spaces = support.half_spaces
    assert half_spaces is not None, "every convex support with flat faces knows them"
    return least_over_half_spaces(*half_spaces, loss.weight)


def least_over_half_spaces(A: Array, b: Array, R: Array) -> float:
    """Give inf wᵀRw over A w ≤ b; infinite where no such w exists.

    >>> least_over_half_spaces(np.array([[-1.0], [1.0]]), np.array([-2.0, 1.0]), np.eye(1))
    inf
    """
    from scipy.optimize import nnls

    m = A.shape[1]
    size = float(np.abs(b).max()) or 1.0
    # the shortest vector in a polyhedron, by Lawson and Hanson's reduction to non-negative least squares
    scale = float(np.diag(R).max())
    L = np.linalg.cholesky(R / scale)
    G = -np.linalg.solve(L, A.T).T
    E = np.vstack([G.T, -b[None, :] / size])
    target = np.zeros(m + 1)
    target[-1] = 1.0
    residual = E @ nnls(E, target)[0] - target
    if residual[-1] > -EMPTY:  # nothing is left to approach, or it is a million sizes away
        return math.inf
    shortest = -residual[:-1] / residual[-1]
    return size**2 * scale * float(shortest @ shortest)


def _over_ellipsoid(shape: Array, center: Array, R: Array) -> float:
    from scipy.optimize import brentq

    scale = float(np.diag(R).max())
    L = np.linalg.cholesky(R / scale)
    values, vectors = np.linalg.eigh(L.T @ shape @ L)
    c = vectors.T @ L.T @ center

    def outside(multiplier: float) -> float:
        return float((values * c**2 / (values + multiplier) ** 2).sum() - 1)

    # the sum is at most max(values)·|c|²/multiplier², so it is below one from here on
    most = math.sqrt(float(values.max() * (c @ c))) * (1 + 1e-9)
    multiplier = brentq(outside, 0.0, most, xtol=1e-300, rtol=1e-14) if outside(0.0) > 0 else 0.0
    nearest = multiplier * c / (values + multiplier)
    return scale * float(nearest @ nearest)


def _over_sides(corners: Array, R: Array) -> float:
    start, step = corners, np.roll(corners, -1, axis=0) - corners
    weighted = step @ R
    places = np.clip(-(weighted * start).sum(axis=1) / (weighted * step).sum(axis=1), 0, 1)[:, None]
    nearest = start + places * step
    return float(np.einsum("ki,ij,kj->k", nearest, R, nearest).min())
