"""Divided accounts: a version is charged to them only if its rows were found in the cells where others have them."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from errorfloor.catalogue import load
from errorfloor.cli.app import app
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.ledger.terms import KEPT
from errorfloor.service import open_database
from errorfloor.service.continuing import check_versions, keep
from errorfloor.service.registering import register_all, registering
from errorfloor.vault import register
from houses import register_house

DECLARED = """
[tables.readings]
source = "readings.csv"
version = "{version}"
row_key = ["{key}"]
{division}
public = {{ {key} = "whole", {public} }}
owner = {{ column = "{key}", floor = 0.3{per} }}
private.kwh = {{ range = [0, 50], resolution = 1, floor = 2 }}
{place}
"""
BY_REGION = 'account_by = ["region"]'
SWAPPED = {1: "B", 2: "A", 3: "B", 4: "A"}
CELLS = {1: "A", 2: "B", 3: "A", 4: "B"}


class Custodian:
    """Declares, registers and asks versions of one table in a folder."""

    def __init__(self, folder):
        self.folder, self.file = folder, folder / "errorfloor.toml"
        folder.mkdir(exist_ok=True)
        if not (folder / "keys.json").exists():
            KeyRing.create(folder / "keys.json")

    def declares(self, version, cells=None, division=BY_REGION, public='region = "text"', key="id", per="", place=""):
        if cells is not None:
            rows = "".join(f"{row},{cell},7\n" for row, cell in cells.items())
            (self.folder / "readings.csv").write_text(f"{key},region,kwh\n{rows}")
        said = {"version": version, "division": division, "public": public, "key": key, "per": per, "place": place}
        self.file.write_text(DECLARED.format(**said))
        return load(self.file)

    def registers(self, *declared, **more):
        return register_house(self.declares(*declared, **more))

    def asks(self, number=0):
        with open_database(self.file) as database:
            return database.ask(f"SELECT sum(kwh) + {number} AS total FROM readings", spend=0.01)


def place(custodian):
    """Declare the ledger of a custodian for another vault."""
    return f'[place]\nledger = "{custodian.folder}/ledger.sqlite"\nanchor = "{custodian.folder}/ledger.anchor"'


def erase(custodian, row, base):
    given = ["erase", "--catalogue", str(custodian.file), "--table", "readings", "--yes"]
    return CliRunner().invoke(app, [*given, "--where", f"id={row}", "--base", base])


@pytest.fixture
def custodian(tmp_path):
    return Custodian(tmp_path / "house")


def test_a_division_that_is_declared_after_registration_is_compared_before_the_first_charge(custodian):
    """Both versions are there, in other cells: each would be charged where the other is not."""
    custodian.registers("1", CELLS, division="")
    custodian.registers("2", SWAPPED, division="")
    for version in ("1", "2"):
        custodian.declares(version)
        with pytest.raises(CatalogueError, match=rf"version '{version}' was never compared .* Run errorfloor register"):
            custodian.asks()
    with pytest.raises(CatalogueError, match="some row of readings has a different region than in version '1'"):
        custodian.registers("2")


def test_a_period_that_is_declared_after_registration_is_compared_before_the_first_charge(custodian):
    days = {row: f"2024-0{1 + row % 2}-01" for row in CELLS}
    moved = {row: f"2024-0{2 - row % 2}-01" for row in CELLS}
    said = {"division": "", "public": 'region = "date"'}
    custodian.registers("1", days, **said)
    custodian.registers("2", moved, **said)
    custodian.declares("2", per=', per = { column = "region", period = "month" }', **said)
    with pytest.raises(CatalogueError, match="version '2' was never compared"):
        custodian.asks()


def test_once_compared_a_version_is_asked_even_if_its_source_went_on(custodian):
    custodian.registers("1", CELLS, division="")
    custodian.declares("1", {**CELLS, 5: "A"})
    with pytest.raises(CatalogueError, match="is not what was registered as version '1'"):
        register_all(load(custodian.file))
    assert custodian.asks().fresh == (True,)


def test_a_version_with_another_type_of_what_divides_is_passed_over_and_never_charged_after(custodian):
    custodian.registers("1", CELLS, division="", public='region = "text"')
    custodian.registers("2", {row: 1 + row % 2 for row in CELLS}, public='region = "whole"')
    assert custodian.asks().fresh == (True,)
    for division in ("", BY_REGION):
        custodian.declares("1", division=division)
        with pytest.raises(CatalogueError, match="accounts of readings were opened with account_by"):
            custodian.asks(1)


def test_steps_of_another_size_are_other_numbers(custodian):
    """The stored integers differ although no row moved, or agree although one did."""
    coarse, fine = ({"public": f'region = {{ type = "number", resolution = {size} }}'} for size in (1, 0.5))
    custodian.registers("1", {1: 2, 2: 4}, **coarse)
    assert custodian.registers("2", {1: 1, 2: 2}, **fine)[0].fresh  # 2 and 4 halves: all the same to integers
    assert custodian.asks().fresh == (True,)
    custodian.declares("1", **coarse)
    with pytest.raises(CatalogueError, match="accounts of readings were opened with account_by"):
        custodian.asks(1)


def test_a_copy_of_the_vault_goes_its_own_way_only_once(custodian, tmp_path):
    """Two vaults, one ledger: each has a version that the other lacks, registered before accounts were divided."""
    ledger = place(custodian)
    custodian.registers("1", CELLS, division="", place=ledger)
    shutil.copytree(custodian.folder, tmp_path / "copy")
    copy = Custodian(tmp_path / "copy")
    custodian.registers("2", CELLS, division="", place=ledger)
    copy.registers("3", SWAPPED, division="", place=ledger)
    custodian.registers("2", place=ledger)
    assert custodian.asks().fresh == (True,)
    copy.declares("3", place=ledger)
    with pytest.raises(CatalogueError, match="version '3' was never compared"):
        copy.asks(1)
    with pytest.raises(CatalogueError, match="version '2' of readings was registered but is not in this vault"):
        copy.registers("3", place=ledger)


def test_a_version_that_another_process_compared_meanwhile_is_not_passed_over(custodian):
    custodian.registers("1", CELLS)
    declared = custodian.declares("2", CELLS)
    with (
        open_ledger(declared.place, declared.folder) as ledger,
        open_engine(declared.place, declared.folder, read_only=False) as engine,
    ):
        register(declared, "readings", engine=engine)
        with pytest.raises(CatalogueError, match=r"version '1' of readings .* or was registered meanwhile"):
            keep("readings", declared.tables["readings"], frozenset(), ledger, engine)


def test_copied_snapshots_keep_what_they_were_compared_with(custodian, tmp_path):
    custodian.registers("1", CELLS)
    custodian.registers("2", CELLS)
    custodian.asks()
    other = Custodian(tmp_path / "other")
    ledger = place(custodian)
    for version in ("2", "1"):
        there = custodian.declares(version)
        here = other.declares(version, CELLS, place=ledger)
        assert [made.fresh for made in registering(here, copied_from=there)] == [True]
    assert other.asks(1).fresh[0]
    with pytest.raises(CatalogueError, match="some row of readings has a different region"):
        other.registers("3", SWAPPED, place=ledger)


def test_a_person_is_not_erased_under_another_division_than_was_charged(custodian):
    """What is left of version 1 would not be kept, and with it the cells of all others."""
    custodian.registers("1", CELLS)
    custodian.asks()
    custodian.registers("2", {**CELLS, 5: "A"})
    custodian.declares("3", {2: "B", 3: "A", 4: "B"}, division="")
    found = erase(custodian, 1, "2")
    assert found.exit_code == 1 and "opened with account_by" in f"{found.exception} {found.output}"
    custodian.declares("3")
    assert erase(custodian, 1, "2").exit_code == 0
    assert custodian.asks(1).fresh[0]  # made without the person, and compared with what is left of the others
    with pytest.raises(CatalogueError, match="some row of readings has a different region"):
        custodian.registers("4", {2: "A", 3: "A", 4: "B"})


def test_what_is_left_of_a_version_is_not_taken_for_one_that_was_declared_under_its_name(custodian):
    custodian.registers("1", CELLS)
    custodian.asks()
    custodian.registers("1 (without those who were erased)", {3: "A"})
    custodian.registers("2", CELLS)
    custodian.declares("3", {2: "B", 3: "A", 4: "B"})
    assert erase(custodian, 1, "2").exit_code == 0
    declared = load(custodian.file)
    with open_engine(declared.place, declared.folder) as engine:
        known = [json.loads(note) for note in engine.recall_all().values() if '"readings"' in note]
    assert sorted(note["rows"] for note in known) == [1, 3, 3]


def test_a_charged_version_that_cannot_be_compared_stops_the_next_one(custodian):
    """A ledger that was upgraded may have charged a version whose row key had another type."""
    custodian.registers("1", CELLS, division="", public='region = "text"')
    declared = custodian.declares("2", dict.fromkeys(CELLS, 1), public='region = "whole"')
    with (
        open_ledger(declared.place, declared.folder) as ledger,
        open_engine(declared.place, declared.folder) as engine,
    ):
        (note,) = (json.loads(text) for text in engine.recall_all().values() if '"readings"' in text)
        term = {"version": "1", "charged": True}
        ledger.enter({"event": "kept"}, {("readings", KEPT, note["identity"]): term})
        with pytest.raises(CatalogueError, match="version '1' of readings was charged with another row key"):
            check_versions("readings", declared.tables["readings"], ledger, engine)
