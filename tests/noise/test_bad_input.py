"""Every constructor says what was given, what is allowed, and what to do."""

import math
import re

import numpy as np
import pytest

from errorfloor.errors import InputError, SupportError
from errorfloor.noise import (
    Airy,
    BesselBall,
    Certificate,
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
    from_dict,
)

PLANE = Product((RaisedCosine(0, 1), RaisedCosine(0, 1)))

INTERVALS = {
    "raised cosine": RaisedCosine,
    "uniform": lambda low, high: Uniform(low=low, high=high),
    "truncated laplace": lambda low, high: TruncatedLaplace(1.0, low=low, high=high),
    "truncated gaussian": lambda low, high: TruncatedGaussian(1.0, low=low, high=high),
}


@pytest.mark.parametrize("build", INTERVALS.values(), ids=[name.replace(" ", "-") for name in INTERVALS])
@pytest.mark.parametrize(
    ("low", "high", "message"),
    [
        (1, 0, "Interval needs low < high, got low 1.0 and high 0.0"),
        (2, 2, "Interval needs low < high, got low 2.0 and high 2.0"),
        (0, math.inf, "Interval is bounded, got high inf: use HalfLine(low), HalfLine(high=…) or Reals(1)"),
        (-math.inf, 0, "Interval is bounded, got low -inf: use HalfLine(low), HalfLine(high=…) or Reals(1)"),
        (math.nan, 1, "low must be a finite number, got nan"),
        (0, "one", "high must be numbers, got 'one'"),
        (0, [1, 2], "high must be a finite number, got [1, 2]"),
        (None, 1, "low must be numbers, got None"),
        (-1e308, 1e308, "Interval's width inf does not fit double precision: rescale the data"),
    ],
)
def test_noise_on_an_interval_refuses_what_is_no_interval(build, low, high, message):
    with pytest.raises(SupportError, match=re.escape(message)):
        build(low, high)


SCALES = {
    "scale of Maxwell": ("scale", Maxwell),
    "scale of Airy": ("scale", Airy),
    "scale of Laplace": ("scale", Laplace),
    "radius of BesselBall": ("radius", lambda value: BesselBall(2, value)),
    "scale of TruncatedLaplace": ("scale", lambda value: TruncatedLaplace(value, low=0, high=1)),
    "deviation of TruncatedGaussian": ("deviation", lambda value: TruncatedGaussian(value, low=0, high=1)),
}


@pytest.mark.parametrize(("name", "build"), SCALES.values(), ids=[name.replace(" ", "-") for name in SCALES])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "must be positive, got 0"),
        (-2.5, "must be positive, got -2.5"),
        (math.inf, "must be a finite number, got inf"),
        (math.nan, "must be a finite number, got nan"),
        ("wide", "must be numbers, got 'wide'"),
        (None, "must be numbers, got None"),
        (True, "must be numbers, got True"),
        ([1.0, 2.0], "must be a finite number, got [1.0, 2.0]"),
    ],
)
def test_scales_are_positive_numbers(name, build, value, message):
    with pytest.raises(InputError, match=re.escape(f"{name} {message}")):
        build(value)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: TruncatedLaplace(1.0, math.inf, low=0, high=1), "center must be a finite number, got inf"),
        (lambda: TruncatedGaussian(1.0, "middle", low=0, high=1), "center must be numbers, got 'middle'"),
        (lambda: BesselBall(1, 1.0), "dimension must be a whole number of at least 2, got 1"),
        (lambda: BesselBall(2.0, 1.0), "dimension must be a whole number of at least 2, got 2.0"),
        (lambda: BesselBall(True, 1.0), "dimension must be a whole number of at least 2, got True"),
        (lambda: BesselBall(201, 1.0), "dimension must be at most 200, got 201"),
        (lambda: Gaussian(0.0), "covariance must be positive definite, but has rank 0 of 1"),
        (lambda: Gaussian(-1.0), "covariance must be positive semi-definite, but has the diagonal entry -1"),
        (lambda: Gaussian([1.0, 2.0]), "covariance must be a matrix, got an array of shape (2,)"),
        (lambda: Gaussian([[1.0, 2.0]]), "covariance must be 1×1, got 1×2"),
        (
            lambda: Gaussian([[1.0, 2.0], [0.0, 1.0]]),
            "covariance must be symmetric, but entries (0,1) and (1,0) are 2.0 and 0.0",
        ),
        (lambda: Gaussian(np.ones((2, 2))), "covariance must be positive definite, but has rank 1 of 2"),
        (lambda: Gaussian([[1.0], [2.0, 3.0]]), "covariance must be numbers in a regular grid"),
        (lambda: Gaussian([[math.nan]]), "covariance must be finite everywhere, got nan"),
        (lambda: Gaussian(np.eye(2), [1.0]), "mean must have 2 entries, got 1"),
        (lambda: Gaussian(np.eye(2), [1.0, math.inf]), "mean must be finite everywhere, got inf"),
        (lambda: Product(()), "factors must be one or more one-dimensional noises"),
        (lambda: Product((Maxwell(1), PLANE)), "factors must be one or more one-dimensional noises"),
        (lambda: Product((Maxwell(1), 3.0)), "factors must be one or more one-dimensional noises"),
        (lambda: LinearImage("noise", [[1.0]]), "base must be a noise, got str"),
        (lambda: LinearImage(PLANE, [[1.0]]), "matrix must be 2×2, got 1×1"),
        (
            lambda: LinearImage(PLANE, [[1, 2], [2, 4]]),
            "matrix must be invertible: it maps a whole direction to zero (rank 1 of 2)",
        ),
        (lambda: LinearImage(Maxwell(1), 0), "matrix must be invertible: it maps a whole direction to zero"),
        (lambda: LinearImage(PLANE, [[1, math.nan], [0, 1]]), "matrix must be finite everywhere, got nan"),
        (lambda: Translation(None, [1.0]), "base must be a noise, got NoneType"),
        (lambda: Translation(PLANE, [1.0]), "shift must have 2 entries, got 1"),
        (lambda: Translation(PLANE, [1.0, math.inf]), "shift must be finite everywhere, got inf"),
        (lambda: Translation(PLANE, np.eye(2)), "shift must be a list of numbers, got an array of shape (2, 2)"),
    ],
)
def test_constructors_say_what_is_wrong(build, message):
    with pytest.raises(InputError, match=re.escape(message)):
        build()


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        ("median", "loss must be 'squared', 'absolute' or a positive definite matrix, got 'median'"),
        (lambda w: w[..., 0], "let a matrix R with a wᵀRw above a function stand for it"),
        ([[1.0]], "loss must be 2×2, got 1×1"),
        ([[1.0, 0.0], [0.0, 0.0]], "loss must be positive definite, but has rank 1 of 2"),
    ],
)
def test_expected_loss_says_which_losses_it_knows(loss, message):
    with pytest.raises(InputError, match=re.escape(message)):
        PLANE.expected_loss(loss)


@pytest.mark.parametrize(
    ("size", "rng", "message"),
    [
        (-1, 1, "size must be a whole number of at least 0, got -1"),
        ((2, 1.5), 1, "size must be a whole number of at least 0, got 1.5"),
        (3, "seed", "rng must be None for secure bits, or a Bits, a NumPy Generator or a seed"),
        (3, True, "rng must be None for secure bits, or a Bits, a NumPy Generator or a seed"),
    ],
)
def test_sample_says_what_it_takes(size, rng, message):
    with pytest.raises(InputError, match=re.escape(message)):
        Maxwell(1).sample(size, rng)


@pytest.mark.parametrize("points", ["text", [[1.0], [2.0, 3.0]], True])
def test_points_are_numbers(points):
    with pytest.raises(InputError, match="w must be numbers"):
        Maxwell(1).pdf(points)


def test_parameters_are_fixed_once_and_for_all():
    noise = Gaussian(np.eye(2))
    with pytest.raises(AttributeError):
        noise.mean = np.ones(2)
    with pytest.raises(ValueError, match="read-only"):
        noise.covariance[0, 0] = 5.0


def test_laws_far_from_their_centre_do_not_underflow():
    for noise in (TruncatedLaplace(0.001, low=1, high=2), TruncatedGaussian(0.01, low=1, high=2)):
        drawn = noise.sample(1000, rng=1)
        assert 1 <= drawn.min() < drawn.max() < 1.02
        assert np.all(np.isfinite(noise.pdf([1.0, 1.5])))
        assert noise.cdf(noise.icdf(0.3)) == pytest.approx(0.3, rel=1e-9)
    mirrored = TruncatedGaussian(0.01, low=-2, high=-1)
    assert mirrored.icdf(0.3) == pytest.approx(-TruncatedGaussian(0.01, low=1, high=2).icdf(0.7), rel=1e-12)


def test_airy_is_quiet_far_out():
    noise = Airy(1.0)
    assert noise.pdf([np.inf, -np.inf, 1e200]).tolist() == [0.0, 0.0, 0.0]
    assert noise.cdf([np.inf, -np.inf]).tolist() == [1.0, 0.0]
    assert noise.icdf(1e-270) == pytest.approx(-60.7113, rel=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Airy(1.0).sample(2.5), "size must be a whole number"),
        (lambda: from_dict({"type": ["a"]}), "unknown noise type"),
        (lambda: from_dict(Certificate(1.0).to_dict()), "a noise is wanted, not a Certificate"),
        (lambda: RaisedCosine(1e16, 1e16 + 4), "lost in the rounding"),
    ],
)
def test_odd_requests_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
