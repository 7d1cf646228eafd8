"""ROLLUP, CUBE and GROUPING SETS: totals that add up."""

import itertools
import json

import duckdb
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.access.replies import body_of
from errorfloor.access.size import reply_bytes
from errorfloor.catalogue import load
from errorfloor.errors import InputError, RefusedError
from errorfloor.identity import KeyRing
from errorfloor.server.statements import json_parts
from errorfloor.service.registering import register_all
from town import DAYS, HOUSEHOLDS, open_town, write_town

ASKED = "SELECT tariff, rooms, sum(kwh) AS total, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY {}"
WISH = {"total": 8000.0, "mean": 20.0}
GROUPINGS = {
    "ROLLUP (tariff, rooms)": [("tariff", "rooms"), ("tariff",), ()],
    "CUBE (tariff, rooms)": [("tariff", "rooms"), ("tariff",), ("rooms",), ()],
    "GROUPING SETS ((tariff, rooms), (rooms), ())": [("tariff", "rooms"), ("rooms",), ()],
    "tariff, ROLLUP (rooms)": [("tariff", "rooms"), ("tariff",)],
    "ROLLUP ((tariff, rooms))": [("tariff", "rooms"), ()],
}
WINDOW = "sum(sum(kwh * w * w)) OVER (ORDER BY g) AS s FROM m GROUP BY g"
WEIGHED = """
[tables.m]
source = "m.csv"
version = "1"
row_key = ["id"]
public = { id = "whole", g = "whole", w = { type = "number", resolution = 0.000000001 } }

[tables.m.private.kwh]
range = [0, 50]
resolution = 0.001
floor = 2.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("totals") / "town"
    write_town(folder)
    return folder


@pytest.fixture(scope="module")
def database(folder):
    with open_town(folder) as database:
        yield database


def truth(folder):
    rows = pq.read_table(folder / "meters.parquet").to_pylist()
    return [(row["tariff"], row["rooms"], row["kwh"] and min(max(round(row["kwh"], 3), 0), 50)) for row in rows]


def steps(value, step):
    return round(value / step)


def test_totals_of_large_public_numbers_do_not_wrap(database):
    """Each group has a whole number of 64 bits, and all together have none."""
    large = "sum(rooms * 0 + 13000000000000000)"
    (total, *parts) = database.ask(f"SELECT tariff, {large} AS s FROM meters GROUP BY ROLLUP (tariff)").to_arrow()["s"]
    running = f"SELECT tariff, sum({large}) OVER (ORDER BY tariff) AS s FROM meters GROUP BY tariff"
    *_, last = database.ask(running).to_arrow()["s"]
    exact = HOUSEHOLDS * DAYS * 13 * 10**15
    assert exact > 2**63 > max(one.as_py() for one in parts)
    assert total.as_py() == last.as_py() == exact


def test_averages_of_public_numbers_that_are_whole_in_every_group_need_not_be_in_totals(database):
    """The answer failed after its charge, whenever it was asked."""
    asked = "SELECT tariff, rooms, avg(rooms) AS r, avg(kwh) AS k FROM meters GROUP BY ROLLUP (tariff, rooms)"
    found = {
        (row["tariff"], row["rooms"]): row["r"] for row in database.ask(asked, max_error=20).to_arrow().to_pylist()
    }
    assert (found["Std", 2], found["Std", 6], found[None, None]) == (2, 6, 3.5)


@pytest.mark.parametrize("grouping", GROUPINGS)
def test_totals_are_the_sums_of_their_parts_to_the_last_digit(grouping, database):
    answer = database.ask(ASKED.format(grouping), max_error=WISH)
    rows = answer.to_arrow().to_pylist()
    step = float(next(one["step"] for one in answer.outputs() if one["name"] == "total"))
    fine = [row for row in rows if row["tariff"] is not None and row["rooms"] is not None]
    assert len(fine) == 6
    for row in rows:
        parts = [one for one in fine if all(row[key] in (None, one[key]) for key in ("tariff", "rooms"))]
        assert steps(row["total"], step) == sum(steps(one["total"], step) for one in parts)
        assert row["n"] == sum(one["n"] for one in parts)
    expected = sorted(
        (len(kept), len({tuple(one[key] for key in kept) for one in fine})) for kept in GROUPINGS[grouping]
    )
    shown = [tuple(key for key in ("tariff", "rooms") if row[key] is not None) for row in rows]
    assert expected == sorted((len(kept), shown.count(kept)) for kept in GROUPINGS[grouping])


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
def test_every_row_keeps_the_bound_and_its_interval_holds_the_truth(kind, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as database:
        answer = database.ask(ASKED.format("CUBE (tariff, rooms)"), max_error=WISH)
    assert answer.max_error == pytest.approx({"total": 8000.0, "mean": 20.0, "n": 0.0})
    values = truth(tmp_path / "town")
    for row in answer.to_arrow().to_pylist():
        here = [v for t, r, v in values if row["tariff"] in (None, t) and row["rooms"] in (None, r) and v is not None]
        exact = {"total": sum(here), "mean": sum(here) / len(here)}
        for name, value in exact.items():
            assert row[f"{name}_low"] - 1e-9 <= value <= row[f"{name}_high"] + 1e-9
            assert abs(row[name] - value) <= WISH[name]


def test_totals_cost_what_the_cells_cost(database):
    cells = database.price("SELECT tariff, rooms, avg(peak) AS a FROM meters GROUP BY tariff, rooms", max_error=5)
    cube = database.price("SELECT tariff, rooms, avg(peak) AS a FROM meters GROUP BY CUBE (tariff, rooms)", max_error=5)
    assert cube.charge == cells.charge
    assert [one.label.encoded for one in cube.prepared.charged] == [one.label.encoded for one in cells.prepared.charged]
    sums = database.price("SELECT tariff, rooms, sum(peak) AS a FROM meters GROUP BY tariff, rooms", max_error=100)
    cube = database.price(
        "SELECT tariff, rooms, sum(peak) AS a FROM meters GROUP BY CUBE (tariff, rooms)", max_error=600
    )
    assert cube.charge == sums.charge  # six cells make the grand total


def test_asked_again_totals_are_free_and_the_same(folder):
    sql = ASKED.format("ROLLUP (tariff, rooms)")
    with open_town(folder) as database:
        first = database.ask(sql, max_error=WISH)
        again = database.ask(sql, max_error=WISH)
        assert again.to_arrow().equals(first.to_arrow()) and again.standings[0].used_by_this == 0
        limited = database.ask(f"{sql} ORDER BY total DESC LIMIT 2", max_error=WISH).to_arrow().to_pylist()
        assert limited == sorted(first.to_arrow().to_pylist(), key=lambda row: -row["total"])[:2]


def test_totals_are_stated_row_by_row(database):
    answer = database.ask(ASKED.format("ROLLUP (tariff, rooms)"), max_error=WISH)
    total, mean, _ = answer.outputs()
    assert total["parts"] == 6 and total["high"] == pytest.approx(8000) and "parts" not in mean
    assert "of which a total has up to 6" in answer.explain()
    top = answer.cells()[0]
    assert top["keys"] == {"tariff": None, "rooms": None}
    assert set(top["outputs"]["total"]) == {"answer", "exact", "unit", "certain_interval"}
    assert "entries" in answer.cells()[-1]["outputs"]["total"]
    reply = b"".join(json_parts(answer))
    assert json.loads(reply)["cells"] == json.loads(body_of(answer.cells()))
    assert len(reply) < reply_bytes(answer.prepared)
    assert json.loads(reply)["groups"] == answer.to_arrow().num_rows
    assert " ± 1333.4 kWh" in answer.text()
    low, high = top["outputs"]["total"]["certain_interval"]
    assert low >= 0 and high <= 36000  # no farther than is possible


def test_an_owner_with_rows_in_several_cells_pays_for_all_of_them(tmp_path):
    write_town(tmp_path / "town", owner=True)
    with open_town(tmp_path / "town") as database:
        month = "date_trunc('month', day)"
        cells = database.price(f"SELECT {month} AS m, sum(peak) AS a FROM meters GROUP BY m", max_error=5e4)
        totals = database.price(f"SELECT {month} AS m, sum(peak) AS a FROM meters GROUP BY ROLLUP (m)", max_error=1e5)
    assert totals.charge == cells.charge


@pytest.mark.parametrize(
    ("sql", "says"),
    [
        ("SELECT tariff, var_pop(kwh) FROM meters GROUP BY ROLLUP (tariff)", "only sums, averages and counts add up"),
        ("SELECT tariff, median(kwh) FROM meters GROUP BY CUBE (tariff)", "only sums, averages and counts add up"),
        ("SELECT tariff, rooms, sum(kwh) FROM meters GROUP BY GROUPING SETS ((tariff), (rooms))", "all the keys"),
        ("SELECT sum(kwh) FROM meters GROUP BY ROLLUP (tariff, kwh)", "private"),
        ("SELECT rooms, sum(kwh) FROM meters GROUP BY ROLLUP (rooms) HAVING count(*) > 130", "totals would lack them"),
        (
            "SELECT CASE WHEN rooms > 3 THEN tariff END AS t, sum(kwh) FROM meters GROUP BY ROLLUP (t)",
            "could not be told from totals",
        ),
        (
            "SELECT sum(kwh) FROM meters GROUP BY CUBE (tariff, rooms, day, area, household, rooms + 1, rooms + 2)",
            "more than 64",
        ),
    ],
)
def test_what_would_not_add_up_is_refused(sql, says, database):
    with pytest.raises(RefusedError, match=says):
        database.price(sql, max_error=1e6)


def test_totals_of_cells_that_were_put_together_add_up(folder):
    with open_town(folder) as database:
        database.ask("SELECT tariff, rooms, area, sum(peak) AS s FROM meters GROUP BY 1, 2, 3", max_error=300.0)
        answer = database.ask(
            "SELECT tariff, rooms, sum(peak) AS s FROM meters GROUP BY ROLLUP (tariff, rooms)", max_error=30000.0
        )
    assert answer.standings[0].used_by_this == 0 and answer.outputs()[0]["step"] == "1"
    whole, *rows = answer.to_arrow().to_pylist()
    assert whole["s"] == sum(row["s"] for row in rows if row["rooms"] is not None)


def test_rows_of_cells_without_a_value_are_counted(tmp_path):
    write_town(tmp_path / "town", "high")
    with open_town(tmp_path / "town") as database:
        answer = database.ask(
            "SELECT tariff, sum(kwh) FILTER (WHERE tariff = 'Std') / count(*) AS s FROM meters GROUP BY ROLLUP (1)",
            max_error=5,
        )
    values = truth(tmp_path / "town")
    exact = sum(value or 0 for tariff, _, value in values if tariff == "Std") / len(values)
    whole = answer.to_arrow().to_pylist()[0]
    assert whole["tariff"] is None and whole["s_low"] <= exact <= whole["s_high"]
    assert whole["s_high"] - whole["s_low"] < 8  # the part of the rows that the noise is about


def test_a_support_is_refused_for_totals_of_sums(database):
    for what in ("sum(kwh)", "avg(kwh)"):
        with pytest.raises(InputError, match="give max_error or spend"):
            database.price(
                f"SELECT tariff, {what} FROM meters GROUP BY ROLLUP (tariff)", support=ef.Interval(-0.1, 0.2)
            )


def test_a_share_to_spend_is_met_and_totals_add_up_on_lattices_that_differ(database, folder):
    sql = "SELECT CASE WHEN rooms > 5 AND tariff = 'Std' THEN 'few' ELSE 'many' END AS home, avg(kwh) AS mean"
    sql = f"{sql}, sum(kwh) AS total, count(kwh) AS n FROM meters GROUP BY ROLLUP (home)"
    answer = database.ask(sql, spend=0.1)
    assert 0.09 < answer.standings[0].used_by_this <= 0.1
    whole, *parts = answer.to_arrow().to_pylist()
    assert whole["home"] is None and round(1e9 * whole["total"]) == sum(round(1e9 * one["total"]) for one in parts)
    assert whole["mean"] == pytest.approx(sum(one["n"] * one["mean"] for one in parts) / whole["n"], rel=1e-12)
    exact = [value for _, _, value in truth(folder) if value is not None]
    assert whole["mean_low"] <= sum(exact) / len(exact) <= whole["mean_high"]
    assert whole["total_low"] <= sum(exact) <= whole["total_high"]
    assert whole["mean_high"] - whole["mean_low"] < max(one["mean_high"] - one["mean_low"] for one in parts)


def test_groupings_are_those_of_sql(database, folder):
    """The rows of every grouping are those that DuckDB gives for the same statement."""
    duckdb.execute(f"CREATE OR REPLACE VIEW meters AS SELECT * FROM '{folder / 'meters.parquet'}'")
    for grouping in itertools.chain(GROUPINGS, ["CUBE (tariff, rooms), ROLLUP (household)"]):
        keys = "tariff, rooms" + (", household" if "household" in grouping else "")
        sql = f"SELECT {keys}, count(*) AS n FROM meters GROUP BY {grouping}"
        ours = [tuple(row.values()) for row in database.ask(sql).to_arrow().to_pylist()]
        theirs = duckdb.execute(sql).fetchall()
        assert sorted(map(repr, ours)) == sorted(map(repr, theirs))


@pytest.mark.parametrize("grouping", ["ROLLUP (tariff, rooms)", "CUBE (tariff, rooms)"])
def test_no_rows_have_one_total(grouping, database):
    """As in SQL: nothing to add up, counted as none; also when it is given again."""
    text = (
        "SELECT tariff, rooms, sum(kwh) AS s, avg(kwh) AS a, count(*) AS n, sum(rooms) AS r FROM meters "
        f"WHERE rooms > 99 GROUP BY {grouping}"
    )
    for _ in range(2):
        answer = database.ask(text, max_error=1e6)
        assert answer.to_arrow().to_pylist() == [dict.fromkeys(("tariff", "rooms", "s", "a", "r")) | {"n": 0}]
        assert json.loads(b"".join(json_parts(answer)))["rows"] == [[None, None, None, None, 0, None]]


@pytest.mark.parametrize("asked", ["sum(kwh * w * w) AS s FROM m GROUP BY ROLLUP (g)", WINDOW])
def test_sums_of_cells_that_an_integer_cannot_hold_are_refused(asked, tmp_path):
    weights = ["0.000000001", "1", "1000"]
    rows = "".join(f"{i},{i % 3},{weights[i % 3]},50\n" for i in range(60))
    (tmp_path / "m.csv").write_text(f"id,g,w,kwh\n{rows}")
    (tmp_path / "errorfloor.toml").write_text(WEIGHED)
    KeyRing.create(tmp_path / "keys.json")
    register_all(load(tmp_path / "errorfloor.toml"))
    with ef.open(tmp_path / "errorfloor.toml") as database:
        with pytest.raises(
            RefusedError, match=r"sums stay exact up to 5e\+18 steps\. Ask for wider bounds, give max_error"
        ):
            database.ask(f"SELECT g, {asked}", spend=0.01)
        assert database.history() == []
        answer = database.ask(f"SELECT g, {asked}", max_error=1e8).to_arrow().to_pylist()
    truth = 20 * 50 * (1e-18 + 1 + 1e6)
    assert answer[-1]["s_low"] <= truth <= answer[-1]["s_high"] or answer[0]["s_low"] <= truth <= answer[0]["s_high"]
