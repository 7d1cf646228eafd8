"""Meshes of simplices, in coordinates that make the query's K the identity."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.bisection import bisected
from errorfloor.noise.simplices import outer_facets, volumes

ON_WALL = 1e-9  # relative to the mesh's size: a facet this close to a wall lies on it


@dataclass(frozen=True)
class Mesh:
    """A conforming mesh; ``cells`` lists corners in rising order.

    Where an unbounded support was cut off, ``walls`` holds the planes normal·z = offset of the cuts, a row (normal,
    offset) each, the normal of unit length.
    """

    vertices: Array
    cells: Array
    walls: Array | None = None

    @classmethod
    def of(cls, vertices: Array, cells: Array, walls: Array | None = None) -> "Mesh":
        """Sort the corners of every cell, and leave out vertices that no cell uses."""
        used, compact = np.unique(cells, return_inverse=True)
        return cls(np.asarray(vertices)[used], np.sort(compact.reshape(cells.shape), axis=1), walls)

    @cached_property
    def corners(self) -> Array:
        """The corners' coordinates: (cell, corner, coordinate)."""
        return np.asarray(self.vertices[self.cells])

    @cached_property
    def volumes(self) -> Array:
        """The volume of each cell."""
        return volumes(self.corners)

    @cached_property
    def diameters(self) -> Array:
        """The longest edge of each cell."""
        first, second = np.triu_indices(self.cells.shape[1], 1)
        edges = self.corners[:, first] - self.corners[:, second]
        return np.asarray(np.linalg.norm(edges, axis=2).max(axis=1))

    @cached_property
    def outer(self) -> tuple[Array, Array]:
        """The outer facets: their cells, and the corners that they lie opposite to."""
        return outer_facets(self.cells)

    @cached_property
    def insulated(self) -> Array:
        """Which outer facets lie on a wall. One too many does no harm to a bound, one too few would."""
        cell, opposite = self.outer
        if self.walls is None:
            return np.zeros(len(cell), dtype=bool)
        height = np.abs(self.vertices @ self.walls[:, :-1].T - self.walls[:, -1])
        on_wall = (height <= ON_WALL * np.ptp(self.vertices, axis=0).max())[self.cells[cell]]
        on_wall[np.arange(len(cell)), opposite] = True
        return np.asarray(on_wall.all(axis=1).any(axis=1))

    def refined(self, marked: Array | None = None) -> "Mesh":
        """Halve the marked cells (all of them by default), and neighbours as far as conformity asks for it."""
        chosen = np.ones(len(self.cells), dtype=bool) if marked is None else marked
        return Mesh.of(*bisected(self.vertices, self.cells, chosen), self.walls)

    def refined_to(self, size: float) -> "Mesh":
        """Refine until no cell is longer than ``size``."""
        mesh = self
        while (large := mesh.diameters > size).any():
            mesh = mesh.refined(large)
        return mesh


def cone(points: Array) -> tuple[Array, Array]:
    """Vertices and cells that fill the hull of some points: a cone over its faces, from the mean of all.

    Faces are cut into simplices that share whole facets, so the mesh is conforming.

    >>> cone(np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]]))[0][-1]
    array([1., 1.])
    """
    from scipy.spatial import ConvexHull

    faces = ConvexHull(points).simplices
    return np.vstack([points, points.mean(axis=0)]), np.column_stack([faces, np.full(len(faces), len(points))])
