"""Exact draws from the square of a computed function, by rejection under bounds of it on parts of its support.

A part is proposed with a chance proportional to volume × bound (Walker's alias table), a point uniform in it is kept
with the chance u²/bound. What is kept has the density u²/∫u², whatever the bounds are, as long as they are bounds:

- on cells between breaks, |u| ≤ max over corners |u| + Σᵢ hᵢ²Mᵢ/8 where |∂ᵢᵢu| ≤ Mᵢ on a cell with sides hᵢ, for the
  multilinear interpolant is off by no more. The Mᵢ come from values on a Chebyshev grid: a polynomial of degree n is
  nowhere larger than its largest value at the M > n zeros of T_M divided by cos(πn/2M) (Ehlich and Zeller);
- on parts of simplices, the largest Bernstein coefficient;
- on boxes in the ball, |u(c)| + Σ|∂ᵢu(c)|hᵢ + ½H|h|² around c, H a bound of the second derivatives in the whole ball: a
  trigonometric polynomial of degree n is at most its greatest value on M equidistant points divided by cos(nπ/M) (M.
  Riesz), and in the angles of ``on_angles`` a polynomial is one in every variable.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.ball_polynomials import combination, on_angles, projected, second_places
from errorfloor.noise.base import rejection
from errorfloor.noise.simplices import evaluate, gradients, halves, mass_matrix, outer_facets, volumes
from errorfloor.noise.spectral_axis import Axis, along
from errorfloor.random import Bits
from errorfloor.random.bits import Words

CELLS = {1: 2048, 2: 320, 3: 48, 4: 20}  # steps of a staircase along each axis
GOOD = 0.7  # the share of proposals that is to be kept
MOST_PARTS = 200_000
SAFE = 1 + 1e-9  # bounds are raised by this, far beyond their rounding
MARGIN = 2.0**-42  # of the coordinates' size: closer to the edge than this nothing is drawn
SLICE = 1 << 15
GOOD_IN_BALL = 0.6  # the share of proposals that is to be kept
MOST_BOXES = 60_000
EDGE = 1 - 2.0**-40  # beyond this radius nothing is drawn, so that rounding leads no draw over the edge


@dataclass(frozen=True, eq=False)
class Alias:
    """Walker and Vose's table: index k with a probability proportional to ``weights``, in constant time.

    >>> Alias.of(np.array([1.0, 3.0])).threshold
    array([0.5, 1. ])
    """

    threshold: Array
    other: Array

    @classmethod
    def coarsely(cls, weights: Array) -> tuple["Alias", Array]:
        """Build the table of weights of few bits, rounded up, and give these too.

        Another machine's last bit then changes neither the table nor a draw.
        """
        mantissa, power = np.frexp(weights)
        rounded = np.ldexp(np.ceil(mantissa * 2**24) / 2**24, power)
        return cls.of(rounded), np.asarray(rounded)

    @classmethod
    def of(cls, weights: Array) -> "Alias":
        """Build the table."""
        count = weights.size
        share = weights * (count / weights.sum())
        threshold, other = np.ones(count), np.arange(count)
        below, above = list(np.flatnonzero(share < 1)), list(np.flatnonzero(share >= 1))
        while below and above:
            small, large = below.pop(), above[-1]
            threshold[small], other[small] = share[small], large
            share[large] -= 1 - share[small]
            if share[large] < 1:
                below.append(above.pop())
        return cls(threshold, other)

    def draw(self, bits: Bits, count: int) -> Array:
        """Draw ``count`` indices with two words each."""
        first = scaled(bits.words(count), self.threshold.size)
        return np.where(bits.uniform(count) <= self.threshold[first], first, self.other[first])


def scaled(words: Words, count: int) -> Array:
    """⌊word·count/2⁶⁴⌋ without a wider type, for count < 2³².

    >>> scaled(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), 10).tolist()
    [0, 5, 9]
    """
    factor, half = np.uint64(count), np.uint64(32)
    low = (words & np.uint64(2**32 - 1)) * factor
    high = (words >> half) * factor
    return ((high + (low >> half)) >> half).astype(np.intp)


@dataclass(frozen=True, eq=False)
class Staircase:
    """Cells along the axes with numbers above and below |u| on each; a cell is drawn in proportion to above²·volume."""

    alias: Alias
    edges: tuple[Array, ...]
    above: Array
    below: Array

    @classmethod
    def over(cls, axes: tuple[Axis, ...], c: Array) -> "Staircase":
        """Build the staircase of the function with coefficients c on the axes."""
        edges, slack, volume, corners = [], np.zeros(()), np.ones(()), c
        for i, axis in enumerate(axes):
            each = -(-CELLS.get(len(axes), 8) // axis.pieces)
            steps = [np.linspace(a, b, each + 1) for a, b in itertools.pairwise(axis.breaks)]
            edge = np.concatenate([steps[0], *(step[1:] for step in steps[1:])])
            corners = along(axis.values(edge), corners, i)
            curvature = np.repeat(_curvature(axes, c, i), each)
            slack = np.add.outer(slack, np.diff(edge) ** 2 / 8 * curvature)
            volume = np.multiply.outer(volume, np.diff(edge))
            edges.append(edge)
        most = least = corners
        for i in range(len(axes)):
            most = np.maximum(np.delete(most, -1, axis=i), np.delete(most, 0, axis=i))
            least = np.minimum(np.delete(least, -1, axis=i), np.delete(least, 0, axis=i))
        slack = slack * (1 + 1e-9) + 1e-13 * np.abs(corners).max()  # rounding in the corners
        above = np.maximum(most, -least) + slack
        below = np.maximum(np.maximum(least, -most) - slack, 0.0)
        return cls(Alias.of((above**2 * volume).ravel()), tuple(edges), above, below)

    def draw(self, bits: Bits, count: int) -> tuple[Array, Array, Array]:
        """Draw points, uniform in cells drawn in proportion, with the numbers above and below |u| there."""
        cell = np.unravel_index(self.alias.draw(bits, count), self.above.shape)
        w = np.empty((count, len(self.edges)))
        for i, (edge, place) in enumerate(zip(self.edges, cell, strict=True)):
            left, right = edge[place], edge[place + 1]
            w[:, i] = np.clip(left + bits.uniform(count) * (right - left), left, right)
        return w, self.above[cell], self.below[cell]


def _curvature(axes: tuple[Axis, ...], c: Array, i: int) -> Array:
    """A proved bound on |∂ᵢᵢu| over each piece of axis i, whatever the other coordinates."""
    factor = 2 if len(axes) < 3 else 3
    excess = 1.0
    for j, axis in enumerate(axes):
        nodes, more = chebyshev_grid(axis.degree, factor)
        rows = []
        for e in range(axis.pieces):
            coefficients = axis.embedding[e]
            if j == i:
                width = axis.breaks[e + 1] - axis.breaks[e]
                coefficients = (2 / width) ** 2 * (axis.differentiation @ (axis.differentiation @ coefficients))
            rows.append(axis.local(nodes, e) @ coefficients)
        c = along(np.concatenate(rows), c, j)
        excess *= more
    largest = np.abs(np.moveaxis(c, i, 0)).reshape(c.shape[i], -1).max(axis=1)
    return np.asarray(largest.reshape(axes[i].pieces, -1).max(axis=1) * excess)


def chebyshev_grid(degree: int, factor: int) -> tuple[Array, float]:
    """Zeros of T_M for M = factor·degree, and by how much a polynomial of that degree may exceed its values there.

    >>> nodes, excess = chebyshev_grid(5, 3)
    >>> len(nodes), round(excess, 4)
    (15, 1.1547)
    """
    count = factor * degree
    nodes = np.cos(math.pi * (2 * np.arange(count) + 1) / (2 * count))
    return nodes, 1 / math.cos(math.pi / (2 * factor))


@dataclass(frozen=True)
class Sampler:
    """Parts of cells with their bounds, an alias table over them, and the cells' polynomials."""

    degree: int
    corners: Array  # (cell, corner, coordinate)
    coefficients: Array  # (cell, exponent)
    cell: Array  # of each part
    part: Array  # barycentric corners of each part in its cell
    upper: Array  # bound of u² on each part
    lower: Array  # below this u² certainly lies above
    alias: Alias
    keep_off: Array  # least barycentric coordinates, so that rounding leads no draw over the edge

    @classmethod
    def of(cls, vertices: Array, cells: Array, degree: int, coefficients: Array) -> "Sampler":
        """Cut cells until enough proposals are kept, and set up the table."""
        corners = vertices[cells]
        cell, part, values = _subdivided(corners, degree, coefficients)
        volume = volumes(np.einsum("pij,pjk->pik", part, corners[cell]))
        weight = volume * np.abs(values).max(axis=1) ** 2 * SAFE
        live = weight > 0
        cell, part, values, volume = (a[live] for a in (cell, part, values, volume))
        alias, weight = Alias.coarsely(weight[live])
        lower = np.where((values > 0).all(axis=1) | (values < 0).all(axis=1), np.abs(values).min(axis=1), 0.0) ** 2
        keep_off = np.zeros(cells.shape)
        which, opposite = outer_facets(cells)
        reach = MARGIN * float(np.abs(vertices).max())
        keep_off[which, opposite] = reach * np.linalg.norm(gradients(corners)[which, opposite], axis=1)
        return cls(degree, corners, coefficients, cell, part, weight / volume, lower / SAFE, alias, keep_off)

    def draw(self, count: int, bits: Bits) -> Array:
        """Give ``count`` points."""
        return rejection(count, bits, self._propose)

    def _propose(self, batch: int, lanes: Bits) -> tuple[Array, Array]:
        m = self.corners.shape[2]
        chosen = self.alias.draw(lanes, batch)
        ends = np.stack([np.zeros(batch), *(lanes.uniform(batch) for _ in range(m)), np.ones(batch)])
        inner = np.diff(np.sort(ends, axis=0), axis=0)
        height = lanes.uniform(batch) * self.upper[chosen]
        points = np.empty((batch, m))
        kept = np.empty(batch, dtype=bool)
        for start in range(0, batch, SLICE):
            rows = slice(start, start + SLICE)
            points[rows], kept[rows] = self._judge(chosen[rows], inner[:, rows], height[rows])
        return points, kept

    def _judge(self, chosen: Array, inner: Array, height: Array) -> tuple[Array, Array]:
        cell = self.cell[chosen]
        part, corners = self.part[chosen], self.corners[cell]
        size = len(inner)
        barycentric = sum((inner[k][:, None] * part[:, k] for k in range(size)), np.zeros((len(cell), size)))
        points = sum((barycentric[:, k, None] * corners[:, k] for k in range(size)), np.zeros((len(cell), size - 1)))
        kept = height <= self.lower[chosen]
        open_ = np.flatnonzero(~kept)
        value = evaluate(size - 1, self.degree, self.coefficients[cell[open_]], barycentric[open_])
        kept[open_] = height[open_] < value**2
        return points, kept & (barycentric >= self.keep_off[cell]).all(axis=1)


def _subdivided(corners: Array, degree: int, coefficients: Array) -> tuple[Array, Array, Array]:
    """Halve the parts that waste most proposals, along their longest edge."""
    m = corners.shape[2]
    mass = mass_matrix(m, degree)
    cell = np.arange(len(corners))
    part = np.broadcast_to(np.eye(m + 1), (len(corners), m + 1, m + 1)).copy()
    values = coefficients
    while True:
        volume = volumes(np.einsum("pij,pjk->pik", part, corners[cell]))
        inside = volume * np.einsum("pi,ij,pj->p", values, mass, values)
        waste = volume * np.abs(values).max(axis=1) ** 2 - inside
        if inside.sum() >= GOOD * (inside + waste).sum() or len(cell) > MOST_PARTS:
            return cell, part, values
        split = waste > 0.2 * waste.max()
        done = [(cell[~split], part[~split], values[~split])]
        done += halved_parts(corners, degree, cell[split], part[split], values[split])
        cell, part, values = (np.concatenate(pieces) for pieces in zip(*done, strict=True))


def halved_parts(
    corners: Array, degree: int, cell: Array, part: Array, values: Array
) -> list[tuple[Array, Array, Array]]:
    """Cut parts at the middle of their longest edge, in groups of one edge: cell, barycentric corners, coefficients."""
    m = corners.shape[2]
    first, second = np.triu_indices(m + 1, 1)
    where = np.einsum("pij,pjk->pik", part, corners[cell])
    longest = np.linalg.norm(where[:, first] - where[:, second], axis=2).round(12).argmax(axis=1)
    out = []
    for edge, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
        rows = np.flatnonzero(longest == edge)
        for matrix, replaced in zip(halves(m, degree, i, j), (j, i), strict=True):
            child = part[rows].copy()
            child[:, replaced] = (part[rows, i] + part[rows, j]) / 2
            out.append((cell[rows], child, values[rows] @ matrix.T))
    return out


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
            if mass >= GOOD_IN_BALL * share.sum() or len(center) > MOST_BOXES:
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
