"""No adversary beats a floor of a server with default settings; each of them beats a careless one."""

from types import SimpleNamespace

import pyarrow as pa
import pytest
from careless import CarelessWorld
from clock import Timing
from custodian import ChangedData, ChangedMeaning, NewVersions, RestoredLedger, SharedKeys
from custodians_world import CustodiansWorld

from errorfloor.attacks import attacks, judge
from errorfloor.attacks.best_play import BestPlay
from errorfloor.attacks.collisions import Collisions
from errorfloor.attacks.groups import Differencing, Reconstruction
from errorfloor.attacks.judgement import threshold
from errorfloor.attacks.question_search import QuestionSearch
from errorfloor.attacks.repetition import (
    AdaptiveStopping,
    Collusion,
    Extremes,
    MaximumLikelihood,
    Repetition,
    Rephrasing,
)
from errorfloor.attacks.silence import Evaluation, Oracles
from errorfloor.catalogue import Catalogue
from errorfloor.errors import RefusedError
from errorfloor.noise import RaisedCosine
from errorfloor.random import ReproducibleBits
from errorfloor.service.dummy import dummy_rows

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
METERS = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": KWH}}
CATALOGUE = Catalogue(tables={"meters": METERS})
RUNS = 22  # `errorfloor audit` and the benchmarks play 200
WEAKNESSES = (  # an adversary, what is wrong with the server, and how many runs show it
    (Repetition(times=40), "fresh noise", 50),
    (Rephrasing(), "no ledger", 120),
    (Collusion(), "no ledger", 40),
    (MaximumLikelihood(), "no ledger", 50),
    (AdaptiveStopping(), "cheap", 120),
    (BestPlay(), "cheap", 240),
    (Extremes(), "jumps", 50),
    (Differencing(), "shared noise", 40),
    (Reconstruction(prior=False), "cheap", 40),
    (Reconstruction(prior=True), "cheap", 40),
    (Collisions(), "merged labels", 40),
    (Oracles(), "private price", 40),
    (Timing(), "slow", 40),
    (Evaluation(), "no ledger", 40),
    (ChangedData(), "no version", 40),
)


@pytest.fixture(scope="module")
def world():
    """Servers whose keys follow from a seed: the same noise in every run of the tests."""
    rows = {"meters": dummy_rows(CATALOGUE.tables["meters"]).slice(0, 60)}
    with CustodiansWorld(CATALOGUE, "meters", "kwh", rows, seed=3) as made:
        yield made


CUSTODIANS = (RestoredLedger(), NewVersions(), ChangedData(), ChangedMeaning(), SharedKeys())


@pytest.mark.parametrize("attack", [*attacks(), *CUSTODIANS], ids=lambda attack: attack.name)
def test_no_adversary_beats_the_floor(attack, world):
    finding = judge(attack, world, runs=RUNS, seed=11)
    least = threshold(RUNS, finding.promised, 1e-3)  # keys are fixed: what is found once is found always
    assert finding.right < least <= RUNS, finding


@pytest.mark.parametrize(("attack", "flaw", "runs"), WEAKNESSES, ids=lambda given: getattr(given, "name", given))
def test_each_adversary_beats_a_careless_server(attack, flaw, runs):
    with CarelessWorld(CATALOGUE, "meters", "kwh", flaw=flaw) as careless:
        assert judge(attack, careless, runs=runs, seed=5).beaten


@pytest.mark.parametrize("coin", [0, 1])
def test_cells_that_share_a_draw_give_the_victim_away(coin, world):
    """A server that answers nothing but cells, all with one draw."""
    secret = world.secret

    class SharedCells:
        def ask(self, sql, **wish):
            if "GROUP BY" not in sql:
                raise RefusedError("cells only", reason="groups")
            noise = RaisedCosine(-30.0, 30.0)
            shift = float(noise.sample(1, rng=ReproducibleBits(7))[0])
            truths = {secret.victim: secret.values[coin], secret.neighbour: secret.known[secret.neighbour]}
            rows = [{"id": secret.key(row)[0], "answer": round(value + shift, 1)} for row, value in truths.items()]
            stated = {"outputs": [{"name": "answer", "noise": noise.to_dict(), "step": 0.1}]}
            return SimpleNamespace(to_arrow=lambda: pa.Table.from_pylist(rows), to_dict=lambda: stated)

    odds = Collisions().guess(SharedCells(), secret, world.shadows)
    assert (odds > 100) if coin else (odds < -100)


def test_every_adversary_has_a_set_up_that_it_beats():
    here = {attack.name for attack, *_ in WEAKNESSES}
    assert {one.name for one in attacks()} - here == {QuestionSearch.name}  # which has a test of its own


def test_a_new_ledger_for_each_version_can_be_beaten(world):
    assert judge(NewVersions(new_ledger=True), world, runs=8, seed=5).right >= 7
    assert judge(NewVersions(), world, runs=8, seed=5).right <= 6


def test_an_anchor_that_is_restored_with_its_ledger_does_not_help(world):
    assert judge(RestoredLedger(with_anchor=True), world, runs=4, seed=5).right == 4
    assert judge(RestoredLedger(), world, runs=12, seed=5).right <= 10  # keys are fixed


def test_the_threshold_is_the_binomial_tail():
    from math import comb

    for runs, share, alarm in ((60, 0.67, 1e-6), (200, 0.55, 1e-9)):
        found = threshold(runs, share, alarm)
        tails = [
            sum(comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(least, runs + 1))
            for least in (found - 1, found)
        ]
        assert tails[0] > alarm >= tails[1]
