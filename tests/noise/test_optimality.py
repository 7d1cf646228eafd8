"""Why each noise is the best one: its root is a positive ground state.

For u > 0 with 4 div(K∇u) = V u and any φ, v = uφ has ∫ 4∇vᵀK∇v + V v² = 4∫ u²∇φᵀK∇φ ≥ 0: no trial beats u.
"""

import math

import numpy as np
import pytest
from scipy.linalg import eigh, eigh_tridiagonal, sqrtm
from scipy.special import roots_jacobi

from errorfloor.noise import Airy, BesselBall, Gaussian, LinearImage, Maxwell, Product, RaisedCosine
from errorfloor.noise.airy import TURN


def test_root_solves_its_ground_state_equation(smooth_case):
    points, cdf = smooth_case.table
    w, step = points[(cdf > 1e-3) & (cdf < 1 - 1e-3)][3::41], 1e-4 * (points[-1] - points[0])
    weights = ((-2, -1 / 12), (-1, 4 / 3), (0, -5 / 2), (1, 4 / 3), (2, -1 / 12))
    w = w[np.abs(w[:, None] - smooth_case.cuts).min(axis=1) > 3 * step]
    second = sum(weight * smooth_case.root(w + k * step) for k, weight in weights) / step**2
    expected = smooth_case.curvature(w) * smooth_case.root(w)
    assert second == pytest.approx(expected, abs=1e-5 * np.abs(expected).max())


@pytest.mark.parametrize("trial", [(0.0, 1.0), (0.3, -0.2, 0.5), (1.0, 0.0, 0.0, 2.0)])
def test_every_trial_costs_what_jacobis_identity_says(smooth_case, trial):
    case = smooth_case
    spread = math.sqrt(case.variance)
    phi = np.polynomial.Polynomial(trial)(np.polynomial.Polynomial([-case.mean / spread, 1 / spread])) + 1.0
    turn = phi.deriv()
    cost = case.integral(
        lambda w: (
            4 * (case.slope(w) * phi(w) + case.root(w) * turn(w)) ** 2
            + 4 * case.curvature(w) * (case.root(w) * phi(w)) ** 2
        )
    )
    assert cost == pytest.approx(4 * case.integral(lambda w: (case.root(w) * turn(w)) ** 2), rel=1e-8)
    assert cost > 0


def least_eigenvalue(potential, low, high, count):
    """Of −4u″ + potential·u with u = 0 at both ends, by differences of second order and one extrapolation."""
    found = []
    for n in (count, 2 * count):
        w, h = np.linspace(low, high, n + 1)[1:-1], (high - low) / n
        found.append(
            eigh_tridiagonal(
                8 / h**2 + potential(w), np.full(n - 2, -4 / h**2), eigvals_only=True, select="i", select_range=(0, 0)
            )[0]
        )
    return (4 * found[1] - found[0]) / 3


def test_least_eigenvalue_on_an_interval_is_the_information():
    found = least_eigenvalue(np.zeros_like, -0.3, 1.1, 400)
    assert found == pytest.approx(float(RaisedCosine(-0.3, 1.1).information[0, 0]), rel=1e-7)


def test_least_eigenvalue_on_the_half_line_is_information_plus_weighted_loss():
    noise, weight = Maxwell(0.7), 0.7**-4  # K = 1, σ² = 1/√ϱ
    found = least_eigenvalue(lambda w: weight * w**2, 0.0, 8.0, 2000)
    assert found == pytest.approx(float(noise.information[0, 0]) + weight * noise.expected_loss(), rel=1e-7)
    assert found == pytest.approx(6 * math.sqrt(weight), rel=1e-7)


def test_least_eigenvalue_on_the_line_with_absolute_loss_is_information_plus_weighted_loss():
    noise, weight = Airy(1.3), 4 / 1.3**3  # K = 1, τ = (4/ϱ)^⅓
    found = least_eigenvalue(lambda w: weight * np.abs(w), -18.0, 18.0, 4000)
    assert found == pytest.approx(float(noise.information[0, 0]) + weight * noise.expected_loss("absolute"), rel=1e-6)
    assert found == pytest.approx(-4 * (weight / 4) ** (2 / 3) * TURN, rel=1e-6)


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_least_eigenvalue_in_the_ball_is_the_trace_of_the_information(m):
    # Ritz's method with (1 − t)tᵏ, t = (r/R)²: on the unit ball 4∫|∇u|² is 4∫(2√t·u_t)² t^{m/2−1}dt
    nodes, weights = roots_jacobi(40, 0, m / 2 - 1)
    t, weights = (nodes + 1) / 2, weights / 2 ** (m / 2)
    powers = np.arange(10)[:, None]
    value = (1 - t) * t**powers
    slope = -(t**powers) + (1 - t) * powers * t ** np.maximum(powers - 1, 0)
    stiffness, mass = (16 * t * weights * slope) @ slope.T, (weights * value) @ value.T
    found = eigh(stiffness, mass, eigvals_only=True)[0]
    assert found == pytest.approx(np.trace(BesselBall(m, 1.0).information), rel=1e-9)


def trial_cost(noise, rule, K, phi, gradient):
    """4∫∇vᵀK∇v, ∫v² and 4∫u²∇φᵀK∇φ for v = uφ, from the library's density and score."""
    w, weights = rule
    share = weights * noise.pdf(w)
    slope = noise.score(w) * phi(w)[:, None] / 2 + gradient(w)
    cost = 4 * share @ np.einsum("ki,ij,kj->k", slope, K, slope)
    return cost, share @ phi(w) ** 2, 4 * share @ np.einsum("ki,ij,kj->k", gradient(w), K, gradient(w))


def test_no_trial_in_a_ball_or_its_image_beats_the_noise(small_ball_case):
    case = small_ball_case
    K = case.matrix @ case.matrix.T
    optimum = np.trace(K @ case.noise.information)
    slope = np.arange(1.0, case.dimension + 1)
    cost, mass, excess = trial_cost(
        case.noise, case.rule, K, lambda w: 2 + (w - case.shift) @ slope, lambda w: np.broadcast_to(slope, w.shape)
    )
    assert cost == pytest.approx(optimum * mass + excess, rel=1e-9)
    assert cost / mass > optimum


@pytest.mark.parametrize("matrix", [np.eye(2), np.array([[1.0, 0.8], [-0.3, 2.0]])], ids=["box", "parallelogram"])
def test_mixing_the_coordinates_of_a_product_costs_information(matrix):
    product = Product((RaisedCosine(0, 1), RaisedCosine(-1, 1)))
    noise = LinearImage(product, matrix)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    one, two = np.meshgrid((nodes + 1) / 2, nodes, indexing="ij")
    z, share = np.stack([one.ravel(), two.ravel()], axis=1), np.outer(weights, weights).ravel() / 2
    rule = z @ matrix.T, share * abs(np.linalg.det(matrix))
    K = matrix @ np.diag([1.0, 3.0]) @ matrix.T
    optimum = 4 * math.pi**2 * (1 + 3 / 4)
    assert np.trace(K @ noise.information) == pytest.approx(optimum, rel=1e-12)
    cost, mass, excess = trial_cost(noise, rule, K, lambda w: 1 + 0.3 * w[:, 0] * w[:, 1], lambda w: 0.3 * w[:, ::-1])
    assert cost == pytest.approx(optimum * mass + excess, rel=1e-9)
    assert cost / mass > optimum


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_gaussian_with_the_geometric_mean_is_best_among_gaussians(m):
    generator = np.random.default_rng(m)
    K, R = (x @ x.T + np.eye(m) for x in generator.normal(size=(2, m, m)))
    weight, root = 0.7, np.real(sqrtm(R))
    middle = np.real(sqrtm(root @ K @ root))
    best = Gaussian(np.linalg.inv(root) @ middle @ np.linalg.inv(root) / math.sqrt(weight))

    def objective(noise):
        return np.trace(K @ noise.information) + weight * noise.expected_loss(R)

    optimum = 2 * math.sqrt(weight) * np.trace(middle)
    assert weight * best.covariance @ R @ best.covariance == pytest.approx(K, rel=1e-9, abs=1e-9)
    assert objective(best) == pytest.approx(optimum, rel=1e-10)
    for _ in range(20):
        step = generator.normal(size=(m, m)) * 0.2
        bent = (np.eye(m) + step) @ best.covariance @ (np.eye(m) + step).T
        assert objective(Gaussian(bent)) > optimum
        assert objective(Gaussian(best.covariance, generator.normal(size=m))) > optimum


def test_no_trial_on_the_plane_beats_the_gaussian():
    K, R = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.0, -0.3], [-0.3, 2.0]])
    root = np.real(sqrtm(R))
    noise = Gaussian(np.linalg.inv(root) @ np.real(sqrtm(root @ K @ root)) @ np.linalg.inv(root))
    line = np.linspace(-14, 14, 121)
    one, two = np.meshgrid(line, line, indexing="ij")
    w = np.stack([one.ravel(), two.ravel()], axis=1)
    rule = w, np.full(len(w), (line[1] - line[0]) ** 2)
    phi, gradient = (lambda w: 1 + 0.3 * w[:, 0] * w[:, 1]), (lambda w: 0.3 * w[:, ::-1])
    cost, mass, excess = trial_cost(noise, rule, K, phi, gradient)
    loss = rule[1] * noise.pdf(w) * phi(w) ** 2 @ np.einsum("ki,ij,kj->k", w, R, w)
    optimum = np.trace(K @ noise.information) + noise.expected_loss(R)
    assert cost + loss == pytest.approx(optimum * mass + excess, rel=1e-9)
    assert excess > 0
