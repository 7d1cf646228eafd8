"""Ellipsoids in four dimensions: closed forms, radial solutions, inclusions, and draws against their density."""

import math

import mpmath
import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.bounds.enclosure import level_in_box
from errorfloor.designer.elements.ellipsoid import EllipsoidSolver
from errorfloor.designer.elements.ground_state import ground_state as polynomials
from errorfloor.designer.meshes.region import Isotropic
from errorfloor.designer.numerical import numerical_design
from errorfloor.designer.problem import Problem
from errorfloor.noise import EllipsoidPolynomial, Loss
from errorfloor.noise.ball_polynomials import ball_rule, combination, on_angles, projected, total_degrees
from errorfloor.noise.sampling import BallSampler, curvature_bound

BALL = ef.Ball(4, 1.0)
SHAPE = np.diag([1.0, 0.5, 2.0, 1.0]) + 0.1
CORRELATED = np.eye(4) / 2 + 0.5
SQUARED = Loss.parse("squared", 4)


@pytest.fixture(scope="module")
def askew():
    """Noise in an ellipsoid that lies askew to the query, off the origin."""
    coefficients = np.random.default_rng(3).normal(size=len(total_degrees(4, 3))) * 0.1
    coefficients[0] = 1.0
    frame = np.linalg.cholesky(SHAPE)
    return EllipsoidPolynomial(ef.Ellipsoid(SHAPE, [0.3, 0.0, -0.2, 0.1]), frame, 3, coefficients)


def test_polynomials_find_the_bessel_function_of_the_ball():
    found = polynomials(BALL, np.eye(4))
    exact = 4 * float(mpmath.besseljzero(1, 1)) ** 2
    assert found.value == pytest.approx(exact, rel=1e-9)
    assert found.lower_bound <= exact * (1 + 1e-12)
    assert found.gap < 1e-7


def test_a_quadratic_loss_in_the_ball_costs_what_the_radial_equation_says():
    """−u″ − 3u′/r + ω²r²u = μu with ω = √ϱ/2: u = e^{−ωr²/2} M(1 − μ/4ω, 2, ωr²), which vanishes at r = 1."""
    weight = 40.0
    omega = math.sqrt(weight) / 2
    mu = mpmath.findroot(lambda x: mpmath.hyp1f1(1 - x / (4 * omega), 2, omega), 17.0)
    found = polynomials(BALL, np.eye(4), SQUARED, weight, tolerance=1e-6)
    assert found.value == pytest.approx(4 * float(mu), rel=1e-6)
    assert found.lower_bound <= 4 * float(mu) * (1 + 1e-12)
    assert found.gap < 1e-4
    assert "Temple" in found.proof


def test_an_ellipsoid_not_aligned_with_the_query_converges_geometrically():
    solver = EllipsoidSolver(Isotropic(ef.Ellipsoid(SHAPE), CORRELATED, None))
    values = [solver._at_degree(0.0, degree).quotient for degree in (2, 4, 6, 10)]
    off = [value - values[-1] for value in values[:-1]]
    assert off[0] > off[1] > off[2] > 0
    assert math.log(off[0] / off[1]) > 3 * math.log(4 / 2)
    assert math.log(off[1] / off[2]) > 6 * math.log(6 / 4)


def test_an_ellipsoid_is_certified_far_more_closely_than_by_boxes():
    body = ef.Ellipsoid(SHAPE)
    certificate = ef.design(body, sensitivity=CORRELATED).certificate
    assert certificate.gap < 1e-4
    larger = ef.design(ef.Ellipsoid(1.1**2 * SHAPE), sensitivity=CORRELATED).certificate
    assert larger.value == pytest.approx(certificate.value / 1.1**2, rel=1e-9)


def test_a_loss_that_is_even_is_solved_among_even_functions():
    """The ball may lie anywhere near the origin: the value moves continuously although the basis changes."""
    at, near = (
        polynomials(ef.Ball(4, 1.0, center), np.eye(4), Loss(np.eye(4) * 2 + 0.3), 2.0, tolerance=1e-3)
        for center in (None, [1e-4, 0.0, 0.0, 0.0])
    )
    assert near.value == pytest.approx(at.value, rel=1e-6)
    odd = np.array([sum(alpha) % 2 == 1 for alpha in total_degrees(4, at.noise.degree)])
    assert not at.noise.coefficients[odd].any()
    assert near.noise.coefficients[odd].any()


def test_a_bound_on_the_loss_is_met_in_a_ball():
    noise = numerical_design(Problem.parse(BALL, None, None, "squared", None, 0.3))
    assert noise.certificate.loss_weight > 0
    assert noise.expected_loss() == pytest.approx(0.3, rel=1e-10)


def test_moments_and_means_agree_with_a_finer_rule_over_the_density(askew):
    nodes, weights = ball_rule(4, 14)
    w = (askew.body.middle[:, None] + askew.frame @ nodes).T
    share = weights * askew.pdf(w) * abs(np.linalg.det(askew.frame))
    assert share.sum() == pytest.approx(1.0, rel=1e-12)
    assert askew.mean == pytest.approx(share @ w, rel=1e-10)
    score = askew.score(w)
    assert askew.information == pytest.approx((score.T * share) @ score, rel=1e-9)


def test_draws_have_the_moments_of_the_density(askew):
    drawn = askew.sample(30_000, rng=7)
    assert askew.support.contains(drawn).all()
    deviation = np.sqrt(np.diag(askew.covariance))
    assert (abs(drawn.mean(axis=0) - askew.mean) < 6.5 * deviation / math.sqrt(len(drawn))).all()
    assert np.cov(drawn.T) == pytest.approx(askew.covariance, abs=0.05 * deviation.max() ** 2)


def test_the_bounds_of_the_sampler_hold_everywhere_in_the_ball(askew):
    boxes = BallSampler.of(askew.coefficients, 4, askew.degree, askew._mass)
    generator = np.random.default_rng(8)
    points = (boxes.center + generator.uniform(-1, 1, size=boxes.center.shape) * boxes.half).T
    inside = np.linalg.norm(points, axis=0) <= 1
    value = combination(askew.coefficients, np.ascontiguousarray(points), askew.degree)[0] ** 2
    assert (value[inside] <= boxes.upper[inside]).all()
    jet = combination(askew.coefficients, np.ascontiguousarray(points[:, inside]), askew.degree, 2)
    largest = np.abs(jet[5:]).max()
    assert largest <= curvature_bound(askew.coefficients, 4, askew.degree) <= 20 * largest


@pytest.mark.parametrize(("m", "degree"), [(2, 7), (3, 5), (4, 4)])
def test_sums_over_angles_are_the_sums_over_points(m, degree):
    generator = np.random.default_rng(m)
    coefficients = generator.normal(size=len(total_degrees(m, degree)))
    angles = generator.uniform(0.1, 3.0, 3)
    grid = np.stack(np.meshgrid(*[angles] * m, indexing="ij")).reshape(m, -1)
    before = np.cumprod(np.vstack([np.ones(grid.shape[1]), np.sin(grid[:-1])]), axis=0)
    y = np.ascontiguousarray(np.cos(grid) * before)
    jet = combination(coefficients, y, degree, 2)
    assert on_angles(coefficients, angles, m, degree).ravel() == pytest.approx(
        jet[0] / (1 - (y**2).sum(axis=0)), rel=1e-9
    )
    rows = projected(coefficients, m, degree)
    for k in range(m + 1, len(rows)):
        assert on_angles(rows[k], angles, m, degree).ravel() == pytest.approx(
            jet[k], rel=1e-9, abs=1e-9 * abs(jet[k]).max()
        )


def test_the_second_even_level_of_a_box_counts_two_steps():
    """On [−1, 1]⁴: levels π²n²/4, so even functions rise by 2·3 or by 8 quarters of π², others by 3."""
    problem = Isotropic(BALL, np.eye(4), None)
    unit = lambda axes: (-np.ones(4), np.ones(4))  # noqa: E731
    quarter = math.pi**2 / 4
    plain = level_in_box(problem, 0.0, unit, 1e9, 1)
    even = level_in_box(problem, 0.0, unit, 1e9, 1, even=True)
    assert plain == pytest.approx(7 * quarter, rel=1e-9)
    assert even == pytest.approx(10 * quarter, rel=1e-9)
    loaded = Isotropic(BALL, np.eye(4), SQUARED)
    assert plain < level_in_box(loaded, 1.0, unit, 1e3, 1) < level_in_box(loaded, 1.0, unit, 1e3, 1, even=True)


def test_polynomial_noise_is_refused_in_five_dimensions():
    with pytest.raises(ef.errors.InputError, match="2, 3 or 4 dimensions"):
        EllipsoidPolynomial(ef.Ball(5, 1.0), np.eye(5), 0, [1.0])
