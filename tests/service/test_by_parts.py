"""What has no bounded derivative is computed from released parts, with certain intervals."""

from itertools import product
from statistics import correlation, linear_regression, mean, pstdev, stdev

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.engines.allotment import Allotment, allotted
from errorfloor.errors import AllowanceError, EngineError, InputError, RefusedError
from errorfloor.postgres.answers import answer_rows
from errorfloor.preparing.choosing import prepare
from errorfloor.preparing.derived import check_not_always_null, enclosed
from errorfloor.preparing.noises import QuestionWish
from errorfloor.pricing import bounds
from errorfloor.pricing.interval import Enclosure
from errorfloor.sql.question import by_parts
from errorfloor.sql_text.asked import asked
from errorfloor.sql_text.statements import Statement
from town import open_town, write_town

ASKED = {
    "stddev_pop(kwh)": lambda kwh, peak: pstdev(kwh),
    "stddev(kwh)": lambda kwh, peak: stdev(kwh),
    "corr(kwh, peak)": correlation,
    "regr_slope(kwh, peak)": lambda kwh, peak: linear_regression(peak, kwh).slope,
    "avg(peak) / avg(kwh)": lambda kwh, peak: mean(peak) / mean(kwh),
    "ln(avg(kwh))": lambda kwh, peak: float(np.log(mean(kwh))),
    "sum(peak * kwh) / sum(kwh)": lambda kwh, peak: float(np.dot(kwh, peak) / sum(kwh)),
    "avg(kwh) * stddev_pop(kwh) + 2": lambda kwh, peak: mean(kwh) * pstdev(kwh) + 2,
}


def stored(folder):
    """Give readings and peaks of each tariff as they are stored."""
    table = pq.read_table(folder / "meters.parquet")
    kwh = np.clip(np.round(table.column("kwh").to_numpy(), 3), 0, 50)
    peak = np.round(table.column("peak").to_numpy(), 2)
    peak = np.clip(np.where(np.isnan(peak), 1.0, peak), 0.5, 10)
    tariff = np.array(table.column("tariff").to_pylist())
    chosen = {name: (tariff == name) & ~np.isnan(kwh) for name in set(tariff)}
    return {name: (kwh[one].tolist(), peak[one].tolist()) for name, one in chosen.items()}


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
@pytest.mark.parametrize("wish", [{"spend": 0.1}, {"max_error": 0.5}], ids=["narrow", "wide"])
def test_what_has_no_bounded_derivative_is_answered_by_parts(kind, wish, tmp_path):
    write_town(tmp_path / "town", kind)
    truth, shown = stored(tmp_path / "town"), 0
    with open_town(tmp_path / "town") as town:
        for asked, exact in ASKED.items():
            where = " FILTER (WHERE kwh IS NOT NULL)" if asked.startswith("avg(peak)") else ""
            sql = asked.replace("avg(peak)", f"avg(peak){where}")
            wanted = {"max_error": 10} if "max_error" in wish and "*" in asked else wish
            wanted = {"max_error": 0.2} if "max_error" in wish and asked.startswith("avg(peak)") else wanted
            answer = town.ask(f"SELECT tariff, {sql} AS a FROM meters GROUP BY tariff", **wanted)
            assert "computed from released parts" in answer.explain()
            for row in answer.to_arrow().to_pylist():
                if row["a"] is None:
                    continue
                shown += 1
                try:
                    value = exact(*truth[row["tariff"]])
                except (ValueError, ZeroDivisionError, ArithmeticError):
                    continue  # all values are the same
                if np.isfinite(value):
                    assert (
                        row["a_low"] - 1e-9 <= value <= row["a_high"] + 1e-9
                        and row["a_low"] <= row["a"] <= row["a_high"]
                    )
    assert shown > 0


@pytest.mark.parametrize("wish", [{"spend": 0.01}, {"max_error": {"s": 40, "p": 5}}], ids=["spend", "bound"])
def test_the_deviation_within_groups_of_one_row_is_0_and_its_answer_can_be_read(wish, town):
    """A part that is 0 in every group has no slope: the answer failed after it was charged."""
    question = "SELECT household, day, stddev_pop(kwh) AS s, avg(peak) AS p FROM meters GROUP BY household, day"
    answer = town.ask(question, **wish)
    assert set(answer.to_arrow()["s_low"].to_pylist()) == set(answer.to_arrow()["s_high"].to_pylist()) == {0.0, None}
    assert "s is certainly between s_low and s_high" in answer.explain()
    assert answer.to_dict()["outputs"][0]["by_parts"]


def test_totals_of_a_ratio_that_is_null_somewhere_have_no_certain_interval(tmp_path):
    """Parts do not show the divisor of one group, whose true ratio is the greatest: it was not in the interval."""
    write_town(tmp_path / "town")
    source = tmp_path / "town" / "meters.parquet"
    rows = pq.read_table(source)
    kwh = np.where(rows["rooms"].to_numpy() == 6, 0.5, 45.0)
    pq.write_table(rows.set_column(rows.column_names.index("kwh"), "kwh", pa.array(kwh)), source)
    ratios = "SELECT rooms, sum(peak) / sum(kwh) AS q FROM meters GROUP BY rooms"

    def shown(around):
        question = asked(Statement.of(around.format(ratios)))
        return answer_rows(town.ask(question.sql, spend=0.0002), question, bounds=True).table.to_pylist()

    with open_town(tmp_path / "town") as town:
        known = {row["rooms"]: row["q_high"] for row in shown("SELECT * FROM ({}) AS t WHERE q IS NOT NULL")}
        assert known.keys() == {1, 2, 3, 4, 5} and max(known.values()) < 1  # and in the sixth it is at least 1
        for total in ("sum", "avg", "min", "max"):
            (row,) = shown(f"SELECT {total}(q) AS q FROM ({{}}) AS t")
            assert row["q_low"] is row["q_high"] is None and row["q"] < 1
            (row,) = shown(f"SELECT {total}(q_high) AS h FROM (SELECT * FROM ({{}}) AS t) AS u")
            assert row["h"] is None
        (row,) = shown("SELECT max(q) AS q FROM ({}) AS t WHERE rooms < 6")
        assert row["q_low"] <= row["q"] <= row["q_high"] == max(known.values())


def test_what_has_a_bounded_derivative_keeps_noise_of_its_own(town):
    price = town.price("SELECT avg(kwh) / avg(peak) AS r, stddev(kwh) AS s FROM meters", max_error=0.5)
    own, made = price.outputs()
    assert own["high"] == 0.5 and "noise" in own
    assert made["by_parts"] and made["high"] is None and price.max_error == {"r": 0.5, "s": 0.5}


BOUNDED = [
    "avg(kwh) / avg(peak)",
    "avg(kwh) * avg(peak)",
    "ln(avg(peak))",
    "sum(kwh * peak) / sum(peak)",
    "var_pop(kwh) / avg(peak)",
    "(avg(kwh) - avg(peak)) / (avg(kwh) + avg(peak))",
]


@pytest.mark.parametrize("formula", BOUNDED)
def test_parts_would_take_no_less_where_a_derivative_is_bounded(formula, town):
    """By parts a bound b needs Σ Gᵢeᵢ ≤ b, so that they take at least (Σ Gᵢsᵢ)² for what takes D² on its own."""
    sql = f"SELECT {formula} AS a FROM meters WHERE kwh IS NOT NULL"
    price = town.price(sql, max_error=1.0)
    assert price.outputs()[0]["way"] == "direct" and "would take no less" in price.explain()
    read = town._known.read(sql, town.catalogue, town._engine)
    parted = by_parts(read.question, [0])
    parts = bounds(parted, town.catalogue, read.snapshots, town._engine)
    derived, formulas = parted.outputs[0].part_of, [one.formula for one in parted.outputs]
    ends = [(float(one.low[0]), float(one.high[0])) for one in parts.outputs]
    steps = [1e-6 * (high - low) for low, high in ends]

    def value(*at):
        exact = {part: Enclosure.of(x, x) for part, x in zip(formulas, at, strict=True)}
        return float(enclosed(derived, exact, town.catalogue.tables["meters"]).middle.low)

    steepest = np.zeros(len(ends))
    for corner in product(*(np.linspace(low + 2e-6 * (high - low), high, 9) for low, high in ends)):
        for part, step in enumerate(steps):
            below = [x - step * (part == place) for place, x in enumerate(corner)]
            steepest[part] = max(steepest[part], abs(value(*corner) - value(*below)) / step if step else 0.0)
    own = town.price(sql, max_error=1.0).prepared.bounds.outputs[0]
    for column, slopes in own.slopes.items():
        moved = [float(one.slopes[column][0].max()) if column in one.slopes else 0.0 for one in parts.outputs]
        assert float(slopes[0].max()) <= 1.001 * float(steepest @ moved)


def test_what_would_always_be_null_is_refused_with_a_bound_that_works(tmp_path):
    write_town(tmp_path / "town", "high")
    with open_town(tmp_path / "town") as town:
        for sql in (
            "SELECT tariff, avg(peak) / avg(kwh) AS r FROM meters GROUP BY tariff",
            "SELECT regr_slope(kwh, peak) AS r FROM meters",
            "SELECT ln(avg(kwh)) AS r FROM meters",
        ):
            with pytest.raises(RefusedError, match="r would be null") as refused:
                town.price(sql, max_error=500.0)
            assert refused.value.fields["reason"] == "null"
            bound = float(str(refused.value).split("max_error of at most ")[1].split(" ")[0])
            price = town.price(sql, max_error=bound)
            assert price.outputs()[0]["may_be_null"] and "It is null where" in price.explain()
        with pytest.raises(RefusedError, match="ask with a larger one"):
            town.price("SELECT household, ln(avg(kwh)) AS r FROM meters GROUP BY household", spend=1e-6)
        assert not any(one.used for one in town.left())


def test_bounds_are_not_tried_where_nobody_waits(tmp_path):
    write_town(tmp_path / "town", "high")
    with open_town(tmp_path / "town") as town:
        read = town._known.read("SELECT ln(avg(kwh)) AS r FROM meters", town.catalogue, town._engine)
        planned = town._known.plan(read, town.catalogue, town._engine)
        prepared = prepare(planned, QuestionWish(max_error=500.0), town._engine)
        with pytest.raises(RefusedError, match="r would be null"):
            check_not_always_null(prepared)
        stopped = Allotment()
        stopped.stop()
        with allotted(stopped), pytest.raises(EngineError, match="nobody is waiting"):
            check_not_always_null(prepared)


def test_what_is_said_and_refused_of_nulls_does_not_follow_the_values(tmp_path):
    """Twins: the same public columns, and all values at either end of their ranges."""
    found = {}
    for kind in ("plain", "low", "high"):
        write_town(tmp_path / kind, kind)
        with open_town(tmp_path / kind) as town:
            for asked in ASKED:
                for bound in (0.05, 5.0, 500.0):
                    sql = f"SELECT tariff, {asked} AS a FROM meters WHERE rooms > 1 GROUP BY tariff"
                    try:
                        price = town.price(sql, max_error=bound)
                        said = price.explain(), price.outputs()
                    except RefusedError as refused:
                        said = str(refused), refused.fields
                    found.setdefault((asked, bound), []).append(said)
    assert all(said == each[0] for each in found.values() for said in each)
    assert any("would be null" in each[0][0] for each in found.values())


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
def test_what_is_said_never_to_be_null_never_is(kind, tmp_path):
    """And what is said to be perhaps is, where all values are at an end."""
    write_town(tmp_path / "town", kind)
    seen = set()
    with open_town(tmp_path / "town") as town:
        for asked in ASKED:
            sql = f"SELECT tariff, {asked} AS a FROM meters WHERE kwh IS NOT NULL GROUP BY tariff"
            answer = town.ask(sql, max_error=8.0 if "*" in asked else 0.2)
            (said,) = answer.outputs()
            shown = [row["a"] for row in answer.to_arrow().to_pylist()]
            assert said["way"] == "parts" and said["may_be_null"] == ("It is null where" in answer.explain())
            assert said["may_be_null"] or None not in shown
            seen.add(said["may_be_null"])
    assert seen == {True, False}


def test_an_answer_by_parts_is_narrow_for_a_share_of_the_allowance(town):
    answer = town.ask("SELECT stddev_pop(kwh) AS s, corr(kwh, peak) AS c FROM meters", spend=0.2)
    row = answer.to_arrow().to_pylist()[0]
    assert row["s_high"] - row["s_low"] < 0.5 and row["c_high"] - row["c_low"] < 0.2
    assert max(one.used_by_this for one in answer.standings) <= 0.2


def test_an_answer_by_parts_is_kept_and_found_again(tmp_path):
    write_town(tmp_path / "town")
    sql = "SELECT tariff, stddev(kwh) AS s FROM meters GROUP BY tariff"
    with open_town(tmp_path / "town") as town:
        first = town.ask(sql, max_error=0.1)
        again = town.ask(sql, max_error=0.1)
        assert again.to_arrow() == first.to_arrow() and not any(again.fresh)
        assert again.standings[0].used_by_this == 0
        plain = town.ask("SELECT tariff, var_samp(kwh) AS v FROM meters GROUP BY tariff", max_error=0.1 * 200)
        assert all(abs(one["high"]) <= 20 for one in plain.outputs())


def test_the_same_parts_on_every_engine(engine_place, tmp_path):
    write_town(tmp_path / "town")
    sql = "SELECT tariff, stddev(kwh) AS s, corr(kwh, peak) AS c, avg(peak) / avg(kwh) AS r FROM meters GROUP BY tariff"
    with open_town(tmp_path / "town") as town:
        reference = town.ask(sql, max_error=0.02).to_arrow()
    with open_town(tmp_path / "town", engine_place.place) as town:
        assert town.ask(sql, max_error=0.02).to_arrow() == reference


def test_too_dear_an_answer_by_parts_is_refused_with_a_bound_that_works(town):
    sql = "SELECT corr(kwh, peak) AS c FROM meters"
    with pytest.raises(AllowanceError, match=r"max_error [0-9.]+ here") as refused:
        town.ask(sql, max_error=1e-5)
    bound = float(str(refused.value).split("max_error ")[-1].split(" here")[0])
    assert town.price(sql, max_error=bound).affordable


def test_what_rows_make_unbounded_is_still_refused(town):
    with pytest.raises(RefusedError, match="cannot be answered"):
        town.price("SELECT stddev(1 / kwh) AS s FROM meters", max_error=1)
    with pytest.raises(InputError, match="give max_error or spend"):
        town.price("SELECT stddev(kwh) AS s FROM meters", support=ef.Interval(-1, 1))
