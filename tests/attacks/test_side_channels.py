"""Clocks tell nothing of a server as it is, and everything of one whose digits follow a private number."""

import pytest
from clock import Clock
from formula_search import FormulaSearch
from long_decimals import LongDecimalsWorld

from errorfloor.attacks import World, judge
from errorfloor.catalogue import Catalogue
from errorfloor.service.dummy import dummy_rows
from operations import Operations

KWH = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}


def catalogue():
    private = {"kwh": KWH}
    table = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": private}
    return Catalogue(tables={"meters": table})


def rows(declared):
    return {"meters": dummy_rows(declared.tables["meters"]).slice(0, 60)}


@pytest.fixture(scope="module")
def world():
    declared = catalogue()
    with World(declared, "meters", "kwh", rows(declared), seed=3) as made:
        yield made


def digits(act):
    """A clock for tests: how many bytes the numbers take that are computed."""
    return Operations.of(act).size


def counting_clock():
    return Clock(digits, trusted=1.0)


def test_a_clock_reads_a_number_off_a_server_whose_digits_follow_it():
    with LongDecimalsWorld(catalogue(), "meters", "kwh") as careless:
        clock, secret = counting_clock(), careless.secret
        limit = clock.limit(careless.shadows)
        for coin, value in enumerate(secret.values):
            with careless.server(coin) as door:
                assert clock.read(door, secret, limit) == pytest.approx(value, abs=secret.distance / 2)
        assert judge(clock, careless, runs=45, seed=5).beaten


def test_a_clock_shows_nothing_here(world):
    assert counting_clock().limit(world.shadows) is None


def test_searched_formulas_find_work_that_follows_a_number():
    with LongDecimalsWorld(catalogue(), "meters", "kwh") as careless:
        assert judge(FormulaSearch(formulas=15, clock=False), careless, runs=45, seed=5).beaten


def test_searched_formulas_find_no_work_that_follows_a_number_here(world):
    search = FormulaSearch(formulas=15, clock=False)
    first, second = stages = [open_one() for open_one in world.shadows]
    for formula in search.search(stages):
        assert search.taken(*first, formula) == search.taken(*second, formula), formula
