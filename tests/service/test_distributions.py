"""How values are distributed: numbers of rows between softened edges, and exact ones where records are protected."""

import re

import numpy as np
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.errors import AllowanceError, InputError, RefusedError
from patients import open_patients, stored
from town import open_town, write_town

EDGES = (5, 10, 20, 30)
HISTOGRAM = "SELECT tariff, histogram(soft(kwh, 2), 5, 10, 20, 30) AS h, count(kwh) AS n FROM meters GROUP BY tariff"
CUMULATIVE = "SELECT tariff, cumulative(kwh, 5, 10, 20, 30) AS c FROM meters GROUP BY tariff"
BINS = ["h_to_5", "h_5_to_10", "h_10_to_20", "h_20_to_30", "h_from_30"]


def readings(folder):
    """Give the readings of each tariff as they are stored."""
    table = pq.read_table(folder / "meters.parquet")
    kwh = np.clip(np.round(table.column("kwh").to_numpy(), 3), 0, 50)
    tariff = np.array(table.column("tariff").to_pylist())
    return {name: kwh[(tariff == name) & ~np.isnan(kwh)] for name in set(tariff)}


def counted(values, width):
    """Give the softened numbers of values up to each edge."""
    return [float(np.clip((edge + width / 2 - values) / width, 0, 1).sum()) for edge in EDGES]


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
@pytest.mark.parametrize("wish", [{"max_error": 30}, {"spend": 0.02}])
def test_bins_are_within_their_bound_and_add_up_to_all_rows(kind, wish, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as town:
        answer = town.ask(HISTOGRAM, **wish)
    truth = readings(tmp_path / "town")
    for row in answer.to_arrow().to_pylist():
        up_to = [0.0, *counted(truth[row["tariff"]], 2), len(truth[row["tariff"]])]
        for name, exact in zip(BINS, np.diff(up_to), strict=True):
            assert row[f"{name}_low"] - 1e-6 <= exact <= row[f"{name}_high"] + 1e-6
            assert abs(row[name] - exact) <= answer.max_error[name] + 1e-6
        assert row["n"] == up_to[-1] == pytest.approx(sum(row[name] for name in BINS), abs=1e-9)


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
def test_cumulative_numbers_are_within_their_bound(kind, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as town:
        answer = town.ask(CUMULATIVE, max_error={"c": 20})
    assert answer.max_error == {f"c_to_{edge}": 20.0 for edge in EDGES}
    truth = readings(tmp_path / "town")
    for row in answer.to_arrow().to_pylist():
        for edge, exact in zip(EDGES, counted(truth[row["tariff"]], 4.5), strict=True):
            assert row[f"c_to_{edge}_low"] - 1e-6 <= exact <= row[f"c_to_{edge}_high"] + 1e-6
            assert abs(row[f"c_to_{edge}"] - exact) <= 20 + 1e-6


def test_what_is_advised_for_a_histogram_is_one_bound_for_all_bins(town):
    with pytest.raises(AllowanceError, match=r"\(max_error [0-9.]+ here\)") as problem:
        town.ask("SELECT histogram(kwh, 5, 10, 20, 30) AS h FROM meters", max_error=0.5)
    bound = float(re.search(r"max_error ([0-9.]+) here", str(problem.value)).group(1))
    assert town.price("SELECT histogram(kwh, 5, 10, 20, 30) AS h FROM meters", max_error=bound).affordable


def test_ten_edges_cost_an_entry_what_one_costs(town):
    one = town.price("SELECT cumulative(soft(kwh, 2), 20) AS c FROM meters", max_error=20)
    edges = ", ".join(str(4 * place) for place in range(1, 11))
    ten = town.price(f"SELECT cumulative(soft(kwh, 2), {edges}) AS c FROM meters", max_error=20)
    assert ten.standings[0].used_by_this == pytest.approx(one.standings[0].used_by_this, rel=0.01)


def test_a_histogram_costs_four_times_a_cumulative_number(town):
    bins = town.price("SELECT histogram(soft(kwh, 2), 10, 20, 30) AS h FROM meters", max_error=20)
    curve = town.price("SELECT cumulative(soft(kwh, 2), 10, 20, 30) AS c FROM meters", max_error=20)
    assert bins.standings[0].used_by_this / curve.standings[0].used_by_this == pytest.approx(4, rel=0.05)


def test_cumulative_numbers_of_a_histogram_are_free(town):
    assert town.ask("SELECT histogram(soft(kwh, 2), 10, 20) AS h FROM meters", max_error=40).standings[0].used > 0
    again = town.ask("SELECT cumulative(soft(kwh, 2), 10, 20) AS c FROM meters", max_error=20)
    assert again.standings[0].used_by_this == 0
    assert [one["high"] for one in town.known()[0]["outputs"]] == [40.0] * 3


def test_the_same_distribution_on_every_engine(engine_place, tmp_path):
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town") as town:
        reference = [town.ask(sql, max_error=30).to_arrow() for sql in (HISTOGRAM, CUMULATIVE)]
    with open_town(tmp_path / "town", engine_place.place) as town:
        assert [town.ask(sql, max_error=30).to_arrow() for sql in (HISTOGRAM, CUMULATIVE)] == reference


def test_softness_is_stated_in_the_sentence(town):
    answer = town.ask("SELECT histogram(soft(kwh, 2), 5, 10, 20) AS h FROM meters", max_error=50)
    assert answer.explain().startswith(
        "h_to_5 … h_from_20 are numbers of rows by kwh, certainly within ±50 of the truth with kwh clamped to 0 … 50 "
        "kWh and edges softened over 2 kWh each: rows at 4 … 6, …, 19 … 21 kWh count in part."
    )
    assert answer.summary().startswith(
        "h is certainly within ±50 of the truth, with kwh clamped to 0 … 50 kWh and thresholds softened over 2 kWh"
    )
    one = town.price("SELECT cumulative(soft(kwh, 2), 5) AS c FROM meters", max_error=50)
    assert "c_to_5 is the number of rows by kwh" in one.explain() and "rows at 4 … 6 kWh count" in one.explain()
    stated = answer.outputs()[1]
    assert (stated["edges"], stated["softness"], stated["low"], stated["high"]) == ([5.0, 10.0], 2.0, -50.0, 50.0)
    row, cell = answer.to_arrow().to_pylist()[0], answer.cells()[0]["outputs"]["h_5_to_10"]
    assert cell["certain_interval"] == [row["h_5_to_10_low"], row["h_5_to_10_high"]]


def test_columns_can_have_bounds_of_their_own_and_be_sorted_by(town):
    sql = "SELECT tariff, cumulative(kwh, 10, 20) AS c FROM meters GROUP BY tariff ORDER BY c_to_20 DESC"
    answer = town.ask(sql, max_error={"c": 30, "c_to_20": 20})
    assert answer.max_error == {"c_to_10": 30.0, "c_to_20": 20.0}
    assert "c_to_10 is the number of rows by kwh, certainly within ±30" in answer.explain()
    found = answer.to_arrow().column("c_to_20").to_pylist()
    assert found == sorted(found, reverse=True)


@pytest.mark.parametrize(
    ("asked", "reason", "says"),
    [
        ("cumulative(kwh)", "aggregate", "names no edges: write cumulative"),
        ("cumulative()", "aggregate", "names no edges"),
        ("histogram(rooms, 2, 4)", "aggregate", "GROUP BY it and count"),
        ("histogram(kwh + peak, 2, 4)", "aggregate", "a private column as it is"),
        ("histogram(kwh, 4, 2)", "constant", "in order"),
        ("histogram(kwh, 0, 20)", "constant", "between 0 and 50"),
        ("histogram(kwh, rooms)", "constant", "plain number"),
        ("histogram(soft(kwh, 6), 10, 15)", "constant", "above 0 and at most 5"),
        ("histogram(soft(kwh), 10, 15)", "function", "soft"),
        ("2 * histogram(kwh, 10, 15)", "aggregate", "select it as a column of its own"),
        ("avg(soft(kwh, 2))", "function", "cumulative"),
        ("avg(kwh) AS h_to_5, histogram(kwh, 5, 10) AS h", "column", "rename"),
        (f"histogram(kwh, {', '.join(str(place / 2) for place in range(1, 70))})", "too-long", "at most 64"),
    ],
)
def test_what_is_no_distribution_is_refused(asked, reason, says, town):
    with pytest.raises(RefusedError, match=says) as refused:
        town.price(f"SELECT {asked} FROM meters", max_error=10)
    assert refused.value.fields["reason"] == reason


def test_a_distribution_is_not_sorted_by_as_a_whole_and_has_no_support(town):
    for order in ("1", "h"):
        with pytest.raises(RefusedError, match="is several columns: sort by one of them"):
            town.price(f"SELECT histogram(kwh, 5, 10) AS h FROM meters ORDER BY {order}", max_error=10)
    with pytest.raises(InputError, match="give max_error or spend"):
        town.price("SELECT histogram(kwh, 5, 10) AS h FROM meters", support=ef.Interval(-1, 2))


def test_bins_of_records_are_exact_and_whole(tmp_path):
    with open_patients(tmp_path / "patients") as database:
        answer = database.ask("SELECT sex, histogram(age, 20, 40.5, 60) AS h FROM patients GROUP BY sex", max_error=60)
        running = database.ask(
            "SELECT cumulative(cost, 0, 100) FILTER (WHERE sex = 'f') AS c FROM patients", max_error=60
        )
        truth = stored(database)
        with pytest.raises(RefusedError, match="leave soft out"):
            database.price("SELECT cumulative(soft(cost, 2), 0) AS c FROM patients", max_error=60)
    bins = {"h_to_20": (-1, 20), "h_20_to_40.5": (20, 40.5), "h_40.5_to_60": (40.5, 60), "h_from_60": (60, 999)}
    for row in answer.to_arrow().to_pylist():
        for name, (low, high) in bins.items():
            exact = sum(one["sex"] == row["sex"] and low < one["age"] <= high for one in truth)
            assert row[f"{name}_low"] <= exact <= row[f"{name}_high"] and row[name] == int(row[name])
    row = running.to_arrow().to_pylist()[0]
    for edge in (0, 100):
        exact = sum(one["sex"] == "f" and one["cost"] / 2 <= edge for one in truth)
        assert row[f"c_to_{edge}_low"] <= exact <= row[f"c_to_{edge}_high"]
    assert "Each of h_to_20 … h_from_60 is certainly within ±60" in answer.explain()
