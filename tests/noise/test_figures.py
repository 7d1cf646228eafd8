"""Named figures of the theory, each from the library on one side and by another route on the other."""

import math

import mpmath
import numpy as np
import pytest

from errorfloor.noise import Airy, BesselBall, Gaussian, Laplace, Maxwell, Product, RaisedCosine
from errorfloor.noise.airy import TURN

AIRY_TURN = float(mpmath.airyaizero(1, derivative=1))


def at_unit_absolute_error(noise):
    """I_w·(E|w|)²."""
    return float(noise.information[0, 0]) * noise.expected_loss("absolute") ** 2


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (0, 7), (-3, 100)])
def test_information_times_variance_of_the_raised_cosine_is_pi_squared_less_six_over_three(low, high):
    noise = RaisedCosine(low, high)
    product = float(noise.information[0, 0] * noise.covariance[0, 0])
    assert product == pytest.approx((math.pi**2 - 6) / 3, rel=1e-14)
    assert product == pytest.approx(1.289868, abs=1e-6)


@pytest.mark.parametrize("scale", [0.3, 1.0, 40.0])
def test_airy_noise_has_the_least_information_at_given_absolute_error(scale):
    assert at_unit_absolute_error(Airy(scale)) == pytest.approx(0.626634, abs=1e-6)
    assert at_unit_absolute_error(Airy(scale)) == pytest.approx(-16 / 27 * AIRY_TURN**3, rel=1e-12)
    assert at_unit_absolute_error(Laplace(scale)) == pytest.approx(1, rel=1e-12)
    assert at_unit_absolute_error(Gaussian(scale)) == pytest.approx(0.63662, abs=1e-6)
    assert at_unit_absolute_error(Gaussian(scale)) == pytest.approx(2 / math.pi, rel=1e-12)


def test_first_turn_of_the_airy_function():
    assert pytest.approx(-1.018792972, abs=1e-9) == TURN
    assert AIRY_TURN == TURN
    assert float(mpmath.airyai(TURN, derivative=1)) == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("width", [1.0, 0.3])
def test_squared_loss_of_one_sided_cosines_is_0_2827_times_the_squared_width_a_coordinate(m, width):
    loss = Product((RaisedCosine(0, width),) * m).expected_loss()
    assert loss == pytest.approx(0.2827 * m * width**2, rel=2e-4)
    assert loss == pytest.approx(m * width**2 * (1 / 3 - 1 / (2 * math.pi**2)), rel=1e-13)


@pytest.mark.parametrize("low", [-0.5, -2.0, 1.25])
def test_squared_loss_elsewhere_is_variance_plus_squared_centre(low):
    m, width, centre = 4, 1.0, low + 0.5
    variance = width**2 * (1 / 12 - 1 / (2 * math.pi**2))
    loss = Product((RaisedCosine(low, low + width),) * m).expected_loss()
    assert loss == pytest.approx(m * (variance + centre**2), rel=1e-13)
    assert abs(loss - 0.2827 * m * width**2) > 0.5


def test_inverse_information_of_the_unit_square():
    noise = Product((RaisedCosine(0, 1),) * 2)
    assert np.trace(np.linalg.inv(noise.information)) == pytest.approx(0.0506606, abs=1e-7)


def test_information_of_the_unit_disc_and_ball():
    assert np.trace(BesselBall(2, 1.0).information) == pytest.approx(4 * 2.404825557695773**2, rel=1e-12)
    assert np.trace(BesselBall(3, 1.0).information) == pytest.approx(4 * math.pi**2, rel=1e-12)


def test_information_and_mean_square_of_maxwell_noise():
    noise = Maxwell(2.0)
    assert float(noise.information[0, 0]) == pytest.approx(3 / 4, rel=1e-15)
    assert noise.expected_loss() == pytest.approx(12, rel=1e-14)


def test_laplace_noise_has_twice_the_information_of_a_gaussian_of_its_variance():
    laplace = Laplace(0.7)
    gaussian = Gaussian(laplace.covariance)
    assert float(laplace.information[0, 0]) == pytest.approx(2 * float(gaussian.information[0, 0]), rel=1e-14)


def test_entropies_at_given_variance_in_bits():
    variance = 2.0
    laplace, gaussian = Laplace(math.sqrt(variance / 2)), Gaussian(variance)
    assert laplace.entropy / math.log(2) == pytest.approx(math.log2(math.e * math.sqrt(2 * variance)), rel=1e-14)
    assert gaussian.entropy / math.log(2) == pytest.approx(
        math.log2(math.sqrt(2 * math.pi * math.e * variance)), rel=1e-14
    )
