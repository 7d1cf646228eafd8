"""The noise of an answer is the one that the designer would choose."""

import math

import pytest

from errorfloor.designer import design
from errorfloor.preparing.noises import within


@pytest.mark.parametrize(
    ("low", "high", "error"), [(-0.5, 0.5, 0.0), (-3.0, 1.0, 1e-9), (-1e7, 1e7, 0.01), (0.0, 0.002, 0.0)]
)
def test_an_answer_within_bounds_has_the_least_informative_noise_there(low, high, error):
    added = within(low, high, evaluation_error=error)
    best = design(added.noise.support)
    assert added.noise.law == best.law
    assert added.information == pytest.approx(best.certificate.value, rel=1e-12)
    # and the interval is as wide as rounding and evaluation leave it
    room = (high - low) - added.noise.support.width
    assert 2 * error <= room <= 2 * error + 1.01 * float(added.lattice.step)


def test_what_is_kept_of_a_noise_is_what_it_says():
    added = within(-0.25, 0.25, evaluation_error=0.0)
    assert added.information == float(added.noise.information[0, 0])
    assert added.standard_error == math.sqrt(float(added.noise.covariance[0, 0]))
    assert added.described == added.noise.law
