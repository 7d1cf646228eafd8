"""Data-dependent noise on a grid: an energy of maps into a sphere, its minimum, and a proof that it is the minimum.

Data s and answers y share one lattice of step h; the noise w = y − s lives on the interior nodes of [0, 1], so that a
step in s moves a row of v = √p(y|s) by one node. With q the weight between neighbouring values of s,

    J = Σ_i (4q_{i+½}/h) ‖v_{i+1} − v_i‖²,   ‖v_i‖ = 1, v ≥ 0.

Only the products ⟨v_i, v_{i+1}⟩ matter, and each row's best answer to its neighbours is their sum
q_{i−½}v_{i−1} + q_{i+½}v_{i+1}, restricted to the nodes that the row may use, and normalised.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError

STEP = 1 / 20
TOLERANCE = 1e-10
RELAXATION = 1.95  # a row goes past its best answer; J still falls as long as this is below 2
MOST_SWEEPS = 200_000


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

    def optimum(self) -> Array:
        """The rows of least J, by sweeps over even and odd rows in turn, from the raised cosine.

        Raises ConvergenceError if J still falls after very many sweeps.
        """
        rows, last = self.raised_cosine(), math.inf
        for _ in range(MOST_SWEEPS):
            for parity in (0, 1):
                best = _unit(self._pull(rows)[parity::2])
                rows[parity::2] = _unit(np.maximum(RELAXATION * best + (1 - RELAXATION) * rows[parity::2], 0))
            energy = self.energy(rows)
            if last - energy <= TOLERANCE * energy or energy < TOLERANCE:
                return rows
            last = energy
        raise ConvergenceError(f"J still falls after {MOST_SWEEPS} sweeps, at {last:.9g}")

    def lower_bound(self, rows: Array) -> float:
        """A number that no policy's J on this grid is below, from the multipliers of some rows near the optimum.

        For any λ with diag(λ) − A positive semi-definite, A the weights between neighbours, Σ2q_i⟨v_i, v_{i+1}⟩,
        which is ⟨v, Av⟩, is at most Σλ_i on unit rows. At the optimum λ_i is the length of the neighbours' pull;
        elsewhere that choice is enlarged until the matrix, which falls apart into one tridiagonal block for each y, is
        semi-definite.
        """
        lengths = np.linalg.norm(self._pull(rows), axis=1)
        links = self.weights / np.sqrt(lengths[:-1] * lengths[1:])
        count, reach = rows.shape
        padded = np.concatenate([np.zeros(reach), links, np.zeros(reach)])
        blocks = np.zeros((count + reach - 2, reach, reach))
        for k in range(reach - 1):
            blocks[:, k, k + 1] = blocks[:, k + 1, k] = padded[1 + k : count + reach - 1 + k]
        scale = max(1.0, float(np.linalg.eigvalsh(blocks)[:, -1].max()))
        return float(8 * self.weights.sum() / STEP - 4 * scale * lengths.sum() / STEP)

    def _pull(self, rows: Array) -> Array:
        """What each row's neighbours draw it towards, on the nodes that the row may use."""
        pull = np.zeros_like(rows)
        pull[:-1, 1:] += self.weights[:, None] * rows[1:, :-1]
        pull[1:, :-1] += self.weights[:, None] * rows[:-1, 1:]
        return pull


def _overlaps(rows: Array) -> Array:
    """⟨v_i, v_{i+1}⟩ at equal y."""
    return np.asarray((rows[:-1, 1:] * rows[1:, :-1]).sum(axis=1))


def _unit(rows: Any) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))
