"""Adversaries against accounts that count raised-cosine answers by the adversary's game."""

import math
import tomllib

import numpy as np
import pytest
from drawn_games import games_won

from errorfloor.attacks import World, judge
from errorfloor.attacks.best_play import best_policy
from errorfloor.attacks.repetition import AdaptiveStopping
from errorfloor.catalogue import Catalogue
from errorfloor.floors.adversary import best_success
from errorfloor.service.dummy import dummy_rows
from errorfloor.service.example import CATALOGUE
from repeated import rounds


def test_adaptive_stopping_has_the_larger_allowance_and_keeps_the_promise():
    text = CATALOGUE.replace("[tables.meters]\n", '[tables.meters]\nnoises = "any"\n', 1)
    declared = Catalogue.model_validate(tomllib.loads(CATALOGUE))
    plain = Catalogue.model_validate(tomllib.loads(text))
    rows = {name: dummy_rows(one).slice(0, 40) for name, one in declared.tables.items()}
    with (
        World(declared, "meters", "kwh", rows, seed=18) as world,
        World(plain, "meters", "kwh", rows, seed=18) as other,
    ):
        found = judge(AdaptiveStopping(), world, runs=40, seed=18)
        before = judge(AdaptiveStopping(), other, runs=1, seed=18)
    assert not found.beaten
    assert before.promised < found.promised < 0.72  # more is answered about the same two values


@pytest.mark.parametrize("whole", [0.25, 1.0, 2.0, 4.0, 8.0])
def test_best_play_comes_close_to_the_promise_and_stays_below_it(whole):
    """The programme's own value, and a fiftieth of the million games that the benchmark plays with real draws."""
    games, policy, stated = rounds(20_000), best_policy(whole, 512), float(best_success(whole))
    won = games_won(policy, games, np.random.default_rng(7)) / games
    off = 6.1 * 0.5 / math.sqrt(games)  # false alarms at most once in 10⁹
    assert stated - 0.0075 < policy.success < stated
    assert abs(won - policy.success) < off


@pytest.mark.parametrize("whole", [0.25, 2.0, 8.0])
def test_what_is_missing_is_the_size_of_the_quanta_and_the_slack_of_the_table(whole):
    """Four times as many quanta halve the first; what is left is what the certificate gives away."""
    few, more, many = (best_policy(whole, quanta).success for quanta in (64, 256, 1024))
    assert 0.45 < (many - more) / (more - few) < 0.62
    assert 0.0015 < float(best_success(whole)) - (2 * many - more) < 0.0035
