"""Tables that grow: what was answered from a part stays, and is free, while the part keeps its version."""

import csv
import shutil
import statistics
from types import SimpleNamespace

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb_folder import DuckDBFolder
from errorfloor.errors import AllowanceError, CatalogueError, EngineError, InputError, LedgerError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.preparing.noises import QuestionWish
from errorfloor.service.registering import erase_with, registering
from errorfloor.vault import copy, plan_erasure, snapshot
from errorfloor.vault.snapshot import check_grows_here
from monthly import ALL, JANUARY, corrected, grow, write_catalogue, write_months


@pytest.fixture
def home(tmp_path):
    write_months(tmp_path, [1, 2])
    write_catalogue(tmp_path)
    grow(tmp_path)
    return tmp_path


def ask(folder, sql, **wish):
    with ef.open(folder / "errorfloor.toml") as db:
        answer = db.ask(sql, **(wish or {"max_error": 4}))
        return answer.to_pandas().to_dict("records"), answer.fresh


def test_january_stays_the_same_and_free_when_february_comes(home):
    first, fresh = ask(home, JANUARY)
    assert fresh == (True,)
    ask(home, ALL)
    write_months(home, [1, 2, 3])
    found = grow(home)
    assert (found.new, found.unchanged) == (("2024-03",), ("2024-01", "2024-02"))
    assert ask(home, JANUARY) == (first, (False,))
    assert ask(home, ALL)[1] == (True,)  # which reads March, too


def test_what_reads_a_charged_part_that_the_vault_lost_is_refused_until_it_is_back(home):
    """It looked like a table that had not grown so far yet: answers were about fewer rows, and were charged anew."""
    first = ask(home, ALL)[0]
    with ef.open(home / "errorfloor.toml") as db:
        files = {
            part.name: db._engine.file_of(part.key)
            for part in db._known.snapshot(db.catalogue, "meters", db._engine).parts
        }
    elsewhere = home / "elsewhere"
    files["2024-02"].rename(elsewhere)
    (home / "vault.duckdb" / ".notes").unlink()
    with pytest.raises(CatalogueError, match="would read 2024-02 of meters") as refused:
        ask(home, "SELECT sum(kwh) AS total FROM meters")
    assert refused.value.fields["parts"] == ["2024-02"]
    ask(home, JANUARY)
    elsewhere.rename(files["2024-02"])
    assert ask(home, ALL) == (first, (False,))


def test_parts_that_the_source_no_longer_has_stay(home):
    first, _ = ask(home, JANUARY)
    write_months(home, [3])
    assert grow(home).absent == ("2024-01", "2024-02")
    assert ask(home, JANUARY) == (first, (False,))
    with ef.open(home / "errorfloor.toml") as db:
        assert db.tables()[0]["rows"] == 300


def test_a_charge_names_the_parts_that_it_read(home):
    ask(home, JANUARY)
    ask(home, ALL)
    with ef.open(home / "errorfloor.toml") as db:
        assert [one["parts"] for one in db.history()] == [{"2024-01": "1"}, {"2024-01": "1", "2024-02": "1"}]


def test_a_part_that_changed_is_refused_and_the_message_says_what_a_new_version_costs(home):
    ask(home, JANUARY)
    ask(home, JANUARY.replace("avg(kwh)", "sum(kwh)"), max_error=400)
    write_months(home, [1, 2, 3], changed={(1, 7)})
    with pytest.raises(CatalogueError, match="part 2024-01 of meters changed since registration") as refused:
        grow(home)
    text = str(refused.value)
    assert 'grows_by.corrected = { "2024-01" = "2" }' in text
    assert "2 earlier charges depend on it" in text and "of the owners of meters" in text
    assert set(refused.value.fields["again"]) == {"meters.kwh", "the owners of meters"}
    with ef.open(home / "errorfloor.toml") as db:
        assert db.tables()[0]["rows"] == 200  # March was not registered either


def test_a_correction_is_registered_once_its_cost_was_seen_and_is_charged_anew(home):
    ask(home, JANUARY)
    february = JANUARY.replace("day <", "day >=")
    kept, _ = ask(home, february)
    write_months(home, [1, 2], changed={(1, 7)})
    declared = write_catalogue(home, corrected(m01="2"))
    with pytest.raises(CatalogueError, match=r"new version: 1 earlier charge depends on it.* register --corrections"):
        grow(home, declared)
    with pytest.raises(CatalogueError, match="part 2024-01 of table meters is not registered in version '2'"):
        ask(home, JANUARY)
    assert grow(home, declared, corrections=True).corrected == ("2024-01",)
    assert ask(home, JANUARY)[1] == (True,)
    assert ask(home, february) == (kept, (False,))
    with ef.open(home / "errorfloor.toml") as db:
        owners = next(one for one in db.left() if not one.account.column)
        assert owners.account.table == "meters"  # one account, charged three times
        assert len(db.history()) == 3
    assert grow(home, declared).unchanged == ("2024-01", "2024-02")


def test_costs_of_a_second_correction_are_those_of_the_version_in_use(home):
    for _ in range(2):
        ask(home, JANUARY)
    write_months(home, [1, 2], changed={(1, 7)})
    grow(home, write_catalogue(home, corrected(m01="2")), corrections=True)
    write_months(home, [1, 2], changed={(1, 8)})
    with pytest.raises(CatalogueError, match="no earlier charge depends on it, so that it costs nothing"):
        grow(home, write_catalogue(home, corrected(m01="3")))


def test_the_old_version_of_a_part_is_answered_again_where_it_is_declared(home):
    first, _ = ask(home, JANUARY)
    write_months(home, [1, 2], changed={(1, 7)})
    grow(home, write_catalogue(home, corrected(m01="2")), corrections=True)
    write_catalogue(home)
    assert ask(home, JANUARY) == (first, (False,))


@pytest.mark.parametrize(
    ("where", "read"),
    [
        ("day = '2024-02-29'", {"2024-02"}),
        ("day BETWEEN '2024-01-31' AND '2024-02-01'", {"2024-01", "2024-02"}),
        ("month(day) = 3", {"2024-03"}),
        ("year(day) = 2024 AND quarter(day) < 2", {"2024-01", "2024-02", "2024-03"}),
        ("date_trunc('month', day) = '2024-02-01'", {"2024-02"}),
        ("day IN ('2024-01-15', '2024-03-15') AND tariff = 'A'", {"2024-01", "2024-03"}),
        ("NOT (day < '2024-03-01')", {"2024-03"}),
        ("day < '2024-02-01' OR tariff = 'A'", {"2024-01", "2024-02", "2024-03"}),
        ("day > '2030-01-01'", {"2024-01"}),  # no row of any part: the first one stands for all
        ("day IS NOT NULL", {"2024-01", "2024-02", "2024-03"}),
    ],
)
def test_a_question_reads_the_parts_that_its_condition_leaves(home, where, read):
    write_months(home, [1, 2, 3])
    grow(home)
    with ef.open(home / "errorfloor.toml") as db:
        found = db._known.read(f"SELECT count(*) AS n FROM meters WHERE {where}", db.catalogue, db._engine)
        assert {part.name for part in found.snapshots[0].parts} == read


def test_batches_are_parts_too(tmp_path):
    write_months(tmp_path, [1, 2, 10])
    write_catalogue(tmp_path, '{ column = "batch" }', key='"home", "day", "batch"')
    assert grow(tmp_path).new == ("1", "2", "10")
    first, _ = ask(tmp_path, "SELECT avg(kwh) AS mean FROM meters WHERE batch = 2")
    write_months(tmp_path, [11])
    grow(tmp_path)
    assert ask(tmp_path, "SELECT avg(kwh) AS mean FROM meters WHERE batch = 2") == (first, (False,))


def test_answers_are_about_all_rows_of_the_parts_that_are_read(home):
    with (home / "meters.csv").open() as file:
        rows = list(csv.DictReader(file))
    for month in (1, 2):
        true = statistics.mean(float(row["kwh"]) for row in rows if int(row["batch"]) == month)
        ((one,), _) = ask(home, f"SELECT avg(kwh) AS mean, count(*) AS n FROM meters WHERE month(day) = {month}")
        assert one["n"] == 100 and one["mean_low"] <= true <= one["mean_high"]
    by_month, _ = ask(home, "SELECT month(day) AS m, tariff, count(*) AS n FROM meters GROUP BY month(day), tariff")
    assert [tuple(row.values()) for row in by_month] == [(m, t, 50) for m in (1, 2) for t in "AB"]


def test_an_older_vault_beside_a_newer_ledger_gives_no_second_noise_for_a_part(home):
    shutil.copytree(home / "vault.duckdb", home / "backup")
    write_months(home, [1, 2, 3])
    grow(home)
    march = "SELECT avg(kwh) AS mean FROM meters WHERE day >= '2024-03-01'"
    first, _ = ask(home, march)
    january, _ = ask(home, JANUARY)
    shutil.move(home / "vault.duckdb", home / "newer")
    shutil.move(home / "backup", home / "vault.duckdb")
    assert ask(home, JANUARY) == (january, (False,))
    with pytest.raises(CatalogueError, match="part 2024-03 of meters was registered and charged in version '1' before"):
        grow(home)
    shutil.rmtree(home / "vault.duckdb")
    shutil.move(home / "newer", home / "vault.duckdb")
    assert ask(home, march) == (first, (False,))


def test_a_newer_vault_beside_an_older_ledger_is_not_charged(home):
    shutil.copy(home / "ledger.sqlite", home / "older.sqlite")
    shutil.copy(home / "ledger.anchor", home / "older.anchor")
    write_months(home, [1, 2, 3])
    grow(home)
    for kind in ("sqlite", "anchor"):
        shutil.copy(home / f"older.{kind}", home / f"ledger.{kind}")
    with pytest.raises(LedgerError, match="does not know the snapshot of meters"):
        ask(home, ALL)


def test_of_two_vaults_of_one_ledger_the_part_that_was_charged_first_is_the_one(home):
    """A backup of the vault registers March by itself: its rows may be others, and its noise would be another draw."""
    backup = home / "backup"
    shutil.copytree(home / "vault.duckdb", backup)
    march = "SELECT avg(kwh) AS mean FROM meters WHERE day >= '2024-03-01'"
    write_months(home, [3])
    grow(home)
    shutil.move(home / "vault.duckdb", home / "first")
    shutil.move(backup, home / "vault.duckdb")
    write_months(home, [3], changed={(3, 7)})
    grow(home)  # nothing was charged for March yet
    second, _ = ask(home, march)
    shutil.move(home / "vault.duckdb", home / "second")
    shutil.move(home / "first", home / "vault.duckdb")
    for asked in (march, march.replace("avg", "sum")):
        with pytest.raises(CatalogueError, match="meters"):
            ask(home, asked, max_error=400)
    shutil.move(home / "vault.duckdb", home / "first")
    shutil.move(home / "second", home / "vault.duckdb")
    assert ask(home, march) == (second, (False,))


def test_a_single_part_from_a_backup_is_what_it_was_or_is_not_asked(home):
    declared = load(home / "errorfloor.toml")
    with open_engine(declared.place, declared.folder) as engine:
        whole = snapshot(declared, "meters", engine)
    files = [home / "vault.duckdb" / f"{part.key}.duckdb" for part in whole.parts]
    first, _ = ask(home, JANUARY)
    shutil.copy(files[0], home / "january")
    files[0].unlink()
    february = JANUARY.replace("day <", "day >=")
    assert ask(home, february)[1] == (True,)
    with pytest.raises(CatalogueError, match="would read 2024-01 of meters, which was charged before"):
        ask(home, JANUARY)
    shutil.copy(home / "january", files[0])
    files[0].chmod(0o600)
    assert ask(home, JANUARY) == (first, (False,))


def test_two_cannot_register_at_once(home):
    declared = write_catalogue(home)
    busy = pytest.raises(EngineError, match="another registration is in progress")
    with open_engine(declared.place, declared.folder, read_only=False), busy:
        grow(home)


def test_what_is_not_done_for_parts_is_refused(home):
    declared = write_catalogue(home)
    refused = pytest.raises(CatalogueError, match="copy the folder of the vault instead")
    with open_engine(declared.place, declared.folder, read_only=False) as engine, refused:
        copy(declared, "meters", source=engine, target=engine)
    whole = declared.tables["meters"].model_copy(update={"grows_by": None})
    with pytest.raises(CatalogueError, match="version '1' of meters was registered in parts, and is now declared with"):
        list(registering(declared.model_copy(update={"tables": {"meters": whole}})))


def test_a_new_version_of_the_table_has_parts_of_its_own(home):
    ask(home, JANUARY)
    declared = write_catalogue(home, version="2")
    with pytest.raises(CatalogueError, match="has no registered part in version '2'"):
        ask(home, JANUARY)
    assert grow(home, declared).new == ("2024-01", "2024-02")
    assert ask(home, JANUARY)[1] == (True,)


def test_dry_runs_and_reordered_columns_work_as_with_any_table(home):
    with ef.open(home / "errorfloor.toml") as db:
        assert db.dry().ask(ALL, max_error=4).to_pandas().shape == (1, 3)
    first, _ = ask(home, JANUARY)
    text = (home / "errorfloor.toml").read_text()
    (home / "errorfloor.toml").write_text(text.replace('home = "text", day = "date"', 'day = "date", home = "text"'))
    write_months(home, [1, 2, 3])
    grow(home)
    assert ask(home, JANUARY) == (first, (False,))
    with ef.open(home / "errorfloor.toml") as db:
        whole = snapshot(db.catalogue, "meters", db._engine)
        sql = f"SELECT DISTINCT {whole.columns['tariff']} AS t FROM {whole.relation} ORDER BY 1"
        assert db._engine.query(sql).column("t").to_pylist() == ["A", "B"]


def test_a_table_of_the_same_owners_needs_their_register(home):
    text = (home / "errorfloor.toml").read_text()
    other = text.replace("tables.meters", "tables.more").replace("meters.csv", "more.csv")
    shutil.copy(home / "meters.csv", home / "more.csv")
    (home / "errorfloor.toml").write_text(text + other)
    with pytest.raises(CatalogueError, match="owners of more are owners of meters, too"):
        list(registering(load(home / "errorfloor.toml")))
    (home / "errorfloor.toml").write_text((text + other).replace("floor = 0.2 }", 'floor = 0.2, register = "homes" }'))
    assert [made.parts.new for made in registering(load(home / "errorfloor.toml"))] == [(), ("2024-01", "2024-02")]
    with ef.open(home / "errorfloor.toml") as db:
        first = db.ask(JANUARY, max_error=4)
        again = db.ask(JANUARY.replace("meters", "more"), max_error=4)
        used = [next(one.used for one in each.standings if not one.account.column) for each in (first, again)]
        assert used[1] == pytest.approx(2 * used[0])


def test_what_is_told_of_a_place_in_the_range_is_not_taken_for_that_of_a_corrected_value(home):
    """A profile counts by where an entry is; a correction may have moved it."""
    sql = "SELECT avg(above(kwh, {}, 2)) AS share FROM meters WHERE day < '2024-02-01'"

    def spent(folder, threshold):
        with ef.open(folder / "errorfloor.toml") as db:
            answer = db.ask(sql.format(threshold), max_error=0.3)
            (kwh,) = (one for one in answer.standings if one.account.column)
            return kwh.charge, kwh.spent

    low, _ = spent(home, 3)
    high, both = spent(home, 17)
    assert both.raised_cosine < low.raised_cosine + high.raised_cosine  # no value is in both places
    write_months(home, [1, 2], changed={(1, 7)})
    grow(home, write_catalogue(home, corrected(m01="2")), corrections=True)
    again, three = spent(home, 10)
    assert three.raised_cosine >= both.raised_cosine + again.raised_cosine


MONTHS = "SELECT date_trunc('month', day) AS month, tariff, avg(kwh) AS mean, count(*) AS n FROM meters GROUP BY 1, 2"


def owners_used(folder, sql=MONTHS, **wish):
    with ef.open(folder / "errorfloor.toml") as db:
        answer = db.ask(sql, **(wish or {"max_error": 6}))
        by_column = {one.account.column: one for one in answer.standings}
        return by_column[""].charge.raised_cosine, by_column["kwh"].charge.raised_cosine, answer


def test_cells_of_a_part_stay_the_same_and_free_when_other_parts_come(home):
    _, _, first = owners_used(home)
    before = first.to_arrow().to_pylist()
    write_months(home, [1, 2, 3])
    grow(home)
    _, _, second = owners_used(home)
    after = second.to_arrow().to_pylist()
    assert len(before) == 4 and after[:4] == before and len(after) == 6 and second.fresh == (True,)
    with ef.open(home / "errorfloor.toml") as db:
        assert [one["parts"] for one in db.history()] == [{"2024-01": "1", "2024-02": "1"}, {"2024-03": "1"}]
        price = db.price(MONTHS, max_error=6)
        assert {one.charge.raised_cosine for one in price.standings} == {0.0}
        assert db.ask(MONTHS, max_error=6, charge=False).to_arrow() == second.to_arrow()
        newest = db.ask(f"{MONTHS} ORDER BY mean DESC LIMIT 2", max_error=6, charge=False).to_arrow()
        means = sorted((row["mean"] for row in after), reverse=True)
        assert newest.column("mean").to_pylist() == means[:2]
    write_months(home, [1, 2, 3], changed={(2, 7)})
    grow(home, write_catalogue(home, corrected(m02="2")), corrections=True)
    _, _, third = owners_used(home)
    rows = third.to_arrow().to_pylist()
    assert rows[:2] == before[:2] and rows[4:] == after[4:] and third.fresh == (True,)


def test_parts_are_charged_together_as_much_as_one_entry_or_owner_can_do(home):
    with ef.open(home / "errorfloor.toml") as db:  # before what they would follow from is asked
        alone = [
            {one.account.column: one.charge.raised_cosine for one in price.standings}
            for where in ("<", ">=")
            for price in [db.price(MONTHS.replace("GROUP", f"WHERE day {where} '2024-02-01' GROUP"), max_error=6)]
        ]
    owner, entry, _ = owners_used(home)
    assert owner == pytest.approx(sum(one[""] for one in alone)) and owner >= sum(one[""] for one in alone) * (1 - 1e-9)
    assert entry == max(one["kwh"] for one in alone)


def test_a_cell_by_part_is_that_of_the_part_asked_alone(tmp_path):
    """January's cells are drawn alike whether it was alone when they were asked for, or with others."""
    write_months(tmp_path, [1])
    write_catalogue(tmp_path)
    grow(tmp_path)
    _, _, alone = owners_used(tmp_path)
    write_months(tmp_path, [1, 2])
    grow(tmp_path)
    _, _, both = owners_used(tmp_path)
    assert both.to_arrow().to_pylist()[:2] == alone.to_arrow().to_pylist()
    with ef.open(tmp_path / "errorfloor.toml") as db:
        assert [set(one["parts"]) for one in db.history()] == [{"2024-01"}, {"2024-02"}]


def test_cells_by_part_hold_the_truth_and_are_kept(home):
    with (home / "meters.csv").open() as file:
        rows = list(csv.DictReader(file))
    sql = "SELECT day, sum(kwh) AS total, count(*) AS n FROM meters GROUP BY day ORDER BY day DESC"
    _, _, answer = owners_used(home, sql, max_error=400)
    found = answer.to_arrow().to_pylist()
    assert [str(row["day"]) for row in found] == ["2024-02-15", "2024-02-01", "2024-01-15", "2024-01-01"]
    for row in found:
        values = sorted(float(one["kwh"]) for one in rows if one["day"] == str(row["day"]))
        assert row["total_low"] <= sum(values) <= row["total_high"] and row["n"] == 50
    with ef.open(home / "errorfloor.toml") as db:
        kept = db.known()
        assert len(kept) == 2 and {one["question"] for one in kept} == {sql}  # a line for each part
        again = db.ask(sql, max_error=400)
        assert again.to_arrow() == answer.to_arrow() and not any(again.fresh)


def test_what_is_derived_is_certain_in_every_part_though_parts_have_other_bounds(tmp_path):
    """Of few rows a sum is small, and a variance that it is divided by may be farther off than beside a large one."""
    write_months(tmp_path, [1, 2])
    lines = (tmp_path / "meters.csv").read_text().splitlines()
    lines = [lines[0], *(one for one in lines[1:] if ",2024-02-" in one or one.startswith(("H1,", "H2,", "H3,")))]
    (tmp_path / "meters.csv").write_text("\n".join(lines) + "\n")
    write_catalogue(tmp_path)
    told = [one for one in (tmp_path / "errorfloor.toml").read_text().splitlines() if not one.startswith("owner")]
    (tmp_path / "errorfloor.toml").write_text("\n".join(told).replace("floor = 0.5", "floor = 0.0001"))
    grow(tmp_path)
    sql = "SELECT date_trunc('month', day) AS month, sum(kwh) / stddev_pop(kwh) AS v FROM meters GROUP BY month"
    truth = {}
    for month in ("01", "02"):
        kwh = [float(one.split(",")[-1]) for one in lines[1:] if f",2024-{month}-" in one]
        truth[f"2024-{month}-01"] = sum(kwh) / statistics.pstdev(kwh)
    with ef.open(tmp_path / "errorfloor.toml") as db:
        for bound in range(20):
            answer = db.ask(sql, max_error=4 + bound / 10)
            assert answer.max_error == {"v": pytest.approx(4 + bound / 10)}
            for row in answer.to_arrow().to_pylist():
                assert row["v"] is None or row["v_low"] <= truth[str(row["month"])] <= row["v_high"]
        _, variance = (one.added for one in answer.prepared.outputs if one.added is not None)
        assert variance.widest.high > 2 * variance.narrowest.high
        again = db.ask(sql, max_error=4 + bound / 10)
        assert again.to_arrow() == answer.to_arrow() and again.cells() == answer.cells()


def test_a_part_is_never_taken_for_another_that_was_held_where_it_is_now(home, monkeypatch):
    """What is held is found by where a question lies in memory, which belongs to another once that is forgotten."""
    monkeypatch.setattr("errorfloor.answering.known.id", lambda one: 0, raising=False)
    _, _, answer = owners_used(home)
    with ef.open(home / "errorfloor.toml") as db:
        assert [one["parts"] for one in db.history()] == [{"2024-01": "1", "2024-02": "1"}]
        assert db.ask(MONTHS, max_error=6, charge=False).to_arrow() == answer.to_arrow()


def test_what_is_put_together_of_several_parts_is_asked_as_a_whole(home):
    for sql, wish in (
        (MONTHS, {"spend": 0.02}),
        (MONTHS.replace("avg(kwh)", "sum(kwh)").replace("GROUP BY 1, 2", "GROUP BY ROLLUP (1, 2)"), {"max_error": 900}),
        ("SELECT tariff, sum(kwh) AS total FROM meters GROUP BY tariff", {"max_error": 900}),
    ):
        with ef.open(home / "errorfloor.toml") as db:
            db.ask(sql, **wish)
            assert db.history()[-1]["parts"] == {"2024-01": "1", "2024-02": "1"}
            assert len(db._asking(sql, QuestionWish(**wish), None).pieces) == 1


def test_older_keys_draw_the_cells_that_were_charged_under_them(home):
    _, _, first = owners_used(home)
    KeyRing(home / "keys.json").rotate()
    with open_ledger(load(home / "errorfloor.toml").place, home) as ledger:
        ledger.forget(lambda one: True)  # nothing is kept: all of it is drawn again
    write_months(home, [1, 2, 3])
    grow(home)
    _, _, second = owners_used(home)
    assert second.to_arrow().to_pylist()[:4] == first.to_arrow().to_pylist()


def test_parts_that_cannot_be_afforded_are_refused_all_together(home):
    ask(home, MONTHS)
    write_months(home, [1, 2, 3])
    grow(home)
    sql = MONTHS.replace("avg(kwh) AS mean", "avg(kwh) AS mean, sum(kwh) AS total")
    with ef.open(home / "errorfloor.toml") as db:
        before = db.left()
        with pytest.raises(AllowanceError, match="would let two histories of one home be told apart"):
            db.ask(sql, max_error={"mean": 4, "total": 1})
        assert db.left() == before and len(db.history()) == 1
        assert not db.price(sql, max_error={"mean": 4, "total": 1}).affordable
        assert db.simulate(MONTHS, max_error=5).to_dict()


def without(folder, home):
    file = folder / "meters.csv"
    file.write_text("".join(line for line in file.read_text().splitlines(True) if not line.startswith(f"{home},")))


def test_a_person_is_erased_from_every_part_and_the_others_stay(home, monkeypatch):
    ask(home, JANUARY)
    write_months(home, [1, 2, 3])
    text = (home / "meters.csv").read_text().replace("H7,2024-03", "H77,2024-03")  # who is not there in March
    (home / "meters.csv").write_text(text)
    grow(home)
    march = "SELECT avg(kwh) AS mean FROM meters WHERE day >= '2024-03-01'"
    kept, _ = ask(home, march)
    person = {"home": "H7"}

    def erase(catalogue, *, doing):
        with (
            open_ledger(catalogue.place, catalogue.folder) as ledger,
            open_engine(catalogue.place, catalogue.folder, read_only=False) as engine,
        ):
            if not doing:
                return plan_erasure(catalogue, "meters", person, engine=engine)
            return erase_with(ledger, catalogue, "meters", person, engine=engine)

    with pytest.raises(CatalogueError, match='"2024-01" = "2", "2024-02" = "2" }'):
        erase(write_catalogue(home), doing=False)
    declared = write_catalogue(home, corrected(m01="2", m02="2"))
    with pytest.raises(CatalogueError, match="still has these rows"):
        erase(declared, doing=False)
    without(home, "H7")
    assert erase(declared, doing=False).holding == {"1, part 2024-01": 2, "1, part 2024-02": 2}
    files = set((home / "vault.duckdb").glob("*.duckdb"))
    destroy = DuckDBFolder.destroy

    def destroy_and_stop(self, name):
        destroy(self, name)
        raise KeyboardInterrupt

    monkeypatch.setattr(DuckDBFolder, "destroy", destroy_and_stop)
    with pytest.raises(KeyboardInterrupt):
        erase(declared, doing=True)
    monkeypatch.setattr(DuckDBFolder, "destroy", destroy)
    assert list(erase(declared, doing=False).holding.values()) == [2]
    assert not erase(declared, doing=True).made
    left = set((home / "vault.duckdb").glob("*.duckdb"))
    assert len(left) == 3 and len(left & files) == 1
    with ef.open(home / "errorfloor.toml") as db:
        assert db.tables()[0]["rows"] == 296 and [len(one["parts"]) for one in db.history()] == [1, 1]
        assert len(db.known()) == 1  # of January nothing is kept
    assert ask(home, march) == (kept, (False,))
    assert ask(home, JANUARY)[1] == (True,)
    assert grow(home, declared).unchanged == ("2024-01", "2024-02", "2024-03")
    with pytest.raises(InputError, match="no registered part of meters has such a row"):
        erase(declared, doing=False)


@pytest.mark.parametrize("engine", ["postgresql", "spark"])
def test_other_engines_refuse_a_table_that_grows(engine):
    with pytest.raises(CatalogueError, match=f"needs a DuckDB vault, and its snapshots are on {engine}"):
        check_grows_here("meters", SimpleNamespace(name=engine))
