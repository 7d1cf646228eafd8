"""Exact draws from the square of a piecewise polynomial, by rejection under its own Bernstein bounds.

Every cell is cut into parts; a part is proposed with a chance proportional to volume × bound (Walker's alias table), a
point uniform in it is kept with the chance u²/bound. What is kept has the density u²/∫u², whatever the bounds are, as
long as they are bounds.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.alias import Alias
from errorfloor.noise.base import rejection
from errorfloor.noise.piecewise_bernstein import evaluate, halves, mass_matrix
from errorfloor.noise.piecewise_cells import gradients, outer_facets, volumes
from errorfloor.random import Bits

GOOD = 0.7  # the share of proposals that is to be kept
MOST_PARTS = 200_000
SAFE = 1 + 1e-9  # bounds are raised by this, far beyond their rounding
MARGIN = 2.0**-42  # of the coordinates' size: closer to the edge than this nothing is drawn
SLICE = 1 << 15


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
