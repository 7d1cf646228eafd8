"""The plan: which noise hides a trajectory's initial state, and what nobody can learn behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array, points, whole
from errorfloor.dynamics import words
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.start import Start
from errorfloor.errors import InputError
from errorfloor.floors import Floor
from errorfloor.noise import Certificate, Gaussian, Noise
from errorfloor.noise.lattice import Lattice

if TYPE_CHECKING:
    from errorfloor.dynamics.system import LinearSystem

MOST_GRADED = 1e10  # how differently directions may grow before roundings of z are a millionth of the carried noise


@dataclass(frozen=True, eq=False)
class Plan:
    """One draw z for a whole trajectory: answer k is C_k x[k] + w[k] with w[k] = C_k Φ_k z (plus a public offset).

    Guarantee: the answers tell about the initial state what x₀ + z tells, and no more, as long as the trajectory obeys
    the system. Draw again for the next trajectory, and never twice for one: two draws double what is told, and one
    draw for two trips lets a known position in one reveal the other.

    >>> from errorfloor.dynamics import LinearSystem
    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3, states=("position", "speed"))
    >>> plan = vehicle.protect(max_loss=12.0, protect="position")
    >>> plan.covariance.round(6)
    array([[3., 0.],
           [0., 0.]])
    >>> plan.draw(rng=1).shape
    (4, 1)
    >>> plan.floor.per_entry
    array([1.73205081, 0.        ])
    """

    system: "LinearSystem"
    start: Start
    knowledge: Knowledge
    certificate: Certificate
    weight_roots: Array | None
    offset: Array | None
    lattice: Lattice | None
    released_exactly: Array

    @property
    def noise(self) -> Noise:
        """The noise of the few numbers that z is made of."""
        return self.start.noise

    @property
    def covariance(self) -> Array:
        """Σ, the covariance of z, n×n; zero along directions that are not protected or never at risk."""
        return self.start.covariance

    @property
    def information(self) -> Array:
        """The information of all answers about the initial state, n×n; infinite for a state that is released."""
        return self.floor.information

    @cached_property
    def floor(self) -> Floor:
        """What nobody can learn about the initial state, entry by entry."""
        return self.knowledge.floor()

    def floor_for(self, function: Any, *, ranges: Any = None, side_information: Any = None) -> Floor:
        """State the floor under linear functions H x₀ of the initial state, the rest of it being unknown.

        ``side_information`` is the n×n Fisher information about x₀ that the adversary has from elsewhere.

        >>> from errorfloor.dynamics import LinearSystem
        >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3)
        >>> plan = vehicle.protect(loss_weight=1.0)
        >>> float((plan.floor_for([[1.0, 2.0]]).worst_entry ** 2).round(6))  # the position after two steps
        1.221711
        """
        return self.knowledge.floor_for(function, ranges=ranges, side_information=side_information)

    def floor_at(self, k: int, *, ranges: Any = None, side_information: Any = None) -> Floor:
        """State the floor under the state x[k] at a step; ``side_information`` is about the initial state.

        At step 0 it is ``floor`` with ranges and side information.
        """
        if whole("step", k, least=0) == 0:
            return self.knowledge.floor(ranges=ranges, side_information=side_information)
        return self.floor_for(self.system.transition(k), ranges=ranges, side_information=side_information)

    @cached_property
    def expected_loss(self) -> float:
        """Q = E Σ_k |w[k]|², weighted where weights were given; the offset counts."""
        if isinstance(self.noise, Gaussian) and self.certificate.loss is not None:
            return self.certificate.loss  # the trace of a root, which keeps digits that the product below may lose
        roots = np.eye(self.system.outputs)[None] if self.weight_roots is None else self.weight_roots
        judged = self.system if self.weight_roots is None else self.system.weighted(roots)
        spread = float(np.linalg.norm(judged.gramian_root @ self.covariance_root) ** 2)
        if self.offset is None and not self.start.mean.any():
            return spread
        return spread + float(((roots @ self.path(self.start.mean)[..., None]) ** 2).sum())

    @cached_property
    def covariance_root(self) -> Array:
        """B with Σ = BBᵀ, one column for each number that z is made of."""
        inner = self.noise.covariance
        values, axes = np.linalg.eigh(inner)
        return np.asarray(self.start.embedding @ (axes * np.sqrt(np.clip(values, 0, None))))

    @property
    def never_at_risk(self) -> Array:
        """An orthonormal basis of the directions of the initial state that no answer depends on."""
        return self.system.never_at_risk

    def draw(self, rng: Any = None) -> Array:
        """Draw the noise of one trajectory: w[0 … T], of shape (T + 1, m).

        With ``rng`` None the bits are secure; a seed is for tests and studies only.
        """
        return np.asarray(self.draws(1, rng)[0])

    def draws(self, count: int, rng: Any = None) -> Array:
        """Draw the noise of several trajectories, of shape (count, T + 1, m)."""
        self.check_carriable()
        return self.path(self.start.draw(count, rng))

    def check_carriable(self) -> None:
        """Refuse a start whose rounding, carried along, would be seen beside the noise itself."""
        values = np.linalg.svd(self.start.embedding, compute_uv=False)
        if values[-1] * MOST_GRADED < values[0]:
            raise InputError(
                f"some directions of the state grow {values[0] / values[-1]:.1g} times as much as others within the "
                f"horizon: a draw on the initial state cannot be carried along in double precision; shorten the horizon"
            )

    def path(self, z: Any) -> Array:
        """Give w[0 … T] for a start z, or for many along the last axis."""
        path = self.system.carry(z)
        return path if self.offset is None else path + self.offset

    def answers(self, state: Any, rng: Any = None) -> Array:
        """Give the released trajectory from an initial state: C_k x[k] + w[k], on the lattice if the plan has one.

        >>> from errorfloor.dynamics import LinearSystem
        >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3)
        >>> vehicle.protect(max_loss=1.0, step="0.5").answers([10.0, 1.0], rng=2)[:, 0] % 0.5
        array([0., 0., 0., 0.])
        """
        x = points("state", state, self.system.dimension) if self.system.dimension > 1 else np.atleast_1d(state)
        if x.shape != (self.system.dimension,):
            raise InputError(f"state must have {self.system.dimension} entries, got shape {x.shape}")
        released = self.system.carry(x) + self.draw(rng)
        return released if self.lattice is None else self.lattice.round(released)

    def explain(self, *, unit: str | Mapping[str, str] = "") -> str:
        """Say what is promised, and under which model; ``unit`` is that of the state, or one for each of several.

        >>> from errorfloor.dynamics import LinearSystem
        >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3, states=("position", "speed"))
        >>> plan = vehicle.protect(max_loss=12.0)
        >>> plan.explain(unit={"position": "m", "speed": "m/s"}).partition("at least ")[2].partition(";")[0]
        'position 1.19 m, speed 0.805 m/s'
        """
        return words.explain(self, unit=unit)

    def plot(self, **options: Any) -> Any:
        """Draw a few noisy trajectories of the plan (needs the extra ``plots``)."""
        from errorfloor import plots

        return plots.trajectories(self, **options)
