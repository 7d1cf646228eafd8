"""A primal–dual interior-point method for chain problems that uses their structure.

With r_ij ≤ √(p_ij p_{i+1,j}) a chain problem is linear over cones of 2×2 matrices [[p_ij, r_ij], [r_ij, p_{i+1,j}]].
In each Newton step the r are eliminated one by one, what is left is one tridiagonal matrix for each cell, and the
multipliers of the rows solve a system that is factorised segment by segment: the cost of a step is linear in the number
of nodes. Mehrotra's predictor and corrector with Nesterov and Todd's scaling need some twenty steps, whatever the grid.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies import cones
from errorfloor.policies.bound import lower_bound
from errorfloor.policies.chain import Chain, ChainSolution, Dual
from errorfloor.policies.cones import Scaling
from errorfloor.policies.layout import Layout
from errorfloor.policies.newton import Newton

MOST_STEPS = 100
TOLERANCE = 1e-8
CLOSE = 1e-4  # the largest gap that is not called a failure when no further step helps
BACK_OFF = 0.99
SPREAD = 0.1  # the share of even laws in those that the method starts from
PATIENCE, SHORT_PATIENCE = 8, 1  # steps without a better solution, far from it and close to it
NEAR = 1e-2  # the relative gap, as complementarity has it, from which on bounds are proved


@dataclass(frozen=True)
class Point:
    """Where the method is: laws p, links r, duals of cones and of lone nodes, multipliers, slacks, the worst step."""

    p: Array
    r: Array
    z: Array
    lone: Array
    multipliers: Array
    slacks: Array
    top: float


class Direction(NamedTuple):
    """A change of every part of a point; ``s`` is that of the cones' own points."""

    p: Array
    r: Array
    s: Array
    z: Array
    lone: Array
    multipliers: Array
    slacks: Array
    top: float


def solve_all(chain: Chain, tolerance: float = TOLERANCE) -> ChainSolution:
    """Give the laws of least objective, every cell of the grid an unknown.

    >>> two = Chain(couplings=np.array([1.0]), allowed=np.array([[True, True, False], [False, True, True]]))
    >>> abs(solve_all(two).value) < 1e-6  # the answer in the middle is allowed at both nodes
    True
    """
    layout = Layout(chain)
    point = _start(layout)
    best: ChainSolution | None = None
    least, found_at = np.inf, 0
    for step in range(1, MOST_STEPS + 1):
        try:
            with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
                point = _advance(layout, point)
        except ConvergenceError:
            break
        if step < MOST_STEPS and _open(layout, point) > NEAR:
            continue  # too early for a proof, which costs as much as half a step
        found = _finished(layout, point, step)
        missed = _missed(layout, found)
        if missed < least:
            best, least, found_at = found, missed, step
        if least <= tolerance or step - found_at > (SHORT_PATIENCE if least <= CLOSE else PATIENCE):
            break
    if best is None:  # the proof of where it stopped tells how far it is
        best = _finished(layout, point, step)
        least = _missed(layout, best)
    if not least <= max(CLOSE, tolerance):
        raise ConvergenceError(
            f"the chain problem of {len(chain.allowed)} nodes and {chain.allowed.shape[1]} cells was not solved: "
            f"a relative gap of {least:.2g} is left"
        )
    return best


def _missed(layout: Layout, found: ChainSolution) -> float:
    """How far a solution is from proved: its gap, and what its broken rows are worth, relative to its objective."""
    broken = 0.0
    for kind, multipliers in zip(layout.chain.rows, found.dual.rows, strict=True):
        over = kind.of(found.laws) - kind.bounds
        worth = np.abs(multipliers) * (np.abs(over) if kind.equal else np.maximum(over, 0.0))
        broken += float(worth.sum())
    return (abs(found.value - found.lower_bound) + broken) / max(abs(found.value), layout.least_value)


def _start(layout: Layout) -> Point:
    chain = layout.chain
    p = _first_laws(chain)
    linked = layout.linked
    r = np.where(linked, 0.7 * np.sqrt(p[:-1] * p[1:]), 0.0)
    c = np.maximum(chain.couplings, 1e-3 * chain.couplings.max())
    if chain.cost is not None:  # duals of the size of what they are weighed against
        c = np.maximum(c, float(np.median(chain.cost[chain.allowed])))
    if chain.worst:
        c = c / len(c)
    weights = np.broadcast_to(c[:, None], linked.shape)[linked]
    z = cones.from_entries(weights, weights, -0.7 * weights)
    middle = (
        float(np.median((cones.from_entries(p[:-1][linked], p[1:][linked], r[linked]) * z).sum(axis=0)))
        if linked.any()
        else float(c.mean())
    )
    left = layout.left_sides(p, r)
    slacks = np.ones(len(left))
    multipliers = np.zeros(len(left))
    size = np.maximum(np.abs(layout.bounds), np.abs(left)) + 1e-300
    top = 0.0
    gap = layout.bounds - left
    if chain.worst:
        top = 2 * float(left[layout.parts[-1]].max())
        gap[layout.parts[-1]] += top
        size[layout.parts[-1]] = top
    bounded = layout.bounded
    slacks[bounded] = np.maximum(gap, 0.1 * size)[bounded]
    multipliers[bounded] = (middle * linked.shape[1] / slacks)[bounded]
    if chain.worst:
        multipliers[layout.parts[-1]] = 1 / len(c)
    return Point(p, r, z, np.full(int(layout.lone.sum()), float(c.mean())), multipliers, slacks, top)


def _first_laws(chain: Chain) -> Array:
    """Laws to start from: even ones, or where every node has a bound, laws of about half of what it allows."""
    even = np.where(chain.allowed, 1 / chain.allowed.sum(axis=1, keepdims=True), 0.0)
    kinds = [rows for rows in chain.rows if not rows.shared and not rows.equal and (rows.bounds > 0).all()]
    if not kinds:
        return even
    a, b = kinds[0].coefficients, kinds[0].bounds[:, None]
    near = np.where(chain.allowed, np.exp(-np.minimum(np.where(chain.allowed, a, 0.0) / b, 600.0)), 0.0)
    total = near.sum(axis=1, keepdims=True)
    return np.where(total > 0, SPREAD * even + (1 - SPREAD) * near / np.where(total > 0, total, 1.0), even)


def _primal(layout: Layout, p: Array, r: Array) -> Array:
    linked = layout.linked
    return cones.from_entries(p[:-1][linked], p[1:][linked], r[linked])


def _complementarity(layout: Layout, point: Point) -> tuple[float, int]:
    """The sum of products of primal and dual, which is the gap of a feasible point, and how many there are."""
    s, bounded = _primal(layout, point.p, point.r), layout.bounded
    total = float((s * point.z).sum()) + float(point.p[layout.lone] @ point.lone)
    total += float(point.slacks[bounded] @ point.multipliers[bounded])
    return total, s.shape[1] + point.lone.size + int(bounded.sum())


def _open(layout: Layout, point: Point) -> float:
    """The gap relative to the objective, as complementarity has it."""
    cost_p, cost_r = layout.costs
    value = float((cost_p * point.p).sum() + (cost_r * point.r).sum()) + point.top
    return _complementarity(layout, point)[0] / max(abs(value), layout.least_value)


def _advance(layout: Layout, point: Point) -> Point:
    """One predictor and corrector step."""
    chain, linked, bounded = layout.chain, layout.linked, layout.bounded
    s, z = _primal(layout, point.p, point.r), point.z
    scaling = Scaling.of(s, z)
    middle = scaling.apply(z)
    lone_p = point.p[layout.lone]
    theta = np.zeros(len(bounded))
    theta[bounded] = point.slacks[bounded] / point.multipliers[bounded]
    newton = Newton.factorise(layout, scaling, point.lone / lone_p, theta)
    # what is still missing from feasibility
    cost_p, cost_r = layout.costs
    on_p, on_r = layout.adjoint(point.multipliers)
    back_p, back_r = _spread(layout, z, point.lone)
    dual_p = cost_p + on_p - back_p
    dual_r = np.where(linked, cost_r + on_r, 0.0) - back_r
    rows = layout.bounds - layout.left_sides(point.p, point.r)
    rows[bounded] -= point.slacks[bounded]
    missing_top = 0.0
    if chain.worst:
        rows[layout.parts[-1]] += point.top
        missing_top = 1.0 - float(point.multipliers[layout.parts[-1]].sum())

    def direction(cone: Array, lone: Array, products: Array) -> Direction:
        k = scaling.divide(middle, cone)
        lone_k = lone / lone_p
        add_p, add_r = _spread(layout, k, lone_k)
        right = rows.copy()
        right[bounded] -= products[bounded] / point.multipliers[bounded]
        p, r, multipliers, top = newton.solve(add_p - dual_p, add_r - dual_r, right, missing_top)
        s = _primal(layout, p, r)
        slacks = np.zeros(len(bounded))
        slacks[bounded] = ((products - point.slacks * multipliers) / np.where(bounded, point.multipliers, 1.0))[bounded]
        lone_z = lone_k - point.lone / lone_p * p[layout.lone]
        return Direction(p, r, s, k - scaling.weigh(s), lone_z, multipliers, slacks, top)

    total, count = _complementarity(layout, point)
    mu = total / count
    square = cones.product(middle, middle)
    lone_now, now = lone_p * point.lone, point.slacks * point.multipliers
    ahead = direction(-square, -lone_now, -now)
    target = (1 - _longest(layout, point, s, ahead)) ** 3 * mu
    cone = -square - cones.product(scaling.undo(ahead.s), scaling.apply(ahead.z))
    cone[0] += target
    way = direction(
        cone, target - lone_now - ahead.p[layout.lone] * ahead.lone, target - now - ahead.slacks * ahead.multipliers
    )
    alpha = BACK_OFF * _longest(layout, point, s, way)
    if not alpha > 1e-10 or not np.isfinite(way.multipliers).all():
        raise ConvergenceError("no step is left to take")
    return Point(
        point.p + alpha * way.p,
        point.r + alpha * way.r,
        z + alpha * way.z,
        point.lone + alpha * way.lone,
        point.multipliers + alpha * way.multipliers,
        point.slacks + alpha * way.slacks,
        point.top + alpha * way.top,
    )


def _spread(layout: Layout, z: Array, lone: Array) -> tuple[Array, Array]:
    """What duals of cones and lone nodes weigh on laws and links."""
    first, second, off = cones.to_entries(z)
    on_p = np.zeros(layout.chain.allowed.shape)
    on_p[:-1][layout.linked] += first
    on_p[1:][layout.linked] += second
    on_p[layout.lone] += lone
    on_r = np.zeros(layout.linked.shape)
    on_r[layout.linked] = off
    return on_p, on_r


def _longest(layout: Layout, point: Point, s: Array, way: Direction) -> float:
    """The longest step that keeps everything inside its cone."""
    bounded = layout.bounded
    longest = min(cones.longest_step(s, way.s), cones.longest_step(point.z, way.z))
    pairs = (
        (point.p[layout.lone], way.p[layout.lone]),
        (point.lone, way.lone),
        (point.slacks[bounded], way.slacks[bounded]),
        (point.multipliers[bounded], way.multipliers[bounded]),
    )
    for value, change in pairs:
        down = change < 0
        if down.any():
            longest = min(longest, float((value[down] / -change[down]).min()))
    return longest


def _finished(layout: Layout, point: Point, step: int) -> ChainSolution:
    chain = layout.chain
    laws = point.p / point.p.sum(axis=1, keepdims=True)
    parts = layout.parts
    dual = Dual(
        -point.multipliers[parts[0]],
        tuple(point.multipliers[part] for part in parts[1:-1]),
        point.multipliers[parts[-1]] if chain.worst else None,
    )
    proved, dual = lower_bound(chain, dual)
    return ChainSolution(laws, dual, chain.energy(laws), proved, step)
