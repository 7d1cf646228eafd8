"""After the charge nothing is given up, and status, time, log and metrics are the same whatever the private values."""

import asyncio
import json
import math
import random
import socket
import threading
import time

import pytest

from errorfloor.access.course import Course
from errorfloor.access.failures import DoorError
from errorfloor.access.grid import COARSE, TimeGrid
from errorfloor.access.threads import Threads
from errorfloor.errors import AnswerFailedError, InputError
from errorfloor.server import questions
from serving import served

CANARY = "4711.0815"


def question(number):
    """A question that nobody asked before."""
    return {"sql": f"SELECT avg(wage) AS mean FROM pay WHERE person <> {number}", "max_error": 5e6}


def code_of(reply):
    return reply.status_code, reply.json()["error"]["code"]


def seen_of(line):
    """What an audit line says besides when, which request it was, and which question."""
    return {name: value for name, value in line.items() if name not in ("time", "request", "labels")}


@pytest.fixture
def scans(database, monkeypatch):
    """Say what happens to each scan of private columns: a function that is called before it."""
    honest, planted = database._engine.query, []

    def query(sql):
        if "x0" in sql and planted and "IS NULL" not in sql:
            planted[-1]()
        return honest(sql)

    monkeypatch.setattr(database._engine, "query", query)
    return planted.append


def is_private(database, asked):
    return "x0" in database.price(asked["sql"], max_error=asked["max_error"]).prepared.statement


@pytest.mark.parametrize("ratio", [1.01, 1.25, 3.0])
def test_times_on_the_grid_are_the_first_powers_that_are_not_too_early(ratio):
    chance = random.Random(5)
    for _ in range(2000):
        cost, passed = 10 ** chance.uniform(-3, 2), 10 ** chance.uniform(-5, 4)
        time = TimeGrid(ratio).after(passed, cost=cost)
        steps = math.log(time / cost) / math.log(ratio)
        assert time >= passed
        assert abs(steps - round(steps)) < 1e-6
        assert time == cost or time < passed * ratio * (1 + 1e-8)
    with pytest.raises(InputError, match="must be above 1"):
        TimeGrid(1.0)


def on_the_grid(course, cost):
    """Whether what is written down as the time of a reply is a time on the grid."""
    steps = math.log((course.left[0] - course._looked[0]) / cost) / math.log(COARSE.ratio)
    moments = (course.left[1] - course._looked[1]).total_seconds()
    assert moments == pytest.approx(course.left[0] - course._looked[0], abs=1e-5)
    return steps > -1e-6 and abs(steps - round(steps)) < 1e-6


def test_work_leaves_on_the_grid_whatever_it_takes():
    threads = Threads(1, waiting=1, time_limit=5.0)

    async def taken(seconds):
        course = Course(COARSE, time_limit=5.0)

        def work():
            course.start(0.1)
            time.sleep(seconds)

        await threads.run(work, course)
        assert on_the_grid(course, 0.1)
        return time.monotonic() - course.left[0]

    waited = [asyncio.run(taken(seconds)) for seconds in (0.0, 0.02, 0.11)]
    threads.close()
    assert min(waited) >= -0.002  # the event loop's clock


def test_failures_behind_the_charge_leave_on_the_grid_and_say_one_thing():
    threads = Threads(1, waiting=1, time_limit=5.0)

    async def failing(problem):
        course = Course(COARSE, time_limit=5.0)

        def work():
            course.start(0.1)
            raise problem

        begun = time.monotonic()
        with pytest.raises(AnswerFailedError) as told:
            await threads.run(work, course)
        assert time.monotonic() - begun >= 0.1
        return str(told.value), told.value.__cause__, told.value.__context__

    said = [asyncio.run(failing(problem)) for problem in (ValueError(CANARY), MemoryError(), DoorError(418, "x", "y"))]
    threads.close()
    assert said == [(str(AnswerFailedError()), None, None)] * 3


def test_next_in_the_queue_begins_when_the_reply_leaves_and_not_when_the_work_is_done():
    threads = Threads(1, waiting=1, time_limit=5.0)
    begun = []

    async def both():
        course = Course(COARSE, time_limit=5.0)

        def first():
            course.start(0.3)
            begun.append(time.monotonic())

        await asyncio.gather(threads.run(first, course), threads.run(lambda: begun.append(time.monotonic())))

    asyncio.run(both())
    threads.close()
    assert begun[1] - begun[0] >= 0.299


def test_given_up_before_the_charge_charges_nothing_later(database, tmp_path, monkeypatch):
    asked, release = question(1), threading.Event()
    honest = database._asking

    def slow(*given):
        release.wait(20)
        return honest(*given)

    with served(database, tmp_path, time_limit=1.0) as server:
        analyst = server.client("analyst")
        with monkeypatch.context() as patched:
            patched.setattr(database, "_asking", slow)
            reply = analyst.post("/v1/ask", json=asked)
        assert code_of(reply) == (503, "time")
        assert "nothing was charged" in reply.json()["error"]["message"]
        records = len(database.history(limit=1000))
        release.set()
        assert analyst.get("/v1/tables").status_code == 200
        assert len(database.history(limit=1000)) == records
        assert server.client("reader").post("/v1/ask", json=asked).status_code == 403  # it was never charged


def test_answer_is_given_and_written_down_alike_however_long_the_scan_takes(database, tmp_path, scans):
    assert is_private(database, question(2))
    with served(database, tmp_path, time_limit=0.4) as server:
        analyst = server.client("analyst")
        quick = analyst.post("/v1/ask", json=question(2))
        scans(lambda: time.sleep(1.0))
        slow = analyst.post("/v1/ask", json=question(3))
        assert [reply.status_code for reply in (quick, slow)] == [200, 200]
        assert [reply.json()["fresh"] for reply in (quick, slow)] == [[True], [True]]
        assert seen_of(server.line_of(quick)) == seen_of(server.line_of(slow))


def test_replies_over_http_wait_for_the_grid_and_so_do_their_figures(database, tmp_path, scans, monkeypatch):
    monkeypatch.setattr("errorfloor.access.course.public_cost", lambda prepared: 0.25)
    taken, courses = [], []
    honest = Course.looking
    monkeypatch.setattr(Course, "looking", lambda self, *told: (courses.append(self), honest(self, *told)))
    with served(database, tmp_path) as server:
        analyst = server.client("analyst")
        analyst.get("/healthz")
        for number, delay in enumerate((0.0, 0.1)):
            scans(lambda delay=delay: time.sleep(delay))
            begun = time.monotonic()
            reply = analyst.post("/v1/ask", json=question(10 + number))
            taken.append(time.monotonic() - begun)
            assert reply.status_code == 200
            server.line_of(reply)
        text = analyst.get("/metrics").text
    assert all(one >= 0.25 for one in taken)
    assert [on_the_grid(one, 0.25) for one in courses] == [True, True]
    buckets = [line for line in text.splitlines() if "seconds_bucket" in line and 'route="/v1/ask"' in line]
    assert [line.rpartition(" ")[2] for line in buckets if 'le="0.25"' in line] == ["0.0"]


def test_question_whose_answer_takes_too_long_is_refused_before_the_charge(database, tmp_path, monkeypatch):
    monkeypatch.setattr("errorfloor.access.course.public_cost", lambda prepared: 45.0)
    with served(database, tmp_path) as server:
        records = len(database.history(limit=1000))
        for route in ("/v1/ask", "/v1/price", "/v1/simulate"):
            reply = server.client("analyst").post(route, json=question(4))
            assert code_of(reply) == (422, "refused")
            problem = reply.json()["error"]
            assert "takes up to 45 s, but 30 s are allowed; nothing was charged" in problem["message"]
            assert (problem["fields"]["reason"], problem["fields"]["cost"]) == ("cost", 45.0)
        assert len(database.history(limit=1000)) == records


def test_what_fails_while_an_answer_is_written_is_the_same_fixed_reply(database, tmp_path, monkeypatch, caplog):
    def broken(table):
        raise ValueError(f"cannot write {CANARY}")

    with served(database, tmp_path) as server:
        analyst = server.client("analyst")
        with monkeypatch.context() as patched:
            patched.setattr(questions, "json_parts", broken)
            reply = analyst.post("/v1/ask", json=question(5))
        assert code_of(reply) == (500, "answer-failed")
        assert reply.json()["error"]["message"] == str(AnswerFailedError())
        line = server.line_of(reply)
        assert (line["code"], line["fresh"]) == ("answer-failed", [True])
        assert CANARY not in caplog.text + server.audit.read_text()
        assert analyst.post("/v1/ask", json=question(5)).json()["fresh"] == [False]


def test_client_that_goes_away_after_the_charge_leaves_the_same_line(database, tmp_path, scans):
    reached = threading.Event()

    def scan():
        reached.set()
        time.sleep(0.3)

    with served(database, tmp_path) as server:
        stayed = server.line_of(server.client("analyst").post("/v1/ask", json=question(6)))
        scans(scan)
        host, port = server.url.removeprefix("http://").split(":")
        body = json.dumps(question(7)).encode()
        head = (
            f"POST /v1/ask HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.tokens['analyst']}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=20) as line:
            line.sendall(head.encode() + body)
            assert reached.wait(20)
        while len(server.audited()) < 2:
            time.sleep(0.01)
        assert seen_of(server.audited()[1]) == seen_of(stayed)
