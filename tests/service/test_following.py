"""Standing questions: paid for once, answered month by month, and never changed by what comes later."""

import datetime
import json
import shutil
import sys
from functools import partial

import numpy as np
import pytest

from errorfloor.catalogue import load
from errorfloor.cli.app import run
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError, AnswerFailedError, CatalogueError, InputError, RefusedError
from errorfloor.following import period as followed_period
from errorfloor.following.horizon import Horizon
from errorfloor.following.period import as_it_is, planned
from errorfloor.following.question import FollowedQuestion
from errorfloor.joint.normal import running, together_in_row
from errorfloor.vault.snapshot import name_of
from followed_house import CATALOGUE, HORIZON, OWNER, SUM, House


def of_month(db, name, record=None):
    """What follows from public facts for a month of the standing question."""
    found = db.follow(SUM, **HORIZON)
    current = partial(as_it_is, db, "meters")
    return planned(db, FollowedQuestion.of(db, found.wish), found.blocks[0], name, current, record).plan


@pytest.fixture
def house(tmp_path):
    made = House(tmp_path)
    made.register("1", 4)
    return made


@pytest.fixture
def owned(tmp_path):
    made = House(tmp_path, OWNER)
    made.register("1", 4)
    return made


def test_horizons_have_every_period():
    assert len(Horizon.of("day", "month", "2024-01", "2030-12").names) == 84
    assert Horizon.of("day", "week", "2024-W52", "2025-W02").names == ("2024-W52", "2025-W01", "2025-W02")
    assert Horizon.of("day", "quarter", "2024-Q4", "2025-Q1").days["2025-Q1"] == (
        datetime.date(2025, 1, 1),
        datetime.date(2025, 3, 31),
    )
    for since, until in (
        ("2024-05", "2024-04"),
        ("2024-01", "2024-01"),
        ("2024", "2025-01"),
        ("x", "y"),
        ("1", "9999"),
    ):
        with pytest.raises(InputError, match="since and until name the first and the last month"):
            Horizon.of("day", "month", since, until)


def test_figures_and_running_totals_are_within_the_bound(house):
    with house.open() as db:
        released = db.follow(SUM, **HORIZON).release("2024-04", moving=3).to_pylist()
    assert len(released) == 12
    for region in "abc":
        lines = [one for one in released if one["region"] == region]
        truth = np.array([house.truth.get((one["month"], region), 0.0) for one in lines])
        used, total = (np.array([one[name] for one in lines]) for name in ("used", "used_total"))
        assert (abs(used - truth) <= 400).all() and (used != truth).all()
        assert (abs(total - truth.cumsum()) <= 400).all()
        assert np.allclose(total, used.cumsum(), rtol=0, atol=1e-6)
        assert [one["used_moving"] is None for one in lines] == [True, True, False, False]
        assert lines[3]["used_moving"] == pytest.approx(used[1:].sum())
        assert lines[3]["used_moving_high"] - lines[3]["used_moving_low"] == pytest.approx(1600)
        assert lines[0]["used_total_high"] - lines[0]["used_total"] == pytest.approx(400)


def test_a_month_that_was_released_never_changes(house):
    with house.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-03")
    house.register("2", 6, shift=lambda month: 1.0)  # all months are corrected
    with house.open() as db:
        following = db.follow(SUM, **HORIZON)
        later = following.release("2024-06")
        assert following.released == ("2024-01", "2024-02", "2024-03", "2024-04", "2024-05", "2024-06")
        assert following.release("2024-03").to_pylist() == first.to_pylist()
        kept = [one for one in later.to_pylist() if one["month"] <= "2024-03"]
        assert sorted(kept, key=str) == sorted(first.to_pylist(), key=str)


def test_the_noise_of_a_group_does_not_depend_on_others(house):
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
    tags = np.arange(14, dtype="<u8").reshape(7, 2)
    noise = found.blocks[0].noise
    together = noise(tags)
    for place in range(7):
        assert (noise(tags[place : place + 1])[0] == together[place]).all()
    assert (abs(together) <= 400).all() and (abs(together.cumsum(axis=1)) <= 400).all()
    assert len(np.unique(together)) == together.size == 7 * 24


def test_two_catalogues_with_one_key_file_share_no_noise(house, tmp_path_factory):
    other = House(tmp_path_factory.mktemp("other"))
    shutil.copy(house.folder / "keys.json", other.folder / "keys.json")
    other.register("1", 4, shift=lambda month: 0.1 if month == 2 else 0.0)
    seen = []
    for one in (house, other):
        with one.open() as db:
            found = db.follow(SUM, **HORIZON)
            assert db.follow(SUM, **HORIZON).blocks[0].drawn == found.blocks[0].drawn
            seen.append(found.blocks[0].noise(np.arange(14, dtype="<u8").reshape(7, 2)))
            assert found.release("2024-04").num_rows == 12
    assert not np.isin(*seen).any()


def test_it_is_charged_once_and_releases_are_free(house):
    with house.open() as db:
        following = db.follow(SUM, **HORIZON)
        assert following.fresh
        spent = db.ledger.accounts()
        following.release("2024-02")
        again = db.follow(SUM, **HORIZON)
        assert not again.fresh
        again.release("2024-04")
        assert db.ledger.accounts() == spent
        assert again.standings[0].used == following.standings[0].used > 0
        assert "all 24 are paid for" in following.explain()
        db.ledger.verify()
        other = db.follow(SUM, **{**HORIZON, "until": "2025-11"})  # another horizon is other noise, and is charged
        assert other.fresh and other.release("2024-01").to_pylist() != again.release("2024-01").to_pylist()


def test_the_horizon_costs_an_entry_what_its_running_totals_cost(house):
    asked = "SELECT day, sum(kwh) AS used, sum(sum(kwh)) OVER (ORDER BY day) AS total FROM meters GROUP BY day"
    with house.open() as db:
        price = db.price(asked, max_error=50.0).charge
        following = db.follow("SELECT sum(kwh) AS used FROM meters", since="2024-01", until="2024-04", max_error=50.0)
        charged = {one.account: one.charge for one in following.standings}
    assert charged.keys() == price.keys()
    for account, charge in charged.items():
        assert charge.raised_cosine == pytest.approx(price[account].raised_cosine, rel=0.05)
        assert charge.information == pytest.approx(price[account].information, rel=0.05)


def test_an_owner_is_charged_for_all_months_together(owned):
    follow = {"sql": "SELECT sum(kwh) AS used FROM meters", "since": "2024-01", "until": "2024-04", "max_error": 900.0}
    with owned.open() as db:
        with pytest.raises(InputError, match="owner_rows is how many rows of one home a period has at most"):
            db.follow(**follow)
        once, twice = (db.follow(**follow, owner_rows=rows) for rows in (1, 2))
    for rows, found in ((1, once), (2, twice)):
        (owners,) = [one for one in found.standings if not one.account.column]
        moved = (rows * 10) ** 2 * together_in_row(4)  # in every month, by the whole range
        assert owners.charge.raised_cosine == pytest.approx(found.blocks[0].added.information * moved, rel=1e-3)
        assert owners.charge.information >= found.blocks[0].added.information / 500 * moved


@pytest.mark.parametrize("months", [2, 5, 24])
def test_all_cells_of_a_row_tell_no_more_together_than_is_counted(months):
    law = running((months,))
    precision = np.linalg.inv(law.form.factor @ law.form.factor.T)
    assert (precision > 0).all()
    counted = law.information * together_in_row(months)
    assert np.ones(months) @ precision @ np.ones(months) == pytest.approx(counted, rel=1e-6)
    chance = np.random.default_rng(20240229)
    moves = chance.uniform(-1, 1, (1000, months))
    assert (np.einsum("ij,jk,ik->i", moves, precision, moves) <= counted * (1 + 1e-9)).all()
    two = chance.uniform(0, 1, (1000, months))  # a row of each month in one of two groups
    both = sum(np.einsum("ij,jk,ik->i", each, precision, each) for each in (two, 1 - two))
    assert (both <= counted * (1 + 1e-9)).all()


def test_a_month_with_more_rows_of_an_owner_than_were_priced_is_not_read(owned):
    owned.register("2", 4, more=["7,2024-02-06,b,1.0"])
    with owned.open() as db:
        following = db.follow(SUM, **{**HORIZON, "max_error": 2000.0}, owner_rows=1)
        following.release("2024-01")
        with pytest.raises(RefusedError, match="some owner has more than 1 rows in 2024-02"):
            following.release("2024-02")
        assert following.released == ("2024-01",)
    owned.register("3", 4)
    with owned.open() as db:
        db.follow(SUM, **{**HORIZON, "max_error": 2000.0}, owner_rows=1).release("2024-02")


def test_which_snapshot_is_read_is_durable_before_the_look(house, monkeypatch):
    with house.open() as db:
        expected = of_month(db, "2024-01").snapshots[0].identity
        with monkeypatch.context() as patch:
            patch.setattr(followed_period, "values_before_noise", lambda *_: 1 / 0)
            with pytest.raises(AnswerFailedError):
                db.follow(SUM, **HORIZON).release("2024-01")
    house.register("2", 4, shift=lambda month: 1.0)
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert found.released == ("2024-01",)
        found.release("2024-02")
        versions = {one.note["part"]: one.note["version"] for one in db.ledger.entries() if "part" in one.note}
        assert versions == {"2024-01": "1", "2024-02": "2"}
        (record,) = [one for one in db.ledger.entries() if one.note.get("part") == "2024-01"]
        assert record.note["read"] == [["", "", expected]]
        assert of_month(db, "2024-01", record).snapshots[0].identity == expected


def test_a_month_without_rows_is_not_released_yet(house):
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        with pytest.raises(RefusedError, match="meters has no row of 2024-05 yet: register it first"):
            found.release("2024-05")
        assert found.released == ()  # what is refused releases nothing
        assert found.release("2024-04").num_rows == 12


def test_parts_of_a_table_that_grows_are_read_in_their_first_version(tmp_path):
    made = House(tmp_path, 'grows_by = { column = "day", part = "month" }')
    made.register("1", 3)
    with made.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-02")
    truth = dict(made.truth)
    made.owner = 'grows_by = { column = "day", part = "month", corrected = { 2024-01 = "2", 2024-03 = "2" } }'
    made.register("1", 4, shift=lambda month: 1.0 if month in (1, 3) else 0.0)
    with made.open() as db:
        found = db.follow(SUM, **HORIZON)
        later = found.release("2024-04").to_pylist()
        read = {one.note["part"]: one.note["read"] for one in db.ledger.entries() if "part" in one.note}
    assert {name: [part[:2] for part in parts] for name, parts in read.items()} == {
        "2024-01": [["2024-01", "1"]],
        "2024-02": [["2024-02", "1"]],
        "2024-03": [["2024-03", "2"]],
        "2024-04": [["2024-04", "1"]],
    }
    early = [one for one in later if one["month"] <= "2024-02" and one["region"] != "c"]
    assert early == first.to_pylist()
    total = {one["region"]: one["used_total"] for one in later if one["month"] == "2024-04"}
    for region in "ab":
        seen = [truth[f"2024-0{month}", region] for month in (1, 2)]
        seen += [made.truth[f"2024-0{month}", region] for month in (3, 4)]
        assert abs(total[region] - sum(seen)) <= 400


def test_a_month_whose_part_is_gone_is_read_from_what_was_kept_and_never_from_another_one(tmp_path):
    made = House(tmp_path, 'grows_by = { column = "day", part = "month" }')
    made.register("1", 2)
    with made.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-01").to_pylist()
    catalogue = load(tmp_path / "errorfloor.toml")
    with open_engine(catalogue.place, tmp_path, read_only=False) as engine:
        engine.destroy(name_of("meters", "1", "2024-01"))
    made.owner = 'grows_by = { column = "day", part = "month", corrected = { 2024-01 = "2" } }'
    made.register("1", 3, shift=lambda month: 1.0 if month == 1 else 0.0)
    with made.open() as db:
        later = db.follow(SUM, **HORIZON).release("2024-03").to_pylist()
        assert [one for one in later if one["month"] == "2024-01" and one["region"] != "c"] == first
        db.ledger.forget(lambda kept: kept.facts["wish"].get("period") == "2024-01")
    with made.open() as db, pytest.raises(CatalogueError, match=r"2024-01 was first released from .* never read from"):
        db.follow(SUM, **HORIZON).release("2024-03")


def lost(made, month):
    """Take the file of a month out of the vault; give what puts it back."""
    with made.open() as db:
        parts = db._known.snapshot(db.catalogue, "meters", db._engine).parts
        (file,) = (db._engine.file_of(part.key) for part in parts if part.name == month)
    elsewhere = made.folder / "elsewhere"
    file.rename(elsewhere)
    return lambda: elsewhere.rename(file)


def test_a_lost_part_ends_only_what_would_read_it(tmp_path):
    """Every release of a standing question was refused, also of months that were kept and of those that came later."""
    made = House(tmp_path, 'grows_by = { column = "day", part = "month" }')
    made.register("1", 2)
    with made.open() as db:
        first = db.follow(SUM, **HORIZON).release("2024-02").to_pylist()
    made.register("1", 3)
    lost(made, "2024-01")
    with made.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert not found.fresh and found.release("2024-02").to_pylist() == first
        assert found.release("2024-03").num_rows == 9


def test_no_period_is_released_without_a_charged_part_that_was_lost_while_the_database_was_open(tmp_path):
    """A quarter was released that lacked a month, within an interval that was called certain, and kept for ever."""
    made = House(tmp_path, 'grows_by = { column = "day", part = "month" }')
    made.register("1", 3)
    quarterly = {"since": "2024-Q1", "until": "2025-Q4", "part": "quarter", "max_error": 60.0}
    with made.open() as db:
        db.ask("SELECT sum(kwh) AS total FROM meters", max_error=100)
        found = db.follow(SUM, **quarterly)
        put_back = lost(made, "2024-02")
        with pytest.raises(CatalogueError, match="would read 2024-02 of meters, which was charged before"):
            found.release("2024-Q1")
        put_back()
        rows = found.release("2024-Q1").to_pylist()
    for row in rows:
        true = sum(value for (_, region), value in made.truth.items() if region == row["region"])
        assert row["used_low"] <= true <= row["used_high"]


def test_parts_that_only_a_standing_question_read_are_missed_as_charged_ones_are(tmp_path):
    """Another one released a quarter without a month that the first had read, and questions left it out."""
    made = House(tmp_path, 'grows_by = { column = "day", part = "month" }')
    made.register("1", 1)
    quarterly = {"since": "2024-Q1", "until": "2025-Q4", "part": "quarter", "max_error": 60.0}
    with made.open() as db:
        db.follow(SUM, **HORIZON)
        db.follow(SUM, **quarterly)
    made.register("1", 3)
    with made.open() as db:
        db.follow(SUM, **HORIZON).release("2024-03")
    lost(made, "2024-02")
    with made.open() as db:
        with pytest.raises(CatalogueError, match="would read 2024-02 of meters"):
            db.follow(SUM, **quarterly).release("2024-Q1")
        with pytest.raises(CatalogueError, match="would read 2024-02 of meters"):
            db.price("SELECT sum(kwh) AS total FROM meters", max_error=100)


def test_what_was_cancelled_gives_no_more_than_it_gave(house):
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        first = found.release("2024-01")
        found.cancel()
        found.cancel()
    with house.open() as db:
        found = db.follow(SUM, **HORIZON)
        assert found.release("2024-01") == first
        with pytest.raises(RefusedError, match="was cancelled, and 2024-02 was not released before"):
            found.release("2024-02")


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("SELECT avg(kwh) / 2 AS mean FROM meters", "must be sum"),
        ("SELECT stddev(kwh) AS mean FROM meters", "has one output"),
        ("SELECT sum(kwh * kwh) AS used FROM meters", "must be sum"),
        ("SELECT sum(kwh * home) AS used FROM meters", "must be sum"),
        ("SELECT sum(kwh) AS a, sum(2 * kwh) AS b FROM meters", "has one output"),
        ("SELECT count(*) AS n FROM meters", "has one output"),
        ("SELECT region AS month, sum(kwh) AS used FROM meters GROUP BY region", "rename the key"),
        ("SELECT region AS used_total, sum(kwh) AS used FROM meters GROUP BY region", "rename the key"),
        ("SELECT region, sum(kwh) AS used FROM meters GROUP BY ROLLUP (region)", "no totals"),
        ("SELECT region, sum(kwh) AS used FROM meters GROUP BY region ORDER BY used LIMIT 2", "no totals"),
        ("SELECT region, sum(kwh) AS used FROM meters GROUP BY region HAVING count(*) >= 5", "too small"),
    ],
)
def test_what_depends_on_rows_to_come_is_refused(house, sql, said):
    with house.open() as db:
        with pytest.raises(RefusedError, match=said):
            db.follow(sql, **HORIZON)
        assert db.ledger.accounts() == {}


def test_too_narrow_a_bound_is_refused_with_one_that_fits(house):
    with house.open() as db:
        with pytest.raises(AllowanceError, match="max_error of at least") as refused:
            db.follow(SUM, **{**HORIZON, "max_error": 1.0})
        bound = float(str(refused.value).split("max_error of at least ")[1].split(",")[0])
        assert db.follow(SUM, **{**HORIZON, "max_error": bound}).fresh


def test_other_words_are_refused(house):
    with house.open() as db:
        for wrong in ({"max_error": 0}, {"max_error": "4"}, {"max_error": float("inf")}, {"part": "decade"}):
            with pytest.raises(InputError):
                db.follow(SUM, **{**HORIZON, **wrong})
        with pytest.raises(RefusedError, match="column must name a public date of the row key of meters, got 'region'"):
            db.follow(SUM, **HORIZON, column="region")
        found = db.follow(SUM, **HORIZON)
        assert found.release("2024-01", moving=3).column("used_moving").null_count == 2
        with pytest.raises(InputError, match="moving is a number of periods from 1 to 24, got 25"):
            found.release("2024-01", moving=25)
        with pytest.raises(InputError, match="through names a month from 2024-01 to 2025-12"):
            found.release("2026-01")
        with pytest.raises(CatalogueError), house.open() as other:
            (house.folder / "errorfloor.toml").write_text(CATALOGUE.format(version="9", owner=""))
            other.renewed(load(house.folder / "errorfloor.toml")).follow(SUM, **HORIZON)


def test_the_command_pays_once_and_releases(house, monkeypatch, capsys):
    words = ["--since", "2024-01", "--until", "2025-12", "--max-error", "400", "--json"]

    def runs(*more):
        monkeypatch.chdir(house.folder)
        monkeypatch.setattr("signal.signal", lambda *_: None)
        monkeypatch.setattr(sys, "argv", ["errorfloor", "follow", SUM, *words, *more])
        with pytest.raises(SystemExit) as end:
            run()
        assert not end.value.code
        return json.loads(capsys.readouterr().out)

    first, then = runs(), runs("--through", "2024-02", "--moving", "2")
    assert (first["fresh"], first["rows"], first["released"]) == (True, [], [])
    assert not then["fresh"] and then["released"] == ["2024-01", "2024-02"]
    assert len(then["rows"]) == 4 and then["accounts"][0]["used"] == first["accounts"][0]["used"] > 0
    assert runs("--cancel", "--through", "2024-02")["rows"][0]["used"] == then["rows"][0]["used"]
