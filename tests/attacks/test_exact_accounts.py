"""Adversaries against accounts that count raised-cosine answers by the adversary's game."""

import math
import tomllib
from functools import lru_cache

import numpy as np

from errorfloor.attacks import World, judge
from errorfloor.attacks.best_play import SURE, next_charge
from errorfloor.attacks.stopping import AdaptiveStopping
from errorfloor.catalogue import Catalogue
from errorfloor.floors.adversary import best_success
from errorfloor.noise import RaisedCosine
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


def test_best_play_comes_close_to_the_promise_and_stays_below_it():
    """Its choices, simulated with real draws at once for many games; `errorfloor audit` plays them with questions."""
    games, rng, noise = rounds(2000), np.random.default_rng(7), RaisedCosine(-1.0, 1.0)
    whole, wins = 2.0, 0
    chosen = lru_cache(maxsize=None)(lambda left, odds: next_charge(left, odds / 4))
    for _ in range(games):
        left, odds, truth = whole, 0.0, int(rng.integers(2))
        while left > 1e-3 * whole and abs(odds) < SURE:
            charge = chosen(left, round(4 * abs(odds)))
            moved = math.sqrt(charge) / math.pi
            y = float(noise.sample(1, rng=rng)[0]) + moved * truth
            with np.errstate(divide="ignore"):
                odds += float(np.clip(noise.logpdf(y - moved) - noise.logpdf(y), -100, 100))
            left -= charge
        wins += (odds > 0) == truth
    off = 6.1 * 0.5 / math.sqrt(games)  # false alarms at most once in 10⁹
    assert best_success(whole) - 0.02 - off < wins / games < best_success(whole) + off
