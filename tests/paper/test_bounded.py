"""Corollaries 1, 2, 3 and 5, the averaging and the variance example."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from errorfloor.designer import design
from errorfloor.errors import IllPosedError, InputError
from errorfloor.floors import floor
from errorfloor.noise import RaisedCosine
from errorfloor.support import Box, Interval
from paper.scalar_queries import WEIGHTS, corollary_five


@pytest.mark.parametrize("m", [1, 2, 5])
def test_kappa_is_m_over_four_pi_squared(m):
    for width in (1.0, 3.0):
        noise = design(Box([0.0] * m, [width] * m)) if m > 1 else design(Interval(0.0, width))
        assert floor(noise, np.eye(m)).total ** 2 == pytest.approx(m / (4 * math.pi**2) * width**2, rel=1e-12)
    slope = quad(lambda w: 2 * (math.pi * math.cos(math.pi * w)) ** 2, 0, 1)[0]  # ∫u′², which the proof takes for I
    assert m / slope == pytest.approx(4 * m / (4 * math.pi**2))


def test_quality_of_one_sided_noise_is_0_2827():
    for width in (1.0, 4.0):
        assert RaisedCosine(0.0, width).expected_loss() == pytest.approx(0.2827 * width**2, abs=5e-5 * width**2)
        exact = quad(lambda w, b=width: 2 / b * math.sin(math.pi * w / b) ** 2 * w * w, 0, width)[0]
        assert exact == pytest.approx(width**2 * (2 * math.pi**2 - 3) / (6 * math.pi**2), rel=1e-12)


@pytest.mark.parametrize(("low", "high"), [(-0.5, 0.5), (-0.2, 1.0), (1.0, 2.0)])
def test_quality_is_variance_plus_squared_midpoint(low, high):
    width, middle = high - low, (high + low) / 2
    expected = width**2 * (1 / 12 - 1 / (2 * math.pi**2)) + middle**2
    assert RaisedCosine(low, high).expected_loss() == pytest.approx(expected, rel=1e-12)
    assert expected != pytest.approx(0.2827 * width**2, rel=0.05)


def test_quality_is_two_thirds_of_two_pi_squared_minus_three_times_the_floor():
    for width in (0.5, 2.0):
        noise = RaisedCosine(0.0, width)
        ratio = noise.expected_loss() / floor(noise, [[1.0]]).total ** 2
        assert ratio == pytest.approx(2 / 3 * (2 * math.pi**2 - 3), rel=1e-12)
        assert ratio == pytest.approx(11.159, abs=5e-4)


def test_more_privacy_can_come_with_better_quality():
    narrow, wide = RaisedCosine(0.0, 1.0), RaisedCosine(-0.2, 1.0)
    assert floor(wide, [[1.0]]).total > floor(narrow, [[1.0]]).total
    assert wide.expected_loss() < narrow.expected_loss()


def test_weights_of_the_average_leave_a_rank_one_bias():
    projection = WEIGHTS.T @ WEIGHTS / (WEIGHTS @ WEIGHTS.T)
    assert np.linalg.matrix_rank(projection) == 1 < 3
    found = floor(RaisedCosine(-0.5, 0.5), WEIGHTS)
    assert found.identifiable.shape == (3, 1)
    assert math.isinf(found.total)  # no unbiased estimator of all three entries
    with pytest.raises(InputError, match="not the bias of any estimator"):
        found.biased(np.eye(3))


def test_variance_part_of_the_averaging_bound_has_one_power_of_the_weights():
    square = float((WEIGHTS**2).sum())
    projection = WEIGHTS.T @ WEIGHTS / square
    bound = floor(RaisedCosine(-0.5, 0.5), WEIGHTS).biased(projection) ** 2
    assert bound == pytest.approx(1 / (4 * math.pi**2 * square), rel=1e-12)
    draws = RaisedCosine(-0.5, 0.5).sample(100_000, rng=4)[:, None] * (WEIGHTS[0] / square)
    assert (draws**2).sum(axis=1).mean() == pytest.approx(bound * (math.pi**2 - 6) / 3, rel=0.02)


def test_scalar_queries_have_the_same_noise_whatever_their_weights():
    for C in ([[1.0]], WEIGHTS, [[5.0, -7.0]]):
        noise = design(Interval(-1.0, 2.0), jacobian=C)
        assert noise == RaisedCosine(-1.0, 2.0)
        assert noise.certificate.value == pytest.approx(float(np.sum(np.square(C))) * 4 * math.pi**2 / 9, rel=1e-12)


def test_constant_query_needs_no_noise_although_it_is_not_zero():
    with pytest.raises(IllPosedError, match="nothing to protect"):
        design(Interval(0.0, 1.0), jacobian=[[0.0, 0.0]])


def test_raised_cosine_is_not_stationary_for_a_query_with_a_laplacian():
    gap = corollary_five().shown[0]
    assert gap.library == pytest.approx(-4 * math.pi * math.tan(math.pi / 4), rel=1e-9)
    assert gap.printed == 0
