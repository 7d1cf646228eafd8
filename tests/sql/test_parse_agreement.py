"""Agreement: DuckDB runs the text itself; the plan is evaluated in Python on the same rows, with nulls everywhere."""

import datetime
import random
from fractions import Fraction

import duckdb
import pytest

from errorfloor.errors import RefusedError
from errorfloor.sql.question import Question
from meters import ask
from plan_values import formula_value, scalar, truth
from repeated import rounds

TYPES = {
    "meters": "household DOUBLE, day DATE, tariff TEXT, rooms DOUBLE, area DOUBLE, read_at TIMESTAMP, heated BOOLEAN, "
    "zone TEXT, region TEXT, kwh DOUBLE, peak DOUBLE, income DOUBLE",
    "zones": "zone TEXT, area DOUBLE, country TEXT, days DOUBLE",
    "weather": "region TEXT, day DATE, cold BOOLEAN, celsius DOUBLE",
}
MACROS = """
CREATE MACRO smooth(s) AS s * s * (3 - 2 * s);
CREATE MACRO above(x, t, w) AS smooth(least(greatest((x - t) / w + 0.5, 0), 1));
CREATE MACRO inside(x, a, b, w) AS above(x, a, w) - above(x, b, w);
"""
FIRST = datetime.date(2013, 1, 1)


def made(rows: int = 150) -> dict[str, list[dict[str, object]]]:
    chance = random.Random(7)

    def perhaps(value: object) -> object:
        return None if chance.random() < 0.2 else value

    meters = []
    for j in range(rows):
        day = FIRST + datetime.timedelta(days=chance.randrange(60))
        moment = datetime.datetime(2013, 1, 1) + datetime.timedelta(minutes=chance.randrange(10**5))
        meters.append(
            {
                "household": Fraction(j),
                "day": day,
                "tariff": perhaps(chance.choice(["Economy", "Std", "ToU", "E%"])),
                "rooms": perhaps(Fraction(chance.randrange(1, 7))),
                "area": perhaps(Fraction(chance.randrange(40, 300), 2)),
                "read_at": perhaps(moment),
                "heated": perhaps(chance.random() < 0.5),
                "zone": perhaps(chance.choice(["a", "b", "c"])),
                "region": perhaps(chance.choice(["n", "s"])),
                "kwh": Fraction(chance.randrange(50_001), 1000),
                "peak": perhaps(Fraction(chance.randrange(1, 1001), 100)),
                "income": Fraction(chance.randrange(1, 100_001)),
            }
        )
    zones = [
        {"zone": zone, "area": Fraction(j * 7, 2), "country": perhaps("UK"), "days": perhaps(Fraction(j))}
        for j, zone in enumerate(["a", "b", "d"])
    ]
    weather = [
        {
            "region": "n",
            "day": FIRST + datetime.timedelta(days=j),
            "cold": perhaps(j % 3 == 0),
            "celsius": perhaps(Fraction(j, 10)),
        }
        for j in range(40)
    ]
    return {"meters": meters, "zones": zones, "weather": weather}


ROWS = made()


@pytest.fixture(scope="module")
def database():
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(MACROS)
    for table, rows in ROWS.items():
        connection.execute(f"CREATE TABLE {table} ({TYPES[table]})")
        values = [[float(v) if isinstance(v, Fraction) else v for v in row.values()] for row in rows]
        connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(rows[0]))})", values)
    yield connection
    connection.close()


def joined(question: Question) -> list[dict[tuple[int, str], object]]:
    """The rows that a question is about, with the tables joined to them."""
    found = [{(0, name): value for name, value in row.items()} for row in ROWS[question.table]]
    for place, join in enumerate(question.joins, start=1):
        kept = []
        for row in found:
            matches = [
                other
                for other in ROWS[join.table]
                if all(row[one.place, one.name] == other[two.name] is not None for one, two in join.on)
            ]
            assert len(matches) <= 1
            if not matches and join.keep_unmatched:
                matches = [dict.fromkeys(ROWS[join.table][0])]
            kept += [row | {(place, name): value for name, value in other.items()} for other in matches]
        found = kept
    return [row for row in found if truth(question.where, row) is True]


def answered(question: Question) -> dict[tuple[object, ...], list[object]]:
    """Keys, in the order in which they are selected, to outputs."""
    groups: dict[tuple[object, ...], list] = {} if question.keys else {(): []}
    shown = [key for name in question.selected for key in question.keys if key.name == name]
    for row in joined(question):
        groups.setdefault(tuple(plain(scalar(key.value, row)) for key in shown), []).append(row)
    return {key: [formula_value(output.formula, rows) for output in question.outputs] for key, rows in groups.items()}


def plain(value: object) -> object:
    """A key as both sides can give it: DuckDB's date_trunc makes a moment of a date."""
    if type(value) is datetime.datetime and value.time() == datetime.time():
        return value.date()
    return float(value) if isinstance(value, Fraction) else value


def agree(database, text: str) -> Question:
    question = ask(text)
    ours = answered(question)
    keys = len(ours and next(iter(ours)))
    theirs = database.execute(text.replace("between(", "inside(")).fetchall()
    assert len(theirs) == len(ours), text
    for row in theirs:
        mine = ours[tuple(map(plain, row[:keys]))]
        for one, two in zip(mine, row[keys:], strict=True):
            assert (one is None) == (two is None), text
            assert one is None or float(one) == pytest.approx(float(two), rel=1e-7, abs=1e-7), text
    return question


@pytest.mark.parametrize(
    "text",
    [
        "SELECT tariff, avg(kwh), count(*), count(peak), count(tariff) FROM meters GROUP BY tariff",
        "SELECT var_pop(kwh), var_samp(kwh), variance(peak), stddev(kwh), stddev_pop(peak) FROM meters",
        "SELECT covar_pop(kwh, peak), covar_samp(peak, kwh), corr(kwh, peak), regr_slope(kwh, peak) FROM meters",
        "SELECT sum(kwh * income) / sum(income), avg(peak * kwh) / avg(kwh), sum(kwh * rooms) / sum(rooms) FROM meters",
        "SELECT 100 * sum(kwh * income) / sum(2 * income), sum(3 * kwh * kwh + kwh * peak) / sum(-kwh) FROM meters",
        "SELECT avg(exp(-kwh / 10)), avg(ln(1 + kwh)), avg(sqrt(kwh)), avg(tanh(kwh)), avg(sin(kwh)) FROM meters",
        "SELECT avg(power(kwh, 2)), avg(kwh ^ 3), avg(kwh ** 2), avg(pow(income, -2)), avg(income ^ 0.5) FROM meters",
        "SELECT avg(power(income, 1.5)), avg(1 / income), avg(kwh / peak), avg(rooms / 3), avg(-kwh * -2) FROM meters",
        "SELECT avg(above(kwh, 20, 5)), avg(between(kwh, 10, 20, 4)), sum(greatest(kwh, 9, 12) - least(5, kwh)) "
        "FROM meters",
        "SELECT avg(kwh) FILTER (WHERE heated), sum(peak) FILTER (WHERE NOT heated OR rooms > 3) FROM meters",
        "SELECT power(avg(kwh), 2), avg(kwh) ^ -1, sqrt(sum(kwh)), ln(sum(income)), exp(-avg(kwh)) FROM meters",
        "SELECT greatest(avg(kwh), 100), least(avg(kwh), 100), 2 - 3 * avg(kwh) / 4, tanh(avg(peak)) FROM meters",
        "SELECT year(day), quarter(day), month(day), week(day), day(day), dayofyear(day), isodow(day), sum(kwh) "
        "FROM meters GROUP BY 1, 2, 3, 4, 5, 6, 7",
        "SELECT hour(read_at) h, extract(minute FROM read_at) AS m, date_part('doy', read_at) d, count(*) FROM meters "
        "GROUP BY h, m, d",
        "SELECT date_trunc('month', day) AS m, date_trunc('week', day) AS w, sum(kwh) FROM meters GROUP BY m, w",
        "SELECT CAST(read_at AS DATE) AS d, sum(kwh) FROM meters WHERE read_at::date <> DATE '2013-02-01' GROUP BY 1",
        "SELECT date_trunc('hour', read_at) AS h, sum(kwh) FROM meters GROUP BY h",
        "SELECT floor(area / 10) AS bin, avg(kwh) FROM meters GROUP BY bin",
        "SELECT round(area / 8) AS r, ceil(area / 4) AS c, abs(rooms - 3) AS a, sum(kwh) FROM meters GROUP BY 1, 2, 3",
        "SELECT sum(kwh * round((60 - area) / 8)), sum(sign(rooms - 3) * peak), sum(abs(60 - area)) FROM meters",
        "SELECT CASE WHEN rooms > 3 THEN 'many' WHEN rooms > 1 THEN 'few' END AS s, avg(kwh) FROM meters GROUP BY s",
        "SELECT coalesce(tariff, 'none') AS t, heated, sum(kwh) FROM meters GROUP BY t, heated",
        "SELECT CASE heated WHEN TRUE THEN 1 ELSE 2 END AS h, sum(kwh) FROM meters GROUP BY h",
        "SELECT sum(CAST(heated AS INTEGER)), sum(CASE WHEN heated THEN 1 ELSE 0 END), sum(1), avg(rooms) FROM meters",
        "SELECT avg(kwh) FROM meters WHERE day BETWEEN '2013-01-10' AND DATE '2013-02-10' AND read_at >= '2013-01-05'",
        "SELECT avg(kwh) FROM meters WHERE read_at < TIMESTAMP '2013-01-20 12:30:00' OR read_at > '2013-03-01T10:00'",
        "SELECT avg(kwh) FROM meters WHERE tariff LIKE 'E%' AND tariff NOT LIKE '_td' AND rooms NOT IN (1, 2)",
        "SELECT avg(kwh) FROM meters WHERE NOT (rooms > 3 AND heated) AND tariff IS NOT NULL AND kwh IS NOT NULL",
        "SELECT avg(kwh) FROM meters WHERE heated IS NOT TRUE AND (rooms = 2) IS NOT FALSE AND peak IS NULL",
        "SELECT avg(kwh), sum(z.area) FROM meters m JOIN zones z USING (zone) WHERE country = 'UK' OR days > 0",
        "SELECT country, avg(kwh), sum(z.area), count(z.zone), count(zone) FROM meters m LEFT JOIN zones z "
        "USING (zone) GROUP BY country",
        "SELECT cold, sum(kwh * celsius) FROM meters m LEFT JOIN weather w ON w.region = m.region AND m.day = w.day "
        "LEFT OUTER JOIN zones ON m.zone = zones.zone WHERE country IS NULL GROUP BY cold",
        "WITH winter AS (SELECT household, kwh AS energy, rooms FROM meters WHERE month(day) < 2), big AS (SELECT * "
        "FROM winter WHERE rooms > 2) SELECT avg(energy), count(*) FROM big AS b WHERE b.household > 10",
        "WITH meters AS (SELECT m.kwh, country FROM meters m JOIN zones z ON z.zone = m.zone) SELECT country, sum(kwh) "
        "FROM meters GROUP BY country",
        "SELECT avg(e) FROM (SELECT kwh AS e, rooms FROM meters WHERE heated) x WHERE rooms < 4",
    ],
)
def test_plan_means_what_duckdb_computes(database, text: str) -> None:
    agree(database, text)


class Writer:
    """Writes random questions in the part of the language that DuckDB reads in the same way."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)

    def one(self, *choices):
        choice = self.chance.choice(choices)
        return choice() if callable(choice) else choice

    def condition(self, depth: int = 2) -> str:
        if depth == 0 or self.chance.random() < 0.3:
            return self.one(
                "heated",
                "heated IS NOT TRUE",
                "(rooms > 2) IS FALSE",
                "peak IS NOT NULL",
                "tariff LIKE 'E%'",
                "tariff IN ('Std', 'ToU')",
                "rooms NOT IN (1, 2, 5)",
                "day >= '2013-02-01'",
                "area BETWEEN 30 AND 90",
                "rooms * 10 < area + 7",
                "month(day) = rooms",
                "tariff <> zone",
                "CASE WHEN heated THEN 1 ELSE 0 END = 1",
                "floor(area / 7) <> 5",
                "TRUE",
                "1 > 2",
            )
        inner = lambda: self.condition(depth - 1)  # noqa: E731
        return self.one(
            lambda: f"({inner()} AND {inner()})",
            lambda: f"({inner()} OR {inner()})",
            lambda: f"NOT {inner()}",
            lambda: f"(NOT ({inner()}))",
        )

    def number(self, depth: int = 3) -> str:
        if depth == 0 or self.chance.random() < 0.2:
            return self.one(
                "kwh", "peak", "income", "rooms", "area", "1.5", "3", "year(day)", "CAST(heated AS INTEGER)"
            )
        inner = lambda: self.number(depth - 1)  # noqa: E731
        return self.one(
            lambda: f"({inner()} + {inner()})",
            lambda: f"({inner()} - {inner()})",
            lambda: f"{inner()} * {inner()}",
            lambda: f"{inner()} / 8",
            lambda: f"(- {inner()})",
            lambda: f"CASE WHEN {self.condition(1)} THEN {inner()} END",
            lambda: f"CASE WHEN {self.condition(1)} THEN kwh WHEN {self.condition(1)} THEN 2 ELSE income END",
            lambda: f"CASE WHEN {self.condition(1)} THEN peak WHEN {self.condition(0)} THEN peak * {inner()} END",
        )

    def aggregate(self) -> str:
        function = self.one("sum", "avg", "count", "var_pop", "var_samp", "covar_pop", "covar_samp")
        arguments = ", ".join(self.number() for _ in range(2 if function.startswith("covar") else 1))
        filtered = f" FILTER (WHERE {self.condition(1)})" if self.chance.random() < 0.3 else ""
        return f"{function}({arguments}){filtered}"

    def question(self) -> str:
        formula = self.one(
            self.aggregate, lambda: f"{self.aggregate()} + 2 * {self.aggregate()}", lambda: f"-{self.aggregate()} / 4"
        )
        return f"SELECT {formula} AS a FROM meters WHERE {self.condition()}"


def test_random_questions_mean_what_duckdb_computes(database) -> None:
    writer = Writer(20240301)
    reasons: dict[str, int] = {}
    for _ in range(rounds(100)):
        text = writer.question()
        try:
            agree(database, text)
            reason = "agreed"
        except RefusedError as error:
            reason = str(error.fields["reason"])
        reasons[reason] = reasons.get(reason, 0) + 1
    assert reasons["agreed"] > 0.6 * sum(reasons.values())
    assert set(reasons) <= {"agreed", "type", "constant", "too-long"}, reasons
