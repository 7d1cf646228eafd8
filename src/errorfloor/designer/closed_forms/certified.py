"""The certified noise of a problem that is in the catalogue."""

from dataclasses import replace

import numpy as np

from errorfloor.designer.closed_forms.catalogue import WITH_QUALITY, WITHOUT_QUALITY, Solution
from errorfloor.designer.problem import Problem
from errorfloor.errors import ConvergenceError, InputError, NoClosedFormError
from errorfloor.noise import Certificate, Noise


def closed_form(problem: Problem) -> Noise | None:
    """Give the certified noise from the catalogue, or None."""
    solution = _without_weight(problem) or _with_weight(problem)
    return None if solution is None else _certified(problem, solution)


def _without_weight(problem: Problem) -> Solution | None:
    """Solve P2, or P4 when its bound does not bind."""
    if problem.loss_weight is not None or not problem.support.is_bounded:
        return None
    solution = next((found for form in WITHOUT_QUALITY if (found := form(problem)) is not None), None)
    if solution is None or problem.max_loss is None:
        return solution
    try:
        slack = solution.noise.expected_loss(problem.loss) <= problem.max_loss
    except (NoClosedFormError, ConvergenceError):  # the noise is known but not this mean: a numerical one knows its own
        return None
    return replace(solution, form=f"{solution.form}; the bound on the loss does not bind") if slack else None


def _with_weight(problem: Problem) -> Solution | None:
    """Solve P3, or P4 when its bound binds."""
    if problem.loss is None or problem.loss.function is not None:
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
