"""One support, query and loss: keeps its mesh and matrices, so that another weight of the loss is cheap."""

import math

from errorfloor.checks import Array
from errorfloor.designer.bounds.enclosure import reach_of
from errorfloor.designer.bounds.residual import Bound, proved_bound, second_eigenvalue
from errorfloor.designer.elements.adaptive import (
    DEGREE,
    FIRST_DEGREE,
    FITS,
    MOST_UNKNOWNS,
    Discretisation,
    Trial,
    refine,
)
from errorfloor.designer.elements.assembly import Space
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.region import Region, image
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Piecewise
from errorfloor.support import Reals

USEFUL = 1e-2  # a relative residual above this is no solution


class Solver:
    """Adaptive finite elements for one region; the mesh only ever grows."""

    def __init__(self, problem: Isotropic, region: Region) -> None:
        self.problem, self.region = problem, region
        first = Space(region.fine, FIRST_DEGREE[problem.dimension])
        self._discretisation = Discretisation(problem, first)
        self._start: Array | None = None

    def solve(self, weight: float, tolerance: float, progress: Progress) -> Trial:
        """Refine until the residual is below the tolerance, or as far as memory should go."""
        first = None
        while True:
            trial = self._discretisation.solve(weight, self._start)
            self._start = trial.values
            first = first or trial.error
            progress("finite elements", _share(first, trial.error, tolerance))
            if trial.error <= tolerance:
                return trial
            last = DEGREE[self.problem.dimension]
            if trial.error <= FITS and trial.space.degree < last:
                space = Space(trial.space.mesh, last)
            else:
                space = Space(refine(trial, tolerance), trial.space.degree)
            if space.count > MOST_UNKNOWNS[self.problem.dimension]:
                if trial.error > USEFUL:
                    raise ConvergenceError(
                        f"finite elements reached a relative residual of {trial.error:.2g} with {trial.space.count} "
                        f"unknowns; the support is too thin or the loss too steep for them"
                    )
                return trial
            self._discretisation = Discretisation(self.problem, space)

    def again(self, weight: float, *, measured: bool) -> Trial:
        """Solve without refining, so that what is found is a smooth function of the weight."""
        return self._discretisation.solve(weight, self._start, measured=measured)

    def bound(self, weight: float, trial: Trial) -> Bound:
        """Prove a lower bound for the whole support."""
        return proved_bound(self.problem, self.region, self._reach, weight, trial.quotient, float(trial.measured.sum()))

    def second(self, weight: float, quotient: float) -> float:
        """A proved lower bound of the second eigenvalue, sought above a Rayleigh quotient."""
        return second_eigenvalue(self.problem, self.region, self._reach, weight, quotient)[0]

    def _reach(self, axes: Array) -> tuple[Array, Array]:
        """The reach of the support in isotropic coordinates."""
        if self.problem.support.is_bounded:
            return reach_of(self.region.coarse.vertices)(axes)
        if isinstance(self.problem.support, Reals):
            return self.problem.support.bounding_box
        return image(self.problem.support, axes.T @ self.problem.inverse).bounding_box

    def noise(self, trial: Trial) -> Piecewise:
        """The noise whose density is the square of the trial function."""
        mesh = trial.space.mesh
        return Piecewise(
            self.problem.support, mesh.vertices @ self.problem.root.T, mesh.cells, trial.space.degree, trial.values
        )


def _share(first: float, now: float, wanted: float) -> float:
    if now <= wanted or first <= wanted:
        return 1.0
    return min(1.0, max(0.0, math.log(first / now) / math.log(first / wanted)))
