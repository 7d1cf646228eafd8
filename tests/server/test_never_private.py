"""A private value is searched for in every response, log line and metric, and found in none."""

import logging
import time
from types import SimpleNamespace

import httpx
import pytest

from errorfloor.service import open_database
from exact_formulas import values_seen
from fuzzing import fuzz
from repeated import rounds
from serving import CANARY, holds_canary, served, write_pay


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzzed")
    with open_database(write_pay(folder, floor=10.0)) as database, served(database, folder) as server:
        yield database, server


def test_canary_would_be_found():
    assert holds_canary(f"… {CANARY} …")
    assert holds_canary("9.87654321123e8")
    assert holds_canary("987_654_321_123")
    assert not holds_canary("987654321.12")


def test_canary_is_in_the_data(fuzzed):
    database, _ = fuzzed
    prepared = database.price("SELECT sum(wage) AS s FROM pay WHERE person = 17", max_error=9e8).prepared
    assert holds_canary(str(float(values_seen(prepared, database._engine)[0][0])))


def test_requests_at_random_give_no_500_no_traceback_and_no_private_value(fuzzed, caplog, capfd):
    _, server = fuzzed
    statuses = {}

    def seen(request, reply):
        statuses[reply.status_code] = statuses.get(reply.status_code, 0) + 1
        text = reply.content.decode("utf-8", "replace")
        assert reply.status_code < 500 or reply.json()["error"]["code"] in ("busy", "time"), (request, text)
        assert "Traceback" not in text, request
        if not (request[2] and holds_canary(request[2].decode("utf-8", "replace"))):  # one may ask for it by name
            assert not holds_canary(text), request
        if reply.status_code >= 400 and request[0] != "HEAD" and not request[1].startswith(("/static", "/login")):
            assert set(reply.json()["error"]) == {"code", "message", "fields"}, request

    with caplog.at_level(logging.DEBUG, logger="errorfloor"):
        fuzz(server.client, rounds(500), 20260724, seen)
        unpaid = (
            b'{"sql": "SELECT avg(wage) AS mean FROM pay WHERE age <> 31", "max_error": 1e6}'  # chance may ask none
        )
        reply = server.client("reader").post("/v1/ask", content=unpaid, headers={"Content-Type": "application/json"})
        seen(("POST", "/v1/ask", unpaid), reply)
    assert {200, 303, 400, 401, 403, 404, 405, 415, 422} <= set(statuses)
    metrics = server.client("owner").get("/metrics").text
    logged = server.audit.read_text() + metrics + caplog.text + "".join(capfd.readouterr())
    assert len(server.audited()) >= rounds(500) - 1  # the last line is written once its reply has left
    assert not holds_canary(logged)
    assert "Traceback" not in logged


def test_failure_behind_the_charge_tells_nothing(fuzzed, monkeypatch, caplog, capfd):
    database, server = fuzzed
    honest = database._engine.query
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age < 64", "max_error": 2e6}
    private = database.price(question["sql"], max_error=2e6).prepared.statement

    def broken(sql):
        if sql == private:
            raise ValueError(f"overflow at {CANARY}")
        return honest(sql)

    analyst = server.client("analyst")
    with monkeypatch.context() as patched:
        patched.setattr(database._engine, "query", broken)
        reply = analyst.post("/v1/ask", json=question)
    assert reply.status_code == 500
    problem = reply.json()["error"]
    assert problem["code"] == "answer-failed"
    assert "it stays charged, and asking again is free" in problem["message"]
    everything = reply.text + server.audit.read_text() + caplog.text + "".join(capfd.readouterr())
    assert not holds_canary(everything)
    assert analyst.post("/v1/ask", json=question).json()["fresh"] == [False]


def test_metrics_and_audit_log_do_not_depend_on_private_values(tmp_path, monkeypatch):
    """Labels follow from the random identity of a snapshot: here both have the same."""
    monkeypatch.setattr("errorfloor.vault.registration.secrets", SimpleNamespace(token_hex=lambda n: "ab" * n))
    seen = []
    for number, wages in enumerate(([0.0] * 120, [1e9] * 120)):
        folder = tmp_path / str(number)
        with open_database(write_pay(folder, floor=10.0, wages=wages)) as database, served(database, folder) as server:
            client = server.client("analyst")
            for sql in (
                "SELECT avg(wage) AS m FROM pay",
                "SELECT max(wage) FROM pay",
                "SELECT team, sum(wage) AS s FROM pay GROUP BY team",
            ):
                client.post("/v1/ask", json={"sql": sql, "max_error": 5e7})
            while len(server.audited()) < 3:  # a line is written once its reply has left
                time.sleep(0.01)
            apart = ("time", "request", "labels")  # a label holds the snapshot's random identity
            lines = [{k: v for k, v in line.items() if k not in apart} for line in server.audited()]
            metrics = client.get("/metrics").text.splitlines()
            counted = [line for line in metrics if "_created" not in line and "duration_seconds" not in line]
            seen.append((lines, counted))
    assert seen[0] == seen[1]
    assert any("errorfloor_allowance_used_ratio" in line for line in seen[0][1])


def test_raw_rubbish_on_the_line_is_turned_away(server):
    import socket

    host, port = server.url.removeprefix("http://").split(":")
    for rubbish in (b"\x00\x01\x02\r\n\r\n", b"GET HTTP\r\n\r\n", b"A" * 70000 + b"\r\n\r\n"):
        with socket.create_connection((host, int(port)), timeout=20) as line:
            try:
                line.sendall(rubbish)
                said = line.recv(1000)
            except ConnectionError:
                said = b""
            assert said == b"" or said.startswith(b"HTTP/1.1 4")
    assert httpx.get(f"{server.url}/healthz", trust_env=False).status_code == 200
