"""Priced shifts of records are never exceeded, whatever two contents of an owner are."""

import datetime
import math
import random
import tomllib
from fractions import Fraction

import numpy as np
import pytest

from errorfloor.catalogue import Catalogue
from errorfloor.errors import RefusedError
from errorfloor.pricing.joint import distances, largest_sums
from errorfloor.pricing.records import possible, row_curves, row_range
from errorfloor.sql import parse
from errorfloor.sql.record_ranges import Domains, limits_of
from errorfloor.sql.records import weighed
from joined import JOINED, asked, extents, looked_up
from patients import CATALOGUE, answers, content
from plan_values import number
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
    "sum(abs(cost - 700))",
    "sum(round(cost / 7) * sign(age - 40))",
    "sum(ceil(cost / 3) - round(cost, 1))",
    "sum(greatest(cost, 10 * age, 50) - least(age, 65))",
    "sum(CASE WHEN age < 18 THEN 3 WHEN age < 65 THEN age ELSE 65 END)",
    "sum(exp(age / 40) - 2)",
    "sum(ln(age + 1) * cost)",
    "sum(sqrt(abs(cost)) / (age + 1))",
)
GROUPS = ("sex", "floor(age / 10)", "region", "CASE WHEN cost < 100 THEN 'low' ELSE 'high' END")


@pytest.fixture(scope="module")
def catalogue():
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
        ranges = [row_range(one.formula, Domains(table)) for one in question.outputs]
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
        curves = row_curves(question, Domains(table), 2 if key else 1)
        weights = np.array([float(chance.randrange(1, 100)) for _ in curves])
        allowed = most**2 * largest_sums(weights[:, None], distances(curves))[0]
        assert allowed <= most**2 * sum(
            weight * row_range(one.formula, Domains(table)).moved(groups=2 if key else 1) ** 2 * 1.0001
            for weight, one in zip(weights, question.outputs, strict=True)
        )
        for _ in range(50):
            one, two = (answers(question, content(chance, most)) for _ in range(2))
            moved = sum(weights[cell[0]] * float(one.get(cell, 0) - two.get(cell, 0)) ** 2 for cell in {*one, *two})
            assert moved <= allowed * (1 + 1e-12), sql
            reached = max(reached, moved / allowed)
    assert reached > 0.2


@pytest.mark.soak
def test_no_two_contents_move_what_is_joined_farther_than_is_charged():
    """Half of the questions have conditions that limit columns, of either table, by which bins are priced together."""
    catalogue = Catalogue.model_validate({"tables": tomllib.loads(JOINED)["tables"]})
    table, chance, reached = catalogue.tables["patients"], random.Random(31), 0.0
    most = table.owner.most_rows
    for _ in range(rounds(40)):
        sql, keys, what = asked(chance, outputs=chance.choice((1, 2, 3)))
        if "DISTINCT" in sql:  # adds up to nothing by rows; it has a test of its own
            continue
        column = chance.choice([one for one in ("p.age", "r.age", "b.weight") if one[:2] in sql.split("FROM")[1]])
        for place in range(len(what)):
            if chance.random() < 0.5 and "FILTER" not in what[place]:
                low = chance.randrange(-5, 90)
                within = f" FILTER (WHERE {column} > {low} AND {column} <= {low + chance.randrange(1, 40)})"
                sql = sql.replace(f" AS x{place}", f"{within} AS x{place}")
        question = parse(sql, catalogue)
        domains = Domains(table, extents(question))
        question = weighed(question, domains)
        curves = row_curves(question, domains, 2 if keys else 1)
        weights = np.array([float(chance.randrange(1, 100)) for _ in curves])
        moves = [row_range(one.formula, domains).moved(groups=2 if keys else 1) for one in question.outputs]
        alone = [place for place, curve in enumerate(curves) if curve is None]
        together = [place for place, curve in enumerate(curves) if curve is not None]
        allowed = most**2 * sum(weights[place] * moves[place] ** 2 for place in alone)
        if together:
            limited = distances([curves[place] for place in together])
            allowed += most**2 * largest_sums(weights[together, None], limited)[0]
        for _ in range(50):
            one, two = (answers(question, looked_up(content(chance, most), question)) for _ in range(2))
            moved = sum(weights[cell[0]] * float(one.get(cell, 0) - two.get(cell, 0)) ** 2 for cell in {*one, *two})
            assert moved <= allowed * (1 + 1e-12), sql
            reached = max(reached, moved / allowed if allowed else 0.0)
    assert reached > 0.2


def test_limits_are_those_of_one_column_and_not_of_one_name(catalogue):
    """Two counts that one row can be in are not two bins, whatever their columns are called."""
    joined = Catalogue.model_validate({"tables": tomllib.loads(JOINED)["tables"]})
    question = parse(
        "SELECT count(*) FILTER (WHERE p.age <= 40) AS a, count(*) FILTER (WHERE r.age > 40) AS b FROM patients p "
        "JOIN regions r ON p.region = r.region",
        joined,
    )
    limits = [limits_of(one.formula) for one in question.outputs]
    assert [[(column.place, ends) for column, ends in one.items()] for one in limits] == [
        [(0, (-math.inf, 40))],
        [(1, (41, math.inf))],
    ]
    curves = row_curves(question, Domains(joined.tables["patients"], extents(question)), 1)
    assert [curve is None for curve in curves] == [False, True]


def test_the_year_of_a_joined_day_is_a_condition_and_no_number(catalogue):
    tables = tomllib.loads(JOINED)["tables"]
    tables["regions"]["public"]["since"] = "date"
    joined = Catalogue.model_validate({"tables": tables})
    rest = "FROM patients p JOIN regions r USING (region)"
    question = parse(f"SELECT sum(year(r.since)) AS s {rest}", joined)
    with pytest.raises(RefusedError, match="the year of since has no bound: declare it as a whole number"):
        row_range(question.outputs[0].formula, Domains(joined.tables["patients"], ({},)))
    question = parse(f"SELECT count(*) FILTER (WHERE year(r.since) > 2000) AS n {rest}", joined)
    assert row_range(question.outputs[0].formula, Domains(joined.tables["patients"], ({},))) == (0, 1, True)


def test_ten_bins_cost_what_a_count_in_two_groups_does(catalogue):
    edges = ", ".join(str(10 * place) for place in range(1, 10))
    question = parse(f"SELECT histogram(age, {edges}) AS h FROM patients", catalogue)
    curves = row_curves(question, Domains(catalogue.tables["patients"]), 1)
    assert len(curves) == 10 and largest_sums(np.ones((10, 1)), distances(curves))[0] == pytest.approx(2)
    curves = row_curves(question, Domains(catalogue.tables["patients"]), 5)
    assert largest_sums(np.ones((10, 1)), distances(curves))[0] == pytest.approx(2)


@pytest.mark.soak
def test_an_owner_changes_how_many_values_there_are_by_its_rows_at_most(catalogue):
    chance, table = random.Random(9), catalogue.tables["patients"]
    most = table.owner.most_rows
    question = parse("SELECT sex AS k, count(DISTINCT floor(age / 10)) AS n FROM patients GROUP BY sex", catalogue)
    formula, reached = question.outputs[0].formula, 0.0
    found = row_range(formula, Domains(table))
    assert (found.below, found.above, found.whole) == (0, 1, True)

    def seen(rows):
        values = {(row[0, "sex"], row[0, "age"] // 10) for row in rows}
        return {sex: sum(one == sex for one, _ in values) for sex in ("f", "m", "other")}

    for _ in range(rounds(300)):
        others = [row for _ in range(chance.randrange(8)) for row in content(chance, most)]
        one, two = (seen(others + content(chance, most)) for _ in range(2))
        moved = sum((one[sex] - two[sex]) ** 2 for sex in one)
        assert moved <= (most * Fraction(found.moved(groups=3))) ** 2
        reached = max(reached, moved)
    assert reached >= 4


NARROW = {  # what a row adds, at least and at most: reached by some row
    "abs(cost)": (0, 2000),
    "abs(cost - 700)": (0, 1300),
    "greatest(cost, 0)": (0, 2000),
    "least(cost, 500)": (-100, 500),
    "round(cost / 7)": (-14, 286),
    "ceil(cost / 3)": (-33, 667),
    "sign(cost)": (-1, 1),
    "CASE WHEN age < 18 THEN 0 WHEN age < 65 THEN age ELSE 65 END": (0, 65),
    "CASE WHEN cost > 1000 THEN cost - 1000 ELSE 0 END": (0, 1000),
    "least(greatest(cost, 0), 900)": (0, 900),
}


@pytest.mark.parametrize("what", NARROW)
def test_comparisons_make_ranges_narrow(catalogue, what):
    question = parse(f"SELECT sum({what}) AS s FROM patients", catalogue)
    found = row_range(question.outputs[0].formula, Domains(catalogue.tables["patients"]))
    low, high = NARROW[what]
    assert -found.below <= min(low, 0) and found.above >= max(high, 0)
    assert (-found.below, found.above) == (min(low, 0), max(high, 0))


@pytest.mark.parametrize(
    "what", ["exp(age / 40)", "exp(-age)", "ln(age + 0.001)", "sqrt(age)", "1 / (age - 200)", "exp(27 - cost - 100)"]
)
def test_functions_of_a_row_lie_in_their_range(catalogue, what):
    table = catalogue.tables["patients"]
    question = parse(f"SELECT sum({what}) AS s FROM patients", catalogue)
    formula = question.outputs[0].formula
    found = row_range(formula, Domains(table))
    chance = random.Random(1)
    values = [number(formula.of, row) for _ in range(300) for row in content(chance, 1)]
    assert min(values) >= -found.below and max(values) <= found.above and not found.whole
    wide = max(values) - min(values)
    assert float(found.above + found.below) <= 1.3 * float(max(wide, abs(max(values)), abs(min(values))))


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("ln(age)", r"ln needs what is above 0, and it can be 0 … 110: narrow it with greatest or least"),
        ("exp(cost)", r"exp needs at most ±27, and it can be 2000: divide it"),
        ("cost / age", r"a quotient needs what is on one side of 0, and it can be 0 … 110"),
        ("sqrt(cost)", r"sqrt needs what is not below 0"),
        ("exp(sqrt(age))", r"exp is a function of a function: use one at a time"),
        ("sin(age)", r"sin is not computed for the rows .* use \+ - \* / floor, ceil, round, abs"),
        ("abs(ln(age + 1))", r"steps with a rounded number"),
    ],
)
def test_functions_without_a_bound_are_refused(catalogue, what, said):
    with pytest.raises(RefusedError, match=said):
        weighed(parse(f"SELECT sum({what}) AS s FROM patients", catalogue), Domains(catalogue.tables["patients"]))


def test_the_bound_of_a_row_is_reached_where_columns_occur_once(catalogue):
    table = catalogue.tables["patients"]
    question = parse(
        "SELECT sum(CASE WHEN sex = 'f' THEN 3 * cost ELSE -age END) AS s, count(*) AS n FROM patients", catalogue
    )
    total, count = (row_range(one.formula, Domains(table)) for one in question.outputs)
    assert (total.below, total.above, total.whole) == (300, 6000, False)
    assert (count.below, count.above, count.whole) == (0, 1, True)
    assert possible(question.outputs[1].formula, Domains(table)) == (0.0, 10_000.0)
    assert count.moved(groups=1) == 1 and Fraction(count.moved(groups=2)) ** 2 >= 2


def test_floors_in_floors_are_bounded_once_each(catalogue):
    """Each has eight indicators: gone through anew for every value of those around it, five would take 256⁵ steps."""
    what = "age"
    for depth in range(5):
        flags = " + ".join(f"CASE WHEN age > {10 * depth + place} THEN 1 ELSE 0 END" for place in range(8))
        what = f"floor(({what} + {flags}) / 3)"
    question = parse(f"SELECT sum({what}) AS s FROM patients", catalogue)
    assert row_range(question.outputs[0].formula, Domains(catalogue.tables["patients"])) == (0, 4, True)


@pytest.mark.parametrize(
    ("first", "least"), [((1, 1, 1), 0), ((2024, 1, 7), 2023), ((2024, 1, 8), 2024), ((2024, 12, 30), 2024)]
)
def test_years_are_bounded_by_the_days_that_are_declared(catalogue, first, least):
    table = catalogue.tables["patients"].model_dump(exclude_unset=True)
    table["columns"] = {"day": {"range": (datetime.date(*first), datetime.date(9999, 12, 31))}}
    declared = Catalogue.model_validate({"tables": {"patients": table}})
    question = parse(f"SELECT sum(year(day) - {least}) AS s FROM patients", declared)
    assert row_range(question.outputs[0].formula, Domains(declared.tables["patients"])) == (0, 9999 - least, True)
