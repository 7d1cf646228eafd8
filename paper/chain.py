"""Data-dependent noise on the grid of the check figures: a chain of laws, each on its own stretch of answers.

Data s and answers y share one lattice of step h; the noise w = y − s lives on the interior nodes of [0, 1], so that a
step in s moves a row of v = √p(y|s) by one node. With q the weight between neighbouring values of s,

    J = Σ_i (4q_{i+½}/h) ‖v_{i+1} − v_i‖²,   ‖v_i‖ = 1, v ≥ 0,

the chain problem that ``policies`` solves.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.policies.chain import Chain as Problem
from errorfloor.policies.chain import ChainSolution
from errorfloor.policies.conic import solve

STEP = 1 / 20


@dataclass(frozen=True)
class Chain:
    """A weight exp(``log_weight``) on [``low``, ``high``], normalised, for the query f(x) = x and W = [0, 1].

    ``between`` chooses the weight of a step: "root" for √(p_i p_{i+1}), "middle" for p at the mid-point.

    >>> uniform = Chain(0.0, 3.0, np.zeros_like)
    >>> round(uniform.energy(uniform.raised_cosine()), 2)
    39.4
    """

    low: float
    high: float
    log_weight: Callable[[Array], Array]
    between: str = "middle"

    @cached_property
    def values(self) -> Array:
        """The values of s."""
        return self.low + STEP * np.arange(round((self.high - self.low) / STEP) + 1)

    @cached_property
    def noise(self) -> Array:
        """The nodes of w, ends left out."""
        return STEP * np.arange(1, round(1 / STEP))

    @cached_property
    def weights(self) -> Array:
        """The weight q of every step."""
        from scipy.integrate import quad

        mass = quad(
            lambda s: math.exp(float(self.log_weight(np.array(s)))), self.low, self.high, epsabs=0, epsrel=1e-12
        )[0]
        if self.between == "root":
            at_nodes = self.log_weight(self.values)
            return np.asarray(np.exp((at_nodes[:-1] + at_nodes[1:]) / 2) / mass)
        return np.asarray(np.exp(self.log_weight((self.values[:-1] + self.values[1:]) / 2)) / mass)

    def raised_cosine(self) -> Array:
        """The rows of the best oblivious noise."""
        return self.tilted(np.zeros_like(self.values))

    def tilted(self, slopes: Array) -> Array:
        """The rows of γ(w|s) ∝ exp(slope(s)·w) sin²(πw)."""
        return _unit(np.sin(math.pi * self.noise) * np.exp(slopes[:, None] * self.noise / 2))

    def energy(self, rows: Array) -> float:
        """J of a policy."""
        return float((8 * self.weights / STEP * (1 - _overlaps(rows))).sum())

    def information(self, rows: Array) -> Array:
        """The information 4(angle/h)² between neighbouring values of s, for rows joined by great circles."""
        return np.asarray(4 * (np.arccos(np.clip(_overlaps(rows), -1, 1)) / STEP) ** 2)

    @cached_property
    def _solution(self) -> ChainSolution:
        count, reach = self.values.size, self.noise.size
        place = np.arange(count + reach - 1) - np.arange(count)[:, None]
        return solve(Problem(4 * self.weights / STEP, (place >= 0) & (place < reach)))

    def optimum(self) -> Array:
        """The rows of least J."""
        laws = self._solution.laws
        return np.asarray(np.sqrt(np.stack([law[i : i + self.noise.size] for i, law in enumerate(laws)])))

    def lower_bound(self) -> float:
        """A number that no policy's J on this grid is below, proved by the multipliers of the optimum."""
        return self._solution.lower_bound


def _overlaps(rows: Array) -> Array:
    """⟨v_i, v_{i+1}⟩ at equal y."""
    return np.asarray((rows[:-1, 1:] * rows[1:, :-1]).sum(axis=1))


def _unit(rows: Any) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
