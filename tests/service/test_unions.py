"""What follows from released parts is given for nothing, within the bound that was asked for, and says so."""

import itertools
from fractions import Fraction

import pytest

from town import DAYS, HOUSEHOLDS, open_town, private_columns, public_columns, write_town

BY_BOTH = "SELECT tariff, rooms, {} FROM meters GROUP BY tariff, rooms"
BY_TARIFF, BY_NONE = "SELECT tariff, {} FROM meters GROUP BY tariff", "SELECT {} FROM meters"


def truth(name, keys):
    """Exact sums and counts of the stored values by some keys."""
    step = {"kwh": (Fraction(1, 1000), 0, 50), "peak": (Fraction(1, 100), Fraction(1, 2), 10)}[name]
    values, public = private_columns()[name].to_pylist(), public_columns()
    columns = [public[key].to_pylist() for key in keys]
    found = {}
    for i in range(HOUSEHOLDS * DAYS):
        if values[i] is not None:
            stored = min(max(round(Fraction(values[i]) / step[0]) * step[0], step[1]), step[2])
            total, count = found.get(tuple(column[i] for column in columns), (Fraction(0), 0))
            found[tuple(column[i] for column in columns)] = total + stored, count + 1
    return found


@pytest.mark.parametrize(
    ("aggregate", "column", "fine", "asked"),
    [
        ("avg(peak)", "peak", 20, 20),
        ("sum(kwh)", "kwh", 50, 200),
        ("sum(peak)", "peak", 50, 600),
        ("avg(kwh)", "kwh", 20, 20),
    ],
)
@pytest.mark.parametrize("coarse", [BY_TARIFF, BY_NONE])
def test_a_number_from_parts_is_within_its_bound_of_the_truth_and_costs_nothing(
    town, aggregate, column, fine, asked, coarse
):
    more = ", count(kwh) AS n" if aggregate == "avg(kwh)" else ""
    parts = town.ask(BY_BOTH.format(f"{aggregate} AS y{more}"), max_error=fine).to_arrow().to_pylist()
    spent, kept = town.ledger.accounts(), len(town.known())
    if aggregate.startswith("sum") and coarse is BY_NONE:
        asked = fine * len(parts)
    text = coarse.format(f"{aggregate} AS y")
    priced, answer = town.price(text, max_error=asked), town.ask(text, max_error=asked, charge=False)
    assert answer.fresh == (False,) and town.ledger.accounts() == spent
    assert len(town.known()) == kept, "it is never kept as an answer of its own"
    exact = truth(column, ["tariff"] if coarse is BY_TARIFF else [])
    for row in answer.to_arrow().to_pylist():
        total, count = exact[(row["tariff"],) if coarse is BY_TARIFF else ()]
        true = total / count if aggregate.startswith("avg") else total
        assert abs(Fraction(row["y"]) - true) <= asked
        assert row["y_low"] <= true <= row["y_high"]
    assert answer.to_dict()["outputs"][0]["from"]["answer"] == 1
    assert "It follows from up to" in answer.explain() and "costs nothing" in priced.explain()
    assert not any(charge.information for charge in answer.charge.values())


def test_the_number_is_the_sum_of_its_parts_or_their_average_by_public_counts(town):
    parts = town.ask(BY_BOTH.format("avg(peak) AS y, count(*) AS n, sum(peak) AS s"), max_error={"y": 9, "s": 90})
    rows = parts.to_arrow().to_pylist()
    answer = town.ask(BY_TARIFF.format("avg(peak) AS y, sum(peak) AS s"), max_error={"y": 9, "s": 360}, charge=False)
    for row in answer.to_arrow().to_pylist():
        mine = [one for one in rows if one["tariff"] == row["tariff"]]
        assert row["y"] == pytest.approx(sum(one["n"] * one["y"] for one in mine) / sum(one["n"] for one in mine))
        assert row["s"] == pytest.approx(sum(one["s"] for one in mine))


def test_what_is_stated_of_a_number_from_parts_is_no_less_than_its_parts_tell(towns):
    town = towns("plain", owner=True)
    parts = town.ask(BY_BOTH.format("avg(peak) AS y"), max_error=90).cells()
    for cell in town.ask(BY_TARIFF.format("avg(peak) AS y"), max_error=90, charge=False).cells():
        mine = [one for one in parts if one["keys"]["tariff"] == cell["keys"]["tariff"]]
        told = [one["outputs"]["y"]["entries"]["peak"]["told_apart_in_100"] for one in mine]
        assert cell["outputs"]["y"]["entries"]["peak"]["told_apart_in_100"] >= max(told)
        assert cell["outputs"]["y"]["owner"]["told_apart_in_100"] >= max(
            one["outputs"]["y"]["owner"]["told_apart_in_100"] for one in mine
        )


@pytest.mark.parametrize(
    ("text", "wish"),
    [
        (BY_TARIFF.format("sum(peak) AS y"), {"max_error": 199}),  # up to four parts of 50
        (BY_TARIFF.format("sum(peak + 1) AS y"), {"max_error": 500}),
        ("SELECT rooms, sum(peak) AS y FROM meters WHERE area > 40 GROUP BY rooms", {"max_error": 500}),
        ("SELECT area, sum(peak) AS y FROM meters GROUP BY area", {"max_error": 500}),
        (BY_TARIFF.format("var_pop(peak) AS y"), {"max_error": 500}),
        (BY_TARIFF.format("sum(peak) AS y"), {"spend": 0.001}),
    ],
)
def test_anything_else_is_another_question(town, text, wish):
    town.ask(BY_BOTH.format("sum(peak) AS y, var_pop(peak) AS v"), max_error=50)
    assert "from" not in town.price(text, **wish).to_dict()["outputs"][0]
    assert town.ask(text, **wish).fresh == (True,)


def test_an_answer_of_its_own_wins_over_its_parts(tmp_path):
    write_town(tmp_path)
    coarse = BY_TARIFF.format("sum(peak) AS y")
    with open_town(tmp_path) as town:
        own = town.ask(coarse, max_error=500).to_arrow()
        town.ask(BY_BOTH.format("sum(peak) AS y"), max_error=50)
        town.ledger.forget(lambda one: one.number == 1)  # charged, and no longer kept
        with open_town(tmp_path, ledger=town.ledger, make=False) as again:
            answer = again.ask(coarse, max_error=500)
            assert answer.to_arrow().equals(own) and "from" not in answer.to_dict()["outputs"][0]


def test_parts_of_every_choice_of_keys_give_the_same_groups(town):
    keys = ["tariff", "rooms", "area"]
    town.ask(f"SELECT {', '.join(keys)}, sum(peak) AS y FROM meters GROUP BY {', '.join(keys)}", max_error=1)
    exact = {size: list(itertools.combinations(keys, size)) for size in (0, 1, 2)}
    for chosen in itertools.chain(*exact.values()):
        by = ", ".join(chosen)
        text = f"SELECT {by + ', ' if by else ''}sum(peak) AS y FROM meters {'GROUP BY ' + by if by else ''}"
        answer = town.ask(text, max_error=1000, charge=False).to_arrow().to_pylist()
        found = truth("peak", chosen)
        assert len(answer) == len(found)
        for row in answer:
            key = tuple(float(row[name]) if name == "area" else row[name] for name in chosen)
            assert abs(Fraction(row["y"]) - found[key][0]) <= 1000


SAME = {
    "sum(peak)": 40,
    "avg(kwh)": 40,
    "var_pop(peak)": 40,
    "stddev_pop(kwh)": 20,
    "median(peak)": 4,
    "avg(peak) / avg(kwh)": 0.1,
    "histogram(peak, 2, 5)": 40,
}


@pytest.mark.parametrize(("asked", "bound"), SAME.items())
def test_the_same_question_with_a_wider_bound_is_answered_from_what_was_released(town, asked, bound):
    text = BY_BOTH.format(f"{asked} AS y")
    first = town.ask(text, max_error=bound)
    for wider in (bound * 1.1, bound * 2):
        again = town.ask(text, max_error=wider, charge=False)
        shown = [name for name in first.to_arrow().column_names if not name.endswith(("_low", "_high"))]
        if not asked.startswith(
            ("stddev", "median", "avg(peak) /")
        ):  # which lie amid what parts with such bounds allow
            assert again.to_arrow().select(shown) == first.to_arrow().select(shown)
        assert all("from" in one for one in again.to_dict()["outputs"]) and len(town.known()) == 1
        assert "follows from cells that were released before" in again.summary()
        for one, other in zip(first.cells(), again.cells(), strict=True):
            for name, cell in one["outputs"].items():
                assert other["outputs"][name].get("entries") == cell.get("entries")
    assert not any("from" in one for one in town.price(text, max_error=bound * 0.99).to_dict()["outputs"])


def test_however_many_answers_by_other_groups_came_between_the_parts_are_found(town):
    town.ask(BY_BOTH.format("sum(peak) AS y"), max_error=50)
    for number in range(45):
        town.ask("SELECT area, sum(peak) AS y FROM meters GROUP BY area", max_error=500 - number)
    assert town.ask(BY_TARIFF.format("sum(peak) AS y"), max_error=400, charge=False).fresh == (False,)


def test_the_oldest_answer_that_serves_is_taken_and_the_bound_that_it_gives_is_stated(town):
    town.ask(BY_BOTH.format("sum(peak) AS y"), max_error=90)
    town.ask(BY_BOTH.format("sum(peak) AS y"), max_error=20)
    for sql, asked, bound in ((BY_TARIFF, 500, 360), (BY_NONE, 5000, 540), (BY_BOTH, 500, 90), (BY_TARIFF, 100, 80)):
        answer = town.ask(sql.format("sum(peak) AS y"), max_error=asked, charge=False)
        assert answer.max_error["y"] == pytest.approx(bound)
        assert answer.to_dict()["outputs"][0]["from"]["answer"] == (1 if asked > 100 else 2)
        for row in answer.to_arrow().to_pylist():
            assert row["y_high"] - row["y_low"] == pytest.approx(2 * answer.max_error["y"], abs=0.1)
        exact = truth("peak", [name for name in ("tariff", "rooms") if name in sql])
        for row in answer.to_arrow().to_pylist():
            true = exact[tuple(row[name] for name in ("tariff", "rooms") if name in row)][0]
            assert row["y_low"] <= true <= row["y_high"]


TOTALS = "SELECT tariff, rooms, sum(peak) AS y FROM meters GROUP BY {} (tariff, rooms)"


def test_groups_that_were_shown_as_totals_are_given_as_near_as_they_were(town):
    totals = town.ask(TOTALS.format("CUBE"), max_error=60).to_arrow().to_pylist()
    for sql, keys in ((BY_TARIFF, ["tariff"]), (BY_NONE, []), (BY_BOTH, ["tariff", "rooms"])):
        answer = town.ask(sql.format("sum(peak) AS y"), max_error=60, charge=False)
        exact = truth("peak", keys)
        for row in answer.to_arrow().to_pylist():
            shown = {name: row.get(name) for name in ("tariff", "rooms")}
            (same,) = [one for one in totals if {name: one[name] for name in shown} == shown]
            assert row["y"] == pytest.approx(same["y"])
            assert row["y_low"] <= exact[tuple(row[name] for name in keys)][0] <= row["y_high"]
            assert row["y_high"] - row["y_low"] <= 120.1
    assert len(town.known()) == 1


def test_totals_with_a_wider_bound_and_fewer_of_them_follow_from_those_that_were_released(town):
    wide = town.ask(TOTALS.format("CUBE"), max_error=60)
    for sql, bound in ((TOTALS.format("CUBE"), 90), (TOTALS.format("ROLLUP"), 60), (TOTALS.format("ROLLUP"), 75)):
        answer = town.ask(sql, max_error=bound, charge=False)
        assert answer.max_error["y"] == pytest.approx(60) and len(town.known()) == 1
        own = {(row["tariff"], row["rooms"]): row for row in wide.to_arrow().to_pylist()}
        for row in answer.to_arrow().to_pylist():
            same = own[row["tariff"], row["rooms"]]
            assert row["y"] == pytest.approx(same["y"]) and row["y_high"] - row["y_low"] <= 120.1
    assert "from" not in town.price(TOTALS.format("CUBE"), max_error=59).to_dict()["outputs"][0]


def test_totals_that_were_not_shown_are_no_nearer_than_all_their_cells(town):
    totals = "SELECT day, tariff, sum(peak) AS y FROM meters GROUP BY {} (day, tariff)"
    added = town.ask(totals.format("ROLLUP"), max_error=60).prepared.outputs[0].added.widest
    assert (
        added.keeps_sums
        and "from" not in town.price(BY_TARIFF.format("sum(peak) AS y"), max_error=60 * 29).outputs()[0]
    )
    assert town.ask(BY_TARIFF.format("sum(peak) AS y"), max_error=5000, charge=False).max_error["y"] == 60 * 30
    assert "from" not in town.price(totals.format("CUBE"), max_error=60).to_dict()["outputs"][0]


def test_some_cells_of_a_total_are_no_nearer_than_all_of_them_together(town):
    """Joint noise keeps a total as near as a cell; of a condition that leaves out some of its cells it says nothing."""
    cells = "SELECT household, day, sum(peak) AS y FROM meters GROUP BY ROLLUP (household, day)"
    rows = town.ask(cells, max_error=60)
    assert rows.prepared.outputs[0].added.widest.keeps_sums
    (whole,) = town.ask("SELECT sum(peak) AS y FROM meters", max_error=60, charge=False).to_arrow().to_pylist()
    assert whole["y"] == next(row for row in rows.to_arrow().to_pylist() if row["household"] is None)["y"]
    exact = truth("peak", ["day"])
    for chosen in ((0, 10), (3, 25), (20, 29)):
        days = sorted(day for (day,) in exact)[slice(*chosen)]
        sql = f"SELECT sum(peak) AS y FROM meters WHERE day BETWEEN '{days[0]}' AND '{days[-1]}'"
        assert "from" not in town.price(sql, max_error=60 * len(days) * HOUSEHOLDS - 1).outputs()[0]
        (row,) = town.ask(sql, max_error=2e5, charge=False).to_arrow().to_pylist()
        assert row["y_low"] <= sum(exact[day,][0] for day in days) <= row["y_high"]
        assert town.price(sql, max_error=2e5).max_error["y"] >= 60 * len(days)
    some = "SELECT tariff, rooms, sum(peak) AS y FROM meters WHERE rooms IN (1, 2, 3) GROUP BY CUBE (tariff, rooms)"
    town.ask(TOTALS.format("CUBE"), max_error=60)
    assert "from" not in town.price(some, max_error=60).outputs()[0]


def test_running_totals_with_a_wider_bound_follow_from_those_that_were_released(town):
    running = "SELECT day, sum(peak) AS y, sum(sum(peak)) OVER (ORDER BY day{}) AS r FROM meters GROUP BY day"
    first = town.ask(running.format(""), max_error=90)
    again = town.ask(running.format(""), max_error=120, charge=False)
    assert again.max_error == first.max_error == {"y": 90.0, "r": 90.0}
    assert again.to_arrow()["r"] == first.to_arrow()["r"] and len(town.known()) == 1
    other = town.price(running.format(" DESC"), max_error=120).to_dict()["outputs"]
    assert not any("from" in one for one in other)


@pytest.mark.parametrize(
    ("sql", "keys", "chosen", "bound"),
    [
        ("SELECT rooms, {} FROM meters WHERE tariff = 'Std' GROUP BY rooms", ["rooms"], {"tariff": ["Std"]}, 50),
        ("SELECT {} FROM meters WHERE tariff = 'Std'", [], {"tariff": ["Std"]}, 300),
        (
            "SELECT {} FROM meters WHERE tariff = 'Std' AND rooms IN (2, 3)",
            [],
            {"tariff": ["Std"], "rooms": [2, 3]},
            300,
        ),
        ("SELECT rooms, {} FROM meters WHERE rooms IN (2, 3) GROUP BY rooms", ["rooms"], {"rooms": [2, 3]}, 300),
        (
            "SELECT tariff, {} FROM meters WHERE NOT rooms IN (2, 3) GROUP BY tariff",
            ["tariff"],
            {"rooms": [1, 4, 5, 6]},
            300,
        ),
    ],
)
def test_a_condition_that_chooses_whole_cells_leaves_the_others_out(town, sql, keys, chosen, bound):
    names = ["tariff", "rooms"]
    town.ask(BY_BOTH.format("sum(peak) AS y, avg(peak) AS a"), max_error=50)
    answer = town.ask(sql.format("sum(peak) AS y, avg(peak) AS a"), max_error=bound, charge=False)
    assert answer.fresh == (False, False) and len(town.known()) == 1
    found = {}
    for key, (total, count) in truth("peak", names).items():
        cell = dict(zip(names, key, strict=True))
        if all(cell[name] in values for name, values in chosen.items()):
            group = tuple(cell[name] for name in keys)
            found[group] = tuple(a + b for a, b in zip(found.get(group, (0, 0)), (total, count), strict=True))
    rows = answer.to_arrow().to_pylist()
    assert len(rows) == len(found)
    for row in rows:
        total, count = found[tuple(row[name] for name in keys)]
        assert row["y_low"] <= total <= row["y_high"] and row["a_low"] <= total / count <= row["a_high"]


@pytest.mark.parametrize(
    "condition",
    ["area > 40", "tariff = 'Std' AND day < '2013-02-01'", "tariff = 'Std' OR area > 40"],
)
def test_a_condition_that_cuts_through_cells_is_another_question(town, condition):
    town.ask(BY_BOTH.format("sum(peak) AS y"), max_error=50)
    text = f"SELECT rooms, sum(peak) AS y FROM meters WHERE {condition} GROUP BY rooms"
    assert "from" not in town.price(text, max_error=5000).to_dict()["outputs"][0]


def test_conditions_that_were_asked_before_stay(town):
    text = "SELECT tariff, rooms, sum(peak) AS y FROM meters WHERE day < '2013-02-01'{} GROUP BY tariff, rooms"
    town.ask(text.format(""), max_error=50)
    answer = town.ask(text.format(" AND rooms = 2"), max_error=50, charge=False)
    assert {row["rooms"] for row in answer.to_arrow().to_pylist()} == {2}
    price = town.price(BY_BOTH.format("sum(peak) AS y").replace("GROUP", "WHERE rooms = 2 GROUP"), max_error=5000)
    assert "from" not in price.to_dict()["outputs"][0]


def test_a_cell_without_a_value_of_its_own_is_still_a_part_of_its_group(tmp_path):
    """A variance of one row is NULL, and yet the row counts in the variance of a group with others."""
    write_town(tmp_path)
    with open_town(tmp_path) as town:
        fine = (
            "SELECT tariff, CASE WHEN household = 'h01' AND day = '2013-01-20' THEN 1 ELSE 0 END AS one, {} FROM meters"
        )
        fine = fine.format("var_samp(peak) AS y") + " GROUP BY tariff, one"
        cells = town.ask(fine, max_error=4).to_arrow().to_pylist()
        assert len(cells) == 3 and sum(row["y"] is None for row in cells) == 1
        assert "from" not in town.price(BY_TARIFF.format("var_samp(peak) AS y"), max_error=20).to_dict()["outputs"][0]
