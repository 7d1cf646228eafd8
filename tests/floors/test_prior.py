"""The floor under a stated prior: below the exact error, and sharp where nothing is told."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from errorfloor.errors import InputError
from errorfloor.floors.prior import CutNormal, ziv_zakai_under
from errorfloor.noise import RaisedCosine

LAW = CutNormal(mean=10.0, deviation=8.0, low=0.0, high=50.0)


@dataclass(frozen=True)
class Grid:
    """The exact Bayes error on a fine grid: an independent route."""

    x: np.ndarray
    p: np.ndarray

    def error(self, noise, slope):
        y = np.linspace(slope * self.x[0] - 5, slope * self.x[-1] + 5, 4001)
        joint = self.p[:, None] * noise.pdf(y[None, :] - slope * self.x[:, None])
        mass = joint.sum(axis=0)
        mean = np.divide((self.x[:, None] * joint).sum(axis=0), mass, out=np.zeros_like(mass), where=mass > 0)
        return math.sqrt(((self.x[:, None] - mean) ** 2 * joint).sum() * (y[1] - y[0]))


@pytest.mark.parametrize("slope", [0.02, 0.1, 0.5])
def test_floor_under_a_prior_is_below_the_exact_bayes_error(slope):
    x = np.linspace(LAW.low, LAW.high, 1501)
    p = LAW.density(x)
    exact = Grid(x, p / p.sum()).error(RaisedCosine(-0.5, 0.5), slope)
    floor = math.sqrt(ziv_zakai_under(LAW, 4 * math.pi**2 * slope**2))
    assert floor <= exact
    assert floor >= 0.5 * exact  # and is no idle bound


def test_floor_under_a_wide_prior_without_answers_is_its_variance():
    law = CutNormal(mean=0.0, deviation=1.0, low=-9.0, high=9.0)
    assert ziv_zakai_under(law, 0.0) == pytest.approx(1.0, rel=1e-6)


def test_spread_is_that_of_the_truncated_normal():
    frozen = stats.truncnorm((0 - 10) / 8, (50 - 10) / 8, loc=10, scale=8)
    assert LAW.spread == pytest.approx(frozen.std(), rel=1e-9)
    assert LAW.density(np.array([3.0, 60.0])) == pytest.approx(frozen.pdf([3.0, 60.0]), rel=1e-12)


def test_more_information_lowers_the_floor():
    floors = [ziv_zakai_under(LAW, information) for information in (0.0, 0.01, 0.1, 1.0, 10.0)]
    assert floors == sorted(floors, reverse=True)
    assert ziv_zakai_under(LAW, 0.01, 0.5) < ziv_zakai_under(LAW, 0.01)


def test_a_prior_far_from_the_range_is_refused():
    with pytest.raises(InputError, match="next to nothing on 0 … 50"):
        ziv_zakai_under(CutNormal(mean=1000.0, deviation=1.0, low=0.0, high=50.0), 0.0)


def test_a_nearly_flat_prior_without_answers_leaves_what_the_range_does():
    """Written with a difference of squares, the root would be of a negative number."""
    law = CutNormal(mean=25.0, deviation=1e5, low=0.0, high=50.0)
    assert ziv_zakai_under(law, 0.0) == pytest.approx(50.0**2 / 12, rel=1e-6)
