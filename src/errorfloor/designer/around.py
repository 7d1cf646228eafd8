"""Lower bounds from larger supports: simplices and boxes along faces, products around an unbounded set, all of space.

Noise on W is noise on any larger set, so what is least there bounds what is least on W. And for every split of the
query, min(J + ϱQ) ≥ min θJ + min((1−θ)J + ϱQ): the first without a loss, the second on all of space.
"""

import itertools
import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer import spectral
from errorfloor.designer.alcoves import bound_on_simplex
from errorfloor.designer.closed_forms import geometric_mean
from errorfloor.designer.corners import corners
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.finite_elements.polytope_mesh import polytope_mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.errors import ErrorFloorError
from errorfloor.noise import Loss
from errorfloor.support import HalfLine, Interval, Reals, Support

MOST_SHAPES = 400  # around the support that are compared
BEST = 2  # of them that are looked at closely
AIRY = 1.018792971  # the first zero of Ai′, but for its sign, rounded down
NEAR = 0.999  # what a computed least loss is lowered by
ROUNDING = 1e-10


def bound_around(support: Support, sensitivity: Array, loss: Loss | None, weight: float) -> tuple[float | None, str]:
    """Give a number below J + ϱQ of every noise on a convex set with flat faces, or None, and how it was found.

    >>> from errorfloor.support import Polytope
    >>> simplex = Polytope(vertices=np.vstack([np.zeros(4), np.eye(4)]))
    >>> found, how = bound_around(simplex, np.eye(4), None, 0.0)
    >>> round(found, 1), how
    (1105.4, 'lower bound by alcoves of reflection groups')
    """
    free, how = _without_loss(support, sensitivity) if support.is_bounded else (0.0, "")
    if weight == 0 or loss is None:
        return free, f"lower bound by {how}"
    if loss.function is not None:
        if not support.is_bounded:
            return None, "no lower bound is proved for this loss on an unbounded support"
        return free + weight * _least_given(support, loss), f"lower bound by {how}, and the least loss"
    split, words = split_bound(free, sensitivity, loss, weight), "all of space"
    candidates = [(split, f"{how} and {words}" if free else words)]
    candidates.append((free + weight * NEAR * smallest_loss(support, loss), f"{how or 'nothing'} and the least loss"))
    product = _product_around(support, sensitivity, loss, weight)
    if product is not None:
        candidates.append((product, "a product of half-lines and lines around the support"))
    best, words = max(candidates)
    return best * (1 - ROUNDING), f"lower bound by {words}"


def split_bound(free: float, K: Array, loss: Loss, weight: float) -> float:
    """The greatest θ·free + min((1−θ)J + ϱQ) over all of space."""
    if loss.weight is not None:
        whole = 2 * math.sqrt(weight) * float(np.trace(loss.weight @ geometric_mean(loss.weight, K)))
        power = 0.5
    else:
        unit = np.sqrt(np.diag(K))
        least = max(
            0.0, float(np.linalg.eigvalsh(K / unit / unit[:, None])[0])
        )  # K is at least this times its diagonal
        whole = 4 * AIRY * (weight / 4) ** (2 / 3) * float(((least * np.diag(K)) ** (1 / 3)).sum())
        power = 1 / 3
    shares = np.linspace(0, 1, 1001)
    return float((shares * free + (1 - shares) ** power * whole).max())


def _least_given(support: Support, loss: Loss) -> float:
    """A lower bound of a given convex loss: the least of affine functions below it, on the cells of a mesh."""
    half_spaces = support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    mesh = polytope_mesh(*half_spaces, corners(support))
    problem = Isotropic(support, np.eye(support.dimension), loss)
    while len(mesh.cells) < 2000:
        least = problem.least_potential(mesh)
        mesh = mesh.refined(least <= np.quantile(least, 0.3))
    return 4 * float(problem.least_potential(mesh).min())


def _without_loss(support: Support, K: Array) -> tuple[float, str]:
    """The best of simplices and boxes around a bounded set, each with faces along the set's own."""
    points = corners(support)
    half_spaces = support.half_spaces
    assert half_spaces is not None, "only convex supports with flat faces come here"
    found = [(bound_on_simplex(simplex, K), "alcoves of reflection groups") for simplex in _simplices(*half_spaces)]
    for frame in _frames(half_spaces[0], K, points):
        along = points @ frame.T
        sides = tuple(Interval(float(a), float(b)) for a, b in zip(along.min(axis=0), along.max(axis=0), strict=True))
        try:
            lower = spectral.ground_state((frame, sides), K, None, 0.0, tolerance=1e-3).lower_bound
        except ErrorFloorError:  # a box too thin for the solver bounds nothing
            continue
        if lower is not None:
            found.append((lower * (1 - 1e-9), "a box around the support"))
    return max(found, default=(0.0, "nothing"))


def _some(count: int, size: int) -> list[tuple[int, ...]]:
    """Subsets of a size, all of them or as many as are allowed."""
    if math.comb(count, size) <= MOST_SHAPES:
        return list(itertools.combinations(range(count), size))
    generator = np.random.default_rng(0)
    return [tuple(sorted(generator.choice(count, size, replace=False).tolist())) for _ in range(MOST_SHAPES)]


def _simplices(A: Array, b: Array) -> list[Array]:
    """The corners of the smallest simplices with m + 1 of the faces."""
    m = A.shape[1]
    found = []
    for rows in map(list, _some(len(A), m + 1)):
        balance = np.linalg.svd(A[rows].T)[2][-1]
        balance = balance * np.sign(balance[0])
        if len(rows) != m + 1 or balance.min() <= 1e-9 * balance.max():
            continue  # open on one side
        try:
            points = np.array(
                [np.linalg.solve(A[[r for r in rows if r != k]], b[[r for r in rows if r != k]]) for k in rows]
            )
        except np.linalg.LinAlgError:
            continue
        found.append((abs(float(np.linalg.det(points[1:] - points[0]))), points))
    found.sort(key=lambda pair: pair[0])
    return [points for _, points in found[:BEST]]


def _frames(A: Array, K: Array, points: Array) -> list[Array]:
    """Rows N of the boxes low ≤ N w ≤ high that promise the best bounds."""
    m = A.shape[1]
    frames = [np.eye(m), np.linalg.eigh(K)[1].T, *(A[list(rows)] for rows in _some(len(A), m))]
    scored: list[tuple[float, int, Array]] = []
    for N in frames:
        width = np.ptp(points @ N.T, axis=0)
        own = N @ K @ N.T / width / width[:, None]
        if np.linalg.cond(N) < 1e4 and np.linalg.cond(own) < 1e6:
            scored.append((float(np.trace(np.linalg.inv(own))), len(scored), N))
    return [N for _, _, N in sorted(scored, key=lambda entry: entry[:2])[:BEST]]


def _product_around(support: Support, K: Array, loss: Loss, weight: float) -> float | None:
    """The bound of the product of half-lines and lines with the faces that keep most of the noise out."""
    half_spaces = support.half_spaces
    if half_spaces is None or support.is_bounded or loss.weight is None:
        return None
    A, b = half_spaces
    spread = geometric_mean(loss.weight, K) / math.sqrt(weight)
    order = np.argsort(b / np.sqrt(np.einsum("ij,jk,ik->i", A, spread, A)))
    chosen: list[int] = []
    for k in order.tolist():
        if np.linalg.cond(A[[*chosen, k]]) < 1e3:
            chosen.append(k)
        if len(chosen) == A.shape[1]:
            break
    # the directions that no face bounds are those in which the spread of the noise is independent of the others
    free = (
        np.linalg.svd(A[chosen] @ spread)[2][len(chosen) :] if len(chosen) < A.shape[1] else np.zeros((0, A.shape[1]))
    )
    N = np.vstack([A[chosen], free])
    sides: tuple[Support, ...] = (*(HalfLine(high=float(b[k])) for k in chosen), *(Reals(1) for _ in free))
    try:
        return spectral.ground_state((N, sides), K, loss, weight, tolerance=1e-3).lower_bound
    except ErrorFloorError:
        return None
