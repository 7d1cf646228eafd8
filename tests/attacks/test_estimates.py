"""Estimates under a prior and smoothed trips stay above their floors; both win where a promise is not kept."""

import math
import tomllib

import numpy as np
import pytest
from careless import CarelessPopulation
from scipy import stats

from errorfloor.attacks import Audit, Belief, Finding, Population, judge_estimates, smoothing
from errorfloor.attacks.estimation import PosteriorMean
from errorfloor.attacks.least_errors import LeastErrors
from errorfloor.attacks.smoothing import Smoothing, Trips
from errorfloor.catalogue import Catalogue, PrivateColumn, believed
from errorfloor.catalogue.allowance import exact_allowance
from errorfloor.floors.prior import ziv_zakai_under
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.service.example import CATALOGUE
from errorfloor.streams import Streams

PRIOR = "\n[tables.meters.private.kwh.prior]\nmean = 10\ndeviation = 8\n"
DECLARED = Catalogue.model_validate(tomllib.loads(CATALOGUE + PRIOR))
KWH = DECLARED.tables["meters"].private["kwh"]


def test_no_guess_under_the_prior_beats_its_floor_with_answers_or_without():
    with Population(DECLARED, "meters", "kwh", seed=3) as people:
        blind, seeing = (PosteriorMean(answers=answers).play(people, runs=40) for answers in (False, True))
    for finding in (blind, seeing):
        assert not finding.beaten, finding
        assert finding.threshold <= finding.runs  # it could have been
        assert finding.interval[0] < finding.ratio < finding.interval[1]
    assert blind.floor == pytest.approx(people.belief.spread)
    others, evaluation, cosines = exact_allowance(KWH)
    assert seeing.floor == pytest.approx(people.belief.floor(others + cosines, evaluation))
    assert seeing.error < 0.7 * blind.error  # answers help
    assert seeing.ratio > 1


def test_the_posterior_mean_beats_a_server_that_never_refuses():
    with CarelessPopulation(DECLARED, "meters", "kwh", flaw="no ledger") as people:
        assert PosteriorMean().play(people, runs=40).beaten


def test_a_prior_that_is_wider_than_the_truth_promises_too_much():
    with CarelessPopulation(DECLARED, "meters", "kwh", flaw="narrow") as people:
        assert PosteriorMean(answers=False).play(people, runs=40).beaten


@pytest.mark.parametrize("information", [1e-9, 0.02, 0.107])
def test_the_floor_of_a_belief_is_that_of_the_law_it_stands_for(information):
    expected = ziv_zakai_under(believed(KWH), information) ** 0.5
    assert Belief.of(KWH).floor(information, 0.0) == pytest.approx(expected, rel=0.01)
    assert Belief.of(KWH).floor(0.0, 0.0) == pytest.approx(believed(KWH).spread, rel=1e-3)


@pytest.mark.parametrize("mean", [2.4, 3.0, 0.0, 10.0, 9.5])
def test_a_belief_narrower_than_the_lattice_holds_the_values_next_to_its_mean(mean):
    prior = {"mean": mean, "deviation": 0.02}
    belief = Belief.of(PrivateColumn(range=(0, 10), resolution=1, floor=0.1, prior=prior))
    assert belief.values[0] >= 0 and belief.values[-1] <= 10
    assert abs(belief.mean - mean) <= 0.5
    assert belief.masses.sum() == pytest.approx(1.0)


def test_a_flat_belief_has_the_floor_of_the_lattice():
    values, information = np.arange(40) * 0.5, 0.3
    angles = np.minimum(0.5 * math.sqrt(information) * 0.5 * np.arange(1, 40), math.pi / 2)
    k = np.arange(1, 40)
    expected = (0.25 * (k - 0.5) * (1 - k / 40) * 0.5 * (1 - np.sin(angles))).sum()
    assert Belief(values, np.full(40, 1 / 40)).floor(information, 0.0) ** 2 == pytest.approx(expected, rel=1e-12)


def test_a_hit_is_never_more_likely_than_for_the_best_guesser_of_two_values():
    """Exhaustively: two values told apart by an angle; every rule that maps a binary observation to an estimate."""
    belief, angle = Belief(np.array([0.0, 1.0]), np.array([0.3, 0.7])), 0.4
    information = (2 * angle) ** 2
    seen = 0.5 * (1 + math.sin(angle))  # a symmetric channel with affinity cos(angle)
    best = 0.0
    for when_zero in (0.0, 0.25, 0.75, 1.0):
        for when_one in (0.0, 0.25, 0.75, 1.0):
            hit = [seen * (abs(when_zero) < 0.5) + (1 - seen) * (abs(when_one) < 0.5)]
            hit += [(1 - seen) * (abs(when_zero - 1) < 0.5) + seen * (abs(when_one - 1) < 0.5)]
            best = max(best, float(belief.masses @ hit))
    assert best <= 1 - belief.missed(1, information, 0.0) + 1e-12


def test_an_undeclared_prior_is_flat_about_the_middle():
    wide = PrivateColumn(range=(0, 10**6), resolution=1, floor=10)
    belief = Belief.of(wide)
    assert (belief.values[0], belief.values[-1]) == (500_000 - 150, 500_000 + 150)
    assert len(set(belief.masses.tolist())) == 1


def test_the_interval_of_an_estimate_follows_its_spread():
    errors = tuple([1.0, 3.0] * 50)
    facts = {"runs": 100, "right": 50, "promised": 0.5, "distance": 4.0, "unit": "", "threshold": 90, "least": 2.0}
    found = Finding("a", "b", **facts, errors=errors, lucky=2.5, doubt=0.025)
    reach = 1.959963984540054 * 4.0 / 10
    assert found.ratio == pytest.approx(math.sqrt(5.0) / 2)
    assert found.interval == pytest.approx((math.sqrt(5 - reach) / 2, math.sqrt(5.0 / 2.5)))
    assert Finding("a", "b", **facts, errors=errors).interval[1] == math.inf  # too few runs to exclude anything


def test_estimates_that_are_too_good_are_found_and_honest_ones_are_not():
    belief, generator = Belief.of(KWH), np.random.default_rng(1)
    floor = belief.floor(0.05, 0.0)
    for scale, beaten in ((0.1, True), (1.2, False)):
        errors = (scale * floor * generator.standard_normal(200)).tolist()
        assert judge_estimates("a", "b", errors, belief, promise=(0.05, 0.0), unit="").beaten is beaten


def test_small_errors_by_luck_are_as_rare_as_they_are_said_to_be():
    """Exactly, for ten coins, and by simulation for a skewed law: at most as often, and not a hundred times less."""
    coin = LeastErrors(np.array([0.0, 2.0]), np.array([0.3, 0.7]))
    for chance in (0.3, 0.05, 1e-3):
        heads = math.floor(coin.by_luck(10, chance) * 10 / 4 + 1e-12)
        exactly = sum(math.comb(10, k) * 0.7**k * 0.3 ** (10 - k) for k in range(heads + 1))
        assert exactly <= chance
    skewed = LeastErrors(np.array([0.0, 1.0, 9.0]), np.array([0.5, 0.45, 0.05]))
    draws = np.random.default_rng(5).choice(skewed.sizes, (20_000, 60), p=skewed.masses)
    share = ((draws**2).mean(axis=1) <= skewed.by_luck(60, 0.02)).mean()
    assert 0.0002 < share < 0.02


def test_an_audit_fails_when_the_mean_square_lies_below_its_floor_with_all_of_its_interval():
    """Errors that are never near, yet too small on average: counting hits does not see them."""
    belief = Belief(np.arange(101.0), np.full(101, 1 / 101))
    promise = (0.001, 0.0)
    distance = belief.telling(*promise) * belief.spacing
    errors = [distance / 2 if k % 2 else 0.0 for k in range(2000)]
    found = judge_estimates("half", "looks", errors, belief, promise=promise, unit="")
    assert found.right < found.threshold
    assert found.interval[1] < 1
    assert found.beaten
    assert Audit({"t.x": (found,)}).explain().startswith("1 of 1 attacks beat a floor")


def test_a_guess_that_is_nearly_always_right_is_not_called_a_broken_floor():
    """Resolution 1 and a prior of deviation 0.25: the best guess is off once in 1,500 times, by 0.026 in all."""
    prior = {"mean": 10, "deviation": 0.25}
    belief = Belief.of(PrivateColumn(range=(0, 50), resolution=1, floor=2.0, prior=prior))
    found = judge_estimates("prior alone", "guesses", [0.0] * 200, belief, promise=(0.0, 0.0), unit="")
    assert found.floor == pytest.approx(0.0259, abs=1e-4)
    assert found.ratio == 0
    assert found.interval[1] == math.inf
    assert not found.beaten
    assert "could not have beaten one: so few runs show nothing" in Audit({"t.x": (found,)}).explain()


def test_a_floor_that_ignores_the_lattice_is_found_by_guessing():
    """What a continuum would promise, 0.249, is refuted by guesses that are right all of the time."""
    wide = LeastErrors(np.abs(np.linspace(-1, 1, 401)), stats.norm.pdf(np.linspace(-1, 1, 401), 0, 0.25) / 200)
    assert math.sqrt(wide.mean_square) == pytest.approx(0.249, abs=0.001)
    facts = {"runs": 200, "right": 0, "promised": 0.5, "distance": 1.0, "unit": "", "threshold": 201}
    found = Finding("a", "b", **facts, errors=(0.0,) * 200, least=0.249, lucky=wide.by_luck(200, 1e-6))
    assert found.interval == (0.0, 0.0)
    assert found.beaten


# -- trips


@pytest.fixture(scope="module")
def fewer_trips():
    """Cars whose allowance is spent with one trip, so that the tests are quick."""
    cars = DECLARED.streams["cars"].model_copy(update={"max_loss": 9e3})
    return DECLARED.model_copy(update={"streams": {"cars": cars}})


def fixed_streams(catalogue):
    key = Key(id="0" * 16, created="2026-01-01", secret=bytes(32))
    return Streams(catalogue, ledger=MemoryLedger(), keys=(key,))


class Renaming:
    """A custodian who gives an entity a new name for each trip: every trip has an allowance of its own."""

    def __init__(self, catalogue):
        self.streams = fixed_streams(catalogue)

    def answer(self, *, entity, trip, **push):
        return self.streams.answer(entity=f"{entity} on {trip}", trip=trip, **push)


def test_smoothing_beats_a_custodian_who_renames_entities(fewer_trips, monkeypatch):
    monkeypatch.setattr(smoothing, "MOST_STEPS", 170)
    trips = Trips(fewer_trips, "cars", "position", seed=1)
    trips.streams = Renaming(fewer_trips)
    assert Smoothing().play(trips, runs=40).beaten


def test_smoothing_does_not_beat_the_floor_of_a_start(fewer_trips):
    trips = Trips(fewer_trips, "cars", "position", seed=1)
    trips.streams = fixed_streams(fewer_trips)
    finding = Smoothing().play(trips, runs=40)
    assert not finding.beaten, finding
    assert finding.threshold <= 40
    assert finding.ratio > 1


def test_smoothing_uses_every_trip_that_is_allowed(fewer_trips):
    trips = Trips(fewer_trips, "cars", "position", seed=1)
    allowed = math.floor(1 / max(fixed_streams(fewer_trips).journal("cars").stream.share.values()))
    assert trips.released("car", trips.start(3.0)).shape == (allowed, 10, 1)


def test_a_smoother_that_knows_the_start_of_everything_else_is_near_it():
    trips = Trips(DECLARED, "cars", "position", seed=1)
    exact = np.broadcast_to(trips.plan.system.carry(trips.start(40.0)), (50, 10, 1))
    assert trips.guessed(exact) == pytest.approx(40.0, abs=3.0)
