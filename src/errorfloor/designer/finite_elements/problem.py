"""The ground-state problem in coordinates z with w = Cz, K = CCᵀ: −Δu + ¼ϱℓ(Cz)u = μu, and Λ = 4μ."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.errors import InputError
from errorfloor.noise import Loss
from errorfloor.noise.piecewise_bernstein import exponents
from errorfloor.support import Support


@dataclass(frozen=True)
class Isotropic:
    """A support and a loss, seen in the coordinates that make K the identity."""

    support: Support
    sensitivity: Array
    loss: Loss | None

    def __post_init__(self) -> None:
        if self.loss is not None and self.loss.function is not None:
            raise InputError(
                f"a loss given as a function needs an interval or a box; on a {type(self.support).__name__} it must be "
                f"'squared', 'absolute' or a positive definite matrix"
            )

    @property
    def key(self) -> tuple[Any, ...]:
        """What tells one problem from another."""
        return self.support, self.sensitivity.tobytes(), self.loss

    @cached_property
    def root(self) -> Array:
        """C, lower triangular."""
        return np.linalg.cholesky(self.sensitivity)

    @cached_property
    def inverse(self) -> Array:
        """C⁻¹."""
        return np.linalg.inv(self.root)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.support.dimension

    def potential(self, mesh: Mesh) -> Array:
        """¼ℓ(Cz) on each cell, as Bernstein coefficients of degree two.

        An absolute loss is linear on cells that no coordinate plane cuts, which is asked of the mesh.
        """
        pairs = [[i for i, a in enumerate(alpha) for _ in range(a)] for alpha in exponents(self.dimension, 2)]
        if self.loss is None:
            return np.zeros((len(mesh.cells), len(pairs)))
        corners = mesh.corners @ self.root.T
        first, second = np.array(pairs).T
        if self.loss.weight is not None:
            polar = np.einsum("cik,kl,cil->ci", corners[:, first], self.loss.weight, corners[:, second])
            return np.asarray(polar / 4)
        heights = np.abs(corners).sum(axis=2)
        return np.asarray((heights[:, first] + heights[:, second]) / 8)
