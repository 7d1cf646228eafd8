"""The ground-state problem in coordinates z with w = Cz, K = CCᵀ: −Δu + ¼ϱℓ(Cz)u = μu, and Λ = 4μ."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.feasibility import inner_point
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.noise import Loss
from errorfloor.noise.piecewise_bernstein import exponents
from errorfloor.support import Support

ROUNDING = 1e-12  # relative: how far a point that rounding took out of the support is moved towards the inside


@dataclass(frozen=True)
class Isotropic:
    """A support and a loss less ``offset``, seen in the coordinates that make K the identity."""

    support: Support
    sensitivity: Array
    loss: Loss | None
    offset: float = 0.0  # what a given loss is lowered by: about its least value

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

    @property
    def is_given(self) -> bool:
        """Whether the loss is a function about which nothing is known but that it is convex."""
        return self.loss is not None and self.loss.function is not None

    def potential(self, mesh: Mesh) -> Array:
        """¼ℓ(Cz) on each cell, as Bernstein coefficients of degree two; a given loss is interpolated.

        An absolute loss is linear on cells that no coordinate plane cuts, which is asked of the mesh.
        """
        first, second = self._pairs
        if self.loss is None:
            return np.zeros((len(mesh.cells), len(first)))
        corners = mesh.corners @ self.root.T
        if self.is_given:
            return self._interpolated(corners)
        if self.loss.weight is not None:
            polar = np.einsum("cik,kl,cil->ci", corners[:, first], self.loss.weight, corners[:, second])
            return np.asarray(polar / 4)
        heights = np.abs(corners).sum(axis=2)
        return np.asarray((heights[:, first] + heights[:, second]) / 8)

    def _interpolated(self, corners: Array) -> Array:
        """A quadratic through the values of ¼ℓ at corners and middles of edges; no bound of any kind.

        Where it would be negative along an edge, as one through values of a steep function may, it is bent up: a
        spurious well would hold the ground state.
        """
        first, second = self._pairs
        ends = self.values(corners) - self.offset
        middles = self.values((corners[:, first] + corners[:, second]) / 2) - self.offset
        between = 2 * middles - (ends[:, first] + ends[:, second]) / 2
        least = -np.sqrt(ends[:, first].clip(min=0.0) * ends[:, second].clip(min=0.0))
        return np.where(between < least, least / self.dimension, between) / 4

    @property
    def _pairs(self) -> Array:
        pairs = [[i for i, a in enumerate(alpha) for _ in range(a)] for alpha in exponents(self.dimension, 2)]
        return np.array(pairs).T

    def values(self, w: Array) -> Array:
        """A given ℓ at points of the support, which rounding may have taken out of it: these are moved in again."""
        assert self.loss is not None, "asked only of a given loss"
        found = np.asarray(self.loss(w), dtype=float)
        lost = ~np.isfinite(found)
        if lost.any():
            found = np.array(found)
            found[lost] = self.loss(w[lost] + ROUNDING * (inner_point(self.support) - w[lost]))
        return found
