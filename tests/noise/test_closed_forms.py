"""Every closed form on the line against adaptive quadrature of the definition."""

import math

import numpy as np
import pytest

PRECISE = {"rel": 1e-10, "abs": 1e-12}


def test_density_is_the_defined_one_and_has_unit_mass(scalar_case):
    low, high = scalar_case.table[0][0], scalar_case.table[0][-1]
    w = np.linspace(low, high, 203)[1:-1]
    assert scalar_case.noise.pdf(w) == pytest.approx(scalar_case.density(w), rel=1e-10, abs=1e-300)
    assert scalar_case.integral(scalar_case.noise.pdf) == pytest.approx(1, rel=1e-10)


def test_mean_and_variance_agree_with_quadrature(scalar_case):
    assert scalar_case.noise.mean.shape == (1,)
    assert scalar_case.noise.covariance.shape == (1, 1)
    assert float(scalar_case.noise.mean[0]) == pytest.approx(scalar_case.mean, **PRECISE)
    assert float(scalar_case.noise.covariance[0, 0]) == pytest.approx(scalar_case.variance, rel=1e-10)


def test_information_agrees_with_quadrature_of_the_root_slope(scalar_case):
    assert scalar_case.noise.information.shape == (1, 1)
    assert float(scalar_case.noise.information[0, 0]) == pytest.approx(scalar_case.information, rel=1e-10)
    assert (scalar_case.noise.why_infinite is None) == math.isfinite(scalar_case.information)


def test_entropy_agrees_with_quadrature(scalar_case):
    assert scalar_case.noise.entropy == pytest.approx(scalar_case.entropy, abs=1e-10)


def test_expected_losses_agree_with_quadrature(scalar_case):
    second = scalar_case.expect(lambda w: w * w)
    absolute = scalar_case.expect(abs)
    assert scalar_case.noise.expected_loss() == pytest.approx(second, rel=1e-10)
    assert scalar_case.noise.expected_loss("squared") == pytest.approx(second, rel=1e-10)
    assert scalar_case.noise.expected_loss([[2.5]]) == pytest.approx(2.5 * second, rel=1e-10)
    assert scalar_case.noise.expected_loss("absolute") == pytest.approx(absolute, rel=1e-10)


def test_cdf_is_the_integral_of_the_density(scalar_case):
    for q in (0.001, 0.1, 0.35, 0.5, 0.8, 0.999):
        w = float(np.interp(q, scalar_case.table[1], scalar_case.table[0]))
        below = scalar_case.expect(lambda t, w=w: float(t <= w), w)
        assert float(scalar_case.noise.cdf(w)) == pytest.approx(below, rel=1e-10)


def test_score_is_twice_the_slope_of_the_root_over_the_root(smooth_case):
    points, cdf = smooth_case.table
    w = points[(cdf > 1e-4) & (cdf < 1 - 1e-4)][::37]
    expected = 2 * smooth_case.slope(w) / smooth_case.root(w)
    assert smooth_case.noise.score(w) == pytest.approx(expected, rel=1e-10, abs=1e-10)
