"""The plan: which noise hides a trajectory's initial state, and what nobody can learn behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array, points
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.state_space import Start, StateSpace
from errorfloor.errors import InputError
from errorfloor.floors import Floor
from errorfloor.floors.words import rounded_down
from errorfloor.noise import Certificate, Gaussian, Noise
from errorfloor.noise.lattice import Lattice

REVEALED = 1e-6  # of a floor: what is left is rounding
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

    system: StateSpace
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

    def explain(self, *, unit: str | Mapping[str, str] = "", carried_alone: bool = True) -> str:
        """Say what is promised, and under which model; ``unit`` is that of the state, or one for each of several.

        Not ``carried_alone`` if answers have noise of their own besides the carried one.

        >>> from errorfloor.dynamics import LinearSystem
        >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 3, states=("position", "speed"))
        >>> plan = vehicle.protect(max_loss=12.0)
        >>> plan.explain(unit={"position": "m", "speed": "m/s"}).partition("at least ")[2].partition(";")[0]
        'position 1.19 m, speed 0.805 m/s'
        """
        units = _units(self, unit)
        floors = [
            _stated(self, units, i, float(value)) for i, value in enumerate(self.floor.per_entry) if 0 < value < np.inf
        ]
        sentences = [
            f"One draw protects all {self.system.horizon + 1} answers: however many of them are seen, an unbiased "
            f"estimator of the initial state, even one that knows its other entries, has a root-mean-square error of "
            f"at least {', '.join(floors)}; biased ones are not bound by these numbers."
            if floors
            else "No entry of the initial state has a floor of its own."
        ]
        if self.released_exactly.shape[1]:
            sentences.append(f"Released exactly, for it is not protected: {_directions(self, self.released_exactly)}.")
        if self.never_at_risk.shape[1]:
            sentences.append(f"Never at risk, for no answer depends on it: {_directions(self, self.never_at_risk)}.")
        sentences.append(
            "This holds for trajectories that obey the system. Inputs that drive it do no harm unless they depend on "
            "the initial state, as roads do: somebody with a map can match the path's shape."
        )
        if floors and carried_alone:
            sentences.append(_one_known_answer(self, units))
        return " ".join(sentences)


def _one_known_answer(plan: Plan, units: list[str]) -> str:
    """Say what is left to somebody who learns one answer after the first without its noise, at the worst step."""
    spread = plan.knowledge.spread
    answers = np.moveaxis(plan.system.carry(spread.T), 0, -1)[1:]
    before = np.linalg.norm(spread, axis=1)
    left = plan.knowledge.left_by(answers)
    worst, last = left.min(axis=0), left[-1]
    hidden = [i for i, value in enumerate(before) if value > 0]
    kept = [i for i in hidden if worst[i] > REVEALED * before[i]]
    if not kept:
        return f"One known {_word(plan)} reveals the noise of the whole trip."
    stated = [
        f"{_stated(plan, units, i, float(worst[i]))} ({rounded_down(float(last[i]))} if it is the last; without it "
        f"{rounded_down(float(before[i]))})"
        for i in kept
    ]
    lost = [plan.system.state_name(i) for i in hidden if i not in kept]
    gone = f"; {', '.join(lost)} may be revealed" if lost else ""
    return (
        f"One known {_word(plan)} after the first, at the step where it helps most, leaves somebody who knows no entry "
        f"of the initial state an error of at least {', '.join(stated)}{gone}."
    )


def _word(plan: Plan) -> str:
    """Call an answer by the state that it measures, if it is one."""
    rows = [row for C in plan.system.C for row in C]
    places = {int(np.flatnonzero(row)[0]) for row in rows if np.count_nonzero(row) == 1}
    single = len(places) == 1 and all(np.count_nonzero(row) == 1 for row in rows)
    return plan.system.state_name(places.pop()) if single and plan.system.states else "answer"


def _units(plan: Plan, unit: str | Mapping[str, str]) -> list[str]:
    names = [plan.system.state_name(i) for i in range(plan.system.dimension)]
    if isinstance(unit, str):
        if unit and len(names) > 1:
            example = ", ".join(f"{name!r}: …" for name in names)
            raise InputError(
                f"unit {unit!r} cannot be that of all {len(names)} states: give each its own, {{{example}}}"
            )
        return [unit] * len(names)
    for name in unit:
        if name not in names:
            raise InputError(f"{name!r} is not a state of the system; its states are {', '.join(names)}")
    return [unit.get(name, "") for name in names]


def _stated(plan: Plan, units: list[str], place: int, value: float) -> str:
    return f"{plan.system.state_name(place)} {rounded_down(value)}{' ' if units[place] else ''}{units[place]}"


def _directions(plan: Plan, basis: Array) -> str:
    axes = [i for i in range(len(basis)) if np.isclose(np.linalg.norm(basis[i]), 1)]
    if len(axes) == basis.shape[1]:
        return ", ".join(plan.system.state_name(i) for i in axes)
    shown = [
        " + ".join(f"{value:.3g}·{plan.system.state_name(i)}" for i, value in enumerate(column) if abs(value) > 1e-9)
        for column in basis.T
    ]
    return "; ".join(shown)
