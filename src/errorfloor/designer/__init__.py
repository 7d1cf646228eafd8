"""The designer: from where noise may live, what is asked and what quality is wanted, to the best noise."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.designer.closed_forms import WITH_QUALITY, WITHOUT_QUALITY, Solution
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.problem import Problem
from errorfloor.errors import IllPosedError, InputError, NoClosedFormError
from errorfloor.noise import Certificate, Noise
from errorfloor.support import Support

__all__ = ["design", "smallest_loss"]


def design(
    support: Support,
    *,
    jacobian: Any = None,
    sensitivity: Any = None,
    loss: Any = None,
    loss_weight: float | None = None,
    max_loss: float | None = None,
    objective: str = "information",
) -> Noise:
    """Give the noise on ``support`` that reveals least about the data behind a query.

    Minimises J = Tr(K I_w), K = C Cᵀ for a linear query with Jacobian C (P2); with ``loss_weight`` ϱ it minimises
    J + ϱ E ℓ(w) (P3), with ``max_loss`` ϑ it minimises J subject to E ℓ(w) ≤ ϑ (P4).

    Guarantee: no noise that is independent of the data, lives on the support and meets the quality has a smaller J;
    ``noise.certificate`` says how that is known.

    Parameters
    ----------
    support
        Where the noise must stay.
    jacobian
        The m×n matrix of the query's derivatives; the identity without it.
    sensitivity
        Instead of ``jacobian``: the m×m matrix K = E[F Fᵀ] of a query that is not linear.
    loss
        "squared" (default), "absolute", or a positive definite matrix R for wᵀRw.
    loss_weight, max_loss
        The quality asked for; at most one of them.
    objective
        "information": as above. "error", to maximise Tr I⁻¹, has no closed form.

    Raises
    ------
    IllPosedError
        No best noise exists; the message names the hypothesis that fails.
    NoClosedFormError
        The problem is well posed but its solution is not in the catalogue.

    Examples
    --------
    >>> from errorfloor.support import HalfLine, Interval, Reals
    >>> design(Interval(-0.5, 0.5))
    RaisedCosine(low=-0.5, high=0.5)
    >>> design(HalfLine(0.0), max_loss=0.3).scale ** 2
    0.1...
    >>> design(Reals(1))
    Traceback (most recent call last):
    errorfloor.errors.IllPosedError: noise of infinite variance is optimal: set max_loss or loss_weight
    """
    problem = Problem.parse(support, jacobian, sensitivity, loss, loss_weight, max_loss)
    _check_objective(objective)
    if problem.loss is None and not support.is_bounded:
        raise IllPosedError("noise of infinite variance is optimal: set max_loss or loss_weight")
    if problem.loss is not None and problem.max_loss is not None:
        least = smallest_loss(support, problem.loss)
        if problem.max_loss <= least * (1 + 1e-9):
            raise IllPosedError(
                f"max_loss {problem.max_loss:g} cannot be met: every noise on this support loses more than {least:.6g}",
                smallest=least,
            )
    solution = _without_weight(problem) or _with_weight(problem)
    if solution is None:
        raise NoClosedFormError(
            f"no closed form is known for {problem.describe()}; known are: intervals, boxes and parallelepipeds with a "
            f"K that is diagonal in their own coordinates, balls and ellipsoids with K proportional to their shape "
            f"(all of these without a binding quality term), Rᵐ with a squared loss, the line with an absolute loss, "
            f"half-lines and orthants from 0 with a diagonal K and squared loss; anything else needs a numerical "
            f"solution, which this version does not compute"
        )
    return _certified(problem, solution)


def _without_weight(problem: Problem) -> Solution | None:
    """Solve P2, or P4 when its bound does not bind."""
    if problem.loss_weight is not None or not problem.support.is_bounded:
        return None
    solution = next((found for form in WITHOUT_QUALITY if (found := form(problem)) is not None), None)
    if solution is None or problem.max_loss is None:
        return solution
    slack = solution.noise.expected_loss(problem.loss) <= problem.max_loss
    return replace(solution, form=f"{solution.form}; the bound on the loss does not bind") if slack else None


def _with_weight(problem: Problem) -> Solution | None:
    """Solve P3, or P4 when its bound binds."""
    if problem.loss is None:
        return None
    return next((found for form in WITH_QUALITY if (found := form(problem)) is not None), None)


def _certified(problem: Problem, solution: Solution) -> Noise:
    information = float(np.trace(problem.sensitivity @ solution.noise.information))
    if not abs(information - solution.cost) <= 1e-8 * solution.cost:
        raise InputError("support and query are too ill-conditioned for double precision: rescale or decorrelate them")
    loss = None if problem.loss is None else solution.noise.expected_loss(problem.loss)
    value = information
    if problem.loss_weight is not None and loss is not None:
        value += problem.loss_weight * loss
    certificate = Certificate(
        value=value,
        lower_bound=value,
        method=f"closed form: {solution.form}",
        reference=solution.reference,
        loss=loss,
        loss_weight=solution.loss_weight if problem.loss is not None else None,
    )
    return replace(solution.noise, certificate=certificate)


def _check_objective(objective: str) -> None:
    if objective == "error":
        raise NoClosedFormError(
            "objective 'error' (maximise Tr I⁻¹) is ill-posed without a cap on every entry's information: noise along "
            "one chord of C⁻¹W can beat every noise that spreads out, while it reveals the other directions exactly; "
            "it needs a numerical solution with such a cap, which this version does not compute"
        )
    if objective != "information":
        raise InputError(f"objective must be 'information' or 'error', got {objective!r}")
