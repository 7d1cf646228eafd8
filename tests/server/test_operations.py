"""For whoever runs it: probes, figures that always answer, and a log that is never torn, never lost and never waits."""

import datetime
import errno
import json
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from errorfloor.access import audit as auditing
from errorfloor.access.audit import MOST_LINES, AuditLog
from errorfloor.access.visit import Visit
from errorfloor.errors import LedgerError
from errorfloor.service import open_database
from serving import served, start_server, write_pay

NOW = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


def wait_for(what):
    deadline = time.monotonic() + 60
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def write(audit, name):
    audit.write(Visit(name), "/v1/ask", "POST", 200, NOW)


def names(path):
    return [json.loads(line).get("request") for line in path.read_text().splitlines()]


def test_figures_and_probes_answer_while_the_ledger_is_away(database, tmp_path, monkeypatch):
    with served(database, tmp_path, threads=1) as server:
        reader, nobody = server.client("reader"), server.client(None)
        assert "errorfloor_ledger_up 1.0" in reader.get("/metrics").text
        assert nobody.get("/readyz").json() == {
            "ready": True,
            "parts": {"ledger": True, "snapshots": True, "engine": True},
        }

        def gone(*_, **__):
            raise LedgerError("the ledger /srv/ledger.sqlite is away")

        monkeypatch.setattr(database.ledger, "_read", gone)
        figures = reader.get("/metrics")
        assert figures.status_code == 200
        assert "errorfloor_ledger_up 0.0" in figures.text
        wait_for(lambda: nobody.get("/readyz").status_code == 503)  # the last look counts for a second
        assert nobody.get("/readyz").json()["parts"]["ledger"] is False
        assert nobody.get("/healthz").status_code == 200


def test_a_healthy_server_is_ready_however_many_ask(database, tmp_path):
    with served(database, tmp_path) as server, ThreadPoolExecutor(40) as pool:
        clients = [server.client(None) for _ in range(40)]

        def probe(client):
            return [client.get("/readyz").status_code for _ in range(10)]

        assert {status for statuses in pool.map(probe, clients) for status in statuses} == {200}


def test_figures_do_not_wait_for_a_probe_that_hangs(database, tmp_path, monkeypatch):
    begun, released = threading.Event(), threading.Event()

    def hang(_):
        begun.set()
        released.wait(30)

    with served(database, tmp_path) as server, ThreadPoolExecutor(1) as pool:
        monkeypatch.setattr(database._engine, "query", hang)
        probing = pool.submit(server.client(None).get, "/readyz")
        try:
            assert begun.wait(30)
            assert "errorfloor_ledger_up 1.0" in server.client("reader").get("/metrics").text
            assert probing.result().status_code == 503
        finally:
            released.set()


def test_missing_anchor_is_not_ready(tmp_path):
    with open_database(write_pay(tmp_path)) as database, served(database, tmp_path) as server:
        ask = {"sql": "SELECT avg(wage) AS mean FROM pay", "max_error": 5e6}
        assert server.client("analyst").post("/v1/ask", json=ask).status_code == 200
        (tmp_path / "ledger.anchor").unlink()
        assert server.client(None).get("/readyz").status_code == 503


def test_figures_have_busy_threads_and_those_who_wait(database, tmp_path, monkeypatch):
    seen = []
    with served(database, tmp_path, threads=1) as server:
        honest = database.catalogue

        def price(*_, **__):
            seen.append(server.client("reader").get("/metrics").text)
            return honest

        monkeypatch.setattr(database, "_asking", price)
        server.client("analyst").post("/v1/price", json={"sql": "SELECT avg(wage) FROM pay", "max_error": 1e6})
        assert "errorfloor_threads_busy 1.0" in seen[0]
        assert "errorfloor_questions_waiting 0.0" in seen[0]
        wait_for(lambda: "errorfloor_threads_busy 0.0" in server.client("reader").get("/metrics").text)


COUNT = """
from errorfloor.access.metrics import Metrics
metrics = Metrics()
metrics.request("/v1/ask", "POST", 200, "done", 0.1)
metrics.threads(3, 1)
print(metrics.text({}).decode())
"""


def test_figures_of_all_processes_are_added(tmp_path):
    environment = {**os.environ, "PROMETHEUS_MULTIPROC_DIR": str(tmp_path)}
    command = [sys.executable, "-c", COUNT]
    told = [subprocess.run(command, env=environment, capture_output=True, text=True).stdout for _ in range(2)]
    for number, text in enumerate(told, 1):
        wanted = 'errorfloor_http_requests_total{method="POST",route="/v1/ask",status="200"} ' + f"{number}.0"
        assert wanted in text
        assert "errorfloor_threads_busy 3.0" in text  # those of a process that ended no longer count


def test_log_says_from_where_and_joins_the_ledger(server, analyst, database):
    reply = analyst.post("/v1/ask", json={"sql": "SELECT avg(wage) AS m FROM pay WHERE age > 40", "max_error": 5e6})
    line = server.line_of(reply)
    assert line["address"] == "127.0.0.1"
    charged = {entry["label"] for entry in database.history(limit=1000)}
    assert set(line["labels"]) <= charged
    assert len(line["labels"]) == 1


def test_log_is_opened_anew_when_told(tmp_path):
    path, audit = tmp_path / "audit.log", AuditLog(tmp_path / "audit.log")
    write(audit, "first")
    wait_for(path.read_text)
    path.rename(tmp_path / "old.log")
    audit.reopen()
    write(audit, "second")
    audit.close()
    assert (names(tmp_path / "old.log"), names(path)) == (["first"], ["second"])


def test_full_disk_tears_no_line_and_loses_none(tmp_path, monkeypatch):
    path, honest = tmp_path / "audit.log", os.write
    path.write_text('{"request": "cut')  # by a crash before
    path.chmod(0o600)
    audit = AuditLog(path)

    tried = []

    def write_all(file, content):
        tried.append(content)
        honest(file, content[: len(content) // 2])
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as patched:
        patched.setattr(auditing, "_write_all", write_all)
        write(audit, "a")
        write(audit, "b")
        wait_for(lambda: len(tried) >= 2)
    write(audit, "c")
    audit.close()
    torn, *whole = path.read_text().splitlines()
    assert torn == '{"request": "cut'
    assert [json.loads(line)["request"] for line in whole] == ["a", "b", "c"]


def test_pipe_that_nobody_reads_stops_nobody(monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.setattr(auditing, "sys", SimpleNamespace(stderr=SimpleNamespace(fileno=lambda: writing)))
    audit = AuditLog(None)
    for number in range(MOST_LINES + 3000):
        write(audit, str(number))
    assert audit.lost > 0
    os.close(reading)  # the thread that waits fails, and ends
    audit.close()
    os.close(writing)


def test_hang_up_opens_the_log_of_a_running_server_anew(tmp_path):
    log = tmp_path / "audit.log"
    server = start_server(write_pay(tmp_path / "pay"), "--audit-log", log)
    try:
        with server.client() as client:
            assert client.get("/healthz").status_code == 200
            wait_for(lambda: log.exists() and log.read_text())
            log.rename(tmp_path / "old.log")
            server.process.send_signal(signal.SIGHUP)
            wait_for(lambda: client.get("/healthz").status_code == 200 and log.exists())
    finally:
        assert server.stop() == 0


@pytest.mark.parametrize("route", ["/healthz", "/readyz"])
def test_probes_need_no_token(server, route):
    assert server.client(None).get(route).status_code == 200
