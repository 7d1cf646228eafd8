"""Non-linear systems: answer with the trajectory that starts at x₀ + z."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, numbers, symmetric, whole
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.optimum import best_gaussian
from errorfloor.dynamics.start import Start
from errorfloor.errors import IllPosedError, InputError
from errorfloor.floors import Floor
from errorfloor.noise import Gaussian

DIFFERENCE = 1e-5  # of the weight's spread: the step of central differences
LEAST_SPREAD = 1e-6


@dataclass(frozen=True, eq=False)
class NonlinearSystem:
    """The system x[k+1] = step(x[k]) with the outputs output(x[k]), k = 0 … T, T the ``horizon``.

    Both functions take states along the last axis of an array, many at once, and give arrays of the same leading shape.

    >>> pendulum = NonlinearSystem(
    ...     lambda x: np.stack([x[..., 0] + 0.1 * x[..., 1], x[..., 1] - 0.1 * np.sin(x[..., 0])], axis=-1),
    ...     lambda x: x[..., :1],
    ...     50,
    ... )
    >>> weight = np.random.default_rng(1).normal([1.0, 0.0], 0.1, size=(20, 2))
    >>> plan = pendulum.protect(weight=weight, max_loss=0.5)
    >>> plan.answers([1.0, 0.0], rng=1).shape
    (51, 1)
    """

    step: Callable[[Array], Array]
    output: Callable[[Array], Array]
    horizon: int

    def __post_init__(self) -> None:
        if not callable(self.step) or not callable(self.output):
            raise InputError("step and output must be functions of a state")
        object.__setattr__(self, "horizon", whole("horizon", self.horizon))

    def carry(self, state: Any) -> Array:
        """Give the outputs of trajectories, of shape (…, T + 1, m)."""
        now = numbers("state", state)
        if now.ndim == 0:
            raise InputError("a state must be a list of numbers")
        path = []
        with np.errstate(all="ignore"):
            for k in range(self.horizon + 1):
                path.append(self._checked("output", self.output(now), now.shape[:-1]))
                if k < self.horizon:
                    now = self._checked("step", self.step(now), now.shape)
        return np.stack(path, axis=-2)

    def protect(
        self, *, weight: Any, loss_weight: float | None = None, max_loss: float | None = None, protect: Any = None
    ) -> "NonlinearPlan":
        """Plan a Gaussian z on the initial state, best for the system linearised and averaged over a stated weight.

        Minimises Tr(M Σ⁻¹) + ϱ Tr(ḠΣ), Ḡ the mean of Ψ(x)ᵀΨ(x) over the states in ``weight``, Ψ the Jacobian of all
        outputs; ``max_loss`` bounds Tr(ḠΣ) instead.

        Guarantee: whatever the system is, the answers tell about x₀ no more than x₀ + z does: I ⪯ Σ⁻¹. The quality is
        that of the linearisation; measure the true one with ``measured_loss``.

        Parameters
        ----------
        loss_weight, max_loss
            ϱ or ϑ, one of them.
        weight
            States that initial states are expected around, of shape (N, n): draws from a public distribution, never
            the private states themselves.
        protect
            The n×n matrix M, positive definite; the identity by default.
        """
        states = numbers("weight", weight)
        if states.ndim != 2 or not states.size or not np.isfinite(states).all():
            raise InputError("weight must be finite states, one a row")
        n = states.shape[1]
        M = np.eye(n) if protect is None else symmetric("protect", protect, n)
        if np.linalg.eigvalsh(M)[0] <= 1e-12 * np.trace(M):
            raise InputError("protect must be positive definite here: noise on every state keeps the bound I ⪯ Σ⁻¹")
        root = np.asarray(np.linalg.qr(self._jacobians(states).reshape(-1, n) / math.sqrt(len(states)), mode="r"))
        if len(root) < n or np.linalg.svd(root, compute_uv=False)[-1] <= 1e-9 * np.linalg.norm(root):
            raise IllPosedError(
                "under this weight the answers hardly depend on some direction of the state: noise without bound would "
                "be optimal along it; observe it, or state the system without it"
            )
        best = best_gaussian(root, M, loss_weight=loss_weight, max_loss=max_loss)
        start = Start(Gaussian(np.eye(n)), best.factor, best.inverse)
        return NonlinearPlan(self, start, best.loss)

    def _jacobians(self, states: Array) -> Array:
        """∂(all outputs)/∂x at each state by central differences: shape (N, (T + 1)m, n)."""
        spread = np.maximum(states.std(axis=0), LEAST_SPREAD * np.maximum(np.abs(states).max(axis=0), 1.0))
        columns = []
        for axis, size in zip(np.eye(states.shape[1]), DIFFERENCE * spread, strict=True):
            up, down = self.carry(states + size * axis), self.carry(states - size * axis)
            columns.append(((up - down) / (2 * size)).reshape(len(states), -1))
        return np.stack(columns, axis=-1)

    def _checked(self, name: str, value: Any, shape: tuple[int, ...]) -> Array:
        found = numbers(name, value)
        if name == "output" and found.shape == shape:
            found = found[..., None]
        wanted = found.shape[:-1] == shape if name == "output" else found.shape == shape
        if not wanted:
            raise InputError(
                f"{name} must keep the leading shape of its states: given {shape}, it gave {found.shape}; "
                f"states lie along the last axis"
            )
        if not np.isfinite(found).all():
            raise InputError(f"the trajectory leaves double precision: {name} gave a number that is not finite")
        return found


@dataclass(frozen=True, eq=False)
class NonlinearPlan:
    """Gaussian noise on the initial state of a non-linear system; ``linear_loss`` is what the linearisation expects.

    >>> line = NonlinearSystem(lambda x: x, lambda x: x, 3)
    >>> plan = line.protect(weight=[[0.0], [1.0]], max_loss=4.0)
    >>> plan.covariance.round(6), float(plan.floor.worst_entry.round(6))
    (array([[1.]]), 1.0)
    """

    system: NonlinearSystem
    start: Start
    linear_loss: float

    @property
    def covariance(self) -> Array:
        """Σ."""
        return self.start.covariance

    @cached_property
    def floor(self) -> Floor:
        """What nobody can learn about the initial state; it holds whatever the system is."""
        n = len(self.start.embedding)
        return Knowledge(self.start.weights, np.eye(n), np.zeros((n, 0))).floor()

    @property
    def information(self) -> Array:
        """Σ⁻¹, which the information of the answers never exceeds."""
        return self.floor.information

    def answers(self, state: Any, rng: Any = None) -> Array:
        """Give the trajectory that is released: that of x₀ + z."""
        x = np.atleast_1d(numbers("state", state))
        if x.shape != (len(self.start.embedding),):
            raise InputError(f"state must have {len(self.start.embedding)} entries, got shape {x.shape}")
        return self.system.carry(x + self.start.draw(1, rng)[0])

    def measured_loss(self, states: Any, *, draws: int = 1000, rng: Any = None) -> tuple[float, float]:
        """Simulate E Σ_k |answer[k] − truth[k]|² over states and draws: the mean, and its standard error.

        >>> line = NonlinearSystem(lambda x: x, lambda x: x, 3)
        >>> mean, error = line.protect(weight=[[0.0], [1.0]], max_loss=4.0).measured_loss([[0.5]], rng=1)
        >>> abs(mean - 4.0) < 5 * error
        True
        """
        x = numbers("states", states)
        if x.ndim != 2 or x.shape[1] != len(self.start.embedding):
            raise InputError(f"states must have shape (N, {len(self.start.embedding)}), got {x.shape}")
        count = whole("draws", draws, least=2)
        z = self.start.draw(count * len(x), rng).reshape(count, len(x), -1)
        lost = ((self.system.carry(x + z) - self.system.carry(x)) ** 2).sum(axis=(-1, -2)).reshape(-1)
        return float(lost.mean()), float(lost.std(ddof=1) / math.sqrt(lost.size))
