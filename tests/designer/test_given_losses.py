"""Lower bounds for given convex losses on unbounded supports: from values of the loss alone, for the whole support."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer import finite_elements
from errorfloor.designer.finite_elements import given
from errorfloor.designer.finite_elements.adaptive import Discretisation
from errorfloor.designer.finite_elements.assembly import Space
from errorfloor.designer.finite_elements.convex import affine_below, least_value
from errorfloor.designer.finite_elements.given import levels_of_given
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.truncation import box_below, truncated_region
from errorfloor.noise import Loss
from errorfloor.noise.piecewise_bernstein import product

K = np.array([[1.0, 0.4], [0.4, 0.8]])


def kinked(w):
    return np.abs(w).max(axis=-1) + (np.asarray(w) ** 2).sum(axis=-1)


def absolute(w):
    return np.abs(w).sum(axis=-1)


def square(w):
    return (np.asarray(w) ** 2).sum(axis=-1)


def state(support, sensitivity, loss, weight=2.0):
    return finite_elements.ground_state(support, sensitivity, Loss(None, loss), weight, tolerance=1e-5)


def least_by_hermite_functions(sensitivity, loss, weight, count=26):
    """The least J + ϱQ among products of Hermite functions, in the plane: a value of other noises, by a fine grid."""
    x, step = np.linspace(-9, 9, 901, retstep=True)
    basis = [math.pi**-0.25 * np.exp(-(x**2) / 2)]
    basis.append(math.sqrt(2) * x * basis[0])
    for n in range(1, count):
        basis.append(math.sqrt(2 / (n + 1)) * x * basis[n] - math.sqrt(n / (n + 1)) * basis[n - 1])
    up = np.sqrt(np.arange(1, count + 1) / 2)
    slope = np.array([(up[n - 1] * basis[n - 1] if n else 0) - up[n] * basis[n + 1] for n in range(count)])
    values = np.array(basis[:count])
    first, second = slope @ values.T * step, slope @ slope.T * step
    form = 4 * (sensitivity[0, 0] * np.kron(second, np.eye(count)) + sensitivity[1, 1] * np.kron(np.eye(count), second))
    form += 4 * sensitivity[0, 1] * (np.kron(first, first.T) + np.kron(first.T, first))
    height = weight * loss(np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1))
    pairs = np.einsum("ix,jx->ijx", values, values).reshape(count**2, -1) * step
    potential = (pairs @ height @ pairs.T).reshape(count, count, count, count)
    form += potential.transpose(0, 2, 1, 3).reshape(count**2, count**2)
    return float(np.linalg.eigvalsh((form + form.T) / 2)[0])


@pytest.mark.parametrize("sensitivity", [np.eye(2), K])
def test_a_kinked_loss_on_the_plane_is_bounded_below_other_noises(sensitivity):
    found = state(ef.Reals(2), sensitivity, kinked)
    other = least_by_hermite_functions(sensitivity, kinked, 2.0)
    assert found.lower_bound <= other * (1 + 1e-9)
    assert other == pytest.approx(found.value, rel=1e-3)
    assert found.gap < 3e-4


def test_a_given_square_is_bounded_below_the_harmonic_oscillator():
    exact = ef.design(ef.Reals(2), sensitivity=K, loss_weight=2.0).certificate.value
    found = state(ef.Reals(2), K, square)
    assert exact * (1 - 3e-4) < found.lower_bound <= exact


def test_a_given_absolute_loss_is_bounded_below_two_airy_functions():
    exact = 2 * ef.design(ef.Reals(1), loss="absolute", loss_weight=2.0).certificate.value
    found = state(ef.Reals(2), np.eye(2), absolute)
    assert exact * (1 - 3e-4) < found.lower_bound <= exact


def test_three_half_lines_bound_a_given_square_in_an_orthant(monkeypatch):
    monkeypatch.setitem(given.MOST_UNKNOWNS, 3, 5000)
    monkeypatch.setitem(given.CELLS, 3, 10_000)
    exact = 3 * ef.design(ef.HalfLine(0), loss_weight=2.0).certificate.value
    found = finite_elements.ground_state(ef.Orthant(3), np.eye(3), Loss(None, square), 2.0, tolerance=1e-2)
    assert exact * 0.98 < found.lower_bound <= exact <= found.value


def test_a_smooth_loss_on_a_product_of_lines_has_a_bound_too():
    exact = 2 * ef.design(ef.Reals(1), loss=np.cosh, loss_weight=2.0).certificate.value
    certificate = ef.design(ef.Reals(2), loss=lambda w: np.cosh(w).sum(axis=-1), loss_weight=2.0).certificate
    assert exact * (1 - 3e-4) < certificate.lower_bound <= exact * (1 + 1e-12)
    assert certificate.value == pytest.approx(exact, rel=1e-8)


def test_a_least_place_on_the_boundary_and_a_loss_unknown_beyond_it():
    def known_inside(w):
        return np.where((w < 0).any(axis=-1), np.nan, kinked(w + np.array([1.0, 0.5])))

    found = state(ef.Orthant(2), K, known_inside)
    # noise in a bounded part of the quadrant is noise in the quadrant
    inside = finite_elements.ground_state(
        ef.Polygon([[0, 0], [4, 0], [4, 4], [0, 4]]), K, Loss(None, lambda w: kinked(w + np.array([1.0, 0.5]))), 2.0
    )
    assert found.lower_bound <= inside.value
    assert found.lower_bound == pytest.approx(inside.value, rel=1e-3)


def test_a_bound_on_a_given_loss_leaves_a_bound_of_the_information():
    certificate = ef.design(ef.Orthant(2), loss=kinked, max_loss=2.5).certificate
    assert certificate.loss == pytest.approx(2.5, rel=1e-10)
    # two independent coordinates with E w² = 0.52, and so E w ≤ 0.722, meet the bound
    independent = 2 * ef.design(ef.HalfLine(0), max_loss=0.52).certificate.value
    assert 0.995 * certificate.value < certificate.lower_bound <= certificate.value < independent


def random_convex(rng, m):
    slopes, heights, curvature = rng.normal(size=(5, m)), rng.normal(size=5), rng.normal(size=(m, m))

    def function(x):
        return (x @ slopes.T + heights).max(axis=-1) + ((x @ curvature) ** 2).sum(axis=-1)

    return function


@pytest.mark.parametrize("m", [1, 2, 3])
def test_affine_functions_lie_below_and_the_least_value_is_enclosed(m):
    rng = np.random.default_rng(m)
    for _ in range(10):
        function, corners = random_convex(rng, m), rng.normal(size=(4, m + 1, m))
        shares = rng.dirichlet(np.ones(m + 1), size=200)
        points = np.einsum("pi,cik->cpk", shares, corners)
        below = np.einsum("pi,ci->cp", shares, affine_below(function, corners))
        assert (below <= function(points) + 1e-12).all()
        low, seen = least_value(function, corners, 1e-3)
        assert low <= function(points).min()
        assert low <= seen <= low + 1.001e-3


def test_beyond_the_box_the_loss_is_at_least_the_ceiling():
    rng = np.random.default_rng(4)
    wedge = ef.Polytope(A=[[-1.0, 0.3], [0.2, -1.0]], b=[0.5, 0.2])
    axes = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    problem = Isotropic(wedge, K, Loss(None, kinked))
    mesh = box_below(problem, 2.0, 3.0, axes)
    z = rng.normal(size=(20_000, 2)) * np.array([[3.0], [30.0]]).repeat(10_000, axis=0)
    z = z[wedge.contains(z @ problem.root.T)]
    beyond = (z @ mesh.walls[:, :2].T > mesh.walls[:, 2]).any(axis=1)
    assert 100 < beyond.sum() < len(z) - 100
    assert (kinked(z[beyond] @ problem.root.T) / 2 >= 3.0).all()


@pytest.mark.parametrize("m", [2, 3])
def test_levels_of_a_sum_lie_below_those_of_a_turned_oscillator(m, monkeypatch):
    monkeypatch.setitem(given.CELLS, 3, 15_000)
    rng = np.random.default_rng(m)
    turn = np.linalg.qr(rng.normal(size=(m, m)))[0]
    strengths = np.array([1.0, 2.0, 1.5])[:m]
    form = turn @ np.diag(strengths) @ turn.T
    problem = Isotropic(ef.Reals(m), np.eye(m), Loss(None, lambda w: np.einsum("...i,ij,...j", w, form, w)))
    levels = np.sqrt(strengths)  # of −Δ + zᵀSz, at weight 4
    first, second = levels.sum(), levels.sum() + 2 * levels.min()
    found = levels_of_given(problem, lambda axes: ef.Reals(m).bounding_box, 4.0, float(first))
    offset = found.problem.offset
    assert -0.01 < offset <= 0
    assert 0.7 * first < found.first + offset <= first
    assert 1.1 * first < found.second + offset <= second


def test_where_nothing_flows_out_a_level_is_balanced_that_is_near_the_quotient():
    problem = Isotropic(ef.Reals(2), np.eye(2), Loss(None, kinked))
    mesh = truncated_region(problem, 2.0, 2.0).fine.refined().refined().refined()
    assert mesh.insulated.all()
    discretisation = Discretisation(problem, Space(mesh, 4))
    trial = discretisation.solve(2.0)
    local = trial.values[trial.space.numbers]
    pulled = product(2, 2.0 * discretisation.potential, 2, local, 4)
    level = float(mesh.volumes @ pulled.mean(axis=1)) / float(mesh.volumes @ local.mean(axis=1))
    assert trial.off == pytest.approx(abs(level - trial.quotient), abs=1e-12)
    assert trial.off < 1e-3 * trial.quotient
