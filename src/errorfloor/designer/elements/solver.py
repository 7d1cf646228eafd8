"""Adaptive finite elements: matrices that are exact without quadrature, the least eigenvalue, and where to refine."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import symmetric_factors
from errorfloor.designer.bounds.enclosure import reach_of
from errorfloor.designer.bounds.residual import Bound, proved_bound, second_eigenvalue
from errorfloor.designer.elements.flux import misfit
from errorfloor.designer.meshes.mesh import Mesh, assembled
from errorfloor.designer.meshes.region import Isotropic, Region, image
from errorfloor.designer.problem import Progress
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Piecewise
from errorfloor.noise.simplices import (
    control_points,
    control_points_on,
    gradients,
    mass_matrix,
    product,
    stiffness_tensor,
    weighted_mass_tensor,
)
from errorfloor.support import Reals

DENSE = 300  # up to this size everything is computed at once
WIDTHS = (20, 80)  # of the Krylov spaces that are tried
BULK = 0.9  # the share of the squared residual that is refined in one round
MOST_UNKNOWNS = {2: 120_000, 3: 50_000}
DEGREE = {2: 8, 3: 5}
FIRST_DEGREE = {2: 4, 3: 3}  # until the mesh fits the ground state roughly
FITS = 5e-2  # the relative residual at which it does
USEFUL = 1e-2  # a relative residual above this is no solution


@dataclass(frozen=True)
class Space:
    """Continuous piecewise polynomials of one degree on a mesh that vanish on its outer facets, in Bernstein form."""

    mesh: Mesh
    degree: int

    @cached_property
    def numbers(self) -> Array:
        """The control points of each cell."""
        return control_points(self.mesh.cells, self.degree)[0]

    @property
    def count(self) -> int:
        """How many control points there are."""
        return int(self.numbers.max()) + 1

    @cached_property
    def free(self) -> Array:
        """The control points that are not on the outer boundary."""
        fixed = control_points_on(self.mesh.cells, self.degree, *self.mesh.outer)
        return np.setdiff1d(np.arange(self.count), fixed)

    def extended(self, values: Array) -> Array:
        """Put zeros on the boundary."""
        whole = np.zeros(self.count)
        whole[self.free] = values
        return whole

    @cached_property
    def stiffness(self) -> Any:
        """∫∇φ·∇φ′ over the free control points."""
        slopes = gradients(self.mesh.corners)
        metric = np.einsum("cak,cbk->cab", slopes, slopes).reshape(len(slopes), -1)
        tensor = stiffness_tensor(self._dimension, self.degree)
        return self._gather((metric * self.mesh.volumes[:, None]) @ tensor.reshape(metric.shape[1], -1))

    @cached_property
    def mass(self) -> Any:
        """∫φφ′."""
        return self._gather(self.mesh.volumes[:, None] * mass_matrix(self._dimension, self.degree).reshape(1, -1))

    def weighted_mass(self, potential: Array) -> Any:
        """∫Vφφ′ for V given on each cell by Bernstein coefficients of degree two."""
        tensor = weighted_mass_tensor(self._dimension, self.degree, 2)
        return self._gather((self.mesh.volumes[:, None] * potential) @ tensor.reshape(len(tensor), -1))

    @property
    def _dimension(self) -> int:
        return int(self.mesh.vertices.shape[1])

    def _gather(self, local: Array) -> Any:
        return assembled(local, self.numbers, self.count)[self.free][:, self.free].tocsc()


def least_pair(form: Any, mass: Any, start: Array | None = None) -> tuple[float, Array]:
    """Give the least λ with form·x = λ·mass·x, both positive definite, and its x, of unit mass and positive sum.

    Where two eigenvalues are too close to be told apart x may be a mixture; λ is its Rayleigh quotient all the same.

    >>> from scipy.sparse import diags, identity
    >>> value, vector = least_pair(diags([3.0, 1.0, 2.0, 5.0, 4.0], format="csc"), identity(5, format="csc"))
    >>> round(value, 12), int(abs(vector).argmax())
    (1.0, 1)
    """
    count = form.shape[0]
    if count <= DENSE:
        x = eigh(form.toarray(), mass.toarray(), subset_by_index=[0, 0])[1][:, 0]
    else:
        x = _by_lanczos(form, mass, np.ones(count) if start is None or start.shape != (count,) else start)
    x = x / np.sqrt(float(x @ (mass @ x)))
    return float(x @ (form @ x)), x if x.sum() >= 0 else -x


def _by_lanczos(form: Any, mass: Any, start: Array) -> Array:
    count = form.shape[0]
    inverse = LinearOperator(form.shape, matvec=symmetric_factors(form).solve, dtype=float)
    for width in WIDTHS:
        try:
            # the second one is asked for too, so that a pair of close ones does not hold up the first
            values, vectors = eigsh(
                form, 2, mass, sigma=0.0, OPinv=inverse, v0=mass @ start, tol=1e-13, maxiter=100, ncv=min(width, count)
            )
        except ArpackNoConvergence as stuck:
            values, vectors = stuck.eigenvalues, stuck.eigenvectors  # of a crowd of close ones the first is enough
        if len(values):
            return np.asarray(vectors[:, int(values.argmin())])
    raise ConvergenceError(
        "the eigenvalue iteration did not settle: the support is so much longer than it is wide, as the query "
        "stretches it, that noise may lie anywhere along it; design for its widest part, or for a shorter support"
    )


@dataclass(frozen=True)
class Trial:
    """A trial function on a mesh, its Rayleigh quotient μ, and a proved bound η of its residual."""

    space: Space
    values: Array  # control values, zeros on the boundary included
    quotient: float
    residual: Array | None  # η², cell by cell, where it was measured

    @property
    def method(self) -> str:
        """The discretisation, in words."""
        return f"finite elements of degree {self.space.degree}, {len(self.space.free)} unknowns"

    @property
    def error(self) -> float:
        """η²/μ, about the relative error of μ and in general above it."""
        return float(self.measured.sum()) / self.quotient

    @property
    def measured(self) -> Array:
        """η², cell by cell."""
        assert self.residual is not None, "asked only of a trial function that was measured"
        return self.residual


@dataclass(frozen=True)
class Discretisation:
    """The matrices of one problem in one space; another weight of the loss costs one factorisation."""

    problem: Isotropic
    space: Space

    @cached_property
    def potential(self) -> Array:
        """V at weight one, on each cell."""
        return self.problem.potential(self.space.mesh)

    @cached_property
    def loss(self) -> Any:
        """∫Vφφ′ at weight one."""
        return self.space.weighted_mass(self.potential)

    def solve(self, weight: float, start: Array | None = None, *, measured: bool = True) -> Trial:
        """Give the best function of the space at this weight and, if it is to be ``measured``, its residual."""
        space = self.space
        form = space.stiffness if weight == 0 else space.stiffness + weight * self.loss
        first = None if start is None or start.shape != (space.count,) else start[space.free]
        quotient, x = least_pair(form, space.mass, first)
        values = space.extended(x)
        if not measured:
            return Trial(space, values, quotient, None)
        local = values[space.numbers]
        if weight == 0:
            source, degree = -quotient * local, space.degree
        else:
            source = product(self.problem.dimension, weight * self.potential - quotient, 2, local, space.degree)
            degree = space.degree + 2
        return Trial(space, values, quotient, misfit(space.mesh, space.degree, local, source, degree))


def refine(trial: Trial, wanted: float = 0.0) -> Mesh:
    """Cut the cells that hold most of the squared residual, or as much of it as is above the error that is wanted."""
    order = np.argsort(-trial.measured)
    share = min(BULK, 1 - wanted / (2 * trial.error))
    enough = np.cumsum(trial.measured[order]) >= share * trial.measured.sum()
    marked = np.zeros(len(order), dtype=bool)
    marked[order[: int(np.argmax(enough)) + 1]] = True
    return trial.space.mesh.refined(marked)


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
