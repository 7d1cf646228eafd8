"""A staircase above a density: cells that are chosen by an alias table, and a proved height over each.

For a function u with |∂ᵢᵢu| ≤ Mᵢ on a cell with sides hᵢ, the multilinear interpolant through the corners is off by at
most Σᵢ hᵢ²Mᵢ/8, so |u| ≤ max over corners |u| + Σᵢ hᵢ²Mᵢ/8. The bounds Mᵢ come from values on a Chebyshev grid:
a polynomial of degree n is nowhere larger than its largest value at the M > n zeros of the Chebyshev polynomial T_M
divided by cos(πn/2M) (Ehlich and Zeller), and so along each axis in turn.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.alias import Alias
from errorfloor.noise.spectral_axis import Axis, along
from errorfloor.random import Bits

CELLS = {1: 2048, 2: 320, 3: 48, 4: 20}  # steps of a staircase along each axis


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
