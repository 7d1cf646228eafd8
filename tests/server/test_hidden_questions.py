"""What others asked stays hidden at the door, also from who guesses it: nothing ties a guess to an answer or a time."""

import pytest
from fastapi.testclient import TestClient

from errorfloor.access.replies import TABLES
from errorfloor.server import Role, Settings, TokenFile, create_app
from errorfloor.service import open_database
from monthly import grow, write_catalogue, write_months

HIDDEN = "SELECT tariff, sum(kwh) AS s FROM meters WHERE home <> 'H7' AND day < '2024-02-01' GROUP BY tariff"
GUESS = {"sql": "SELECT sum(kwh) AS s FROM meters WHERE home <> 'H7' AND day < '2024-02-01'", "max_error": 600.0}


@pytest.fixture
def call(tmp_path):
    write_months(tmp_path, [1, 2])
    grow(tmp_path, write_catalogue(tmp_path))
    tokens = TokenFile(tmp_path / "tokens.json")
    named = {"owner": Role.OWNER, "ada": Role.ANALYST, "ben": Role.ANALYST, "reader": Role.READER}
    secrets = {name: tokens.create(name, role)[1] for name, role in named.items()}
    with (
        open_database(tmp_path / "errorfloor.toml") as database,
        TestClient(create_app(database, tokens=tokens, settings=Settings())) as client,
    ):

        def call(who, path, form="application/json", **body):
            headers = {"Authorization": f"Bearer {secrets[who]}", "Accept": form}
            reply = client.post(path, headers=headers, json=body) if body else client.get(path, headers=headers)
            assert reply.status_code == 200, reply.text
            return reply

        asked = call("ada", "/v1/ask", sql=HIDDEN, max_error=300.0)
        assert asked.json()["fresh"] == [True]
        yield call


@pytest.mark.parametrize("who", ["ben", "reader", "ada", "owner"])
def test_a_guess_that_follows_from_a_hidden_question_is_free_and_names_no_answer_and_no_time(call, who):
    (kept,) = call("owner", "/v1/ledger/known").json()["answers"]
    told = who in ("ada", "owner")
    where = {"answer": kept["number"], "time": kept["time"]} if told else {"answer": None, "time": None}
    for path in ("/v1/price", "/v1/ask"):
        found = call(who, path, **GUESS)
        assert found.json()["outputs"][0]["from"] == {**where, "cells": 2}
        assert (kept["time"][:10] in found.text) is told
    for form in TABLES:
        assert (kept["time"].encode() in call(who, "/v1/ask", form, **GUESS).content) <= told


def test_lines_of_what_others_asked_say_that_something_was_charged_and_when(call):
    (line,) = call("ben", "/v1/ledger/known").json()["answers"]
    (entry,) = call("ben", "/v1/ledger/entries").json()["entries"]
    shown = {name: value for name, value in {**line, **entry}.items() if value not in (None, [], "")}
    assert shown.keys() == {"number", "time", "table", "version", "shared", "sequence", "key"}
    (mine,) = call("ada", "/v1/ledger/entries").json()["entries"]
    assert (mine["parts"], mine["question"]) == ({"2024-01": "1"}, HIDDEN)
