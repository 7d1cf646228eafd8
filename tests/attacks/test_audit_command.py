"""``errorfloor audit`` says what was tried, touches nothing, and fails when a floor is beaten."""

import json

import pytest
from typer.testing import CliRunner

from errorfloor.attacks import Audit, Check, Finding, ServerAudit
from errorfloor.attacks.running_server import MOST_SPENT
from errorfloor.cli import audit as command
from errorfloor.cli.app import app
from errorfloor.client.failures import RemoteError
from errorfloor.errors import InputError
from errorfloor.service.example import CATALOGUE, example_database
from serving import served


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "errorfloor.toml").write_text(CATALOGUE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


OWNED = (
    CATALOGUE.replace('["household"]', '["household", "day"]\nowner = { column = "household", floor = 0.2 }')
    .replace("public = {", "public = { day = 'whole',", 1)
    .replace("max_loss = 1e5", "max_loss = 9e3")
)


def attacks_named(*names):
    return [word for name in names for word in ("--attack", name)]


def errors(found):
    return [one["error"] for here in found["columns"].values() for one in here]


def run(*arguments):
    return CliRunner().invoke(app, ["audit", *arguments])


def test_audit_plays_what_is_asked_for_and_leaves_nothing_behind(folder):
    shown = run("--runs", "2", "--attack", "differencing", "--json")
    assert shown.exit_code == 0
    (finding,) = json.loads(shown.stdout)["columns"]["meters.kwh"]
    assert (finding["attack"], finding["runs"], finding["beaten"]) == ("differencing", 2, False)
    assert [file.name for file in folder.iterdir()] == ["errorfloor.toml"]


def test_the_same_seed_finds_the_same_again_whatever_else_is_played(folder):
    (folder / "errorfloor.toml").write_text(OWNED)
    chosen = ("differencing", "label collisions", "an owner's total", "posterior mean", "smoothing")
    first, again, alone, other = (
        json.loads(run("--runs", "2", "--json", "--seed", seed, *attacks_named(*names)).stdout)
        for seed, names in (("5", chosen), ("5", chosen), ("5", chosen[1:3]), ("6", chosen[3:]))
    )
    assert first == again
    assert first["seed"] == 5
    assert [one["attack"] for here in first["columns"].values() for one in here] == [
        "differencing",
        "label collisions",
        "posterior mean",
        "an owner's total",
        "smoothing",
    ]
    for here in (*first["columns"].values(), *alone["columns"].values()):
        for one in here:
            del one["interval"]  # it allows for the luck of all attacks that are played
    kept = {place: [one for one in here if one["attack"] in chosen[1:3]] for place, here in first["columns"].items()}
    assert {place: here for place, here in kept.items() if here} == alone["columns"]
    assert not set(errors(other)) & set(errors(first))


def test_a_seed_is_drawn_and_said_if_none_is_given(folder):
    seeds = {json.loads(run("--runs", "1", "--attack", "prior alone", "--json").stdout)["seed"] for _ in range(3)}
    assert len(seeds) > 1
    shown = run("--runs", "1", "--attack", "prior alone", "--seed", "77")
    assert "Repeat it with --seed 77." in " ".join(shown.stdout.split())


def test_too_few_runs_to_show_anything_are_named(folder):
    shown = " ".join(run("--runs", "3", "--attack", "differencing").stdout.split())
    assert "1 of 1 attacks could not have beaten one: so few runs show nothing. Play 38 or more." in shown


def test_an_unknown_attack_is_named_with_those_there_are(folder):
    found = run("--attack", "magic")
    assert isinstance(found.exception, InputError)
    assert "there is no attack 'magic'; there are: repeated questions" in str(found.exception)


def test_a_beaten_floor_is_a_failure_in_words(folder, monkeypatch):
    won = Finding("coin", "guess", runs=200, right=190, promised=0.6, distance=5.0, unit="kWh", threshold=158)
    monkeypatch.setattr(command, "run_audit", lambda *_, **__: Audit({"meters.kwh": (won,)}))
    shown = run()
    assert shown.exit_code == 1
    assert "1 of 1 attacks beat a floor: coin against meters.kwh" in shown.stdout


def test_a_picture_is_written(folder):
    shown = run("--runs", "2", "--attack", "differencing", "--attack", "smoothing", "--plot", "audit.png")
    assert shown.exit_code == 0
    assert (folder / "audit.png").read_bytes()[:4] == b"\x89PNG"


# -- a server that runs


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with example_database() as database, served(database, tmp_path_factory.mktemp("served")) as here:
        yield here, database


def test_a_running_server_is_tried_for_next_to_nothing(server):
    here, database = server
    shown = run("--url", here.url, "--token", here.tokens["analyst"], "--json")
    assert shown.exit_code == 0, shown.output
    found = json.loads(shown.stdout)
    assert [one["check"] for one in found["checks"]] == [
        "refusals",
        "prices",
        "repeated questions",
        "rephrased questions",
        "label collisions",
        "shared noise",
    ]
    assert all(one["kept"] for one in found["checks"])
    assert {one["attack"] for one in found["skipped"]} >= {"maximum likelihood", "searched questions", "smoothing"}
    (standing,) = database.left()
    assert 0 < standing.used <= MOST_SPENT == found["most_spent"]


def test_a_reader_cannot_spend_and_is_told_what_was_left_out(server):
    here, database = server
    before = database.left()[0].used
    shown = run("--url", here.url, "--token", here.tokens["reader"])
    assert shown.exit_code == 0
    assert "not tried: repeated questions of meters.kwh: could not spend" in " ".join(shown.stdout.split())
    assert "All 2 promises that could be tried were kept" in shown.stdout
    assert database.left()[0].used == before


def test_a_wrong_token_and_a_server_that_is_not_there_are_said(server):
    wrong = run("--url", server[0].url, "--token", "ef_no_such")
    assert isinstance(wrong.exception, RemoteError)
    assert wrong.exception.code == "token"
    nowhere = run("--url", "http://127.0.0.1:9", "--token", "ef_no_such")
    assert isinstance(nowhere.exception, RemoteError)
    assert "the server at http://127.0.0.1:9 cannot be reached" in str(nowhere.exception)


def test_options_that_do_not_go_together_are_refused(folder):
    assert "--url needs --token" in str(run("--url", "http://127.0.0.1:9").exception)
    assert "--url takes only --token and --json" in str(run("--url", "http://127.0.0.1:9", "--plot", "a.png").exception)


def test_a_broken_promise_of_a_running_server_is_a_failure_in_words(server, monkeypatch):
    broken = Check("meters.kwh", "shared noise", False, "one draw for several")
    monkeypatch.setattr(command, "audit_server", lambda *_, **__: ServerAudit((broken,), ()))
    shown = run("--url", server[0].url, "--token", server[0].tokens["analyst"])
    assert shown.exit_code == 1
    assert "1 of 1 promises were broken: shared noise of meters.kwh" in shown.stdout
