"""Running totals of groups: sum(sum(x)) OVER (ORDER BY key)."""

import duckdb
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.accounts import Account
from errorfloor.errors import InputError, RefusedError
from town import open_town, write_town

DAILY = "SELECT day, sum(kwh) AS s, sum(sum(kwh)) OVER (ORDER BY day) AS r FROM meters GROUP BY day"
BY_TARIFF = (
    "SELECT tariff, day, sum(sum(kwh)) OVER (PARTITION BY tariff ORDER BY day DESC ROWS BETWEEN UNBOUNDED PRECEDING "
    "AND CURRENT ROW) AS r, sum(count(*)) OVER (PARTITION BY tariff ORDER BY day DESC) AS n FROM meters GROUP BY 1, 2"
)
KWH = Account("meters", "kwh", "")


@pytest.fixture
def folder(tmp_path):
    write_town(tmp_path / "town")
    return tmp_path / "town"


def truth(folder, sql):
    """Give what DuckDB answers on the stored values."""
    table = pq.read_table(folder / "meters.parquet")
    duckdb.register("given", table)
    duckdb.execute(
        "CREATE OR REPLACE TEMP TABLE meters AS "
        "SELECT * REPLACE (least(greatest(round(kwh, 3), 0), 50) AS kwh) FROM given"
    )
    names = [one[0] for one in duckdb.execute(sql).description]
    return [dict(zip(names, row, strict=True)) for row in duckdb.execute(sql).fetchall()]


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
@pytest.mark.parametrize("sql", [DAILY, BY_TARIFF])
@pytest.mark.parametrize("bound", [300, 20_000])
def test_running_totals_add_up_and_keep_the_bound(kind, sql, bound, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as database:
        answer = database.ask(sql, max_error=bound)
    expected = "JointNormal" if bound == 300 else "RaisedCosine"
    assert {one["noise"]["type"] for one in answer.outputs() if not one["exact"]} == {expected}
    exact = {tuple(row[key] for key in ("tariff", "day") if key in row): row for row in truth(tmp_path / "town", sql)}
    step, total = float(answer.outputs()[0]["step"]), 0
    for row in answer.to_arrow().to_pylist():
        own = exact[tuple(row[key] for key in ("tariff", "day") if key in row)]
        assert row["r_low"] - 1e-6 <= own["r"] <= row["r_high"] + 1e-6 and abs(row["r"] - own["r"]) <= bound
        assert row.get("n") == own.get("n")
        if "s" in row:
            total += round(row["s"] / step)
            assert round(row["r"] / step) == total


def test_the_same_running_totals_on_every_engine(engine_place, folder):
    with open_town(folder) as database:
        reference = database.ask(DAILY, max_error=300)
    with open_town(folder, engine_place.place) as database:
        assert database.ask(DAILY, max_error=300).to_arrow().equals(reference.to_arrow())


def test_thirty_running_totals_cost_less_than_with_noise_of_their_own(folder):
    with open_town(folder) as database:
        running = database.price(DAILY, max_error=300)
        unit = database.price("SELECT day, sum(kwh) FROM meters GROUP BY day", max_error=300).charge[KWH].raised_cosine
    assert running.charge[KWH].raised_cosine / unit == pytest.approx(
        24.2, abs=0.5
    )  # 30, and 900 if cells were added up


def test_running_totals_and_their_cells_are_one_draw_with_the_smaller_bound(folder):
    with open_town(folder) as database:
        answer = database.ask(DAILY, max_error={"s": 300, "r": 400})
        assert answer.max_error == {"s": 300.0, "r": 300.0} and len(answer.prepared.charged) == 1
        again = database.ask(f"{DAILY} ORDER BY day DESC LIMIT 3", max_error={"s": 300, "r": 300})
        assert again.standings[0].used_by_this == 0
        assert again.to_arrow().to_pylist() == answer.to_arrow().to_pylist()[:-4:-1]
        backwards = database.price(DAILY.replace("ORDER BY day)", "ORDER BY day DESC)"), max_error=300)
        assert backwards.standings[0].used_by_this > 0


def test_a_share_to_spend_gives_running_totals_that_add_up(folder):
    with open_town(folder) as database:
        answer = database.ask(DAILY, spend=0.05)
    rows = answer.to_arrow().to_pylist()
    assert rows[-1]["r"] == pytest.approx(sum(row["s"] for row in rows))


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT day, sum(kwh) OVER (ORDER BY day) AS r FROM meters GROUP BY day", "is no total of groups: write sum"),
        ("SELECT day, sum(sum(kwh)) OVER () AS r FROM meters GROUP BY day", "has no order"),
        ("SELECT day, sum(avg(kwh)) OVER (ORDER BY day) AS r FROM meters GROUP BY day", "adds up what does not add up"),
        (
            "SELECT day, sum(sum(kwh)) OVER (ORDER BY day ROWS 6 PRECEDING) FROM meters GROUP BY day",
            "has another frame",
        ),
        (
            "SELECT day, sum(sum(kwh)) OVER (ORDER BY day) AS r FROM meters GROUP BY day, tariff",
            "every key of GROUP BY",
        ),
        ("SELECT day, avg(avg(kwh)) OVER (ORDER BY day) AS r FROM meters GROUP BY day", "adds up what does not add up"),
        ("SELECT day, avg(count(*)) OVER (ORDER BY day) AS r FROM meters GROUP BY day", "is a mean of counts: ask for"),
        ("SELECT day, avg(kwh) OVER (ORDER BY day) AS r FROM meters GROUP BY day", "is a window function"),
        ("SELECT day, sum(sum(kwh)) OVER (ORDER BY day) / 2 AS r FROM meters GROUP BY day", "is a window function"),
        ("SELECT day, sum(sum(kwh)) OVER (ORDER BY day) FROM meters GROUP BY ROLLUP (day)", "ask in two questions"),
        (
            "SELECT rooms, sum(sum(kwh)) OVER (ORDER BY rooms) FROM meters GROUP BY 1 HAVING count(*) > 130",
            "would lack",
        ),
        (
            "SELECT CASE WHEN rooms > 3 THEN tariff END AS t, sum(sum(kwh)) OVER (ORDER BY t) FROM meters GROUP BY t",
            "systems disagree",
        ),
        (
            "SELECT day, sum(sum(kwh)) OVER (ORDER BY day) AS a, sum(sum(peak)) OVER (ORDER BY day DESC) AS b "
            "FROM meters GROUP BY day",
            "other keys than the first",
        ),
    ],
)
def test_what_is_no_running_total_is_refused(sql, says, folder):
    with open_town(folder) as database, pytest.raises(RefusedError, match=says):
        database.price(sql, max_error=1000)


@pytest.mark.parametrize(
    "wish", [{"spend": 0.1}, {"max_error": {"r": 400, "b": 300, "q": 0.02}}], ids=["spend", "bound"]
)
def test_a_ratio_beside_a_running_total_of_its_divisor_has_parts_of_its_own(wish, folder):
    """A part of the ratio is the sum that is added up, and is called otherwise."""
    running = "sum(sum(kwh)) OVER (ORDER BY day) AS r, sum(kwh) AS b"
    with open_town(folder) as town:
        answer = town.ask(f"SELECT day, {running}, sum(peak) / sum(kwh) AS q FROM meters GROUP BY day", **wish)
        rows = answer.to_arrow().to_pylist()
        assert rows[1]["r"] == pytest.approx(rows[0]["b"] + rows[1]["b"])
        assert all(row["q_low"] <= row["q"] <= row["q_high"] for row in rows)


def test_running_means_are_running_totals_by_their_groups(folder):
    running = "sum(sum(kwh)) OVER (ORDER BY day) AS r, avg(sum(kwh)) OVER (ORDER BY day) AS m"
    sql = f"SELECT day, {running} FROM meters GROUP BY day ORDER BY day"
    with open_town(folder) as database:
        answer = database.ask(sql, max_error=300)
        assert len(answer.prepared.charged) == 1
    exact = truth(folder, sql)
    for place, (row, own) in enumerate(zip(answer.to_arrow().to_pylist(), exact, strict=True), start=1):
        assert row["m"] == pytest.approx(row["r"] / place, abs=1e-6)
        assert row["m_low"] - 1e-6 <= own["m"] <= row["m_high"] + 1e-6
        assert row["m_high"] - row["m_low"] <= 600 / place + 0.1


@pytest.mark.parametrize("summed", ["sum(rooms)", "sum(area)", "sum(rooms) FILTER (WHERE area > 40)"])
@pytest.mark.parametrize("key", ["day", "rooms"])
def test_running_means_of_public_numbers_are_those_of_sql(summed, key, folder):
    """They were the running totals, and said to be exact."""
    over = f"OVER (ORDER BY {key})"
    sql = (
        f"SELECT {key}, avg({summed}) {over} AS m, sum({summed}) {over} AS r FROM meters GROUP BY {key} ORDER BY {key}"
    )
    with open_town(folder) as database:
        rows = database.ask(sql).to_arrow().to_pylist()
    for row, own in zip(rows, truth(folder, sql), strict=True):
        assert (row["m"], row["r"]) == (pytest.approx(own["m"], rel=1e-12), pytest.approx(own["r"], rel=1e-12))


def test_running_means_of_what_no_private_value_moves_are_within_what_is_said(folder):
    mean = "avg(sum(greatest(peak, 12))) OVER (ORDER BY rooms) AS m"
    sql = f"SELECT rooms, {mean} FROM meters GROUP BY rooms ORDER BY rooms"
    with open_town(folder) as database:
        answer = database.ask(sql, max_error=300)
    assert not answer.charge
    for row, own in zip(answer.to_arrow().to_pylist(), truth(folder, sql), strict=True):
        assert abs(row["m"] - own["m"]) <= answer.max_error["m"]


def test_a_support_is_refused_for_running_totals(folder):
    with open_town(folder) as database, pytest.raises(InputError, match="give max_error or spend"):
        database.price(DAILY, support=ef.Interval(-1, 1))
