"""Servers as processes: a race for the last of an allowance, kills under load, and a graceful end."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from errorfloor.catalogue import load
from errorfloor.ledger import open_ledger
from errorfloor.server.running import PATIENCE
from serving import LIMIT, start_server, write_pay

POSTGRESQL = any(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or shutil.which("initdb") is not None
DATABASES = [pytest.param("sqlite"), *([pytest.param("postgresql")] if POSTGRESQL else [])]
FIRST = DATABASES[:1]  # the ledger that most have
CLIENTS = 64
TEAMS = "SELECT team, avg(wage) AS mean FROM pay GROUP BY team"


@pytest.fixture(params=DATABASES)
def catalogue(request, tmp_path):
    """A table with a small allowance, its ledger on each database in turn."""
    ledger = None if request.param == "sqlite" else request.getfixturevalue("postgresql_database")
    return write_pay(tmp_path / "pay", ledger=ledger)


def verified(catalogue):
    declared = load(catalogue)
    with open_ledger(declared.place, declared.folder, create=False) as ledger:
        replay = ledger.verify()
        return replay.head.sequence


def test_64_clients_race_for_the_last_hundredth_and_never_overspend(catalogue):
    catalogue.write_text(catalogue.read_text().replace(LIMIT, f"{LIMIT}running_per_token = {CLIENTS}\n"))
    server = start_server(catalogue, "--rate", "0", "--waiting", "128", "--workers", "2")
    try:
        with server.client() as owner:
            spend = {"sql": "SELECT avg(wage) AS mean FROM pay", "spend": 0.99}
            assert owner.post("/v1/ask", json=spend).status_code == 200
            before = owner.get("/v1/ledger").json()["accounts"][0]["used"]
        start = threading.Barrier(CLIENTS)

        def race(number):
            with server.client() as client:
                question = {"sql": f"SELECT avg(wage) AS mean FROM pay WHERE person <> {number}", "spend": 0.003}
                start.wait()
                reply = client.post("/v1/ask", json=question)
                return reply.status_code, reply.json()

        with ThreadPoolExecutor(CLIENTS) as pool:
            replies = list(pool.map(race, range(CLIENTS)))
        answered = [said for status, said in replies if status == 200]
        refused = [said for status, said in replies if status == 403]
        assert len(answered) + len(refused) == CLIENTS
        room = (1 - before) / 0.003
        assert int(room) <= len(answered) <= int(room / 0.98)  # a bound of three digits spends a little less
        assert {said["error"]["code"] for said in refused} == {"allowance"}
        with server.client() as owner:
            assert owner.get("/v1/ledger").json()["accounts"][0]["used"] <= 1
            assert len(processes_of(server)) == 2
            assert statuses_of_a_session(server) == {200}
    finally:
        assert server.stop(signal.SIGINT) == 0
    assert verified(catalogue) == 2 + len(answered)  # with the registration, and the owner's question


def statuses_of_a_session(server):
    """Sign in once, and use the session on many connections, so that every process is asked."""
    with httpx.Client(base_url=server.url, trust_env=False) as browser:
        assert browser.post("/login", json={"token": server.token}).status_code == 200
        cookies = dict(browser.cookies)
    found = set()
    for _ in range(20):
        with httpx.Client(base_url=server.url, cookies=cookies, trust_env=False) as client:
            found.add(client.get("/v1/tables").status_code)
    return found


def processes_of(server):
    """Give the processes that answer, once there are two: on a busy machine one may begin long after the other."""
    found, until = set(), time.monotonic() + PATIENCE
    while len(found) < 2 and time.monotonic() < until:
        with server.client() as client:  # a connection of its own, to either process
            found.add(client.get("/healthz").json()["process"])
    return found


@pytest.mark.parametrize("catalogue", FIRST, indirect=True)
def test_limits_hold_for_all_processes_together(catalogue):
    server = start_server(catalogue, "--rate", "0.01", "--burst", "20", "--workers", "2")
    try:
        assert len(processes_of(server)) == 2
        processes, statuses = set(), []
        for _ in range(60):
            with server.client() as client:  # a connection of its own, to either process
                processes.add(client.get("/healthz").json()["process"])
                statuses.append(client.get("/v1/tables").status_code)
        assert len(processes) == 2
        assert statuses == [200] * 20 + [429] * 40
    finally:
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("catalogue", FIRST, indirect=True)
def test_a_process_that_dies_while_it_is_asked_whether_it_lives_is_missed_at_once(catalogue):
    server = start_server(catalogue, "--rate", "0", "--workers", "2")

    def process():
        with server.client() as client:  # a connection of its own
            return client.get("/healthz").json()["process"]

    try:
        known = processes_of(server)
        silent = min(known)
        os.kill(silent, signal.SIGSTOP)
        time.sleep(2)  # it is asked twice a second, and waited for
        os.kill(silent, signal.SIGKILL)
        until = time.monotonic() + PATIENCE - 5
        while (found := process()) in known and time.monotonic() < until:
            time.sleep(0.1)
        assert len(known) == 2 and found not in known
    finally:
        assert server.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("catalogue", FIRST, indirect=True)
def test_no_answer_without_its_charge_after_a_kill_under_load(catalogue):
    """One of two processes is killed first, and the others go on; then all of them."""
    server, received, enough = start_server(catalogue, "--rate", "0", "--workers", "2"), {}, threading.Event()

    stopped = threading.Event()

    def load_of(client_number):
        with server.client() as client:
            for number in range(10**6):
                sql = TEAMS.replace("wage", f"wage + {1 + client_number + 8 * number}")  # each is another release
                try:
                    reply = client.post("/v1/ask", json={"sql": sql, "max_error": 1e7})
                except httpx.TransportError:
                    if stopped.is_set():
                        return
                    continue  # its process was killed; the next connection goes to another
                if reply.status_code == 200:
                    received[sql] = reply.json()["rows"]
                if len(received) >= 16:
                    enough.set()

    with ThreadPoolExecutor(8) as pool:
        for number in range(8):
            pool.submit(load_of, number)
        assert enough.wait(120)
        with server.client() as owner:
            os.kill(owner.get("/healthz").json()["process"], signal.SIGKILL)
        before, until = len(received), time.monotonic() + 120
        while len(received) < before + 8 and time.monotonic() < until:
            time.sleep(0.01)
        stopped.set()
        assert server.stop(signal.SIGKILL) == -signal.SIGKILL
    assert verified(catalogue) >= len(received) >= 24
    restarted = start_server(catalogue, "--rate", "0")
    try:
        with restarted.client() as client:
            for sql, rows in received.items():
                question = {"sql": sql, "max_error": 1e7, "charge": False}  # refused if it was never charged
                again = client.post("/v1/ask", json=question)
                assert again.status_code == 200
                assert again.json()["rows"] == rows
    finally:
        assert restarted.stop() == 0


def test_request_under_way_is_finished_before_the_server_stops(tmp_path):
    server = start_server(write_pay(tmp_path / "pay"))
    slow = {"support": {"kind": "Ball", "dimension": 2, "radius": 0.5}, "sensitivity": 0.2}  # takes a second or so
    with ThreadPoolExecutor(1) as pool, server.client() as client:
        client.get("/healthz")
        under_way = pool.submit(client.post, "/v1/designs", json=slow)
        threading.Event().wait(0.3)
        assert server.stop(signal.SIGTERM) == 0
        assert under_way.result().status_code == 200
    with socket.socket() as line:
        assert line.connect_ex(("127.0.0.1", int(server.url.rpartition(":")[2]))) != 0
    assert server.log.read_text().endswith("stopped\n")


EARLY = """
import os, signal, sys
from pathlib import Path
from errorfloor.server.running import ServingPlan, listen, serve
from errorfloor.access.settings import Settings

def ready():
    os.kill(os.getpid(), getattr(signal, sys.argv[2]))

if __name__ == "__main__":
    taken, settings = listen(Settings(port=0, workers=int(sys.argv[3])))
    catalogue = Path(sys.argv[1])
    serve(ServingPlan(catalogue, settings, catalogue.parent / "tokens.json"), taken, ready)
    print("stopped")
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_that_comes_as_soon_as_the_server_is_ready_stops_it(catalogue, tmp_path, name):
    """Whoever starts and stops servers need not wait for anything."""
    workers = "2" if "postgresql" in load(catalogue).place.ledger else "1"
    script = tmp_path / "early.py"
    script.write_text(EARLY)
    command = [sys.executable, script, catalogue, name, workers]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "stopped\n"), done.stderr


ORPHANS = """
import sys
from pathlib import Path
from errorfloor.server.running import ServingPlan, listen, serve
from errorfloor.access.settings import Settings

if __name__ == "__main__":
    taken, settings = listen(Settings(port=0, workers=2))
    catalogue = Path(sys.argv[1])
    plan = ServingPlan(catalogue, settings, catalogue.parent / "tokens.json")
    serve(plan, taken, lambda: print(settings.port, flush=True))
"""


def test_workers_end_when_their_parent_is_killed(tmp_path):
    script = tmp_path / "workers.py"
    script.write_text(ORPHANS)
    command = [sys.executable, script, write_pay(tmp_path / "pay")]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    port = int(parent.stdout.readline())
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=60) as client:
        worker = client.get("/healthz").json()["process"]
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 60
    while Path(f"/proc/{worker}").exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not Path(f"/proc/{worker}").exists()
