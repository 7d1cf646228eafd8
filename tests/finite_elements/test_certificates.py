"""Lower bounds stay below, whatever they are asked about, and every piece of their proof holds by itself."""

import itertools
import math

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import jn_zeros

from errorfloor.designer.bounds.crouzeix_raviart import (
    eigenvalue_bound,
    interpolation_constants,
    number_below,
)
from errorfloor.designer.bounds.enclosure import level_in_box, reach_of, share_of_diagonal
from errorfloor.designer.bounds.residual import from_residual, least_potential
from errorfloor.designer.elements.flux import _inner_flux, reference
from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.designer.elements.solver import Discretisation, Space
from errorfloor.designer.meshes.mesh import Mesh
from errorfloor.designer.meshes.region import Isotropic, bounded_region, truncated_region, truncating_walls
from errorfloor.noise import Loss
from errorfloor.noise.simplices import exponents, mass_matrix, product
from errorfloor.support import Ball, Ellipsoid, Orthant, Polygon, Polytope, Reals

PENTAGON = Polygon([[0, 0], [2, 0], [2, 1], [1, 2.5], [-0.5, 1]])
SQUARE = Polygon([[0, 0], [math.pi, 0], [math.pi, math.pi], [0, math.pi]])


def dense_levels(problem, mesh, weight, degree=6):
    """The least eigenvalues in a rich space, which lie above the true ones and close to them."""
    space = Space(mesh, degree)
    form = space.stiffness + weight * space.weighted_mass(problem.potential(mesh))
    return eigh(form.toarray(), space.mass.toarray(), eigvals_only=True, subset_by_index=[0, 3])


def test_crouzeix_raviart_bounds_lie_below_and_converge_at_second_order():
    mesh = bounded_region(Isotropic(SQUARE, np.eye(2), None)).coarse
    off = []
    for _ in range(3):
        mesh = mesh.refined().refined()
        bounds = [eigenvalue_bound(mesh, np.zeros(len(mesh.cells)), which) for which in range(4)]
        assert all(bound <= level for bound, level in zip(bounds, [2, 5, 5, 8], strict=True))
        off.append(2 - bounds[0])
    assert 3.0 < off[1] / off[2] < 4.5


def test_crouzeix_raviart_bounds_lie_below_with_a_potential_and_in_space():
    problem = Isotropic(PENTAGON, np.eye(2), Loss.parse("squared", 2))
    mesh = bounded_region(problem).coarse
    levels = dense_levels(problem, mesh, 40.0)
    for _ in range(3):
        mesh = mesh.refined().refined()
        least = (40.0 * problem.potential(mesh)).min(axis=1).clip(min=0)
        for which, ceiling in itertools.product((0, 1, 2), (math.inf, 1.5 * levels[2])):
            bound = eigenvalue_bound(mesh, least, which, ceiling)
            assert 0.2 * levels[which] < bound < levels[which]
    cube = Polytope(A=np.vstack([np.eye(3), -np.eye(3)]), b=np.full(6, math.pi / 2))
    space_mesh = bounded_region(Isotropic(cube, np.eye(3), None)).coarse.refined_to(0.9)
    assert 1.8 < eigenvalue_bound(space_mesh, np.zeros(len(space_mesh.cells)), 0) < 3
    assert 3.2 < eigenvalue_bound(space_mesh, np.zeros(len(space_mesh.cells)), 1) < 6


def test_interpolation_constants_hold_for_functions_with_mean_zero_on_every_facet():
    generator = np.random.default_rng(7)
    for m in (2, 3):
        corners = generator.normal(size=(m + 1, m))
        mesh = Mesh(corners, np.arange(m + 1)[None])
        degree = 5
        space = Space(mesh, degree)
        object.__setattr__(space, "free", np.arange(space.count))
        stiffness, mass = space.stiffness.toarray(), space.mass.toarray()
        lattice = space.numbers[0]
        from errorfloor.noise.simplices import exponents

        on = np.array(exponents(m, degree))
        constraints = np.zeros((m + 1, space.count))
        for i in range(m + 1):  # the mean over a facet is that of its control values
            constraints[i, lattice[on[:, i] == 0]] = 1
        free = np.linalg.svd(constraints)[2][m + 1 :].T
        least = eigh(free.T @ stiffness @ free, free.T @ mass @ free, eigvals_only=True)[0]
        assert 1 / least <= interpolation_constants(mesh)[0]


def test_inertia_counts_the_eigenvalues_below():
    mesh = bounded_region(Isotropic(PENTAGON, np.eye(2), None)).coarse.refined()
    space = Space(mesh, 2)
    levels = eigh(space.stiffness.toarray(), space.mass.toarray(), eigvals_only=True)
    for k in range(6):
        assert number_below(space.stiffness, space.mass, (levels[k] + levels[k + 1]) / 2) == k + 1


def test_a_thin_cell_does_not_keep_eigenvalues_from_being_counted():
    side = math.pi
    corners = np.array([[0, 0], [side, 0], [side, side], [0, side], [side / 2, 2e-4]])
    thin = Mesh.of(corners, np.array([[0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]])).refined_to(0.4)
    assert (thin.volumes / thin.diameters**2).min() < 1e-4
    for which, level in enumerate([2, 5]):
        assert 0.8 * level < eigenvalue_bound(thin, np.zeros(len(thin.cells)), which) < level


def test_residual_bound_holds_for_random_operators_and_trial_vectors():
    generator = np.random.default_rng(3)
    for _ in range(300):
        n = 6
        levels = np.sort(generator.uniform(1, 30, n))
        trial = np.concatenate([[1.0], generator.normal(scale=generator.uniform(0, 0.5), size=n - 1)])
        trial /= np.linalg.norm(trial)
        quotient = float(levels @ trial**2)
        residual = float(((levels - quotient) ** 2 / levels) @ trial**2)
        second = generator.uniform(levels[0], levels[1])
        if quotient < second:
            assert from_residual(quotient, residual * (1 - 1e-12), second) <= levels[0] * (1 + 1e-9)


def test_balanced_flux_bounds_the_residual_seen_by_a_richer_space():
    for loss, weight in ((None, 0.0), (Loss.parse("squared", 2), 25.0)):
        problem = Isotropic(PENTAGON, np.array([[1.0, 0.6], [0.6, 2.0]]), loss)
        mesh = bounded_region(problem).coarse
        trial = Discretisation(problem, Space(mesh, 3)).solve(weight)
        # the same trial function in a space of degree 7, by evaluating it there
        rich = Space(mesh, 7)
        values = _raised(trial.values[trial.space.numbers], 3, 7)
        vector = np.zeros(rich.count)
        vector[rich.numbers] = values
        form = rich.stiffness + weight * rich.weighted_mass(problem.potential(mesh))
        left = form @ vector[rich.free] - trial.quotient * (rich.mass @ vector[rich.free])
        seen = float(left @ np.linalg.solve(form.toarray(), left))
        assert seen <= trial.residual.sum() <= 30 * seen


def _raised(local, low, high):
    """Bernstein coefficients of a higher degree: multiply by one."""
    from errorfloor.noise.simplices import exponents, product

    ones = np.ones((len(local), len(exponents(2, high - low))))
    return product(2, local, low, ones, high - low)


def test_box_around_the_support_bounds_the_second_level():
    for loss, weight in ((None, 0.0), (Loss.parse("squared", 2), 6.0), (Loss.parse(np.diag([1.0, 9.0]), 2), 60.0)):
        problem = Isotropic(PENTAGON, np.array([[1.0, 0.6], [0.6, 2.0]]), loss)
        mesh = bounded_region(problem).coarse
        levels = dense_levels(problem, mesh, weight)
        for which in (0, 1):
            bound = level_in_box(problem, weight, reach_of(mesh.vertices), 10 * levels[0], which)
            assert 0.3 * levels[which] < bound < levels[which]


def test_lower_bounds_stay_below_richer_trial_functions(design):
    assert 0 < design.lower_bound <= design.value
    assert design.gap < 1e-3
    assert "lower bound" in design.proof


def test_shifted_and_stretched_ellipses_are_bounded_by_inclusion():
    """An ellipse between two discs, and one that the loss pushes to its edge."""
    ellipse = Ellipsoid(np.diag([1.21, 1.0]))
    found = ground_state(ellipse, np.eye(2))
    zero = float(jn_zeros(0, 1)[0])
    assert 4 * zero**2 / 1.21 < found.lower_bound <= found.value < 4 * zero**2
    pushed = ground_state(Ball(2, 1.0, [3.0, 0.0]), np.eye(2), Loss.parse("squared", 2), 200.0)
    assert pushed.gap < 1e-3
    assert pushed.noise.mean[0] < 3


def test_a_stretched_ellipse_off_the_centre_has_a_second_level_on_a_polygon_around_it():
    body = Ellipsoid(np.diag([4.0, 0.2]), [0.3, 0.1])
    found = ground_state(body, np.array([[1.6, 0.6], [0.6, 1.6]]), Loss.parse("squared", 2), 10.0)
    assert found.gap < 1e-6
    assert "Crouzeix–Raviart elements bounding the second eigenvalue" in found.proof


def test_without_certify_no_bound_is_claimed():
    assert ground_state(PENTAGON, np.eye(2), certify=False).lower_bound is None


def test_a_share_of_the_diagonal_lies_below_the_query():
    generator = np.random.default_rng(11)
    for m in (1, 2, 3, 4):
        root = generator.normal(size=(m, m))
        K = root @ root.T
        rest = K - share_of_diagonal(K) * np.diag(np.diag(K))
        assert -1e-13 * np.trace(K) <= np.linalg.eigvalsh(rest)[0] <= 1e-8 * np.trace(K)


@pytest.mark.parametrize(("m", "low", "high"), [(2, 3, 6), (2, 7, 10), (3, 1, 5), (3, 3, 7)])
def test_inner_fluxes_have_the_divergence_that_is_left_and_do_not_leave(m, low, high):
    table, found = reference(m, high + 1), _inner_flux(m, low, high)
    f = np.random.default_rng(0).normal(size=found.shape[2])
    flux = found.reshape(-1, found.shape[2]) @ f
    moments = table.divergence @ flux
    wanted = mass_matrix(m, high) @ f
    assert np.abs(_one_higher(m, low, high) @ moments).max() < 1e-12 * np.abs(wanted).max()
    polynomial = np.linalg.solve(
        mass_matrix(m, high), wanted - moments
    )  # what is not in the divergence is of low degree
    lower = np.linalg.lstsq(_one_higher(m, low, high).T, polynomial, rcond=None)
    assert lower[1].sum() < 1e-16 * np.abs(f).max()
    assert np.abs(table.facets @ flux).max() < 1e-13 * np.abs(flux).max()


def _one_higher(m, low, high):
    """The Bernstein polynomials of one degree in those of a higher one: multiply by one."""
    ones = np.ones((len(exponents(m, low)), len(exponents(m, high - low))))
    return product(m, np.eye(len(ones)), low, ones, high - low)


@pytest.mark.parametrize("support", [Reals(2), Orthant(2)])
def test_cells_and_walls_lie_below_an_absolute_loss(support):
    weight, generator = 2.0, np.random.default_rng(4)
    problem = Isotropic(support, np.array([[1.0, 0.6], [0.6, 2.0]]), Loss.parse("absolute", 2))
    region = truncated_region(problem, weight, 3.0)
    inside = np.einsum("qi,cik->cqk", generator.dirichlet(np.ones(3), 20), region.coarse.corners) @ problem.root.T
    exact = weight / 4 * np.abs(inside).sum(axis=2)
    least = least_potential(problem, region.coarse, weight)
    assert (least[:, None] <= exact + 1e-12).all()
    assert least.max() > 1
    far = generator.normal(size=(5000, 2)) * 40
    normals, offsets = truncating_walls(problem, weight, 3.0)
    beyond = (far @ normals.T > offsets).any(axis=1)
    assert (np.abs(far[beyond] @ problem.root.T).sum(axis=1) / 4 >= region.outside).all()
    assert region.outside > 0
