"""Every node of a plan has the same value on every engine as in plain Python on the same rows."""

import datetime
from fractions import Fraction

import pytest

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql import denominator, facts, owners
from errorfloor.sql.plan import (
    Always,
    Among,
    Apply,
    AsDate,
    Choice,
    Compare,
    Constant,
    Count,
    Covariance,
    DatePart,
    Indicator,
    Literal,
    Matches,
    Missing,
    Not,
    Or,
    Plus,
    Power,
    Quotient,
    RoundedDown,
    Sum,
    Times,
    Truncated,
    WeightedMean,
    all_of,
    any_of,
)
from errorfloor.sql.question import Join
from errorfloor.sql.sums import with_columns
from homes import (
    ALWAYS,
    AREA,
    CLASS,
    DAY,
    ID,
    NEVER,
    PEAK,
    PRICE,
    READ,
    ROOMS,
    SIZE,
    SOLAR,
    TOWN,
    area,
    exact_integer,
    kwh,
    of,
    peak,
    present,
    question,
    rooms,
    text,
    value_of,
)
from plan_values import formula_value, number, scalar, truth

FEBRUARY = Literal(datetime.date(2020, 2, 1), "date")
MORNING = Literal(datetime.datetime(2020, 3, 1, 6, 30, 0, 1), "moment")

CONDITIONS = {
    "always": ALWAYS,
    "never": NEVER,
    "equal text": Compare("=", TOWN, text("it's")),
    "other text": Compare("<>", TOWN, text("a\\b")),
    "text below": Compare("<", TOWN, text("Zz")),
    "text up to": Compare("<=", text("Zürich"), TOWN),
    "among texts": Among(TOWN, (text("Bath"), text("😀"), text(""))),
    "pattern": Matches(TOWN, "%a_"),
    "pattern with backslash": Matches(TOWN, "a\\_"),
    "number below": Compare("<", area, Polynomial.constant(Fraction(100, 3))),
    "number equal": Compare("=", rooms, Polynomial.constant(3)),
    "never equal": Compare("=", rooms, Polynomial.constant(Fraction(7, 2))),
    "numbers of different steps": Compare("<=", area * Fraction(1, 10), rooms * rooms - 2),
    "numbers unlike": Compare("<>", rooms, of(DatePart("isodow", DAY)) - 3),
    "among numbers": Among(area, tuple(Polynomial.constant(Fraction(3 * k, 8)) for k in range(-20, 300, 3))),
    "missing text": Missing(TOWN),
    "missing number": Missing(rooms + area),
    "missing day": Missing(Truncated("month", DAY)),
    "not": Not(Compare("<", rooms, Polynomial.constant(2))),
    "and": all_of([Compare("<", rooms, Polynomial.constant(4)), Matches(TOWN, "%a%")]),
    "or": any_of([Compare("<", rooms, Polynomial.constant(0)), Compare("=", SOLAR, Literal(True, "flag"))]),
    "nothing of nothing": Or(()),
    "nested": Not(any_of([Missing(SOLAR), all_of([Compare("=", SOLAR, Literal(False, "flag")), Matches(TOWN, "_")])])),
    "day": Compare("<", DAY, FEBRUARY),
    "moment": Compare("<=", MORNING, READ),
    "day of a moment": Compare("=", AsDate(READ), DAY),
    "beginning of a week": Compare("<>", Truncated("week", DAY), Truncated("month", DAY)),
    "among days": Among(Truncated("month", DAY), (FEBRUARY, Literal(datetime.date(2020, 5, 1), "date"))),
    "choice": Compare(
        "=",
        Choice(((Missing(SOLAR), text("?")), (Compare("=", SOLAR, Literal(True, "flag")), TOWN)), None, "text"),
        text("?"),
    ),
    "indicator": Compare("=", of(Indicator(Matches(TOWN, "%t%"))) * rooms, Polynomial.constant(3)),
    "flag below": Compare("<", SOLAR, Literal(True, "flag")),
}


def test_conditions_are_true_false_or_unknown_as_in_sql(town):
    """Each condition filters, is negated, and is turned into an indicator."""
    outputs = []
    for condition in CONDITIONS.values():
        outputs += [Count(condition), Count(Not(condition)), Sum(of(Indicator(condition)) * kwh, ALWAYS)]
    asked = question(outputs)
    (values,) = town.ask(asked).values()
    names = [f"{kind} {name}" for name in CONDITIONS for kind in ("where", "where not", "indicator of")]
    for name, output in zip(names, asked.outputs, strict=True):
        assert values[output.name] == formula_value(output.formula, town.rows), name
    counts = [formula_value(output.formula, town.rows) for output in asked.outputs]
    assert sum(0 < count < len(town.rows) for count in counts[::3]) > 20


def test_rows_are_chosen_where_the_condition_is_true(town):
    for name in ("text below", "numbers of different steps", "nested", "never"):
        asked = question([Count(ALWAYS), Sum(kwh, ALWAYS)], where=CONDITIONS[name])
        rows = town.groups(asked)[()]
        assert town.ask(asked) == {(): {"out0": len(rows), "out1": formula_value(Sum(kwh, ALWAYS), rows)}}


KEYS = {
    "text": [TOWN],
    "number": [area],
    "polynomial": [area * Fraction(2, 3) - rooms * rooms + Fraction(1, 6)],
    "floor": [of(RoundedDown(area * Fraction(1, 10) - Fraction(1, 3)))],
    "floor of whole numbers": [of(RoundedDown(rooms * 3 - 1))],
    "parts": [of(DatePart(part, DAY)) for part in ("year", "quarter", "isodow")],
    "more parts": [of(DatePart("week", READ)) + of(DatePart("dayofyear", DAY)) * 100, of(DatePart("month", READ))],
    "hours": [of(DatePart("hour", READ)) * 60 + of(DatePart("minute", READ)), of(DatePart("day", READ))],
    "day": [DAY],
    "moment": [READ],
    "beginnings": [Truncated(unit, READ) for unit in ("year", "quarter", "month", "week", "day", "hour")],
    "beginnings of days": [Truncated(unit, DAY) for unit in ("year", "quarter", "month", "week")],
    "day of a moment": [AsDate(READ), AsDate(Truncated("month", READ))],
    "flag and text": [SOLAR, TOWN],
    "choice": [
        Choice(
            ((Compare("<", rooms, Polynomial.constant(1)), text("few")), (Missing(rooms), TOWN)), text("it's"), "text"
        )
    ],
    "choice of days": [Choice(((Missing(SOLAR), DAY),), None, "date")],
    "indicator": [of(Indicator(CONDITIONS["or"])) * 5 - 2],
    "constants": [
        Polynomial.constant(Fraction(7, 2)),
        text("x"),
        Literal(True, "flag"),
        Literal(datetime.date(2020, 1, 1), "date"),
        TOWN,
    ],
    "only constants": [Polynomial.constant(2)],
}


def test_groups_are_those_of_the_keys(town):
    for name, keys in KEYS.items():
        asked = question([Count(ALWAYS), Sum(kwh, ALWAYS)], keys=keys)
        expected = {
            group: {output.name: formula_value(output.formula, rows) for output in asked.outputs}
            for group, rows in town.groups(asked).items()
        }
        assert town.ask(asked) == expected, name
        assert len(expected) > 1 or name == "only constants"


def test_no_rows_make_no_groups_but_one_without_keys(town):
    assert town.ask(question([Count(ALWAYS)], keys=[TOWN], where=NEVER)) == {}
    assert town.ask(question([Count(ALWAYS)], keys=[Polynomial.constant(2)], where=NEVER)) == {}
    outputs = [Count(ALWAYS), Sum(kwh, ALWAYS), Covariance(kwh, kwh, ALWAYS, True), Sum(Polynomial.constant(3), ALWAYS)]
    assert town.ask(question(outputs, where=NEVER)) == {(): {"out0": 0, "out1": None, "out2": None, "out3": None}}


HAS_PEAK, HAS_ALL = present(PEAK), present(PEAK, ROOMS, AREA, DAY)
FORMULAS = {
    "count": Count(HAS_PEAK),
    "sum": Sum(kwh, ALWAYS),
    "mean": Quotient(Sum(kwh, ALWAYS), Count(ALWAYS)),
    "sum where": Sum(kwh * Fraction(2, 3) - 1, Compare("<", rooms, Polynomial.constant(0))),
    "constant sum": Sum(Polynomial.constant(Fraction(5, 3)), present(ROOMS)),
    "sum of nothing": Sum(Polynomial.constant(0), present(ROOMS)),
    "nullable": Sum(peak, HAS_PEAK),
    "polynomial": Sum((kwh - 10) ** 3 + peak * kwh * 7 - rooms * area * kwh, HAS_ALL),
    "large products": Sum(peak * peak * peak - peak * peak * kwh, HAS_PEAK),
    "indicators": Sum(of(Indicator(CONDITIONS["or"])) * peak + of(Indicator(CONDITIONS["pattern"])), HAS_PEAK),
    "parts": Sum(kwh * of(DatePart("isodow", DAY)) - of(RoundedDown(area * Fraction(-1, 7))) * kwh, HAS_ALL),
    "population covariance": Covariance(kwh, peak, HAS_PEAK, False),
    "sample covariance": Covariance(kwh * rooms, kwh - area, HAS_ALL, True),
    "variance": Covariance(kwh, kwh, ALWAYS, True),
    "weighted mean": WeightedMean(kwh, peak, HAS_PEAK),
    "arithmetic": Plus(
        (Constant(Fraction(1, 7)), Times((Sum(kwh, ALWAYS), Count(HAS_PEAK))), Power(Sum(kwh, ALWAYS), 3))
    ),
    "quotient by zero": Quotient(Sum(kwh, ALWAYS), Count(NEVER)),
    "at least": Apply("greatest", (Fraction(1, 3),), Quotient(Sum(kwh, ALWAYS), Constant(Fraction(100)))),
    "at most": Apply("least", (Fraction(1, 3),), Quotient(Sum(kwh, ALWAYS), Constant(Fraction(100)))),
}


@pytest.mark.parametrize("keys", [[], [TOWN], [of(ID)]], ids=["all rows", "groups", "single rows"])
def test_formulas_without_functions_are_exact(town, keys):
    """The values are those of exact fractions in Python: so they are the same bits on every engine."""
    asked = question(FORMULAS.values(), keys=keys)
    groups = town.groups(asked)
    answers = town.ask(asked)
    assert answers.keys() == groups.keys()
    for group, rows in groups.items():
        for name, output in zip(FORMULAS, asked.outputs, strict=True):
            value = answers[group][output.name]
            assert value == formula_value(output.formula, rows), name
            assert value is None or isinstance(value, Fraction)


@pytest.mark.parametrize("keep_unmatched", [False, True], ids=["inner", "left"])
def test_joins_meet_rows_of_equal_value(town, keep_unmatched):
    """The two numbers are stored with different steps: 3 is 3 steps of 1 and 4 steps of ¾."""
    join = Join("classes", "1", ((ROOMS, SIZE),), keep_unmatched)
    priced = present(PRICE)
    outputs = [
        Count(ALWAYS),
        Sum(kwh * of(PRICE), priced),
        Covariance(kwh, of(PRICE), priced, True),
        Sum(kwh, all_of([Not(Missing(CLASS)), Compare("<", of(PRICE), Polynomial.constant(Fraction(1, 20)))])),
        Count(Missing(CLASS)),
    ]
    asked = question(outputs, keys=[CLASS], joins=[join])
    expected = {
        group: {output.name: formula_value(output.formula, rows) for output in asked.outputs}
        for group, rows in town.groups(asked).items()
    }
    assert town.ask(asked) == expected
    assert {group[0] for group in expected} == {"none", "small", "large", None}
    assert (sum(len(rows) for rows in town.groups(asked).values()) == len(town.rows)) == keep_unmatched


def test_facts_are_those_of_the_public_columns(town):
    requests = [
        (area * Fraction(1, 3) - rooms, present(AREA, ROOMS)),
        (of(Indicator(CONDITIONS["pattern"])), ALWAYS),
        (
            of(DatePart("isodow", DAY)) * rooms,
            all_of([present(DAY, ROOMS), Compare("<", rooms, Polynomial.constant(2))]),
        ),
        (Polynomial.constant(Fraction(-3, 4)), NEVER),
        (area**9, present(AREA)),
    ]
    asked = question(keys=[of(DatePart("quarter", DAY))], where=Not(Missing(TOWN)))
    by = [SOLAR, ROOMS, AREA][:2]
    sums = [Sum(polynomial, where) for polynomial, where in requests]
    layout = town.layout(question(outputs=sums, keys=[key.value for key in asked.keys], where=asked.where))
    table = town.engine.query(facts(asked, town.snapshots, by, requests, layout, town.engine.dialect))
    expected = {}
    for row in town.rows:
        if truth(asked.where, row) is True:
            group = (scalar(asked.keys[0].value, row), row[0, "solar"], row[0, "rooms"])
            expected.setdefault(group, []).append(row)
    assert table.num_rows == len(expected)
    for line in table.to_pylist():
        group = (*town.group(asked, line, layout), *(value_of(line[f"a{j}"], c, layout) for j, c in enumerate(by)))
        rows = expected[group]
        assert line["n"] == len(rows)
        for j, (polynomial, where) in enumerate(requests):
            unit = denominator(polynomial, layout)
            values = [number(polynomial, row) for row in rows if truth(where, row) is True]
            assert line["n" if isinstance(where, Always) else f"n_{j}"] == len(values)
            if polynomial.value is not None:  # all else follows from the number of rows
                assert f"low_{j}" not in line
                continue
            found = [line[f"{name}_{j}"] for name in ("low", "high", "above", "below")]
            if not values:
                assert found == [None] * 4
                continue
            above, below = sum(max(value, 0) for value in values), sum(min(value, 0) for value in values)
            assert [Fraction(exact_integer(value), unit) for value in found] == [min(values), max(values), above, below]


@pytest.mark.parametrize("owner", [TOWN, ROOMS, AREA], ids=["text", "whole number", "number"])
def test_owners_are_counted_in_each_group(town, owner):
    asked = question(keys=[SOLAR, of(RoundedDown(area * Fraction(1, 50)))], where=CONDITIONS["not"])
    layout = with_columns(town.layout(asked), [owner], town.snapshots)
    table = town.engine.query(owners(asked, town.snapshots, owner, town.engine.dialect, layout))
    found = {
        (*town.group(asked, line, layout), value_of(line["o"], owner, layout)): line["n"] for line in table.to_pylist()
    }
    expected = {}
    for row in town.rows:
        if truth(asked.where, row) is True:
            group = (*(scalar(key.value, row) for key in asked.keys), row[0, owner.name])
            expected[group] = expected.get(group, 0) + 1
    assert found == expected
    assert table.num_rows == len(expected)
