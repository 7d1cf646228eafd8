"""Section 5: differential privacy, mutual information, entropies, Laplace against Gaussian noise."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm

from errorfloor import dp
from errorfloor.designer import design
from errorfloor.floors import floor
from errorfloor.noise import Airy, Gaussian, Laplace, RaisedCosine
from errorfloor.support import Reals
from paper import shannon
from paper.discussion import HIGH, LOW, WEIGHTS, equal_quality, mutual_information, residual_range
from paper.privacy import exact_delta, sufficient


def test_laplace_scale_is_sensitivity_over_epsilon():
    for sensitivity, epsilon in ((100.0, 0.5), (0.2, 3.0)):
        noise = dp.laplace(sensitivity=sensitivity, epsilon=epsilon)
        w = np.linspace(-5 * sensitivity, 5 * sensitivity, 5001)
        ratio = (noise.logpdf(w) - noise.logpdf(w - sensitivity)).max()
        assert ratio == pytest.approx(epsilon, rel=1e-9)
        assert noise.expected_loss() == pytest.approx(2 * (sensitivity / epsilon) ** 2)


def test_printed_laplace_noise_shrinks_as_more_privacy_is_asked_for():
    def printed(epsilon: float) -> float:
        return epsilon / 100.0

    assert printed(0.1) < printed(1.0)
    assert float(dp.epsilon(Laplace(printed(0.5)), 100.0, 0.0)) == pytest.approx(20_000)
    assert float(dp.epsilon(Laplace(100.0 / 0.5), 100.0, 0.0)) == pytest.approx(0.5)


def test_epsilon_of_laplace_noise_at_equal_quality():
    for loss in (0.5, 800.0):
        noise = Laplace(math.sqrt(loss / 2))
        assert noise.expected_loss() == pytest.approx(loss)
        assert float(dp.epsilon(noise, 3.0, 0.0)) == pytest.approx(3 * math.sqrt(2 / loss), rel=1e-9)
        assert float(noise.information[0, 0]) == pytest.approx(2 / loss)


def test_real_delta_of_the_printed_gaussian_condition_is_0_90():
    variance = float(sufficient(100.0, 0.5, 1e-3))
    deviation = math.sqrt(variance)
    assert float(dp.delta(Gaussian(variance), 100.0, 0.5)) == pytest.approx(0.90, abs=0.005)
    hockey = quad(
        lambda w: max(0.0, norm.pdf(w, scale=deviation) - math.exp(0.5) * norm.pdf(w - 100, scale=deviation)),
        -300,
        400,
        limit=400,
        epsabs=1e-12,
        points=[50 - 0.5 * variance / 100],
    )[0]
    assert hockey == pytest.approx(float(exact_delta(100 / deviation, 0.5)), rel=1e-9)


@pytest.mark.parametrize("delta", [1e-9, 1e-5, 1e-3, 0.1, 0.5])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 5.0])
def test_corrected_gaussian_condition_is_sufficient(epsilon, delta):
    for sensitivity in (0.01, 1.0, 100.0):
        deviation = float(sufficient(sensitivity, epsilon, delta))
        assert float(dp.delta(Gaussian(deviation**2), sensitivity, epsilon)) <= delta


def test_erfc_with_half_exponent_breaks_the_proof():
    """δ ≥ ½erfc(K/√2) with 2δ = e^{−K²/2}: true for erfc, false for (2/√π)∫e^{−u²/2} at K = 0."""
    for k in np.linspace(0, 6, 25):
        assert 0.5 * math.exp(-k * k / 2) >= 0.5 * math.erfc(k / math.sqrt(2))
    wrong = 0.5 * 2 / math.sqrt(math.pi) * quad(lambda u: math.exp(-u * u / 2), 0, 40)[0]
    assert wrong == pytest.approx(math.sqrt(0.5)) and wrong > 0.5


def test_region_at_variance_equal_to_sensitivity_is_false_for_large_queries():
    assert float(sufficient(1.0, 1.0, 0.49)) < 1  # granted by the condition as printed with ϑ = s
    assert float(dp.delta(Gaussian(100.0), 100.0, 1.0)) > 0.999
    assert float(dp.delta(Gaussian(4.0), 4.0, 3.0)) > 0.12 > float(dp.delta(Gaussian(1.0), 1.0, 3.0))


def test_kappa_is_found_at_the_minimum_of_the_residual():
    square, loss = float(WEIGHTS @ WEIGHTS), 0.02
    away = np.eye(3) - np.outer(WEIGHTS, WEIGHTS) / square

    def ratio(x):
        rest = float(np.sum((away @ x) ** 2))
        return (rest + loss / square) / (rest + loss / (2 * square))

    starts = [np.full(3, 1.5), np.array([2.0, 1.0, 1.0])]
    best = max(-minimize(lambda x: -ratio(x), start, bounds=[(LOW, HIGH)] * 3).fun for start in starts)
    least, most = residual_range()
    assert best == pytest.approx(1 + 1 / (1 + 2 * square * least / loss), rel=1e-6)
    assert best > 1 + 1 / (1 + 2 * square * most / loss)
    assert equal_quality().shown[2].library == pytest.approx(best, rel=1e-6)


def test_kappa_is_one_when_the_box_holds_a_multiple_of_the_weights():
    weights = np.full(4, 0.25)
    x = np.full(4, 1.7)
    assert np.sum((x - weights * (weights @ x) / (weights @ weights)) ** 2) < 1e-24
    C, projection = weights[None, :], np.outer(weights, weights) / (weights @ weights)
    bounds = [floor(noise, C).biased(projection) ** 2 for noise in (Gaussian(0.3), Laplace(math.sqrt(0.15)))]
    assert bounds[0] / bounds[1] == pytest.approx(2)
    assert bounds[0] == pytest.approx(0.3 / 0.25)  # ϑ/(CCᵀ)


def test_entropies_in_bits():
    for loss in (0.1, 1.0, 50.0):
        laplace, gaussian = Laplace(math.sqrt(loss / 2)), Gaussian(loss)
        assert shannon.entropy_bits(laplace) == pytest.approx(math.log2(math.e * math.sqrt(2 * loss)), abs=1e-12)
        assert shannon.entropy_bits(gaussian) == pytest.approx(
            math.log2(math.sqrt(2 * math.pi * math.e * loss)), abs=1e-12
        )
        assert shannon.entropy_bits(gaussian) - shannon.entropy_bits(laplace) == pytest.approx(0.1044, abs=5e-5)


@pytest.mark.parametrize("noise", [Laplace(math.sqrt(0.125)), RaisedCosine(-1.3831, 1.3831)])
def test_gaussian_noise_leaks_least_about_a_gaussian_value(noise):
    assert noise.expected_loss() == pytest.approx(0.25, rel=1e-3)
    least = float(shannon.mutual_information(Gaussian(0.25), slope=1.0, prior=Gaussian(1.0)))
    assert least == pytest.approx(0.5 * math.log2(5), rel=1e-6)
    assert float(shannon.mutual_information(noise, slope=1.0, prior=Gaussian(1.0))) > least + 0.01


def test_gaussian_noise_does_not_leak_least_about_a_sign():
    def bits(density):
        def integrand(y: float) -> float:
            here, there = density(y - 1), density(y + 1)
            return here * math.log2(2 * here / (here + there)) if here > 0 else 0.0

        cuts = np.arange(-6, 7)
        return sum(quad(integrand, a, b, epsabs=1e-12)[0] for a, b in pairwise(cuts))

    peaks = bits(lambda w: sum(p * norm.pdf(w, m, 0.1) for p, m in ((0.94, 0.0), (0.03, -2.0), (0.03, 2.0))))
    gaussian = bits(lambda w: norm.pdf(w, scale=0.5))
    assert pytest.approx(0.25) == 0.94 * 0.01 + 0.06 * 4.01
    assert peaks == pytest.approx(0.807, abs=5e-4) and gaussian == pytest.approx(0.913, abs=5e-4)
    assert mutual_information().shown[1].library == pytest.approx(peaks, rel=1e-7)


def test_absolute_loss_leads_to_airy_and_not_to_laplace_noise():
    noise = design(Reals(1), loss="absolute", max_loss=1.0)
    assert isinstance(noise, Airy)
    assert float(noise.information[0, 0]) * noise.expected_loss("absolute") ** 2 == pytest.approx(0.626634, abs=5e-7)
    assert float(Laplace(1.0).information[0, 0]) == 1.0 == Laplace(1.0).expected_loss("absolute")
    assert 2 / math.pi == pytest.approx(0.63662, abs=5e-6)
