"""Rephrasings that are one plan, and different functions that never are."""

from fractions import Fraction

import hypothesis.strategies as st
import pytest
from hypothesis import assume, given

from errorfloor.errors import RefusedError
from errorfloor.sql.plan import Sum
from meters import ask, formula
from plan_values import number


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("SELECT avg(kwh) FROM meters", "select   AVG( kwh )\n from METERS as m"),
        ("SELECT avg(kwh + peak) a FROM meters", "SELECT avg(peak + kwh) a FROM meters"),
        ("SELECT sum(kwh) + avg(peak) a FROM meters", "SELECT avg(peak) + sum(kwh) a FROM meters"),
        ("SELECT sum(kwh) * avg(peak) a FROM meters", "SELECT avg(peak) * sum(kwh) a FROM meters"),
        ("SELECT sum(2 * (kwh + 1)) a FROM meters", "SELECT sum(kwh + kwh + 2.0) a FROM meters"),
        ("SELECT avg(kwh) a FROM meters", "SELECT sum(kwh) / count(*) a FROM meters"),
        ("SELECT avg(peak) a FROM meters", "SELECT sum(peak) / count(peak) a FROM meters"),
        ("SELECT 2 * sum(kwh) / 4 a FROM meters", "SELECT sum(kwh) / 2 a FROM meters"),
        ("SELECT covar_pop(kwh, peak) a FROM meters", "SELECT covar_pop(peak, kwh) a FROM meters"),
        ("SELECT count(*) FROM meters WHERE rooms > 3", "SELECT count(*) FROM meters WHERE 3 < rooms"),
        ("SELECT count(*) FROM meters WHERE rooms = 3", "SELECT count(*) FROM meters WHERE 3 = rooms"),
        ("SELECT count(*) FROM meters WHERE rooms IN (3)", "SELECT count(*) FROM meters WHERE rooms = 3"),
        ("SELECT count(*) FROM meters WHERE rooms IN (2, 1)", "SELECT count(*) FROM meters WHERE rooms IN (1, 2, 2.0)"),
        (
            "SELECT count(*) FROM meters WHERE heated AND rooms = 1",
            "SELECT count(*) FROM meters WHERE rooms = 1 AND heated",
        ),
        ("SELECT count(*) FROM meters WHERE heated", "SELECT count(*) FROM meters WHERE heated = TRUE"),
        (
            "SELECT count(*) FROM meters WHERE rooms BETWEEN 1 AND 2",
            "SELECT count(*) FROM meters WHERE rooms <= 2 AND rooms >= 1",
        ),
        (
            "SELECT sum(kwh) a FROM meters JOIN zones z ON z.zone = meters.zone",
            "SELECT sum(kwh) a FROM meters m JOIN zones USING (zone)",
        ),
        (
            "SELECT sum(CASE WHEN heated THEN kwh END) a FROM meters",
            "SELECT sum(kwh) FILTER (WHERE heated) a FROM meters",
        ),
        (
            "SELECT sum(CASE tariff WHEN 'a' THEN kwh ELSE 0 END) a FROM meters",
            "SELECT sum(CASE WHEN 'a' = tariff THEN kwh ELSE 0 END) a FROM meters",
        ),
    ],
)
def test_rephrasings_are_one_plan(one: str, two: str) -> None:
    assert ask(one) == ask(two)


def test_names_and_layout_do_not_decide_what_is_computed() -> None:
    one = ask("SELECT tariff, avg(kwh) FROM meters GROUP BY tariff")
    two = ask("SELECT avg(kwh) AS mean, tariff AS t FROM meters GROUP BY t ORDER BY t LIMIT 3")
    assert one != two
    assert one.function_of(one.outputs[0]) == two.function_of(two.outputs[0])


DIFFERENT = [
    "SELECT avg(kwh) a FROM meters",
    "SELECT avg(peak) a FROM meters",
    "SELECT sum(kwh) a FROM meters",
    "SELECT avg(kwh + 1) a FROM meters",
    "SELECT avg(kwh) + 2 a FROM meters",
    "SELECT avg(kwh) a FROM meters WHERE heated",
    "SELECT avg(kwh) a FROM meters WHERE NOT heated",
    "SELECT avg(kwh) a FROM meters WHERE heated IS NOT TRUE",
    "SELECT avg(kwh) a FROM meters WHERE heated = FALSE",
    "SELECT avg(kwh) a FROM meters WHERE NOT (heated IS NULL)",
    "SELECT avg(kwh) a FROM meters WHERE heated OR rooms = 1",
    "SELECT avg(kwh) a FROM meters WHERE heated AND rooms = 1",
    "SELECT avg(kwh) a FROM meters WHERE rooms < 3",
    "SELECT avg(kwh) a FROM meters WHERE rooms <= 3",
    "SELECT avg(kwh) a FROM meters WHERE 3 < rooms",
    "SELECT avg(kwh) a FROM meters WHERE tariff = 'a'",
    "SELECT avg(kwh) a FROM meters WHERE tariff = 'A'",
    "SELECT avg(kwh) a FROM meters WHERE tariff = 'a '",
    "SELECT avg(kwh) a FROM meters WHERE tariff LIKE 'a'",
    "SELECT avg(kwh) a FROM meters WHERE tariff = 'e\u0301'",
    "SELECT avg(kwh) a FROM meters WHERE tariff = '\u00e9'",
    "SELECT avg(kwh) a FROM meters WHERE day < '2013-02-01'",
    "SELECT avg(kwh) a FROM meters WHERE read_at < '2013-02-01'",
    "SELECT avg(kwh) a FROM meters WHERE read_at::date < '2013-02-01'",
    "SELECT avg(kwh) a FROM meters GROUP BY tariff",
    "SELECT avg(kwh) a FROM meters GROUP BY tariff, zone",
    "SELECT avg(kwh) a FROM meters JOIN zones USING (zone)",
    "SELECT avg(kwh) a FROM meters LEFT JOIN zones USING (zone)",
    "SELECT avg(kwh + 0 * rooms) a FROM meters",
    "SELECT avg(kwh) FILTER (WHERE heated) a FROM meters",
    "SELECT avg(CASE WHEN heated THEN kwh ELSE 0 END) a FROM meters",
    "SELECT sum(CASE WHEN heated THEN kwh WHEN rooms = 1 THEN 2 ELSE 3 END) a FROM meters",
    "SELECT sum(CASE WHEN rooms = 1 THEN 2 WHEN heated THEN kwh ELSE 3 END) a FROM meters",
    "SELECT sum(kwh * income) / sum(income) a FROM meters",
    "SELECT sum(kwh * income) / sum(kwh) a FROM meters",
    "SELECT avg(exp(kwh)) a FROM meters",
    "SELECT exp(avg(kwh)) a FROM meters",
    "SELECT avg(greatest(kwh, 1)) a FROM meters",
    "SELECT avg(least(kwh, 1)) a FROM meters",
    "SELECT avg(above(kwh, 1, 2)) a FROM meters",
    "SELECT avg(above(kwh, 2, 1)) a FROM meters",
    "SELECT var_pop(kwh) a FROM meters",
    "SELECT var_samp(kwh) a FROM meters",
    "SELECT regr_slope(kwh, income) a FROM meters",
    "SELECT regr_slope(income, kwh) a FROM meters",
    "SELECT count(*) a FROM meters",
    "SELECT count(peak) a FROM meters",
]


def test_different_functions_are_different_plans() -> None:
    functions = [question.function_of(question.outputs[0]) for question in map(ask, DIFFERENT)]
    assert len(set(functions)) == len(DIFFERENT)


# -- a text and what it means, written side by side

COLUMNS = ("kwh", "peak", "income", "rooms")
rows = st.fixed_dictionaries(
    {(0, name): st.fractions(min_value=-5, max_value=5, max_denominator=7) for name in COLUMNS}
)


def leaf():
    columns = st.sampled_from(COLUMNS).map(lambda name: (name, lambda row: row[0, name]))
    constants = st.decimals(min_value=0, max_value=20, places=2).map(lambda d: (str(d), lambda row: Fraction(d)))
    return columns | constants


def grown(inner):
    def binary(sign, act):
        return st.tuples(inner, inner).map(
            lambda two: (f"({two[0][0]} {sign} {two[1][0]})", lambda row: act(two[0][1](row), two[1][1](row)))
        )

    powers = st.tuples(inner, st.integers(0, 3)).map(
        lambda two: (f"power({two[0][0]}, {two[1]})", lambda row: two[0][1](row) ** two[1])
    )
    halves = st.tuples(inner, st.integers(1, 9)).map(
        lambda two: (f"{two[0][0]} / {two[1]}", lambda row: two[0][1](row) / two[1])
    )
    return st.one_of(
        binary("+", lambda one, two: one + two),
        binary("-", lambda one, two: one - two),
        binary("*", lambda one, two: one * two),
        inner.map(lambda one: (f"(-{one[0]})", lambda row: -one[1](row))),
        powers,
        halves.map(lambda one: (f"({one[0]})", one[1])),
    )


@given(st.recursive(leaf(), grown, max_leaves=8), rows)
def test_polynomial_has_the_value_of_the_text(expression, row) -> None:
    text, meant = expression
    try:
        found = formula(f"sum({text})")
    except RefusedError as error:
        assume(error.fields["reason"] not in ("too-long", "constant"))
        raise
    assert isinstance(found, Sum)
    assert number(found.of, row) == meant(row)


@given(st.recursive(leaf(), grown, max_leaves=5), st.recursive(leaf(), grown, max_leaves=5), rows)
def test_one_plan_means_one_value(one, two, row) -> None:
    """Equal plans have equal values on every row; here on a random one, for random pairs and a pair made equal."""
    try:
        first, second = formula(f"sum({one[0]} + {two[0]})"), formula(f"sum({two[0]} + {one[0]})")
        other = formula(f"sum({one[0]} - {two[0]})")
    except RefusedError as error:
        assume(error.fields["reason"] not in ("too-long", "constant"))
        raise
    assert first == second
    if first == other:
        assert two[1](row) == 0
