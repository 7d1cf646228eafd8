"""What the measurements of joint answers rest on: the best noise without bounds, and the score of the density."""

import numpy as np
import pytest
from benchmarks.joint_answers import measured, total_and, unbounded

from errorfloor.joint import Margins, design_joint


def test_noise_without_bounds_is_the_best_there_is():
    assert unbounded(total_and(2)) == pytest.approx(4 / 3, rel=1e-6)
    assert unbounded(Margins((2, 2))) == pytest.approx((4 / 3) ** 2, rel=1e-5)  # the product of both axes
    root = np.cumprod(np.append(1.0, (np.arange(1.0, 8) - 0.5) / np.arange(1.0, 8)))
    assert unbounded(np.tril(np.ones((8, 8)))) < (root**2).sum() ** 2  # that of the square root


@pytest.mark.parametrize("answers", [total_and(2), np.tril(np.ones((8, 8))), Margins((3, 3))])
def test_measured_information_is_just_below_the_certified_one(answers, monkeypatch):
    monkeypatch.setattr("benchmarks.joint_answers.WEIGHED", 60_000)
    noise = design_joint(answers, 1.0)
    found, doubt = measured(noise)
    assert doubt < 0.02 * found
    assert 0.85 * noise.certificate.value < found < noise.certificate.value + 6 * doubt
