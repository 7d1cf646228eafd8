"""What every noise promises about its own functions, on the line and beyond."""

import math

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.noise import Airy, BesselBall, Gaussian, LinearImage, Maxwell, Product, RaisedCosine, Translation

CENTRAL = ((-2, 1 / 12), (-1, -2 / 3), (1, 2 / 3), (2, -1 / 12))  # a difference of fourth order


def derivative(function, step):
    """The derivative at 0."""
    return sum(weight * function(k * step) for k, weight in CENTRAL) / step


def test_score_is_the_derivative_of_the_log_density(scalar_case):
    points, cdf = scalar_case.table
    w = points[(cdf > 1e-3) & (cdf < 1 - 1e-3)][7::31]
    step = 1e-5 * (points[-1] - points[0])
    w = w[np.abs(w[:, None] - scalar_case.cuts).min(axis=1) > 3 * step]
    assert w.size > 10
    expected = derivative(lambda t: scalar_case.noise.logpdf(w + t), step)
    assert scalar_case.noise.score(w) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_score_is_the_gradient_of_the_log_density(vector_case):
    noise = vector_case.noise
    w = noise.sample(40, rng=vector_case.seed)
    w = w[noise.logpdf(w) > np.median(noise.logpdf(w))]  # away from edges, where differences lose their digits
    expected = [derivative(lambda t, e=axis: noise.logpdf(w + t * e), 1e-4) for axis in np.eye(noise.dimension)]
    assert noise.score(w) == pytest.approx(np.transpose(expected), rel=1e-6, abs=1e-6)


def test_density_vanishes_outside_the_support(edged_case):
    noise = edged_case.noise
    ends = [
        (end, side) for end, side in zip(np.ravel(noise.support.bounding_box), (-1, 1), strict=True) if np.isfinite(end)
    ]
    outside = [end + side * far for end, side in ends for far in (1e-6, 10)]
    assert (noise.pdf(outside) == 0).all()
    assert (noise.logpdf(outside) == -math.inf).all()
    assert np.isnan(noise.score(outside)).all()


@pytest.mark.parametrize(
    ("noise", "outside"),
    [
        (Product((RaisedCosine(0, 1), Maxwell(1))), [[1.1, 1.0], [0.5, -0.1], [-3.0, -3.0]]),
        (LinearImage(Product((RaisedCosine(0, 1), Maxwell(1))), [[1, 1], [0, 2]]), [[3.0, 1.0], [0.5, -0.1]]),
        (BesselBall(2, 1.0), [[1.001, 0.0], [0.8, 0.8], [0.0, -7.0]]),
        (Translation(BesselBall(3, 1.0), [5, 0, 0]), [[0.0, 0.0, 0.0], [6.1, 0.0, 0.0]]),
        (LinearImage(BesselBall(2, 1.0), [[2, 0], [0, 1]]), [[2.1, 0.0], [0.0, 1.1], [1.9, 0.9]]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_density_of_a_vector_vanishes_outside_the_support(noise, outside):
    assert not noise.support.contains(outside).any()
    assert (noise.pdf(outside) == 0).all()
    assert (noise.logpdf(outside) == -math.inf).all()
    assert np.isnan(noise.score(outside)).all()


def test_unknown_points_have_unknown_densities(scalar_case):
    assert math.isnan(scalar_case.noise.pdf(math.nan))
    assert math.isnan(scalar_case.noise.score(math.nan))


def test_cdf_and_icdf_undo_each_other(scalar_case):
    noise = scalar_case.noise
    q = np.array([1e-9, 1e-4, 0.03, 0.25, 0.5, 0.77, 0.999, 1 - 1e-9])
    assert noise.cdf(noise.icdf(q)) == pytest.approx(q, rel=1e-10, abs=1e-15)
    points, cdf = scalar_case.table
    w = points[(cdf > 1e-3) & (cdf < 1 - 1e-3)][::97]
    assert noise.icdf(noise.cdf(w)) == pytest.approx(w, rel=1e-10, abs=1e-10)


def test_cdf_runs_from_zero_to_one_and_icdf_from_end_to_end(scalar_case):
    noise = scalar_case.noise
    (low,), (high,) = noise.support.bounding_box
    assert noise.icdf([0, 1]) == pytest.approx([low, high], abs=1e-12)
    assert noise.cdf([scalar_case.cuts[0], scalar_case.cuts[-1]]) == pytest.approx([0, 1], abs=1e-15)
    assert noise.cdf([scalar_case.cuts[0] - 5, scalar_case.cuts[-1] + 5]) == pytest.approx([0, 1], abs=1e-15)
    assert (np.diff(noise.cdf(scalar_case.table[0])) >= 0).all()


def test_far_tails_keep_their_digits():
    # relative to the tail itself, not to one: the series of x − sin x and scaled Airy functions see to it
    assert RaisedCosine(0, 1).cdf(1e-7) == pytest.approx(2 * math.pi**2 / 3 * 1e-21, rel=1e-12)
    assert RaisedCosine(0, 1).icdf(2 * math.pi**2 / 3 * 1e-21) == pytest.approx(1e-7, rel=1e-12)
    airy = Airy(1.0)
    assert airy.cdf(airy.icdf(1e-200)) == pytest.approx(1e-200, rel=1e-9)


def test_knots_are_the_ends_and_the_kinks_between_them(scalar_case):
    knots = scalar_case.noise.knots
    (low,), (high,) = scalar_case.noise.support.bounding_box
    assert (knots[0], knots[-1]) == pytest.approx((low, high))
    assert list(knots) == sorted(knots)


def test_knots_and_cdf_are_for_one_dimension(vector_case):
    for use in (lambda n: n.knots, lambda n: n.cdf(0.0), lambda n: n.icdf(0.5)):
        with pytest.raises(InputError, match=f"is defined in one dimension; this noise has {vector_case.dimension}"):
            use(vector_case.noise)


def test_points_lie_along_the_last_axis(vector_case):
    noise, m = vector_case.noise, vector_case.dimension
    w = noise.sample((2, 3), rng=1)
    assert w.shape == (2, 3, m)
    assert noise.pdf(w).shape == (2, 3)
    assert noise.score(w).shape == (2, 3, m)
    assert noise.pdf(w)[1, 2] == pytest.approx(noise.pdf(w[1, 2]), rel=1e-12)
    assert noise.mean.shape == (m,)
    assert noise.covariance.shape == noise.information.shape == (m, m)
    with pytest.raises(InputError, match=f"w must be points of dimension {m} along the last axis, got shape"):
        noise.pdf(np.zeros(m + 1))


@pytest.mark.parametrize("quantile", [-0.1, 1.5, [0.5, math.nan]])
def test_icdf_takes_probabilities_only(scalar_case, quantile):
    with pytest.raises(InputError, match="q must be probabilities between 0 and 1"):
        scalar_case.noise.icdf(quantile)


def test_gaussian_on_the_line_takes_a_variance_and_a_mean():
    assert Gaussian(4.0, 1.0) == Gaussian([[4.0]], [1.0])
    assert Gaussian(4.0).mean == pytest.approx([0.0], abs=0)
