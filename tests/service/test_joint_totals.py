"""Totals as near as their parts: one joint noise for all cells of a sum."""

import itertools
import math
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest

from errorfloor.accounts import Account
from errorfloor.errors import AllowanceError
from errorfloor.preparing.joint_noise import MOST_CELLS, JointAdded, added_of
from town import open_town, write_town

ASKED = "SELECT household, sum(kwh) AS total FROM meters GROUP BY ROLLUP (household)"
RUNNING = "household, sum(sum(kwh)) OVER (PARTITION BY tariff ORDER BY household) AS total FROM meters GROUP BY 1, 2"
CUBE = "SELECT tariff, rooms, sum(kwh) AS total, count(*) AS n FROM meters GROUP BY CUBE (tariff, rooms)"
KWH = Account("meters", "kwh", "")


@pytest.fixture
def folder(tmp_path):
    write_town(tmp_path / "town")
    return tmp_path / "town"


def truth(folder):
    rows = pq.read_table(folder / "meters.parquet").to_pylist()
    return [row | {"kwh": min(max(round(row["kwh"] or 0, 3), 0), 50)} for row in rows]


def steps(value, step):
    return round(value / float(step))


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
@pytest.mark.parametrize("sql", [ASKED, CUBE])
def test_every_row_keeps_the_bound_of_a_cell_and_totals_add_up(kind, sql, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as database:
        answer = database.ask(sql, max_error=300)
    stated = answer.outputs()[0]
    assert stated["noise"]["type"] == "JointNormal" and (stated["low"], stated["high"]) == (-300.0, 300.0)
    rows, exact = answer.to_arrow().to_pylist(), truth(tmp_path / "town")
    keys = [name for name in ("household", "tariff", "rooms") if name in rows[0]]
    fine = [row for row in rows if all(row[key] is not None for key in keys)]
    for row in rows:
        assert row["total_high"] - row["total_low"] <= 600.000001  # less where the range says more
        here = sum(one["kwh"] for one in exact if all(row[key] in (None, one[key]) for key in keys))
        assert row["total_low"] - 1e-9 <= here <= row["total_high"] + 1e-9
        parts = [one for one in fine if all(row[key] in (None, one[key]) for key in keys)]
        assert steps(row["total"], stated["step"]) == sum(steps(one["total"], stated["step"]) for one in parts)


def test_the_same_totals_on_every_engine(engine_place, folder):
    with open_town(folder) as database:
        reference = database.ask(CUBE, max_error=300)
    with open_town(folder, engine_place.place) as database:
        assert database.ask(CUBE, max_error=300).to_arrow().equals(reference.to_arrow())


def test_joint_totals_cost_a_fraction_of_cells_that_add_up(folder):
    """24 cells with noise of their own take 24² of one; here it is the sum of two costs, cut off at 7.5 deviations."""
    with open_town(folder) as database:
        joint = database.price(ASKED, max_error=300)
        apart = database.price("SELECT household, sum(kwh) FROM meters GROUP BY household", max_error=300 / 24)
        one = database.price("SELECT household, sum(kwh) FROM meters GROUP BY household", max_error=300)
    unit = one.charge[KWH].raised_cosine
    assert joint.charge[KWH].raised_cosine / unit == pytest.approx(11.1, abs=0.2)
    assert apart.charge[KWH].raised_cosine / unit == pytest.approx(576, rel=0.02)
    assert joint.charge[KWH].information == pytest.approx(joint.charge[KWH].raised_cosine / 500, rel=1e-6)
    assert joint.charge[KWH].evaluation == pytest.approx(2.5e-10, rel=1e-3)


def test_a_cube_with_gaps_that_is_too_large_for_joint_noise_says_so(folder):
    """A total is then as far off as all its cells together."""
    gaps = "WHERE household <> 'h03' OR rooms > 100 OR day < '2013-01-20'"
    ask = "SELECT household, day, sum(kwh) AS total FROM meters {} GROUP BY {} (household, day)"
    with open_town(folder) as database:
        price = database.price(ask.format(gaps, "CUBE"), max_error=3e4)
        (said,) = price.outputs()
        assert said["noise"]["type"] == "RaisedCosine" and said["parts"] > 500
        assert "cells, with gaps, are too many for noise that keeps totals as near" in said["why_apart"]
        assert f"{said['why_apart']}." in price.explain()
        nested = database.price(ask.format(gaps, "ROLLUP"), max_error=3e3)
        assert nested.outputs()[0]["noise"]["type"] == "JointNormal" and "why_apart" not in nested.outputs()[0]
        small = database.price(ASKED, max_error=2e5)  # noise of its own, since that costs less
        assert "why_apart" not in small.outputs()[0]


def test_what_costs_next_to_nothing_keeps_noise_of_its_own(folder):
    with open_town(folder) as database:
        assert database.price(ASKED, max_error=2e5).outputs()[0]["noise"]["type"] == "RaisedCosine"


@pytest.mark.parametrize("share", [0.0004, 0.01, 0.5])
def test_a_share_to_spend_is_met_by_joint_noise_where_that_is_nearer(share, folder):
    sql = CUBE.replace("CUBE (tariff, rooms)", "CUBE (tariff, household)").replace("rooms", "household")
    with open_town(folder) as database:
        price = database.price(sql, spend=share)
        alone = database.price("SELECT tariff, household, sum(kwh) AS total FROM meters GROUP BY 1, 2", spend=share)
        assert price.outputs()[0]["noise"]["type"] == "JointNormal"
        assert 0.998 * share <= price.standings[0].used_by_this <= share
        assert price.max_error["total"] < 24 * alone.max_error["total"]
        answer = database.ask(sql, spend=share)
        assert answer.max_error == price.max_error and answer.standings[0].used <= share
        same = database.price(sql, max_error=price.max_error["total"])
        assert same.standings[0].used_by_this == 0  # one question, however it is wished for


@pytest.mark.parametrize(
    "shown", ["household, sum(kwh) AS total FROM meters GROUP BY CUBE (tariff, household)", RUNNING]
)
def test_totals_for_a_share_do_not_depend_on_what_was_asked_without_them_before(shown, folder):
    """Groups alone that were released for the same share are farther off together than totals asked with them."""
    with open_town(folder) as database:
        best = database.price(f"SELECT tariff, {shown}", spend=0.01)
        groups = database.ask("SELECT tariff, household, sum(kwh) AS total FROM meters GROUP BY 1, 2", spend=0.01)
        answer = database.ask(f"SELECT tariff, {shown}", spend=0.01)
        assert answer.max_error == best.max_error and answer.fresh[0]
        assert groups.outputs()[0]["noise"]["type"] == "RaisedCosine" != answer.outputs()[0]["noise"]["type"]


def test_a_share_that_is_too_small_for_bounds_keeps_noise_of_its_own(folder):
    with open_town(folder) as database:
        price = database.price(ASKED, spend=1e-5)
        assert price.outputs()[0]["noise"]["type"] == "RaisedCosine"
        assert price.standings[0].used_by_this <= 1e-5
        mixed = database.price(ASKED.replace("sum(kwh)", "avg(kwh) AS mean, sum(kwh)"), spend=0.01)
        assert {one["noise"]["type"] for one in mixed.outputs()} == {"RaisedCosine"}


def test_joint_totals_are_kept_and_drawn_again_as_they_were(folder):
    with open_town(folder) as database:
        first = database.ask(ASKED, max_error=300)
        again = database.ask(f"{ASKED} ORDER BY total DESC", max_error=300)
        assert again.standings[0].used_by_this == 0 and again.outputs() == first.outputs()
        assert sorted(again.to_arrow().to_pylist(), key=str) == sorted(first.to_arrow().to_pylist(), key=str)
        whole = database.ask("SELECT sum(kwh) AS total FROM meters", max_error=300 * 24)
        assert whole.standings[0].used_by_this == 0
        assert whole.to_arrow().column("total")[0].as_py() == pytest.approx(first.to_arrow().column("total")[0].as_py())
        parts = whole.outputs()[0]
        assert parts["standard_error"] == pytest.approx(first.outputs()[0]["standard_error"])
        assert whole.max_error == {"total": 300.0}
    with open_town(folder) as database:
        assert database.ask(ASKED, max_error=300).to_arrow().equals(first.to_arrow())
    added = first.prepared.outputs[0].added.widest
    read = added_of(added.to_dict())
    assert isinstance(read, JointAdded) and read.law == added.law and read.information == added.information


def test_totals_of_parts_that_were_released_before_keep_the_bound(folder):
    with open_town(folder) as database:
        fine = "SELECT household, day, sum(kwh) AS total FROM meters GROUP BY household, day"
        database.ask(fine, max_error=5)
        joint = database.ask(ASKED, max_error=400)  # 30 readings within ±5 each are within ±150, 24 such are not
        assert joint.standings[0].used_by_this > 0 and joint.max_error["total"] == 400
        made = database.ask(ASKED, max_error=4000)
        assert made.standings[0].used_by_this == 0 and made.max_error["total"] == pytest.approx(24 * 30 * 5)


def test_totals_by_another_key_are_another_question_whatever_they_are_named(folder):
    sql = "SELECT {} AS a, {} AS b, sum(kwh) AS total FROM meters GROUP BY GROUPING SETS ((a, b), (a))"
    with open_town(folder) as database:
        database.ask(sql.format("tariff", "day"), max_error=300)
        other = database.price(sql.format("day", "tariff"), max_error=300)
    assert not other.prepared.is_kept and other.standings[0].used_by_this > 0


def test_another_bound_and_other_totals_are_other_draws(folder):
    with open_town(folder) as database:
        found = [
            database.price(sql, max_error=bound).prepared.charged[0].label.encoded
            for sql, bound in itertools.product(
                (CUBE.replace(", count(*) AS n", ""), CUBE.replace("CUBE", "ROLLUP")), (300, 301)
            )
        ]
    assert len(set(found)) == 4


def test_an_owner_is_charged_what_all_rows_move_together(tmp_path):
    write_town(tmp_path / "town", owner=True)
    sql = "SELECT day, sum(peak) AS s FROM meters GROUP BY ROLLUP (day)"
    with open_town(tmp_path / "town") as database:
        price = database.price(sql, max_error=4000)
    added = price.prepared.outputs[0].added.widest
    assert isinstance(added, JointAdded) and added.form is not None
    factor = added.form.factor * added.bound
    precision = np.linalg.inv(factor @ factor.T)
    moved = np.full(len(precision), 9.5)  # a household has one row a day, of any value between 0.5 and 10
    signs = np.random.default_rng(2).choice([-1.0, 1.0], size=(500, len(precision)))
    worst = max(moved @ precision @ moved, *(one @ precision @ one for one in moved * signs))
    charge = price.charge[Account("meters", "", "")]
    assert worst <= charge.raised_cosine <= added.information * moved.sum() ** 2 * 1.001
    assert charge.information >= charge.raised_cosine / 500


def test_advice_for_joint_totals_is_affordable(folder):
    with open_town(folder) as database:
        with pytest.raises(AllowanceError) as refused:
            database.ask(ASKED, max_error=0.5)
        said = str(refused.value)
        bound = float(said.split("max_error ")[1].split(" ")[0].rstrip(")"))
        assert database.price(ASKED, max_error=bound).affordable
        assert not database.price(ASKED, max_error=bound / 1.1).affordable


def test_too_many_cells_with_gaps_are_joint_only_if_their_totals_lie_in_each_other(folder):
    with open_town(folder) as database:
        sql = "SELECT household, day, sum(kwh) AS s FROM meters GROUP BY CUBE (household, day)"
        price = database.price(sql, max_error=2e4)
        nested = database.ask(sql.replace("CUBE", "ROLLUP"), max_error=500)
    assert len(price.prepared.bounds.groups) > MOST_CELLS
    assert price.outputs()[0]["noise"]["type"] == "RaisedCosine"
    rows, exact = nested.to_arrow().to_pylist(), truth(folder)
    assert len(rows) == 720 + 24 + 1 and nested.outputs()[0]["noise"]["type"] == "JointNormal"
    for row in [row for row in rows[:50] if row["s"] is not None]:
        here = sum(one["kwh"] for one in exact if all(row[key] in (None, one[key]) for key in ("household", "day")))
        assert row["s_low"] - 1e-9 <= here <= row["s_high"] + 1e-9 and abs(row["s"] - here) <= 500


FULL = "SELECT household, day, sum(peak) AS s FROM meters GROUP BY CUBE (household, day)"


@pytest.mark.parametrize("kind", ["plain", "high"])
def test_margins_of_a_large_table_without_gaps_are_as_near_as_its_cells(kind, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as database:
        answer = database.ask(FULL, max_error=90)
        assert database.price(FULL, max_error=90).prepared.is_kept
    stated = answer.outputs()[0]
    assert len(answer.prepared.bounds.groups) > MOST_CELLS and stated["noise"]["type"] == "JointNormal"
    rows = answer.to_arrow().to_pylist()
    true, released = Counter(), Counter()
    for row in pq.read_table(tmp_path / "town" / "meters.parquet").to_pylist():
        for key in itertools.product((row["household"], None), (row["day"], None)):
            true[key] += min(max(row["peak"], 0.5), 10)
    for row in rows:
        if None not in row.values():
            for key in itertools.product((row["household"], None), (row["day"], None)):
                released[key] += steps(row["s"], stated["step"])
    for row in rows:
        key = (row["household"], row["day"])
        assert steps(row["s"], stated["step"]) == released[key]
        assert row["s_low"] - 1e-6 <= true[key] <= row["s_high"] + 1e-6 and abs(row["s"] - true[key]) <= 90


def test_large_tables_are_one_draw_whatever_keys_are_called(folder):
    """Names are no part of a question, so they must not be one of its noise."""
    labels, shown = set(), []
    for names in (("a", "b"), ("b", "a")):
        sql = "SELECT household AS {0}, day AS {1}, sum(peak) AS s FROM meters GROUP BY CUBE ({0}, {1})".format(*names)
        with open_town(folder) as database:
            answer = database.ask(sql, max_error=90)
        labels.add(answer.prepared.charged[0].label.encoded)
        shown.append([row["s"] for row in answer.to_arrow().to_pylist()])
    assert len(labels) == 1 and shown[0] == shown[1]


def test_the_same_large_table_on_every_engine(engine_place, folder):
    with open_town(folder) as database:
        reference = database.ask(FULL, max_error=90)
    with open_town(folder, engine_place.place) as database:
        assert database.ask(FULL, max_error=90).to_arrow().equals(reference.to_arrow())


def test_what_is_stated_of_a_cell_includes_what_bounds_tell(folder):
    with open_town(folder) as database:
        answer = database.ask(ASKED, max_error=300)
    cell = answer.cells()[1]["outputs"]["total"]
    information = answer.outputs()[0]["information"]
    normal = 50 + 100 * (math.erf(5 * math.sqrt(information) / 2 / math.sqrt(2))) / 2
    assert cell["entries"]["kwh"]["told_apart_in_100"] >= normal
