"""``errorfloor audit`` says what was tried, touches nothing, and fails when a floor is beaten."""

import json

import pytest
from typer.testing import CliRunner

from errorfloor import attacks
from errorfloor.attacks import Audit, Finding
from errorfloor.cli.app import app
from errorfloor.errors import InputError
from errorfloor.service.example import CATALOGUE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "errorfloor.toml").write_text(CATALOGUE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


def test_audit_plays_what_is_asked_for_and_leaves_nothing_behind(folder):
    shown = run("--runs", "2", "--attack", "differencing", "--json")
    assert shown.exit_code == 0
    (finding,) = json.loads(shown.stdout)["columns"]["meters.kwh"]
    assert (finding["attack"], finding["runs"], finding["beaten"]) == ("differencing", 2, False)
    assert [file.name for file in folder.iterdir()] == ["errorfloor.toml"]


def test_an_unknown_attack_is_named_with_those_there_are(folder):
    found = run("--attack", "magic")
    assert isinstance(found.exception, InputError)
    assert "there is no attack 'magic'; there are: repeated questions" in str(found.exception)


def test_a_beaten_floor_is_a_failure_in_words(folder, monkeypatch):
    won = Finding("coin", "guess", runs=200, right=190, promised=0.6, distance=5.0, unit="kWh", threshold=158)
    monkeypatch.setattr(attacks, "audit", lambda *_, **__: Audit({"meters.kwh": (won,)}))
    shown = run()
    assert shown.exit_code == 1
    assert "1 of 1 attacks beat a floor: coin against meters.kwh" in shown.stdout
