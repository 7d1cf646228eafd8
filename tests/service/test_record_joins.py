"""Public tables joined to one that protects records: answers are certain, and nothing depends on who is there."""

import random
import re
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from errorfloor.errors import RefusedError
from errorfloor.preparing.cost import public_cost
from errorfloor.sql.record_ranges import Domains, row_range
from joined import JOINED, PUBLIC, asked, open_joined
from patients import CATALOGUE, STATED, stored
from repeated import rounds

REGIONS = "FROM patients p LEFT JOIN regions r ON p.region = r.region"
INNER = REGIONS.replace("LEFT ", "")
STATED_TOO = JOINED.replace(CATALOGUE, STATED)


@pytest.fixture
def db(tmp_path):
    with open_joined(tmp_path / "joined") as opened:
        yield opened


@pytest.fixture
def free(tmp_path):
    with open_joined(tmp_path / "free", free=True) as opened:
        yield opened


def plain(db):
    """Open a plain database with the rows that count, and the public tables, under their names."""
    connection = duckdb.connect()
    rows = [{**row, "cost": row["cost"] / 2} for row in stored(db)]
    tables = {"patients": rows}
    for name, public in PUBLIC.items():
        tables[name] = [{k: float(v) if isinstance(v, Fraction) else v for k, v in row.items()} for row in public]
    for name, values in tables.items():
        connection.register(f"{name}_rows", pa.Table.from_pylist(values))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM {name}_rows")
    return connection


def named(key):
    """A key that is compared: whole numbers are fractions elsewhere."""
    return float(key) if isinstance(key, int | float) and not isinstance(key, bool) else key


@pytest.mark.soak
def missing_stays_missing(sql):
    """Write it so that a plain database takes what is greater or less than something missing for missing, too."""
    return re.sub(r"((?:greatest|least)\(r\.(\w+), [\w.]+\))", r"CASE WHEN r.\2 IS NOT NULL THEN \1 END", sql)


@pytest.mark.parametrize("catalogue", [JOINED, STATED_TOO], ids=["floor", "epsilon"])
def test_every_certain_interval_of_a_join_holds_what_a_plain_database_says(tmp_path, catalogue):
    chance, shown, seen = random.Random(40), 0, 0
    with open_joined(tmp_path / "joined", free=True, catalogue=catalogue) as db, plain(db) as other:
        for _ in range(rounds(20)):
            sql, names, what = asked(chance)
            try:
                answer = db.ask(sql, max_error=10 ** chance.uniform(0, 5))
            except RefusedError as refused:
                assert refused.fields["reason"] == "evaluation", sql
                continue
            truth = {
                tuple(map(named, row[:-1])): row[-1] or 0
                for row in other.execute(missing_stays_missing(sql)).fetchall()
            }
            cells = {tuple(named(row[name]) for name in names): row for row in answer.to_arrow().to_pylist()}
            assert set(truth) <= set(cells) or not names, sql
            for group, cell in cells.items():
                true = float(truth.get(group, 0))
                assert cell["x0_low"] - 1e-6 <= true <= cell["x0_high"] + 1e-6, (sql, group)
                assert abs(cell["x0"] - true) <= answer.max_error["x0"] + 1e-6, (sql, group)
                if "count" in what[0]:
                    assert cell["x0"] == int(cell["x0"]) >= 0
                shown, seen = shown + 1, seen + (group in truth)
    assert shown > seen > 20  # groups without anybody among them


def test_groups_of_a_join_are_those_that_declared_values_can_have(db):
    def groups(sql):
        return db.ask(sql, max_error=60).to_arrow().column(0).to_pylist()

    assert groups(f"SELECT r.district, count(*) {INNER} GROUP BY r.district") == [None, "D1"]  # D2 is of no region here
    assert groups(f"SELECT r.region, count(*) {REGIONS} GROUP BY r.region") == [None, "north", "south"]
    assert groups(f"SELECT r.age, count(*) {REGIONS} WHERE r.age > 3 GROUP BY r.age") == [300]
    assert groups(f"SELECT p.sex, count(*) {INNER} WHERE r.district = 'D9' GROUP BY p.sex") == ["f", "m", "other"]
    assert groups(f"SELECT d.budget, count(*) {INNER} LEFT JOIN districts d USING (district) GROUP BY 1") == [None, 12]


def test_a_row_that_is_left_out_is_looked_up_all_the_same(db):
    """No join leaves rows out by itself, and every value that is joined by occurs, whoever is there."""
    sql = (
        "SELECT p.sex, count(*) FROM patients p JOIN bands b ON p.age = b.age JOIN regions r USING (region) GROUP BY 1"
    )
    prepared = db.price(sql, max_error=50).prepared
    assert prepared.statement.count("LEFT JOIN") == 2 and " WHERE " not in prepared.statement
    assert "INNER JOIN" not in prepared.statement
    absent = re.search(r"UNION ALL (.*)\) AS t0", prepared.statement)[1]
    for column, values in (("p1", range(111)), ("p2", ("elsewhere", "north", "south", "west"))):
        found = duckdb.sql(f"SELECT DISTINCT {column} FROM ({absent}) WHERE x0 = 0 ORDER BY 1").fetchall()
        assert [one for (one,) in found] == list(values)


def test_columns_of_the_same_name_have_each_their_own_bounds(db):
    """Ages of patients are 0 … 110, those of regions 7 … 300."""

    def price(what):
        shown = what if isinstance(what, str) else ", ".join(what)
        return db.price(f"SELECT {shown} {INNER}", max_error=500)

    own, other = (price(f"sum({one}.age)").prepared.bounds.outputs[0] for one in "pr")
    assert (own.owner[0], other.owner[0]) == (110, 300)
    assert (own.high[0], other.high[0]) == (110 * 10_000, 300 * 10_000)
    below, above = "count(*) FILTER (WHERE p.age <= 40) AS a", "count(*) FILTER (WHERE {}.age > 40) AS b"
    (alone,) = price(below).charge.values()
    (apart,) = price((below, above.format("p"))).charge.values()
    (both,) = price((below, above.format("r"))).charge.values()
    assert apart.raised_cosine == pytest.approx(2 * alone.raised_cosine, rel=1e-6)  # one row in one bin, one in another
    assert both.raised_cosine == pytest.approx(2 * alone.raised_cosine, rel=1e-6)
    three = "count(*) FILTER (WHERE p.age > 40 AND p.age <= 60) AS c", "count(*) FILTER (WHERE r.age > 60) AS d"
    (all_of,) = price((below, *three)).charge.values()
    assert all_of.raised_cosine > 2.9 * alone.raised_cosine  # one row may count in the last and in one of the others


def test_what_may_be_missing_bounds_nothing(free):
    """Weights are at most 5, but where one is missing weight < age does not hold, and age may be anything."""
    what = "sum(CASE WHEN b.weight < p.age THEN 0 ELSE p.age END)"
    prepared = free.price(f"SELECT {what} AS s FROM patients p LEFT JOIN bands b USING (age)", max_error=500).prepared
    assert row_range(prepared.outputs[0].output.formula, prepared.plan.domains).above == 110
    least = free.price(f"SELECT sum(least(r.age, 60)) AS s {REGIONS}", max_error=500).prepared
    assert row_range(least.outputs[0].output.formula, least.plan.domains).above == 60  # it is there where it counts
    assert isinstance(least.plan.domains, Domains)


def test_a_join_costs_what_the_question_costs_without(db):
    alone = db.price("SELECT region, count(*) FROM patients GROUP BY region", max_error=50).charge
    joined = db.price(f"SELECT r.district, count(*) {REGIONS} GROUP BY r.district", max_error=50).charge
    assert [one.raised_cosine for one in alone.values()] == pytest.approx([o.raised_cosine for o in joined.values()])
    (before, after) = (
        public_cost(db.price(f"SELECT count(*) FROM patients p{join}", max_error=50).prepared)
        for join in ("", " JOIN bands b ON p.age = b.age")
    )
    assert after > before  # time is left for what is looked up


def test_an_answer_about_a_join_is_kept_and_given_again(db):
    sql = f"SELECT r.district, count(*) AS n, sum(r.income) AS s {INNER} GROUP BY r.district"
    first, again = (db.ask(sql, max_error={"n": 50, "s": 5000}) for _ in range(2))
    assert first.table.equals(again.table) and first.fresh == (True, True) and not any(again.fresh)
    dry = db.dry().ask(sql, max_error={"n": 50, "s": 5000})
    assert dry.table.num_rows


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            f"SELECT median(r.age) {REGIONS}",
            "columns of the table itself: of a joined one ask for cumulative(x, 1, 2, 3)",
        ),
        ("SELECT count(*) FROM patients p JOIN patients q ON p.age = q.age", "rows could be counted more than once"),
        ("SELECT count(*) FROM patients p JOIN bands b ON p.age = b.weight", "must compare each column of the row key"),
        ("SELECT count(*) FROM patients p JOIN bands b ON p.cost = b.age", "of different types or resolutions"),
        (f"SELECT r.age, p.day, p.cost, p.region, count(*) {REGIONS} GROUP BY 1, 2, 3", "neither an aggregate nor in"),
        (f"SELECT r.age, p.day, p.cost, count(*) {REGIONS} GROUP BY 1, 2, 3", "cost and day and region can have"),
        (f"SELECT sum(1 / r.income) {INNER}", "a quotient needs what is on one side of 0, and it can be -4 … 31.5"),
        (f"SELECT r.district, count(*) {INNER} GROUP BY 1 HAVING count(*) > 3", "HAVING would tell how many rows"),
        (f"SELECT sum(coalesce(r.age, 0)) {REGIONS}", "of a joined table, leave rows out with FILTER"),
    ],
)
def test_joins_that_are_not_answered_are_refused_with_advice(db, sql, said):
    with pytest.raises(RefusedError, match=re.escape(said)):
        db.price(sql, max_error=500)


def test_what_is_joined_by_has_values_that_can_be_gone_through(tmp_path):
    wide = JOINED.replace("range = [0, 110], rest = 0", "range = [0, 3000000], rest = 0")
    with (
        open_joined(tmp_path / "wide", catalogue=wide) as db,
        pytest.raises(RefusedError, match="age can have 3,000,001 values, and tables are joined by at most 2,000,0"),
    ):
        db.price("SELECT count(*) FROM patients p JOIN bands b ON p.age = b.age", max_error=500)
