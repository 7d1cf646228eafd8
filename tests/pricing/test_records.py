"""Priced shifts of records are never exceeded, whatever two contents of an owner are."""

import datetime
import random
from fractions import Fraction

import numpy as np
import pytest

from errorfloor.catalogue import Catalogue
from errorfloor.pricing.joint import distances, largest_sums
from errorfloor.pricing.records import possible, row_curves, row_range
from errorfloor.sql import parse
from patients import CATALOGUE, answers, content
from repeated import rounds

OUTPUTS = (
    "count(*)",
    "count(*) FILTER (WHERE cost > 100 AND sex <> 'f')",
    "sum(cost)",
    "sum(age * (cost - 5))",
    "sum((age - 50) * (age - 50))",
    "sum(CASE WHEN cost < 0 THEN 1 WHEN age > 60 THEN cost ELSE -2 END)",
    "sum(floor(cost / 7) - month(day))",
    "sum(year(day) - 2024)",
)
GROUPS = ("sex", "floor(age / 10)", "region", "CASE WHEN cost < 100 THEN 'low' ELSE 'high' END")


@pytest.fixture(scope="module")
def catalogue():
    import tomllib

    return Catalogue.model_validate({"tables": tomllib.loads(CATALOGUE)["tables"]})


@pytest.mark.soak
def test_no_two_contents_of_an_owner_move_answers_farther_than_is_charged(catalogue):
    chance, table = random.Random(7), catalogue.tables["patients"]
    most = table.owner.most_rows
    for _ in range(rounds(40)):
        outputs = chance.sample(OUTPUTS, chance.choice((1, 1, 2, 3)))
        key = chance.choice((None, *GROUPS))
        shown = "".join(f", {one} AS x{place}" for place, one in enumerate(outputs))
        sql = f"SELECT {key} AS k{shown}" if key else f"SELECT {shown[2:]}"
        question = parse(f"{sql} FROM patients{' GROUP BY k' if key else ''}", catalogue)
        ranges = [row_range(one.formula, table) for one in question.outputs]
        weights = [Fraction(chance.randrange(1, 100)) for _ in ranges]
        allowed = sum(
            weight * (most * Fraction(one.moved(groups=2 if key else 1))) ** 2
            for weight, one in zip(weights, ranges, strict=True)
        )
        for _ in range(50):
            one, two = (answers(question, content(chance, most)) for _ in range(2))
            moved = sum(weights[cell[0]] * (one.get(cell, 0) - two.get(cell, 0)) ** 2 for cell in {*one, *two})
            assert moved <= allowed, sql


@pytest.mark.soak
def test_no_two_contents_move_sums_with_limits_farther_than_is_charged(catalogue):
    chance, table = random.Random(8), catalogue.tables["patients"]
    most, reached = table.owner.most_rows, 0.0
    for _ in range(rounds(40)):
        key, asked = chance.choice((None, *GROUPS)), []
        for place in range(chance.choice((2, 3, 6))):
            low, high = sorted(chance.sample(range(-5, 120), 2))
            what = chance.choice(("count(*)", "sum(cost)", "sum(age - 30)"))
            where = chance.choice((f"age > {low} AND age <= {high}", f"age < {high}", f"{low}.5 <= age AND sex = 'f'"))
            asked.append(f"{what} FILTER (WHERE {where}) AS x{place}")
        sql = f"SELECT {f'{key} AS k, ' if key else ''}{', '.join(asked)} FROM patients{' GROUP BY k' if key else ''}"
        question = parse(sql, catalogue)
        curves = row_curves(question, table, 2 if key else 1)
        weights = np.array([float(chance.randrange(1, 100)) for _ in curves])
        allowed = most**2 * largest_sums(weights[:, None], distances(curves))[0]
        assert allowed <= most**2 * sum(
            weight * row_range(one.formula, table).moved(groups=2 if key else 1) ** 2 * 1.0001
            for weight, one in zip(weights, question.outputs, strict=True)
        )
        for _ in range(50):
            one, two = (answers(question, content(chance, most)) for _ in range(2))
            moved = sum(weights[cell[0]] * float(one.get(cell, 0) - two.get(cell, 0)) ** 2 for cell in {*one, *two})
            assert moved <= allowed * (1 + 1e-12), sql
            reached = max(reached, moved / allowed)
    assert reached > 0.2


def test_ten_bins_cost_what_a_count_in_two_groups_does(catalogue):
    edges = ", ".join(str(10 * place) for place in range(1, 10))
    question = parse(f"SELECT histogram(age, {edges}) AS h FROM patients", catalogue)
    curves = row_curves(question, catalogue.tables["patients"], 1)
    assert len(curves) == 10 and largest_sums(np.ones((10, 1)), distances(curves))[0] == pytest.approx(2)
    curves = row_curves(question, catalogue.tables["patients"], 5)
    assert largest_sums(np.ones((10, 1)), distances(curves))[0] == pytest.approx(2)


def test_the_bound_of_a_row_is_reached_where_columns_occur_once(catalogue):
    table = catalogue.tables["patients"]
    question = parse(
        "SELECT sum(CASE WHEN sex = 'f' THEN 3 * cost ELSE -age END) AS s, count(*) AS n FROM patients", catalogue
    )
    total, count = (row_range(one.formula, table) for one in question.outputs)
    assert (total.below, total.above, total.whole) == (300, 6000, False)
    assert (count.below, count.above, count.whole) == (0, 1, True)
    assert possible(question.outputs[1].formula, table) == (0.0, 10_000.0)
    assert count.moved(groups=1) == 1 and Fraction(count.moved(groups=2)) ** 2 >= 2


def test_floors_in_floors_are_bounded_once_each(catalogue):
    """Each has eight indicators: gone through anew for every value of those around it, five would take 256⁵ steps."""
    what = "age"
    for depth in range(5):
        flags = " + ".join(f"CASE WHEN age > {10 * depth + place} THEN 1 ELSE 0 END" for place in range(8))
        what = f"floor(({what} + {flags}) / 3)"
    question = parse(f"SELECT sum({what}) AS s FROM patients", catalogue)
    assert row_range(question.outputs[0].formula, catalogue.tables["patients"]) == (0, 4, True)


@pytest.mark.parametrize(
    ("first", "least"), [((1, 1, 1), 0), ((2024, 1, 7), 2023), ((2024, 1, 8), 2024), ((2024, 12, 30), 2024)]
)
def test_years_are_bounded_by_the_days_that_are_declared(catalogue, first, least):
    table = catalogue.tables["patients"].model_dump(exclude_unset=True)
    table["columns"] = {"day": {"range": (datetime.date(*first), datetime.date(9999, 12, 31))}}
    declared = Catalogue.model_validate({"tables": {"patients": table}})
    question = parse(f"SELECT sum(year(day) - {least}) AS s FROM patients", declared)
    assert row_range(question.outputs[0].formula, declared.tables["patients"]) == (0, 9999 - least, True)
