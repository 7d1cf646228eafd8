"""The slice of least cost where no theorem names it: on a convex support what a slice costs is convex in its offset."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import inner_point, least_place, smallest_loss
from errorfloor.designer.ground_state import GroundState
from errorfloor.designer.numerical import numerical_design
from errorfloor.designer.problem import Problem
from errorfloor.designer.slices.geometry import Slice, slice_at
from errorfloor.designer.slices.restricted import on_slice
from errorfloor.designer.solvers import TOLERANCE
from errorfloor.errors import ConvergenceError, IllPosedError, InputError

# of the width of the noise, by a slice's dimension: how closely the best is sought; costs are good to its square
FINE = {1: 1e-4, 2: 1e-4, 3: 1e-2}


def searched(problem: Problem, B: Array) -> Slice:
    """Give the slice along the columns of B that a search over offsets finds."""
    from scipy.optimize import minimize

    costs = Costs(problem, B)
    deep = inner_point(problem.support)
    starts = [deep]
    if problem.loss is not None:  # the slice through the least loss may be the only kind that meets a tight bound
        near = least_place(problem.support, problem.loss)
        starts += [near + share * (deep - near) for share in (0.3, 0.1, 0.03, 0.01)]
    start = min(starts, key=costs)
    least = costs(start)
    if not np.isfinite(least):
        raise IllPosedError("no slice along the range of K was found on which the problem can be solved")
    across = costs.size * np.linalg.svd(B.T)[2][B.shape[1] :]
    d = len(across)
    found = minimize(
        lambda offset: costs(start + offset @ across),
        np.zeros(d),
        method="Nelder-Mead",
        options={
            "initial_simplex": 0.5 * np.vstack([np.zeros(d), np.eye(d)]),
            "xatol": FINE[B.shape[1]],
            "fatol": FINE[B.shape[1]] ** 2 * least,
            "maxfev": 60 * d,
        },
    )
    return slice_at(problem.support, B, start + found.x @ across, proved=False)


@dataclass
class Costs:
    """What slices cost; remembers the weight of the loss that the last one came to, and how wide its noise was."""

    problem: Problem
    basis: Array
    start: tuple[GroundState, float] | None = None
    size: float = 0.0

    def __call__(self, point: Array) -> float:
        """The least cost on the slice through a point; infinite where there is none."""
        try:
            return self._on(*on_slice(self.problem, slice_at(self.problem.support, self.basis, point, proved=False)))
        except (InputError, ConvergenceError):  # empty, too thin, or its loss cannot meet the bound
            return float("inf")

    def _on(self, found: Slice, inner: Problem, offset: float) -> float:
        bound, loss = inner.max_loss, inner.loss
        if bound is not None and loss is not None and bound <= smallest_loss(inner.support, loss) * (1 + 1e-9):
            return float("inf")
        # at the best weight the cost does not change with it: it needs half the digits that the cost is to have
        start = None if inner.support.is_bounded else self.start
        fine = FINE[self.basis.shape[1]]
        noise, state, weight = numerical_design(
            inner, start=start, certify=False, accuracy=fine / 10, tolerance=max(TOLERANCE, fine**2)
        )
        self.start, self.size = (state, weight), float(np.sqrt(np.trace(noise.covariance)))
        own = noise.certificate
        assert own is not None, "every design carries its certificate"
        if bound is not None and own.loss is not None:
            return own.value + weight * (own.loss - bound)
        return own.value + (inner.loss_weight or 0.0) * offset
