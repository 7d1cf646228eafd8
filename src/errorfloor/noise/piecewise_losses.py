"""Integrals of a given convex loss over simplices, kinks included: cells are cut where two smooth pieces meet.

In a small simplex a convex function with a kink is about the greater of two affine ones, whose slopes show at the
corners. Cut along the plane where they agree, the rule misses a kink of size h by h⁴ of the total, not by h². Simplices
are halved until the rule agrees with itself on both halves, or the evaluations that are allowed are used up.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise.loss import Loss
from errorfloor.noise.numerical import NOT_FOUND
from errorfloor.noise.piecewise_bernstein import exponents, multinomial
from errorfloor.noise.piecewise_cells import cut, volumes
from errorfloor.noise.piecewise_quadrature import simplex_rule
from errorfloor.noise.recent import Recent

MOST_NODES = {1: 200_000, 2: 2_000_000, 3: 2_000_000}
SETTLED = 1e-15  # of the whole integral: what a simplex may be off by
TOLERATED = {1: 1e-6, 2: 1e-5, 3: 1e-3, 4: 1e-2}  # of the whole integral: what all that is not settled may add up to
STEP = 1e-3  # of an edge, in difference quotients
JUMP = 1e-3  # a change of slope this large beside the slopes may be a kink
_tables: Recent[Array] = Recent(kept=4)


@dataclass(frozen=True)
class Leaves:
    """Simplices on which a rule is applied: the cell that each lies in and its barycentric corners there."""

    cell: Array
    part: Array
    error: float  # an estimate, relative to the integral of the absolute value


def loss_moments(corners: Array, degree: int, loss: Loss) -> Array:
    """Give ∫ℓB_γ over each cell, B_γ the Bernstein polynomials of a degree: an array (cell, γ).

    >>> unit = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    >>> round(float(loss_moments(unit, 0, Loss(None, lambda w: np.abs(w[..., 0] - 0.3)))[0, 0]), 12)  # kinked
    0.097666666667
    """
    key = (corners.tobytes(), corners.shape, degree, loss.function)
    return _tables.find(key, lambda: _tabulated(corners, degree, loss))


def _tabulated(corners: Array, degree: int, loss: Loss) -> Array:
    m = corners.shape[2]
    points = degree // 2 + 4
    leaves = smooth_parts(corners, loss, points, MOST_NODES[m])
    if not leaves.error <= TOLERATED[m]:
        raise ConvergenceError(NOT_FOUND)
    nodes, weights = simplex_rule(m, points)
    lattice = exponents(m, degree)
    out = np.zeros((len(corners), len(lattice)))
    batch = max(1, 4_000_000 // (len(weights) * (m + 2)))
    for start in range(0, len(leaves.cell), batch):
        cell, part = leaves.cell[start : start + batch], leaves.part[start : start + batch]
        inner = np.einsum("qi,pij->pqj", nodes, part)
        values = loss(np.einsum("pqj,pjk->pqk", inner, corners[cell]))
        share = np.abs(np.linalg.det(part)) * volumes(corners)[cell]
        weighted = values * weights * share[:, None]
        powers = [np.ones_like(inner)]
        for _ in range(degree):
            powers.append(powers[-1] * inner)
        for k, alpha in enumerate(lattice):
            term = weighted
            for axis, power in enumerate(alpha):
                if power:
                    term = term * powers[power][..., axis]
            out[:, k] += multinomial(alpha) * np.bincount(cell, term.sum(axis=1), minlength=len(corners))
    return out


def smooth_parts(corners: Array, loss: Loss, points: int, most: int) -> Leaves:
    """Cut cells until a rule with ``points`` nodes an axis integrates the loss, or ``most`` evaluations are used up."""
    m = corners.shape[2]
    count = len(simplex_rule(m, points)[1])
    cell = np.arange(len(corners))
    part = np.broadcast_to(np.eye(m + 1), (len(corners), m + 1, m + 1)).copy()
    value, leaf = _integrals(corners, loss, cell, part, points)
    size = float(np.abs(value).sum()) + 1e-300
    done, used, error = [], len(leaf[0]) * count, 0.0
    while len(cell):
        ahead = _halved(corners, cell, part)
        fresh, fresh_leaf = _integrals(corners, loss, *ahead, points)
        used += len(fresh_leaf[0]) * count
        off = np.abs(value - fresh[: len(cell)] - fresh[len(cell) :])
        size = max(size, float(np.abs(fresh).sum()))
        open_ = off > SETTLED * size
        if used > most or not np.isfinite(size):
            done.append(fresh_leaf[:2])
            error += float(off[open_].sum()) / size if np.isfinite(size) else np.inf
            break
        twice = np.concatenate([open_, open_])
        settled = ~twice[fresh_leaf[2]]
        done.append((fresh_leaf[0][settled], fresh_leaf[1][settled]))
        cell, part, value = ahead[0][twice], ahead[1][twice], fresh[twice]
    return Leaves(np.concatenate([d[0] for d in done]), np.concatenate([d[1] for d in done]), error)


def _integrals(
    corners: Array, loss: Loss, cell: Array, part: Array, points: int
) -> tuple[Array, tuple[Array, Array, Array]]:
    """∫ℓ over each simplex, and the parts, cut at kinks, that it was computed on: cell, part, and which it is of."""
    m = corners.shape[2]
    heights = _kinks(loss, np.einsum("pij,pjk->pik", part, corners[cell]))
    owner, pieces = [], []
    for rows, inner in cut(part, heights):
        owner.append(rows)
        pieces.append(np.einsum("pij,pjk->pik", inner, part[rows]))
    which, leaf = np.concatenate(owner), np.concatenate(pieces)
    nodes, weights = simplex_rule(m, points)
    total = np.zeros(len(cell))
    batch = max(1, 2_000_000 // (len(weights) * (m + 1)))
    for start in range(0, len(which), batch):
        rows = which[start : start + batch]
        where = np.einsum("pij,pjk->pik", leaf[start : start + batch], corners[cell[rows]])
        values = np.asarray(loss(np.einsum("qi,pik->pqk", nodes, where)))
        total += np.bincount(rows, volumes(where) * (values @ weights), minlength=len(cell))
    return total, (cell[which], leaf, which)


def _kinks(loss: Loss, where: Array) -> Array:
    """At the corners of simplices: the difference of the two affine functions that a kinked loss is like there.

    Where there is no kink, or more than one, all are positive and nothing is cut.
    """
    count, size, _ = where.shape
    others = np.array([[j for j in range(size) if j != i] for i in range(size)])
    edges = where[:, others] - where[:, :, None]  # (simplex, corner, edge, coordinate)
    here = np.asarray(loss(where))
    step = STEP * (1 - 1e-3)
    middle = where.mean(axis=1)[:, None]
    base = where + 1e-3 * STEP * (middle - where)  # a little inside, where the loss is sure to be known
    there = np.asarray(loss(base[:, :, None] + step * edges))
    with np.errstate(invalid="ignore"):
        rise = (there - np.asarray(loss(base))[..., None]) / step
        slopes = np.linalg.solve(edges, rise[..., None])[..., 0]
        apart = np.linalg.norm(slopes[:, :, None] - slopes[:, None], axis=-1)
    apart = np.where(np.isfinite(apart), apart, 0.0)
    flat = apart.reshape(count, -1).argmax(axis=1)
    first, second = flat // size, flat % size
    rows = np.arange(count)
    one, two = slopes[rows, first], slopes[rows, second]
    side = np.linalg.norm(slopes - one[:, None], axis=2) <= np.linalg.norm(slopes - two[:, None], axis=2)
    spread = np.where(
        side, np.linalg.norm(slopes - one[:, None], axis=2), np.linalg.norm(slopes - two[:, None], axis=2)
    )
    jump = apart[rows, first, second]
    kinked = (jump > JUMP * np.linalg.norm(slopes, axis=2).max(axis=1)) & (spread.max(axis=1) < 0.3 * jump)
    left = here[rows, first][:, None] + np.einsum("pk,pik->pi", one, where - where[rows, first][:, None])
    right = here[rows, second][:, None] + np.einsum("pk,pik->pi", two, where - where[rows, second][:, None])
    difference = left - right
    return np.where(kinked[:, None] & np.isfinite(difference), difference, 1.0)


def _halved(corners: Array, cell: Array, part: Array) -> tuple[Array, Array]:
    """Both halves of each simplex, cut at the middle of its longest edge: all first ones, then all second ones."""
    size = part.shape[1]
    where = np.einsum("pij,pjk->pik", part, corners[cell])
    first, second = np.triu_indices(size, 1)
    longest = np.linalg.norm(where[:, first] - where[:, second], axis=2).round(12).argmax(axis=1)
    rows = np.arange(len(part))
    middle = (part[rows, first[longest]] + part[rows, second[longest]]) / 2
    one, two = part.copy(), part.copy()
    one[rows, second[longest]] = middle
    two[rows, first[longest]] = middle
    return np.concatenate([cell, cell]), np.concatenate([one, two])
