"""Tokens for some tables, with a share for one question and for one day: refused before anything is charged."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from errorfloor.access.token import Terms
from errorfloor.catalogue import load
from errorfloor.cli.app import app
from errorfloor.engines import open_engine
from errorfloor.server import Role, TokenFile
from errorfloor.service import open_database
from errorfloor.vault import register
from serving import served, write_pay

MORE = """
[tables.bonus]
source = "bonus.parquet"
version = "1"
row_key = ["person"]
public = { person = "whole" }

[tables.bonus.private.extra]
unit = "EUR"
range = [0, 1000]
resolution = 1
floor = 10.0

[streams.cars]
A = [[1, 1], [0, 1]]
C = [[1, 0]]
horizon = 20
states = ["position", "speed"]
public = ["speed"]
max_loss = 210000
step = 1
[streams.cars.private.position]
unit = "m"
range = [-2000000000, 2000000000]
resolution = 1
floor = 20
distance = 50
"""
TERMS = {
    "pay only": Terms(tables=("pay",)),
    "small questions": Terms(question=0.01),
    "small days": Terms(day=0.05),
    "some trips a day": Terms(day=0.2),
    "no cars": Terms(tables=("pay", "bonus")),
}


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A server of two tables and a stream; ``as_one`` gives a client whose token has the terms named."""
    folder = tmp_path_factory.mktemp("two")
    catalogue = write_pay(folder, floor=10.0)
    pq.write_table(
        pa.table({"person": list(range(50)), "extra": [float(i) for i in range(50)]}), folder / "bonus.parquet"
    )
    catalogue.write_text(catalogue.read_text() + MORE)
    declared = load(catalogue)
    with open_engine(declared.place, declared.folder, read_only=False) as engine:
        register(declared, "bonus", engine=engine)
    tokens = TokenFile(None)
    with open_database(catalogue) as database, served(database, folder, tokens=tokens) as server:

        def as_one(terms, role=Role.ANALYST):
            client = server.client(None)
            client.headers["Authorization"] = f"Bearer {tokens.create('ada', role, TERMS[terms])[1]}"
            return client

        yield server, database, as_one


def ask(client, sql, spend, path="ask"):
    return client.post(f"/v1/{path}", json={"sql": sql, "spend": spend})


def used(database, table):
    return next(one.used for one in database.left() if one.account.table == table)


def test_other_tables_do_not_exist_for_a_token_of_some(two):
    server, database, as_one = two
    ask(server.client("analyst"), "SELECT avg(extra) AS m FROM bonus", 0.01)  # known to the server, planned and charged
    ask(server.client("analyst"), "SELECT avg(wage) AS m FROM pay", 0.01)
    client, before = as_one("pay only"), used(database, "bonus")
    for path in ("ask", "price", "simulate"):
        refused = ask(client, "SELECT avg(extra) AS m FROM bonus", 0.01, path)
        assert refused.status_code == 422
        assert "extra" not in refused.text.replace("SELECT avg(extra)", "")
        assert ask(client, "SELECT avg(wage) AS m FROM pay", 0.01, path).status_code == 200
    for questions, candidates in ([("extra", "bonus")], {}), ([("wage", "pay")], {"bonus": {"extra": [1.0]}}):
        asked = [{"sql": f"SELECT avg({column}) FROM {table}", "max_error": 1.0} for column, table in questions]
        refused = client.post("/v1/plan", json={"questions": asked, "candidates": candidates})
        assert refused.status_code == 422
        assert "did you mean" not in refused.text
    assert used(database, "bonus") == before
    assert [one["name"] for one in client.get("/v1/tables").json()["tables"]] == ["pay"]
    assert client.get("/v1/tables/bonus").status_code == 404
    assert {one["table"] for one in client.get("/v1/ledger").json()["accounts"]} == {"pay"}
    assert {one["table"] for one in client.get("/v1/ledger/entries").json()["entries"]} == {"pay"}
    assert client.get("/v1/ledger/entries", params={"limit": 1}).json()["entries"][0]["table"] == "pay"
    assert client.get("/v1/streams").json()["streams"] == []
    assert "bonus" not in client.get("/about").text
    assert 'account="bonus.extra"' in server.client("reader").get("/metrics").text
    figures = client.get("/metrics").text  # nothing of what another was shown
    assert ('account="pay.wage"' in figures, "bonus" in figures) == (True, False)


def test_a_question_above_its_share_is_refused_before_the_charge_and_its_price_says_so(two):
    _, database, as_one = two
    client, before = as_one("small questions"), used(database, "pay")
    sql = "SELECT avg(age) AS a, avg(wage) AS b, sum(wage) AS c FROM pay WHERE age > 25"
    priced = ask(client, sql, 0.02, "price").json()
    assert not priced["affordable"]
    assert "Refused if asked" in priced["explain"]
    assert "in one question" in priced["explain"]
    refused = ask(client, sql, 0.02)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "allowance")
    assert "in one question" in refused.json()["error"]["message"]
    simulated = ask(client, sql, 0.02, "simulate").json()
    assert (simulated["answers"], "in one question" in simulated["binding"]) == (0, True)
    assert used(database, "pay") == before
    assert ask(client, sql, 0.009).status_code == 200
    further = ask(client, "SELECT avg(wage) AS d FROM pay", 0.009, "simulate").json()
    assert further["answers"] > 50  # the share of a question is whole again for the next
    assert "in one question" not in further["binding"]


def test_what_was_answered_to_others_stays_free_whatever_its_share(two):
    server, _, as_one = two
    sql = "SELECT sum(wage) AS shared FROM pay WHERE age > 30"
    assert ask(server.client("analyst"), sql, 0.03).status_code == 200
    assert ask(as_one("small questions"), sql, 0.03).json()["accounts"][0]["used_by_this"] == 0


def test_a_day_ends_with_its_share_for_owners_too(two):
    server, database, as_one = two
    for role, youngest in ((Role.ANALYST, 21), (Role.OWNER, 31)):
        client = as_one("small days", role)
        statuses = [
            ask(client, f"SELECT avg(wage) AS {role.value} FROM pay WHERE age > {age}", 0.02).status_code
            for age in range(youngest, youngest + 3)
        ]
        assert statuses == [200, 200, 403]
        (quota,) = [one for one in client.get("/v1/ledger").json()["quotas"] if one["table"] == "pay"]
        assert (quota["kind"], quota["share"]) == ("token_day", 0.05)
        assert 0.7 < quota["used"] <= 0.8
    assert ask(server.client("analyst"), "SELECT avg(wage) AS own FROM pay WHERE age > 41", 0.02).status_code == 200
    assert used(database, "pay") <= 1


def test_trips_of_streams_keep_to_a_tokens_terms(two):
    server, database, as_one = two

    def push(client, trip):
        body = {"entity": "car 7", "trip": trip, "step": 0, "measurement": [120.0]}
        return client.post("/v1/streams/cars/answers", json=body).status_code

    share = server.client("owner").get("/v1/streams/cars").json()["private"][0]["share"]
    assert 0.01 < share <= 0.2
    assert push(as_one("small questions", Role.OWNER), "monday") == 403
    assert push(as_one("no cars", Role.OWNER), "monday") == 404
    assert [one for one in database.left() if one.account.table == "cars"] == []
    daily = as_one("some trips a day", Role.OWNER)
    fits = int(0.2 // share)
    assert [push(daily, f"trip {i}") for i in range(fits + 1)] == [200] * fits + [403]
    assert push(as_one("small questions", Role.OWNER), "trip 0") == 200  # begun, and free


def test_list_shows_what_tokens_are_limited_to(tmp_path):
    def command(*words):
        done = CliRunner().invoke(app, ["tokens", *words, "--file", str(tmp_path / "t.json")], catch_exceptions=False)
        return done.stdout

    given = ("--table", "pay", "--question", "0.01", "--day", "0.05", "--days", "90", "--address", "10.0.0.0/8")
    made = json.loads(command("create", "--name", "ada", *given, "--json"))
    assert (made["tables"], made["question"], made["day"], made["addresses"]) == (["pay"], 0.01, 0.05, ["10.0.0.0/8"])
    line = command("list")
    assert "from 10.0.0.0/8, for pay, 1 % of the allowance per question, 5 % per day" in line
    assert "never used" in line
