"""Design problems, validated once, and what every numerical solver gives back for them.

Of P1 beside them: the longest chord of C⁻¹W, what Tr I⁻¹ can approach, and at which price.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from errorfloor.checks import Array, as_jacobian, positive, rank_of, scaled_rank, symmetric
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Certificate, Loss, Noise
from errorfloor.support import Ball, Ellipsoid, Polygon, Polytope, Support

NOT_ASKED = "no lower bound was asked for"
Progress = Callable[[str, float], None]
"""Told what is being done and how much of it is done, from 0 to 1; it may be called any number of times."""


@dataclass(frozen=True)
class Problem:
    """Minimise Tr(K I_w) + ϱ E ℓ(w), or Tr(K I_w) subject to E ℓ(w) ≤ ϑ, over noises on a support.

    ``sensitivity`` is K = E[F Fᵀ], F the query's Jacobian; ``loss_weight`` is ϱ and ``max_loss`` is ϑ; without either
    ``loss`` is None.
    """

    support: Support
    sensitivity: Array
    loss: Loss | None = None
    loss_weight: float | None = None
    max_loss: float | None = None

    @classmethod
    def parse(
        cls, support: Any, jacobian: Any, sensitivity: Any, loss: Any, loss_weight: Any, max_loss: Any
    ) -> "Problem":
        """Check every argument of ``design`` and put the problem together."""
        if not isinstance(support, Support):
            raise InputError(f"support must be a support such as Interval(-0.5, 0.5), got {type(support).__name__}")
        if loss_weight is not None and max_loss is not None:
            raise IllPosedError(
                f"both loss_weight {loss_weight} and max_loss {max_loss} are given: the weight decides the loss, "
                f"so give one of them"
            )
        weight = None if loss_weight is None else positive("loss_weight", loss_weight)
        bound = None if max_loss is None else positive("max_loss", max_loss)
        if weight is None and bound is None:
            if loss is not None:
                raise InputError("loss has no effect alone: set max_loss or loss_weight with it")
            parsed = None
        else:
            parsed = Loss.parse("squared" if loss is None else loss, support.dimension)
        return cls(support, query_sensitivity(jacobian, sensitivity, support.dimension), parsed, weight, bound)

    def to_dict(self) -> dict[str, Any]:
        """Give what decides the solution as plain JSON types: it is found on disk by them."""
        loss: Any = None
        if self.loss is not None:
            loss = "absolute" if self.loss.weight is None else self.loss.weight.tolist()
        return {
            "support": self.support.to_dict(),
            "sensitivity": self.sensitivity.tolist(),
            "loss": loss,
            "loss_weight": self.loss_weight,
            "max_loss": self.max_loss,
        }

    def value_of(self, noise: Noise) -> float:
        """The objective of a noise: Tr(K I_w), plus ϱ E ℓ(w) where a weight is given."""
        J = float(np.trace(self.sensitivity @ noise.information))
        return J if self.loss_weight is None else J + self.loss_weight * noise.expected_loss(self.loss)

    def certified(
        self, noise: Noise, lower_bound: float | None, method: str, reference: str, loss_weight: float
    ) -> Noise:
        """Give a noise with what is known of it; ``loss_weight`` is the ϱ for which it is best."""
        known = Certificate(self.value_of(noise), lower_bound, method, reference)
        if self.loss is not None:
            known = replace(known, loss=noise.expected_loss(self.loss), loss_weight=loss_weight)
        return replace(noise, certificate=known)


def query_sensitivity(jacobian: Any, sensitivity: Any, dimension: int) -> Array:
    """Give K from a Jacobian C (K = CCᵀ), from K itself, or the identity; refuse answers that depend on each other.

    >>> query_sensitivity([[1.0, 2.0]], None, 1)
    array([[5.]])
    """
    if jacobian is not None and sensitivity is not None:
        raise InputError("jacobian and sensitivity both state the query: give one of them")
    if sensitivity is not None:
        K = symmetric("sensitivity", sensitivity, dimension)
        rank = rank_of(K)
    elif jacobian is not None:
        C = as_jacobian(jacobian, dimension)
        K, rank = C @ C.T, scaled_rank(C) if C.any() else 0
    else:
        K, rank = np.eye(dimension), dimension
    if rank == 0:
        raise IllPosedError("the query does not depend on the data (K = 0): there is nothing to protect, add no noise")
    if rank < dimension:
        raise IllPosedError(
            f"the answers depend on each other (K has rank {rank} of {dimension}), so that no noise with a density is "
            f"best: ask for {rank} independent answer{'s' if rank > 1 else ''} and compute the others from "
            f"{'them' if rank > 1 else 'it'}, or bound all of them together with design_joint"
        )
    return K


@dataclass(frozen=True)
class GroundState:
    """An approximate minimiser of J + ϱQ on a support, J = Tr(K I_w) and Q = E ℓ(w).

    Guarantee: ``value`` is J + ϱQ of the very density that ``noise`` samples, so it is an upper bound of the least
    possible value Λ; ``lower_bound`` is proved to be at most Λ, or None where no proof is at hand.

    ``loss`` is Q where the solver knows it, to rounding; else the noise has to be asked.
    ``method`` names the discretisation, ``proof`` how the lower bound is known, or why there is none, ``reference`` the
    theorem behind it.
    ``memory`` is whatever the solver wants to see again when it is started from here at a nearby weight.

    >>> from errorfloor.noise import RaisedCosine
    >>> GroundState(RaisedCosine(0, 1), value=39.5, lower_bound=39.4).gap
    0.0025...
    """

    noise: Noise
    value: float
    lower_bound: float | None = None
    method: str = ""
    proof: str = ""
    reference: str = ""
    memory: Any = field(default=None, compare=False, repr=False)
    loss: float | None = None

    @property
    def gap(self) -> float | None:
        """The relative difference between value and lower bound, or None without a proved lower bound."""
        return None if self.lower_bound is None else (self.value - self.lower_bound) / self.value


@dataclass(frozen=True, eq=False)
class ErrorProblem:
    """A P1 problem, checked: a square regular Jacobian C, and a cap."""

    support: Support
    C: Array
    information_cap: float | None
    condition_cap: float | None
    supremum: float

    @property
    def problem(self) -> Problem:
        """The P2 problem beside it."""
        return Problem(self.support, self.C @ self.C.T)

    def value_of(self, noise: Noise) -> float:
        """Tr I⁻¹ of a noise."""
        return float(np.trace(np.linalg.inv(self.C.T @ noise.information @ self.C)))

    def to_dict(self) -> dict[str, Any]:
        """Give what decides the solution as plain JSON types."""
        return {"objective": "error", "jacobian": self.C.tolist(), **self.caps, **self.problem.to_dict()}

    @property
    def caps(self) -> dict[str, float | None]:
        """The caps, by name."""
        return {"information_cap": self.information_cap, "condition_cap": self.condition_cap}

    def excess(self, information: Array) -> Array:
        """How far each cap is exceeded, relatively; negative where there is room."""
        if self.information_cap is not None:
            return np.asarray(np.diag(information) / self.information_cap - 1)
        values = np.linalg.eigvalsh(information)
        assert self.condition_cap is not None, "one of the caps is given"
        return np.array([values[-1] / values[0] / self.condition_cap - 1])

    def slopes(self, information: Array) -> list[Array]:
        """The derivatives of the excesses with respect to the information."""
        if self.information_cap is not None:
            return [np.outer(e, e) / self.information_cap for e in np.eye(len(information))]
        values, vectors = np.linalg.eigh(information)
        first, last = vectors[:, 0], vectors[:, -1]
        assert self.condition_cap is not None, "one of the caps is given"
        ratio = np.outer(last, last) / values[0] - values[-1] / values[0] ** 2 * np.outer(first, first)
        return [ratio / self.condition_cap]


def error_problem(
    support: Any,
    jacobian: Any,
    sensitivity: Any,
    loss_weight: Any,
    max_loss: Any,
    *,
    information_cap: Any,
    condition_cap: Any,
) -> ErrorProblem:
    """Check a P1 problem; without a cap it is refused, with the supremum that no density attains."""
    if not isinstance(support, Support):
        raise InputError(f"support must be a support such as Box([0, 0], [1, 1]), got {type(support).__name__}")
    if sensitivity is not None or loss_weight is not None or max_loss is not None:
        raise InputError(
            "objective='error' takes a jacobian and a cap; sensitivity, loss_weight, max_loss do not apply"
        )
    m = support.dimension
    C = np.eye(m) if jacobian is None else as_jacobian(jacobian, m)
    if C.shape != (m, m) or scaled_rank(C) < m:
        raise IllPosedError(
            f"objective='error' needs as many independent answers as entries, got a {C.shape[0]}×{C.shape[1]} jacobian "
            f"of rank {scaled_rank(C)}: with fewer answers Tr I⁻¹ is infinite, with more ask for {min(C.shape)} of them"
        )
    if not support.is_bounded:
        raise IllPosedError("objective='error' needs a bounded support: on an unbounded one Tr I⁻¹ has no bound")
    supremum = chord_supremum(support, C)
    if information_cap is None and condition_cap is None:
        raise IllPosedError(
            f"objective='error' (maximise Tr I⁻¹) is ill-posed without a cap: noise along the longest chord of C⁻¹W "
            f"approaches diam(C⁻¹W)²/4π² = {supremum:.4g} while it reveals the other directions exactly; set "
            f"information_cap (the most that any I_ii may be) or condition_cap",
            supremum=supremum,
        )
    if information_cap is not None and condition_cap is not None:
        raise InputError("give information_cap or condition_cap, not both")
    if condition_cap is not None and positive("condition_cap", condition_cap) < 1:
        raise InputError(f"condition_cap must be at least 1, got {condition_cap}")
    checked = None if information_cap is None else positive("information_cap", information_cap)
    return ErrorProblem(support, C, checked, None if condition_cap is None else float(condition_cap), supremum)


def chord_supremum(support: Support, C: Array) -> float:
    """diam(C⁻¹W)²/4π².

    >>> from errorfloor.support import Box
    >>> round(chord_supremum(Box([0, 0], [1, 1]), np.eye(2)), 7)
    0.0506606
    """
    return float(np.linalg.norm(_longest(support, C)) ** 2) / (4 * math.pi**2)


def longest_direction(support: Support, C: Array) -> Array:
    """The unit vector along the longest chord of C⁻¹W.

    >>> from errorfloor.support import Box
    >>> np.abs(longest_direction(Box([0, 0], [4, 3]), np.eye(2)))
    array([0.8, 0.6])
    """
    chord = _longest(support, C)
    return np.asarray(chord / np.linalg.norm(chord))


def _longest(support: Support, C: Array) -> Array:
    if not support.is_bounded:
        raise InputError("the diameter of an unbounded support is infinite")
    inverse = np.linalg.inv(C)
    if isinstance(support, (Ball, Ellipsoid)):
        values, vectors = np.linalg.eigh(inverse @ support.shape @ inverse.T)
        return np.asarray(2 * math.sqrt(float(values[-1])) * vectors[:, -1])
    points = _corners(support) @ inverse.T
    between = points[:, None, :] - points[None, :, :]
    length = np.linalg.norm(between, axis=-1)
    return np.asarray(between[np.unravel_index(int(np.argmax(length)), length.shape)])


def _corners(support: Support) -> Array:
    """Give the corners of a bounded interval, box, polygon or polytope."""
    if isinstance(support, Polygon):
        return support.vertices
    if isinstance(support, Polytope) and support.dimension > 1:
        return np.asarray(support.facets.center + support.facets.size * support.facets.corners)
    return np.array(list(itertools.product(*zip(*support.bounding_box, strict=True))))
