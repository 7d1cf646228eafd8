"""Adversaries against answers that are drawn together: totals and parts, running totals, medians. None beats a floor.

Many answers are drawn by the law that a price names, and fewer are asked for, each of a fresh server. The same
adversaries do beat noise that is too narrow, and a floor that is declared too high.
"""

import math
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from joint_games import differencing, entry_game, extremes, likelihood, median_game

from errorfloor.attacks import Attack, World, judge
from errorfloor.attacks.judgement import threshold
from errorfloor.catalogue import Catalogue
from errorfloor.floors.two_point import told_apart
from errorfloor.preparing.joint_noise import JointAdded
from repeated import rounds

COUNT = 10_000  # answers under each of the two values
SLACK = math.sqrt(math.log(1e9) / (2 * 2 * COUNT))  # what luck adds to a share of them: less than once in 10⁹
ROWS = 60  # the victim's is the middle one
ROLLUP = "SELECT region, sum(kwh) AS answer FROM meters GROUP BY ROLLUP (region)"
CUBE = "SELECT region, half, sum(kwh) AS answer FROM meters GROUP BY CUBE (region, half)"
RUNNING = "SELECT day, sum(kwh) AS answer, sum(sum(kwh)) OVER (ORDER BY day) AS so_far FROM meters GROUP BY day"
MEDIAN = "SELECT median(kwh) AS answer FROM meters"
TAPERED = {ROLLUP: 20, CUBE: 22, RUNNING: 29}  # bounds that take nearly the whole allowance
REGIONS = (None, *(f"r{one}" for one in range(5)))
ADVERSARIES = (differencing, extremes, likelihood)


def world_of(values=None, seed=3, **column):
    """A town of 60 readings, one of which is one of two values; at the ends of the range, all others are there too."""
    kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh", **column}
    public = {"id": "whole", "region": "text", "half": "whole", "day": "whole"}
    meters = {"source": "-", "version": "1", "row_key": ["id"], "public": public, "private": {"kwh": kwh}}
    place = np.arange(ROWS)
    drawn = np.random.default_rng(1).uniform(0, 50, ROWS).round(3)
    at_an_end = values is not None and (values[0] == 0 or values[1] == 50)
    numbers = np.full(ROWS, values[0] and 50.0) if at_an_end else drawn
    made = {
        "id": place,
        "region": [REGIONS[1 + one % 5] for one in range(ROWS)],
        "half": place % 2,
        "day": (place - ROWS // 2) % 12,  # the victim's is the first: it is in every running total
        "kwh": numbers,
    }
    world = World(Catalogue(tables={"meters": meters}), "meters", "kwh", {"meters": pa.table(made)}, seed=seed)
    if values is not None:
        world.secret = replace(world.secret, values=values)
        world.secret = replace(world.secret, rows=world.secret.rows_with(0))
    return world


@pytest.fixture(scope="module", params=[ROLLUP, CUBE, RUNNING, MEDIAN], ids=["rollup", "cube", "running", "median"])
def game(request):
    if request.param == MEDIAN:  # both values on one ramp of 50/128 kWh, where a share moves most
        with world_of((25.0, 25.39), floor=0.35) as world:
            return median_game(world, MEDIAN, 2.4)
    with world_of() as world:
        return entry_game(world, request.param, TAPERED[request.param])


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_adversary_beats_what_is_stated(game, adversary):
    assert 0.6 < game.stated < 0.8
    assert game.success(adversary, COUNT, 1) <= game.stated + SLACK


def test_the_joint_density_is_used_as_well_as_it_can_be(game):
    found = [game.success(adversary, COUNT, 1) for adversary in ADVERSARIES]
    assert max(found) == pytest.approx(found[-1], abs=SLACK / 4)
    assert found[-1] > game.stated - 0.05  # a single raised cosine tells less than many of the same charge


@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_noise_of_half_the_bound_is_caught(game, adversary):
    assert game.success(adversary, COUNT, 1, shrunk=0.5) > game.stated + SLACK


def test_a_floor_that_is_declared_twice_too_high_is_caught(game):
    charge = {name: amount / 4 for name, amount in game.charge.amounts().items()}
    assert game.success(likelihood, COUNT, 1) > float(told_apart(game.distance, **charge)) + SLACK


@pytest.mark.parametrize("values", [(0.0, 2.13), (47.87, 50.0)], ids=["lowest", "highest"])
@pytest.mark.parametrize("sql", [ROLLUP, RUNNING])
def test_values_at_the_ends_of_the_range_are_no_better_known(sql, values):
    with world_of(values) as world:
        game = entry_game(world, sql, TAPERED[sql])
    for adversary in ADVERSARIES:
        assert game.success(adversary, COUNT // 3, 2) <= game.stated + SLACK * math.sqrt(3)


class JointLikelihood(Attack):
    """Asks for totals and for running totals, half of the allowance each, and adds up what their densities say."""

    name, tries = "joint likelihood", "compares the joint density of totals and running totals under both values"

    def __init__(self, world):
        self.games = {sql: (entry_game(world, sql, bound), bound) for sql, bound in ((ROLLUP, 32), (RUNNING, 46))}

    def guess(self, door, secret, shadows):
        odds = 0.0
        for sql, (game, bound) in self.games.items():
            rows = door.ask(sql, max_error=bound).to_arrow().to_pylist()
            cells = np.array([[row["answer"] for row in rows if None not in row.values()]])
            odds += float(likelihood(game, cells)[0])
        return odds


class CertainIntervals(Attack):
    """Believes the value that certain intervals allow; where both are possible, what the middle of one says."""

    name, tries = "certain intervals", "looks for a certain interval that only one of the two values is in"

    def __init__(self, sql, wish, truths):
        self.sql, self.wish, self.truths = sql, wish, truths

    def guess(self, door, secret, shadows):
        rows = door.ask(self.sql, **self.wish).to_arrow().to_pylist()
        odds = 0.0
        for row, (first, second) in zip(rows, self.truths(rows), strict=True):
            if first != second:
                low, high = row["answer_low"], row["answer_high"]
                odds += 1e6 * ((low <= second <= high) - (low <= first <= high))
                odds += ((low + high) / 2 - (first + second) / 2) * (second - first)
        return odds


def sums_by_region(world):
    """Give the true sums of regions and of all of them, under either value."""
    found = []
    for coin in (0, 1):
        rows = world.secret.rows_with(coin).to_pylist()
        found.append({name: sum(one["kwh"] for one in rows if name in (None, one["region"])) for name in REGIONS})
    return lambda shown: [tuple(sums[row["region"]] for sums in found) for row in shown]


def judged(attack, world, runs):
    found = judge(attack, world, runs=runs, seed=11)
    return found.right, threshold(runs, found.promised, 1e-6)


def test_asked_of_fresh_servers_no_adversary_beats_the_floor():
    """Keys follow from a seed: what is found once is found always."""
    runs = rounds(40)
    with world_of() as world:
        right, least = judged(JointLikelihood(world), world, runs)
        assert right < least <= runs
        assert right > runs // 2
    for values in ((0.0, 2.13), (47.87, 50.0)):
        with world_of(values) as world:
            right, least = judged(CertainIntervals(ROLLUP, {"max_error": 20}, sums_by_region(world)), world, runs)
            assert right < least <= runs


def test_asked_for_medians_no_adversary_beats_the_floor():
    runs = rounds(4)  # so few show little; fifty times as many do
    with world_of((25.0, 30.0), range=[0, 50], resolution=5, floor=2.0) as world:
        attack = CertainIntervals(MEDIAN, {"spend": 1.0}, lambda rows: [world.secret.values])
        right, least = judged(attack, world, runs)
        assert right < least


def test_a_server_that_draws_too_little_is_caught(monkeypatch):
    drawn = JointAdded.draws
    monkeypatch.setattr(JointAdded, "draws", lambda *given: drawn(*given) / 8)
    with world_of() as world:
        right, least = judged(JointLikelihood(world), world, rounds(40))
    assert right >= least
