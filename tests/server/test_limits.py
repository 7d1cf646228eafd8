"""Limits: rate, size, time, and how many at once."""

import json
import socket
import threading
import time

import pytest

from errorfloor.errors import InputError
from errorfloor.server import Settings
from serving import served

ASK = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 1e6}


def code_of(reply):
    return reply.status_code, reply.json()["error"]["code"]


def test_rate_is_limited_by_token_and_not_for_others(database, tmp_path):
    with served(database, tmp_path, rate=0.001, burst=3) as server:
        analyst = server.client("analyst")
        assert [analyst.get("/v1/tables").status_code for _ in range(3)] == [200] * 3
        refused = analyst.get("/v1/tables")
        assert code_of(refused) == (429, "rate")
        assert int(refused.headers["retry-after"]) >= 1
        assert server.client("reader").get("/v1/tables").status_code == 200
        nobody = server.client(None)
        assert [nobody.get("/v1/tables").status_code for _ in range(4)] == [401, 401, 401, 429]


def test_large_bodies_are_refused_announced_or_not(database, tmp_path):
    with served(database, tmp_path, max_body=2048) as server:
        analyst = server.client("analyst")
        large = json.dumps(ASK | {"sql": "x" * 4000}).encode()
        headers = {"Content-Type": "application/json"}
        assert code_of(analyst.post("/v1/ask", content=large, headers=headers)) == (413, "too-large")
        pieces = (large[i : i + 500] for i in range(0, len(large), 500))
        assert code_of(analyst.post("/v1/ask", content=pieces, headers=headers)) == (413, "too-large")
        assert analyst.post("/v1/ask", json=ASK).status_code == 200


def test_body_that_never_comes_is_given_up(database, tmp_path):
    with served(database, tmp_path, time_limit=0.3) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(b"POST /v1/ask HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{")
            assert b"408" in line.recv(100)


def test_answer_that_was_charged_is_given_however_late(database, tmp_path, monkeypatch):
    question = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age > 55", "max_error": 2e6}
    honest = database.ask

    def slow(*given, **named):
        answer = honest(*given, **named)
        time.sleep(1.0)
        return answer

    with served(database, tmp_path, time_limit=0.5) as server:
        analyst = server.client("analyst")
        with monkeypatch.context() as patched:
            patched.setattr(database, "ask", slow)
            late = analyst.post("/v1/ask", json=question)
        assert (late.status_code, late.json()["fresh"]) == (200, [True])
        again = analyst.post("/v1/ask", json=question)
        assert again.json()["fresh"] == [False]


def test_more_than_can_wait_are_told_to_come_back(database, tmp_path, monkeypatch):
    entered, release = threading.Semaphore(0), threading.Event()
    honest = database.tables

    def slow():
        entered.release()
        release.wait(20)
        return honest()

    monkeypatch.setattr(database, "tables", slow)
    with served(database, tmp_path, threads=2, waiting=0) as server:
        replies = []

        def visit():
            replies.append(server.client("reader").get("/v1/tables").status_code)

        visitors = [threading.Thread(target=visit) for _ in range(2)]
        for visitor in visitors:
            visitor.start()
        entered.acquire()
        entered.acquire()
        refused = server.client("reader").post("/v1/price", json=ASK)
        assert code_of(refused) == (503, "busy")
        assert refused.headers["retry-after"] == "1"
        assert server.client(None).get("/healthz").status_code == 200
        release.set()
        for visitor in visitors:
            visitor.join()
        assert replies == [200, 200]
        assert server.client("reader").post("/v1/price", json=ASK).status_code == 200


def test_behind_a_proxy_only_https_is_served_and_its_headers_are_believed(database, tmp_path):
    with served(database, tmp_path, behind_proxy=True) as server:
        client = server.client("reader")
        assert code_of(client.get("/v1/tables")) == (403, "tls")
        assert client.get("/healthz").status_code == 200
        through = client.get("/v1/tables", headers={"X-Forwarded-Proto": "https"})
        assert through.status_code == 200
        assert "max-age" in through.headers["strict-transport-security"]
        signed = client.get("/", params={"token": server.tokens["reader"]}, headers={"X-Forwarded-Proto": "https"})
        assert "Secure" in signed.headers["set-cookie"]


def test_forwarded_headers_of_strangers_count_for_nothing(database, tmp_path):
    with served(database, tmp_path) as server:
        reply = server.client("reader").get("/v1/tables", headers={"X-Forwarded-Proto": "https"})
        assert "strict-transport-security" not in reply.headers
    with served(database, tmp_path, behind_proxy=True, proxies="10.1.2.3") as server:
        reply = server.client("reader").get("/v1/tables", headers={"X-Forwarded-Proto": "https"})
        assert code_of(reply) == (403, "tls")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"port": 70000}, "port must be at most 65535, got 70000"),
        ({"threads": 0}, "threads must be at least 1, got 0"),
        ({"time_limit": float("nan")}, "time_limit must be"),
        ({"cert": "a.pem"}, "give --cert and --key, or neither"),
        ({"host": "192.0.2.1"}, "can be reached from other machines"),
        ({"host": "meters.example"}, "can be reached from other machines"),
    ],
)
def test_settings_out_of_range_are_refused(given, words):
    with pytest.raises(InputError, match=words):
        Settings(**given)
