"""Noise scaled for a wanted guarantee: enough, and no more than enough."""

import math

import pytest
from dp_accounting.pld import common, privacy_loss_mechanism

from errorfloor import dp
from errorfloor.errors import InputError

PAIRS = [(e, d) for e in (0.01, 0.5, 1.0, 8.0, 40.0) for d in (1e-30, 1e-9, 1e-3, 0.4)]


def deviation(noise):
    return math.sqrt(float(noise.covariance[0, 0]))


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_exact_gaussian_is_enough_and_no_more(epsilon, delta):
    noise = dp.gaussian(sensitivity=3.0, epsilon=epsilon, delta=delta)
    assert dp.delta(noise, 3.0, epsilon) <= delta
    assert dp.delta(noise, 3.0 * (1 + 1e-9), epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-3), (1.0, 1e-6), (3.0, 1e-9)])
def test_exact_gaussian_agrees_with_the_accountants_calibration(epsilon, delta):
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss.from_privacy_guarantee(
        common.DifferentialPrivacyParameters(epsilon, delta), sensitivity=2.0
    )
    ours = dp.gaussian(sensitivity=2.0, epsilon=epsilon, delta=delta)
    assert deviation(ours) == pytest.approx(theirs.standard_deviation, rel=1e-4)


@pytest.mark.parametrize(("epsilon", "delta"), PAIRS)
def test_classical_gaussian_is_enough_but_more_than_needed(epsilon, delta):
    classical = dp.gaussian(sensitivity=3.0, epsilon=epsilon, delta=delta, method="classical")
    formula = 3.0 * (math.sqrt(2 * math.log(1 / (2 * delta))) / epsilon + 1 / math.sqrt(2 * epsilon))
    assert deviation(classical) == pytest.approx(formula, rel=1e-12)
    assert dp.delta(classical, 3.0, epsilon) <= delta
    assert deviation(classical) > deviation(dp.gaussian(sensitivity=3.0, epsilon=epsilon, delta=delta))


def test_exact_gaussian_at_zero_epsilon_bounds_the_total_variation():
    noise = dp.gaussian(sensitivity=1.0, epsilon=0.0, delta=0.1)
    assert math.erf(1 / (2 * deviation(noise) * math.sqrt(2))) == pytest.approx(0.1, rel=1e-12)


@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 0.3, 1 / 3, 0.7, 2.0, 11.0])
def test_laplace_is_purely_private_after_rounding(epsilon):
    for sensitivity in (0.1, 1.0, 3.3, 1e6):
        noise = dp.laplace(sensitivity=sensitivity, epsilon=epsilon)
        assert dp.delta(noise, sensitivity, epsilon) == 0.0
        assert noise.scale == pytest.approx(sensitivity / epsilon, rel=1e-14)
        assert dp.epsilon(noise, sensitivity, 0.0) <= epsilon


def test_mechanisms_say_what_they_cannot_do():
    with pytest.raises(InputError, match="sensitivity must be positive, got 0"):
        dp.laplace(sensitivity=0, epsilon=1.0)
    with pytest.raises(InputError, match=r"epsilon must be positive, got -1\.0"):
        dp.laplace(sensitivity=1.0, epsilon=-1.0)
    with pytest.raises(InputError, match=r"delta must lie strictly between 0 and 1 for Gaussian noise, got 0\.0"):
        dp.gaussian(sensitivity=1.0, epsilon=1.0, delta=0.0)
    with pytest.raises(InputError, match=r"epsilon must be at least 0, got -0\.5"):
        dp.gaussian(sensitivity=1.0, epsilon=-0.5, delta=0.1)
    with pytest.raises(InputError, match=r"delta ≤ 1/2 and epsilon > 0, got delta 0\.6.*use method 'exact'"):
        dp.gaussian(sensitivity=1.0, epsilon=0.5, delta=0.6, method="classical")
    with pytest.raises(InputError, match="method must be 'exact' or 'classical', got 'analytic'"):
        dp.gaussian(sensitivity=1.0, epsilon=0.5, delta=0.1, method="analytic")
