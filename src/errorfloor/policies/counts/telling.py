"""The table from which one published count tells neighbouring counts apart least: a linear program."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.policies.counts.rules import CountRules
from errorfloor.policies.counts.tail import ROOM
from errorfloor.policies.counts.weights import restored

CLOSE = 1e-9  # how far the supremum may rise so that the sum is least


def least_telling(rules: CountRules, length: int) -> tuple[Array, float]:
    """Minimise sup_i TV(p_i, p_{i+1}) over rows 0 … ``length``, the last of which is moved along from there on.

    TV(p_i, p_{i+1}) = Σ_j (p_i(j) − p_{i+1}(j))⁺ is at most t if numbers u_i(j) ≥ 0 with p_i(j) − p_{i+1}(j) ≤ u_i(j)
    add up to at most t: everything is linear. Among the tables with the least t one with the least ΣTV is given.

    Guarantee: the second number bounds the supremum from below for every table within the rules whose rows from
    ``length`` on are one row moved along, whatever the solver did: it follows from the solver's multipliers, lowered by
    what they lack. See design.proof.md.

    >>> laws, bound = least_telling(CountRules(max_noise=2, variance=1.0, unbiased=True, keep_zero=True), 4)
    >>> laws[1, :4].round(6).tolist(), round(bound, 6)
    ([0.5, 0.0, 0.5, 0.0], 0.5)
    """
    program = _Program.of(rules, length)
    first = program.solve(program.supremum, 1.0)
    bound = program.proved(first)
    second = program.solve(program.added_up, min(1.0, float(first.x[-1]) + CLOSE))
    found = np.split(np.maximum(second.x[: len(program.row_of)], 0.0), program.starts[1:-1])
    laws = np.zeros((length + 1, length + rules.max_noise + 1))
    for count, p in enumerate(found):
        row = rules.row(count)
        laws[count, list(row.published)] = row.only_choice if row.settled else restored(p / p.sum(), row, rules)
    return laws, bound


@dataclass(frozen=True, eq=False)
class _Program:
    """Unknowns: probabilities row after row, the u of every pair of neighbours, and t; all are in 0 … 1."""

    starts: Array
    row_of: Array
    equal: Any
    totals: Array
    below: Any
    limits: Array

    @classmethod
    def of(cls, rules: CountRules, length: int) -> "_Program":
        from scipy.sparse import bmat, csr_matrix, eye, vstack

        rows = [rules.row(count) for count in range(length + 1)]
        starts = np.concatenate([[0], np.cumsum([len(row.published) for row in rows])]).astype(int)
        row_of = np.repeat(np.arange(length + 1), np.diff(starts))
        noise, count = np.concatenate([row.noise for row in rows]), len(row_of)
        unknown = {(i, i + k): m for m, (i, k) in enumerate(zip(row_of.tolist(), noise.tolist(), strict=True))}
        unknown |= {(length + 1, j + 1): m for (i, j), m in unknown.items() if i == length}  # the last row, moved along
        pairs = [(m, unknown[i + 1, j]) for (i, j), m in unknown.items() if (i + 1, j) in unknown]
        following = csr_matrix((np.ones(len(pairs)), tuple(zip(*pairs, strict=True))), shape=(count, count))

        def moments(power: int, which: list[bool]) -> Any:
            every = csr_matrix((noise.astype(float) ** power, (row_of, np.arange(count))), shape=(len(rows), count))
            return every[np.flatnonzero(which)]

        sums, means = moments(0, [True] * len(rows)), moments(1, [row.mean for row in rows])
        squares = moments(2, [row.limited for row in rows])
        equal = bmat([[vstack([sums, means]), csr_matrix((len(rows) + means.shape[0], count + 1))]], format="csr")
        top = csr_matrix(np.full((len(rows), 1), -1.0))
        below = bmat(
            [[squares, None, None], [eye(count) - following, -eye(count), None], [None, sums, top]], format="csr"
        )
        totals, limits = np.zeros(equal.shape[0]), np.zeros(below.shape[0])
        totals[: len(rows)], limits[: squares.shape[0]] = 1.0, rules.variance * (1 - ROOM)
        return cls(starts, row_of, equal, totals, below, limits)

    @property
    def supremum(self) -> Array:
        """The costs that ask for the least t."""
        return np.append(np.zeros(2 * len(self.row_of)), 1.0)

    @property
    def added_up(self) -> Array:
        """The costs that ask for the least sum of the u."""
        count = len(self.row_of)
        return np.concatenate([np.zeros(count), np.ones(count), [0.0]])

    def solve(self, costs: Array, most: float) -> Any:
        """Find the best unknowns with t at most ``most``."""
        from scipy.optimize import linprog

        bounds = [(0.0, 1.0)] * (len(costs) - 1) + [(0.0, most)]
        options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
        found = linprog(
            costs, self.below, self.limits, self.equal, self.totals, bounds, method="highs", options=options
        )
        if found.status != 0:
            raise ConvergenceError(
                "the table was not found: the linear program stopped early; a smaller max_noise, or a variance further "
                "from its limits, may help"
            )
        return found

    def proved(self, found: Any) -> float:
        """Give the bound of t that the multipliers prove: yᵀb, less what they lack, at most once for each unknown."""
        levels, prices = np.asarray(found.eqlin.marginals), np.minimum(found.ineqlin.marginals, 0.0)
        lacking = np.minimum(self.supremum - self.equal.T @ levels - self.below.T @ prices, 0.0)
        count = len(self.row_of)
        rows = np.zeros(len(self.starts) - 1)
        np.minimum.at(rows, self.row_of, lacking[:count])  # the probabilities of a row add up to 1
        return max(0.0, float(levels @ self.totals + prices @ self.limits + rows.sum() + lacking[count:].sum()))
