"""Problems with a regular K: from the catalogue of closed forms where they are in it, else numerically."""

from dataclasses import replace

import numpy as np

from errorfloor.designer.closed_forms import WITH_QUALITY, WITHOUT_QUALITY, Solution
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.problem import Problem
from errorfloor.errors import ConvergenceError, IllPosedError, InputError, NoClosedFormError
from errorfloor.noise import Certificate, Noise


def check_well_posed(problem: Problem) -> None:
    """Refuse problems without a solution: unbounded without quality, or a loss that no noise can have."""
    support, loss = problem.support, problem.loss
    if loss is None and not support.is_bounded:
        raise IllPosedError("noise of infinite variance is optimal: set max_loss or loss_weight")
    if loss is None:
        return
    if loss.function is not None:
        from errorfloor.designer.potential import check_coercive, check_convex

        check_convex(loss, support)
        check_coercive(loss, support)
    if problem.max_loss is not None:
        least = smallest_loss(support, loss)
        if problem.max_loss <= least * (1 + 1e-9):
            raise IllPosedError(
                f"max_loss {problem.max_loss:g} cannot be met: every noise on this support loses more than {least:.6g}",
                smallest=least,
            )


def solve_regular(problem: Problem, progress: Progress | None = None) -> Noise:
    """Give the certified best noise for a K of full rank."""
    noise = closed_form(problem)
    if noise is not None:
        return noise
    from errorfloor.designer.numerical import numerical_design

    return numerical_design(problem, progress)[0]


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
