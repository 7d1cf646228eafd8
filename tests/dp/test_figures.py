"""Every figure and formula that the theory states about differential privacy, and the errata of its source."""

import math

import pytest
from scipy.integrate import quad

from errorfloor import dp
from errorfloor.noise import Gaussian, Laplace, RaisedCosine


def printed_condition(sensitivity, epsilon, delta):
    return sensitivity * (math.sqrt(2 * math.log(1 / (2 * delta))) / epsilon + 1 / math.sqrt(2 * epsilon))


def test_printed_condition_on_the_variance_gives_a_real_delta_of_0_90():
    variance = printed_condition(100, 0.5, 1e-3)
    real = dp.delta(Gaussian(variance), 100, 0.5)
    assert real == pytest.approx(0.9005, abs=5e-5)
    deviation = math.sqrt(variance)

    def excess(w):
        return max(math.exp(-((w / deviation) ** 2) / 2) - math.exp(0.5 - (((w - 100) / deviation) ** 2) / 2), 0.0)

    area = quad(excess, -300, 300, points=[0.0, 50.0, 100.0], limit=200)[0] / deviation / math.sqrt(2 * math.pi)
    assert real == pytest.approx(area, rel=1e-7)


def test_the_same_condition_on_the_standard_deviation_is_enough():
    deviation = printed_condition(100, 0.5, 1e-3)
    assert dp.delta(Gaussian(deviation**2), 100, 0.5) < 1e-3


def test_laplace_at_mean_square_theta_is_private_at_s_root_two_over_theta():
    theta, s = 5.0, 1.7
    noise = Laplace(math.sqrt(theta / 2))
    assert noise.expected_loss() == pytest.approx(theta)
    assert dp.epsilon(noise, s, 0.0) == pytest.approx(s * math.sqrt(2 / theta), rel=1e-14)
    assert float(noise.information[0, 0]) == pytest.approx(2 / theta)


def test_printed_laplace_scale_shrinks_as_more_privacy_is_asked_for():
    s = 3.0
    real = [dp.epsilon(Laplace(epsilon / s), s, 0.0) for epsilon in (0.1, 1.0)]
    assert real == pytest.approx([s**2 / 0.1, s**2])
    assert [dp.epsilon(dp.laplace(sensitivity=s, epsilon=e), s, 0.0) for e in (0.1, 1.0)] == [0.1, 1.0]


def test_at_equal_quality_the_gaussian_floor_is_twice_the_laplace_floor():
    theta = 2.6
    gaussian, laplace = Gaussian(theta), Laplace(math.sqrt(theta / 2))
    assert gaussian.expected_loss() == pytest.approx(laplace.expected_loss())
    assert float(laplace.information[0, 0] / gaussian.information[0, 0]) == pytest.approx(2.0)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.37, 0.5, 0.8])
def test_raised_cosine_at_infinite_epsilon(share):
    width = 3.0
    real = dp.delta(RaisedCosine(1.0, 1.0 + width), share * width, math.inf)
    assert real == pytest.approx(share - math.sin(2 * math.pi * share) / (2 * math.pi), rel=1e-8)
    if share <= 0.001:
        assert real == pytest.approx(2 * math.pi**2 / 3 * share**3, rel=1e-5)


def test_raised_cosine_at_zero_epsilon_is_the_total_variation():
    noise = RaisedCosine(-1, 1)
    for s in (0.1, 0.9, 1.7):
        assert dp.delta(noise, s, 0.0) == pytest.approx(noise.total_variation(s), rel=1e-14)


def test_oblivious_bounded_noise_is_never_purely_private():
    assert dp.epsilon(RaisedCosine(-1, 1), 1e-3, 0.0) == math.inf
    assert dp.epsilon(RaisedCosine(-1, 1), 1e-3, 1e-10) == math.inf
    assert dp.epsilon(RaisedCosine(-1, 1), 1e-3, 1e-8) < math.inf
