"""One dimension: against special functions at 30 digits, and against a discretisation that shares no code."""

import mpmath
import numpy as np
import pytest
from scipy.special import ai_zeros

import errorfloor as ef
from errorfloor.noise import RaisedCosine, Spectral


def exact_on_interval(k, weight, low, high, near):
    """The eigenvalue of −4k u″ + weight·w² u near a number, u zero at both ends, by Kummer's functions."""
    with mpmath.workdps(30):
        k, weight, low, high = (mpmath.mpf(x) for x in (k, weight, low, high))
        c = mpmath.sqrt(weight / k) / 2  # u = exp(−c w²/2)·…

        def solutions(value, w):
            a = value / (4 * k * c)
            even = mpmath.hyp1f1((1 - a) / 4, mpmath.mpf(1) / 2, c * w * w)
            odd = w * mpmath.hyp1f1((3 - a) / 4, mpmath.mpf(3) / 2, c * w * w)
            return even, odd

        def determinant(value):
            (e1, o1), (e2, o2) = solutions(value, low), solutions(value, high)
            return e1 * o2 - e2 * o1

        return float(mpmath.findroot(determinant, (near, near * (1 + mpmath.mpf(10) ** -9)), tol=1e-20))


CASES = [
    (float(k), float(weight), float(low), float(low + width))
    for k, weight, low, width in zip(
        np.random.default_rng(7).uniform(0.1, 5, 20),
        10 ** np.random.default_rng(8).uniform(-2, 3, 20),
        np.random.default_rng(9).uniform(-2, 1, 20),
        np.random.default_rng(10).uniform(0.3, 4, 20),
        strict=True,
    )
]


@pytest.mark.parametrize("case", CASES)
def test_interval_with_squared_loss_agrees_with_special_functions(case):
    k, weight, low, high = case
    noise = ef.design(ef.Interval(low, high), sensitivity=[[k]], loss_weight=weight)
    exact = exact_on_interval(k, weight, low, high, noise.certificate.value)
    assert noise.certificate.value == pytest.approx(exact, rel=1e-11)
    assert noise.certificate.lower_bound <= exact * (1 + 1e-14)
    assert noise.certificate.gap < 1e-10


@pytest.mark.parametrize("weight", [0.3, 20.0])
def test_half_line_with_absolute_loss_is_airys(weight):
    noise = ef.design(ef.HalfLine(0.0), loss="absolute", loss_weight=weight)
    exact = 4 * (weight / 4) ** (2 / 3) * -float(ai_zeros(1)[0][0])
    assert noise.certificate.value == pytest.approx(exact, rel=1e-12)
    assert noise.certificate.gap < 1e-10
    assert noise.support == ef.HalfLine(0.0)
    mirrored = ef.design(ef.HalfLine(high=0.0), loss="absolute", loss_weight=weight)
    assert mirrored.certificate.value == pytest.approx(exact, rel=1e-12)
    assert (mirrored.sample(1000, rng=1) <= 0).all()


def test_absolute_loss_on_an_interval_agrees_with_airys_functions():
    weight, low, high = 30.0, 0.2, 1.7
    noise = ef.design(ef.Interval(low, high), loss="absolute", loss_weight=weight)
    s = (weight / 4) ** (1 / 3)

    def determinant(value):
        one, two = s * low - value / (4 * s * s), s * high - value / (4 * s * s)
        return mpmath.airyai(one) * mpmath.airybi(two) - mpmath.airyai(two) * mpmath.airybi(one)

    assert noise.certificate.value == pytest.approx(
        float(mpmath.findroot(determinant, noise.certificate.value)), rel=1e-11
    )


@pytest.mark.parametrize(
    ("support", "loss", "bound"),
    [
        (ef.Interval(-0.5, 0.5), "squared", 0.005),
        (ef.Interval(-0.5, 0.5), "squared", 0.0326),
        (ef.Interval(1, 2), "squared", 1.001),
        (ef.Interval(-1, 3), "absolute", 1e-3),
        (ef.HalfLine(1.0), "squared", 3.0),
        (ef.HalfLine(0.0), "absolute", 2.0),
        (ef.HalfLine(-2.0), [[3.0]], 0.4),
    ],
)
def test_the_loss_meets_its_bound(support, loss, bound):
    noise = ef.design(support, loss=loss, max_loss=bound)
    assert noise.expected_loss(loss) == pytest.approx(bound, rel=1e-10)
    assert noise.certificate.loss_weight > 0
    assert noise.certificate.value == pytest.approx(float(noise.information[0, 0]), rel=1e-12)
    # the same density solves the weighted problem at that weight
    weighted = ef.design(support, loss=loss, loss_weight=noise.certificate.loss_weight)
    assert weighted.expected_loss(loss) == pytest.approx(bound, rel=1e-8)
    assert 0 <= noise.certificate.gap < 1e-8


def test_information_and_weight_are_the_slope_of_the_frontier():
    below, above = (ef.design(ef.Interval(-1, 1), max_loss=0.05 * (1 + d)) for d in (-1e-4, 1e-4))
    middle = ef.design(ef.Interval(-1, 1), max_loss=0.05)
    slope = (above.certificate.value - below.certificate.value) / (2e-4 * 0.05)
    assert -slope == pytest.approx(middle.certificate.loss_weight, rel=1e-6)


def test_a_bound_that_does_not_bind_is_recognised():
    variance = RaisedCosine(-1, 1).expected_loss()
    noise = ef.design(ef.Interval(-1, 1), max_loss=variance * (1 + 1e-9))
    assert noise == RaisedCosine(-1, 1)
    assert noise.certificate.loss_weight == 0
    assert "does not bind" in noise.certificate.method


def test_extreme_units_change_nothing():
    plain = ef.design(ef.Interval(-1, 1), loss_weight=3.0)
    for size in (1e-15, 1e18):
        scaled = ef.design(ef.Interval(-size, size), loss_weight=3.0 / size**4)
        assert scaled.certificate.value * size**2 == pytest.approx(plain.certificate.value, rel=1e-11)
    far = ef.design(ef.Interval(1e6, 1e6 + 1), loss="absolute", loss_weight=2.0)
    near = ef.design(ef.Interval(1.0, 2.0), loss="absolute", loss_weight=2.0)
    assert float(far.information[0, 0]) == pytest.approx(float(near.information[0, 0]), rel=1e-8)


def test_strong_weights_leave_the_noise_of_the_whole_line():
    wide = ef.design(ef.Interval(-1, 1), max_loss=1e-6)
    assert wide.certificate.value == pytest.approx(1e6, rel=1e-10)  # that of a Gaussian
    assert isinstance(wide, Spectral)
    assert wide.support == ef.Interval(-1, 1)
    assert wide.box.high[0] < 0.1  # what lies beyond is exactly zero, and the information is that of what is left
    assert float(wide.pdf(0.5)) == 0
