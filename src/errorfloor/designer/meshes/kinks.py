"""Cut a mesh along a plane, so that a function with a kink there is smooth on every cell."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.noise.piecewise_cells import staircases

ON_PLANE = 1e-9  # relative to the mesh's size: a vertex this close to the plane is taken to lie on it


def cut_along(mesh: Mesh, normal: Array, offset: float = 0.0) -> Mesh:
    """Give a mesh of the same region none of whose cells has corners on both sides of normal·z = offset.

    >>> triangle = Mesh.of(np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2]]))
    >>> len(cut_along(triangle, np.array([1.0, 0.0])).cells)
    2
    """
    heights = mesh.vertices @ normal - offset
    size = float(np.linalg.norm(normal)) * float(np.ptp(mesh.vertices, axis=0).max())
    side = np.where(np.abs(heights) <= ON_PLANE * size, 0, np.sign(heights)).astype(int)
    first, second = np.triu_indices(mesh.cells.shape[1], 1)
    edges = np.unique(np.stack([mesh.cells[:, first], mesh.cells[:, second]], axis=2).reshape(-1, 2), axis=0)
    crossing = edges[side[edges[:, 0]] * side[edges[:, 1]] < 0]
    a, b = crossing.T
    share = (heights[a] / (heights[a] - heights[b]))[:, None]
    vertices = np.concatenate([mesh.vertices, (1 - share) * mesh.vertices[a] + share * mesh.vertices[b]])
    number = {(int(i), int(j)): len(mesh.vertices) + k for k, (i, j) in enumerate(crossing)}
    cells: list[list[int]] = []
    for cell, sides in zip(mesh.cells.tolist(), side[mesh.cells].tolist(), strict=True):
        cells += _parts(cell, sides, number)
    return Mesh.of(vertices, np.array(cells), mesh.walls)


def _parts(cell: list[int], sides: list[int], number: dict[tuple[int, int], int]) -> list[list[int]]:
    up, down = ([v for v, s in zip(cell, sides, strict=True) if s == sign] for sign in (1, -1))
    if not up or not down:
        return [cell]
    flat = [v for v, s in zip(cell, sides, strict=True) if s == 0]
    found = []
    for one, other in ((up, down), (down, up)):
        grid = [[v, *(number[min(v, w), max(v, w)] for w in other)] for v in one]
        found += [[*(grid[i][j] for i, j in path), *flat] for path in staircases(len(one), len(other) + 1)]
    return found
