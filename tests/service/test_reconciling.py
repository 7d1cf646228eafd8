"""Answers that were released apart, brought to agree."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.optimize import minimize

from errorfloor.answering.reconciling import _bounded, _Cells, _nearest, _sums
from errorfloor.engines.allotment import Allotment, allotted
from errorfloor.errors import EngineError, InputError
from errorfloor.ledger.shelf import LAST
from errorfloor.pricing.keys import GroupKeys, KeyColumn
from patients import open_patients, stored
from town import open_town, write_town

WISH = {"max_error": 400}


def truth(folder):
    """Give the stored readings with their public columns."""
    table = pq.read_table(folder / "meters.parquet").to_pandas()
    table["kwh"] = table["kwh"].round(3).clip(0, 50)
    return table


@pytest.mark.parametrize("kind", ["plain", "low", "high"])
def test_parts_and_a_total_asked_apart_agree(kind, tmp_path):
    write_town(tmp_path / "town", kind)
    with open_town(tmp_path / "town") as town:
        total = town.ask("SELECT sum(kwh) AS s FROM meters", max_error=30)
        tariffs = town.ask("SELECT tariff, sum(kwh) AS s FROM meters GROUP BY tariff", **WISH)
        rooms = town.ask("SELECT rooms, sum(kwh) AS s FROM meters GROUP BY rooms", **WISH)
        before = [one.used for one in town.left()]
        found = [one.reconciled().to_pylist() for one in (total, tariffs, rooms)]
        assert [one.used for one in town.left()] == before
    sums = [sum(row["s"] for row in rows) for rows in found]
    assert sums[1] == pytest.approx(sums[0], abs=1e-3) and sums[2] == pytest.approx(sums[0], abs=1e-3)
    exact = truth(tmp_path / "town")
    for rows, key in zip(found[1:], ("tariff", "rooms"), strict=True):
        by_key = exact.groupby(key)["kwh"].sum()
        for row in rows:
            assert row["s_low"] - 1e-6 <= by_key[row[key]] <= row["s_high"] + 1e-6
            assert row["s_low"] <= row["s"] <= row["s_high"]


def test_intervals_hold_the_truth_and_shrink(tmp_path):
    """The same sums within ±400, and later within ±50; a total of other rows changes nothing."""
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town") as town:
        sql = "SELECT tariff, sum(kwh) AS s FROM meters GROUP BY tariff ORDER BY tariff DESC"
        narrow = town.ask("SELECT sum(kwh) AS s FROM meters WHERE rooms > 0", max_error=30)
        alone = town.ask(sql, **WISH)
        assert alone.reconciled() == alone.to_arrow() and narrow.reconciled() == narrow.to_arrow()
        town.ask(sql, max_error=50)
        rows, wide = alone.reconciled().to_pylist(), alone.to_arrow().to_pylist()
    by_key = truth(tmp_path / "town").groupby("tariff")["kwh"].sum()
    for row, before in zip(rows, wide, strict=True):
        assert row["tariff"] == before["tariff"]
        assert row["s_high"] - row["s_low"] <= 100.01 < before["s_high"] - before["s_low"]
        assert row["s_low"] - 1e-6 <= by_key[row["tariff"]] <= row["s_high"] + 1e-6


def test_averages_agree_by_their_rows(tmp_path):
    write_town(tmp_path / "town")
    with open_town(tmp_path / "town") as town:
        whole = town.ask("SELECT avg(peak) AS m, count(*) AS n FROM meters", max_error=0.5)
        parts = town.ask("SELECT rooms, avg(peak) AS m, count(*) AS n FROM meters GROUP BY rooms", max_error=2)
        one, rows = whole.reconciled().to_pylist()[0], parts.reconciled().to_pylist()
    assert sum(row["n"] * row["m"] for row in rows) / one["n"] == pytest.approx(one["m"], abs=1e-5)


def test_counts_of_records_agree(tmp_path):
    with open_patients(tmp_path / "patients") as database:
        total = database.ask("SELECT count(*) AS n FROM patients", max_error=20)
        parts = database.ask("SELECT sex, count(*) AS n FROM patients GROUP BY sex", max_error=60)
        rows, whole = parts.reconciled().to_pylist(), total.reconciled().to_pylist()[0]
        exact = stored(database)
    assert sum(row["n"] for row in rows) == pytest.approx(whole["n"], abs=1e-5)
    for row in rows:
        assert row["n_low"] <= sum(one["sex"] == row["sex"] for one in exact) <= row["n_high"]


QUESTIONS = (
    ("SELECT sum(kwh) AS s FROM meters", {"max_error": 30}),
    ("SELECT tariff, sum(kwh) AS s FROM meters GROUP BY tariff", WISH),
    ("SELECT rooms, sum(kwh) AS s FROM meters GROUP BY rooms", WISH),
)


def test_nothing_is_learnt_of_the_questions_of_others(tmp_path):
    """The same numbers come back whether others asked or not; who asks the same gets the same, reconciled with his."""
    write_town(tmp_path / "town")
    (total, near), (parts, wish), (rooms, _) = QUESTIONS
    with open_town(tmp_path / "town") as town:
        town.ask(total, **near, analyst="bob")
        mine = town.ask(parts, **wish, analyst="anna")
        assert mine.reconciled() == mine.to_arrow()
        theirs = town.ask(parts, **wish, analyst="bob")  # was anna's, and is free; the total is his
        assert not any(theirs.fresh) and theirs.reconciled() != theirs.to_arrow()
        assert mine.reconciled() == mine.to_arrow()
        also = town.ask(rooms, **wish, analyst="anna")
        both = mine.reconciled()
        assert both != mine.to_arrow()
        assert also.reconciled().num_rows == also.to_arrow().num_rows
        for one in range(LAST + 5):  # more of somebody else's than are looked through
            assert all(town.ask(total, max_error=29.9 - one / 10, analyst="bob").fresh)
        assert mine.reconciled() == both
        whole = town.ask(parts, **wish).reconciled()  # the custodian's
        assert whole != both


def test_what_a_table_shares_is_reconciled_for_all(tmp_path):
    write_town(tmp_path / "town")
    file = tmp_path / "town" / "errorfloor.toml"
    file.write_text(file.read_text().replace('version = "1"\n', 'version = "1"\nquestions = "shared"\n', 1))
    (total, near), (parts, wish), _ = QUESTIONS
    with open_town(tmp_path / "town") as town:
        town.ask(total, **near, analyst="bob")
        mine = town.ask(parts, **wish, analyst="anna")
        assert mine.reconciled() != mine.to_arrow()


def test_numbers_of_different_values_do_not_add_up(tmp_path):
    """A value that is in two groups is one value of both together."""
    different = "count(DISTINCT floor(age / 10)) AS n"
    with open_patients(tmp_path / "patients") as database:
        total = database.ask(f"SELECT {different} FROM patients", max_error=3)
        parts = database.ask(f"SELECT region, {different} FROM patients GROUP BY region", max_error=3)
        assert total.reconciled() == total.to_arrow() and parts.reconciled() == parts.to_arrow()


def test_what_is_too_much_is_refused_before_it_takes_memory():
    """Twelve answers of the same 333 groups: 21,978 sums of 3,996 cells would be a matrix of 700 MB."""
    groups = GroupKeys((KeyColumn(pa.array(range(333)), 1),), 333)
    each = _Cells(("k",), groups, *[np.ones(333)] * 6, "0.01")
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match=r"21,978 sums .* at most 125 of so many cells are"):
            _sums([each] * 12, 333 * np.arange(13), hides_records=False)
        assert tracemalloc.get_traced_memory()[1] < 5e6
    finally:
        tracemalloc.stop()


def test_no_answer_is_read_after_there_are_too_many_cells(monkeypatch, town):
    for bound in (440, 430, 420, 410, 400):
        answer = town.ask("SELECT tariff, sum(kwh) AS s FROM meters GROUP BY tariff", max_error=bound)
    cells, read, kept = answer.to_arrow().num_rows, [], town.ledger.kept
    monkeypatch.setattr("errorfloor.answering.reconciling.MOST_CELLS", 2 * cells)
    monkeypatch.setattr(town.ledger, "kept", lambda asked: read.append(asked) or kept(asked))
    with pytest.raises(InputError, match=f"at most {2 * cells} are"):
        answer.reconciled()
    assert len(read) <= 4, "its own, twice, one that fits and one that does not"


def test_pairs_of_answers_are_not_compared_where_nobody_waits():
    groups = GroupKeys((KeyColumn(pa.array(range(3)), 1),), 3)
    each = _Cells(("k",), groups, *[np.ones(3)] * 6, "0.01")
    stopped = Allotment()
    stopped.stop()
    with allotted(stopped), pytest.raises(EngineError, match="nobody is waiting"):
        _sums([each] * 2, 3 * np.arange(3), hides_records=False)


def test_totals_within_one_answer_need_no_reconciling(town):
    answer = town.ask("SELECT tariff, sum(kwh) AS s FROM meters GROUP BY ROLLUP (tariff)", max_error=900)
    with pytest.raises(InputError, match="agree already"):
        answer.reconciled()


def test_numbers_are_the_nearest_that_agree():
    """Against a general solver: random sums, ends that hold a common truth, and released numbers anywhere between."""
    generator = np.random.default_rng(3)
    for _ in range(8):
        parts = generator.integers(2, 5)
        sums = np.zeros((1, parts + 1))
        sums[0, :parts], sums[0, parts] = 1.0, -1.0
        exact = generator.uniform(0, 10, parts)
        exact = np.append(exact, exact.sum())
        half = generator.uniform(1, 4, parts + 1)
        released = exact + half * generator.uniform(-1, 1, parts + 1)
        low, high = _bounded(sums, released - half, released + half)
        assert (low <= exact + 1e-9).all() and (exact <= high + 1e-9).all()
        found = _nearest(sums, released, half / 3, low, high)
        assert abs(sums @ found).max() < 1e-6 and (low - 1e-6 <= found).all() and (found <= high + 1e-6).all()

        def far(point, released=released, half=half):
            return float((((point - released) / half) ** 2).sum())

        other = minimize(
            far,
            exact,
            bounds=list(zip(low, high, strict=True)),
            constraints={"type": "eq", "fun": lambda point, sums=sums: sums @ point},
            options={"ftol": 1e-14, "maxiter": 1000},
        )
        assert far(found) <= other.fun * (1 + 1e-5) + 1e-8
