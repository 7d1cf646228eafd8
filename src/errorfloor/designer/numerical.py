"""Problems without a closed form, solved numerically: P2, P3 and P4."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.problem import Problem
from errorfloor.designer.quality import meet
from errorfloor.designer.solvers import solve
from errorfloor.noise import Certificate, Noise


def numerical_design(
    problem: Problem, progress: Progress | None = None, *, certify: bool = True
) -> tuple[Noise, GroundState, float]:
    """Give the certified noise of a problem whose K is regular, its ground state and the weight ϱ of its loss.

    A bound on the loss is recognised as inactive when the best noise without it meets it.
    """
    options: dict[str, Any] = {"progress": progress}
    support, K, loss = problem.support, problem.sensitivity, problem.loss
    if problem.max_loss is None:
        weight = problem.loss_weight or 0.0
        state = solve(support, K, loss, weight, certify=certify, **options)
        return _certified(problem, state, weight), state, weight
    assert loss is not None, "a bound on the loss comes with the loss"
    if support.is_bounded:
        free = solve(support, K, None, 0.0, certify=False, **options)
        if free.noise.expected_loss(loss) <= problem.max_loss:
            state = solve(support, K, None, 0.0, start=free, certify=certify, **options)
            return _certified(problem, state, 0.0), state, 0.0
        guess = free.value / problem.max_loss
    else:
        guess = _guess(problem)
    latest: GroundState | None = None

    def roughly(weight: float, _: GroundState | None) -> GroundState:
        nonlocal latest
        latest = solve(support, K, loss, weight, start=latest, certify=False, roughly=True, **options)
        return latest

    state, weight = meet(
        lambda weight, kept: solve(support, K, loss, weight, start=kept, certify=False, **options),
        lambda state: state.noise.expected_loss(loss) if state.loss is None else state.loss,
        problem.max_loss,
        smallest_loss(support, loss),
        guess,
        roughly=roughly,
        progress=progress,
    )
    proved = solve(support, K, loss, weight, start=state, certify=certify, **options)
    if proved.noise != state.noise:  # the same density, or the loss would no longer be the one that was met
        proved = replace(proved, noise=state.noise, value=state.value)
    return _certified(problem, proved, weight), proved, weight


def _guess(problem: Problem) -> float:
    """A weight of the right order for an unbounded support: energy over loss of noise whose size the loss allows."""
    assert problem.max_loss is not None, "asked only for a bound on the loss"
    size = problem.max_loss
    if problem.loss is not None and problem.loss.weight is not None:
        size = problem.max_loss / float(np.diag(problem.loss.weight).mean())
        return float(np.trace(problem.sensitivity)) / size / problem.max_loss
    return float(np.trace(problem.sensitivity)) / size**2 / problem.max_loss


def _certified(problem: Problem, state: GroundState, weight: float) -> Noise:
    J = float(np.trace(problem.sensitivity @ state.noise.information))
    loss = None if problem.loss is None else state.noise.expected_loss(problem.loss)
    value, lower = state.value, state.lower_bound
    if problem.max_loss is not None:
        # every noise that meets the bound has J ≥ Λ(ϱ) − ϱ·bound
        value = J
        lower = None if lower is None else min(J, max(0.0, lower - weight * problem.max_loss))
    words = [state.method, state.proof]
    if problem.max_loss is not None and weight == 0:
        words.append("the bound on the loss does not bind")
    certificate = Certificate(
        value=value,
        lower_bound=lower,
        method="; ".join(words),
        reference=state.reference,
        loss=loss,
        loss_weight=weight if problem.loss is not None else None,
    )
    return replace(state.noise, certificate=certificate)
