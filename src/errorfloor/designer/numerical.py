"""Problems without a closed form, solved numerically: P2, P3, P4, and queries whose answers depend on each other."""

from dataclasses import replace
from typing import Any

import numpy as np

from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.problem import Problem
from errorfloor.designer.quality import SOUGHT, meet
from errorfloor.designer.regular import closed_form
from errorfloor.designer.solvers import TOLERANCE, solve
from errorfloor.noise import Certificate, Noise
from errorfloor.noise.piecewise_losses import TOLERATED

POOR = 0.05  # gaps above this are tried to be closed by the problem without a loss
BY_RULE = {3: TOLERATED[3], 4: TOLERATED[4]}  # dimensions in which a kinked loss is not integrated to rounding


def numerical_design(
    problem: Problem,
    progress: Progress | None = None,
    start: tuple[GroundState, float] | None = None,
    *,
    certify: bool = True,
    accuracy: float = SOUGHT,
    tolerance: float = TOLERANCE,
) -> tuple[Noise, GroundState, float]:
    """Give the certified noise of a problem whose K is regular, its ground state and the weight ϱ of its loss.

    ``start`` is the state and weight of a nearby problem with a bound that binds: the search begins at that weight, and
    ends when the loss is within a relative ``accuracy`` of its bound; ``tolerance`` is that of the value. A bound on
    the loss is recognised as inactive when the best noise without it meets it.
    """
    options: dict[str, Any] = {"progress": progress, "tolerance": tolerance}
    support, K, loss = problem.support, problem.sensitivity, problem.loss
    if problem.max_loss is None:
        weight = problem.loss_weight or 0.0
        state = solve(support, K, loss, weight, certify=certify, **options)
        return _certified(problem, state, weight), state, weight
    assert loss is not None, "a bound on the loss comes with the loss"
    if support.is_bounded and start is None:
        free = solve(support, K, None, 0.0, certify=False, **options)
        if free.noise.expected_loss(loss) <= problem.max_loss:
            state = solve(support, K, None, 0.0, start=free, certify=certify, **options)
            slack = replace(state, method=f"{state.method}; the bound on the loss does not bind")
            return _certified(problem, slack, 0.0), state, 0.0
        guess = free.value / problem.max_loss
    else:
        guess = start[1] if start is not None else _guess(problem)
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
        accuracy=accuracy,
    )
    proved = solve(support, K, loss, weight, start=state, certify=certify, **options)
    if proved.noise != state.noise:  # the same density, or the loss would no longer be the one that was met
        proved = replace(proved, noise=state.noise, value=state.value)
    noise = _certified(problem, proved, weight)
    return _bounded_without_loss(problem, noise, progress) if certify else noise, proved, weight


def _bounded_without_loss(problem: Problem, noise: Noise, progress: Progress | None) -> Noise:
    """Where a bound is poor: what is least without a loss is a bound for every noise with one."""
    own = noise.certificate
    assert own is not None, "every design carries its certificate"
    if not problem.support.is_bounded or (own.gap is not None and own.gap <= POOR):
        return noise
    without = replace(problem, loss=None, max_loss=None)
    known = closed_form(without)
    lower: float | None
    if known is not None and known.certificate is not None:
        lower, how = known.certificate.lower_bound, known.certificate.method
    elif problem.support.dimension == 4 and problem.support.half_spaces is not None:
        from errorfloor.designer.around import bound_around

        lower, how = bound_around(problem.support, problem.sensitivity, None, 0.0)  # no noise is needed for it
    else:
        state = solve(problem.support, problem.sensitivity, progress=progress)
        lower, how = state.lower_bound, state.method
    if lower is None or lower <= (own.lower_bound or 0.0):
        return noise
    method = f"{own.method.split(';')[0]}; lower bound without the loss: {how}"
    return replace(noise, certificate=replace(own, lower_bound=min(lower, own.value), method=method))


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
    method = state.method
    if problem.loss is not None and problem.loss.function is not None and problem.support.dimension in BY_RULE:
        known = BY_RULE[problem.support.dimension]
        method += f"; the mean of the given loss is that of a rule, good to a relative {known:g} or better"
    certificate = Certificate(
        value=value,
        lower_bound=lower,
        method=method,
        reference=state.reference,
        loss=loss,
        loss_weight=weight if problem.loss is not None else None,
    )
    return replace(state.noise, certificate=certificate)
