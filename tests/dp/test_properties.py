"""What holds for every noise, sensitivity and level: monotone curves, inverse functions."""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from errorfloor import dp
from errorfloor.noise import (
    Airy,
    Gaussian,
    Laplace,
    Maxwell,
    RaisedCosine,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)

FAMILIES = {
    "gaussian": lambda scale: Gaussian(scale**2),
    "laplace": Laplace,
    "airy": Airy,
    "maxwell": Maxwell,
    "raised cosine": lambda scale: RaisedCosine(-scale, 2 * scale),
    "uniform": lambda scale: Uniform(low=0, high=3 * scale),
    "truncated laplace": lambda scale: TruncatedLaplace(scale, low=-scale, high=2 * scale),
    "truncated gaussian": lambda scale: TruncatedGaussian(scale, low=-2 * scale, high=scale),
}
noises = st.builds(
    lambda family, scale: FAMILIES[family](scale), st.sampled_from(sorted(FAMILIES)), st.floats(1e-3, 1e3)
)
ratios = st.floats(1e-6, 3.0)
levels = st.floats(0.0, 12.0)
few = settings(max_examples=30, deadline=None, derandomize=True)


def scale_of(noise):
    return math.sqrt(float(noise.covariance[0, 0]))


@few
@given(noises, ratios, levels, levels)
def test_delta_falls_as_epsilon_grows(noise, ratio, one, other):
    s = ratio * scale_of(noise)
    low, high = dp.delta(noise, s, [min(one, other), max(one, other)])
    assert 0 <= high <= low * (1 + 1e-10) <= 1 + 1e-10


@few
@given(noises, ratios, ratios, levels)
def test_delta_grows_with_the_sensitivity(noise, one, other, level):
    scale = scale_of(noise)
    short, long = (dp.delta(noise, ratio * scale, level) for ratio in sorted((one, other)))
    assert short <= long * (1 + 1e-9) + 1e-300


@few
@given(noises, ratios, levels, st.floats(1e-2, 1e2))
def test_delta_depends_on_the_ratio_of_sensitivity_to_scale_alone(noise, ratio, level, factor):
    s = ratio * scale_of(noise)
    bigger = type(noise)(
        **{
            name: value * (factor**2 if name == "covariance" else factor)
            for name, value in vars(noise).items()
            if name in ("covariance", "scale", "low", "high", "deviation", "center")
        }
    )
    assert dp.delta(bigger, factor * s, level) == pytest.approx(dp.delta(noise, s, level), rel=1e-7, abs=1e-290)


@few
@given(noises, ratios, levels)
def test_epsilon_undoes_delta(noise, ratio, level):
    s = ratio * scale_of(noise)
    target = dp.delta(noise, s, level)
    # above the plateau where only infinite losses are left, and below the least double, the curve has no inverse
    assume(target > dp.delta(noise, s, math.inf) * (1 + 1e-3) and target > 1e-250)
    assert dp.epsilon(noise, s, target) == pytest.approx(level, rel=1e-9, abs=1e-9)


@few
@given(noises, ratios, st.floats(1e-12, 0.9))
def test_delta_at_epsilon_stays_within_the_target(noise, ratio, target):
    s = ratio * scale_of(noise)
    level = dp.epsilon(noise, s, target)
    assert dp.delta(noise, s, level) <= target or level == math.inf
    assert (level == math.inf) == (dp.delta(noise, s, math.inf) > target)
