"""Meshes of simplices, in coordinates that make the query's K the identity, and their refinement."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial import ConvexHull

from errorfloor.checks import Array
from errorfloor.noise.simplices import facet_numbers, outer_facets, volumes

ON_WALL = 1e-9  # relative to the mesh's size: a facet this close to a wall lies on it


def bisected(vertices: Array, cells: Array, marked: Array) -> tuple[Array, Array]:
    """Halve the marked cells, and others whose edges were halved, each at its own longest edge (Rivara).

    Among edges of equal length the one with the least vertex numbers counts as longest; lengths are compared after
    rounding, so that neighbours agree.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> vertices, cells = bisected(square, np.array([[0, 1, 2], [1, 2, 3]]), np.array([True, False]))
    >>> len(vertices), len(cells)
    (5, 4)
    """
    count = len(vertices)
    points = [vertices]
    halved = np.zeros(0, dtype=np.int64)  # keys of edges with a middle; number count + k belongs to edge k
    waiting = marked
    done = []
    while True:
        done.append(cells[~waiting])
        cells = cells[waiting]
        if not len(cells):
            cells = np.concatenate(done)
            waiting = _hangs(cells, halved)
            if not waiting.any():
                return np.concatenate(points), cells
            done = []
            continue
        everything = np.concatenate(points)
        edge = _longest_edge(everything, cells)
        fresh = np.setdiff1d(_keys(edge), halved)
        points.append((everything[fresh >> 32] + everything[fresh & (2**32 - 1)]) / 2)
        halved = np.concatenate([halved, fresh])
        order = np.argsort(halved)
        middle = count + order[np.searchsorted(halved[order], _keys(edge))]
        children = []
        for end in (0, 1):
            child = cells.copy()
            child[child == edge[:, end, None]] = middle
            children.append(np.sort(child, axis=1))
        cells = np.concatenate(children)
        waiting = _hangs(cells, halved)


def _edges(cells: Array) -> Array:
    first, second = np.triu_indices(cells.shape[1], 1)
    return np.stack([cells[:, first], cells[:, second]], axis=2)


def _longest_edge(vertices: Array, cells: Array) -> Array:
    edges = _edges(cells)
    length = np.linalg.norm(vertices[edges[..., 0]] - vertices[edges[..., 1]], axis=2)
    near = length >= length.max(axis=1, keepdims=True) * (1 - 1e-9)
    return np.asarray(edges[np.arange(len(cells)), near.argmax(axis=1)])


def _keys(edges: Array) -> Array:
    return np.asarray(edges[..., 0].astype(np.int64) << 32 | edges[..., 1].astype(np.int64))


def _hangs(cells: Array, halved: Array) -> Array:
    return np.asarray(np.isin(_keys(_edges(cells)), halved).any(axis=1))


def assembled(local: Array, numbers: Array, count: int) -> Any:
    """Add up small matrices, one a cell, in a sparse one of this size; ``numbers`` are the unknowns of each cell."""
    size = numbers.shape[1]
    rows, columns = np.repeat(numbers, size, axis=1).reshape(-1), np.tile(numbers, (1, size)).reshape(-1)
    return csr_matrix((local.reshape(-1), (rows, columns)), shape=(count, count))


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
    def facets(self) -> Array:
        """The facets of each cell by number, opposite to its corners in turn."""
        return facet_numbers(self.cells)

    @property
    def vanishing(self) -> Array:
        """The numbers of the facets on which functions vanish."""
        return np.asarray(self.facets[self.outer][~self.insulated])

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
    faces = ConvexHull(points).simplices
    return np.vstack([points, points.mean(axis=0)]), np.column_stack([faces, np.full(len(faces), len(points))])
