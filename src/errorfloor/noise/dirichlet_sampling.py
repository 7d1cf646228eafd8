"""Exact draws from the square of a piecewise polynomial on few cells, as a mixture of Dirichlet laws.

With u = Σa_αB_α on a cell and U = Σ|a_α|B_α ≥ |u|, U² = Σ|a_α||a_β|B_αB_β is a mixture: B_αB_β is proportional to the
Dirichlet density with the parameters α + β + 1, whole numbers, which spacings of sorted uniform numbers follow. A draw
from U² is kept with the chance u²/U²; where no coefficient is negative it always is.
"""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.base import rejection
from errorfloor.noise.piecewise_bernstein import evaluate, exponents, mass_matrix
from errorfloor.noise.piecewise_cells import gradients, outer_facets, volumes
from errorfloor.noise.piecewise_sampling import MARGIN, alias_table, halved_parts
from errorfloor.random import Bits

GOOD = 0.6  # the share of proposals that is to be kept
MOST = 2_000_000  # coefficients of all parts
SLICE = 1 << 11


@dataclass(frozen=True)
class MixtureSampler:
    """An alias table over parts of cells and first exponents, and what is needed to go on from there."""

    degree: int
    corners: Array  # (cell, corner, coordinate)
    cell: Array  # of each part
    part: Array  # barycentric corners of each part in its cell
    coefficients: Array  # (part, exponent)
    threshold: Array
    alias: Array
    keep_off: Array  # least barycentric coordinates, so that rounding leads no draw over the edge

    @classmethod
    def of(cls, vertices: Array, cells: Array, degree: int, coefficients: Array) -> "MixtureSampler":
        """Cut cells until enough proposals are kept, and set up the table."""
        corners = vertices[cells]
        m = corners.shape[2]
        cell, part, values = np.arange(len(cells)), np.repeat(np.eye(m + 1)[None], len(cells), axis=0), coefficients
        mass = mass_matrix(m, degree)
        while True:
            size = np.abs(values)
            volume = volumes(np.einsum("pij,pjk->pik", part, corners[cell]))
            weight = volume[:, None] * size * (size @ mass)
            inside = volume * (values * (values @ mass)).sum(axis=1)
            if inside.sum() >= GOOD * weight.sum() or values.size > MOST:
                break
            waste = weight.sum(axis=1) - inside
            split = waste > 0.1 * waste.max()
            done = [(cell[~split], part[~split], values[~split])]
            done += halved_parts(corners, degree, cell[split], part[split], values[split])
            cell, part, values = (np.concatenate(pieces) for pieces in zip(*done, strict=True))
        threshold, alias = alias_table(weight.reshape(-1))
        keep_off = np.zeros(cells.shape)
        which, opposite = outer_facets(cells)
        reach = MARGIN * float(np.abs(vertices).max())
        keep_off[which, opposite] = reach * np.linalg.norm(gradients(corners)[which, opposite], axis=1)
        return cls(degree, corners, cell, part, values, threshold, alias, keep_off)

    def draw(self, count: int, bits: Bits) -> Array:
        """Give ``count`` points."""
        return rejection(count, bits, self._propose)

    def _propose(self, batch: int, lanes: Bits) -> tuple[Array, Array]:
        m = self.corners.shape[2]
        place = lanes.uniform(batch) * len(self.threshold)
        chosen = np.minimum(place.astype(np.intp), len(self.threshold) - 1)
        chosen = np.where(lanes.uniform(batch) <= self.threshold[chosen], chosen, self.alias[chosen])
        part, first = np.divmod(chosen, self.coefficients.shape[1])
        level, height = lanes.uniform(batch), lanes.uniform(batch)
        places = np.stack([lanes.uniform(batch) for _ in range(2 * self.degree + m)], axis=1)
        points, kept = np.empty((batch, m)), np.empty(batch, dtype=bool)
        for start in range(0, batch, SLICE):
            rows = slice(start, start + SLICE)
            points[rows], kept[rows] = self._judge(part[rows], first[rows], level[rows], height[rows], places[rows])
        return points, kept

    def _judge(self, part: Array, first: Array, level: Array, height: Array, places: Array) -> tuple[Array, Array]:
        m, count, own = self.corners.shape[2], len(part), self.coefficients[part]
        rising = np.cumsum(mass_matrix(m, self.degree)[first] * np.abs(own), axis=1)
        second = np.minimum((rising < (level * rising[:, -1])[:, None]).sum(axis=1), rising.shape[1] - 1)
        lattice = np.array(exponents(m, self.degree))
        ends = np.sort(np.column_stack([np.zeros(count), places, np.ones(count)]), axis=1)
        stops = np.cumsum(lattice[first] + lattice[second] + 1, axis=1)
        inner = np.diff(np.take_along_axis(ends, stops, axis=1), axis=1, prepend=0.0)
        barycentric = np.einsum("pi,pij->pj", inner, self.part[part])
        points = np.einsum("pi,pik->pk", barycentric, self.corners[self.cell[part]])
        kept = np.ones(count, dtype=bool)
        unclear = np.flatnonzero((own < 0).any(axis=1) & (own > 0).any(axis=1))
        if unclear.size:
            value = evaluate(m, self.degree, own[unclear], inner[unclear])
            above = evaluate(m, self.degree, np.abs(own[unclear]), inner[unclear])
            kept[unclear] = height[unclear] * above**2 < value**2
        return points, kept & (barycentric >= self.keep_off[self.cell[part]]).all(axis=1)
