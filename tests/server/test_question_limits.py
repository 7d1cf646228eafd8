"""What one question may take: limits hold before work starts and are told with their number; given up is stopped."""

import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from typer.testing import CliRunner

from errorfloor.access.size import reply_bytes
from errorfloor.access.threads import LARGE
from errorfloor.cli.app import app
from errorfloor.engines.allotment import Allotment, allotted
from errorfloor.errors import AllowanceError, EngineError, RefusedError
from errorfloor.server import questions, statements
from errorfloor.service import open_database
from serving import LIMIT, served, write_pay

PEOPLE = {"sql": "SELECT person, team, sum(wage) AS s FROM pay GROUP BY person, team", "max_error": 9e8}
LONG = "SELECT sum(a.range * b.range) AS s FROM range(10000000) AS a, range(10000000) AS b"


def limited(folder, **limits):
    """A catalogue with limits of its own."""
    catalogue = write_pay(folder, floor=10.0)
    words = "".join(f"{name} = {value}\n" for name, value in {"question": 1.0, **limits}.items())
    catalogue.write_text(catalogue.read_text().replace(LIMIT, f"[limit]\n{words}"))
    return catalogue


def problem_of(reply, status):
    assert reply.status_code == status, reply.text
    return reply.json()["error"]


def test_too_many_cells_are_refused_before_they_are_read(tmp_path, monkeypatch):
    with open_database(limited(tmp_path, cells=100)) as database, served(database, tmp_path) as server:
        sizes, honest = [], database._engine.query

        def query(sql):
            found = honest(sql)
            sizes.append(found.num_rows)
            return found

        monkeypatch.setattr(database._engine, "query", query)
        analyst = server.client("analyst")
        for route in ("ask", "price", "simulate"):
            problem = problem_of(analyst.post(f"/v1/{route}", json=PEOPLE), 422)
            assert problem["fields"] == {"reason": "cells", "cells": 100, "memory": 2**29}
            assert "more than 100 groups and 1 output; one answer may have 100 cells" in problem["message"]
        assert max(sizes) <= 101
        free = {"sql": "SELECT person, count(*) AS n FROM pay GROUP BY person"}  # costs a reader nothing
        assert problem_of(server.client("reader").post("/v1/ask", json=free), 422)["code"] == "refused"
        assert database.history() == []
        database.price(PEOPLE["sql"], max_error=9e8)  # beside the data there is no limit, and now the plan is known
        assert "has 120 groups" in problem_of(analyst.post("/v1/ask", json=PEOPLE), 422)["message"]
        few = PEOPLE | {"sql": PEOPLE["sql"].replace(" GROUP", " WHERE person < 100 GROUP")}
        assert analyst.post("/v1/ask", json=few).status_code == 200


def test_memory_bounds_the_parts_of_divided_accounts_too(database):
    sql = "SELECT person, avg(wage) AS m FROM pay WHERE age > 20 GROUP BY person"
    with allotted(Allotment(memory=2000)), pytest.raises(RefusedError, match="of memory") as refused:
        database.price(sql, max_error=9e8)
    assert refused.value.fields["reason"] == "cells"
    assert Allotment(cells=100, memory=10**6).parts(outputs=1, sums=9, divided=True) == 400


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT avg(wage) AS m FROM pay",
        "SELECT team, hired, sum(wage) AS s, count(*) AS n, avg(wage) AS m FROM pay GROUP BY team, hired",
        "SELECT person, team, ln(1 + sum(wage)) AS s FROM pay GROUP BY person, team ORDER BY person LIMIT 7",
    ],
)
def test_size_of_a_reply_is_bounded_from_public_facts(database, sql):
    answer = database.ask(sql, max_error=9e8)
    assert len(b"".join(statements.json_parts(answer))) <= reply_bytes(answer.prepared)


def test_reply_that_may_be_too_large_is_refused_with_the_number(tmp_path):
    with open_database(limited(tmp_path, bytes=65536)) as database, served(database, tmp_path) as server:
        wide = "SELECT person, sum(wage) AS a, sum(2 * wage) AS b, avg(wage) AS c FROM pay GROUP BY person"
        problem = problem_of(server.client("analyst").post("/v1/ask", json={"sql": wide, "max_error": 9e8}), 422)
        assert (problem["fields"]["reason"], problem["fields"]["bytes"]) == ("bytes", 65536)
        assert "65,536 are allowed; nothing was charged" in problem["message"]
        assert database.history() == []


def test_large_answers_are_written_part_by_part_and_are_the_same(database, tmp_path, monkeypatch):
    with served(database, tmp_path) as server:
        analyst = server.client("analyst")
        whole = analyst.post("/v1/ask", json=PEOPLE)
        monkeypatch.setattr(statements, "AT_ONCE", 50)
        monkeypatch.setattr(questions, "AT_ONCE", 50)
        parts = analyst.post("/v1/ask", json=PEOPLE)
        assert "content-length" not in parts.headers
        assert int(whole.headers["content-length"]) == len(whole.content)
        assert len(parts.json()["cells"]) == len(parts.json()["rows"]) == 120
        changing = ("fresh", "accounts", "explain", "summary", "set_by")  # the first was charged
        assert {k: v for k, v in parts.json().items() if k not in changing} == {
            k: v for k, v in whole.json().items() if k not in changing
        }
        again = [analyst.post("/v1/ask", json=PEOPLE).status_code for _ in range(9)]  # each leaves its place
        assert again == [200] * 9


def test_questions_under_way_are_limited_by_token(tmp_path, monkeypatch):
    with open_database(limited(tmp_path, running_per_token=1)) as database, served(database, tmp_path) as server:
        analyst, others = server.client("analyst"), []
        honest = database._asking

        def nested(*given):
            if not others:
                others.append(None)
                others.append(server.client("analyst").post("/v1/price", json=PEOPLE))
                others.append(server.client("reader").post("/v1/price", json=PEOPLE))
                others.extend(server.client("analyst").get(path) for path in ("/v1/ledger", "/v1/ledger/entries"))
            return honest(*given)

        monkeypatch.setattr(database, "_asking", nested)
        assert analyst.post("/v1/price", json=PEOPLE).status_code == 200
        problem = problem_of(others[1], 429)
        assert (problem["code"], problem["fields"]["running_per_token"]) == ("running", 1)
        assert others[2].status_code == 200
        assert [problem_of(one, 429)["code"] for one in others[3:]] == ["running", "running"]
        assert analyst.post("/v1/price", json=PEOPLE).status_code == 200


def test_a_reader_of_a_large_ledger_keeps_nobody_else_waiting(database, tmp_path, monkeypatch):
    together = threading.Barrier(2)

    def large():
        until = time.thread_time() + 4 * LARGE
        while time.thread_time() < until:
            pass
        return []

    def at_once():
        together.wait(30)
        return []

    with served(database, tmp_path, threads=2) as server, ThreadPoolExecutor(2) as pool:
        monkeypatch.setattr(database, "left", large)
        assert server.client("reader").get("/v1/ledger").status_code == 200
        monkeypatch.setattr(database, "left", at_once)
        replies = pool.map(lambda one: one.get("/v1/ledger"), [server.client("analyst"), server.client("owner")])
        assert [reply.status_code for reply in replies] == [200, 200]


def test_one_question_takes_a_share_at_most_unless_an_owner_says_so(tmp_path):
    large = {"sql": "SELECT avg(wage) AS mean FROM pay", "spend": 0.3}
    catalogue = limited(tmp_path, question=0.05)
    with open_database(catalogue) as database, served(database, tmp_path) as server:
        analyst, owner = server.client("analyst"), server.client("owner")
        for client in (analyst, owner):
            problem = problem_of(client.post("/v1/ask", json=large), 403)
            assert (problem["code"], problem["fields"]["limit"]) == ("allowance", 0.05)
            assert "one question may take 5 %" in problem["message"]
        assert problem_of(analyst.post("/v1/ask", json=large | {"over_limit": True}), 403)["code"] == "role"
        assert database.history() == []
        assert owner.post("/v1/ask", json=large | {"over_limit": True}).status_code == 200
        assert analyst.post("/v1/ask", json=large).json()["fresh"] == [False]  # now it is free
        assert analyst.post("/v1/ask", json=large | {"spend": 0.04}).status_code == 200
    asked = ["ask", "SELECT sum(wage) AS s FROM pay", "--spend", "0.2", "--catalogue", str(catalogue)]
    refused = CliRunner().invoke(app, asked)
    assert isinstance(refused.exception, AllowanceError)
    assert CliRunner().invoke(app, [*asked, "--over-limit"]).exit_code == 0


def sent(server, body):
    """Send a question on a line of its own, and give the line."""
    host, port = server.url.removeprefix("http://").split(":")
    content = json.dumps(body).encode()
    head = (
        f"POST /v1/price HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.tokens['analyst']}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    )
    line = socket.create_connection((host, int(port)), timeout=20)
    line.sendall(head.encode() + content)
    return line


@pytest.fixture
def endless(database, monkeypatch):
    """Let the engine work for hours on public columns; give what became of it."""
    ended, honest = [], database._engine.query

    def query(sql):
        try:
            return honest(LONG)
        except EngineError as problem:
            ended.append(problem.fields["kind"])
            raise

    monkeypatch.setattr(database._engine, "query", query)
    return ended


def test_request_whose_client_goes_away_stops_the_engine(database, tmp_path, endless):
    with served(database, tmp_path, threads=1, waiting=0) as server:
        line = sent(server, {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age = 33", "max_error": 1e9})
        time.sleep(0.3)
        line.close()
        while not endless:
            time.sleep(0.01)
        assert endless == ["InterruptException"]
        while not server.audited():
            time.sleep(0.01)
        assert (server.audited()[0]["status"], server.audited()[0]["code"]) == (499, "gone")
        assert server.client("reader").get("/v1/tables").status_code == 200  # the one thread is free again


def test_request_out_of_time_stops_the_engine(database, tmp_path, endless):
    with served(database, tmp_path, threads=1, waiting=0, time_limit=0.3) as server:
        asked = {"sql": "SELECT avg(wage) AS mean FROM pay WHERE age = 34", "max_error": 1e9}
        assert problem_of(server.client("analyst").post("/v1/ask", json=asked), 503)["code"] == "time"
        while not endless:
            time.sleep(0.01)
        assert endless == ["InterruptException"]
