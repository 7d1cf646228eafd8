"""Tables that grow: what was answered from a part stays, and is free, while the part keeps its version."""

import csv
import shutil
import statistics

import pytest

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError, EngineError, InputError, LedgerError
from errorfloor.service.registering import registering
from errorfloor.vault import copy, plan_erasure, snapshot
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


def test_two_cannot_register_at_once(home):
    declared = write_catalogue(home)
    busy = pytest.raises(EngineError, match="another registration is in progress")
    with open_engine(declared.place, declared.folder, read_only=False), busy:
        grow(home)


def test_what_is_not_done_for_parts_is_refused(home):
    declared = write_catalogue(home)
    refused = pytest.raises(InputError, match="grows by month, and a table that grows is not released as a whole")
    with ef.open(home / "errorfloor.toml") as db, refused:
        db.release("meters", home / "out.parquet", columns={"kwh": ef.Interval(-5, 5)}, batch="1")
    with open_engine(declared.place, declared.folder, read_only=False) as engine:
        with pytest.raises(CatalogueError, match="copy the folder of the vault instead"):
            copy(declared, "meters", source=engine, target=engine)
        with pytest.raises(CatalogueError, match="is kept in parts, and nobody is erased from parts"):
            plan_erasure(declared, "meters", {"home": "H7"}, engine=engine)
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
