"""A second-order solver for tables: Newton's method along the central path, with the chain's sparsity used.

The problem is to minimise Σ_i w_i(1 − ρ_i), or −entropy, or the bound t on every 1 − ρ_i, over probabilities p > 0 with
Σ p_i = 1, Σ k p_i = 0 where a row's mean is bound, and Σ k² p_i ≤ V. Each is convex, for −√(ab) is. The barrier is
−Σ log p − Σ log(V − Σ k² p_i) − Σ log(t − 1 + ρ_i), and a Newton step costs one sparse factorisation whose bandwidth is
that of two rows, so the cost is linear in the number of rows.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.counts.chain import Chain

TOLERANCE = 1e-10  # of the objective, absolutely: the central path's own gap
CAPPED_TOLERANCE = 1e-8  # where 1 − ρ is bounded, for the room t − 1 + ρ is known to 1e-16 only
GROWTH, CAPPED_GROWTH = 15.0, 5.0  # of the sharpness; where 1 − ρ is bounded longer strides need many more steps
MOST_STEPS = 600
CENTRED = 1e-8  # the squared Newton decrement at the end …
ON_THE_WAY = 1e-2  # … and of the stages before
ROUNDING = 1e-3  # the squared decrement below which a step that does not help is blamed on rounding


@dataclass(frozen=True)
class Solution:
    """Probabilities on the central path and the multipliers that belong to them, in the objective's own scale.

    ``level``, ``slope`` and ``price`` belong to Σ p = 1, Σ k p = 0 and Σ k² p ≤ V of each row, ``weight`` to the bound
    on each 1 − ρ_i; ``bound`` is t.
    """

    probabilities: Array
    level: Array
    slope: Array
    price: Array
    weight: Array
    bound: float | None
    steps: int


@dataclass(frozen=True)
class Objective:
    """What to minimise: ``kind`` "energy", "entropy" or "bound"; with ``cap`` every 1 − ρ_i stays below it.

    >>> Objective("energy").kind
    'energy'
    """

    kind: str
    cap: float | None = None


def solve(chain: Chain, objective: Objective, start: Array, tolerance: float | None = None) -> Solution:
    """Follow the central path from a strictly feasible ``start`` to a gap of ``tolerance``, or as far as it goes.

    Where it gets stuck its last point is given, which keeps all rules; how good that is, a lower bound from its
    multipliers tells. Raises ``ConvergenceError`` where not even the path's first point is found.

    >>> from errorfloor.policies.counts.rules import CountRules
    >>> from errorfloor.policies.counts.tail import tail_row
    >>> rules = CountRules(max_noise=1, variance=0.5, unbiased=True, keep_zero=True)
    >>> chain = Chain(rules, tail_row(1, 0.5), length=2)
    >>> solve(chain, Objective("energy"), chain.start()).probabilities[1:4].round(6).tolist()
    [0.25, 0.5, 0.25]
    """
    path = _Path(chain, objective, start)
    if not path.unknowns:
        return path.solution(steps=0, sharpness=1.0)
    sharpness, steps = 10.0, 0
    last = path.terms / (tolerance or (CAPPED_TOLERANCE if path.capped else TOLERANCE))
    reached: Solution | None = None
    while True:
        try:
            steps += path.centre(sharpness, MOST_STEPS - steps, CENTRED if sharpness >= last else ON_THE_WAY)
        except ConvergenceError:
            if reached is None:
                raise
            return reached
        reached = path.solution(steps, sharpness)
        if sharpness >= last:
            return reached
        sharpness = min(last, sharpness * (CAPPED_GROWTH if path.capped else GROWTH))


class _Path:
    """The state of the walk: unknown probabilities, slack in each bound on a variance, and t."""

    def __init__(self, chain: Chain, objective: Objective, start: Array) -> None:
        self.chain, self.objective = chain, objective
        self.p = start.astype(float).copy()
        self.live = chain.free[chain.row_of]
        self.limited = np.flatnonzero([row.limited and free for row, free in zip(chain.rows, chain.free, strict=True)])
        self.meant = np.flatnonzero([row.mean and free for row, free in zip(chain.rows, chain.free, strict=True)])
        self.summed = np.flatnonzero(chain.free)
        self.place = np.cumsum(self.live) - 1
        self.unknowns = int(self.live.sum())
        self.slack = chain.rules.variance - self._squares()[self.limited]
        self.capped = objective.kind == "bound" or objective.cap is not None
        self.moving_cap = objective.kind == "bound"
        touched = self.live[chain.left] | self.live[chain.right]
        self.links = np.unique(chain.link[touched & self.capped])
        self.least_cap = 1 - chain.tail.affinity
        gaps = 1 - chain.affinities(self.p)
        self.cap = (
            max(float(gaps.max(initial=0.0)), self.least_cap) + 0.1 if self.moving_cap else (objective.cap or 0.0)
        )
        self.terms = self.unknowns + len(self.slack) + len(self.links) + self.moving_cap
        self.A = self._equalities()
        self.b = np.concatenate(
            [np.ones(len(self.summed)), np.zeros(len(self.meant)), np.full(len(self.limited), chain.rules.variance)]
        )
        self.multipliers = np.zeros(len(self.b))

    def centre(self, sharpness: float, most: int, centred: float) -> int:
        """Take Newton steps until the point is on the path, to a squared decrement of ``centred``."""
        before = np.inf
        for step in range(most):
            direction, multipliers, decrement = self._newton(sharpness)
            self.multipliers = multipliers / sharpness
            moved = self._search(direction, multipliers, sharpness, decrement)
            if decrement < centred or (decrement < ROUNDING and not (moved and decrement < 0.5 * before)):
                return step + 1
            if not moved:
                break
            before = decrement
        raise ConvergenceError(
            f"the table for max_noise {self.chain.rules.max_noise} and variance {self.chain.rules.variance:g} was not "
            f"found in {MOST_STEPS} steps: a smaller max_noise, or a variance further from its limits, may help"
        )

    def solution(self, steps: int, sharpness: float) -> Solution:
        rows = self.chain.length + 1
        level, slope, price = np.zeros(rows), np.zeros(rows), np.zeros(rows)
        cut = np.cumsum([len(self.summed), len(self.meant)])
        level[self.summed], slope[self.meant], price[self.limited] = np.split(self.multipliers, cut)
        weight = np.zeros(self.chain.length)
        if self.capped and self.unknowns:
            weight[self.links] = 1 / (sharpness * self._room())
        bound = float(self.cap) if self.moving_cap else None
        return Solution(self.p.copy(), level, slope, np.maximum(price, 0.0), weight, bound, steps)

    def _squares(self) -> Array:
        return np.bincount(self.chain.row_of, self.chain.noise**2 * self.p)

    def _room(self) -> Array:
        return np.asarray((self.cap - 1 + self.chain.affinities(self.p))[self.links])

    def _equalities(self) -> Any:
        """Sums, bound means, and limited squares with their slack, as a matrix on all unknowns."""
        from scipy.sparse import csr_matrix

        columns = np.flatnonzero(self.live)
        row_of, noise = self.chain.row_of[columns], self.chain.noise[columns].astype(float)
        entries: list[tuple[Array, Array, Array]] = []
        offset = 0
        for rows, values in ((self.summed, noise**0), (self.meant, noise), (self.limited, noise**2)):
            index = np.full(self.chain.length + 1, -1)
            index[rows] = offset + np.arange(len(rows))
            kept = np.flatnonzero(index[row_of] >= 0)
            entries.append((values[kept], index[row_of[kept]], kept))
            offset += len(rows)
        count = len(self.limited)
        entries.append((np.ones(count), offset - count + np.arange(count), len(columns) + np.arange(count)))
        values, at, across = (np.concatenate(part) for part in zip(*entries, strict=True))
        return csr_matrix((values, (at, across)), shape=(offset, len(columns) + count + self.moving_cap))

    def _slopes(self) -> tuple[Array, Array]:
        """Derivatives of each √(p p′) by its two probabilities."""
        a, b = self.p[self.chain.left], self.p[self.chain.right]
        return 0.5 * np.sqrt(b / a), 0.5 * np.sqrt(a / b)

    def _force(self, sharpness: float) -> Array:
        """The gradient of objective and barrier in the unknowns."""
        chain, room = self.chain, self._room()
        by_left, by_right = self._slopes()
        pull = self._pull(sharpness)[chain.link]
        gradient = -1 / self.p
        np.add.at(gradient, chain.left, -pull * by_left)
        np.add.at(gradient, chain.right, -pull * by_right)
        if self.objective.kind == "entropy":
            gradient += sharpness * (1 + np.log(self.p))
        parts = [gradient[self.live], -1 / self.slack]
        if self.moving_cap:
            parts.append(np.array([sharpness - (1 / room).sum() - 1 / (self.cap - self.least_cap)]))
        return np.concatenate(parts)

    def _pull(self, sharpness: float) -> Array:
        """The weight of each affinity in the gradient."""
        pull = np.full(self.chain.length, sharpness if self.objective.kind == "energy" else 0.0)
        pull[self.links] += 1 / self._room()
        return pull

    def _newton(self, sharpness: float) -> tuple[Array, Array, float]:
        from scipy.sparse import bmat, coo_matrix, diags, eye

        chain = self.chain
        left, right = chain.left, chain.right
        size = self.unknowns + len(self.slack) + self.moving_cap
        by_left, by_right = self._slopes()
        pull = self._pull(sharpness)[chain.link]
        curvature = 1 / self.p**2
        np.add.at(curvature, left, pull * by_left / (2 * self.p[left]))
        np.add.at(curvature, right, pull * by_right / (2 * self.p[right]))
        if self.objective.kind == "entropy":
            curvature += sharpness / self.p
        above = np.array([self.cap - self.least_cap] * self.moving_cap)
        diagonal = np.concatenate([curvature[self.live], 1 / self.slack**2, 1 / above**2])
        # probabilities differ by many orders: in units of themselves the system is well scaled
        scale = np.concatenate([self.p[self.live], self.slack, above])
        both = self.live[left] & self.live[right]
        cross = -0.25 * pull[both] / np.sqrt(self.p[left[both]] * self.p[right[both]])
        off = coo_matrix((cross, (self.place[left[both]], self.place[right[both]])), shape=(size, size))
        H = diags(scale) @ (off + off.T + diags(diagonal)) @ diags(scale)
        A = self.A @ diags(scale)
        residual = self.b - self.A @ np.concatenate([self.p[self.live], self.slack, [self.cap] * self.moving_cap])
        # divided by the sharpness, the curvature is of the size of the constraints and neither is lost to rounding
        H = H / sharpness
        blocks, forces = [[H, A.T], [A, None]], [-scale * self._force(sharpness) / sharpness, residual]
        if len(self.links):
            room = self._room() * np.sqrt(sharpness)
            G = diags(1 / room) @ self._room_slopes(by_left, by_right, size) @ diags(scale)
            blocks = [[H, A.T, G.T], [A, None, None], [G, None, -eye(len(room))]]
            forces.append(np.zeros(len(room)))
        found = _solved(bmat(blocks, format="csc"), np.concatenate(forces))
        relative = found[:size]
        decrement = float(relative @ (H @ relative)) + (float(((G @ relative) ** 2).sum()) if len(self.links) else 0.0)
        return scale * relative, found[size : size + len(self.b)] * sharpness, decrement * sharpness

    def _room_slopes(self, by_left: Array, by_right: Array, size: int) -> Any:
        from scipy.sparse import coo_matrix

        chain = self.chain
        index = np.full(chain.length, -1)
        index[self.links] = np.arange(len(self.links))
        values, rows, columns = [], [], []
        for end, slopes in ((chain.left, by_left), (chain.right, by_right)):
            kept = self.live[end] & (index[chain.link] >= 0)
            values.append(slopes[kept])
            rows.append(index[chain.link[kept]])
            columns.append(self.place[end[kept]])
        if self.moving_cap:
            values.append(np.ones(len(self.links)))
            rows.append(np.arange(len(self.links)))
            columns.append(np.full(len(self.links), size - 1))
        where = (np.concatenate(rows), np.concatenate(columns))
        return coo_matrix((np.concatenate(values), where), shape=(len(self.links), size))

    def _move(self, direction: Array, length: float) -> None:
        n, m = self.unknowns, len(self.slack)
        self.p[self.live] += length * direction[:n]
        self.slack += length * direction[n : n + m]
        if self.moving_cap:
            self.cap += length * float(direction[-1])

    def _inside(self, direction: Array, length: float) -> bool:
        kept = self.p.copy(), self.slack.copy(), self.cap
        self._move(direction, length)
        inside = bool((self.p[self.live] > 0).all() and (self.slack > 0).all() and (self._room() > 0).all())
        inside &= not self.moving_cap or self.cap > self.least_cap
        self.p, self.slack, self.cap = kept
        return inside

    def _search(self, direction: Array, multipliers: Array, sharpness: float, decrement: float) -> bool:
        """Halve the step until it stays inside and the Lagrangian does not rise at its end.

        Slopes are compared, not values: where the objective is sharp its values are all alike to rounding.
        """
        length = 1.0
        kept = self.p.copy(), self.slack.copy(), self.cap
        along = multipliers @ (self.A @ direction)
        for _ in range(60):
            if self._inside(direction, length):
                self._move(direction, length)
                if float(self._force(sharpness) @ direction) + along <= 0.1 * decrement + CENTRED:
                    return True
                self.p, self.slack, self.cap = kept[0].copy(), kept[1].copy(), kept[2]
            length *= 0.5
        return False


def _solved(matrix: Any, right: Array) -> Array:
    """Solve by factors, and twice more for what rounding left."""
    from scipy.sparse.linalg import splu

    try:
        factors = splu(matrix)
    except RuntimeError:
        raise ConvergenceError("the table was not found: the solver's equations became singular") from None
    found = factors.solve(right)
    for _ in range(2):
        found = found + factors.solve(right - matrix @ found)
    if not np.isfinite(found).all():
        raise ConvergenceError("the table was not found: a step of the solver is not a number")
    return np.asarray(found)
