"""The ground-state problem in coordinates z with w = Cz, K = CCᵀ: −Δu + ¼ϱℓ(Cz)u = μu, and Λ = 4μ."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.noise import Loss
from errorfloor.noise.simplices import exponents
from errorfloor.support import Support


@dataclass(frozen=True, eq=False)
class Isotropic:
    """A support and a quadratic loss, seen in the coordinates that make K the identity."""

    support: Support
    sensitivity: Array
    loss: Loss | None

    @property
    def _key(self) -> tuple[Any, ...]:
        return self.support, self.sensitivity.tobytes(), self.loss

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Isotropic) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @cached_property
    def root(self) -> Array:
        """C, lower triangular."""
        return np.linalg.cholesky(self.sensitivity)

    @cached_property
    def inverse(self) -> Array:
        """C⁻¹."""
        return np.linalg.inv(self.root)

    @cached_property
    def rounding(self) -> float:
        """What bounds are lowered by for the rounding of a root of K, and of a quadratic loss, near singularity."""
        share = 0.0
        for matrix in (self.sensitivity, None if self.loss is None else self.loss.weight):
            if matrix is not None:
                unit = np.sqrt(np.diag(matrix))
                share += 1 / max(float(np.linalg.eigvalsh(matrix / unit / unit[:, None])[0]), 1e-15)
        m = self.dimension
        return min(1.0, 8 * m * (m + 1) * float(np.finfo(float).eps) * share)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return self.support.dimension

    def potential(self, mesh: Mesh) -> Array:
        """¼ℓ(Cz) on each cell, as Bernstein coefficients of degree two."""
        pairs = [[i for i, a in enumerate(alpha) for _ in range(a)] for alpha in exponents(self.dimension, 2)]
        if self.loss is None or self.loss.weight is None:
            return np.zeros((len(mesh.cells), len(pairs)))
        first, second = np.array(pairs).T
        corners = mesh.corners @ self.root.T
        polar = np.einsum("cik,kl,cil->ci", corners[:, first], self.loss.weight, corners[:, second])
        return np.asarray(polar / 4)
