"""Laws that hold for all parameters: scaling, translation, composition, and the total variation of a shift."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Product,
    RaisedCosine,
    Translation,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)

BY_SCALE = {
    "raised cosine": lambda s: RaisedCosine(-s, 2 * s),
    "ball": lambda s: BesselBall(3, s),
    "maxwell": Maxwell,
    "gaussian": lambda s: Gaussian(s**2 * np.array([[2.0, 0.5], [0.5, 1.0]])),
    "airy": Airy,
    "laplace": Laplace,
    "product": lambda s: Product((Airy(s), Maxwell(2 * s))),
    "uniform": lambda s: Uniform(low=-s, high=s),
    "truncated laplace": lambda s: TruncatedLaplace(s, low=-s, high=2 * s),
    "truncated gaussian": lambda s: TruncatedGaussian(s, low=-s, high=2 * s),
}
scales = st.floats(1e-6, 1e6)
shifts = st.floats(-1e3, 1e3)
repeatable = settings(max_examples=25, derandomize=True, deadline=None)
families = pytest.mark.parametrize("family", BY_SCALE.values(), ids=[name.replace(" ", "-") for name in BY_SCALE])


@families
@repeatable
@given(scale=scales)
def test_information_scales_as_the_inverse_square(family, scale):
    unit, scaled = family(1.0), family(scale)
    assert scaled.information * scale**2 == pytest.approx(unit.information, rel=1e-12)


@families
@repeatable
@given(scale=scales)
def test_moments_entropy_and_density_scale_with_the_unit(family, scale):
    unit, scaled = family(1.0), family(scale)
    assert scaled.mean / scale == pytest.approx(unit.mean, rel=1e-10, abs=1e-12)
    assert scaled.covariance / scale**2 == pytest.approx(unit.covariance, rel=1e-10)
    assert scaled.entropy - unit.dimension * math.log(scale) == pytest.approx(unit.entropy, abs=1e-9)
    assert scaled.expected_loss("absolute") / scale == pytest.approx(unit.expected_loss("absolute"), rel=1e-10)
    w = unit.sample(5, rng=1)
    assert scaled.logpdf(scale * w) + unit.dimension * math.log(scale) == pytest.approx(unit.logpdf(w), abs=1e-8)


@families
@repeatable
@given(scale=scales)
def test_a_scaled_noise_is_the_image_of_the_unit_one(family, scale):
    unit, scaled = family(1.0), family(scale)
    image = LinearImage(unit, scale * np.eye(unit.dimension))
    w = scaled.sample(5, rng=2)
    assert image.logpdf(w) == pytest.approx(scaled.logpdf(w), abs=1e-8)
    assert image.information == pytest.approx(scaled.information, rel=1e-10)
    assert image.entropy == pytest.approx(scaled.entropy, abs=1e-9)


@families
@repeatable
@given(shift=shifts)
def test_translation_changes_the_mean_and_nothing_else(family, shift):
    noise = family(1.0)
    moved = Translation(noise, np.full(noise.dimension, shift))
    assert moved.mean - shift == pytest.approx(noise.mean, abs=1e-10)
    assert np.array_equal(moved.information, noise.information)
    assert np.array_equal(moved.covariance, noise.covariance)
    assert moved.entropy == noise.entropy
    assert np.array_equal(moved.sample(5, rng=3), noise.sample(5, rng=3) + shift)
    w = noise.sample(5, rng=3)
    assert moved.logpdf(w + shift) == pytest.approx(noise.logpdf(w), abs=1e-6)


@repeatable
@given(low=shifts, width=scales, shift=shifts)
def test_raised_cosine_moved_is_a_raised_cosine(low, width, shift):
    noise = RaisedCosine(low, low + width)
    moved = Translation(noise, shift)
    direct = RaisedCosine(low + shift, low + width + shift)
    digits = 1e-9 * (1 + (abs(low) + abs(shift)) / width)  # what the ends lose when they are rounded
    assert moved.information == pytest.approx(direct.information, rel=digits)
    assert moved.covariance == pytest.approx(direct.covariance, rel=digits)
    assert moved.mean == pytest.approx(direct.mean, rel=1e-12, abs=1e-12 * (width + abs(low) + abs(shift)))


@repeatable
@given(st.lists(st.floats(0.1, 10), min_size=8, max_size=8), st.integers(0, 10**6))
def test_image_of_an_image_is_the_image_by_the_product(entries, seed):
    base = Product((RaisedCosine(0, 1), Maxwell(1.0)))
    A, B = np.reshape(entries, (2, 2, 2)) * [[1.0, 0.1], [-0.1, 1.0]]
    twice, once = LinearImage(LinearImage(base, A), B), LinearImage(base, B @ A)
    w = twice.sample(5, rng=seed)
    assert once.logpdf(w) == pytest.approx(twice.logpdf(w), rel=1e-7, abs=1e-7)
    assert twice.information == pytest.approx(once.information, rel=1e-7, abs=1e-9 * np.trace(once.information))
    assert twice.covariance == pytest.approx(once.covariance, rel=1e-9, abs=1e-12 * np.trace(once.covariance))
    assert twice.entropy == pytest.approx(once.entropy, abs=1e-9)


@repeatable
@given(st.lists(st.floats(0.1, 10), min_size=4, max_size=4))
def test_image_keeps_the_cost_of_the_image_sensitivity(entries):
    base, K = BesselBall(2, 1.3), np.array([[2.0, 0.3], [0.3, 1.0]])
    A = np.reshape(entries, (2, 2)) * [[1.0, 0.1], [-0.1, 1.0]]
    image = LinearImage(base, A)
    assert np.trace(A @ K @ A.T @ image.information) == pytest.approx(np.trace(K @ base.information), rel=1e-9)


@repeatable
@given(width=st.floats(0.01, 100), ratio=st.floats(1e-3, 1.5))
def test_total_variation_of_a_shifted_raised_cosine_agrees_with_quadrature(width, ratio):
    noise, shift = RaisedCosine(-width / 2, width / 2), ratio * width
    ends = sorted([-width / 2, width / 2, shift - width / 2, shift + width / 2, shift / 2])
    apart = sum(
        quad(lambda w: abs(noise.pdf(w) - noise.pdf(w - shift)) / 2, a, b, epsabs=1e-13, epsrel=1e-12)[0]
        for a, b in pairwise(ends)
        if b > a
    )
    assert noise.total_variation(shift) == pytest.approx(apart, rel=1e-10, abs=1e-12)
    assert noise.total_variation(shift) == noise.total_variation(-shift)


@repeatable
@given(width=st.floats(0.01, 100), ratio=st.floats(0, 1e-4))
def test_total_variation_of_a_small_shift_is_the_peak_times_the_shift(width, ratio):
    noise = RaisedCosine(0, width)
    assert noise.total_variation(ratio * width) == pytest.approx(2 * ratio, rel=1e-7, abs=1e-300)


def test_total_variation_is_below_the_angle_that_information_allows():
    noise = RaisedCosine(0, 1)
    for shift in np.linspace(0, 1, 101):
        angle = min(shift * math.sqrt(float(noise.information[0, 0])) / 2, math.pi / 2)
        assert noise.total_variation(shift) <= math.sin(angle) + 1e-15
