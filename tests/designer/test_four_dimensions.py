"""Shapes in four dimensions that are no products: simplices against alcoves, draws against their density."""

import itertools
import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.alcoves import KINDS, alcove, bound_on_simplex
from errorfloor.designer.around import bound_around
from errorfloor.designer.finite_elements import ground_state as elements
from errorfloor.designer.finite_elements.polytope_mesh import polytope_mesh
from errorfloor.designer.four_dimensions import ground_state
from errorfloor.noise import Loss, Piecewise
from errorfloor.noise.piecewise_bernstein import exponents

CORNER = np.vstack([np.zeros(4), np.eye(4)])
REGULAR = np.vstack([np.eye(4), np.full(4, (1 + math.sqrt(5)) / 4)])


@pytest.mark.parametrize(("kind", "m"), [(kind, m) for m in (2, 3) for kind in KINDS[m]])
def test_alcoves_have_the_ground_state_that_elements_find(kind, m):
    corners, value = alcove(kind, m)
    found = elements(ef.Polytope(vertices=corners), np.eye(m), tolerance=1e-3, certify=False)
    assert 4 * value * (1 - 1e-9) <= found.value <= 4 * value * (1 + 2e-2)
    assert bound_on_simplex(corners, np.eye(m)) == pytest.approx(4 * value, rel=1e-6)


def test_the_path_simplex_is_an_alcove_in_four_dimensions():
    path = np.vstack([np.zeros(4), np.tril(np.ones((4, 4)))])
    assert bound_on_simplex(path, np.eye(4)) == pytest.approx(4 * math.pi**2 * (1 + 4 + 9 + 16), rel=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_on_random_simplices_lie_below_what_elements_reach(seed):
    generator = np.random.default_rng(seed)
    m = 2 + seed % 2
    corners = generator.normal(size=(m + 1, m))
    K = np.cov(generator.normal(size=(m, 9)))
    found = elements(ef.Polytope(vertices=corners), K, tolerance=1e-3, certify=False)
    lower = bound_on_simplex(corners, K)
    assert 0.2 * found.value < lower <= found.value


def test_bounds_do_not_depend_on_names_of_corners_or_units():
    K = np.eye(4) + 0.2
    plain = bound_on_simplex(CORNER, K)
    turned = bound_on_simplex(3.0 * CORNER[[2, 0, 4, 1, 3]] - 7.0, 9.0 * K)
    assert turned == pytest.approx(plain, rel=1e-2)  # chords in fixed directions differ a little


@pytest.mark.parametrize("corners", [CORNER, REGULAR], ids=["corner", "regular"])
def test_simplices_are_certified_closely(corners):
    noise = ef.design(ef.Polytope(vertices=corners))
    assert noise.certificate.gap < 0.05
    assert noise.certificate.value == pytest.approx(float(np.trace(noise.information)), rel=1e-12)


def test_a_cross_polytope_lies_between_its_mesh_and_a_box_around():
    support = ef.Polytope(vertices=np.vstack([np.eye(4), -np.eye(4)]))
    found = ef.design(support).certificate
    assert found.gap < 0.2
    inside = ef.design(ef.Box(np.full(4, -0.25), np.full(4, 0.25))).certificate.value  # touches the faces
    assert found.value < inside


def test_pulled_faces_fill_a_polytope_without_overlap():
    support = ef.Polytope(A=np.vstack([np.eye(4), -np.eye(4), np.ones((1, 4))]), b=np.r_[np.ones(8), 2.5])
    corners = support.facets.center + support.facets.size * support.facets.corners
    mesh = polytope_mesh(*support.half_spaces, corners)
    assert mesh.volumes.sum() == pytest.approx(support.volume, rel=1e-12)
    # every outer facet lies on a face, so no inner one is left unmatched
    A, b = support.half_spaces
    cell, opposite = mesh.outer
    middles = (mesh.corners[cell].sum(axis=1) - mesh.corners[cell, opposite]) / 4
    assert np.abs(middles @ A.T - b).min(axis=1).max() < 1e-9


def test_draws_have_the_moments_of_the_density_in_four_dimensions():
    lattice = np.array(exponents(4, 6))
    values = np.where((lattice > 0).all(axis=1), 1.7 - lattice[:, 0], 0.0)  # some are negative
    noise = Piecewise(ef.Polytope(vertices=CORNER), CORNER, [[0, 1, 2, 3, 4]], 6, _numbered(values))
    assert (values < 0).any()
    w = noise.sample(20_000, rng=3)
    spread = np.sqrt(np.diag(noise.covariance) / len(w))
    assert (np.abs(w.mean(axis=0) - noise.mean) < 7 * spread).all()
    assert np.allclose(np.cov(w.T), noise.covariance, atol=8 * np.diag(noise.covariance).max() / math.sqrt(len(w)))
    assert noise.support.contains(w).all()


def _numbered(values):
    from errorfloor.noise.piecewise_cells import control_points

    numbers, count = control_points(np.array([[0, 1, 2, 3, 4]]), 6)
    out = np.zeros(count)
    out[numbers[0]] = values
    return out


def test_a_bound_on_the_loss_is_met_in_four_dimensions():
    support = ef.Polytope(vertices=2 * CORNER - 0.3)
    noise = ef.design(support, max_loss=0.095)
    assert noise.expected_loss() == pytest.approx(0.095, rel=1e-10)
    assert 0 < noise.certificate.gap < 0.3


def test_an_unbounded_orthant_cut_by_a_face_costs_more_than_the_orthant():
    orthant = ef.design(ef.Orthant(4), loss_weight=2.0).certificate.value
    A, b = np.vstack([-np.eye(4), np.r_[1.0, -1.0, -1.0, -1.0]]), np.r_[np.zeros(4), 0.5]
    found = ground_state(ef.Polytope(A=A, b=b), np.eye(4), Loss.parse("squared", 4), 2.0, tolerance=1e-3)
    assert orthant * (1 - 1e-9) <= found.lower_bound <= found.value
    assert found.gap < 0.2


def test_a_split_of_the_query_bounds_a_loss_from_below():
    support = ef.Polytope(vertices=2 * CORNER - 0.3)
    free = bound_around(support, np.eye(4), None, 0.0)[0]
    both = bound_around(support, np.eye(4), Loss.parse("squared", 4), 50.0)[0]
    found = ground_state(support, np.eye(4), Loss.parse("squared", 4), 50.0, tolerance=1e-3, certify=False)
    assert free < both <= found.value
    assert all(a < b for a, b in itertools.pairwise([2 * 4 * math.sqrt(50.0), both]))  # more than all of space costs
