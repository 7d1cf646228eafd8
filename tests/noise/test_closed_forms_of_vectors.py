"""Every closed form in several dimensions: by tensor quadrature where m ≤ 3, by an independent formula beyond."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import jv
from scipy.stats import norm

from errorfloor.errors import NoClosedFormError
from errorfloor.noise import BesselBall, LinearImage, Translation


def assert_moments(case):
    """Integrate the library's own density by a rule for w = A·z + shift."""
    noise, m = case.noise, case.dimension
    w, weights = case.rule
    points = w[:, 0] if m == 1 else w
    logpdf = noise.logpdf(points)
    share = weights * np.exp(logpdf)
    assert share.sum() == pytest.approx(1, rel=1e-10)
    mean = share @ w
    covariance = (w - mean).T @ (share[:, None] * (w - mean))
    score = np.reshape(noise.score(points), (-1, m))
    information = score.T @ (share[:, None] * score)
    assert noise.mean == pytest.approx(mean, rel=1e-10, abs=1e-10)
    assert noise.covariance == pytest.approx(covariance, rel=1e-10, abs=1e-10 * np.trace(covariance))
    assert noise.information == pytest.approx(information, rel=1e-10, abs=1e-10 * np.trace(information))
    assert noise.entropy == pytest.approx(-(share @ logpdf), abs=1e-10)
    assert noise.expected_loss() == pytest.approx(share @ (w * w).sum(axis=1), rel=1e-10)


def test_moments_and_information_agree_with_tensor_quadrature(small_affine_case):
    assert_moments(small_affine_case)


def test_moments_and_information_agree_with_polar_quadrature(small_ball_case):
    assert_moments(small_ball_case)


def test_moments_and_information_follow_from_the_factors(affine_case):
    noise, factors, A = affine_case.noise, affine_case.factors, affine_case.matrix
    mean = A @ [f.mean for f in factors] + affine_case.shift
    covariance = A @ np.diag([f.variance for f in factors]) @ A.T
    back = np.linalg.solve(A, np.eye(len(factors)))
    information = back.T @ np.diag([f.information for f in factors]) @ back
    entropy = sum(f.entropy for f in factors) + math.log(abs(np.linalg.det(A)))
    assert noise.mean == pytest.approx(mean, rel=1e-10, abs=1e-10)
    assert noise.covariance == pytest.approx(covariance, rel=1e-10, abs=1e-10)
    assert noise.information == pytest.approx(information, rel=1e-10, abs=1e-10)
    assert noise.entropy == pytest.approx(entropy, abs=1e-10)
    R = covariance + np.eye(len(factors))
    assert noise.expected_loss(R) == pytest.approx(np.trace(R @ covariance) + mean @ R @ mean, rel=1e-10)


def test_density_is_the_product_of_the_factors_densities(affine_case):
    w = affine_case.noise.sample(50, affine_case.seed)
    z = affine_case.standard(w)
    factors = [f.density(z[:, i]) for i, f in enumerate(affine_case.factors)]
    expected = np.prod(factors, axis=0) / abs(np.linalg.det(affine_case.matrix))
    assert affine_case.noise.pdf(w) == pytest.approx(expected, rel=1e-9)


def test_absolute_loss_adds_over_independent_coordinates(product_case):
    expected = sum(factor.expect(abs) for factor in product_case.factors)
    assert product_case.noise.expected_loss("absolute") == pytest.approx(expected, rel=1e-10)


def test_absolute_loss_of_a_gaussian_adds_over_its_marginals(gaussian_case):
    spread = np.sqrt(np.diag(gaussian_case.noise.covariance))
    expected = sum(
        quad(lambda t, m=m, s=s: abs(t) * norm.pdf(t, m, s), m - 13 * s, m + 13 * s, points=[0, m], epsrel=1e-12)[0]
        for m, s in zip(gaussian_case.shift, spread, strict=True)
    )
    assert gaussian_case.noise.expected_loss("absolute") == pytest.approx(expected, rel=1e-10)


def test_absolute_loss_of_a_moved_image_on_the_line_agrees_with_quadrature(scalar_case):
    moved = Translation(LinearImage(scalar_case.noise, -1.5), 0.4)
    expected = scalar_case.expect(lambda z: abs(-1.5 * z + 0.4), 0.4 / 1.5)
    assert moved.expected_loss("absolute") == pytest.approx(expected, rel=1e-10)


def test_absolute_loss_of_mixed_coordinates_is_refused(mixed_case):
    with pytest.raises(NoClosedFormError, match="no closed form when a mixes several coordinates: use samples"):
        mixed_case.noise.expected_loss("absolute")


def test_ball_moments_and_information_agree_with_radial_quadrature(ball_case):
    m, R, A = ball_case.dimension, ball_case.radius, ball_case.matrix
    order, j, noise = m / 2 - 1, ball_case.zero, ball_case.noise
    # the slope of x^{−ν}J_ν(jx) is −j x^{−ν}J_{ν+1}(jx)
    steepness = quad(lambda x: x * jv(order + 1, j * x) ** 2, 0, 1, epsabs=0, epsrel=1e-12)[0] / ball_case.mass
    back = np.linalg.inv(A)
    assert noise.information == pytest.approx(4 * (j / R) ** 2 * steepness / m * back.T @ back, rel=1e-10, abs=1e-12)
    assert steepness == pytest.approx(1, rel=1e-10)
    square = R**2 * ball_case.expect_radial(lambda x: x * x)
    assert noise.covariance == pytest.approx(square / m * A @ A.T, rel=1e-10, abs=1e-12)
    assert noise.mean == pytest.approx(ball_case.shift, abs=0)
    assert noise.expected_loss() == pytest.approx(
        square / m * np.trace(A @ A.T) + ball_case.shift @ ball_case.shift, rel=1e-10
    )


def test_ball_entropy_agrees_with_radial_quadrature(ball_case):
    m, order = ball_case.dimension, ball_case.dimension / 2 - 1
    sphere = 2 * math.pi ** (m / 2) / math.gamma(m / 2) * ball_case.radius**m * ball_case.mass
    average = ball_case.expect_radial(
        lambda x: 2 * math.log(x**-order * abs(jv(order, ball_case.zero * x))) - math.log(sphere)
    )
    volume = math.log(abs(np.linalg.det(ball_case.matrix)))
    assert ball_case.noise.entropy == pytest.approx(volume - average, abs=1e-10)


def test_ball_absolute_loss_agrees_with_radial_and_angular_quadrature(centred_ball_case):
    case, m = centred_ball_case, centred_ball_case.dimension
    tilt = 1.0
    if m > 1:  # the angle to an axis has a density proportional to sin^{m−2}
        top, bottom = (
            quad(lambda t, p=p: math.sin(t) ** (m - 2) * math.cos(t) ** p, 0, math.pi / 2, epsrel=1e-12)[0]
            for p in (1, 0)
        )
        tilt = top / bottom
    reach = np.linalg.norm(case.matrix, axis=1).sum()
    expected = reach * case.radius * case.expect_radial(lambda x: x) * tilt
    assert case.noise.expected_loss("absolute") == pytest.approx(expected, rel=1e-10)


def test_absolute_loss_of_a_ball_off_centre_is_refused():
    with pytest.raises(NoClosedFormError, match="of noise in a ball has no closed form unless c = 0: use samples"):
        Translation(BesselBall(2, 1.0), [1.0, 0.0]).expected_loss("absolute")
