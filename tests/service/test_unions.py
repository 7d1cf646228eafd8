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
        ("SELECT rooms, sum(peak) AS y FROM meters WHERE rooms > 2 GROUP BY rooms", {"max_error": 500}),
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
