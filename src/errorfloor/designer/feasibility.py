"""The least loss that a support allows: below it no noise at all is admissible."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon, Support


def smallest_loss(support: Support, loss: Loss) -> float:
    """Give inf ℓ(w) over w in the support.

    >>> from errorfloor.support import Interval
    >>> round(smallest_loss(Interval(2, 3), Loss.parse("squared", 1)), 9)
    4.0
    """
    if loss.function is not None:
        return _of_function(support, loss)
    if support.contains(np.zeros(support.dimension) if support.dimension > 1 else 0.0):
        return 0.0
    if isinstance(support, Polygon):
        return _over_sides(support.vertices, loss)
    # lengths are brought to about one first: the solvers below have absolute tolerances
    if isinstance(support, (Ball, Ellipsoid)):
        size = float(np.linalg.norm(support.middle))
        least = _over_ellipsoid(support.shape / size**2, support.middle / size, loss)
    else:
        half_spaces = support.half_spaces
        assert half_spaces is not None, "every convex support with flat faces knows them"
        A, b = half_spaces
        size = float(np.abs(b).max())
        least = _over_half_spaces(A, b / size, loss)
    return least * (size if loss.is_absolute else size**2)


def _of_function(support: Support, loss: Loss) -> float:
    """Minimise a given convex function: by golden section on the line, else by a general minimiser from inside."""
    from scipy.optimize import minimize

    if support.dimension == 1:
        from errorfloor.designer.one_axis import Line
        from errorfloor.designer.potential import Curve

        (low,), (high,) = support.bounding_box
        place = Line(1.0, Curve(given=lambda x: np.asarray(loss(x[..., None]))), float(low), float(high)).bottom()
        return float(loss(np.array([place])))
    low, high = support.bounding_box
    start = np.where(np.isfinite(low) & np.isfinite(high), (low + high) / 2, np.clip(0.0, low, high))
    inside: dict[str, object] = {"type": "ineq", "fun": lambda w: _depth(support, w)}
    found = minimize(lambda w: float(loss(w)), start, method="COBYLA", constraints=inside, tol=1e-9)
    return min(float(found.fun), float(loss(start))) if _depth(support, found.x).min() > -1e-6 else float(loss(start))


def _depth(support: Support, w: Array) -> Array:
    """How far inside a set a point lies, by each of its faces."""
    if isinstance(support, (Ball, Ellipsoid)):
        offset = w - support.middle
        return np.array([1 - float(offset @ np.linalg.solve(support.shape, offset))])
    half_spaces = support.half_spaces
    if half_spaces is None:
        return np.array([1.0 if support.contains(w) else -1.0])
    A, b = half_spaces
    return np.asarray(b - A @ w) if len(A) else np.ones(1)


def _over_half_spaces(A: Array, b: Array, loss: Loss) -> float:
    from scipy.optimize import linprog, nnls

    m = A.shape[1]
    if loss.weight is None:
        # Σ|wᵢ| as a linear programme in the positive and negative parts of w
        found = linprog(np.ones(2 * m), A_ub=np.column_stack([A, -A]), b_ub=b)
        if found.status != 0:
            raise ConvergenceError("the least loss on the support was not found: rescale the data")
        return float(found.fun)
    # the shortest vector in a polyhedron, by Lawson and Hanson's reduction to non-negative least squares
    scale = float(np.diag(loss.weight).max())
    L = np.linalg.cholesky(loss.weight / scale)
    G = -np.linalg.solve(L, A.T).T
    E = np.vstack([G.T, -b[None, :]])
    target = np.zeros(m + 1)
    target[-1] = 1.0
    residual = E @ nnls(E, target)[0] - target
    shortest = -residual[:-1] / residual[-1]
    return scale * float(shortest @ shortest)


def _over_ellipsoid(shape: Array, center: Array, loss: Loss) -> float:
    from scipy.optimize import brentq, minimize

    if loss.weight is None:
        # the dual: max over |s| ≤ 1 in every coordinate of s·c − √(sᵀ shape s)
        def dual(s: Array) -> float:
            return float(np.sqrt(s @ shape @ s) - s @ center)

        start = np.sign(center) + 0.5 * (center == 0)
        return -float(minimize(dual, start, bounds=[(-1, 1)] * center.size, options={"ftol": 1e-15}).fun)
    scale = float(np.diag(loss.weight).max())
    L = np.linalg.cholesky(loss.weight / scale)
    values, vectors = np.linalg.eigh(L.T @ shape @ L)
    c = vectors.T @ L.T @ center

    def outside(multiplier: float) -> float:
        return float((values * c**2 / (values + multiplier) ** 2).sum() - 1)

    # the sum is at most max(values)·|c|²/multiplier², so it is below one from here on
    most = math.sqrt(float(values.max() * (c @ c))) * (1 + 1e-9)
    multiplier = brentq(outside, 0.0, most, xtol=1e-300, rtol=1e-14) if outside(0.0) > 0 else 0.0
    nearest = multiplier * c / (values + multiplier)
    return scale * float(nearest @ nearest)


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
