"""The adversary that searches for questions by itself breaks a server in the manner of Diffix, and learns no noise."""

import numpy as np
import pytest
from diffix import DiffixWorld

from errorfloor.attacks import World, judge
from errorfloor.attacks.learned_rule import LearnedRule, held_out_loss
from errorfloor.attacks.probes import random_probe
from errorfloor.attacks.question_search import QuestionSearch
from errorfloor.catalogue import Catalogue
from errorfloor.errors import ErrorFloorError
from errorfloor.service.dummy import dummy_rows

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
PUBLIC = {"id": "whole", "tariff": "text"}
METERS = {"source": "-", "version": "1", "row_key": ["id"], "public": PUBLIC, "private": {"kwh": KWH}}
CATALOGUE = Catalogue(tables={"meters": METERS})
ROWS = {"meters": dummy_rows(CATALOGUE.tables["meters"]).slice(0, 60)}


def test_searched_questions_break_a_server_in_the_manner_of_diffix():
    attack = QuestionSearch()
    with DiffixWorld(CATALOGUE, "meters", "kwh", ROWS, seed=3) as world:
        finding = judge(attack, world, runs=150, seed=11)
        found = attack._found[world]
    assert finding.beaten
    assert finding.success > 0.95 > finding.promised
    assert sum(probe.share for probe in found.candidate) <= 1


def test_most_questions_of_the_search_are_answered_here():
    chance, answered = np.random.default_rng(2), 0
    with World(CATALOGUE, "meters", "kwh", ROWS, seed=3) as world, world.server(1) as door:
        for _ in range(30):
            try:
                door.price(random_probe(world.secret, chance).asked_of("meters"), spend=0.1)
                answered += 1
            except ErrorFloorError:
                pass
    assert answered >= 24


@pytest.mark.parametrize("shift", [0.0, 4.0])
def test_a_rule_is_worth_something_on_new_examples_only_where_the_kinds_differ(shift):
    chance = np.random.default_rng(5)
    kinds = np.arange(400) % 2
    seen = chance.standard_normal((400, 3)) + shift * kinds[:, None] * [1, 0, 0]
    rule = LearnedRule.of(seen[:200], kinds[:200])
    right = np.mean((rule.odds(seen[200:]) > 0) == kinds[200:])
    assert (right > 0.9) == (shift > 0)
    assert (held_out_loss(seen, kinds) < 0.5 * np.log(2)) == (shift > 0)
