"""P4: the weight ϱ at which the loss meets its bound."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.errors import ConvergenceError

SOUGHT = 1e-12  # relative difference between loss and bound at which the search stops
PROMISED = 1e-10
NEAR = 0.02  # with log((Q − least)/(bound − least)) within this of 0 the discretisation is kept
MOST = 60  # doublings and halvings of a bracket

Solve = Callable[[float, GroundState | None], GroundState]


@dataclass
class _Search:
    """The loss as a function of log ϱ: remembers the latest state, and keeps its discretisation when told to."""

    solve: Solve
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
        self.state = self.solve(self.weight, self.kept)
        self.loss = self.loss_of(self.state)
        if self.progress is not None:
            self.progress("weight of the loss", min(1.0, max(0.0, -math.log10(abs(self.off) + 1e-13) / 13)))
        self.distance = math.log(max(self.loss - self.least, 1e-300) / (self.bound - self.least))
        return 0.0 if abs(self.off) <= SOUGHT else self.distance

    @property
    def off(self) -> float:
        """The relative difference between the loss and its bound."""
        return self.loss / self.bound - 1

    def bracket(self, x: float, step: float) -> tuple[float, float] | None:
        """Two places with the loss above and below the bound; None if it was met, or nearly, on the way."""
        y = self(x)
        for _ in range(MOST):
            if y == 0 or (self.kept is None and abs(self.distance) < NEAR):
                return None
            other = x + math.copysign(step, y)
            following = self(other)
            if following == 0 or (self.kept is None and abs(self.distance) < NEAR):
                return None
            if (following > 0) != (y > 0):
                return x, other
            x, y, step = other, following, 1.6 * step
        raise ConvergenceError(
            f"no weight gives a loss near max_loss {self.bound:g}: it lies at the edge of what is possible"
        )

    def approach(self, x: float) -> None:
        """Come near the bound, every step with a discretisation of its own."""
        ends = self.bracket(x, math.log(4.0))
        if ends is None:
            return
        a, b = ends
        for _ in range(MOST):
            middle = (a + b) / 2
            y = self(middle)
            if abs(self.distance) < NEAR:
                return
            # the loss falls as ϱ grows, so it is above the bound at the lesser of the two
            a, b = (middle, max(a, b)) if y > 0 else (min(a, b), middle)


def meet(
    solve: Solve,
    loss_of: Callable[[GroundState], float],
    bound: float,
    least: float,
    guess: float,
    *,
    progress: Progress | None = None,
    start: GroundState | None = None,
) -> tuple[GroundState, float]:
    """Give the state and the weight ϱ with Q(ϱ) = bound, Q falling strictly from above the bound towards ``least``.

    Once near, the discretisation is kept (that of ``start`` from the beginning), so that Q is a smooth function to the
    last digit. Raises ConvergenceError if the loss cannot be met to a relative 1e-10.
    """
    from scipy.optimize import brentq

    search = _Search(solve, loss_of, bound, least, progress, kept=start)
    if start is None:
        search.approach(math.log(guess))
        search.kept, guess = search.state, search.weight
    ends = search.bracket(math.log(guess), max(4 * abs(search.distance), 1e-4) if start is None else 0.3)
    if ends is not None:
        brentq(search, *ends, xtol=1e-15, rtol=9e-16, maxiter=100)
    assert search.state is not None, "the search has looked at one state at least"
    if abs(search.off) > PROMISED:
        raise ConvergenceError(
            f"the loss came within a relative {abs(search.off):.2g} of max_loss {bound:g}, not within {PROMISED:g}"
        )
    return search.state, search.weight
