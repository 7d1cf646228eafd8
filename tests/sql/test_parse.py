"""What each construct becomes in the plan."""

import datetime
from fractions import Fraction

import pytest

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql.numbers import plus, times
from errorfloor.sql.plan import (
    Always,
    Among,
    Apply,
    AsDate,
    Call,
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
    Power,
    Quotient,
    RoundedDown,
    Sum,
    TableColumn,
    Truncated,
    WeightedMean,
    all_of,
    any_of,
)
from errorfloor.sql.question import GroupKey, Join, Ordering
from meters import ask, formula

KWH = TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
PEAK = TableColumn(0, "peak", "number", private=True, step=Fraction(1, 100), nullable=True)
INCOME = TableColumn(0, "income", "number", private=True, step=Fraction(1))
ROOMS = TableColumn(0, "rooms", "number", step=Fraction(1), nullable=True)
HOUSEHOLD = TableColumn(0, "household", "number", step=Fraction(1))
DAY = TableColumn(0, "day", "date")
READ_AT = TableColumn(0, "read_at", "moment", nullable=True)
TARIFF = TableColumn(0, "tariff", "text", nullable=True)
HEATED = TableColumn(0, "heated", "flag", nullable=True)
ALWAYS = Always()

x, y, z, r = (Polynomial.atom(column) for column in (KWH, PEAK, INCOME, ROOMS))
whole = Polynomial.constant
is_heated = Compare("=", *sorted((HEATED, Literal(True, "flag")), key=lambda side: side.encoded))
has_peak, has_rooms = Not(Missing(PEAK)), Not(Missing(ROOMS))


def where(condition: str):
    return ask(f"SELECT count(*) FROM meters WHERE {condition}").where


def summand(expression: str) -> Polynomial:
    found = formula(f"sum({expression})")
    assert isinstance(found, Sum)
    return found.of


def key(expression: str):
    return ask(f"SELECT count(*) FROM meters GROUP BY {expression}").keys[0].value


# -- aggregates


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(kwh)", Sum(x, ALWAYS)),
        ("sum(peak)", Sum(y, has_peak)),
        ("avg(kwh)", Quotient(Sum(x, ALWAYS), Count(ALWAYS))),
        ("avg(peak)", Quotient(Sum(y, has_peak), Count(has_peak))),
        ("count(*)", Count(ALWAYS)),
        ("count(1)", Count(ALWAYS)),
        ("count(kwh)", Count(ALWAYS)),
        ("count(peak)", Count(has_peak)),
        ("count(tariff)", Count(Not(Missing(TARIFF)))),
        ("count(*) FILTER (WHERE heated)", Count(is_heated)),
        ("sum(peak) FILTER (WHERE heated)", Sum(y, all_of([is_heated, has_peak]))),
        ("var_pop(kwh)", Covariance(x, x, ALWAYS, sample=False)),
        ("var_samp(kwh)", Covariance(x, x, ALWAYS, sample=True)),
        ("variance(kwh)", Covariance(x, x, ALWAYS, sample=True)),
        ("stddev(kwh)", Apply("sqrt", (), Covariance(x, x, ALWAYS, sample=True))),
        ("stddev_samp(kwh)", Apply("sqrt", (), Covariance(x, x, ALWAYS, sample=True))),
        ("stddev_pop(kwh)", Apply("sqrt", (), Covariance(x, x, ALWAYS, sample=False))),
        ("sum(1)", Sum(whole(1), ALWAYS)),
        ("sum(kwh) / 4 - 1", plus([times([Constant(Fraction(1, 4)), Sum(x, ALWAYS)]), Constant(Fraction(-1))])),
        ("power(sum(kwh), 3)", Power(Sum(x, ALWAYS), 3)),
        ("power(sum(kwh), 0.5)", Apply("sqrt", (), Sum(x, ALWAYS))),
        ("power(sum(kwh), -1)", Quotient(Constant(Fraction(1)), Sum(x, ALWAYS))),
        ("greatest(sum(kwh), 3, 5)", Apply("greatest", (Fraction(5),), Sum(x, ALWAYS))),
        ("least(3, 5, sum(kwh))", Apply("least", (Fraction(3),), Sum(x, ALWAYS))),
        ("tanh(sum(kwh))", Apply("tanh", (), Sum(x, ALWAYS))),
        ("CAST(sum(kwh) AS DOUBLE)", Sum(x, ALWAYS)),
    ],
)
def test_aggregate_becomes(text: str, expected) -> None:
    assert formula(text) == expected


def test_pairs_are_counted_where_both_are_present() -> None:
    covariance = formula("covar_pop(kwh, peak)")
    assert isinstance(covariance, Covariance)
    assert covariance.where == has_peak
    assert {covariance.first, covariance.second} == {x, y}


def test_slope_divides_by_the_variance_of_the_second() -> None:
    slope = formula("regr_slope(kwh, income)")
    assert slope == Quotient(formula("covar_pop(kwh, income)"), Covariance(z, z, ALWAYS, sample=False))


def test_correlation_divides_by_the_root_of_both_variances() -> None:
    spreads = [Covariance(number, number, has_peak, sample=False) for number in (x, y)]
    assert formula("corr(kwh, peak)") == Quotient(formula("covar_pop(kwh, peak)"), Apply("sqrt", (), times(spreads)))


def test_private_weights_give_a_weighted_mean() -> None:
    assert formula("sum(kwh * income) / sum(income)") == WeightedMean(x, z, ALWAYS)
    assert formula("avg(kwh * income) / avg(income)") == WeightedMean(x, z, ALWAYS)
    assert formula("sum(income * (kwh + 2)) / sum(4 * income)") == WeightedMean(
        x * Fraction(1, 4) + Fraction(1, 2), z, ALWAYS
    )
    assert formula("sum(kwh * kwh * peak) / sum(kwh * peak)") == WeightedMean(x, x * y, has_peak)


def test_other_quotients_of_sums_stay_quotients() -> None:
    for text in (
        "sum(kwh * rooms) / sum(rooms)",  # a public weight
        "sum(kwh) / sum(income)",  # not divisible
        "sum(kwh * income) / sum(income + 1)",  # a weight of two terms
        "sum(kwh * income) FILTER (WHERE heated) / sum(income)",  # other rows
        "sum(kwh * peak) / sum(kwh)",  # rows without peak count below only
    ):
        assert isinstance(formula(text), Quotient), text


# -- row expressions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("kwh * kwh - 2 * kwh + 1", (x - 1) ** 2),
        ("kwh / 8", x * Fraction(1, 8)),
        ("-kwh", -x),
        ("+kwh", x),
        ("kwh + 0.1", x + Fraction(1, 10)),
        ("kwh + 1e-3 + .5 + 2.", x + Fraction(2501, 1000)),
        ("power(kwh, 2)", x * x),
        ("kwh ^ 2 + 1", x * x + 1),
        ("2 * kwh ** 2", x * x * 2),
        ("(kwh + 1) ^ 0", whole(1)),
        ("kwh ^ 0.5", Polynomial.atom(Call("sqrt", (), x))),
        ("power(kwh, 1.5)", Polynomial.atom(Call("power", (Fraction(3, 2),), x))),
        ("kwh ^ -2", Polynomial.atom(Call("reciprocal", (), x)) ** 2),
        ("peak / kwh", y * Polynomial.atom(Call("reciprocal", (), x))),
        ("exp(kwh)", Polynomial.atom(Call("exp", (), x))),
        ("ln(kwh + 1)", Polynomial.atom(Call("ln", (), x + 1))),
        ("sin(cos(kwh))", Polynomial.atom(Call("sin", (), Polynomial.atom(Call("cos", (), x))))),
        ("greatest(kwh, 3)", Polynomial.atom(Call("greatest", (Fraction(3),), x))),
        ("least(2, 3, kwh)", Polynomial.atom(Call("least", (Fraction(2),), x))),
        ("above(kwh, 10, 0.5)", Polynomial.atom(Call("above", (Fraction(10), Fraction(1, 2)), x))),
        ("CAST(kwh AS DOUBLE)", x),
        ("kwh::double precision", x),
        ("rooms::int", r),
        ("CAST(heated AS INTEGER)", Polynomial.atom(Indicator(is_heated))),
        ("floor(household / 10)", Polynomial.atom(RoundedDown(Polynomial.atom(HOUSEHOLD) * Fraction(1, 10)))),
        ("floor(5.5) * kwh", x * 5),
        ("month(day)", Polynomial.atom(DatePart("month", DAY))),
    ],
)
def test_row_expression_becomes(text: str, expected: Polynomial) -> None:
    assert summand(text) == expected


def test_between_as_a_function_is_a_difference_of_thresholds() -> None:
    assert summand("between(kwh, 1, 2, 0.5)") == summand("above(kwh, 1, 0.5) - above(kwh, 2, 0.5)")


def test_case_with_else_is_a_sum_of_indicators() -> None:
    some = Polynomial.atom(Indicator(is_heated))
    assert summand("CASE WHEN heated THEN kwh ELSE 3 END") == some * x + (whole(1) - some) * 3


def test_case_without_else_joins_the_condition() -> None:
    assert formula("sum(CASE WHEN heated THEN peak END)") == Sum(y, all_of([is_heated, has_peak]))
    assert formula("sum(2 * CASE WHEN heated THEN kwh END + 1)") == Sum(x * 2 + 1, is_heated)
    assert formula("count(CASE WHEN heated THEN 1 ELSE NULL END)") == Count(is_heated)


def test_later_branches_of_case_yield_to_earlier_ones() -> None:
    has_four = Compare("=", *sorted((r, whole(4)), key=lambda side: side.encoded))
    first, any_one = (Polynomial.atom(Indicator(condition)) for condition in (is_heated, any_of([is_heated, has_four])))
    expected = first * x + (any_one - first) * 2 + (whole(1) - any_one) * 3
    assert summand("CASE WHEN heated THEN kwh WHEN rooms = 4 THEN 2 ELSE 3 END") == expected


def test_nulls_of_all_columns_are_left_out_even_where_they_cancel() -> None:
    assert formula("sum(peak - peak + kwh)") == Sum(x, has_peak)
    assert formula("sum(kwh + 0 * rooms)") == Sum(x, has_rooms)


# -- conditions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rooms > 3", Compare("<", whole(3), r)),
        ("rooms <= 3", Compare("<=", r, whole(3))),
        ("rooms BETWEEN 2 AND 3", all_of([Compare("<=", whole(2), r), Compare("<=", r, whole(3))])),
        ("rooms IN (3, 1, 3)", Among(r, tuple(sorted((whole(1), whole(3)), key=lambda part: part.encoded)))),
        ("tariff LIKE 'E%'", Matches(TARIFF, "E%")),
        ("tariff NOT LIKE 'E%'", Not(Matches(TARIFF, "E%"))),
        ("tariff IS NULL", Missing(TARIFF)),
        ("tariff IS NOT NULL", Not(Missing(TARIFF))),
        ("peak IS NOT NULL", has_peak),
        ("kwh IS NOT NULL", ALWAYS),
        ("heated", is_heated),
        ("NOT heated", Not(is_heated)),
        ("NOT (NOT heated)", is_heated),
        ("day < '2013-02-01'", Compare("<", DAY, Literal(datetime.date(2013, 2, 1), "date"))),
        ("day < DATE '2013-02-01'", Compare("<", DAY, Literal(datetime.date(2013, 2, 1), "date"))),
        ("read_at < '2013-02-01'", Compare("<", READ_AT, Literal(datetime.datetime(2013, 2, 1), "moment"))),
        ("read_at < DATE '2013-02-01'", Compare("<", READ_AT, Literal(datetime.datetime(2013, 2, 1), "moment"))),
        (
            "read_at < TIMESTAMP '2013-02-01 10:20:30.5'",
            Compare("<", READ_AT, Literal(datetime.datetime(2013, 2, 1, 10, 20, 30, 500_000), "moment")),
        ),
        ("1 = 1 AND heated AND TRUE", is_heated),
        ("heated OR 1 = 2", is_heated),
        ("heated OR TRUE", ALWAYS),
    ],
)
def test_condition_becomes(text: str, expected) -> None:
    assert where(text) == expected


def test_is_true_does_not_pass_the_unknown_on() -> None:
    told = Compare("=", *sorted((Polynomial.atom(Indicator(is_heated)), whole(1)), key=lambda side: side.encoded))
    assert where("heated IS TRUE") == told
    assert where("heated IS NOT TRUE") == Not(told)


# -- keys, names, layout


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tariff", TARIFF),
        ("rooms", r),
        ("isodow(day)", Polynomial.atom(DatePart("isodow", DAY))),
        ("extract(isodow FROM day)", Polynomial.atom(DatePart("isodow", DAY))),
        ("extract(doy FROM day)", Polynomial.atom(DatePart("dayofyear", DAY))),
        ("date_part('hour', read_at)", Polynomial.atom(DatePart("hour", READ_AT))),
        ("date_trunc('month', day)", Truncated("month", DAY)),
        ("CAST(read_at AS DATE)", AsDate(READ_AT)),
        ("read_at::date", AsDate(READ_AT)),
        ("date(read_at)", AsDate(READ_AT)),
        (
            "month(date_trunc('quarter', read_at::date))",
            Polynomial.atom(DatePart("month", Truncated("quarter", AsDate(READ_AT)))),
        ),
        ("coalesce(tariff, '')", Choice(((Missing(TARIFF), Literal("", "text")),), TARIFF, "text")),
        (
            "CASE WHEN heated THEN 'warm' ELSE tariff END",
            Choice(((is_heated, Literal("warm", "text")),), TARIFF, "text"),
        ),
        ("CASE WHEN heated THEN 'warm' END", Choice(((is_heated, Literal("warm", "text")),), None, "text")),
        ("CASE WHEN heated THEN 1 ELSE 2 END", whole(2) - Polynomial.atom(Indicator(is_heated))),
    ],
)
def test_group_key_becomes(text: str, expected) -> None:
    assert key(text) == expected


def test_keys_can_be_named_by_alias_position_or_expression() -> None:
    wanted = (GroupKey("y", Polynomial.atom(DatePart("year", DAY))),)
    for group in ("y", "1", "year(day)", "Y", '"y"', "year(meters.day)"):
        assert ask(f"SELECT year(day) AS y, count(*) FROM meters GROUP BY {group}").keys == wanted


def test_keys_are_in_canonical_order_and_shown_as_selected() -> None:
    one = ask("SELECT tariff, count(*) AS n, zone FROM meters GROUP BY zone, tariff")
    two = ask("SELECT tariff, count(*) AS n, zone FROM meters GROUP BY tariff, zone")
    assert one == two
    assert one.selected == ("tariff", "n", "zone")


def test_a_key_need_not_be_selected() -> None:
    question = ask("SELECT avg(kwh) FROM meters GROUP BY tariff")
    assert [key.name for key in question.keys] == ["tariff"]
    assert question.selected == ("avg_kwh",)


def test_generated_names_are_readable_and_unique() -> None:
    question = ask(
        'SELECT avg(kwh), avg(kwh), count(*), avg(kwh) + 1, avg(exp(kwh)), sum(kwh) AS "Σ kwh", year(day), '
        "isodow(day), date_trunc('week', day) FROM meters GROUP BY year(day), isodow(day), date_trunc('week', day)"
    )
    assert question.selected == (
        *("avg_kwh", "avg_kwh_2", "count", "column_4", "avg_exp_kwh", "Σ kwh", "year_day", "isodow_day", "week_day"),
    )


def test_generated_names_yield_to_chosen_ones() -> None:
    assert ask("SELECT avg(kwh), avg(peak) AS avg_kwh FROM meters").selected == ("avg_kwh_2", "avg_kwh")


def test_order_and_limit_are_about_the_released_answer() -> None:
    question = ask("SELECT tariff AS t, avg(kwh) FROM meters GROUP BY t ORDER BY avg(kwh) DESC, t, 2, tariff LIMIT 7")
    assert question.order == (
        Ordering("avg_kwh", descending=True),
        Ordering("t", descending=False),
        Ordering("avg_kwh", descending=False),
        Ordering("t", descending=False),
    )
    assert question.limit == 7


def test_names_are_found_whatever_their_capital_letters() -> None:
    assert ask('SELECT avg("KWH") FROM "Meters" M WHERE m.HEATED') == ask(
        'SELECT avg(kwh) AS "avg_KWH" FROM meters WHERE heated'
    )


def test_comments_and_a_last_semicolon_are_fine() -> None:
    assert ask("SELECT /* mean */ avg(kwh) -- all\nFROM meters;") == ask("SELECT avg(kwh) FROM meters")


# -- joins and nested tables


def test_join_compares_the_whole_row_key() -> None:
    question = ask("SELECT avg(kwh) FROM meters m LEFT JOIN weather w ON w.day = m.day AND m.region = w.region")
    region = TableColumn(0, "region", "text", nullable=True)
    right = [TableColumn(1, "day", "date", nullable=True), TableColumn(1, "region", "text", nullable=True)]
    pairs = sorted(zip([DAY, region], right, strict=True), key=lambda pair: pair[1].encoded)
    assert question.joins == (Join("weather", "1", tuple(pairs), keep_unmatched=True),)


def test_columns_of_a_left_joined_table_may_be_null_and_keys_of_an_inner_one_are_not() -> None:
    for kind, nullable in (("JOIN", False), ("LEFT JOIN", True)):
        question = ask(f"SELECT z.zone, count(*) FROM meters {kind} zones z USING (zone) GROUP BY z.zone")
        assert question.keys[0].value == TableColumn(1, "zone", "text", nullable=nullable)


def test_merged_column_is_the_left_one() -> None:
    question = ask("SELECT zone, count(*) FROM meters JOIN zones USING (zone) GROUP BY zone")
    assert question.keys[0].value == TableColumn(0, "zone", "text", nullable=True)


def test_tables_that_filter_and_rename_are_read_as_if_written_out() -> None:
    plain = ask("SELECT avg(kwh) AS a FROM meters WHERE heated AND rooms > 2")
    for text in (
        "WITH h AS (SELECT kwh AS e, rooms AS r FROM meters WHERE heated) SELECT avg(e) AS a FROM h WHERE r > 2",
        "WITH h AS (SELECT * FROM meters WHERE heated), b AS (SELECT kwh FROM h x WHERE x.rooms > 2) "
        "SELECT avg(kwh) a FROM b",
        "SELECT avg(e) a FROM (SELECT kwh e FROM (SELECT * FROM meters WHERE rooms > 2) y WHERE heated) x",
        "WITH meters AS (SELECT * FROM meters WHERE heated) SELECT avg(meters.kwh) AS a FROM meters WHERE rooms > 2",
    ):
        assert ask(text) == plain, text


def test_public_tables_can_be_asked_too() -> None:
    assert ask("SELECT country, avg(days) FROM zones GROUP BY country").table == "zones"


def test_a_column_keeps_its_own_name_however_long():
    from errorfloor.sql.names import generated
    from errorfloor.sql.reading import read

    name = "the_average_height_above_the_sea_of_the_nearest_station"
    assert [generated(node, 1) for node in read(f"SELECT {name}").expressions] == [name]
