"""Erasing a person: no snapshot has them any more, the rest is there, and nothing is done by halves."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from errorfloor.catalogue import load
from errorfloor.cli.app import app
from errorfloor.engines import open_engine
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.errors import CatalogueError, EngineError, InputError
from errorfloor.identity import KeyRing
from errorfloor.service import open_database
from errorfloor.service.registering import register_all
from errorfloor.vault import erase, plan_erasure, register

DECLARED = """
[tables.meters]
source = "meters.parquet"
version = "1"
row_key = ["household", "day"]
public = { household = "text", day = "whole" }
owner = { column = "household", floor = 0.2 }
private.kwh = { unit = "kWh", range = [0, 50], resolution = 0.001, floor = 0.5 }
"""
SUM = "SELECT sum(kwh) AS total FROM meters"
PERSON = {"household": "H2"}


def write_source(folder, homes):
    rows = [(f"H{home}", day, 10.0 + home) for home in homes for day in range(5)]
    names = ("household", "day", "kwh")
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    pq.write_table(pa.table(columns), folder / "meters.parquet")


def declare(folder, version):
    (folder / "errorfloor.toml").write_text(DECLARED.replace('version = "1"', f'version = "{version}"'))
    return load(folder / "errorfloor.toml")


def writing(declared):
    return open_engine(declared.place, declared.folder, read_only=False)


@pytest.fixture
def homes(tmp_path):
    """Forty homes, registered, and asked about once."""
    write_source(tmp_path, range(40))
    KeyRing.create(tmp_path / "keys.json")
    declared = declare(tmp_path, "1")
    register_all(declared)
    with open_database(tmp_path / "errorfloor.toml") as database:
        database.ask(SUM, spend=0.01)
    return tmp_path


def command(folder, *words):
    given = ["erase", "--catalogue", str(folder / "errorfloor.toml"), "--table", "meters", *words, "--json"]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    return json.loads(done.stdout)


def test_nothing_is_kept_of_a_snapshot_that_a_person_was_erased_from(homes):
    text = "SELECT household, avg(kwh) AS mean FROM meters WHERE household IN ('H1', 'H2') GROUP BY household"
    with open_database(homes / "errorfloor.toml") as database:
        database.ask(text, max_error=400)
        (late,) = list(database.ledger.kept_page(after=1, whole=True))
    assert b"household IN" in (homes / "ledger.sqlite").read_bytes()
    write_source(homes, [home for home in range(40) if home != 2])
    declare(homes, "2")
    ran = CliRunner().invoke(
        app, ["erase", "--table", "meters", "--where", "household=H2", "--yes", "-c", str(homes / "errorfloor.toml")]
    )
    assert ran.exit_code == 0, ran.output
    assert "2 answers from it stay charged, and can no longer be repeated: nothing is kept of them" in ran.output
    with open_database(homes / "errorfloor.toml") as database:
        assert list(database.ledger.kept_page()) == []
        assert not database.ledger.keep(late), "not by a server that was slow, nor from an export"
        assert database.ask(SUM, spend=0.01).fresh == (True,)
    assert b"household IN" not in (homes / "ledger.sqlite").read_bytes()


def test_nothing_of_the_person_is_left_in_the_vault_and_what_was_charged_stays(homes):
    with open_database(homes / "errorfloor.toml") as database:
        before = database.left()[0].used
    write_source(homes, [home for home in range(40) if home != 2])
    declare(homes, "2")
    planned = command(homes, "--where", "household=H2")
    assert (planned["done"], planned["made"], planned["holding"], planned["answers"]) == (
        False,
        True,
        {"1": 5},
        {"1": 1},
    )
    done = command(homes, "--where", "household=H2", "--yes")
    assert (done["done"], done["holding"], done["source"]) == (True, {"1": 5}, "has no such row")
    assert len(list((homes / "vault.duckdb").glob("s_*.duckdb"))) == 1
    declared = load(homes / "errorfloor.toml")
    with writing(declared) as engine:
        assert not register(declared, "meters", engine=engine).fresh  # the same as the source has now
    with open_database(homes / "errorfloor.toml") as database:
        assert database.tables()[0]["rows"] == 195
        assert database.left()[0].used == before > 0
        assert database.ask(SUM, spend=0.01).fresh == (True,)


def test_a_new_version_may_name_its_columns_in_another_order(homes):
    write_source(homes, [home for home in range(40) if home != 2])
    declare(homes, "2")
    file = homes / "errorfloor.toml"
    file.write_text(file.read_text().replace('household = "text", day = "whole"', 'day = "whole", household = "text"'))
    declared = load(file)
    with writing(declared) as engine:
        assert erase(declared, "meters", PERSON, engine=engine).holding == {"1": 5}
        assert not register(declared, "meters", engine=engine).fresh  # the same as the source has now


def test_erasing_that_was_killed_is_finished_by_doing_it_again(homes, monkeypatch):
    write_source(homes, [home for home in range(40) if home != 2])
    declared = declare(homes, "2")
    with writing(declared) as engine:
        monkeypatch.setattr(type(engine), "destroy", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            erase(declared, "meters", PERSON, engine=engine)
    monkeypatch.undo()
    with writing(declared) as engine:
        done = erase(declared, "meters", PERSON, engine=engine)
        assert (done.made, done.holding) == (False, {"1": 5})
        with pytest.raises(InputError, match="there is nothing to erase"):
            plan_erasure(declared, "meters", PERSON, engine=engine)


def test_a_table_with_divided_accounts_goes_on_after_an_erasure(homes):
    declared = DECLARED.replace("private.kwh", 'account_by = ["household"]\nprivate.kwh')
    declared = declared.replace("meters]", "readings]")
    file, people = homes / "errorfloor.toml", list(range(100, 140))  # other homes than those of meters
    (homes / "meters.parquet").rename(homes / "readings.parquet")
    declared = declared.replace("meters.parquet", "readings.parquet")

    def version(number):
        file.write_text(declared.replace('version = "1"', f'version = "{number}"'))
        write_source(homes, people)
        (homes / "meters.parquet").replace(homes / "readings.parquet")
        return load(file)

    register_all(version(1))
    for number, person in ((2, 102), (3, 103)):
        with open_database(file) as database:
            database.ask("SELECT household, avg(kwh) AS mean FROM readings GROUP BY household", spend=0.01)
        people.remove(person)
        version(number)
        given = ["erase", "--catalogue", str(file), "--table", "readings", "--where", f"household=H{person}", "--yes"]
        assert CliRunner().invoke(app, given, catch_exceptions=False).exit_code == 0
    people.append(150)
    assert [made.fresh for made in register_all(version(4))] == [True]
    with open_database(file) as database:
        assert database.ask("SELECT sum(kwh) AS total FROM readings", spend=0.01).fresh == (True,)
        assert [record.note["event"] for record in database.ledger.entries() if "event" in record.note] == [
            *("registered", "registered", "kept"),
            *("registered", "erased", "kept") * 2,
            *("registered", "kept"),
        ]  # fmt: skip
        database.ledger.verify()


DIVIDED = """
[tables.readings]
source = "readings.csv"
version = "{version}"
row_key = ["household"]
public = {{ household = "whole", region = "text" }}
account_by = ["region"]
private.kwh = {{ range = [0, 50], resolution = 0.001, floor = 2 }}
"""


def divided(folder, version, cells):
    """Declare a version of readings whose accounts are divided by region, with a row for each household."""
    (folder / "readings.csv").write_text(
        "household,region,kwh\n" + "".join(f"{home},{cell},7\n" for home, cell in cells.items())
    )
    (folder / "errorfloor.toml").write_text(DIVIDED.format(version=version))
    return load(folder / "errorfloor.toml")


def erased(folder, household, *options):
    given = ["erase", "--catalogue", str(folder / "errorfloor.toml"), "--table", "readings", "--yes", *options]
    return CliRunner().invoke(app, [*given, "--where", f"household={household}"], catch_exceptions=False)


def test_an_erasure_does_not_forget_the_cells_of_others(tmp_path):
    KeyRing.create(tmp_path / "keys.json")
    cells = {1: "A", 2: "A", 3: "B", 4: "B", 5: "B"}
    register_all(divided(tmp_path, 1, cells))
    register_all(divided(tmp_path, 2, {home: cell for home, cell in cells.items() if home not in (1, 4)}))
    divided(tmp_path, 3, {home: cell for home, cell in cells.items() if home not in (1, 4, 5)})
    assert erased(tmp_path, 5, "--base", "2").exit_code == 0
    with pytest.raises(CatalogueError, match="some row of readings has a different region"):
        register_all(divided(tmp_path, 4, {2: "A", 3: "B", 1: "B"}))
    with open_engine(load(tmp_path / "errorfloor.toml").place, tmp_path) as engine:
        assert all("5" not in str(engine.query(f"SELECT p0 FROM {engine.relation(one)}")) for one in engine.known())


def test_a_version_that_was_never_asked_is_not_forgotten_with_its_vault(tmp_path):
    KeyRing.create(tmp_path / "keys.json")
    register_all(divided(tmp_path, 1, {1: "A", 2: "B"}))
    (tmp_path / "vault.duckdb").rename(tmp_path / "not mounted")
    with pytest.raises(CatalogueError, match="version '1' of readings was registered but is not in this vault"):
        register_all(divided(tmp_path, 2, {1: "B", 2: "B"}))


def test_an_erasure_goes_on_with_another_version_after_a_kill(homes, monkeypatch):
    write_source(homes, [home for home in range(40) if home != 2])
    declare(homes, "2")
    monkeypatch.setattr("errorfloor.engines.duckdb_folder.DuckDBFolder.destroy", _killed)
    with pytest.raises(json.JSONDecodeError):
        command(homes, "--where", "household=H2", "--yes")  # which ends at once
    monkeypatch.undo()
    declare(homes, "3")
    assert command(homes, "--where", "household=H2", "--yes", "--base", "1")["done"]


def _killed(*_):
    raise KeyboardInterrupt


def test_every_version_that_has_the_person_goes_and_others_stay(homes):
    for version, left_out in (("2", ()), ("3", (2,)), ("4", (2, 7))):
        write_source(homes, [home for home in range(40) if home not in left_out])
        declared = declare(homes, version)
        if version != "4":
            with writing(declared) as engine:
                register(declared, "meters", engine=engine)
    with writing(declared) as engine:
        with pytest.raises(InputError, match="--base"):
            erase(declared, "meters", {"household": "H7"}, engine=engine)
        done = erase(declared, "meters", {"household": "H7"}, engine=engine, base="3")
        assert done.holding == {"1": 5, "2": 5, "3": 5}
        assert len(engine.known()) == 1


def test_half_done_work_is_refused_and_changes_nothing(homes):
    with writing(declare(homes, "1")) as engine:
        before = engine.known()
        with pytest.raises(CatalogueError, match="declare a new version"):
            erase(declare(homes, "1"), "meters", PERSON, engine=engine)
        with pytest.raises(CatalogueError, match="source of meters still has these rows"):
            erase(declare(homes, "2"), "meters", PERSON, engine=engine)
        write_source(homes, [home for home in range(40) if home != 2])
        for person, reason in (
            ({"kwh": "3"}, "named by the owner's column or by the row key"),
            ({}, "name a person by"),
            ({"day": "monday"}, "is not a value of day"),
            ({"household": "H99"}, "there is nothing to erase"),
        ):
            with pytest.raises(InputError, match=reason):
                erase(declare(homes, "2"), "meters", person, engine=engine)
        assert engine.known() == before


def test_a_vault_of_one_file_keeps_rows_that_are_dropped_and_says_so(tmp_path):
    write_source(tmp_path, range(5))
    declared = declare(tmp_path, "1")
    with DuckDBEngine(tmp_path / "vault.duckdb", tmp_path, read_only=False) as engine:
        register(declared, "meters", engine=engine)
        write_source(tmp_path, [0, 1, 3, 4])
        with pytest.raises(EngineError, match="--copy-from"):
            erase(declare(tmp_path, "2"), "meters", PERSON, engine=engine)
