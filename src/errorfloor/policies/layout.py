"""Where the unknowns of a chain problem sit: links of allowed neighbours, nodes without any, rows of multipliers."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.chain import Chain


@dataclass(frozen=True)
class Layout:
    """A chain problem taken apart for the solver.

    Multipliers are stacked: one for the sum of each node's law, then those of every ``Rows``, then one for each step
    where the worst step counts.
    """

    chain: Chain

    @cached_property
    def linked(self) -> Array:
        """Which pairs of neighbours may both be used, (n − 1, M)."""
        return np.asarray(self.chain.allowed[:-1] & self.chain.allowed[1:])

    @cached_property
    def lone(self) -> Array:
        """Allowed nodes with no allowed neighbour in their column."""
        alone = self.chain.allowed.copy()
        alone[:-1] &= ~self.linked
        alone[1:] &= ~self.linked
        return alone

    @cached_property
    def coefficients(self) -> list[Array]:
        """What each kind of multiplier adds to the cost of a probability, zero where nothing is allowed."""
        ones = self.chain.allowed.astype(float)
        return [ones, *(ones * rows.coefficients for rows in self.chain.rows)]

    @property
    def shared(self) -> list[bool]:
        """Which kinds of multipliers are a single one for all nodes."""
        return [False, *(rows.shared for rows in self.chain.rows)]

    @cached_property
    def bordering(self) -> Array:
        """Marks the multipliers that are shared, among all."""
        marks = np.zeros(self.parts[-1].stop, dtype=bool)
        for shared, part in zip(self.shared, self.parts[:-1], strict=True):
            marks[part] = shared
        return marks

    @cached_property
    def bounds(self) -> Array:
        """The right sides of all rows; steps have theirs in the worst step."""
        nodes = len(self.chain.allowed)
        parts = [np.ones(nodes), *(np.atleast_1d(rows.bounds) for rows in self.chain.rows)]
        return np.concatenate([*parts, np.zeros(self.edges)])

    @property
    def edges(self) -> int:
        """How many steps have a multiplier of their own."""
        return len(self.chain.couplings) if self.chain.worst else 0

    @cached_property
    def parts(self) -> list[slice]:
        """Where each kind of multiplier stands, the steps last."""
        sizes = [len(self.chain.allowed), *(rows.multipliers for rows in self.chain.rows), self.edges]
        ends = np.cumsum([0, *sizes])
        return [slice(int(a), int(b)) for a, b in pairwise(ends)]

    @property
    def least_value(self) -> float:
        """An objective that is as good as nothing beside what the couplings could cost."""
        c = self.chain.couplings
        return 1e-9 * float(c.max() if self.chain.worst else c.sum())

    @cached_property
    def bounded(self) -> Array:
        """Which multipliers belong to inequalities."""
        flags = [np.zeros(len(self.chain.allowed), dtype=bool)]
        flags += [np.full(rows.multipliers, not rows.equal) for rows in self.chain.rows]
        return np.concatenate([*flags, np.ones(self.edges, dtype=bool)])

    @cached_property
    def costs(self) -> tuple[Array, Array]:
        """The linear objective: cost of p (n, M) and of a link (n − 1, 1)."""
        allowed, c = self.chain.allowed, self.chain.couplings
        cost = np.zeros(allowed.shape) if self.chain.cost is None else self.chain.cost.copy()
        if self.chain.worst:
            return np.where(allowed, cost, 0.0), np.zeros((len(c), 1))
        cost[:-1] += c[:, None]
        cost[1:] += c[:, None]
        return np.where(allowed, cost, 0.0), -2 * c[:, None]

    def left_sides(self, p: Array, r: Array) -> Array:
        """Every row's sum at (p, r)."""
        sums = [np.einsum("ij,ij->i", a, p) for a in self.coefficients]
        for k, rows in enumerate(self.chain.rows, start=1):
            if rows.shared:
                sums[k] = sums[k].sum(keepdims=True)
        if self.chain.worst:
            totals = sums[0]
            sums.append(self.chain.couplings * (totals[:-1] + totals[1:] - 2 * r.sum(axis=1)))
        return np.concatenate(sums)

    def adjoint(self, multipliers: Array) -> tuple[Array, Array]:
        """What multipliers add to the costs of p (n, M) and of links (n − 1, 1)."""
        on_p = np.zeros(self.chain.allowed.shape)
        for a, part in zip(self.coefficients, self.parts[:-1], strict=True):
            on_p += a * multipliers[part][:, None]
        if not self.chain.worst:
            return on_p, np.zeros((len(self.chain.couplings), 1))
        w = (self.chain.couplings * multipliers[self.parts[-1]])[:, None]
        on_p[:-1] += self.coefficients[0][:-1] * w
        on_p[1:] += self.coefficients[0][1:] * w
        return on_p, -2 * w
