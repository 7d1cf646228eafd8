"""Every failure has one shape and no traceback; strict headers are on all of it."""

import json

import pytest

from errorfloor.errors import EngineError
from errorfloor.server import Role, TokenFile
from errorfloor.server.gate import HEADERS
from serving import served

ASK = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 1e6}


def shape(reply, status, code):
    assert reply.status_code == status
    problem = reply.json()["error"]
    assert set(problem) == {"code", "message", "fields"}
    assert problem["code"] == code
    assert len(problem["message"]) > 10
    for name, value in HEADERS.items():
        assert reply.headers[name] == value
    assert reply.headers["cache-control"] == "no-store"
    assert len(reply.headers["x-request-id"]) == 16
    return problem


def test_no_token_and_unknown_tokens_are_sent_away(server):
    nobody = server.client(None)
    for headers in (
        {},
        {"Authorization": "Bearer ef_x_y"},
        {"Authorization": "Basic eDp5"},
        {"Authorization": "Bearer"},
    ):
        reply = nobody.get("/v1/tables", headers=headers)
        shape(reply, 401, "token")
        assert reply.headers["www-authenticate"].startswith("Bearer")


def test_an_unknown_token_is_told_from_a_missing_one_and_not_from_a_revoked_one(server, database, tmp_path):
    nobody = server.client(None)

    def said(**headers):
        return nobody.get("/v1/tables", headers=headers).json()["error"]["message"]

    assert "needs a token" in said() == said(Authorization="Bearer") == said(Authorization="Basic eDp5")
    tokens = TokenFile(None)
    token, text = tokens.create("anna", Role.READER)
    tokens.revoke(token.id)
    with served(database, tmp_path, tokens=tokens) as here:
        revoked = here.client(None).get("/v1/tables", headers={"Authorization": f"Bearer {text}"})
    unknown = said(Authorization="Bearer ef_x_y")
    assert "does not know this token" in unknown
    assert revoked.json()["error"]["message"] == unknown
    assert "sign in again" in said(Cookie=f"errorfloor={text}")


@pytest.mark.parametrize(
    ("given", "where", "words"),
    [
        ({"max_error": 0}, "max_error", "must be a number above 0, such as 0.5, or one for each output by name"),
        ({"max_error": -1}, "max_error", "got -1"),
        ({"max_error": "fifty"}, "max_error", 'got "fifty"'),
        ({"max_error": "50"}, "max_error", 'got "50"'),
        ({"max_error": True}, "max_error", "got true"),
        ({"max_error": {"mean": -1}}, "max_error.mean", "must be a number above 0, such as 0.5, got -1"),
        ({"max_eror": 5}, "max_eror", "did you mean max_error?"),
        ({"surprise": 4711}, "surprise", "there are sql, max_error, spend, support, max_loss, dry, charge"),
        ({"spend": 2}, "spend", "above 0 and at most 1, such as 0.05, got 2"),
        ({"support": {"kind": "Interval", "low": 0, "hihg": 1, "high": 1}}, "support.hihg", "did you mean high?"),
        ({"support": {"kind": "Interval", "low": "a", "high": 1}}, "support.low", 'must be a number, got "a"'),
        ({"support": {"kind": "Ball"}}, "support", "a kind among 'Interval', 'HalfLine'"),
        ({"sql": ""}, "sql", 'must be a question as text, such as "SELECT'),
    ],
)
def test_a_wrong_field_is_told_once_in_our_words(analyst, given, where, words):
    reply = analyst.post("/v1/ask", json={"sql": ASK["sql"], **given})
    problem = shape(reply, 422, "input")
    assert [one["where"] for one in problem["fields"]["problems"]] == [where]
    assert problem["message"].startswith(f"{where} ")
    assert words in problem["message"]
    for foreign in ("Input should", "constrained", "not permitted", "4711"):
        assert foreign not in problem["message"]


def test_a_body_that_is_no_object_is_told_so_and_not_repeated(analyst):
    def said(content):
        reply = analyst.post("/v1/ask", content=content, headers={"Content-Type": "application/json"})
        return shape(reply, 422, "input")["message"]

    assert said(b"[4711.5]") == "the body must be a JSON object, got a list"
    assert said(b"") == "the body is empty: send a JSON object"
    assert said(b"{").startswith("the body is not JSON")
    assert said(b'{"max_error": 1}').startswith("sql is missing: give a question")


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/v2/tables", 404, "not-found"),
        ("GET", "/v1/tables/", 404, "not-found"),
        ("GET", "/v1/ask", 405, "method"),
        ("DELETE", "/v1/tables", 405, "method"),
        ("GET", "/v1/ledger/entries?limit=0", 422, "input"),
        ("GET", "/v1/ledger/entries?after=-1", 422, "input"),
        ("GET", "/v1/ledger/entries?after=99999999999999999999", 422, "input"),
    ],
)
def test_wrong_addresses_methods_and_parameters(analyst, method, path, status, code):
    reply = analyst.request(method, path)
    shape(reply, status, code)
    if status == 405:
        assert reply.headers["allow"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"sql": 5}',
        b'{"sql": "SELECT 1", "max_error": NaN}',
        b'{"sql": "SELECT 1", "max_error": 1e999}',
        b'{"sql": "SELECT 1", "max_error": -1}',
        b'{"sql": "SELECT 1", "spend": 2}',
        b'{"sql": "\\ud800"}',
        b'{"sql": "SELECT 1", "surprise": 1}',
        b'{"sql": "SELECT 1", "support": {"kind": "Ball"}}',
        b'{"sql": "SELECT avg(wage) FROM pay", "max_error": 1, "spend": 0.1}',
        b'{"sql": "SELECT avg(wage) FROM pay"}',
        b'{"sql": "' + b"x" * 20000 + b'"}',
        b"[" * 20000,
    ],
)
def test_bodies_that_cannot_be_used(analyst, content):
    reply = analyst.post("/v1/ask", content=content, headers={"Content-Type": "application/json"})
    assert reply.status_code in (400, 422)
    shape(reply, reply.status_code, "malformed" if reply.status_code == 400 else reply.json()["error"]["code"])


def test_body_of_another_kind_is_refused(analyst):
    reply = analyst.post("/v1/ask", content=json.dumps(ASK), headers={"Content-Type": "text/csv"})
    shape(reply, 415, "media-type")


def test_idempotency_key_belongs_to_one_question(analyst, owner):
    key = {"Idempotency-Key": "one"}
    first = analyst.post("/v1/ask", json=ASK, headers=key)
    assert first.status_code == 200
    assert analyst.post("/v1/ask", json=ASK, headers=key).json()["rows"] == first.json()["rows"]
    shape(analyst.post("/v1/ask", json=ASK | {"max_error": 1.5e6}, headers=key), 409, "idempotency")
    assert owner.post("/v1/ask", json=ASK | {"max_error": 1.5e6}, headers=key).status_code == 200
    shape(analyst.post("/v1/ask", json=ASK, headers={"Idempotency-Key": "a b"}), 422, "input")
    shape(analyst.post("/v1/ask", json=ASK, headers={"Idempotency-Key": "x" * 201}), 422, "input")


def test_what_should_not_happen_is_one_fixed_sentence(analyst, database, monkeypatch, caplog):
    def broken():
        raise RuntimeError("private: 4711")

    monkeypatch.setattr(database, "tables", broken)
    reply = analyst.get("/v1/tables")
    problem = shape(reply, 500, "failure")
    assert "4711" not in json.dumps(problem)
    assert "4711" not in caplog.text
    assert "RuntimeError" in caplog.text


def test_engine_out_of_reach_is_503_and_comes_back(analyst, database, monkeypatch):
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age > 29", "max_error": 2e6}

    def gone(sql):
        raise EngineError("duckdb could not answer a query (IOException)", engine="duckdb", kind="IOException")

    with monkeypatch.context() as broken:
        broken.setattr(database._engine, "query", gone)
        reply = analyst.post("/v1/price", json=question)
        shape(reply, 503, "engine")
        assert reply.headers["retry-after"]
    assert analyst.post("/v1/price", json=question).status_code == 200
