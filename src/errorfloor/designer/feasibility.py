"""Problems without a solution, or with answers that nearly depend on one another, are refused before a solver runs.

The least loss that a support allows decides which bounds on it can be met.
"""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.problem import Problem
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon, Polytope, Support

MOST = 300.0  # times as long as wide: beyond, meshes and polynomials take minutes and gigabytes, or fail
ADVISED = 100.0
HIDDEN = 1e7  # beyond, rounding decides
EMPTY = 1e-12  # a share of a least-squares target that counts as nothing


def check_well_posed(problem: Problem) -> None:
    """Refuse problems without a solution: unbounded without quality, or a loss that no noise can have."""
    support, loss = problem.support, problem.loss
    if loss is None and not support.is_bounded:
        raise IllPosedError("noise of infinite variance is optimal: set max_loss or loss_weight")
    if loss is None:
        return
    form = support.product_form if loss.weight is None and support.dimension > 1 else (np.eye(1), ())
    if form is None or not np.array_equal(form[0], np.diag(np.diag(form[0]))):
        raise InputError(
            f"an absolute loss is designed for on products of intervals, half-lines and lines, not on "
            f"{type(support).__name__}: use 'squared' or a matrix, or a box inside it"
        )
    if problem.max_loss is not None:
        least = smallest_loss(support, loss)
        if problem.max_loss <= least * (1 + 1e-9):
            raise IllPosedError(
                f"max_loss {problem.max_loss:g} cannot be met: every noise on this support loses more than {least:.6g}",
                smallest=least,
            )


def check_stretch(problem: Problem) -> None:
    """Refuse a query of full rank whose answers tell nearly the same, on a support that is not made for that.

    In the coordinates K^(−½)w, in which all directions count alike, the support is stretched along the direction that
    the query hardly sees. Both have to be large: how much longer than wide the support is there, and √cond of the
    correlations K_ij/√(K_ii K_jj), which do not depend on units.

    >>> from errorfloor.support import Box
    >>> check_stretch(Problem.parse(Box([0, 0], [1, 1]), [[1, 1], [1, 1.001]], None, None, None, None))
    Traceback (most recent call last):
    errorfloor.errors.InputError: the answers nearly depend on one another: ...
    """
    K = problem.sensitivity
    size = np.sqrt(np.diag(K))
    related, level = _root_condition(K / np.outer(size, size))
    across = np.linalg.inv(_extent(problem))
    stretched, _ = _root_condition(across @ K @ across.T)
    if min(related, stretched) <= MOST:
        return
    share = float(f"{1.1 * level / ADVISED**2:.1e}")
    times = f"{stretched:.2g}" if stretched < HIDDEN else f"more than {HIDDEN:g}"
    raise InputError(
        f"the answers nearly depend on one another: as the query sees it, the support is {times} times as long as it "
        f"is wide, and designs are computed for up to {MOST:g} times. Leave out an answer that the others tell; or "
        f"make it depend on them exactly; or pass sensitivity=K + {share:g}·diag(K) with K = C Cᵀ: noise for that "
        f"protects these answers too, and costs little more"
    )


def _root_condition(matrix: Array) -> tuple[float, float]:
    """Give √cond of a positive definite matrix, infinite where rounding hides the least eigenvalue; and the largest."""
    values = np.linalg.eigvalsh((matrix + matrix.T) / 2)
    least = values[0] if values[0] > len(values) * np.finfo(float).eps * values[-1] else 0.0
    return (math.sqrt(values[-1] / least) if least > 0 else math.inf), float(values[-1])


def _extent(problem: Problem) -> Array:
    """A matrix that takes the unit ball to about the shape of the support; of an unbounded one, to that of the loss."""
    support = problem.support
    if isinstance(support, (Ball, Ellipsoid)):
        return np.linalg.cholesky(support.shape)
    if support.is_bounded and isinstance(support, (Polygon, Polytope)):
        corners = support.vertices if isinstance(support, Polygon) else support.facets.corners
        return np.linalg.cholesky(np.cov(np.asarray(corners).T))
    if support.is_bounded:
        low, high = support.bounding_box
        return np.diag((np.asarray(high) - np.asarray(low)) / 2)
    if problem.loss is not None and problem.loss.weight is not None:
        return np.linalg.inv(np.linalg.cholesky(problem.loss.weight)).T
    return np.eye(support.dimension)


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
