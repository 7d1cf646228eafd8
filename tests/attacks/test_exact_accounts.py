"""Adversaries against accounts that count raised-cosine answers by the adversary's game."""

import tomllib

from errorfloor.attacks import World, judge
from errorfloor.attacks.stopping import AdaptiveStopping
from errorfloor.catalogue import Catalogue
from errorfloor.service.dummy import dummy_rows
from errorfloor.service.example import CATALOGUE


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
