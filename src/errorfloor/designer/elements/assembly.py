"""The matrices of the ground-state problem for continuous piecewise polynomials: exact, without quadrature."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.noise.simplices import (
    control_points,
    control_points_on,
    gradients,
    mass_matrix,
    stiffness_tensor,
    weighted_mass_tensor,
)


@dataclass(frozen=True)
class Space:
    """Continuous piecewise polynomials of one degree on a mesh that vanish on its outer facets, in Bernstein form."""

    mesh: Mesh
    degree: int

    @cached_property
    def numbers(self) -> Array:
        """The control points of each cell."""
        return control_points(self.mesh.cells, self.degree)[0]

    @cached_property
    def count(self) -> int:
        """How many control points there are."""
        return control_points(self.mesh.cells, self.degree)[1]

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
        from scipy.sparse import csr_matrix

        size = self.numbers.shape[1]
        rows = np.repeat(self.numbers, size, axis=1).reshape(-1)
        columns = np.tile(self.numbers, (1, size)).reshape(-1)
        whole = csr_matrix((local.reshape(-1), (rows, columns)), shape=(self.count, self.count))
        return whole[self.free][:, self.free].tocsc()
