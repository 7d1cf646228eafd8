"""A question is answered within its bound, charged once, and stated in words."""

import math
import re
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import errorfloor as ef
from errorfloor.errors import AllowanceError, CatalogueError, EngineError, InputError, RefusedError
from errorfloor.ledger import MemoryLedger
from errorfloor.pricing.rows import MOST_NUMBERS, PricedRows
from town import DAYS, HOUSEHOLDS, open_town, private_columns, public_columns, write_town

AVERAGE = "SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff"


def truth():
    """The stored values: clamped, in steps of a thousandth, nulls left out."""
    public, private = public_columns(), private_columns()
    kwh = [
        None if v is None else Fraction(round(min(50.0, max(0.0, v)) * 1000), 1000) for v in private["kwh"].to_pylist()
    ]
    return {name: column.to_pylist() for name, column in public.items()} | {"kwh": kwh}


def mean_by(names):
    rows, groups = truth(), {}
    for i in range(HOUSEHOLDS * DAYS):
        if rows["kwh"][i] is not None:
            groups.setdefault(tuple(rows[name][i] for name in names), []).append(rows["kwh"][i])
    return {key: sum(values) / len(values) for key, values in groups.items()}


def test_answers_lie_within_the_bound_of_the_truth(town):
    for bound in (5.0, 0.5, 0.05):
        exact = mean_by(["tariff"])
        for row in town.ask(AVERAGE, max_error=bound).to_arrow().to_pylist():
            true = float(exact[row["tariff"],])
            assert abs(row["mean"] - true) <= bound
            assert row["mean_low"] <= true <= row["mean_high"]


def test_noise_has_the_law_that_is_stated(towns):
    """720 cells of one question: a Kolmogorov–Smirnov test against the noise's own cdf, false alarm below 1e-9."""
    town = towns("plain", ledger=MemoryLedger())
    question = "SELECT household, day, avg(kwh) AS mean FROM meters GROUP BY household, day"
    answer = town.ask(question, max_error=400.0)
    exact = mean_by(["household", "day"])
    noise = answer.prepared.outputs[0].added.widest.noise
    rows = [row for row in answer.to_arrow().to_pylist() if row["mean"] is not None]
    drawn = np.sort([row["mean"] - float(exact[row["household"], row["day"]]) for row in rows])
    steps = (np.arange(len(drawn)) + 0.5) / len(drawn)
    distance = np.abs(noise.cdf(drawn) - steps).max()
    assert len(rows) > 700
    assert distance < math.sqrt(-math.log(1e-9 / 2) / (2 * len(drawn))) + 0.01  # Massart's bound, and the lattice


def test_the_same_question_has_the_same_answer_and_is_free(town):
    first = town.ask(AVERAGE, max_error=0.5)
    again = town.ask("select TARIFF, avg( KWH ) as something from Meters group by 1 order by something", max_error=0.5)
    assert first.fresh == (True,)
    assert again.fresh == (False,)
    one, two = (
        dict(zip(table.column(0).to_pylist(), table.column(1).to_pylist(), strict=True))
        for table in (first.to_arrow(), again.to_arrow())
    )
    assert one == two
    assert again.standings[0].charge.information == 0
    assert again.standings[0].spent == first.standings[0].spent


def test_another_question_has_other_noise(town):
    one = town.ask(AVERAGE, max_error=0.5).to_arrow()["mean"].to_pylist()
    for other, bound in (
        ("SELECT tariff, avg(kwh) AS mean FROM meters WHERE rooms > 1 GROUP BY tariff", 0.5),
        ("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", 0.4),
    ):
        answer = town.ask(other, max_error=bound)
        assert answer.fresh == (True,)
        assert answer.to_arrow()["mean"].to_pylist() != one


def test_a_question_with_two_outputs_is_charged_for_both_or_neither(town):
    both = "SELECT avg(kwh) AS mean, var_samp(kwh) AS spread FROM meters"
    answer = town.ask(both, max_error={"mean": 0.5, "spread": 20.0})
    assert answer.fresh == (True, True)
    only = town.ask("SELECT var_samp(kwh) FROM meters", max_error=20.0)
    assert only.fresh == (False,)
    before = town.left()
    with pytest.raises(AllowanceError):
        town.ask("SELECT avg(kwh) AS mean, sum(kwh) AS whole FROM meters", max_error={"mean": 3.0, "whole": 1e-3})
    assert [s.spent for s in town.left()] == [s.spent for s in before]


def test_counts_are_public_exact_and_free(town):
    answer = town.ask("SELECT tariff, count(*) AS n, count(kwh) AS known FROM meters GROUP BY tariff", max_error=1.0)
    assert answer.to_arrow().to_pylist() == [
        {"tariff": "Std", "n": 480, "known": 476},
        {"tariff": "ToU", "n": 240, "known": 236},
    ]
    assert answer.standings == ()
    assert answer.max_error == {"n": 0.0, "known": 0.0}


def test_a_share_of_the_allowance_finds_its_bound(town):
    answer = town.ask(AVERAGE, spend=0.1)
    used = max(standing.used for standing in answer.standings)
    assert 0.09 < used <= 0.1


@pytest.mark.parametrize("owner", [False, True])
def test_spending_ends_at_the_declared_floor(towns, owner):
    town, refused = towns("plain", owner=owner), None
    for k in range(2, 60):
        try:
            town.ask(f"SELECT avg(kwh * {k}) FROM meters", spend=0.1)
        except AllowanceError as problem:
            refused = problem
            break
    assert refused is not None
    assert re.search("ask with bounds at least|used up|no bound within the range", str(refused))
    for standing in town.left():
        assert standing.used <= 1
        if standing.column is not None:
            assert standing.floor >= standing.column.floor
        else:
            assert standing.told_apart <= 0.95


def test_a_wider_bound_that_the_refusal_names_is_accepted(town):
    with pytest.raises(AllowanceError, match=r"max_error ([\d.]+) here") as refused:
        town.ask("SELECT household, avg(kwh) FROM meters GROUP BY household", max_error=1e-3)
    wide = float(str(refused.value).split("max_error ")[1].split(" ")[0])
    answer = town.ask("SELECT household, avg(kwh) FROM meters GROUP BY household", max_error=wide * 1.01)
    assert answer.to_arrow().num_rows == HOUSEHOLDS


def test_price_charges_nothing_and_says_what_ask_then_charges(town):
    price = town.price(AVERAGE, max_error=0.5)
    assert all(standing.used == 0 for standing in town.left())
    answer = town.ask(AVERAGE, max_error=0.5)
    assert price.charge == answer.charge
    assert price.to_dict()["accounts"] == answer.to_dict()["accounts"]
    assert town.price(AVERAGE, max_error=0.5).standings[0].charge.information == 0  # now it is free


def test_one_sided_noise_never_lowers_and_states_its_bias(town):
    answer = town.ask(AVERAGE, support=ef.Interval(0, 0.5))
    exact = mean_by(["tariff"])
    for cell in answer.cells():
        true = float(exact[cell["keys"]["tariff"],])
        stated = cell["outputs"]["mean"]
        assert 0 <= stated["answer"] - true <= 0.5
        assert stated["bias"] == pytest.approx(0.25, abs=1e-6)
        assert stated["centred"] == pytest.approx(stated["answer"] - 0.25, abs=1e-6)
    open_ended = town.ask(AVERAGE, support=ef.HalfLine(0.0), max_loss=0.3)
    for row in open_ended.to_arrow().to_pylist():
        assert row["mean"] >= float(exact[row["tariff"],])
        assert row["mean_low"] == 0.0  # nothing is certain from below but what is possible
    assert "not below the truth" in open_ended.explain()


def test_ordering_and_limit_come_after_the_noise(town):
    whole = town.ask("SELECT household, avg(kwh) AS mean FROM meters GROUP BY household", max_error=20.0)
    best = town.ask(
        "SELECT household, avg(kwh) AS mean FROM meters GROUP BY household ORDER BY mean DESC LIMIT 3", max_error=20.0
    )
    rows = sorted(whole.to_arrow().to_pylist(), key=lambda row: -row["mean"])[:3]
    assert best.to_arrow().to_pylist() == rows
    assert best.fresh == (False,)


def test_what_is_stated_names_its_quantifier_and_the_clamping(towns):
    text = towns("plain", owner=True).ask(AVERAGE, max_error=100.0).explain()
    for piece in (
        "certainly within ±100 kWh of the truth",
        "5 kWh apart, is the true one more than",
        "worst case over 0 … 50 kWh, to which values are clamped",
        "two histories of one household",
        "Used of the allowance of meters.kwh: ",
    ):
        assert piece in text


def test_the_floor_of_an_answer_is_that_of_its_accounts(town):
    answer = town.ask(AVERAGE, max_error=0.5)
    standing = next(s for s in answer.standings if s.account.column == "kwh")
    assert answer.floor.distinguish(5.001) == pytest.approx(standing.told_apart, rel=1e-12)
    assert answer.floor.any_estimator[0] == pytest.approx(standing.floor, rel=1e-12)


def test_an_answer_shows_itself(town):
    answer = town.ask(AVERAGE, max_error=0.5)
    assert "± 0.5 kWh" in repr(answer)
    assert "<table>" in answer._repr_html_()
    days = town.ask("SELECT household, day, count(*) AS n FROM meters GROUP BY household, day", max_error=1.0)
    for shown in (days.text(), days._repr_html_()):  # a notebook does not stop at a million rows
        assert "… and 660 more rows" in shown and "h03" not in shown
    assert list(answer.to_pandas().columns) == ["tariff", "mean", "mean_low", "mean_high"]


def test_empty_groups_and_empty_answers(town):
    nobody = town.ask("SELECT avg(kwh) AS mean FROM meters WHERE tariff = 'none'", max_error=0.5)
    assert nobody.to_arrow().to_pylist() == [{"mean": None}]
    assert nobody.fresh == ()
    nothing = town.ask("SELECT tariff, avg(kwh) AS mean FROM meters WHERE rooms > 99 GROUP BY tariff", max_error=0.5)
    assert nothing.to_arrow().num_rows == 0


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({}, "give one of max_error, spend and support, got none"),
        ({"max_error": 0.5, "spend": 0.1}, "got max_error and spend"),
        ({"max_error": -1}, "max_error"),
        ({"max_error": float("nan")}, "max_error"),
        ({"max_error": "wide"}, "max_error"),
        ({"max_error": {"other": 0.5}}, "max_error names no bound for mean"),
        ({"spend": 0}, "spend is a share"),
        ({"spend": 2}, "spend is a share"),
        ({"support": "[0,1]"}, "support must be"),
        ({"support": ef.HalfLine(0.0)}, "max_loss"),
        ({"support": ef.HalfLine(1.0), "max_loss": 1.0}, "only half-line"),
        ({"max_error": 0.5, "max_loss": 1.0}, "max_loss is for"),
    ],
)
def test_wishes_that_make_no_sense_are_refused_and_charge_nothing(town, wish, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        town.ask(AVERAGE, **wish)
    assert all(standing.used == 0 for standing in town.left())


def test_a_bound_far_below_double_precision_is_refused(town):
    with pytest.raises((RefusedError, AllowanceError)):
        town.ask("SELECT sum(kwh) FROM meters", max_error=1e-12)


def test_a_new_version_draws_new_noise_and_charges_the_same_accounts(tmp_path):
    folder, ledger = tmp_path / "town", MemoryLedger()
    write_town(folder)
    with open_town(folder, ledger=ledger) as database:
        first = database.ask(AVERAGE, max_error=0.5)
    write_town(folder, seed=2)
    catalogue = folder / "errorfloor.toml"
    catalogue.write_text(catalogue.read_text().replace('version = "1"', 'version = "2"'))
    with open_town(folder, ledger=ledger) as database:
        second = database.ask(AVERAGE, max_error=0.5)
    assert second.fresh == (True,)
    for before, after in zip(first.standings, second.standings, strict=True):
        assert before.account == after.account
        assert after.spent.information == pytest.approx(2 * before.spent.information, rel=1e-9)


def renamed(folder, old, new):
    catalogue = folder / "errorfloor.toml"
    assert old in catalogue.read_text()
    catalogue.write_text(catalogue.read_text().replace(old, new))


def test_what_accounts_mean_cannot_be_changed_but_columns_can_be_added(tmp_path):
    folder, ledger = tmp_path / "town", MemoryLedger()
    write_town(folder)
    with open_town(folder, ledger=ledger) as database:
        database.ask(AVERAGE, max_error=0.5)
        database.ask("SELECT avg(peak) FROM meters", max_error=0.5)  # a column that was not charged before
    renamed(folder, 'unit = "kWh"', 'unit = "MWh"')
    with (
        open_town(folder, ledger=ledger, make=False) as database,
        pytest.raises(CatalogueError, match=r'meters\.kwh were opened with unit = "kWh"'),
    ):
        database.ask(AVERAGE, max_error=0.4)
    renamed(folder, 'unit = "MWh"', 'unit = "kWh"')
    renamed(folder, 'row_key = ["household", "day"]', 'row_key = ["household", "day"]\naccount_by = ["tariff"]')
    with (
        open_town(folder, ledger=ledger, make=False) as database,
        pytest.raises(CatalogueError, match="account_by"),
    ):
        database.ask(AVERAGE, max_error=0.4)


def test_accounts_of_disjoint_parts_are_charged_separately(tmp_path):
    folder, ledger = tmp_path / "town", MemoryLedger()
    write_town(folder)
    renamed(folder, 'row_key = ["household", "day"]', 'row_key = ["household", "day"]\naccount_by = ["tariff"]')
    with open_town(folder, ledger=ledger) as database:
        database.ask("SELECT avg(kwh) FROM meters WHERE tariff = 'ToU'", max_error=0.5)
        spent = {account.cell: charge.information for account, charge in ledger.accounts().items()}
        assert list(spent) == ['["ToU"]']
        database.ask("SELECT avg(kwh) FROM meters", max_error=0.5)
        assert {account.cell for account in ledger.accounts()} == {'["ToU"]', '["Std"]'}
        assert len(database.left()) == 2


def test_a_vault_that_was_made_anew_is_not_the_version_that_was_charged(tmp_path):
    """Else the same noise would be added to other data, free of charge, and their difference shown."""
    folder, ledger = tmp_path / "town", MemoryLedger()
    write_town(folder)
    with open_town(folder, ledger=ledger) as database:
        database.ask(AVERAGE, max_error=0.5)
    shutil.rmtree(folder / "vault.duckdb")
    write_town(folder, seed=2)
    with (
        open_town(folder, ledger=ledger, anew=True) as database,
        pytest.raises(CatalogueError, match="meters in version '1' is not the snapshot that was charged"),
    ):
        database.ask(AVERAGE, max_error=0.5)


def test_a_floor_may_rise_once_it_was_charged_and_not_fall(tmp_path):
    """What was said to hold for all answers must not be undone by a word in the catalogue."""
    folder, ledger = tmp_path / "town", MemoryLedger()
    write_town(folder)
    with open_town(folder, ledger=ledger) as database:
        floor = database.catalogue.tables["meters"].private["kwh"].floor
        database.ask(AVERAGE, max_error=0.5)
    renamed(folder, f"floor = {floor:g}", f"floor = {floor / 2:g}")
    with open_town(folder, ledger=ledger) as database:
        with pytest.raises(CatalogueError, match=rf"floor of meters.kwh was {floor:g} when .* A floor may rise"):
            database.ask(AVERAGE, max_error=0.4)
        assert len(database.history()) == 1
    renamed(folder, f"floor = {floor / 2:g}", f"floor = {floor * 1.5:g}")
    with open_town(folder, ledger=ledger) as database:
        assert database.ask(AVERAGE, max_error=0.4).fresh == (True,)


def test_a_row_cannot_move_to_another_account_in_a_new_version(tmp_path):
    folder = tmp_path / "town"
    write_town(folder)
    renamed(folder, 'row_key = ["household", "day"]', 'row_key = ["household", "day"]\naccount_by = ["tariff"]')
    open_town(folder).close()
    renamed(folder, 'version = "1"', 'version = "2"')
    open_town(folder).close()  # other readings, the same tariffs
    table = pq.read_table(folder / "meters.parquet").to_pydict()
    table["tariff"][0] = "Std" if table["tariff"][0] == "ToU" else "ToU"
    pq.write_table(pa.table(table), folder / "meters.parquet")
    renamed(folder, 'version = "2"', 'version = "3"')
    with pytest.raises(CatalogueError, match=r"some row of meters has a different tariff than in version '[12]'"):
        open_town(folder)


@pytest.mark.parametrize("name", ["mean_low", "MEAN_HIGH"])
def test_no_column_takes_the_place_of_a_certain_interval(town, name):
    with pytest.raises(RefusedError, match="certain interval"):
        town.ask(f"SELECT avg(kwh) AS mean, count(*) AS {name} FROM meters", max_error=0.5)


@pytest.mark.parametrize(
    "question",
    [
        "SELECT var_samp(sin(kwh) / peak) AS a FROM meters",
        "SELECT var_pop(ln(peak) * sqrt(peak)) AS a FROM meters",
        "SELECT avg(power(ln(peak), 5)) AS a FROM meters",
        "SELECT avg(rooms) * 1e25 AS a, sum(kwh) AS b FROM meters",
    ],
)
def test_what_is_priced_is_answered(town, question):
    """Nothing that follows from public facts is found out only after the charge."""
    price = town.price(question, max_error=1e6)
    answer = town.ask(question, max_error=1e6)
    assert price.charge == answer.charge
    assert answer.to_arrow().num_rows == 1


def test_sums_that_no_engine_can_hold_are_refused_before_the_charge(town):
    with pytest.raises(RefusedError) as refused:
        town.ask("SELECT covar_pop(power(kwh, 6), power(area, 6)) AS a FROM meters", max_error=1e30)
    assert refused.value.fields["reason"] == "too-large"
    assert all(standing.used == 0 for standing in town.left())


def test_an_offset_keeps_the_digits_of_the_noise(town):
    answer = town.ask(AVERAGE, support=ef.Interval(1e5, 1e5 + 1))
    exact = mean_by(["tariff"])
    for row in answer.to_arrow().to_pylist():
        assert 1e5 <= row["mean"] - float(exact[row["tariff"],]) <= 1e5 + 1
    assert answer.prepared.outputs[0].added.widest.noise.support.bounding_box[1][0] < 1
    with pytest.raises(InputError, match="must be closer to 0"):
        town.ask(AVERAGE, support=ef.Interval(1e9, 1e9 + 1))


def test_a_function_stored_with_other_bits_is_another_label(town):
    alone = "SELECT sum(exp(kwh * rooms / 200)) FILTER (WHERE rooms = 1) AS a FROM meters"
    beside = alone.replace(" FROM", ", sum(exp(kwh * rooms / 200)) AS b FROM")
    one, two = (town.price(question, max_error=1e9).prepared.outputs[0].label for question in (alone, beside))
    assert one != two


def test_the_vault_is_for_its_owner_only(town):
    path = town.catalogue.folder / "vault.duckdb"
    assert all(one.stat().st_mode & 0o077 == 0 for one in (path, *path.iterdir()))
    town.close()
    for one, mode in ((path, 0o755), (next(path.glob("s_*.duckdb")), 0o644)):
        before = one.stat().st_mode & 0o777
        one.chmod(mode)
        with pytest.raises(EngineError, match="others can read"), open_town(town.catalogue.folder, make=False) as open_:
            for table in open_.catalogue.tables:
                open_._known.snapshot(open_.catalogue, table, open_._engine)
        one.chmod(before)


def test_the_work_of_pricing_is_shared_among_the_outputs_of_a_question(town, monkeypatch):
    """So that a long question takes as long as a short one; coarser boxes only cost tightness."""
    largest = []
    divided = PricedRows._divided

    def watched(self, ranges, most):
        boxes = divided(self, ranges, most)
        largest.append(self.active.size * max(box.low.size for box in boxes.values()))
        return boxes

    monkeypatch.setattr(PricedRows, "_divided", watched)
    many = ", ".join(f"avg(tanh(kwh * area / 1000 + peak * {i})) AS a{i}" for i in range(1, 9))
    town.price(f"SELECT household, day, {many} FROM meters GROUP BY household, day", max_error=1e12)
    assert len(largest) == 8
    assert sum(largest) <= MOST_NUMBERS


def test_every_cell_states_what_it_tells_of_its_entries_and_owners(towns):
    """Each cell's own statement, from its own rows: the smaller group tells more."""
    town = towns("plain", owner=True)
    cells = town.ask("SELECT tariff, avg(kwh) AS mean FROM meters GROUP BY tariff", max_error=60.0).cells()
    told = {cell["keys"]["tariff"]: cell["outputs"]["mean"] for cell in cells}
    for cell in told.values():
        assert 50 <= cell["entries"]["kwh"]["told_apart_in_100"] <= cell["owner"]["told_apart_in_100"] < 100
        assert cell["entries"]["kwh"]["floor"] > 10
    assert told["ToU"]["owner"]["told_apart_in_100"] > told["Std"]["owner"]["told_apart_in_100"]
