"""The exact curve in one dimension: against its definition, against other people's code, down to tiny values."""

import math

import mpmath
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism

from errorfloor import dp
from errorfloor.dp.hockey_stick import Side, crossing, curve, curve_by_quadrature, side_of
from errorfloor.dp.shifts import Part, independent_parts
from errorfloor.noise import (
    Airy,
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


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(0.3, 0.0), (0.3, 0.4), (1.2, 1.0), (0.9, 6.0)])
def test_delta_is_the_integral_that_defines_it(law, sensitivity, epsilon):
    defined = max(law.divergence(sign * sensitivity, epsilon) for sign in (1, -1))
    assert dp.delta(law.noise, sensitivity, epsilon) == pytest.approx(float(defined), rel=1e-9, abs=1e-14)


def test_supremum_over_shifts_is_at_the_longest(law):
    sensitivity, epsilon = 0.8, 0.3
    bound = dp.delta(law.noise, sensitivity, epsilon)
    for share in (-0.99, -0.3, 0.6, 0.95):
        assert float(law.divergence(share * sensitivity, epsilon)) <= bound


def test_delta_at_infinite_epsilon_is_the_mass_that_one_record_alone_can_reach(law):
    lost = [law.noise.cdf(law.low + 0.25), 1 - law.noise.cdf(law.high - 0.25)]
    assert dp.delta(law.noise, 0.25, math.inf) == pytest.approx(max(lost), rel=1e-9, abs=1e-15)


def test_bounded_noise_gives_everything_away_beyond_its_width():
    for noise in (RaisedCosine(-1, 1), Uniform(low=-1, high=1), TruncatedLaplace(1.0, low=-1, high=1)):
        assert dp.delta(noise, 2.5, [0.0, 10.0, math.inf]).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize("ratio", [0.01, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.5, 2.0])
def test_gaussian_and_laplace_agree_with_the_accountants_hockey_stick(ratio, epsilon):
    theirs = privacy_loss_mechanism.GaussianPrivacyLoss(2.0, sensitivity=2 * ratio)
    assert dp.delta(Gaussian(4.0), 2 * ratio, epsilon) == pytest.approx(
        theirs.get_delta_for_epsilon(epsilon), rel=1e-10, abs=1e-14
    )
    theirs = privacy_loss_mechanism.LaplacePrivacyLoss(2.0, sensitivity=2 * ratio)
    assert dp.delta(Laplace(2.0), 2 * ratio, epsilon) == pytest.approx(
        theirs.get_delta_for_epsilon(epsilon), rel=1e-10, abs=1e-14
    )


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.05, 0.1, 0.11, 1.0, 5.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 1e-3, 0.1, 1.0, 5.0, 30.0])
def test_gaussian_delta_keeps_its_digits(ratio, epsilon):
    with mpmath.workdps(60):
        t, e = mpmath.mpf(ratio), mpmath.mpf(epsilon)
        exact = mpmath.ncdf(t / 2 - e / t) - mpmath.exp(e) * mpmath.ncdf(-t / 2 - e / t)
    if exact < 1e-300:
        assert dp.delta(Gaussian(1.0), ratio, epsilon) < 1e-300
    else:
        assert dp.delta(Gaussian(1.0), ratio, epsilon) == pytest.approx(float(exact), rel=1e-12)


@pytest.mark.parametrize("ratio", [1e-6, 1e-3, 0.1, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("epsilon", [0.0, 1e-8, 1e-5, 1e-3, 0.1, 1.0, 5.0, 30.0, 2000.0])
def test_raised_cosine_delta_keeps_its_digits(ratio, epsilon):
    with mpmath.workdps(900 if epsilon > 100 else 60):
        angle, k = mpmath.pi * mpmath.mpf(ratio), mpmath.exp(mpmath.mpf(epsilon) / 2)
        psi = mpmath.atan2(mpmath.sin(angle), k - mpmath.cos(angle))
        exact = (angle + k * mpmath.sin(angle) - (k * k - 1) * psi) / mpmath.pi
    assert dp.delta(RaisedCosine(0, 1), ratio, epsilon) == pytest.approx(float(exact), rel=1e-12)


def test_small_deltas_of_other_noises_keep_their_digits(laws):
    for name, shift, epsilon in [("maxwell", 0.05, 3.0), ("airy", 1.5, 8.0)]:
        law = laws[name]
        (part,) = independent_parts(law.noise, np.array([shift]))
        defined = float(law.divergence(shift, epsilon))
        assert defined < 1e-4
        assert curve_by_quadrature(part, epsilon) == pytest.approx(defined, rel=1e-8)


def test_upper_tail_of_a_maxwell_law_keeps_thirty_digits_of_smallness():
    def density(w):
        return mpmath.sqrt(2 / mpmath.pi) * w * w * mpmath.exp(-w * w / 2)

    with mpmath.workdps(40):
        point = mpmath.findroot(lambda w: mpmath.log(density(w) / density(w + 0.3)) - 3, 10)
        exact = mpmath.quad(lambda w: density(w) - mpmath.exp(3) * density(w + 0.3), [point, point + 2, 20])
    assert exact < 1e-22
    assert curve_by_quadrature(Part(Maxwell(1.0), -0.3), 3.0) == pytest.approx(float(exact), rel=1e-9)


@pytest.mark.parametrize("shift", [1e-15, 1e-9, 1e-4])
def test_short_shifts_cost_their_length_times_the_peak(shift):
    peaks = {
        Maxwell(1.0): 2 * math.sqrt(2 / math.pi) / math.e,
        Airy(1.0): 1 / (2 * 1.018792971647471),
        TruncatedLaplace(1.0, low=-1, high=2): 1 / (2 - math.exp(-1) - math.exp(-2)),
        RaisedCosine(0, 1): 2.0,
        Gaussian(1.0): 1 / math.sqrt(2 * math.pi),
        Laplace(1.0): 0.5,
    }
    for noise, peak in peaks.items():
        assert dp.delta(noise, shift, 0.0) / shift == pytest.approx(peak, rel=2 * shift + 1e-12)


def test_distribution_functions_and_quadrature_give_the_same_curve(law):
    for sign in (1, -1):
        (part,) = independent_parts(law.noise, np.array([sign * 0.6]))
        for epsilon in (0.0, 0.2, 0.7):
            side, shift = side_of(part)
            point = crossing(side, shift, np.array(epsilon))
            by_cdf = float(side.cdf(point) - math.exp(epsilon) * side.cdf(point - shift))
            assert curve_by_quadrature(part, epsilon) == pytest.approx(by_cdf, rel=1e-11, abs=1e-15)


def test_no_other_point_gives_more_than_the_crossing_point(law):
    (part,) = independent_parts(law.noise, np.array([0.6]))
    side, shift = side_of(part)
    points = np.linspace(-6, 6, 2001)
    for epsilon in (0.0, 0.3):
        elsewhere = side.cdf(points) - np.exp(epsilon) * side.cdf(points - shift)
        best = float(curve(part, np.array(epsilon)))
        assert elsewhere.max() <= best + 1e-15
        assert elsewhere.max() == pytest.approx(best, abs=1e-4)


def test_loss_never_increases(law):
    (part,) = independent_parts(law.noise, np.array([0.6]))
    side, shift = side_of(part)
    low, high = max(side.knots[0] + shift, -9.0), min(side.knots[-1], 9.0)
    assert (np.diff(side.loss(np.linspace(low, high, 999), shift)) <= 1e-12).all()


def test_log_densities_are_concave(law):
    low, high = max(law.low, -9), min(law.high, 9)
    w = np.linspace(low, high, 801)[1:-1]
    assert (np.diff(law.noise.logpdf(w), 2) <= 1e-12).all()


def test_long_shifts_and_large_epsilons_are_settled_without_overflow():
    for noise in (Airy(1e-9), Maxwell(1e-9), Gaussian(1e-18), Laplace(1e-9)):
        assert dp.delta(noise, 1.0, [0.0, 5.0, 700.0]).tolist() == [1.0, 1.0, 1.0]
    for noise in (Airy(1.0), Gaussian(1.0), Laplace(1.0)):
        assert dp.delta(noise, 1.0, [800.0, 1e5, math.inf]).tolist() == [0.0, 0.0, 0.0]
    edge = float(Maxwell(1.0).cdf(0.01))
    assert dp.delta(Maxwell(1.0), 0.01, [800.0, math.inf]) == pytest.approx([edge, edge], rel=1e-12)
    assert dp.delta(TruncatedGaussian(0.01, low=-5, high=5), 2.0, [700.0, 1e4]) == pytest.approx([1.0, 1.0])


def test_knots_that_almost_meet_do_not_stop_the_quadrature():
    noise = TruncatedGaussian(1.0, low=-88.53724726255582, high=9.409423322529166)
    s = 2.564712665272513e-13
    assert dp.delta(noise, s, 0.0) / s == pytest.approx(1 / math.sqrt(2 * math.pi), rel=1e-9)


def test_crossing_points_solve_their_equation():
    side = Side(Airy(1.0), False)
    levels = np.array([0.0, 0.5, 3.0])
    assert side.loss(crossing(side, 0.7, levels), 0.7) == pytest.approx(levels, abs=1e-12)


def test_moved_scaled_and_wrapped_noises_have_the_curve_of_what_they_wrap():
    base = dp.delta(Maxwell(1.0), 0.4, [0.1, 1.0])
    for same in (
        Translation(Maxwell(1.0), [7.0]),
        Product((Maxwell(1.0),)),
        LinearImage(Maxwell(1.0), [[-1.0]]),
    ):
        assert dp.delta(same, 0.4, [0.1, 1.0]) == pytest.approx(base, rel=1e-14)
    assert dp.delta(LinearImage(Maxwell(1.0), [[2.0]]), 0.8, [0.1, 1.0]) == pytest.approx(base, rel=1e-14)


def test_one_epsilon_gives_a_number_and_many_an_array():
    assert type(dp.delta(Laplace(1.0), 1.0, 0.5)) is float
    assert dp.delta(Laplace(1.0), 1.0, [[0.5, 0.6], [0.7, 0.8]]).shape == (2, 2)
