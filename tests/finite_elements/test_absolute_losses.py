"""Absolute losses in space: meshes along their kinks, levels on lines, and elements that count levels from below."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.optimize import brentq
from scipy.special import ai_zeros, airy

from errorfloor.designer.finite_elements import ground_state, hybrid
from errorfloor.designer.finite_elements.absolute import ON_THE_LINE, absolute_levels, diagonal_below
from errorfloor.designer.finite_elements.adaptive import Discretisation
from errorfloor.designer.finite_elements.assembly import Space
from errorfloor.designer.finite_elements.enclosure import level_in_box, reach_of
from errorfloor.designer.finite_elements.flux import _between, _inner_flux, reference
from errorfloor.designer.finite_elements.hybrid import eigenvalue_lies_above
from errorfloor.designer.finite_elements.lower_bound import lower_potential
from errorfloor.designer.finite_elements.mesh import Mesh
from errorfloor.designer.finite_elements.polyhedra import Polyhedra
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.region import bounded_region
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


def half_line_level(start, low, high):
    """A level of −u″ + |t|u on (start, ∞), start < 0, between two others: Airy functions that match at 0."""

    def at_the_wall(level):
        value, slope, _, _ = airy(-level)
        a, da, b, db = airy(-level)  # on t < 0: c·Ai(−t − λ) + d·Bi(−t − λ), whose slope at 0 is −c·Ai′ − d·Bi′
        c, d = np.linalg.solve([[a, b], [-da, -db]], [value, slope])
        left = airy(-start - level)
        return c * left[0] + d * left[2]

    return brentq(at_the_wall, low, high, xtol=1e-13)


def test_levels_on_the_line_are_zeros_of_airy_functions_rounded_down():
    zeros, of_slope, _, _ = ai_zeros(3)
    exact = np.sort(-np.concatenate([zeros, of_slope]))[:3]
    assert (exact - ON_THE_LINE >= 0).all() and (exact - ON_THE_LINE < 1e-8).all()


def test_levels_of_an_absolute_loss_on_half_lines_lie_below_and_near():
    problem = Isotropic(Reals(2), np.eye(2), ABSOLUTE)
    low, high = np.array([-0.4, -0.7]), np.full(2, math.inf)
    found = absolute_levels(problem, 4.0, low, high, 12.0, 2)
    for (first, second), start in zip(found, low, strict=True):
        exact = half_line_level(start, 1.02, 2.33), half_line_level(start, 2.34, 4.0)
        assert 0.99 * exact[0] < first <= exact[0]
        assert 0.99 * exact[1] < second <= exact[1]


def test_a_diagonal_below_the_query_is_below_and_no_worse_than_a_multiple_of_its_own():
    generator = np.random.default_rng(11)
    for m in (2, 3, 4, 3, 3):
        root = generator.normal(size=(m, m))
        K = root @ root.T
        d = diagonal_below(K)
        assert np.linalg.eigvalsh(K - np.diag(d))[0] >= -1e-13 * np.trace(K)
        unit = np.sqrt(np.diag(K))
        plain = np.linalg.eigvalsh(K / unit / unit[:, None])[0] * np.diag(K)
        assert np.cbrt(d).sum() >= np.cbrt(plain).sum() * (1 - 1e-9)


@pytest.mark.parametrize("weight", [6.0, 60.0])
def test_lines_bound_both_levels_of_an_absolute_loss(weight):
    problem = Isotropic(PENTAGON, CORRELATED, ABSOLUTE)
    mesh = bounded_region(problem).coarse
    levels = dense_levels(problem, mesh, weight)
    for which in (0, 1):
        bound = level_in_box(problem, weight, reach_of(mesh.vertices), 10 * levels[0], which)
        assert 0.5 * levels[which] < bound < levels[which]


@pytest.mark.parametrize("loss", [None, ABSOLUTE, Loss.parse("squared", 2)])
def test_hybrid_elements_place_levels_near_but_never_too_high(loss):
    problem, weight = Isotropic(PENTAGON, CORRELATED, loss), 30.0 if loss else 0.0
    coarse = bounded_region(problem).coarse
    levels = dense_levels(problem, coarse, weight)
    for size in (0.9, 0.45):
        mesh = coarse.refined_to(size)
        potential = lower_potential(problem, mesh, weight)
        for which in range(3):
            assert not eigenvalue_lies_above(mesh, potential, which, 1.0001 * levels[which])
    for which in range(3):
        assert eigenvalue_lies_above(mesh, potential, which, 0.97 * levels[which])


def test_hybrid_elements_in_space_and_with_walls_know_the_levels_of_a_cube():
    half = math.pi / 2
    cube = Polytope(A=np.vstack([np.eye(3), -np.eye(3)]), b=np.full(6, half))
    mesh = bounded_region(Isotropic(cube, np.eye(3), None)).coarse.refined_to(1.2)
    free = np.zeros((len(mesh.cells), 10))
    assert eigenvalue_lies_above(mesh, free, 0, 2.8)
    assert not eigenvalue_lies_above(mesh, free, 0, 3.001)
    open_end = Mesh(mesh.vertices, mesh.cells, np.array([[1.0, 0.0, 0.0, half]]))  # levels k²/4 + l² + n², k odd
    assert eigenvalue_lies_above(open_end, free, 0, 2.1)
    assert not eigenvalue_lies_above(open_end, free, 0, 2.251)
    assert not eigenvalue_lies_above(open_end, free, 1, 4.251)


@pytest.mark.parametrize("m", [2, 3])
def test_the_hybrid_form_of_projections_is_below_that_of_any_polynomial(m):
    generator = np.random.default_rng(5)
    r, high = hybrid.DEGREE, 6
    active = np.ones(1, dtype=bool)
    for _ in range(20):
        mesh = Mesh(generator.normal(size=(m + 1, m)), np.arange(m + 1)[None])
        potential = generator.uniform(0, 3, size=(1, len(exponents(m, 2))))
        target = generator.uniform(0.1, 0.6) * (math.pi / mesh.diameters[0]) ** 2
        room = (1 - hybrid.ON_FACETS) * (math.pi / mesh.diameters) ** 2 + potential.min() - target
        u = generator.normal(size=(1, len(exponents(m, high))))
        low_part = generator.normal(size=(1, len(exponents(m, r))))
        u = 0.1 * u + raised(low_part, m, r, high)
        v = np.linalg.solve(mass_matrix(m, r), _between(m, r, high) @ u[0])
        lattice = np.array(exponents(m, high))
        facets = [
            np.linalg.solve(mass_matrix(m - 1, r - 1), _between(m - 1, r - 1, high) @ u[0, lattice[:, i] == 0])
            for i in range(m + 1)
        ]
        projected = np.concatenate([v, *facets])
        kinetic, mass = hybrid._kinetic(mesh, active)
        form = kinetic[0] - target * mass[0]
        form[: len(v), : len(v)] += hybrid._potential(m, mesh.volumes, potential, room)[0]
        space = Space(mesh, high)
        object.__setattr__(space, "free", np.arange(space.count))
        whole = space.stiffness + space.weighted_mass(potential) - target * space.mass
        vector = np.zeros(space.count)
        vector[space.numbers[0]] = u[0]
        energy = float(vector @ (whole @ vector))
        assert projected @ form @ projected <= energy + 1e-9 * abs(energy)


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


def test_factors_of_a_weight_nearby_give_the_same_state():
    problem = Isotropic(PENTAGON, CORRELATED, ABSOLUTE)
    mesh = bounded_region(problem).coarse.refined_to(1.0)
    kept = Discretisation(problem, Space(mesh, 5))
    first = kept.solve(20.0, measured=False)
    for weight in (21.0, 20.5, 30.0):
        near = kept.solve(weight, first.values, measured=False)
        fresh = Discretisation(problem, Space(mesh, 5)).solve(weight, measured=False)
        assert near.quotient == pytest.approx(fresh.quotient, rel=1e-13)
        assert np.abs(near.values - fresh.values).max() < 1e-10 * np.abs(fresh.values).max()


def test_a_mean_over_cells_on_one_side_is_that_of_the_rule():
    found = ground_state(PENTAGON, CORRELATED, ABSOLUTE, 20.0, tolerance=1e-4, certify=False).noise
    everything = np.arange(len(found.cells))
    for direction, offset in ((np.array([1.0, 0.0]), 0.0), (np.array([0.3, -0.8]), 0.2)):
        by_rule = found._mean_across(everything, found._corners @ direction + offset)
        assert found._mean_absolute(direction, offset) == pytest.approx(by_rule, rel=1e-13)


def test_a_wedge_in_space_is_that_of_the_plane_and_a_line():
    flat = ground_state(FLAT_WEDGE, np.eye(2), ABSOLUTE, 2.0)
    exact = flat.value + 4 * float(-ai_zeros(1)[1][0]) * 0.5 ** (2 / 3)
    found = ground_state(WEDGE, np.eye(3), Loss.parse("absolute", 3), 2.0, tolerance=1e-2)
    assert exact * 0.98 < found.lower_bound < exact < found.value < exact * 1.002


def test_all_of_space_is_three_airy_functions():
    exact = 12 * float(-ai_zeros(1)[1][0]) * 0.5 ** (2 / 3)
    found = ground_state(Reals(3), np.eye(3), Loss.parse("absolute", 3), 2.0, tolerance=2e-3)
    assert exact * (1 - 1e-2) < found.lower_bound < exact < found.value < exact * (1 + 2e-3)


def test_a_correlated_wedge_has_a_second_level_above_the_first():
    K = np.array([[1.0, 0.8], [0.8, 1.0]])
    found = ground_state(FLAT_WEDGE, K, ABSOLUTE, 2.0, tolerance=1e-5)
    assert found.gap < 1e-3
    assert "hybrid elements bounding the second eigenvalue" in found.method
