"""The least loss that a support allows: below it no noise at all is admissible."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon, Support


def smallest_loss(support: Support, loss: Loss) -> float:
    """Give inf ℓ(w) over w in the support.

    >>> from errorfloor.support import Interval
    >>> round(smallest_loss(Interval(2, 3), Loss.parse("squared", 1)), 9)
    4.0
    """
    if support.contains(np.zeros(support.dimension) if support.dimension > 1 else 0.0):
        return 0.0
    if isinstance(support, Polygon):
        return _over_sides(support.vertices, loss)
    if isinstance(support, (Ball, Ellipsoid)):
        return _over_ellipsoid(support.shape, support.middle, loss)
    half_spaces = support.half_spaces
    assert half_spaces is not None, "every convex support with flat faces knows them"
    return _over_half_spaces(*half_spaces, loss)


def _root(R: Array) -> Array:
    values, vectors = np.linalg.eigh(R)
    return np.asarray((vectors * np.sqrt(values)) @ vectors.T)


def _over_half_spaces(A: Array, b: Array, loss: Loss) -> float:
    from scipy.optimize import linprog, nnls

    m = A.shape[1]
    if loss.weight is None:
        # Σ|wᵢ| as a linear programme in the positive and negative parts of w
        return float(linprog(np.ones(2 * m), A_ub=np.column_stack([A, -A]), b_ub=b).fun)
    # the shortest vector in a polyhedron, by Lawson and Hanson's reduction to non-negative least squares
    G = -A @ np.linalg.inv(_root(loss.weight))
    E = np.vstack([G.T, -b[None, :]])
    target = np.zeros(m + 1)
    target[-1] = 1.0
    residual = E @ nnls(E, target)[0] - target
    shortest = -residual[:-1] / residual[-1]
    return float(shortest @ shortest)


def _over_ellipsoid(shape: Array, center: Array, loss: Loss) -> float:
    from scipy.optimize import brentq, minimize

    if loss.weight is None:
        # the dual: max over |s| ≤ 1 in every coordinate of s·c − √(sᵀ shape s)
        def dual(s: Array) -> float:
            return float(np.sqrt(s @ shape @ s) - s @ center)

        start = np.sign(center) + 0.5 * (center == 0)
        return -float(minimize(dual, start, bounds=[(-1, 1)] * center.size, options={"ftol": 1e-15}).fun)
    root = _root(loss.weight)
    values, vectors = np.linalg.eigh(root @ shape @ root)
    c = vectors.T @ root @ center

    def outside(multiplier: float) -> float:
        return float((values * c**2 / (values + multiplier) ** 2).sum() - 1)

    multiplier = brentq(outside, 0.0, float(np.sqrt(values.max() * (c**2).sum())) + 1.0, xtol=1e-300, rtol=1e-14)
    nearest = multiplier * c / (values + multiplier)
    return float(nearest @ nearest)


def _over_sides(corners: Array, loss: Loss) -> float:
    start, step = corners, np.roll(corners, -1, axis=0) - corners
    if loss.weight is None:
        # piecewise linear along a side: least at an end or where a coordinate changes sign
        with np.errstate(divide="ignore", invalid="ignore"):
            turns = np.where(step != 0, -start / step, 0.0)
        places = np.concatenate([np.zeros((len(corners), 1)), np.clip(turns, 0, 1)], axis=1)
    else:
        weighted = step @ loss.weight
        places = np.clip(-(weighted * start).sum(axis=1) / (weighted * step).sum(axis=1), 0, 1)[:, None]
    candidates = start[:, None, :] + places[..., None] * step[:, None, :]
    return float(np.min(loss(candidates)))
