"""The statements are cheap, hold nothing of the user's but escaped constants, and are refused before they overflow."""

import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.arithmetic.polynomial import ONE, Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.engines.dialects import DuckDBDialect, PostgreSQLDialect, SparkDialect
from errorfloor.errors import RefusedError
from errorfloor.sql import Layout, denominator, facts, needed, owners, scan, stored_layout
from errorfloor.sql.plan import (
    Always,
    Call,
    Compare,
    Count,
    Covariance,
    DatePart,
    Indicator,
    Literal,
    Matches,
    Quotient,
    RoundedDown,
    Sum,
    TableColumn,
)
from errorfloor.sql.question import GroupKey, Question, QuestionOutput
from errorfloor.vault import Snapshot

ALWAYS = Always()
DIALECTS = [DuckDBDialect(), PostgreSQLDialect(), SparkDialect()]
TARIFF = TableColumn(0, "tariff", "text", nullable=True)
DAY = TableColumn(0, "day", "date", nullable=True)
ROOMS = TableColumn(0, "rooms", "number", step=Fraction(1), nullable=True)
EMPTY = TableColumn(0, "empty", "number", step=Fraction(1), nullable=True)
KWH = TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
FINE = TableColumn(0, "fine", "number", private=True, step=Fraction(1, 2**20))
kwh, fine, rooms = Polynomial.atom(KWH), Polynomial.atom(FINE), Polynomial.atom(ROOMS)

TABLE = Table.model_validate(
    {
        "source": "meters.parquet",
        "version": "1",
        "row_key": ["id"],
        "public": {"id": "whole", "tariff": "text", "day": "date", "rooms": "whole", "empty": "whole"},
        "private": {
            "kwh": {"range": [0, 50], "resolution": "0.001", "floor": 1},
            "fine": {"range": [-(2**20), 2**20], "resolution": "1/1048576", "floor": 1},
        },
    }
)
NAMES = {"id": "p0", "tariff": "p1", "day": "p2", "rooms": "p3", "empty": "p4", "kwh": "x0", "fine": "x1"}
METERS = Snapshot("meters", "1", TABLE, '"m"', 10**7, NAMES, {"id": (0, 10**7), "rooms": (-2, 9)})


def question(*formulas, keys=(), where=ALWAYS):
    return Question(
        "meters",
        "1",
        (),
        where,
        tuple(GroupKey(f"key{j}", key) for j, key in enumerate(keys)),
        tuple(QuestionOutput(f"out{j}", formula, "") for j, formula in enumerate(formulas)),
        (),
        (),
        None,
    )


def compiled(asked, dialect, layout=None):
    wanted = list(dict.fromkeys(w for output in asked.outputs for w in needed(output.formula)))
    return scan(asked, [METERS], wanted, layout or stored_layout(asked, [METERS]), dialect)


def test_mean_and_variance_of_groups_cost_three_plain_sums():
    asked = question(
        Quotient(Sum(kwh, ALWAYS), Count(ALWAYS)), Covariance(kwh, kwh, ALWAYS, sample=True), keys=[TARIFF]
    )
    assert compiled(asked, DuckDBDialect()) == (
        "SELECT *\n"
        "FROM (SELECT t0.p1 AS k0, CAST(sum(t0.x0) AS BIGINT) AS s0, CAST(count(*) AS BIGINT) AS s1, "
        "CAST(sum(CAST(t0.x0 AS BIGINT) * CAST(t0.x0 AS BIGINT)) AS BIGINT) AS s2\n"
        'FROM "m" AS t0\n'
        "GROUP BY t0.p1) AS grouped\n"
        "ORDER BY k0 NULLS FIRST"
    )


def test_comparison_with_a_constant_leaves_the_column_bare():
    """So that engines can skip blocks by their least and greatest value."""
    sql = compiled(question(Count(ALWAYS), where=Compare("<", rooms, Polynomial.constant(4))), DuckDBDialect())
    assert sql.endswith("WHERE (t0.p3 < 4)")


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__)
@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20))
def test_nothing_of_the_user_is_written_but_constants(dialect, text):
    """Take the one literal away, and the rest is the same for every text."""
    asked = question(Sum(kwh, Compare("=", TARIFF, Literal(text, "text"))), keys=[TARIFF])
    plain = question(Sum(kwh, Compare("=", TARIFF, Literal("x", "text"))), keys=[TARIFF])
    written = compiled(asked, dialect).replace(dialect.literal(text), "?", 1)
    assert written == compiled(plain, dialect).replace(dialect.literal("x"), "?", 1)
    matched = compiled(question(Count(Matches(TARIFF, text))), dialect)
    assert matched.count(dialect.literal(text)) == 1


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__)
def test_declared_names_never_reach_the_engine(dialect):
    asked = question(
        Sum(kwh * rooms, ALWAYS),
        Covariance(kwh, fine, ALWAYS, True),
        keys=[TARIFF, Polynomial.atom(DatePart("week", DAY))],
    )
    layout = stored_layout(asked, [METERS])
    statements = [
        compiled(asked, dialect),
        facts(asked, [METERS], [TARIFF, ROOMS], [(rooms * 2, ALWAYS)], layout, dialect),
        owners(asked, [METERS], TARIFF, dialect, layout),
    ]
    for statement in statements:
        words = set(re.findall(r"[a-z_]+\d*", statement))
        assert not words & {*NAMES, "meters", "key0", "key1", "out0", "out1"}


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__)
def test_facts_and_owners_name_no_private_column(dialect):
    asked = question(Sum(kwh * rooms, ALWAYS), keys=[TARIFF])
    layout = stored_layout(asked, [METERS])
    for statement in (
        facts(asked, [METERS], [TARIFF], [(rooms * rooms, ALWAYS)], layout, dialect),
        owners(asked, [METERS], ROOMS, dialect, layout),
    ):
        assert not re.search(r"\bx\d", statement)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__)
def test_sums_that_might_exceed_the_limit_are_refused(dialect):
    """fine has 2⁴⁰ steps; its square times 10⁷ rows is 1.2·10³¹, its cube would be 1.3·10⁴³."""
    assert "sum" in compiled(question(Sum(fine * fine, ALWAYS)), dialect)
    with pytest.raises(RefusedError, match=r"may reach 1.33e\+43; sums stay exact up to 1e37") as caught:
        compiled(question(Sum(fine * fine * fine, ALWAYS)), dialect)
    assert caught.value.fields["reason"] == "too-large"
    huge = Compare("<", rooms, Polynomial.constant(10**40))
    with pytest.raises(RefusedError) as caught:
        compiled(question(Count(huge)), dialect)
    assert caught.value.fields["reason"] == "too-large"


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: type(dialect).__name__)
def test_a_column_without_values_does_not_hide_what_its_factors_reach(dialect):
    """The product has the bound 0, but the part of it that is computed first has not."""
    empty = Polynomial.atom(EMPTY)
    wide = dialect.integer_type(2**40 * 50_000)
    assert wide == "BIGINT"
    assert compiled(question(Sum(kwh * fine * empty, ALWAYS)), dialect).count(f" AS {wide})") >= 3


def test_nested_steps_are_refused_before_the_statement_explodes():
    asked = Polynomial.atom(KWH)
    bits, largest = {}, {}
    for _ in range(12):
        call = Call("above", (Fraction(1, 2), Fraction(1)), asked)
        bits[call], largest[call] = 40, 2**40
        asked = Polynomial.atom(call)
    stored = stored_layout(question(), [METERS])
    layout = Layout({**stored.largest, KWH: 50_000, **largest}, bits, 10)
    with pytest.raises(RefusedError, match=r"characters of SQL; at most 100,000") as caught:
        compiled(question(Sum(asked, ALWAYS)), DuckDBDialect(), layout)
    assert caught.value.fields["reason"] == "too-long"


@pytest.mark.parametrize(
    ("call", "bits", "reason"),
    [
        (Call("exp", (), kwh), -901, "too-large"),
        (Call("exp", (), kwh), 901, "too-large"),
        (Call("sin", (), kwh), -451, "too-large"),
        (Call("sqrt", (), kwh * Fraction(1, 10**99)), 10, "too-large"),
        (Call("greatest", (Fraction(1, 10**101),), kwh), 10, "constant"),
        (Call("power", (Fraction(10**101),), kwh), 10, "constant"),
    ],
)
def test_calls_outside_the_limits_are_refused(call, bits, reason):
    asked = question(Sum(Polynomial.atom(call), ALWAYS))
    layout = Layout({call: 2**40, KWH: 50_000}, {call: bits}, 10)
    with pytest.raises(RefusedError) as caught:
        compiled(asked, DuckDBDialect(), layout)
    assert caught.value.fields["reason"] == reason


def test_denominator_is_the_least_that_makes_integers():
    layout = Layout({}, {}, 1)
    assert denominator(kwh * Fraction(1, 3) + Fraction(1, 7), layout) == 21_000
    assert denominator(kwh * 1000, layout) == 1
    assert denominator(Polynomial.constant(0), layout) == 1
    call = Call("exp", (), kwh)
    assert denominator(Polynomial.atom(call), Layout({}, {call: 5}, 1)) == 32
    assert denominator(Polynomial.atom(call), Layout({}, {call: -5}, 1)) == 1


def test_stored_layout_bounds_follow_from_declarations_and_extents():
    week, floor = DatePart("week", DAY), RoundedDown(rooms * Fraction(-7, 2) + Fraction(1, 3))
    asked = question(
        Sum(kwh * fine, ALWAYS),
        Count(Compare("<", Polynomial.atom(floor), Polynomial.atom(week))),
        Sum(Polynomial.atom(Indicator(Compare("=", Polynomial.atom(EMPTY), rooms))), ALWAYS),
    )
    layout = stored_layout(asked, [METERS])
    assert layout.largest == {KWH: 50_000, FINE: 2**40, ROOMS: 9, EMPTY: 0, week: 53, floor: math.ceil(9 * 3.5 + 1 / 3)}
    assert (layout.rows, layout.bits) == (10**7, {})


def test_counting_where_nothing_is_asked_needs_no_sum():
    assert compiled(question(Count(ALWAYS)), DuckDBDialect()) == (
        'SELECT CAST(count(*) AS BIGINT) AS s0\nFROM "m" AS t0'
    )
    assert needed(Count(ALWAYS)) == [(ONE, ALWAYS)]
