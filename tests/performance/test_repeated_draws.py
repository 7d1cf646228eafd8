"""Extremes pin a noise that jumps at the rate 1/K; one of finite information gives way no faster than 1/√K."""

import math

import pytest
from benchmarks.repeated_draws import average, decline, maximum_likelihood, mean_square, midrange

from errorfloor.errors import InputError
from errorfloor.noise import Gaussian, RaisedCosine, TruncatedGaussian, TruncatedLaplace, Uniform

DRAWS = (30, 100, 300, 1000)
COSINE = RaisedCosine(-0.5, 0.5)


def test_extremes_find_a_uniform_noise_at_the_rate_of_one_over_k():
    uniform = Uniform(low=-0.5, high=0.5)
    assert decline("midrange", uniform, midrange, DRAWS, runs=1500, seed=1).slope == pytest.approx(-1, abs=0.05)


@pytest.mark.parametrize(
    "noise",
    [TruncatedLaplace(0.5, low=-0.5, high=0.5), TruncatedGaussian(0.4, low=-0.5, high=0.5)],
    ids=lambda noise: type(noise).__name__,
)
def test_extremes_find_smaller_jumps_too_once_there_are_draws_enough(noise):
    found = decline("midrange", noise, midrange, (300, 1000, 3000), runs=800, seed=1)
    assert found.slope == pytest.approx(-1, abs=0.1)


def test_the_best_estimator_of_a_raised_cosine_falls_like_one_over_the_root():
    found = decline("raised cosine", COSINE, maximum_likelihood(COSINE), (100, 300, 1000), runs=1500, seed=1)
    assert found.slope == pytest.approx(-0.5, abs=0.05)
    assert decline("mean", COSINE, average, DRAWS, runs=1500, seed=1).slope == pytest.approx(-0.5, abs=0.05)


def test_maximum_likelihood_attains_the_floor_and_does_not_beat_it():
    variance = mean_square(COSINE, maximum_likelihood(COSINE), 1000, runs=20_000, seed=5)
    assert 1.0 <= variance * 1000 * 4 * math.pi**2 <= 1.05


def test_draws_of_several_numbers_are_refused():
    with pytest.raises(InputError, match="repeated draws are of one number, got noise in 2 dimensions"):
        mean_square(Gaussian([[1.0, 0.0], [0.0, 1.0]]), average, 10, runs=1, seed=1)
