"""The least loss that a support allows: below it no noise at all is admissible."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Orthant, Polygon, Polytope, Support

EMPTY = 1e-12  # a share of a least-squares target that counts as nothing
RESTARTS = 6  # of a search for the least value of a given loss


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
        return least_over_half_spaces(*half_spaces, loss)
    return least * (size if loss.is_absolute else size**2)


def _of_function(support: Support, loss: Loss) -> float:
    """Minimise a given convex function: by golden section on the line, else by a general minimiser from inside."""
    if support.dimension == 1:
        from errorfloor.designer.boxes.line import Line
        from errorfloor.designer.boxes.potential import Curve

        (low,), (high,) = support.bounding_box
        place = Line(1.0, Curve(given=lambda x: np.asarray(loss(x[..., None]))), float(low), float(high)).bottom()
        return float(loss(np.array([place])))
    return float(loss(least_place(support, loss)))


def least_place(support: Support, loss: Loss) -> Array:
    """Where a loss is about least on a support of several dimensions.

    >>> from errorfloor.support import Ball
    >>> least_place(Ball(2, 1.0), Loss(None, lambda w: ((w - 0.5) ** 2).sum(axis=-1))).round(3)
    array([0.5, 0.5])
    """
    from scipy.optimize import minimize

    start = _middle(support)
    if not support.contains(start):
        start = inner_point(support)

    def known(w: Array) -> float:
        value = float(loss(w)) if support.contains(w) else math.inf
        return value if math.isfinite(value) else 1e300

    inside: dict[str, object] = {"type": "ineq", "fun": lambda w: _depth(support, w)}
    found = minimize(lambda w: min(float(loss(w)), 1e300), start, method="COBYLA", constraints=inside, tol=1e-9)
    best = np.asarray(found.x) if known(found.x) < known(start) else start
    deep = inner_point(support)
    for _ in range(RESTARTS):  # a linear model stalls where two pieces of the loss meet; a simplex creeps on
        size = max(float(np.abs(best - start).max()), 1e-3 * (1 + float(np.abs(best).max())))
        toward = np.where(deep >= best, 1.0, -1.0) * size
        simplex = np.vstack([best, best + np.diag(toward)])
        better = minimize(known, best, method="Nelder-Mead", options={"initial_simplex": simplex, "fatol": 1e-13})
        improved = known(best) - float(better.fun)
        if improved > 0:
            best = np.asarray(better.x)
        if improved <= 1e-12 * abs(float(better.fun)):
            break
    return best


def inner_point(support: Support) -> Array:
    """A point well inside a support.

    >>> from errorfloor.support import Orthant
    >>> inner_point(Orthant(2))
    array([1., 1.])
    """
    if isinstance(support, Polytope):
        return support.facets.center
    if isinstance(support, Orthant):
        return np.ones(support.dimension)
    if isinstance(support, Polygon):
        return _inside_polygon(support)
    return _middle(support)


def _middle(support: Support) -> Array:
    """The middle of the box around a support, the origin or the point nearest to it where it is unbounded."""
    low, high = support.bounding_box
    bounded = np.isfinite(low) & np.isfinite(high)
    point = np.clip(0.0, low, high)
    point[bounded] = (low[bounded] + high[bounded]) / 2
    return np.asarray(point)


def _inside_polygon(polygon: Polygon) -> Array:
    """The deepest point of a grid."""
    low, high = polygon.bounding_box
    axes = [np.linspace(a, b, 41)[1:-1] for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    points = points[polygon.contains(points)]
    start, step = polygon.vertices, np.roll(polygon.vertices, -1, axis=0) - polygon.vertices
    offset = points[:, None] - start
    share = np.clip((offset * step).sum(axis=2) / (step * step).sum(axis=1), 0, 1)
    distance = np.linalg.norm(offset - share[..., None] * step, axis=2).min(axis=1, initial=np.inf)
    return np.asarray(points[int(np.argmax(distance))] if len(points) else polygon.vertices.mean(axis=0))


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


def least_over_half_spaces(A: Array, b: Array, loss: Loss) -> float:
    """Give inf ℓ(w) over A w ≤ b for a squared or absolute loss; infinite where no such w exists.

    >>> least_over_half_spaces(np.array([[-1.0], [1.0]]), np.array([-2.0, 1.0]), Loss.parse("squared", 1))
    inf
    """
    size = float(np.abs(b).max()) or 1.0
    least = _over_half_spaces(A, b / size, loss)
    return least * (size if loss.is_absolute else size**2)


def _over_half_spaces(A: Array, b: Array, loss: Loss) -> float:
    from scipy.optimize import linprog, nnls

    m = A.shape[1]
    if loss.weight is None:
        # Σ|wᵢ| as a linear programme in the positive and negative parts of w
        found = linprog(np.ones(2 * m), A_ub=np.column_stack([A, -A]), b_ub=b)
        if found.status == 2:
            return math.inf
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
    if residual[-1] > -EMPTY:  # nothing is left to approach, or it is a million sizes away
        return math.inf
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
