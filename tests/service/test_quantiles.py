"""Medians and quantiles: certain intervals from released shares."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.errors import AllowanceError, InputError, RefusedError
from errorfloor.preparing.quantiles import ends, neighbours
from errorfloor.sql.question import Quantile
from town import open_town, write_town

SHARES = (0.05, 0.25, 0.5, 0.9)


def stored(folder):
    """Give the readings of each tariff as they are stored."""
    table = pq.read_table(folder / "meters.parquet")
    kwh = np.clip(np.round(table.column("kwh").to_numpy(), 3), 0, 50)
    tariff = np.array(table.column("tariff").to_pylist())
    return {name: np.sort(kwh[(tariff == name) & ~np.isnan(kwh)]) for name in set(tariff)}


def located(row, name):
    return row[f"{name}_low"], row[name], row[f"{name}_high"]


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
def test_quantiles_are_where_they_are_said_to_be(kind, tmp_path):
    write_town(tmp_path / "town", kind)
    wanted = ", ".join(f"quantile(kwh, {share}) AS q{place}" for place, share in enumerate(SHARES))
    with open_town(tmp_path / "town") as town:
        answer = town.ask(f"SELECT tariff, {wanted} FROM meters GROUP BY tariff", max_error=10)
    truth = stored(tmp_path / "town")
    for row in answer.to_arrow().to_pylist():
        values = truth[row["tariff"]]
        for place, share in enumerate(SHARES):
            low, middle, high = located(row, f"q{place}")
            position = share * len(values)
            assert low <= values[int(np.ceil(position)) - 1] and values[int(np.floor(position))] <= high
            assert low <= middle <= high
            assert high - low < 50 * 0.75


def test_ends_enclose_the_quantile_for_the_worst_released_shares():
    """Random distributions with ties, and shares that are off by as much as they may be, in any direction."""
    generator = np.random.default_rng(7)
    for trial in range(300):
        step, count = (Fraction(1, 100), 1000) if trial % 2 else (Fraction(1), 9)
        values = np.sort(generator.choice(count + 1, size=generator.integers(1, 40), replace=True) * float(step))
        share = Fraction(int(generator.integers(1, 20)), 20)
        quantile = Quantile("q", "", "x", share, Fraction(0), count * step, step)
        ramps = np.array([[float(a), float(b)] for a, b in quantile.ramps])
        falling = np.clip((ramps[:, 1:] - values) / (ramps[:, 1:] - ramps[:, :1]), 0, 1).mean(axis=1)
        off = generator.choice([0.0, 0.02, 0.2])
        released = falling + generator.uniform(-off, off, len(falling))
        low, high = np.maximum(released - off, 0), np.minimum(released + off, 1)
        first, last = ends(quantile, low[:, None] - 1e-12, high[:, None] + 1e-12)
        at = share * len(values)
        least, most = values[int(np.ceil(at)) - 1], values[min(int(np.floor(at)), len(values) - 1)]
        assert first[0] * float(step) <= least + 1e-9 and most - 1e-9 <= last[0] * float(step)


def test_an_interpolated_quantile_is_between_its_ends(tmp_path):
    """Few rows far apart: percentile_cont lies between two of them, where no other convention puts a quantile."""
    folder = tmp_path / "town"
    write_town(folder)
    generator = np.random.default_rng(11)
    for _ in range(200):
        values = np.sort(generator.integers(0, 1001, size=generator.integers(1, 9)) / 100)
        share = Fraction(int(generator.integers(1, 20)), 20)
        quantile = Quantile("q", "", "x", share, Fraction(0), Fraction(10), Fraction(1, 100), True)
        ramps = np.array([[float(a), float(b)] for a, b in quantile.ramps])
        falling = np.clip((ramps[:, 1:] - values) / (ramps[:, 1:] - ramps[:, :1]), 0, 1).mean(axis=1)[:, None]
        shares = tuple(np.array([each]) for each in neighbours(share, len(values)))
        first, last = ends(quantile, falling - 1e-12, falling + 1e-12, shares)
        exact = np.quantile(values, float(share))
        assert first[0] / 100 <= exact + 1e-9 and exact - 1e-9 <= last[0] / 100
    with open_town(folder) as database:
        sql = "SELECT tariff, percentile_cont(0.3) WITHIN GROUP (ORDER BY kwh) AS q FROM meters GROUP BY tariff"
        rows = database.ask(sql, max_error=10).to_arrow().to_pylist()
    for row in rows:
        assert row["q_low"] <= np.quantile(stored(folder)[row["tariff"]], 0.3) <= row["q_high"]


def test_ends_keep_their_digits_far_from_zero():
    step, low = Fraction(1, 1000), Fraction(10**9)
    quantile = Quantile("q", "", "x", Fraction(1, 2), low, low + 1, step)
    at = 500  # every row has this value
    ramps = [(float((a - low) / step), float((b - low) / step)) for a, b in quantile.ramps]
    falling = np.array([[min(max((b - at) / (b - a), 0.0), 1.0)] for a, b in ramps])
    first, last = ends(quantile, falling, falling)
    assert first[0] <= 10**12 + at <= last[0] and last[0] - first[0] <= 10


def test_few_values_are_told_exactly_where_shares_are():
    quantile = Quantile("q", "", "age", Fraction(1, 2), Fraction(0), Fraction(4), Fraction(1))
    below = np.array([0.1, 0.3, 0.8, 1.0])[:, None]  # shares at or below 0, 1, 2, 3
    assert [int(end[0]) for end in ends(quantile, below, below)] == [2, 2]


def test_a_curve_of_shares_costs_an_entry_what_one_share_costs(town):
    width = 50 / 128 * 0.998
    one = town.price(
        f"SELECT avg((greatest(kwh, 20) - greatest(kwh, {20 - width})) / {width}) AS a FROM meters", max_error=0.2
    )
    curve = town.price("SELECT median(kwh) FROM meters", max_error=10)
    assert curve.standings[0].used_by_this / one.standings[0].used_by_this == pytest.approx(1.0, rel=0.01)


def test_other_quantiles_of_the_same_shares_are_free(town):
    first = town.ask("SELECT median(kwh) FROM meters", max_error=10)
    again = town.ask("SELECT percentile_cont(0.25) WITHIN GROUP (ORDER BY kwh) AS quarter FROM meters", max_error=10)
    assert first.standings[0].used_by_this > 0 and again.standings[0].used_by_this == 0
    assert again.to_arrow().column_names == ["quarter", "quarter_low", "quarter_high"]
    assert town.known()[-1]["outputs"] == [{"name": "median_kwh", "unit": "", "exact": False, "low": -0.2, "high": 0.2}]


def test_median_of_skewed_values_is_located_for_little(tmp_path):
    generator = np.random.default_rng(5)
    pay = np.clip(np.round(generator.lognormal(np.log(8), 0.8, 60_000), 3), 0, 50)
    write_town(tmp_path)  # for its key
    pq.write_table(pa.table({"id": np.arange(len(pay)), "pay": pay}), tmp_path / "pay.parquet")
    (tmp_path / "errorfloor.toml").write_text(
        '[tables.pay]\nsource = "pay.parquet"\nversion = "1"\nrow_key = ["id"]\npublic = { id = "whole" }\n'
        "[tables.pay.private.pay]\nrange = [0, 50]\nresolution = 0.001\nfloor = 2.5\n"
    )
    with open_town(tmp_path) as database:
        answer = database.ask("SELECT median(pay) FROM pay", max_error=0.3)
    low, _, high = located(answer.to_arrow().to_pylist()[0], "median_pay")
    assert low <= np.median(pay) <= high
    assert high - low <= 0.02 * 50
    assert answer.standings[0].used_by_this < 0.01


def test_quantile_is_stated_with_its_shares(town):
    answer = town.ask(
        "SELECT tariff, median(kwh) AS m, avg(kwh) AS a FROM meters GROUP BY tariff", max_error={"m": 10, "a": 5}
    )
    assert answer.max_error == {"m": 10.0, "a": 5.0}
    assert answer.explain().startswith(
        "m is certainly between m_low and m_high: it is located between 128 shares of rows"
    )
    stated, mean = answer.outputs()
    assert stated["shares"] == {"count": 128, "softness": pytest.approx(0.389844, abs=1e-6), "max_error": 0.2}
    assert mean["name"] == "a"
    row = answer.to_arrow().to_pylist()[0]
    cell = answer.cells()[0]["outputs"]["m"]
    assert cell == {
        "answer": row["m"],
        "exact": False,
        "unit": "kWh",
        "certain_interval": [row["m_low"], row["m_high"]],
    }
    assert f"{row['m_low']:.3f} … {row['m_high']:.3f} kWh" in answer.text()


def test_a_bound_that_tells_nothing_is_called_that(town):
    said = "That tells nothing: it may lie anywhere in the range. Ask for a max_error far below 25."
    assert said in town.price("SELECT median(kwh) FROM meters", max_error=2000).explain()
    assert "tells nothing" in town.price("SELECT median(kwh) FROM meters", max_error=2000).summary()
    assert "tells nothing" not in town.price("SELECT median(kwh) FROM meters", max_error=20).explain()


def test_a_share_to_spend_is_met(town):
    answer = town.ask("SELECT median(kwh) FROM meters", spend=0.1)
    assert 0.09 < answer.standings[0].used_by_this <= 0.1


def test_groups_without_values_have_no_quantile(town):
    answer = town.ask(
        "SELECT tariff, median(kwh) FILTER (WHERE rooms > 5 AND tariff = 'ToU') AS m FROM meters GROUP BY tariff",
        max_error=15,
    )
    rows = {row["tariff"]: row["m"] for row in answer.to_arrow().to_pylist()}
    assert rows["Std"] is None


def test_where_no_group_has_rows_there_is_no_quantile(town):
    each = "percentile_cont(0.75) WITHIN GROUP (ORDER BY kwh) AS upper, median(kwh) AS middle"
    answer = town.ask(f"SELECT rooms, {each} FROM meters WHERE rooms > 100 GROUP BY rooms", max_error=10)
    assert answer.to_arrow().num_rows == 0 and not answer.charge


@pytest.mark.parametrize(
    ("sql", "reason", "says"),
    [
        ("SELECT median(rooms) FROM meters", "aggregate", "GROUP BY it and count"),
        ("SELECT median(kwh + peak) FROM meters", "aggregate", "a private column as it is"),
        ("SELECT 2 * median(kwh) FROM meters", "aggregate", "select it as a column of its own"),
        ("SELECT quantile(kwh, 1) FROM meters", "constant", "between 0 and 1"),
        ("SELECT avg(kwh) AS m_low, median(kwh) AS m FROM meters", "column", "rename"),
    ],
)
def test_what_is_no_quantile_is_refused(sql, reason, says, town):
    with pytest.raises(RefusedError, match=says) as refused:
        town.price(sql, max_error=10)
    assert refused.value.fields["reason"] == reason


def test_a_support_is_refused_for_a_quantile(town):
    with pytest.raises(InputError, match="give max_error or spend"):
        town.price("SELECT median(kwh) FROM meters", support=ef.Interval(-0.1, 0.2))


def test_a_refused_quantile_says_which_bound_would_do(town):
    with pytest.raises(AllowanceError, match=r"max_error [0-9.]+ here") as refused:
        town.ask("SELECT median(kwh) FROM meters", max_error=0.01)
    bound = float(str(refused.value).split("max_error ")[-1].split(" here")[0])
    assert town.price("SELECT median(kwh) FROM meters", max_error=bound).affordable
