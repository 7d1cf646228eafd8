"""A table that protects records: answers are certain, and nothing else depends on who is there."""

import math
import random
import re
from itertools import product
from statistics import correlation, covariance, linear_regression, mean, pvariance, stdev

import pytest

from errorfloor.catalogue import load
from errorfloor.errors import AllowanceError, CatalogueError, InputError, RefusedError
from errorfloor.postgres.answers import answer_rows
from errorfloor.preparing.cost import public_cost
from errorfloor.service.registering import register_all
from errorfloor.sql_text.asked import asked
from errorfloor.sql_text.statements import Statement
from patients import CATALOGUE, STATED, open_patients, stored, visits, write_patients
from repeated import rounds


@pytest.fixture
def db(tmp_path):
    with open_patients(tmp_path / "patients") as opened:
        yield opened


@pytest.fixture
def free(tmp_path):
    with open_patients(tmp_path / "free", free=True) as opened:
        yield opened


@pytest.fixture
def stated(tmp_path):
    with open_patients(tmp_path / "stated", free=True, catalogue=STATED) as opened:
        yield opened


def test_all_declared_groups_are_answered_and_empty_ones_too(db):
    found = db.ask("SELECT sex, region, count(*) AS n FROM patients GROUP BY sex, region", max_error=60).to_arrow()
    shown = list(zip(found.column("sex").to_pylist(), found.column("region").to_pylist(), strict=True))
    assert shown == sorted(product(("f", "m", "other"), ("elsewhere", "north", "south", "west")))
    assert (
        db.ask("SELECT sex, count(*) FROM patients WHERE sex LIKE 'f' GROUP BY sex", max_error=60).table.num_rows == 1
    )
    nothing = db.ask("SELECT sex, count(*) AS n FROM patients WHERE sex = 'x' GROUP BY sex", max_error=60)
    assert nothing.table.num_rows == 0


@pytest.mark.parametrize(
    "what",
    [
        "sum(sign(CASE WHEN sex = 'f' THEN 3 END))",
        "count(sign(CASE WHEN sex = 'f' THEN -2 END))",
        "sum(abs(CASE WHEN sex = 'f' THEN -1 END))",
        "sum(round(CASE WHEN sex = 'f' THEN 1.2 END))",
        "sum(greatest(CASE WHEN sex = 'f' THEN 0 END, 1))",
        "sum(least(4, CASE WHEN sex = 'f' THEN 7 END, 1))",
    ],
)
def test_a_function_of_what_is_missing_is_missing(free, what):
    """Also where it would be the same number on all rows that have one."""
    exact = sum(row["sex"] == "f" for row in stored(free))
    row = free.ask(f"SELECT {what} AS n FROM patients", max_error=3).to_arrow().to_pylist()[0]
    assert 0 < exact < len(stored(free)) and row["n_low"] <= exact <= row["n_high"]


def test_time_is_left_for_values_that_are_all_different(free):
    """Else the time on the grid at which the answer leaves would tell how many there are."""
    rows = free.catalogue.tables["patients"].most_rows
    plain, one, two = (
        public_cost(free.price(f"SELECT {what} FROM patients", max_error=9).prepared)
        for what in (
            "count(*)",
            "count(DISTINCT age)",
            "count(DISTINCT age), count(DISTINCT age) FILTER (WHERE sex = 'f') AS n",
        )
    )
    assert two - one >= one - plain >= rows * 5e-7  # 1.5e-7 was measured with five million values


def random_question(chance):
    """A question, the group of a row, and what the row adds to it."""
    keys = {
        "sex": lambda row: row["sex"],
        "region": lambda row: row["region"],
        "floor(age / 20)": lambda row: row["age"] // 20,
        "month(day)": lambda row: row["day"].month,
        "CASE WHEN cost < 300 THEN 'low' ELSE 'high' END": lambda row: "low" if row["cost"] < 600 else "high",
    }
    numbers = {
        "count(*)": lambda row: 1,
        "sum(cost)": lambda row: row["cost"] / 2,
        "sum(age - 40)": lambda row: row["age"] - 40,
        "sum(CASE WHEN sex = 'm' THEN cost ELSE 2 * age END)": lambda row: (
            row["cost"] / 2 if row["sex"] == "m" else 2 * row["age"]
        ),
        "sum(floor(cost / 100) * age)": lambda row: row["cost"] // 200 * row["age"],
        "count(*) FILTER (WHERE cost >= 250.5 AND age < 60)": lambda row: row["cost"] >= 501 and row["age"] < 60,
        "sum(abs(cost - 700))": lambda row: abs(row["cost"] / 2 - 700),
        "sum(round(cost / 3))": lambda row: math.copysign(math.floor(abs(row["cost"]) / 6 + 0.5), row["cost"]),
        "sum(ceil(cost))": lambda row: math.ceil(row["cost"] / 2),
        "sum(greatest(cost, 10 * age) - least(age, 65))": lambda row: (
            max(row["cost"] / 2, 10 * row["age"]) - min(row["age"], 65)
        ),
        "sum(exp(age / 40))": lambda row: math.exp(row["age"] / 40),
        "sum(ln(age + 1) * cost)": lambda row: math.log(row["age"] + 1) * row["cost"] / 2,
        "sum(sqrt(abs(cost)) / (age + 1))": lambda row: math.sqrt(abs(row["cost"] / 2)) / (row["age"] + 1),
    }
    where = {
        "": lambda row: True,
        " WHERE age BETWEEN 30 AND 50": lambda row: 30 <= row["age"] <= 50,
        " WHERE cost > 100 OR sex = 'f'": lambda row: row["cost"] > 200 or row["sex"] == "f",
        " WHERE day >= DATE '2024-07-01'": lambda row: row["day"].month >= 7,
    }
    chosen = chance.sample(sorted(keys), chance.randrange(3))
    what, where_text = chance.choice(sorted(numbers)), chance.choice(sorted(where))
    names = [f"k{j}" for j in range(len(chosen))]
    shown = "".join(f"{key} AS {name}, " for key, name in zip(chosen, names, strict=True))
    grouped = f" GROUP BY {', '.join(names)}" if names else ""
    sql = f"SELECT {shown}{what} AS x FROM patients{where_text}{grouped}"
    return sql, names, [keys[key] for key in chosen], numbers[what], where[where_text]


@pytest.mark.soak
@pytest.mark.parametrize("opened", ["free", "stated"])
def test_every_certain_interval_holds_the_truth(request, opened):
    db, chance = request.getfixturevalue(opened), random.Random(20)
    rows = stored(db)
    for _ in range(rounds(20)):
        sql, names, keys, number, where = random_question(chance)
        bound = 10 ** chance.uniform(0, 6)
        try:
            answer = db.ask(sql, max_error=bound)
        except RefusedError as refused:  # a function of rows is not known to a millionth of so small a bound
            assert refused.fields["reason"] == "evaluation" and bound < 1e3, sql
            continue
        truth = {}
        for row in filter(where, rows):
            group = tuple(key(row) for key in keys)
            truth[group] = truth.get(group, 0) + number(row)
        seen = set()
        for cell in answer.to_arrow().to_pylist():
            group = tuple(cell[name] for name in names)
            true = truth.get(group, 0)
            assert cell["x_low"] - 1e-6 <= true <= cell["x_high"] + 1e-6, sql
            assert abs(cell["x"] - true) <= answer.max_error["x"] + 1e-6, sql
            if "count" in sql:
                assert cell["x"] == int(cell["x"]) and 0 <= cell["x_low"] <= cell["x"] <= cell["x_high"]
            seen.add(group)
        assert set(truth) <= seen, sql


DERIVED = {
    "avg(cost)": lambda rows: mean(row["cost"] / 2 for row in rows),
    "avg(CASE WHEN sex = 'm' THEN 1 ELSE 0 END)": lambda rows: mean(row["sex"] == "m" for row in rows),
    "sum(cost) / sum(age + 1)": lambda rows: sum(r["cost"] / 2 for r in rows) / sum(r["age"] + 1 for r in rows),
    "var_pop(age)": lambda rows: pvariance([row["age"] for row in rows]),
    "stddev_samp(cost)": lambda rows: stdev([row["cost"] / 2 for row in rows]),
    "corr(age, cost)": lambda rows: correlation([r["age"] for r in rows], [r["cost"] / 2 for r in rows]),
    "covar_pop(age, cost)": lambda rows: (
        covariance([r["age"] for r in rows], [r["cost"] / 2 for r in rows]) * (len(rows) - 1) / len(rows)
    ),
    "regr_slope(cost, age)": lambda rows: (
        linear_regression([r["age"] for r in rows], [r["cost"] / 2 for r in rows]).slope
    ),
    "100 * count(*) FILTER (WHERE cost > 500) / count(*) + 1": lambda rows: (
        1 + 100 * mean(row["cost"] > 1000 for row in rows)
    ),
    "sqrt(avg(age))": lambda rows: mean(row["age"] for row in rows) ** 0.5,
}


@pytest.mark.soak
def test_what_is_derived_lies_in_its_interval(tmp_path):
    chance, width = random.Random(3), {}
    with open_patients(tmp_path / "patients", visits(2000), free=True) as db:
        rows = stored(db)
        for _ in range(rounds(25)):
            what, bound = chance.choice(sorted(DERIVED)), chance.choice((12, 60, 400))
            answer = db.ask(f"SELECT sex, {what} AS x FROM patients GROUP BY sex", max_error=bound + chance.random())
            for cell in answer.to_arrow().to_pylist():
                truth = DERIVED[what]([row for row in rows if row["sex"] == cell["sex"]])
                if cell["x"] is not None:
                    assert cell["x_low"] - 1e-9 <= truth <= cell["x_high"] + 1e-9, what
                    assert cell["x_low"] <= cell["x"] <= cell["x_high"]
                    width[what, bound] = cell["x_high"] - cell["x_low"]
    assert width["avg(cost)", 12] < 100


@pytest.mark.soak
def test_how_many_different_values_there_are_lies_in_its_interval(free):
    chance, rows = random.Random(6), stored(free)
    values = {
        "day": lambda row: row["day"],
        "region": lambda row: row["region"],
        "floor(age / 7)": lambda row: row["age"] // 7,
        "date_trunc('month', day)": lambda row: row["day"].month,
    }
    for _ in range(rounds(6)):
        what, least = chance.choice(sorted(values)), chance.randrange(90)
        sql = f"SELECT sex, count(DISTINCT {what}) FILTER (WHERE age > {least}) AS n FROM patients GROUP BY sex"
        for cell in free.ask(sql, max_error=chance.choice((1, 5, 30))).to_arrow().to_pylist():
            truth = len({values[what](row) for row in rows if row["sex"] == cell["sex"] and row["age"] > least})
            assert cell["n_low"] <= truth <= cell["n_high"] and cell["n"] == int(cell["n"])


def test_different_values_cost_a_count_and_do_not_add_up(db):
    count, different = (
        db.price(f"SELECT sex, count({what}) FROM patients GROUP BY sex", max_error=50).charge
        for what in ("*", "DISTINCT day")
    )
    assert count == different
    with pytest.raises(RefusedError, match="counts and sums add up to totals, and nothing else"):
        db.price("SELECT sex, count(DISTINCT day) FROM patients GROUP BY ROLLUP (sex)", max_error=50)
    with pytest.raises(RefusedError, match="counts combinations of values: count those of one expression"):
        db.price("SELECT count(DISTINCT sex, day) FROM patients", max_error=50)


@pytest.mark.soak
def test_every_quantile_lies_in_its_interval(tmp_path):
    chance, width = random.Random(4), []
    with open_patients(tmp_path / "patients", visits(2000), free=True) as db:
        rows = stored(db)
        for _ in range(rounds(6)):
            column, share = chance.choice(("age", "cost")), chance.choice((0.1, 0.25, 0.5, 0.9))
            what = chance.choice(
                (f"quantile({column}, {share})", f"percentile_cont({share}) WITHIN GROUP (ORDER BY {column})")
            )
            sql = f"SELECT sex, {what} AS x FROM patients WHERE region <> 'north' GROUP BY sex"
            for cell in db.ask(sql, max_error=chance.choice((5, 40, 300)) + chance.random()).to_arrow().to_pylist():
                scale = 2 if column == "cost" else 1
                mine = sorted(r[column] / scale for r in rows if r["sex"] == cell["sex"] and r["region"] != "north")
                place = share * (len(mine) - 1)
                for truth in (mine[math.floor(place)], mine[math.ceil(place)], mine[math.ceil(share * len(mine)) - 1]):
                    assert cell["x_low"] <= truth <= cell["x_high"], sql
                assert cell["x_low"] <= cell["x"] <= cell["x_high"]
                width.append((cell["x_high"] - cell["x_low"]) / (2100 if column == "cost" else 110))
    assert min(width) < 0.1


@pytest.mark.parametrize("formula", ["median(age)", "avg(age)"])
def test_what_has_a_value_only_if_there_are_rows_has_no_certain_total(formula, tmp_path):
    """All are men: a group without rows counted as somewhere in 20 … 110 in a sum that was said to be certain."""
    rows = [{**row, "sex": "m", "age": 50.0} for row in visits(2000)]
    catalogue = CATALOGUE.replace("range = [0, 110], rest = 0", "range = [20, 110], rest = 20")
    by_sex = f"SELECT sex, {formula} AS x FROM patients GROUP BY sex"

    def shown(around):
        question = asked(Statement.of(around.format(by_sex)))
        return answer_rows(db.ask(question.sql, max_error=300), question, bounds=True).table.to_pylist()

    with open_patients(tmp_path / "p", rows, free=True, catalogue=catalogue) as db:
        assert {
            row["sex"]: row["x_low"] <= 50 <= row["x_high"] for row in shown("SELECT * FROM ({}) t")
        } == dict.fromkeys(("f", "m", "other"), True)
        for total in ("sum", "avg", "min", "max"):
            (row,) = shown(f"SELECT {total}(x) AS x FROM ({{}}) t")
            assert row["x_low"] is row["x_high"] is None and row["x"] is not None
            each = shown(f"SELECT sex, {total}(x) AS x FROM ({{}}) t GROUP BY sex")
            assert each == shown("SELECT sex, x, x_low, x_high FROM ({}) t")
            (row,) = shown(f"SELECT max(x_low) AS low FROM (SELECT {total}(x) AS x FROM ({{}}) t) u")
            assert row["low"] is None
        assert shown("SELECT count(x_low) AS n FROM ({}) t") == [{"n": 3}]  # which is a count, and never null


def test_a_median_is_said_to_follow_from_counts(db):
    price = db.price("SELECT median(age) AS m FROM patients", max_error=500)
    assert "within ±500 rows each, up to 31 thresholds of age between 0 and 110 years" in price.explain()
    assert price.max_error == {"m": 500.0} and price.outputs()[0]["rows"] == 500.0
    count = db.price("SELECT count(*) FROM patients", max_error=500).charge
    assert [one.raised_cosine for one in price.charge.values()] == pytest.approx(
        [32 * one.raised_cosine for one in count.values()], rel=1e-6
    )
    first, again = (db.ask("SELECT median(age) AS m FROM patients", max_error=500) for _ in range(2))
    assert first.table.equals(again.table) and not any(again.fresh)
    with pytest.raises(RefusedError, match="by one grouping at a time"):
        db.price("SELECT sex, median(age) FROM patients GROUP BY ROLLUP (sex)", max_error=500)


ADVICE = {  # what is refused, and what its advice says to ask instead
    "max(cost)": ("quantile(x, 0.99)", "SELECT quantile(cost, 0.99) FROM patients"),
    "min(age)": ("count(*) FILTER (WHERE x > t)", "SELECT count(*) FILTER (WHERE age > 3) FROM patients"),
    "sum(DISTINCT age)": ("ask for count(DISTINCT x)", "SELECT count(DISTINCT age) FROM patients"),
    "mode(sex)": ("GROUP BY it and ask for count(*)", "SELECT count(*) FROM patients GROUP BY sex"),
    "width_bucket(cost)": ("GROUP BY floor(x / 10)", "SELECT count(*) FROM patients GROUP BY floor(cost / 10)"),
    "cut(age)": ("histogram(x, 18, 40, 65)", "SELECT histogram(age, 18, 40, 65) FROM patients"),
    "sum(cost > 3)": (
        "CASE WHEN … THEN 1 ELSE 0 END",
        "SELECT sum(CASE WHEN cost > 3 THEN 1 ELSE 0 END) FROM patients",
    ),
    "sum(coalesce(cost, 0))": ("leave it out", "SELECT sum(cost) FROM patients"),
    "sum(trunc(cost))": ("round(x)", "SELECT sum(round(cost)) FROM patients"),
    "sum(above(cost, 3, 1))": ("x > t", "SELECT sum(CASE WHEN cost > 3 THEN 1 ELSE 0 END) FROM patients"),
    "sum(ln(cost))": ("greatest", "SELECT sum(ln(greatest(cost, 1))) FROM patients"),
    "bool_and(cost > 3)": ("count(*) FILTER (WHERE …)", "SELECT count(*) FILTER (WHERE cost <= 3) FROM patients"),
}


@pytest.mark.parametrize("what", ADVICE)
def test_advice_works_for_records(db, what):
    said, instead = ADVICE[what]
    with pytest.raises(RefusedError, match=re.escape(said)):
        db.price(f"SELECT {what} FROM patients", max_error=1e6)
    assert db.price(instead, max_error=1e6).max_error


def test_what_is_derived_is_printed_with_its_interval_rounded_outwards(free):
    answer = free.ask(
        "SELECT avg(cost) AS a, 1 / count(*) AS b, 1 / sum(age - 50) FILTER (WHERE age = 1) AS c FROM patients",
        max_error=30,
    )
    row = answer.table.to_pylist()[0]
    *_, printed = answer.text().split("\n")
    shown = re.fullmatch(r"(\S+) \((\S+) … (\S+)\) EUR +(\S+) \((\S+) … (\S+)\) +–", printed)
    assert shown is not None and row["c"] is None
    for name, (value, low, high) in zip("ab", (shown.groups()[:3], shown.groups()[3:]), strict=True):
        assert float(low) <= row[f"{name}_low"] <= row[f"{name}_high"] <= float(high)
        assert float(value) == pytest.approx(row[name], rel=1e-5)
    assert printed.split("  ")[0] in answer._repr_html_()


def test_no_bound_of_a_sum_is_listed_as_that_of_what_is_derived(db):
    db.ask("SELECT avg(cost) AS a, 1 / count(*) AS b, count(*) AS n FROM patients", max_error=50)
    listed = {one["name"]: (one["exact"], one["low"], one["high"]) for one in db.known()[0]["outputs"]}
    assert listed == {"a": (False, None, None), "b": (False, None, None), "n": (False, -50.0, 50.0)}


def test_what_is_derived_costs_what_its_sums_cost_and_is_kept(db):
    sums = db.price("SELECT count(*) AS n, sum(age) AS s FROM patients", max_error={"n": 50, "s": 50 * 110})
    mean_age = db.price("SELECT avg(age) AS a FROM patients", max_error=50)
    assert mean_age.charge == sums.charge and mean_age.max_error == {"a": 50.0}
    first, again = (db.ask("SELECT avg(age) AS a FROM patients", max_error=50) for _ in range(2))
    assert first.table.equals(again.table) and not any(again.fresh)
    assert "a is certainly between a_low and a_high, if there are rows at all" in first.explain()
    assert db.ask("SELECT sum(age) AS s FROM patients", max_error=50 * 110).fresh == (False,)


def test_totals_add_up_to_the_last_unit(db):
    found = db.ask(
        "SELECT sex, region, count(*) AS n FROM patients GROUP BY CUBE (sex, region)", max_error=600
    ).to_arrow()
    cells = {(row["sex"], row["region"]): row["n"] for row in found.to_pylist()}
    assert cells[None, None] == sum(n for (sex, region), n in cells.items() if sex and region)
    assert cells["f", None] == sum(n for (sex, region), n in cells.items() if sex == "f" and region)


def test_asking_again_is_free_and_gives_the_same_answer(db):
    sql = "SELECT sex, count(*) AS n, sum(cost) AS total FROM patients GROUP BY sex"
    first = db.ask(sql, max_error={"n": 50, "total": 1e5})
    again = db.ask(sql.lower(), max_error={"n": 50, "total": 1e5})
    assert first.fresh == (True, True) and again.fresh == (False, False)
    assert first.table.equals(again.table) and again.cells() == first.cells()
    assert first.explain().startswith("n is certainly within ±50 of the truth")
    said = (
        "nobody can tell whether a patient is in the table, or which of two contents it has there, better than 95 times"
    )
    assert said in first.explain()


def test_a_count_costs_what_one_owner_can_do_to_it(db):
    alone = db.price("SELECT count(*) FROM patients", max_error=50).charge
    grouped = db.price("SELECT sex, count(*) FROM patients GROUP BY sex", max_error=50).charge
    (one,), (several,) = alone.values(), grouped.values()
    information = (3.141592653589793 / 50.5) ** 2
    assert one.raised_cosine == pytest.approx(information * 2**2, rel=1e-5)
    assert several.raised_cosine == pytest.approx(2 * information * 2**2, rel=1e-5)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT sex, count(*) FROM patients GROUP BY sex HAVING count(*) >= 5", "HAVING would tell how many rows"),
        ("SELECT sum(exp(age)) FROM patients", "exp needs at most ±27, and it can be 110: divide it"),
        ("SELECT sex, avg(age) FROM patients GROUP BY ROLLUP (sex)", "counts and sums add up to totals"),
        (
            "SELECT cost, day, age, count(*) FROM patients GROUP BY 1, 2, 3",
            "can have 170,669,826 combinations of values",
        ),
        ("SELECT patient, count(*) FROM patients GROUP BY patient", "is not a column here"),
        ("SELECT median(sex) FROM patients", "is answered for a column of numbers"),
    ],
)
def test_what_is_not_answered_is_refused_with_advice(db, sql, said):
    with pytest.raises(RefusedError, match=re.escape(said)):
        db.price(sql, max_error=50)


def test_bounds_and_noises_that_make_no_sense_are_refused(db):
    from errorfloor.support import Interval

    with pytest.raises(InputError, match=r"within ±1 at least, got 0\.5: ask for a max_error of 1 or more"):
        db.price("SELECT count(*) FROM patients", max_error=0.5)
    with pytest.raises(InputError, match="give max_error or spend, not a support"):
        db.price("SELECT count(*) FROM patients", support=Interval(-5, 5))
    with pytest.raises(InputError, match="a release has one row for each"):
        db.release("patients", "out.parquet", columns={}, batch="1")


@pytest.mark.parametrize("catalogue", [CATALOGUE, STATED], ids=["floor", "epsilon"])
@pytest.mark.parametrize(
    ("sql", "bound"),
    [
        ("SELECT count(*) AS n FROM patients", 1),
        ("SELECT sex, count(*) AS n FROM patients GROUP BY sex", 1),
        ("SELECT sum(cost) AS n FROM patients", 10),
        ("SELECT avg(age) AS n FROM patients", 2),
        ("SELECT median(age) AS n FROM patients", 2),
        ("SELECT sex, count(*) AS n FROM patients GROUP BY ROLLUP (sex)", 3),
        ("SELECT histogram(age, 20, 40) AS n FROM patients", 1),
    ],
)
def test_the_bound_that_is_advised_is_accepted(tmp_path, catalogue, sql, bound):
    with open_patients(tmp_path / "patients", [], catalogue=catalogue) as db:
        with pytest.raises(AllowanceError, match="ask with bounds at least") as refused:
            db.ask(sql, max_error=bound)
        least = float(re.search(r"max_error (?:\w+=)?([0-9.]+)", str(refused.value))[1])
        assert db.ask(sql, max_error=least).table.num_rows


def test_what_no_bound_makes_affordable_is_refused_with_advice(tmp_path):
    small = CATALOGUE.replace("10000", "3").replace("floor = 0.05", "floor = 0.45")
    said = r"narrow what a row can add, as in sum\(least\(x, 100\)\)"
    with open_patients(tmp_path / "patients", [], catalogue=small) as db, pytest.raises(AllowanceError, match=said):
        db.ask("SELECT sum(cost) AS s FROM patients", max_error=100)


def test_totals_of_many_groups_say_what_they_need(db):
    with pytest.raises(
        InputError, match="n is a total of 12 whole numbers, each within ±1 at least: ask for a max_error"
    ):
        db.price("SELECT sex, region, count(*) AS n FROM patients GROUP BY CUBE (sex, region)", max_error=3)


def test_a_dry_run_answers_from_the_declaration_alone(tmp_path):
    with open_patients(tmp_path / "patients") as db:
        dry = db.dry().ask("SELECT sex, count(*) AS n FROM patients GROUP BY sex", max_error=50)
    assert dry.table.num_rows == 3


def test_a_table_never_changes_what_it_protects(tmp_path):
    path = write_patients(tmp_path / "first", visits(20))
    plain = """
[tables.patients]
source = "patients.parquet"
version = "2"
row_key = ["patient"]
public = { patient = "text" }
[tables.patients.private.cost]
range = [-100, 2000]
resolution = 1
floor = 20
nulls = "public"
"""
    path.write_text(plain)
    with pytest.raises(CatalogueError, match="was registered with protects = 'records', and now declares 'values'"):
        write_patients(path.parent, visits(20, seed=3)[:1], plain)
    other = write_patients(tmp_path / "second", visits(20)[:1], plain)
    other.write_text(CATALOGUE.replace('version = "1"', 'version = "3"'))
    with pytest.raises(CatalogueError, match="was registered with protects = 'values', and now declares 'records'"):
        register_all(load(other))


def test_an_average_of_too_few_rows_is_said_to_be_anywhere_in_its_range(db):
    found = db.ask("SELECT avg(cost) AS m FROM patients WHERE age = 1", max_error=200).to_arrow().to_pylist()[0]
    assert (found["m_low"], found["m_high"]) == (-100.0, 2000.0)
    assert found["m_low"] <= found["m"] <= found["m_high"]
