"""Each spelling has one meaning on every engine, whatever the session's settings are."""

import datetime
import math
from fractions import Fraction

import mpmath
import pytest

from errorfloor.arithmetic.arrow import whole
from errorfloor.engines import open_engine
from errorfloor.engines.dialects import DuckDBDialect, PostgreSQLDialect, SparkDialect
from errorfloor.errors import RefusedError
from errorfloor.sql.sums import ARGUMENT_ERROR, FUNCTION_ERROR, POWER_ERROR
from plan_values import FUNCTIONS, date_part, smoothstep, truncated

AWKWARD = {
    "duckdb": ["SET default_null_order = 'nulls_last'", "SET integer_division = true"],
    "postgresql": [
        "SET TIME ZONE 'America/New_York'",
        "SET standard_conforming_strings = off",
        "SET DateStyle = 'German'",
        "SET extra_float_digits = 0",
    ],
    "spark": [
        "SET spark.sql.session.timeZone=America/New_York",
        "SET spark.sql.ansi.enabled=false",
        "SET spark.sql.parser.escapedStringLiterals=true",
        "SET spark.sql.groupByOrdinal=false",
    ],
}


@pytest.fixture
def engine(engine_place):
    with open_engine(engine_place.place, engine_place.folder, read_only=False) as opened:
        for statement in AWKWARD[opened.name]:
            opened.execute(statement)
        yield opened


def values(engine, expressions):
    """Ask for constants, a hundred at a time."""
    found = []
    for start in range(0, len(expressions), 100):
        some = expressions[start : start + 100]
        table = engine.query("SELECT " + ", ".join(f"{sql} AS c{j}" for j, sql in enumerate(some)))
        found += [column[0].as_py() for column in table.columns]
    return found


def keep(engine, name, columns, rows):
    """Keep rows of SQL expressions as a table."""
    table = ", ".join(f"({', '.join(row)})" for row in rows)
    engine.create(name, f"SELECT * FROM (VALUES {table}) AS v({', '.join(columns)})")
    return engine.relation(name)


TEXTS = [
    "",
    " ",
    "plain",
    "it's",
    "''",
    '"quoted"',
    "back\\slash",
    "\\",
    "\\'",
    "\\n",
    "100%",
    "a_b",
    "${spark.app.name}",
    "$1 ? :name %s {0}",
    "-- no comment /* none */ ;",
    "line\nbreak\r\ttab",
    "é ß Ω 漢字 😀 e\u0301",
    "\u0085\u2028\ufeff",
    "X'00'",
]


def test_texts_arrive_as_they_were_written(engine):
    assert values(engine, [engine.dialect.literal(text) for text in TEXTS]) == TEXTS


def test_texts_compare_by_their_bytes(engine):
    dialect = engine.dialect
    pairs = [("Z", "a"), ("a", "é"), ("é", "z"), ("a b", "ab"), ("a-b", "ab"), ("", " "), ("a", "a"), ("😀", "\uffef")]
    asked = [f"{dialect.by_bytes(dialect.literal(a))} < {dialect.by_bytes(dialect.literal(b))}" for a, b in pairs]
    assert values(engine, asked) == [a.encode() < b.encode() for a, b in pairs]


@pytest.mark.parametrize(
    "dialect", [DuckDBDialect(), PostgreSQLDialect(), SparkDialect()], ids=lambda d: type(d).__name__
)
@pytest.mark.parametrize("text", ["a\0b", "\ud800", "x\udfff"])
def test_texts_that_no_engine_holds_are_refused(dialect, text):
    with pytest.raises(RefusedError, match="no database stores") as caught:
        dialect.literal(text)
    assert caught.value.fields["reason"] == "constant"


PATTERNS = [
    ("back\\slash", "back\\slash", True),
    ("back\\slash", "back\\\\slash", False),
    ("a%b", "a\\%b", False),
    ("a\\%b", "a\\%b", True),
    ("x\\", "x\\", True),
    ("\\", "_", True),
    ("a\nb", "a_b", True),
    ("a\nb\n", "a%", True),
    ("😀", "_", True),
    ("漢字", "__", True),
    ("e\u0301", "_", False),
    ("A", "a", False),
    ("abc", "%b%", True),
    ("abc", "b", False),
    ("", "%", True),
    ("", "_", False),
    ("it's", "it's", True),
    ("a.b", "a.b", True),
    ("axb", "a.b", False),
    ("a*b", "a*b", True),
    ("[a]", "[a]", True),
    ("0123456789ABCDEFG", "0123456789ABCDE%", True),
]


def test_patterns_know_percent_and_underscore_and_nothing_else(engine):
    dialect = engine.dialect
    asked = [dialect.like(dialect.literal(text), pattern) for text, pattern, _ in PATTERNS]
    assert values(engine, asked) == [matches for _, _, matches in PATTERNS]
    assert values(engine, [dialect.like(f"CAST(NULL AS {dialect.text_type})", "%")]) == [None]


def test_flags_days_and_moments_arrive_as_they_were_written(engine):
    constants = [
        True,
        False,
        datetime.date(1, 1, 1),
        datetime.date(1582, 10, 10),
        datetime.date(2024, 2, 29),
        datetime.date(9999, 12, 31),
        datetime.datetime(2024, 3, 10, 2, 30, 0, 5),  # an hour that New York left out
        datetime.datetime(1900, 1, 1, 0, 0, 0, 999999),
    ]
    assert values(engine, [engine.dialect.literal(constant) for constant in constants]) == constants


def calendar():
    for year in [1582, 1899, 1900, 1970, *range(1999, 2030), 2100]:
        for offset in (-4, -3, -2, -1, 0, 1, 2, 3, 4, 59, 60, 182):
            yield datetime.date(year, 1, 1) + datetime.timedelta(days=offset)


def test_parts_of_dates_follow_the_iso_calendar(engine):
    dialect = engine.dialect
    days = list(calendar())
    moments = [datetime.datetime(d.year, d.month, d.day, d.day % 24, d.month, 59, 999999) for d in days]
    rows = [
        [dialect.integer(j), dialect.literal(day), dialect.literal(moment)]
        for j, (day, moment) in enumerate(zip(days, moments, strict=True))
    ]
    relation = keep(engine, "calendar", ["j", "d", "m"], rows)
    of_days = ["year", "quarter", "month", "week", "day", "dayofyear", "isodow"]
    of_moments = [*of_days, "hour", "minute"]
    parts = [dialect.part(part, "d") for part in of_days] + [dialect.part(part, "m") for part in of_moments]
    starts = [dialect.truncated(unit, "d", "date") for unit in ("year", "quarter", "month", "week", "day")]
    starts += [dialect.truncated(unit, "m", "moment") for unit in ("year", "quarter", "month", "week", "day", "hour")]
    asked = ", ".join(f"{sql} AS c{n}" for n, sql in enumerate([*parts, *starts, dialect.as_date("m")]))
    found = engine.query(f"SELECT {asked} FROM {relation} ORDER BY j").to_pylist()
    for row, day, moment in zip(found, days, moments, strict=True):
        expected = [date_part(part, day) for part in of_days] + [date_part(part, moment) for part in of_moments]
        expected += [truncated(unit, day) for unit in ("year", "quarter", "month", "week", "day")]
        expected += [truncated(unit, moment) for unit in ("year", "quarter", "month", "week", "day", "hour")]
        assert list(row.values()) == [*expected, day]
        assert all(type(a) is type(b) for a, b in zip(row.values(), [*expected, day], strict=True))


def test_floor_division_goes_down_and_never_rounds(engine):
    dialect = engine.dialect
    cases = [
        (value, divisor, bound)
        for value in (0, 1, -1, 6, 7, -6, -7, 2**31, -(2**31), 10**18, -(10**18), 10**30 + 7, -(10**30) - 7)
        for divisor in (1, 2, 7, 1000, 2**40 + 1, 10**13, 10**20)
        for bound in (abs(value), 2**62 * divisor - 1)
        if abs(value) <= bound < min(2**62 * divisor, 4 * 10**36)
    ]
    assert len(cases) > 100
    asked = [dialect.text(dialect.floor_divide(dialect.integer(v), d, bound)) for v, d, bound in cases]
    assert [int(text) for text in values(engine, asked)] == [v // d for v, d, _ in cases]
    with pytest.raises(RefusedError) as caught:
        dialect.floor_divide("x", 2, 2**63)
    assert caught.value.fields["reason"] == "too-large"


def test_doubles_become_the_nearest_whole_number(engine):
    dialect = engine.dialect
    doubles = [0.0, 0.5, -0.5, 0.4999, -0.5001, 1.5, 2.5, -1.5, -2.5, 2.0**40, -(2.0**40) - 0.25, 1e15 + 0.5, -7e18]
    assert values(engine, [dialect.to_whole(dialect.number(x)) for x in doubles]) == [
        math.floor(x + 0.5) for x in doubles
    ]


def test_doubles_arrive_as_they_were_written(engine):
    doubles = [0.1, -1 / 3, 1e300, 5e-300, 2.0**-900, 2.0**53 + 2, 1.7976931348623157e308, 123456789.0]
    assert values(engine, [engine.dialect.number(x) for x in doubles]) == doubles


def test_only_nan_is_not_a_number(engine):
    dialect = engine.dialect
    nothing = f"CAST(NULL AS {dialect.double_type})"
    asked = [dialect.number(math.nan), dialect.number(math.inf), dialect.number(0.0), nothing]
    assert values(engine, [dialect.not_a_number(sql) for sql in asked]) == [True, False, False, False]


def test_whole_numbers_are_exact_up_to_the_limit(engine):
    dialect = engine.dialect
    edges = [2**31 - 1, 2**31, 2**63 - 1, 2**63, 10**37]
    asked = [dialect.text(dialect.whole(dialect.integer(sign * edge), edge)) for edge in edges for sign in (1, -1)]
    assert [int(text) for text in values(engine, asked)] == [sign * edge for edge in edges for sign in (1, -1)]
    for refused in (lambda: dialect.whole("x", 10**37 + 1), lambda: dialect.total("x", 10**36, 11)):
        with pytest.raises(RefusedError) as caught:
            refused()
        assert caught.value.fields["reason"] == "too-large"


def test_exact_numbers_have_one_size_whatever_they_are(engine):
    dialect = engine.dialect
    for edge in (2**63 - 1, 2**63, 10**37):
        numbers = [edge, -edge, 0, 1]
        asked = [dialect.exact(dialect.whole(dialect.integer(number), edge), edge) for number in numbers]
        table = engine.query("SELECT " + ", ".join(f"{sql} AS c{j}" for j, sql in enumerate(asked)))
        assert [int(whole(column)[0].as_py()) for column in table.columns] == numbers
        assert len({column.type for column in table.columns}) == 1
        assert len({len(value) for column in table.columns if isinstance(value := column[0].as_py(), str)}) <= 1
    nothing = dialect.exact(f"CAST(NULL AS {dialect.integer_type(10**37)})", 10**37)
    assert whole(engine.query(f"SELECT {nothing} AS c").column("c")).to_pylist() == [None]


def test_sums_are_exact_up_to_the_limit(engine):
    dialect = engine.dialect
    largest = {"i": 2**31 - 1, "b": 2**63 - 1, "w": 10**36}
    rows = [
        [dialect.whole(dialect.integer(bound if j < 7 else 1 - bound), bound) for bound in largest.values()]
        for j in range(9)
    ]
    relation = keep(engine, "large", list(largest), rows)
    asked = [f"{dialect.text(dialect.total(name, bound, 9))} AS {name}" for name, bound in largest.items()]
    asked.append(f"{dialect.text(dialect.total('i', 2**31 - 1, 2**40))} AS wide")
    found = engine.query(f"SELECT {', '.join(asked)} FROM {relation}").to_pylist()[0]
    assert {name: int(found[name]) for name in largest} == {name: 5 * bound + 2 for name, bound in largest.items()}
    assert found["wide"] == found["i"]
    nothing = engine.query(f"SELECT {', '.join(asked)} FROM {relation} WHERE i = 5").to_pylist()[0]
    assert set(nothing.values()) == {None}


# -- functions: the constants that pricing relies on


def spread(low, high, count):
    """Doubles between two positive ends, even in their exponent, with full mantissas."""
    return [low * (high / low) ** ((j + 0.5) / count) for j in range(count)]


ARGUMENTS = {
    "exp": [0.0, *spread(1e-18, 690.0, 200), *(-x for x in spread(1e-18, 690.0, 200))],
    "ln": [1.0, math.nextafter(1, 2), math.nextafter(1, 0), *spread(1e-100, 1e37, 300), *spread(0.9, 1.1, 100)],
    "sqrt": [0.0, *spread(1e-100, 1e37, 300)],
    "sin": [0.0, 1e6, 355.0, *spread(1e-18, 1e6, 200), *(-x for x in spread(1.0, 1e6, 100)), *spread(1e6, 1e37, 100)],
    "cos": [
        0.0,
        1e6,
        573204.0,
        *spread(1e-18, 1e6, 200),
        *(-x for x in spread(1.0, 1e6, 100)),
        *spread(1e6, 1e37, 100),
    ],
    "tanh": [0.0, *spread(1e-18, 30.0, 300), *(-x for x in spread(1e-18, 30.0, 100))],
    "reciprocal": [*spread(1e-100, 1e37, 200), *(-x for x in spread(1e-100, 1e37, 200))],
    "smoothstep": [0.0, 1.0, *spread(1e-100, 1.0, 400)],
}
POWERS = {Fraction(1, 3): (1e-100, 1e37), Fraction(-5, 2): (1e-37, 1e37), Fraction(217, 10): (1e-14, 1e14)}


def test_functions_are_as_close_as_pricing_assumes(engine):
    """On a stored table: constants would be folded by other code than runs on rows."""
    dialect = engine.dialect
    length = max(map(len, ARGUMENTS.values()))
    padded = {name: (places * length)[:length] for name, places in ARGUMENTS.items()}
    rows = [[dialect.integer(j), *(dialect.number(places[j]) for places in padded.values())] for j in range(length)]
    relation = keep(engine, "places", ["j", *(f"x_{name}" for name in padded)], rows)
    asked = ", ".join(f"{dialect.function(name, [], f'x_{name}')} AS {name}" for name in padded)
    found = engine.query(f"SELECT {asked} FROM {relation} ORDER BY j").to_pydict()
    with mpmath.workdps(60):
        for name, places in padded.items():
            function = smoothstep if name == "smoothstep" else FUNCTIONS[name]
            for x, value in zip(places, found[name], strict=True):
                exact = function(mpmath.mpf(x))
                assert abs(value - exact) <= FUNCTION_ERROR / 2 * abs(exact), (name, x)


def test_powers_are_as_close_as_pricing_assumes(engine):
    dialect = engine.dialect
    places = {exponent: spread(*ends, 200) for exponent, ends in POWERS.items()}
    rows = [[dialect.integer(j), *(dialect.number(some[j]) for some in places.values())] for j in range(200)]
    relation = keep(engine, "bases", ["j", "x0", "x1", "x2"], rows)
    asked = ", ".join(
        f"{dialect.function('power', [float(exponent)], f'x{n}')} AS y{n}" for n, exponent in enumerate(places)
    )
    found = engine.query(f"SELECT {asked} FROM {relation} ORDER BY j").to_pydict()
    with mpmath.workdps(60):
        for n, (exponent, some) in enumerate(places.items()):
            for x, value in zip(some, found[f"y{n}"], strict=True):
                exact = mpmath.power(x, mpmath.mpf(exponent.numerator) / exponent.denominator)
                assert abs(value - exact) <= POWER_ERROR * exact, (exponent, x)


def test_arguments_are_as_close_as_pricing_assumes(engine):
    dialect = engine.dialect
    numerators = [sign * (7**power + power) for power in range(43) for sign in (1, -1)] + [2**100 + 2**47 + 1, 10**37]
    divisors = [1, 3, 1000, 2**53 + 1, 10**25 + 1, 10**100]
    rows = [[dialect.integer(j), dialect.whole(dialect.integer(n), 10**37)] for j, n in enumerate(numerators)]
    relation = keep(engine, "numerators", ["j", "n"], rows)
    asked = ", ".join(f"{dialect.double('n')} / {dialect.number(float(d))} AS q{i}" for i, d in enumerate(divisors))
    found = engine.query(f"SELECT {asked} FROM {relation} ORDER BY j").to_pydict()
    for i, divisor in enumerate(divisors):
        for numerator, value in zip(numerators, found[f"q{i}"], strict=True):
            exact = Fraction(numerator, divisor)
            assert abs(Fraction(value) - exact) <= Fraction(ARGUMENT_ERROR) * abs(exact)


def test_unknown_functions_are_refused():
    with pytest.raises(RefusedError) as caught:
        DuckDBDialect().function("median", [], "x")
    assert caught.value.fields["reason"] == "function"
