"""Independent noise on every answer besides the carried draw: what holds when the model does not."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, broadcast, positive
from errorfloor.dynamics.gramian import graded_svd
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.plan import Plan
from errorfloor.errors import InputError
from errorfloor.floors import Floor
from errorfloor.noise import Gaussian
from errorfloor.random import bits_from


@dataclass(frozen=True, eq=False)
class Robust:
    """A plan with Gaussian noise of standard deviation σ_k added to every number of answer k, independently.

    The floors of a plan hold for trajectories that obey the system, whatever inputs drive them, as long as the inputs
    do not depend on the protected start. Roads do: the shape of a released path is the true one, and can be matched
    with a map. ``any_path`` needs no model, and pays for it: it falls with the number of answers.

    >>> from errorfloor.dynamics import LinearSystem
    >>> plan = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 99).protect(max_loss=100.0)
    >>> robust = Robust(plan, 20.0)
    >>> round(float(robust.any_path().worst_entry), 9)
    2.0
    """

    plan: Plan
    deviations: Array

    def __post_init__(self) -> None:
        given = broadcast("deviations", self.deviations, self.plan.system.horizon + 1)
        for value in given:
            positive("a standard deviation", float(value))
        if self.plan.offset is not None or not isinstance(self.plan.noise, Gaussian):
            raise InputError("noise of the steps has no bound: add it to a plan without one")
        object.__setattr__(self, "deviations", given)

    @cached_property
    def floor(self) -> Floor:
        """What nobody can learn about the initial state of a trajectory that obeys the system.

        The information is (Σ + (Σ_k Φ_kᵀ C_kᵀ C_k Φ_k/σ_k²)⁻¹)⁻¹ on what is observed.
        """
        system = self.plan.system
        seen = system.observable
        scaled = system.weighted(np.eye(system.outputs) / self.deviations[:, None, None])
        values, axes = graded_svd(scaled.gramian_root @ seen)
        spread = (axes / values**2) @ axes.T + seen.T @ self.plan.covariance @ seen
        root = np.linalg.inv(np.linalg.cholesky((spread + spread.T) / 2)) @ seen.T
        return Knowledge(root, seen, system.never_at_risk).floor()

    def any_path(self, stretch: float = 1.0) -> Floor:
        """State the floor under a number h of which each answer depends on in any way, by at most ``stretch``·|h − h′|.

        Its information is at most stretch²·Σ_k 1/σ_k². With ``stretch`` 1 the number may be the distance between two
        homes on one road: no two paths from them are farther apart at any step.
        """
        information = positive("stretch", stretch) ** 2 * float((1 / self.deviations**2).sum())
        return Floor(root=np.array([[math.sqrt(information)]]), exposed=np.zeros(1, dtype=bool), known=np.zeros((0, 1)))

    @property
    def expected_loss(self) -> float:
        """E Σ_k |w[k]|² with the noise of the steps."""
        return self.plan.expected_loss + self.plan.system.outputs * float((self.deviations**2).sum())

    def draw(self, rng: Any = None) -> Array:
        """Draw w[0 … T], of shape (T + 1, m)."""
        bits = bits_from(rng)
        carried = self.plan.draw(bits)
        added: Array = self.deviations[:, None] * bits.normal(carried.size).reshape(carried.shape)
        return carried + added
