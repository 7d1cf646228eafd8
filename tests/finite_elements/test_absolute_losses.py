"""Absolute losses: meshes along their kinks, levels in boxes, and fluxes."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import ai_zeros

from errorfloor.designer.bounds.enclosure import level_in_box, reach_of, share_of_diagonal
from errorfloor.designer.elements.assembly import Space
from errorfloor.designer.elements.flux import _inner_flux, reference
from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.polyhedra import Polyhedra
from errorfloor.designer.meshes.region import bounded_region
from errorfloor.noise import Loss
from errorfloor.noise.piecewise_bernstein import exponents, mass_matrix, product
from errorfloor.support import Polygon, Polytope, Reals

PENTAGON = Polygon([[-1, -1], [2, -1], [2, 1], [1, 2.5], [-1.5, 1]])
CORRELATED = np.array([[1.0, 0.6], [0.6, 2.0]])
ABSOLUTE = Loss.parse("absolute", 2)
WEDGE = Polytope(A=[[-1.0, 0, 0], [0.5, -1, 0]], b=[0.5, 0.5])
FLAT_WEDGE = Polytope(A=[[-1.0, 0], [0.5, -1]], b=[0.5, 0.5])


def raised(local, m, low, high):
    """Bernstein coefficients of a higher degree: multiply by one."""
    return product(m, local, low, np.ones((len(local), len(exponents(m, high - low)))), high - low)


def dense_levels(problem, mesh, weight, degree=7):
    space = Space(mesh, degree)
    form = space.stiffness + weight * space.weighted_mass(problem.potential(mesh))
    return eigh(form.toarray(), space.mass.toarray(), eigvals_only=True, subset_by_index=[0, 3])


def test_a_share_of_the_diagonal_lies_below_the_query():
    generator = np.random.default_rng(11)
    for m in (1, 2, 3, 4):
        root = generator.normal(size=(m, m))
        K = root @ root.T
        rest = K - share_of_diagonal(K) * np.diag(np.diag(K))
        assert -1e-13 * np.trace(K) <= np.linalg.eigvalsh(rest)[0] <= 1e-8 * np.trace(K)


@pytest.mark.parametrize("weight", [6.0, 60.0])
def test_lines_bound_both_levels_of_an_absolute_loss(weight):
    problem = Isotropic(PENTAGON, CORRELATED, ABSOLUTE)
    mesh = bounded_region(problem).coarse
    levels = dense_levels(problem, mesh, weight)
    for which in (0, 1):
        bound = level_in_box(problem, weight, reach_of(mesh.vertices), 10 * levels[0], which)
        assert 0.5 * levels[which] < bound < levels[which]


@pytest.mark.parametrize(("m", "low", "high"), [(2, 3, 6), (2, 7, 10), (3, 1, 5), (3, 3, 7)])
def test_inner_fluxes_have_the_divergence_that_is_left_and_do_not_leave(m, low, high):
    table, found = reference(m, high + 1), _inner_flux(m, low, high)
    f = np.random.default_rng(0).normal(size=found.shape[2])
    flux = found.reshape(-1, found.shape[2]) @ f
    moments = table.divergence @ flux
    wanted = mass_matrix(m, high) @ f
    assert np.abs(raised(np.eye(len(exponents(m, low))), m, low, high) @ moments).max() < 1e-12 * np.abs(wanted).max()
    polynomial = np.linalg.solve(
        mass_matrix(m, high), wanted - moments
    )  # what is not in the divergence is of low degree
    lower = np.linalg.lstsq(raised(np.eye(len(exponents(m, low))), m, low, high).T, polynomial, rcond=None)
    assert lower[1].sum() < 1e-16 * np.abs(f).max()
    assert np.abs(table.facets @ flux).max() < 1e-13 * np.abs(flux).max()


def test_pieces_of_a_polyhedron_meet_face_to_face_and_lie_on_one_side_of_each_plane():
    generator = np.random.default_rng(2)
    for _ in range(5):
        body = Polytope(vertices=generator.normal(size=(9, 3)))
        A, b = body.half_spaces
        planes = np.linalg.qr(generator.normal(size=(3, 3)))[0]
        pieces = Polyhedra.of(A, b, body.facets.center + body.facets.size * body.facets.corners)
        whole = pieces.mesh().volumes.sum()
        for plane in planes:
            pieces = pieces.cut_along(plane)
        mesh = pieces.mesh()
        assert mesh.volumes.sum() == pytest.approx(whole, rel=1e-12)
        heights = mesh.corners @ planes.T
        assert not ((heights.max(axis=1) > 1e-9) & (heights.min(axis=1) < -1e-9)).any()
        cell, opposite = mesh.outer
        for c, o in zip(cell, opposite, strict=True):  # an outer facet lies in the boundary: no facet hangs inside
            face = np.delete(mesh.corners[c], o, axis=0)
            assert (np.abs(face @ A.T - b) < 1e-9).all(axis=0).any()


def test_a_mean_over_cells_on_one_side_is_that_of_the_rule():
    found = ground_state(PENTAGON, CORRELATED, ABSOLUTE, 20.0, tolerance=1e-4, certify=False).noise
    everything = np.arange(len(found.cells))
    for direction, offset in ((np.array([1.0, 0.0]), 0.0), (np.array([0.3, -0.8]), 0.2)):
        by_rule = found._mean_across(everything, found._corners @ direction + offset)
        assert found._mean_absolute(direction, offset) == pytest.approx(by_rule, rel=1e-13)


def test_a_wedge_in_space_is_that_of_the_plane_and_a_line():
    flat = ground_state(FLAT_WEDGE, np.eye(2), ABSOLUTE, 2.0)
    exact = flat.value + 4 * float(-ai_zeros(1)[1][0]) * 0.5 ** (2 / 3)
    found = ground_state(WEDGE, np.eye(3), Loss.parse("absolute", 3), 2.0, tolerance=1e-2, certify=False)
    assert exact < found.value < exact * 1.002


def test_all_of_space_is_three_airy_functions():
    exact = 12 * float(-ai_zeros(1)[1][0]) * 0.5 ** (2 / 3)
    found = ground_state(Reals(3), np.eye(3), Loss.parse("absolute", 3), 2.0, tolerance=2e-3)
    assert exact * (1 - 1e-2) < found.lower_bound < exact < found.value < exact * (1 + 2e-3)


def test_a_correlated_wedge_has_a_second_level_above_the_first():
    K = np.array([[1.0, 0.8], [0.8, 1.0]])
    found = ground_state(FLAT_WEDGE, K, ABSOLUTE, 2.0, tolerance=1e-5)
    assert found.gap < 1e-3
    assert "Crouzeix–Raviart elements bounding the second eigenvalue" in found.proof
