"""Exact draws from the square of a polynomial in the unit ball, by rejection under Taylor bounds on boxes.

On a box around c the function is at most |u(c)| + Σ|∂ᵢu(c)|hᵢ + ½H|h|², H a bound of the second derivatives in the
whole ball. That bound is proved: a trigonometric polynomial of degree n is at most its greatest value on M equidistant
points divided by cos(nπ/M) (M. Riesz), and in the angles of ``on_angles`` a polynomial is one in every variable.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.alias import Alias
from errorfloor.noise.ball_polynomials import combination, on_angles, projected, second_places
from errorfloor.noise.base import rejection
from errorfloor.noise.piecewise_sampling import SAFE
from errorfloor.random import Bits

GOOD = 0.6  # the share of proposals that is to be kept
MOST_BOXES = 60_000
EDGE = 1 - 2.0**-40  # beyond this radius nothing is drawn, so that rounding leads no draw over the edge
SLICE = 1 << 15


def curvature_bound(coefficients: Array, dimension: int, degree: int) -> float:
    """A bound of the operator norm of u's second derivatives, in the whole unit ball."""
    n = max(degree, 1)  # of a second derivative of (1 − |y|²)·polynomial
    angles = math.pi * np.arange(4 * n + 1) / (4 * n)
    excess = math.cos(math.pi / 8) ** -dimension
    total = 0.0
    first = 1 + dimension
    for series, (i, j) in zip(
        projected(coefficients, dimension, degree)[first:], second_places(dimension), strict=True
    ):
        greatest = float(np.abs(on_angles(series, angles, dimension, degree)).max())
        total += (1 + (i != j)) * (greatest * excess) ** 2
    return math.sqrt(total)


@dataclass(frozen=True)
class BallSampler:
    """Boxes that cover the unit ball, bounds of u² on them, and an alias table over them."""

    degree: int
    coefficients: Array
    center: Array
    half: Array
    upper: Array
    alias: Alias

    @classmethod
    def of(cls, coefficients: Array, dimension: int, degree: int, mass: float) -> "BallSampler":
        """Halve boxes until enough proposals are kept."""
        curvature = curvature_bound(coefficients, dimension, degree)
        center, half = np.zeros((1, dimension)), np.ones((1, dimension))
        bound = _bounds(coefficients, degree, center, half, curvature)
        while True:
            share = bound * np.prod(2 * half, axis=1)
            if mass >= GOOD * share.sum() or len(center) > MOST_BOXES:
                break
            split = share > 0.1 * share.max()
            corners = np.array(list(itertools.product((-0.5, 0.5), repeat=dimension)))
            smaller = np.repeat(half[split] / 2, len(corners), axis=0)
            moved = (center[split][:, None] + corners * half[split][:, None]).reshape(-1, dimension)
            nearest = np.linalg.norm(np.maximum(np.abs(moved) - smaller, 0), axis=1)
            moved, smaller = moved[nearest < 1], smaller[nearest < 1]
            fresh = _bounds(coefficients, degree, moved, smaller, curvature)
            center, half = np.concatenate([center[~split], moved]), np.concatenate([half[~split], smaller])
            bound = np.concatenate([bound[~split], fresh])
        alias, weight = Alias.coarsely(bound * np.prod(2 * half, axis=1) * SAFE)
        upper = weight / np.prod(2 * half, axis=1)
        return cls(degree, coefficients, center, half, upper, alias)

    def draw(self, count: int, bits: Bits) -> Array:
        """Give ``count`` points of the unit ball."""
        return rejection(count, bits, self._propose)

    def _propose(self, batch: int, lanes: Bits) -> tuple[Array, Array]:
        m = self.center.shape[1]
        chosen = self.alias.draw(lanes, batch)
        offset = np.stack([2 * lanes.uniform(batch) - 1 for _ in range(m)], axis=1)
        points = self.center[chosen] + self.half[chosen] * offset
        height = lanes.uniform(batch) * self.upper[chosen]
        inside = (points * points).sum(axis=1) < EDGE**2
        kept = np.zeros(batch, dtype=bool)
        where = np.flatnonzero(inside)
        for start in range(0, len(where), SLICE):
            rows = where[start : start + SLICE]
            value = combination(self.coefficients, np.ascontiguousarray(points[rows].T), self.degree)[0]
            kept[rows] = height[rows] < value**2
        return points, kept


def _bounds(coefficients: Array, degree: int, center: Array, half: Array, curvature: float) -> Array:
    """A bound of u² on each box, within the ball."""
    length = np.linalg.norm(center, axis=1)
    outside = length > 1
    base = np.where(outside[:, None], center / np.maximum(length, 1)[:, None], center)
    jets = [
        combination(coefficients, np.ascontiguousarray(base[k : k + SLICE].T), degree, 1)
        for k in range(0, len(base), SLICE)
    ]
    jet = np.concatenate(jets, axis=1)
    reach = np.linalg.norm(half, axis=1) + np.where(outside, length - 1, 0)
    slope = np.where(outside, np.linalg.norm(jet[1:], axis=0) * reach, (np.abs(jet[1:]) * half.T).sum(axis=0))
    return np.asarray((np.abs(jet[0]) + slope + curvature * reach**2 / 2) ** 2)
