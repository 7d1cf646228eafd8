"""Entropy and mutual information in bits, against closed forms and against sums."""

import math

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    RaisedCosine,
    Translation,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)
from paper import shannon


@pytest.mark.parametrize("slope", [1e-3, -0.1, 1.0, 30.0, -1000.0])
def test_gaussian_prior_and_gaussian_noise_have_shannons_formula(slope):
    bits = shannon.mutual_information(Gaussian(2.0), slope=slope, prior=Gaussian(3.0, mean=[5.0]))
    assert bits == pytest.approx(0.5 * math.log2(1 + 3 * slope**2 / 2), rel=1e-9, abs=1e-12)


def test_two_uniform_laws_of_one_width_give_half_a_nat():
    unit = Uniform(low=0, high=1)
    assert shannon.mutual_information(unit, slope=1.0, prior=unit) == pytest.approx(0.5 / math.log(2), rel=1e-12)


def test_uniform_noise_much_narrower_than_a_uniform_prior():
    # a trapezium of height 1/4 with ramps of width 1 has the entropy ln 4 + 1/8
    bits = shannon.mutual_information(Uniform(low=0, high=1), slope=4.0, prior=Uniform(low=0, high=1))
    assert bits == pytest.approx((math.log(4) + 1 / 8) / math.log(2), rel=1e-12)


@pytest.mark.parametrize(
    ("noise", "slope", "prior"),
    [
        (RaisedCosine(-0.5, 0.5), 1.0, Uniform(low=0, high=1)),
        (Laplace(0.3), -2.0, RaisedCosine(0, 1)),
        (Maxwell(0.5), 1.5, Laplace(0.4)),
        (Airy(0.2), 0.7, Maxwell(0.6)),
    ],
)
def test_mutual_information_agrees_with_sums_over_cells(noise, slope, prior):
    step, reach = 1 / 256, 14.0
    cells = np.arange(-reach, reach, step)
    edges = np.append(cells, reach)
    of_noise = np.diff(noise.cdf(edges))
    of_signal = np.diff(LinearImage(prior, [[slope]]).cdf(edges))
    answer = np.convolve(of_noise, of_signal)

    def entropy(masses):
        kept = masses[masses > 0]
        return -float((kept * np.log2(kept / step)).sum())

    bits = shannon.mutual_information(noise, slope=slope, prior=prior)
    assert bits == pytest.approx(entropy(answer) - entropy(of_noise), abs=3e-4)


def test_weak_answers_tell_half_the_fisher_information_times_the_variance():
    prior, slope = Uniform(low=-1, high=1), 0.02
    for noise in (RaisedCosine(-1, 1), Gaussian(1.0), Airy(1.0), Laplace(1.0)):
        nats = shannon.mutual_information(noise, slope=slope, prior=prior) * math.log(2)
        assert nats == pytest.approx(slope**2 * float(noise.information[0, 0]) / 3 / 2, rel=0.02)


def test_moving_either_law_changes_nothing():
    moved = shannon.mutual_information(
        Translation(RaisedCosine(-1, 1), [9.0]), slope=1.0, prior=Translation(Laplace(1.0), [-4.0])
    )
    assert moved == pytest.approx(
        shannon.mutual_information(RaisedCosine(-1, 1), slope=1.0, prior=Laplace(1.0)), rel=1e-9
    )


def test_gaussian_noise_minimises_mutual_information_for_a_gaussian_prior():
    for slope in (0.3, 2.0):
        least = shannon.mutual_information(Gaussian(1.0), slope=slope, prior=Gaussian(1.0))
        for base in (RaisedCosine(-1, 1), Laplace(1.0), Maxwell(1.0), Uniform(low=0, high=1)):
            noise = LinearImage(base, [[1 / math.sqrt(float(base.covariance[0, 0]))]])
            assert shannon.mutual_information(noise, slope=slope, prior=Gaussian(1.0)) > least + 1e-4


def test_an_answer_that_does_not_depend_on_the_value_tells_nothing():
    assert shannon.mutual_information(Laplace(1.0), slope=0.0, prior=Uniform(low=0, high=1)) == 0.0


def test_entropy_of_vectors_is_in_bits_too():
    assert shannon.entropy_bits(Gaussian(np.eye(3))) == pytest.approx(1.5 * math.log2(2 * math.pi * math.e))


def test_information_functions_name_what_is_wrong():
    with pytest.raises(InputError, match=r"noise must be a noise of errorfloor\.noise, got float"):
        shannon.entropy_bits(1.0)
    with pytest.raises(InputError, match="prior must have one dimension, got 2"):
        shannon.mutual_information(Laplace(1.0), slope=1.0, prior=BesselBall(2, 1.0))
    with pytest.raises(InputError, match="slope must be a finite number, got inf"):
        shannon.mutual_information(Laplace(1.0), slope=math.inf, prior=Laplace(1.0))


def test_gaussian_noise_does_not_minimise_mutual_information_for_an_exponential_prior():
    prior = TruncatedLaplace(1.0, low=0, high=30)
    cut = TruncatedGaussian(1.0, low=-3.4, high=9)
    competitor = LinearImage(cut, [[1 / math.sqrt(float(cut.covariance[0, 0]))]])
    assert float(competitor.covariance[0, 0]) == pytest.approx(1.0, rel=1e-12)
    gaussian_bits = shannon.mutual_information(Gaussian(1.0), slope=1.2, prior=prior)
    other_bits = shannon.mutual_information(competitor, slope=1.2, prior=prior)
    assert other_bits < gaussian_bits - 1e-4
    for noise, bits in ((Gaussian(1.0), gaussian_bits), (competitor, other_bits)):
        assert bits == pytest.approx(bits_on_a_grid(noise, 1.2, prior), abs=1e-5)


def bits_on_a_grid(noise, slope, prior):
    """h(y) − h(w) from a convolution of cell probabilities, and sums instead of integrals."""
    step = 1 / 256
    w = np.arange(-10, 10, step)
    x = np.arange(0, 40, step)
    of_noise = np.diff(noise.cdf(np.append(w, 10.0)))
    of_signal = np.diff(prior.cdf(np.append(x, 40.0) / slope))
    answer = np.convolve(of_noise, of_signal)

    def entropy(masses):
        kept = masses[masses > 0]
        return -float((kept * np.log2(kept / step)).sum())

    return entropy(answer) - entropy(of_noise)
