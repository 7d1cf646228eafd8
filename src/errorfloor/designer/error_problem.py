"""The problem P1, validated once, and the longest chord of C⁻¹W: what Tr I⁻¹ can approach, and at which price."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, as_jacobian, positive, scaled_rank
from errorfloor.designer.problem import Problem
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Noise
from errorfloor.support import Ball, Ellipsoid, Polygon, Polytope, Support


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
