"""Problems without a closed form, solved numerically: P2, P3, and P4 by the weight ϱ that meets its bound.

Products of intervals are solved by spectral bases, other shapes by elements.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from errorfloor.checks import Array
from errorfloor.designer.boxes import solver as boxes
from errorfloor.designer.elements import ground_state as elements
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.problem import GroundState, Problem, Progress
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise import Loss, Noise
from errorfloor.support import Ball, Ellipsoid, Support

SOUGHT = 1e-12  # relative difference between loss and bound at which the search stops
PROMISED = 1e-10
NEAR = 0.02  # with log((Q − least)/(bound − least)) within this of 0 the discretisation is kept
MOST = 60  # doublings and halvings of a bracket

Solve = Callable[[float, GroundState | None], GroundState]
MOST_DIMENSIONS = 4  # of products of intervals, balls and ellipsoids
MESHED = 3  # of all other shapes
TOLERANCE = 2e-8  # relative change of the value at which refinement stops
ROUGHLY = 2e-2  # the same on the way to the weight of a loss


def solve(
    support: Support,
    sensitivity: Array,
    loss: Loss | None = None,
    loss_weight: float = 0.0,
    *,
    tolerance: float = TOLERANCE,
    progress: Progress | None = None,
    start: GroundState | None = None,
    anew: bool = False,
    certify: bool = True,
) -> GroundState:
    """Give the noise of least Tr(K I_w) + ϱ E ℓ(w): on products, balls and ellipsoids in up to four dimensions.

    Other bounded shapes are solved in up to three. ``start`` keeps the discretisation of an earlier state; if the state
    is sought ``anew`` it is refined.

    Raises InputError beyond that, with what to ask for instead.

    >>> from errorfloor.support import Box
    >>> found = solve(Box([0, 0], [1, 1]), np.array([[1.0, 0.3], [0.3, 1.0]]))
    >>> round(found.value, 5), bool(found.gap < 1e-7)
    (77.5028, True)
    """
    form = support.product_form
    _check_covered(support, form)
    options: dict[str, Any] = {"tolerance": tolerance, "progress": progress, "certify": certify}
    if form is None:
        return elements.ground_state(support, sensitivity, loss, loss_weight, start=start, anew=anew, **options)

    def second(value: float) -> float:
        unit = float(np.trace(sensitivity))
        return unit * elements.second_level(support, sensitivity / unit, loss, loss_weight / unit, value / unit)

    options |= {"start": None if anew else start, "second": second if 1 < support.dimension <= MESHED else None}
    return boxes.ground_state(form, sensitivity, loss, loss_weight, **options)


def _check_covered(support: Support, form: Any) -> None:
    m = support.dimension
    if m > MOST_DIMENSIONS:
        raise InputError(
            f"a general problem in {m} dimensions is beyond the numerical designer, which goes up to "
            f"{MOST_DIMENSIONS}: ask for fewer answers at once, or for answers whose K is diagonal in the support's "
            f"own coordinates"
        )
    if form is None and not support.is_bounded:
        raise InputError(
            f"an unbounded {type(support).__name__} is designed for if it is a product of intervals, half-lines and "
            f"lines in some coordinates, such as a half-space or a wedge, and this one is not: design for one inside it"
        )
    if m > MESHED and form is None and not isinstance(support, (Ball, Ellipsoid)):
        raise InputError(
            f"a {type(support).__name__} that is no product is designed for in up to {MESHED} dimensions, not in {m}: "
            f"design for a box or an ellipsoid inside it, or ask for fewer answers at once"
        )


@dataclass
class _Search:
    """The loss as a function of log ϱ: remembers the latest state, and keeps its discretisation when told to."""

    solve: Solve
    roughly: Solve
    loss_of: Callable[[GroundState], float]
    bound: float
    least: float
    progress: Progress | None
    kept: GroundState | None = None
    state: GroundState | None = None
    loss: float = math.nan
    weight: float = math.nan
    distance: float = math.nan

    def __call__(self, x: float) -> float:
        """log((Q − least)/(bound − least)), nearly linear in x = log ϱ; 0 where the bound is met."""
        self.weight = math.exp(x)
        self.state = (self.roughly if self.kept is None else self.solve)(self.weight, self.kept)
        self.loss = self.loss_of(self.state)
        if self.progress is not None:
            self.progress("weight of the loss", min(1.0, max(0.0, -math.log10(abs(self.off) + 1e-13) / 13)))
        self.distance = math.log(max(self.loss - self.least, 1e-300) / (self.bound - self.least))
        return 0.0 if self.near() else self.distance

    @property
    def off(self) -> float:
        """The relative difference between the loss and its bound."""
        return self.loss / self.bound - 1

    def near(self) -> bool:
        """Whether the bound is met, or nearly while every step has a discretisation of its own."""
        return abs(self.off) <= SOUGHT or (self.kept is None and abs(self.distance) < NEAR)

    def bracket(self, x: float, least: float) -> tuple[float, float] | None:
        """Two places with the loss above and below the bound; None if it was met on the way.

        The first step, ``least`` at least, is as long as the distance asks for: Q − inf ℓ falls like ϱ^(−1/2) or
        ϱ^(−1/3) on unbounded supports, more slowly where the support confines the noise too.
        """
        y = self(x)
        step = min(max(2.5 * abs(self.distance), least), math.log(30.0))
        for _ in range(MOST):
            if self.near():
                return None
            other = x + math.copysign(step, y)
            following = self(other)
            if self.near():
                return None
            if (following > 0) != (y > 0):
                return x, other
            x, y, step = other, following, 1.6 * step
        raise ConvergenceError(
            f"no weight gives a loss near max_loss {self.bound:g}: it lies at the edge of what is possible"
        )

    def settle(self, x: float, least: float, apart: float) -> None:
        """Meet the bound, or come near it while every step has a discretisation of its own.

        A rough solver's loss may jump over the bound, so that ends this far ``apart`` will do.
        """
        ends = self.bracket(x, least)
        if ends is not None:
            brentq(self, *ends, xtol=apart, rtol=9e-16, maxiter=100)


def meet(
    solve: Solve,
    loss_of: Callable[[GroundState], float],
    bound: float,
    least: float,
    guess: float,
    *,
    roughly: Solve | None = None,
    progress: Progress | None = None,
) -> tuple[GroundState, float]:
    """Give the state and the weight ϱ with Q(ϱ) = bound, Q falling strictly from above the bound towards ``least``.

    The search comes near with ``roughly``, a cheaper solver if there is one. Then the discretisation is kept, so that Q
    is a smooth function to the last digit. Raises ConvergenceError if the loss cannot be met to a relative 1e-10.
    """
    search = _Search(solve, roughly or solve, loss_of, bound, least, progress)
    search.settle(math.log(guess), 0.1, NEAR)
    guess = search.weight
    search.kept = search.state if roughly is None else solve(guess, None)
    search.settle(math.log(guess), 1e-4, 1e-15)
    assert search.state is not None, "the search has looked at one state at least"
    if abs(search.off) > PROMISED:
        raise ConvergenceError(
            f"the loss came within a relative {abs(search.off):.2g} of max_loss {bound:g}, not within {PROMISED:g}"
        )
    return search.state, search.weight


def numerical_design(problem: Problem, progress: Progress | None = None) -> Noise:
    """Give the certified noise of a problem whose K is regular.

    A bound on the loss is recognised as inactive when the best noise without it meets it.
    """
    options: dict[str, Any] = {"progress": progress}
    support, K, loss = problem.support, problem.sensitivity, problem.loss
    if problem.max_loss is None:
        weight = problem.loss_weight or 0.0
        return _certified(problem, solve(support, K, loss, weight, **options), weight)
    assert loss is not None, "a bound on the loss comes with the loss"
    if support.is_bounded:
        free = solve(support, K, None, 0.0, certify=False, **options)
        if free.noise.expected_loss(loss) <= problem.max_loss:
            return _certified(problem, solve(support, K, None, 0.0, start=free, **options), 0.0)
        guess = free.value / problem.max_loss
    else:
        guess = _guess(problem)
    latest: GroundState | None = None

    def found(weight: float, kept: GroundState | None, tolerance: float = TOLERANCE) -> GroundState:
        nonlocal latest
        start, anew = kept or latest, kept is None
        latest = solve(
            support, K, loss, weight, tolerance=tolerance, start=start, anew=anew, certify=False, progress=progress
        )
        return latest

    state, weight = meet(
        found,
        lambda state: state.noise.expected_loss(loss) if state.loss is None else state.loss,
        problem.max_loss,
        smallest_loss(support, loss),
        guess,
        roughly=lambda weight, kept: found(weight, kept, ROUGHLY),
        progress=progress,
    )
    proved = solve(support, K, loss, weight, start=state, **options)
    if proved.noise != state.noise:  # the same density, or the loss would no longer be the one that was met
        proved = replace(proved, noise=state.noise, value=state.value)
    return _certified(problem, proved, weight)


def _guess(problem: Problem) -> float:
    """A weight of the right order for an unbounded support: energy over loss of noise whose size the loss allows."""
    assert problem.max_loss is not None, "asked only for a bound on the loss"
    size = problem.max_loss
    if problem.loss is not None and problem.loss.weight is not None:
        size = problem.max_loss / float(np.diag(problem.loss.weight).mean())
        return float(np.trace(problem.sensitivity)) / size / problem.max_loss
    return float(np.trace(problem.sensitivity)) / size**2 / problem.max_loss


def _certified(problem: Problem, state: GroundState, weight: float) -> Noise:
    lower, words = state.lower_bound, [state.method, state.proof]
    if problem.max_loss is not None and lower is not None:
        # every noise that meets the bound has J ≥ Λ(ϱ) − ϱ·bound
        lower = min(problem.value_of(state.noise), lower - weight * problem.max_loss)
        if lower <= 0:
            lower, words[1] = None, "no lower bound: that of the weighted objective is not above what the loss weighs"
    if problem.max_loss is not None and weight == 0:
        words.append("the bound on the loss does not bind")
    return problem.certified(state.noise, lower, "; ".join(words), state.reference, weight)
