"""Solve, measure, refine: the least eigenvalue on a mesh that is cut where its residual is large."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.elements.assembly import Space
from errorfloor.designer.elements.eigen import least_pair
from errorfloor.designer.elements.flux import misfit
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.noise.simplices import product

BULK = 0.9  # the share of the squared residual that is refined in one round
MOST_UNKNOWNS = {2: 120_000, 3: 50_000}
DEGREE = {2: 8, 3: 5}
FIRST_DEGREE = {2: 4, 3: 3}  # until the mesh fits the ground state roughly
FITS = 5e-2  # the relative residual at which it does


@dataclass(frozen=True)
class Trial:
    """A trial function on a mesh, its Rayleigh quotient μ, and a proved bound η of its residual."""

    space: Space
    values: Array  # control values, zeros on the boundary included
    quotient: float
    residual: Array | None  # η², cell by cell, where it was measured

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
