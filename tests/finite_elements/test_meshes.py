"""Meshes cover their region once, and neighbours share whole facets."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import angles, graded, polygon_mesh, polytope_mesh
from errorfloor.support import Polygon, Polytope

CUBE = Polytope(A=np.vstack([np.eye(3), -np.eye(3)]), b=np.ones(6))


def cube_mesh():
    corners = CUBE.facets.center + CUBE.facets.size * CUBE.facets.corners
    return polytope_mesh(corners)


def assert_conforming(mesh):
    """No facet belongs to three cells, and no vertex lies inside another cell's edge."""
    size = mesh.cells.shape[1]
    facets = np.concatenate([np.delete(mesh.cells, i, axis=1) for i in range(size)])
    assert np.unique(facets, axis=0, return_counts=True)[1].max() <= 2
    edges = np.unique(np.concatenate([mesh.cells[:, [i, j]] for i in range(size) for j in range(i)]), axis=0)
    middles = (mesh.vertices[edges[:, 0]] + mesh.vertices[edges[:, 1]]) / 2
    known = {tuple(v) for v in mesh.vertices.round(12).tolist()}
    assert not known & {tuple(v) for v in middles.round(12).tolist()}
    assert mesh.volumes.min() > 0


@given(st.lists(st.floats(0.2, 1.0), min_size=3, max_size=14))
def test_star_shaped_polygons_are_covered_once(radii):
    turn = 2 * math.pi * np.arange(len(radii)) / len(radii)
    corners = np.array(radii)[:, None] * np.column_stack([np.cos(turn), np.sin(turn)])
    polygon = Polygon(corners)
    mesh = polygon_mesh(polygon.vertices)
    assert mesh.volumes.sum() == pytest.approx(polygon.volume, rel=1e-12)
    assert_conforming(mesh)
    assert polygon.contains(mesh.corners.mean(axis=1)).all()


def test_a_corner_that_is_nearly_none_counts_far_from_the_origin_too():
    """A hull drops it there; the mesh would be smaller than the support, and lower bounds those of a smaller one."""
    turn = 2 * math.pi * np.arange(10) / 10
    corners = np.column_stack([np.cos(turn), np.sin(turn)])
    corners = np.insert(corners, 1, corners[:2].mean(axis=0) * (1 + 1e-7), axis=0) + np.array([1e8, 0.0])
    assert set(map(tuple, corners)) <= set(map(tuple, polygon_mesh(corners).vertices))


def test_grading_halves_triangles_at_the_re_entrant_corner_only():
    corners = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], dtype=float)
    mesh = graded(polygon_mesh(corners), corners, corners, 1e-8)
    assert_conforming(mesh)
    assert mesh.volumes.sum() == pytest.approx(3, rel=1e-13)
    small = mesh.diameters < 1e-3
    assert small.any()
    assert (np.linalg.norm(mesh.corners[small].mean(axis=1) - 1, axis=1) < 1e-2).all()
    assert angles(corners) == pytest.approx([math.pi / 2] * 3 + [3 * math.pi / 2] + [math.pi / 2] * 2)


def test_bisection_in_space_keeps_the_mesh_conforming():
    mesh = cube_mesh()
    generator = np.random.default_rng(1)
    for _ in range(5):
        mesh = mesh.refined(generator.random(len(mesh.cells)) < 0.3)
        assert_conforming(mesh)
        assert mesh.volumes.sum() == pytest.approx(8, rel=1e-13)


def test_walls_are_recognised_after_refinement():
    square = Mesh.of(
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]),
        np.array([[0, 1, 2], [1, 2, 3]]),
        np.array([[1.0, 0.0, 1.0]]),
    )
    for _ in range(4):
        square = square.refined()
    cell, opposite = square.outer
    facets = np.array([np.delete(square.cells[c], i) for c, i in zip(cell, opposite, strict=True)])
    assert (square.insulated == (square.vertices[facets][:, :, 0] == 1).all(axis=1)).all()
