"""The floor under a stated prior: below the exact error, and sharp where nothing is told."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from errorfloor.catalogue import PrivateColumn
from errorfloor.floors.prior import LatticeNormal, mistaken, ziv_zakai_under
from errorfloor.noise import RaisedCosine

LAW = LatticeNormal(mean=10.0, deviation=8.0, low=0.0, spacing=0.05, count=1001)


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


def masses(law):
    p = np.exp(-0.5 * ((law.low + np.arange(law.count) * law.spacing - law.mean) / law.deviation) ** 2)
    return p / p.sum()


def values(law):
    return law.low + np.arange(law.count) * law.spacing


@pytest.mark.parametrize("slope", [0.02, 0.1, 0.5])
def test_floor_under_a_prior_is_below_the_exact_bayes_error(slope):
    exact = Grid(values(LAW), masses(LAW)).error(RaisedCosine(-0.5, 0.5), slope)
    floor = math.sqrt(ziv_zakai_under(LAW, 4 * math.pi**2 * slope**2))
    assert floor <= exact
    assert floor >= 0.5 * exact  # and is no idle bound


@pytest.mark.parametrize("mean", [3.0, 3.3, 3.5, -1.0])
@pytest.mark.parametrize("deviation", [0.25, 0.5, 1.5])
@pytest.mark.parametrize("slope", [0.0, 0.1, 0.3, 0.6])
def test_floor_under_a_lattice_prior_never_exceeds_the_exact_bayes_error(mean, deviation, slope):
    law = LatticeNormal(mean=mean, deviation=deviation, low=0.0, spacing=1.0, count=8)
    exact = Grid(values(law), masses(law)).error(RaisedCosine(-0.5, 0.5), slope)
    assert math.sqrt(ziv_zakai_under(law, 4 * math.pi**2 * slope**2)) <= exact * (1 + 1e-9)


def test_a_prior_narrower_than_the_lattice_promises_no_more_than_a_guess_is_off_by():
    law = LatticeNormal(mean=10.0, deviation=0.25, low=0.0, spacing=1.0, count=51)
    p, x = masses(law), values(law)
    guess = math.sqrt(p @ (x - 10.0) ** 2)
    assert guess == pytest.approx(0.0259, abs=1e-4)
    assert law.spread == pytest.approx(guess, rel=1e-12)
    assert 0.5 * guess < math.sqrt(ziv_zakai_under(law, 0.0)) <= guess


@pytest.mark.parametrize("information", [0.0, 0.01, 1.0, 100.0])
def test_blocks_bound_the_sum_over_all_values_from_below(information):
    law = LatticeNormal(mean=1.0, deviation=0.7, low=0.0, spacing=0.0005, count=6001)
    p, k = masses(law), np.arange(1, 6001)
    angles = np.minimum(0.5 * k * law.spacing * math.sqrt(information), math.pi / 2)
    doubts = np.array([mistaken(p[:-j], p[j:], a).sum() for j, a in zip(k.tolist(), angles.tolist(), strict=True)])
    exact = 0.5 * law.spacing**2 * ((k - 0.5) * doubts).sum()
    assert 0.97 * exact <= ziv_zakai_under(law, information) <= exact


def test_floor_under_a_wide_prior_without_answers_is_its_variance():
    law = LatticeNormal(mean=0.0, deviation=1.0, low=-9.0, spacing=1e-6, count=18_000_001)
    assert 0.97 < ziv_zakai_under(law, 0.0) <= 1.0


def test_spread_is_that_of_the_truncated_normal():
    frozen = stats.truncnorm((0 - 10) / 8, (50 - 10) / 8, loc=10, scale=8)
    law = LatticeNormal(mean=10.0, deviation=8.0, low=0.0, spacing=1e-8, count=5_000_000_001)
    assert law.spread == pytest.approx(frozen.std(), rel=1e-6)
    exact = math.sqrt(masses(LAW) @ (values(LAW) - masses(LAW) @ values(LAW)) ** 2)
    assert LAW.spread == pytest.approx(exact, rel=1e-12)


def test_more_information_lowers_the_floor():
    floors = [ziv_zakai_under(LAW, information) for information in (0.0, 0.01, 0.1, 1.0, 10.0)]
    assert floors == sorted(floors, reverse=True)
    assert ziv_zakai_under(LAW, 0.01, 0.5) < ziv_zakai_under(LAW, 0.01)


def test_a_prior_far_from_the_range_or_far_below_the_resolution_is_refused():
    with pytest.raises(ValueError, match=r"has next to nothing on 0 … 50"):
        PrivateColumn(range=(0, 50), resolution=1, floor=2.0, prior={"mean": 1000, "deviation": 1})
    with pytest.raises(ValueError, match="far narrower than the resolution 1: declare at least"):
        PrivateColumn(range=(0, 50), resolution=1, floor=2.0, prior={"mean": 10, "deviation": 1e-5})


def test_a_nearly_flat_prior_without_answers_leaves_what_the_range_does():
    """Written with a difference of squares, the root would be of a negative number."""
    law = LatticeNormal(mean=25.0, deviation=1e5, low=0.0, spacing=0.001, count=50_001)
    assert 0.97 * 50.0**2 / 12 < ziv_zakai_under(law, 0.0) <= 50.0**2 / 12
