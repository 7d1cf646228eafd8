"""A fiftieth of the five-year show: a year of a monthly dashboard, with churn, a correction, and an adversary."""

import pytest
from benchmarks.five_years import FALSE_ALARM, House, anew, live, play

from errorfloor.attacks.judgement import threshold

ERRORS = {"cell_error": 60.0, "total_error": 3500.0}
SIZE = {"people": 120, "months": 12, "districts": 3, "kinds": 2}


@pytest.fixture(scope="module")
def year(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("year"), **SIZE)
    return house, live(house, **ERRORS)


def test_every_interval_of_a_year_holds_the_truth_and_no_first_answer_changes(year):
    _, found = year
    assert found.checked > 100 and found.outside == 0
    assert found.changed == 0
    assert found.corrected == 1


def test_a_year_costs_less_than_asking_everything_anew_each_month(year):
    house, found = year
    shares = anew(house, **ERRORS)
    assert found.used == sorted(found.used) and found.used[-1] < 1
    assert sum(shares) > 1.5 * found.used[-1]
    months = [later - sooner for sooner, later in zip(found.used, found.used[1:], strict=False)]
    assert max(months) < 2.5 * min(months)  # a month more costs what a month costs, or two where one was corrected


def test_who_weighs_all_months_is_right_no_more_often_than_is_promised(tmp_path):
    games = 16
    right, told, promised = play(House(tmp_path, **{**SIZE, "months": 6}), **ERRORS, games=games)
    assert 0.5 < told < promised < 0.81
    assert right < threshold(games, told, FALSE_ALARM)
