"""No adversary beats a floor of a server with default settings; each of them beats a careless one."""

import pytest
from careless import CarelessWorld

from errorfloor.attacks import (
    ChangedData,
    Collusion,
    Differencing,
    Evaluation,
    MaximumLikelihood,
    NewVersions,
    Oracles,
    Reconstruction,
    Repetition,
    Rephrasing,
    RestoredLedger,
    Timing,
    World,
    judge,
)
from errorfloor.attacks.judgement import threshold
from errorfloor.catalogue import Catalogue
from errorfloor.identity import Key

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
METERS = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": KWH}}
CATALOGUE = Catalogue(tables={"meters": METERS})
RUNS = 48  # `errorfloor audit` and the benchmarks play 200
ATTACKS = (
    Repetition(),
    Rephrasing(),
    Collusion(),
    MaximumLikelihood(),
    Differencing(),
    Reconstruction(prior=False),
    Reconstruction(prior=True),
    Oracles(),
    Evaluation(),
    RestoredLedger(),
    NewVersions(),
    ChangedData(),
)
WEAKNESSES = (
    (Repetition(times=40), "fresh noise"),
    (Rephrasing(), "fresh noise"),
    (Collusion(), "no ledger"),
    (MaximumLikelihood(), "no ledger"),
    (Differencing(), "shared noise"),
    (Reconstruction(prior=False), "fresh noise"),
    (Reconstruction(prior=True), "fresh noise"),
    (Oracles(), "private price"),
    (Timing(), "slow"),
    (Evaluation(), "no ledger"),
    (ChangedData(), "no version"),
)


class FixedWorld(World):
    """Keys that follow from a counter: the same noise in every run of the tests."""

    opened = 0

    def fresh_key(self):
        self.opened += 1
        return Key(id=f"{self.opened:016x}", created="2026-01-01", secret=self.opened.to_bytes(32, "big"))


@pytest.fixture
def world():
    with FixedWorld(CATALOGUE, "meters", "kwh") as made:
        yield made


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_no_adversary_beats_the_floor(attack, world):
    finding = judge(attack, world, runs=RUNS, seed=11, attacks=len(ATTACKS))
    assert not finding.beaten, finding
    assert finding.threshold <= RUNS  # it could have been


@pytest.mark.parametrize(("attack", "flaw"), WEAKNESSES, ids=lambda given: getattr(given, "name", given))
def test_each_adversary_beats_a_careless_server(attack, flaw):
    with CarelessWorld(CATALOGUE, "meters", "kwh", flaw=flaw) as careless:
        assert judge(attack, careless, runs=100, seed=5).beaten


def test_a_new_ledger_for_each_version_can_be_beaten(world):
    assert judge(NewVersions(new_ledger=True), world, runs=24, seed=5).right >= 22
    assert judge(NewVersions(), world, runs=24, seed=5).right <= 19


def test_an_anchor_that_is_restored_with_its_ledger_does_not_help(world):
    assert judge(RestoredLedger(with_anchor=True), world, runs=8, seed=5).right >= 7
    assert judge(RestoredLedger(), world, runs=8, seed=5).right <= 6  # the same keys


def test_the_threshold_is_the_binomial_tail():
    from math import comb

    for runs, share, alarm in ((60, 0.67, 1e-6), (200, 0.55, 1e-9)):
        found = threshold(runs, share, alarm)
        tails = [
            sum(comb(runs, k) * share**k * (1 - share) ** (runs - k) for k in range(least, runs + 1))
            for least in (found - 1, found)
        ]
        assert tails[0] > alarm >= tails[1]
