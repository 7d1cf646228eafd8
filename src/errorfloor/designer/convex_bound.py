"""How low a convex function can lie anywhere, from bounds of its values at a few places.

A convex f with f(c) ≥ L has a slope p at c, f(a) ≥ L + p·(a − c) for all a. Which one is not known, but where values
f(c + s) ≤ U are known, p·s ≤ U − L: the corners s of a simplex around c leave a small simplex of slopes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array

ROUNDING = 1e-9  # of the least value known: what linear programmes, solved to 1e-10, may be off by
WIDER = 8.0  # times as far away f is looked at when all nearer places were
TINY = 1e-8  # numbers that linear programmes ignore are a tenth of this
ROUNDS = 2  # of shrinking the box that a lower value could lie in, for every new place


def simplex(dimension: int) -> Array:
    """The corners of a regular simplex at distance one from 0, turned so that no symmetry of a problem is met.

    >>> simplex(1).round(12).ravel().tolist()
    [-1.0, 1.0]
    """
    corners = np.linalg.svd(np.ones((1, dimension + 1)))[2][1:].T
    corners = corners[np.argsort(corners[:, 0])] / np.linalg.norm(corners, axis=1)[:, None]
    return np.asarray(corners @ np.linalg.qr(np.sin(np.arange(1, dimension**2 + 1.0)).reshape(dimension, -1))[0])


@dataclass(frozen=True)
class Slopes:
    """f(a) ≥ lower + p·(a − center) for all a and one of the slopes p in the hull of ``corners``."""

    center: Array
    lower: float
    corners: Array

    @classmethod
    def between(cls, center: Array, lower: float, steps: Array, values: Array) -> "Slopes | None":
        """From f(center) ≥ lower and f(center + step) ≤ value, the steps those to the corners of a regular simplex.

        None where the numbers belong to no convex function, or are not all known.

        >>> Slopes.between(np.zeros(1), 1.0, 0.1 * simplex(1), np.array([1.01, 1.03])).corners.round(6).ravel().tolist()
        [0.3, -0.1]
        """
        rises = values - lower
        if not (math.isfinite(lower) and np.isfinite(rises).all() and rises.mean() >= 0):
            return None
        others = [np.arange(len(steps)) != k for k in range(len(steps))]
        return cls(center, lower, np.stack([np.linalg.solve(steps[rest], rises[rest]) for rest in others]))

    def plane(self, low: Array, high: Array) -> tuple[Array, float]:
        """A slope and a constant with f(a) ≥ slope·a + constant for all a in a box."""
        slope = self.corners.mean(axis=0)
        slope = np.where(np.abs(slope) < TINY, 0.0, slope)  # any slope will do, and these would be taken for 0
        off = slope - self.corners
        most = np.maximum(off * (low - self.center), off * (high - self.center)).sum(axis=1).max()
        return slope, self.lower - float(most) - float(slope @ self.center)


@dataclass(frozen=True)
class Shadow:
    """The set {E y : A y ≤ b}, lengths of about one."""

    E: Array
    A: Array
    b: Array

    def box(self, slopes: Array, most: Array) -> tuple[Array, Array]:
        """The box around the part in which slopes·a ≤ most."""
        A, b = np.vstack([self.A, slopes @ self.E]), np.concatenate([self.b, most])
        ends = [[_least(sign * row, A, b) for row in self.E] for sign in (1.0, -1.0)]
        low, high = (np.array([-math.inf if end is None else end[0] for end in side]) for side in ends)
        slack = ROUNDING * (1 + np.abs([low, -high]))
        return low - slack[0], -high + slack[1]

    def lowest(self, slopes: Array, constants: Array, low: Array, high: Array) -> tuple[float, Array] | None:
        """The least value of max(slopes·a + constants) in a box, and where it is."""
        n, d = slopes.shape
        rows = np.vstack([self.A, self.E, -self.E, slopes @ self.E])
        last = np.concatenate([np.zeros(len(self.A) + 2 * d), -np.ones(n)])
        found = _least(
            np.append(np.zeros(self.E.shape[1]), 1.0),
            np.column_stack([rows, last]),
            np.concatenate([self.b, high, -low, -constants]),
        )
        return None if found is None else (found[0], self.E @ found[1][:-1])


def least_of_convex(
    shadow: Shadow, slopes_at: Callable[[Array], Slopes | None], *, radius: float, sought: float, tries: int
) -> float | None:
    """Give a lower bound of a convex function with f(0) ≤ 1 on a shadow, or None.

    ``slopes_at`` looks at f near a place. The first place is 0; the next ones are those where f could be lowest by all
    that is known, but no farther than ``radius`` from 0, or places around 0 where that teaches nothing, then farther
    away: planes near the minimum rise to all sides. It ends at 1 − ``sought``, or after so many ``tries``.

    Guarantee: the bound holds for every convex f for which ``slopes_at`` tells the truth.

    >>> line = Shadow(np.eye(1), np.array([[1.0], [-1.0]]), np.array([5.0, 3.0]))  # −3 ≤ a ≤ 5
    >>> f = lambda a: 1 + float(a[0] ** 2)
    >>> def slopes_at(a):
    ...     steps = 1e-4 * simplex(1)
    ...     return Slopes.between(a, f(a), steps, np.array([f(a + step) for step in steps]))
    >>> bound = least_of_convex(line, slopes_at, radius=1e-2, sought=1e-4, tries=5)
    >>> bool(0.9999 < bound <= 1)
    True
    """
    d = len(shadow.E)
    low, high = shadow.box(np.zeros((0, d)), np.zeros(0))
    if not np.isfinite([low, high]).all():
        return None
    known: list[Slopes] = []
    best, place, reach, side, waiting = -math.inf, np.zeros(d), radius, 1.0, [*(radius * simplex(d))]
    for _ in range(tries):
        found = slopes_at(place)
        if found is not None:
            known.append(found)
            for _ in range(ROUNDS):
                slopes, constants = _planes(known, low, high)
                # outside the part where every plane is at most 1 the function is more than 1
                tighter = shadow.box(slopes, 1 + ROUNDING - constants)
                low, high = np.maximum(low, tighter[0]), np.minimum(high, tighter[1])
            least = shadow.lowest(*_planes(known, low, high), low, high)
            if least is None:
                break
            best, place = max(best, least[0] - ROUNDING), least[1]
            if best >= 1 - sought:
                break
            place = place * (reach / max(float(np.linalg.norm(place)), reach))
            if _is_new(place, known, reach):
                continue
        while True:
            if not waiting:
                reach, side = WIDER * reach, -side
                waiting = [*(side * reach * simplex(d))]
            place = waiting.pop()
            if _is_new(place, known, reach):
                break
    return min(best, 1.0) if math.isfinite(best) else None


def _is_new(place: Array, known: list[Slopes], reach: float) -> bool:
    return all(float(np.linalg.norm(place - old.center)) > 0.1 * reach for old in known)


def _planes(known: list[Slopes], low: Array, high: Array) -> tuple[Array, Array]:
    planes = [slopes.plane(low, high) for slopes in known]
    return np.stack([slope for slope, _ in planes]), np.array([constant for _, constant in planes])


def _least(cost: Array, A: Array, b: Array) -> tuple[float, Array] | None:
    from scipy.optimize import linprog

    tight: dict[str, Any] = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, A_ub=A, b_ub=b, bounds=(None, None), options=tight)
    return (float(found.fun), np.asarray(found.x)) if found.status == 0 else None
