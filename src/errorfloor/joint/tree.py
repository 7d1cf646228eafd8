"""Totals and their parts, to any depth: noise drawn from the top down, every family of siblings accepted by itself."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array
from errorfloor.joint.taper import AT_ONCE, ROUNDING, accepted_share
from errorfloor.joint.tree_exposure import Alike, exposures
from errorfloor.random import Bits
from errorfloor.values import Value


@dataclass(frozen=True, eq=False)
class TreeNoise(Value):
    """Noise on the leaves of a tree, bounded at every node: the noise of a node is the sum of its parts' noise.

    ``parents`` come before their parts; a top has −1. A top is normal with the variance q. Given the noise w of their
    parent, siblings are independent normal numbers of ``variances`` q_k given that their sum is w. Either are drawn
    again until they are accepted with Π c_k². ``leaves`` gives the node of every cell.

    Guarantee: no node's noise leaves ± its bound, and the information of a shift of the cells is at most GᵀG.
    """

    parents: Array
    bounds: Array
    starts: Array
    variances: Array
    leaves: Array

    def __post_init__(self) -> None:
        self._arrays(np.int64, "parents", "leaves")
        self._arrays(float, "bounds", "starts", "variances")

    @property
    def cells(self) -> int:
        """The number n of cells."""
        return int(self.leaves.size)

    @cached_property
    def families(self) -> list[tuple[Array, Array]]:
        """Parents (−1 for tops) with their parts, a row each, level by level and by the number of parts."""
        return families_of(self.parents)

    @cached_property
    def shares(self) -> Array:
        """Give a_k = q_k/Σq, the part of its parent's noise that a node is expected to take; 0 for tops."""
        found = np.zeros(len(self.parents))
        for above, parts in self.families:
            if above[0] >= 0:
                q = self.variances[parts]
                found[parts] = q / ordered_sum(q)[:, None]
        return found

    @cached_property
    def _exposure(self) -> tuple[Array, float]:
        numbers = np.stack([self.variances, self.bounds, self.starts], axis=1)
        small = Alike.of(self.parents, numbers)
        own = np.zeros((len(small.parents), 3))
        own[small.kind] = numbers
        costs, accepted = exposures(small, *own.T)
        return costs[small.kind], accepted

    @property
    def accepted(self) -> float:
        """The share of attempts that are accepted, in the family where it is smallest."""
        return self._exposure[1]

    @cached_property
    def cell_information(self) -> Array:
        """The certified information about a move of each cell by 1."""
        with np.errstate(divide="ignore"):
            own = (1 - self.shares) / self.variances + self._exposure[0]
        for _, parts in self.families:
            top = self.parents[parts[0, 0]] < 0
            own[parts] += 0 if top else own[self.parents[parts]]
        return np.asarray(own[self.leaves] * (1 + ROUNDING))

    def information_root(self, moves: Any) -> Array:
        """Give G·moves, with GᵀG the certified bound on the information."""
        given = sparse.csr_matrix(moves)
        nodes = len(self.parents)
        sums = (
            sparse.csr_matrix((np.ones(self.cells), (self.leaves, np.arange(self.cells))), (nodes, self.cells)) @ given
        )
        for _, parts in reversed(self.families):
            flat = parts.ravel()
            flat = flat[self.parents[flat] >= 0]
            up = sparse.csr_matrix((np.ones(flat.size), (self.parents[flat], flat)), (nodes, nodes))
            sums = sums + up @ sums
        apart = sums - sparse.diags(self.shares) @ sums[np.maximum(self.parents, 0)]
        normal, taper = (
            sparse.diags(1 / np.sqrt(self.variances)) @ apart,
            sparse.diags(np.sqrt(self._exposure[0])) @ sums,
        )
        return np.asarray(sparse.vstack([normal, taper]).todense()) * (1 + ROUNDING)

    def sample(self, count: int, bits: Bits) -> Array:
        """Draw ``count`` vectors of noise on the cells."""
        batch = max(1, AT_ONCE // len(self.parents))
        return np.concatenate(
            [
                np.zeros((0, self.cells)),
                *(self._sample(min(batch, count - at), bits) for at in range(0, count, batch)),
            ]
        )

    def _sample(self, count: int, bits: Bits) -> Array:
        nodes = np.zeros((count, len(self.parents)))
        for above, parts in self.families:
            q, bounds, starts = self.variances[parts], self.bounds[parts], self.starts[parts]
            given = np.zeros((count, len(parts))) if above[0] < 0 else nodes[:, above]
            drawn, left = np.zeros((count * len(parts), parts.shape[1])), np.arange(count * len(parts))
            while left.size:
                family = left % len(parts)
                w = bits.normals(parts.shape[1], left.size).T * np.sqrt(q[family])
                if above[0] >= 0:
                    missing = given.ravel()[left] - ordered_sum(w)
                    w = w + self.shares[parts][family] * missing[:, None]
                good = bits.uniform(left.size) < accepted_share(w / bounds[family], starts[family])
                drawn[left[good]] = w[good]
                left = left[~good]
            nodes[:, parts.ravel()] = drawn.reshape(count, -1)
        return nodes[:, self.leaves]


def families_of(parents: Array) -> list[tuple[Array, Array]]:
    """Group nodes by level and by the number of their siblings: parents, and a row of parts for each.

    >>> [(above.tolist(), parts.tolist()) for above, parts in families_of(np.array([-1, 0, 0, 1, 1]))]
    [([-1], [[0]]), ([0], [[1, 2]]), ([1], [[3, 4]])]
    """
    depth = depths_of(parents)
    size = np.bincount(parents[parents >= 0], minlength=len(parents))
    found = []
    for level in range(int(depth.max(initial=-1)) + 1):
        here = np.flatnonzero(depth == level)
        if level == 0:
            found.append((np.full(here.size, -1), here[:, None]))
            continue
        here = here[np.argsort(parents[here], kind="stable")]
        number = size[parents[here]]
        for siblings in np.unique(number):
            parts = here[number == siblings].reshape(-1, siblings)
            found.append((parents[parts[:, 0]], parts))
    return found


def depths_of(parents: Array) -> Array:
    """Give the number of nodes above each."""
    found, above = np.zeros(len(parents), dtype=np.int64), parents
    while (above >= 0).any():
        found += above >= 0
        above = np.where(above >= 0, parents[above], -1)
    return found


def ordered_sum(values: Array) -> Array:
    """Sum along the last axis one by one, in order."""
    return np.asarray(np.add.accumulate(values, axis=-1)[..., -1])
