"""Normal noise that is cut off: what is stated of it, each by another route."""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from errorfloor import dp
from errorfloor.floors.adversary import best_success
from errorfloor.floors.tapered import OUTPUTS, START, Cutting, DeclaredLoss, lost_outside, normal_delta
from errorfloor.noise import Gaussian, RaisedCosine
from errorfloor.preparing.record_noise import Moved, drawn, tapered, tapered_for
from errorfloor.random import bits_from


def hockey_stick(deviation, bound, moved, epsilon):
    """δ of the tapered law by quadrature of its density, whichever of two shifts is the truth."""

    def density(w):
        taper = math.cos(min(max(abs(w) / bound - START, 0.0) / (1 - START), 1.0) * math.pi / 2)
        return norm.pdf(w / deviation) * taper**2

    flat = bound * START
    breaks = sorted({-bound, -flat, flat, bound, moved - bound, moved - flat, moved + flat, moved + bound, 0.0})
    pieces = [(low, high) for low, high in itertools.pairwise(breaks)]
    whole = sum(quad(density, low, high, epsabs=0, epsrel=1e-10)[0] for low, high in pieces)

    def beyond(w):
        return max(0.0, density(w) - math.exp(epsilon) * density(w - moved))

    crossing = moved / 2 - epsilon * deviation**2 / moved
    places = sorted({*breaks, max(-bound, crossing)})
    parts = itertools.pairwise(places)
    return sum(quad(beyond, low, high, epsabs=0, epsrel=1e-9, limit=200)[0] for low, high in parts) / whole


def test_one_answer_needs_less_than_28_where_a_raised_cosine_needs_174():
    stated = DeclaredLoss(1e-6, 1.0, 1)
    charge = stated.largest_charge
    deviation = 1 / math.sqrt(charge)
    bound = Cutting(charge, stated.cut, 1).cut_at(math.sqrt(charge)) * deviation / START
    assert 22 < bound < 28
    assert hockey_stick(deviation, bound, 1.0, 1.0) <= 1e-6
    assert hockey_stick(0.9 * deviation, bound, 1.0, 1.0) > 1e-6, "the bound is nearly reached"
    assert dp.delta(RaisedCosine(-174.0, 174.0), 1.0, 1.0) <= 1.01e-6 < dp.delta(RaisedCosine(-170.0, 170.0), 1.0, 1.0)


@pytest.mark.parametrize(("delta", "epsilon", "moved"), [(1e-3, 0.5, 1.0), (1e-4, 2.0, 3.0), (1e-2, 1.0, 0.2)])
def test_the_tapered_law_keeps_its_epsilon_by_quadrature(delta, epsilon, moved):
    stated = DeclaredLoss(delta, epsilon, 1)
    charge = stated.largest_charge
    deviation = moved / math.sqrt(charge)
    cut = Cutting(charge, stated.cut, 1).cut_at(math.sqrt(charge))
    assert stated.epsilon_at(charge, 1.0) == pytest.approx(epsilon, rel=1e-6)
    found = hockey_stick(deviation, cut * deviation / START, moved, epsilon)
    assert 0.4 * delta < found <= delta


@pytest.mark.parametrize("charge", [1e-4, 0.05, 1.0, 4.0])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 2.0])
def test_delta_of_normal_answers_agrees_with_quadrature(charge, epsilon):
    assert normal_delta(charge, epsilon) == pytest.approx(
        dp.delta(Gaussian(1 / charge), 1.0, epsilon), rel=1e-9, abs=1e-300
    )


def test_a_player_who_adapts_does_no_better_than_one_normal_answer():
    """Buys in sixteenths of the rest, more where the odds are already large, and stops when the filter says so."""
    chance, count, total, epsilon = np.random.default_rng(4), 400_000, 1.0, 1.0
    left, odds = np.full(count, total), np.zeros(count)  # under the second hypothesis
    for _ in range(12):
        bought = left * np.where(odds > 0.4, 0.02, 0.35)
        odds += np.sqrt(bought) * chance.normal(size=count) - bought / 2
        left -= bought
    gained = np.maximum(np.exp(odds) - math.exp(epsilon), 0.0)
    assert gained.mean() <= normal_delta(total, epsilon) + 6 * gained.std() / math.sqrt(count)
    odds += np.sqrt(left) * chance.normal(size=count) - left / 2  # all of it: exactly one normal answer
    gained = np.maximum(np.exp(odds) - math.exp(epsilon), 0.0)
    assert gained.mean() == pytest.approx(normal_delta(total, epsilon), abs=6 * gained.std() / math.sqrt(count))


@pytest.mark.parametrize("allowance", [0.05, 0.5, 2.0])
def test_every_cut_takes_its_share_of_delta(allowance):
    cutting = Cutting(allowance, 5e-7, 4)
    for share in np.geomspace(1 / OUTPUTS, 1, 9):
        moved = math.sqrt(share * allowance)
        cut = cutting.cut_at(moved)
        outside = 4 * (norm.sf(cut) + norm.sf(cut - moved))
        assert outside == pytest.approx(4 * lost_outside(cut, moved), rel=1e-9)
        assert outside <= 5e-7 * share * (1 + 1e-12)
        assert 4 * lost_outside(cut - 0.07, moved) > 5e-7 * share


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("distance", [0.01, 1.0, 40.0])
def test_noise_for_a_bound_and_for_an_information_agree(whole, distance):
    moved = Moved(distance, 2.0, Cutting(0.6, 5e-7, 2))
    for information in np.geomspace(1e-6, 0.3, 12) / distance**2:
        if whole and information > 1:
            continue
        found = tapered_for(float(information), whole, moved, evaluation_error=0.0)
        assert 0.8 * information < found.information <= information or found.high == 1
        same = tapered(found.high, whole, moved, evaluation_error=0.0)
        assert same.law == found.law
        assert found.bound_at(1.0, 0.0) <= found.high


def test_draws_keep_their_bound_and_have_their_deviation():
    numbers = drawn(1.0, 2.0, bits_from(np.random.default_rng(5)), 200_000)
    assert np.abs(numbers).max() < 2.0
    w = np.linspace(-2, 2, 400_001)
    density = np.exp(-(w**2) / 2) * np.cos(np.clip((np.abs(w) / 2 - START) / (1 - START), 0, 1) * np.pi / 2) ** 2
    square = (density * w**2).sum() / density.sum()
    assert numbers.var() == pytest.approx(square, abs=6 * math.sqrt(2 / 200_000))
    assert abs(numbers.mean()) < 6 / math.sqrt(200_000)


def test_thresholds_meet_few_squares_of_the_grid():
    """Box and Muller's map on a coarse grid: outcomes are off by no more than the squares that thresholds meet."""
    side, bound = 512, 5.0
    u, v = np.meshgrid(np.arange(1, side + 1) / side, np.arange(1, side + 1) / side)
    w = np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v)
    thresholds = np.linspace(-bound, bound, 41)
    drawn_at_most = np.array([(w <= x).mean() for x in thresholds])
    off = np.abs(np.diff(drawn_at_most - norm.cdf(thresholds))).sum() / 2
    assert off <= len(thresholds) * 4 / side


@pytest.mark.parametrize("whole", [True, False])
def test_released_steps_are_coarse_enough_for_draws(whole):
    for delta, allowance in ((5e-3, 2.0), (5e-7, 0.3)):
        moved = Moved(1.0, 2.0, Cutting(allowance, delta, 1))
        for bound in (5, 37, 999, 1000, 1001, 54_321):
            added = tapered(bound, whole, moved, evaluation_error=0.0)
            if added.information > allowance:
                continue
            assert bound / added.lattice.size <= 1000 and added.bound * START / added.standard_error >= 2.5
            assert added.standard_error / added.lattice.size <= 400


def test_success_leaves_room_for_what_is_cut_off():
    stated = DeclaredLoss(0.01, None, 1)
    plain = float(best_success(0.25, 0.0))
    assert plain + stated.cut < stated.told(plain, 1.0) < plain + 2 * 0.01
