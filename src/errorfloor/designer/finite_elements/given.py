"""What is proved of the two least levels for a given convex loss on an unbounded support, from values of it alone."""

import math
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import smallest_loss
from errorfloor.designer.finite_elements.adaptive import Discretisation, Trial, refine
from errorfloor.designer.finite_elements.assembly import Space
from errorfloor.designer.finite_elements.convex import least_value
from errorfloor.designer.finite_elements.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.finite_elements.enclosure import Reach
from errorfloor.designer.finite_elements.lower_bound import ROUNDING, Bound, second_eigenvalue
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.separable import levels_of_sum
from errorfloor.designer.finite_elements.truncation import box_below
from errorfloor.errors import ConvergenceError

HIGH = 2.0  # times the quotient: how far levels are followed; the second one of a potential like a square is below
CELLS = {2: 6000, 3: 40_000}  # on which affine functions below V are known
FLOOR = 1e-3  # of the quotient: how exactly the least loss is sought
MIXED = 1e-2  # relative: coupling of coordinates from which other axes are tried
POOR = 0.3  # a first level of so little of the quotient is improved by elements
APART = 1e-3  # relative: how far the second level must be from the first to be of use
ACCURATE = {2: 1e-4, 3: 3e-3}  # relative gaps at which a trial function will do
MOST_UNKNOWNS = {2: 16_000, 3: 16_000}
ENOUGH = 1.15  # a second level of so many times the quotient is not improved by elements


@dataclass(frozen=True)
class Levels:
    """The problem with its loss lowered to be nowhere negative on the support, and proved bounds of its two levels."""

    problem: Isotropic
    first: float
    second: float
    how: str

    @property
    def direct(self) -> Bound:
        """The bound of the first level."""
        return Bound(self.first - ROUNDING * abs(self.first), f"lower bound by {self.how}")

    def enclosing_trial(self, weight: float, trial: Trial) -> Trial | None:
        """A trial function for the potential half-way between its bounds, on a mesh that brings these together.

        None where no second level is known above the first.
        """
        mesh, degree, m = trial.space.mesh, trial.space.degree, self.problem.dimension
        best: Trial | None = None
        while self.first > 0:
            try:
                found = Discretisation(self.problem, Space(mesh, degree)).solve(weight)
            except ConvergenceError:  # what was found before is a trial function all the same
                break
            if self.first / 2 < found.quotient < self.second / (1 + APART):
                best = found
                if self._excess(found, found.quotient) <= ACCURATE[m]:
                    break
            mesh = refine(found)
            if Space(mesh, degree).count > MOST_UNKNOWNS[m]:
                break
        return best

    def bound(self, trial: Trial, quotient: float) -> Bound | None:
        """The bound that a trial function with this quotient gives; None where its level is not below the second."""
        if quotient * (1 + APART) >= self.second:
            return None
        value = quotient / (1 + self._excess(trial, quotient))
        method = f"lower bound by a balanced flux, {self.how} bounding the second eigenvalue"
        return max(self.direct, Bound(value * (1 - ROUNDING), method), key=lambda bound: bound.value)

    def _excess(self, trial: Trial, quotient: float) -> float:
        """νη²/(μ(ν − μ)), η with what the potential and the level that were balanced are off by."""
        assert trial.residual is not None and trial.rough is not None, "a given loss is enclosed, and so measured"
        off = (math.sqrt(float(trial.rough.sum())) + trial.off) / math.sqrt(self.first)
        residual = (math.sqrt(float(trial.residual.sum())) + off) ** 2
        return self.second * residual / (quotient * (self.second - quotient))


def levels_of_given(problem: Isotropic, reach: Reach, weight: float, quotient: float) -> Levels | None:
    """Bound the two least eigenvalues of −Δ + ¼ϱ(ℓ − offset) from below, offset ≤ ℓ; ``quotient`` is one of −Δ + ¼ϱℓ.

    None where the loss is not seen to rise on all sides.
    """
    plain = _along(problem, reach, weight, quotient, np.eye(problem.dimension))
    if plain is None:
        return None
    levels, axes = plain
    other = None if axes is None else _along(problem, reach, weight, quotient, axes)
    return levels if other is None else max(levels, other[0], key=lambda found: found.second)


def _along(
    problem: Isotropic, reach: Reach, weight: float, quotient: float, axes: Array
) -> tuple[Levels, Array | None] | None:
    """The levels by a sum along some axes, and other axes that may serve better, if there are any."""
    raised = replace(problem, offset=0.0)
    assert problem.loss is not None, "asked only of a given loss"
    bottom = weight / 4 * smallest_loss(problem.support, problem.loss)
    above = quotient - bottom
    mesh = box_below(raised, weight, bottom + HIGH * above, axes)
    if mesh is None:
        return None
    least, _ = least_value(raised.values, mesh.corners @ problem.root.T, FLOOR * 4 * above / weight)
    if not math.isfinite(least):
        return None
    lowered = replace(problem, offset=least)
    above, ceiling = quotient - weight * least / 4, bottom + HIGH * above - weight * least / 4
    fine, below = _resolved(lowered, mesh, weight, ceiling)
    first, second = levels_of_sum(fine, below, axes, reach(axes), above)
    how = "a sum of functions of one coordinate"
    if problem.dimension == 2:  # in space elements cost much and give little
        if second < ENOUGH * above:
            second, how = max((second, how), second_eigenvalue(lowered, mesh, reach, weight, above, ceiling))
        if first < POOR * above:
            first = max(first, eigenvalue_bound(fine, below.min(axis=1).clip(min=0.0), 0, ceiling))
    return Levels(lowered, min(first, ceiling), min(second, ceiling), how), _fitted_axes(fine, below)


def _resolved(problem: Isotropic, mesh: Mesh, weight: float, ceiling: float) -> tuple[Mesh, Array]:
    """Refine where V may lie below the ceiling and is known least well; give affine functions below V, at corners."""
    while True:
        below, above = (weight * bound for bound in problem.enclosed(mesh))
        if len(mesh.cells) >= CELLS[problem.dimension]:
            return mesh, below
        low = below.min(axis=1) < ceiling
        width = np.minimum(above, HIGH * ceiling).max(axis=1) - below.min(axis=1)
        mesh = mesh.refined(low & ~(width < 0.5 * width[low].max())) if low.any() else mesh.refined()


def _fitted_axes(mesh: Mesh, below: Array) -> Array | None:
    """The axes of a quadratic function fitted to V, in columns; None where they are the coordinates'."""
    m = mesh.vertices.shape[1]
    first, second = np.triu_indices(m)
    z, heights = mesh.corners.reshape(-1, m), below.reshape(-1)
    columns = np.column_stack([np.ones(len(z)), z, z[:, first] * z[:, second]])
    form = np.zeros((m, m))
    form[first, second] = np.linalg.lstsq(columns, heights, rcond=None)[0][1 + m :]
    form = form + form.T
    mixed = np.abs(form - np.diag(np.diag(form))).max()
    return np.linalg.eigh(form)[1] if mixed > MIXED * np.abs(form).max() else None
