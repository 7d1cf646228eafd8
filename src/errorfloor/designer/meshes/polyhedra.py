"""Cut a convex polyhedron along planes, and mesh the pieces: the cells follow the kinks of a loss from the start."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.polytopes import SAME, cyclic_order, distinct

Face = tuple[int, ...]  # corners in order around it


@dataclass(frozen=True)
class Polyhedra:
    """Convex polyhedra that meet face to face, each given by its faces; corners are shared."""

    vertices: Array
    pieces: tuple[tuple[Face, ...], ...]

    @classmethod
    def of(cls, normals: Array, offsets: Array, corners: Array) -> "Polyhedra":
        """The one polyhedron normals·z ≤ offsets, given its corners too."""
        size = float(np.ptp(corners, axis=0).max())
        corners = distinct(corners, SAME * size)
        length = np.linalg.norm(normals, axis=1)
        touching = np.abs(corners @ normals.T - offsets) <= SAME * size * length
        # a half-space that only touches an edge or a corner has no face
        found = {frozenset(np.flatnonzero(face).tolist()): n for face, n in zip(touching.T, normals, strict=True)}
        faces = [_ordered(corners, sorted(face), n) for face, n in found.items() if len(face) >= 3]
        return cls(corners, (tuple(faces),))

    def cut_along(self, normal: Array) -> "Polyhedra":
        """Cut every piece along the plane normal·z = 0; the parts meet face to face again."""
        heights = self.vertices @ normal
        size = float(np.linalg.norm(normal)) * float(np.ptp(self.vertices, axis=0).max())
        side = np.where(np.abs(heights) <= SAME * size, 0, np.sign(heights)).astype(int)
        edges = {tuple(sorted(edge)) for piece in self.pieces for face in piece for edge in _edges(face)}
        crossing = np.array(sorted((a, b) for a, b in edges if side[a] * side[b] < 0), dtype=int).reshape(-1, 2)
        a, b = crossing.T
        share = (heights[a] / (heights[a] - heights[b]))[:, None]
        vertices = np.concatenate([self.vertices, (1 - share) * self.vertices[a] + share * self.vertices[b]])
        between = {(int(i), int(j)): len(self.vertices) + k for k, (i, j) in enumerate(crossing)}
        side = np.concatenate([side, np.zeros(len(crossing), dtype=int)])
        pieces: list[tuple[Face, ...]] = []
        for piece in self.pieces:
            signs = {int(side[v]) for face in piece for v in face}
            if not {-1, 1} <= signs:
                pieces.append(piece)
                continue
            longer = [_with_crossings(face, between) for face in piece]
            on_plane = sorted({v for face in longer for v in face if side[v] == 0})
            section = _ordered(vertices, on_plane, normal)
            for sign in (1, -1):
                parts = (tuple(v for v in face if side[v] in (0, sign)) for face in longer)
                kept = (part for part in parts if len(part) >= 3 and any(side[v] for v in part))
                pieces.append((*kept, section))
        return Polyhedra(vertices, tuple(pieces))

    def mesh(self, walls: Array | None = None) -> Mesh:
        """Mesh the pieces without further vertices: every face, and every piece, is a fan from its first corner.

        First is the one nearest to 0. A face that two pieces share is cut up in the same way by both.
        """
        rank = np.argsort(np.argsort(np.linalg.norm(self.vertices, axis=1), kind="stable"))
        cells: list[list[int]] = []
        for piece in self.pieces:
            apex = min((v for face in piece for v in face), key=lambda v: rank[v])
            for face in piece:
                if apex not in face:
                    start = min(range(len(face)), key=lambda k: rank[face[k]])
                    cycle = face[start:] + face[:start]
                    cells += [[apex, cycle[0], cycle[k], cycle[k + 1]] for k in range(1, len(cycle) - 1)]
        return Mesh.of(self.vertices, np.array(cells), walls)


def _edges(face: Face) -> list[tuple[int, int]]:
    return list(zip(face, face[1:] + face[:1], strict=True))


def _with_crossings(face: Face, between: dict[tuple[int, int], int]) -> Face:
    """The corners of a face with the points at which the plane crosses its edges."""
    longer: list[int] = []
    for a, b in _edges(face):
        longer.append(a)
        crossing = between.get((min(a, b), max(a, b)))
        if crossing is not None:
            longer.append(crossing)
    return tuple(longer)


def _ordered(vertices: Array, members: list[int], normal: Array) -> Face:
    return tuple(members[k] for k in cyclic_order(vertices[members], normal).tolist())
