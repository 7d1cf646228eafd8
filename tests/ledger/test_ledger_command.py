"""``errorfloor ledger``: show, export, verify, checkpoint, restore."""

import json
from dataclasses import dataclass

import pytest

import errorfloor.cli.ledger
from errorfloor import catalogue
from errorfloor.accounts import Profile
from errorfloor.cli.app import run
from errorfloor.ledger import Account, Charge, Entry, open_ledger

assert errorfloor.cli.ledger.ledger  # the commands are there once it is loaded
CATALOGUE = """
[tables.meters]
source = "meters.parquet"
version = "2026-q1"
row_key = ["household"]
account_by = ["tariff"]
noises = "any"
owner = { column = "household", floor = 0.2 }
private.kwh = { range = [0, 50], resolution = 0.001, floor = 2.0, unit = "kWh" }
public = { household = "whole", tariff = "text" }
"""
KWH = Account("meters", "kwh", '["standard"]')
OWNERS = Account("meters", "", "")
GONE = Account("wages", "pay", "")
TERMS = {"meters": {"account_by": ["tariff"]}, "wages": {"account_by": []}}


@dataclass(frozen=True)
class Done:
    stdout: str
    stderr: str
    returncode: int


@pytest.fixture
def ledger(monkeypatch, capsys):
    """Run a command as the program does, in this process."""
    monkeypatch.setattr("signal.signal", lambda *_: None)

    def command(folder, *arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr("sys.argv", ["errorfloor", "ledger", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            run()
        return Done(*capsys.readouterr(), end.value.code or 0)

    return command


@pytest.fixture
def shown(ledger):
    def output(folder, *arguments):
        done = ledger(folder, *arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return output


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "errorfloor.toml").write_text(CATALOGUE)
    declared = catalogue.load(tmp_path / "errorfloor.toml")
    amount, _ = catalogue.allowance(declared.tables["meters"].private["kwh"])
    with open_ledger(declared.place, declared.folder, create=True) as book:
        entries = [
            Entry("aa" * 32, {KWH: Charge(amount / 4, 2.5e-7), OWNERS: Charge(0.5, 0.0)}, {"output": "avg_kwh"}),
            Entry("bb" * 32, {GONE: Charge(3.0, 0.0)}, {"output": "pay"}),
        ]
        book.charge(entries, dict.fromkeys((KWH, OWNERS, GONE), Charge(9.0, 1.0)), TERMS)
    return tmp_path


def test_show_says_what_each_account_has_spent_and_of_how_much(folder, shown):
    amount, _ = catalogue.allowance(catalogue.load(folder / "errorfloor.toml").tables["meters"].private["kwh"])
    of_kwh = f"information {amount / 4:.4g} of {amount:.4g} (25 %), evaluation 2.5e-07 of 1e-06 (25 %)"
    lines = shown(folder, "show").splitlines()
    assert lines == [
        "2 records, 3 accounts",
        "the owners of meters: information 0.5 of 1.656 (30.2 %)",
        f'meters.kwh for ["standard"]: {of_kwh}',
        "wages.pay: information 3, evaluation 0",
    ]
    facts = json.loads(shown(folder, "show", "--json"))
    assert facts["records"] == 2
    owners, kwh, gone = facts["accounts"]
    assert (owners["column"], kwh["column"], kwh["cell"]) == (None, "kwh", ["standard"])
    assert kwh["information"] * 4 == kwh["allowed_information"]
    assert gone["allowed_information"] is None


def test_show_takes_a_catalogue_from_elsewhere(folder, tmp_path_factory, shown, ledger):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    assert shown(elsewhere, "show", "--catalogue", str(folder / "errorfloor.toml")).startswith("2 records")
    missing = ledger(elsewhere, "show", "--json")
    assert missing.returncode == 2
    assert json.loads(missing.stdout)["error"]["code"] == "catalogue"


def test_export_restores_what_was_lost(folder, shown, ledger):
    lines = shown(folder, "export")
    assert [json.loads(line)["note"]["output"] for line in lines.splitlines()] == ["avg_kwh", "pay"]
    assert json.loads(shown(folder, "export", "--json")) == [json.loads(line) for line in lines.splitlines()]
    (folder / "export.jsonl").write_text(lines)
    before = shown(folder, "show")
    (folder / "ledger.sqlite").unlink()
    lost = ledger(folder, "show")
    assert lost.returncode == 1
    assert "errorfloor: there is no ledger" in lost.stderr
    assert "says that it has 2 records" in lost.stderr
    (folder / "torn.jsonl").write_text(lines[:-20])
    torn = ledger(folder, "restore", "--from", "torn.jsonl")
    assert torn.returncode == 1
    assert "line 2 of torn.jsonl is not JSON" in torn.stderr
    assert shown(folder, "restore", "--from", "export.jsonl") == "restored 2 records\n"
    assert shown(folder, "show") == before


def test_verify_checks_the_ledger_and_a_checkpoint(folder, shown, ledger):
    checkpoint = shown(folder, "checkpoint", "--output", "checkpoint")
    assert json.loads(checkpoint)["sequence"] == 2
    assert (folder / "checkpoint").read_text() == checkpoint
    assert json.loads(shown(folder, "checkpoint", "--json")) == json.loads(checkpoint)
    words = shown(folder, "verify", "--checkpoint", "checkpoint")
    assert words == "2 records and the sums of 3 accounts are as they were written\n"
    assert json.loads(shown(folder, "verify", "--json"))["hash"] == json.loads(checkpoint)["hash"]
    (folder / "other").write_text(checkpoint.replace('"hash": "', '"hash": "0')[:-4] + '"}\n')
    failed = ledger(folder, "verify", "--checkpoint", "other")
    assert failed.returncode == 1
    assert "record 2 of the checkpoint is not in this ledger" in failed.stderr
    assert "there is no checkpoint nowhere" in ledger(folder, "verify", "--checkpoint", "nowhere").stderr


def test_a_missing_anchor_is_accepted_on_request(folder, shown, ledger):
    (folder / "ledger.anchor").unlink()
    refused = ledger(folder, "verify")
    assert refused.returncode == 1
    assert "errorfloor ledger checkpoint --accept" in refused.stderr
    assert json.loads(shown(folder, "checkpoint", "--accept"))["sequence"] == 3  # which is a record, too
    assert shown(folder, "verify").startswith("3 records")


def test_looking_at_a_ledger_that_does_not_exist_makes_none(tmp_path, ledger):
    (tmp_path / "errorfloor.toml").write_text(CATALOGUE)
    done = ledger(tmp_path, "show")
    assert done.returncode == 1
    assert done.stderr.startswith("errorfloor: there is no ledger")
    assert [path.name for path in tmp_path.iterdir()] == ["errorfloor.toml"]


def test_show_says_on_request_where_in_its_range_an_entry_is_exposed(folder, shown):
    declared = catalogue.load(folder / "errorfloor.toml")
    amount, _ = catalogue.allowance(declared.tables["meters"].private["kwh"])
    places = (*(0.0,) * 16, *(amount / 2,) * 8, *(amount / 4,) * 40)
    charge = Charge(amount / 2, 0.0, 0.0, Profile("2026-q1", places, (0.0,) * 64))
    with open_ledger(declared.place, declared.folder) as book:
        book.charge([Entry("cc" * 32, {KWH: charge}, {})], {KWH: Charge(9.0, 1.0)}, TERMS)
    lines = shown(folder, "show", "--places").splitlines()
    assert lines[2].startswith('meters.kwh for ["standard"]: information')
    assert lines[3:6] == [
        "  0 … 12.5: 25 % in version 2026-q1",
        "  12.5 … 18.75: 75 % in version 2026-q1",
        "  18.75 … 50: 50 % in version 2026-q1",
    ]
    assert [line for line in lines if not line.startswith(" ")] == shown(folder, "show").splitlines()
    owners, kwh, gone = json.loads(shown(folder, "show", "--places", "--json"))["accounts"]
    assert owners["places"] == gone["places"] == {}
    assert kwh["places"]["2026-q1"] == pytest.approx([0.25] * 16 + [0.75] * 8 + [0.5] * 40)
