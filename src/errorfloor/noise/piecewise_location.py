"""Which cell of a simplicial mesh holds a point: a tree of bounding boxes, descended for all points at once."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.piecewise_cells import gradients

INSIDE = 1e-12  # how far below zero a barycentric coordinate may fall by rounding


@dataclass(frozen=True)
class Locator:
    """A binary tree over cells; node k has the children 2k+1 and 2k+2, leaves hold one cell each or none."""

    corners: Array
    slopes: Array  # gradients of the barycentric coordinates
    low: Array
    high: Array
    leaf: Array  # the cell at a node, or −1

    @classmethod
    def of(cls, corners: Array) -> "Locator":
        """Split the cells at the median of their centres, along the longer side each time."""
        depth = int(np.ceil(np.log2(max(len(corners), 1))))
        count = 2 ** (depth + 1) - 1
        m = corners.shape[2]
        low, high = np.full((count, m), np.inf), np.full((count, m), -np.inf)
        leaf = np.full(count, -1, dtype=np.intp)
        centers = corners.mean(axis=1)
        stack = [(0, np.arange(len(corners)))]
        while stack:
            node, members = stack.pop()
            if not len(members):
                continue
            low[node], high[node] = corners[members].min(axis=(0, 1)), corners[members].max(axis=(0, 1))
            if len(members) == 1:
                leaf[node] = members[0]
                continue
            axis = int(np.ptp(centers[members], axis=0).argmax())
            order = members[np.argsort(centers[members, axis], kind="stable")]
            half = (len(order) + 1) // 2
            stack += [(2 * node + 1, order[:half]), (2 * node + 2, order[half:])]
        slack = INSIDE * np.ptp(corners.reshape(-1, m), axis=0).max()
        return cls(corners, gradients(corners), low - slack, high + slack, leaf)

    def find(self, points: Array) -> tuple[Array, Array]:
        """Give for each point a cell that holds it, or −1, and its barycentric coordinates there."""
        count, size = len(points), self.corners.shape[1]
        found = np.full(count, -1, dtype=np.intp)
        barycentric = np.full((count, size), np.nan)
        who, node = np.arange(count), np.zeros(count, dtype=np.intp)
        while who.size:
            inside = ((points[who] >= self.low[node]) & (points[who] <= self.high[node])).all(axis=1)
            who, node = who[inside], node[inside]
            at_leaf = self.leaf[node] >= 0
            self._try(points, who[at_leaf], self.leaf[node[at_leaf]], found, barycentric)
            going = ~at_leaf & (found[who] < 0)
            who, node = who[going], node[going]
            who, node = np.concatenate([who, who]), np.concatenate([2 * node + 1, 2 * node + 2])
        return found, barycentric

    def _try(self, points: Array, who: Array, cell: Array, found: Array, barycentric: Array) -> None:
        offset = points[who] - self.corners[cell, 0]
        later = np.einsum("pk,pik->pi", offset, self.slopes[cell, 1:])
        coordinates = np.concatenate([1 - later.sum(axis=1, keepdims=True), later], axis=1)
        inside = (coordinates >= -INSIDE).all(axis=1)
        found[who[inside]] = cell[inside]
        barycentric[who[inside]] = coordinates[inside]
