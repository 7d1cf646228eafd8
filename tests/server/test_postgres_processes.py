"""The PostgreSQL door of several processes: whoever hears a cancellation passes it on, and lines are shared."""

import os
import random
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import psycopg
from benchmarks.process_kills import killed

from errorfloor.server import Role, TokenFile
from repeated import rounds
from serving import write_pay

MEAN = "SELECT avg(wage) AS mean FROM pay"
CANCELLED = 24  # all by the process that asks, by chance: 2^-24, and then nothing fails
SLOW = """
import sys, time
from pathlib import Path
from errorfloor.server.running import ServingPlan, listen, listen_for_postgres, serve
from errorfloor.access.settings import Settings
from errorfloor.service import Database

folder = Path(sys.argv[1])
honest = Database._asking

def slow(self, *given):  # in every process
    waits = list(folder.glob("wait-*"))
    (folder / "entered").touch()
    while any(one.exists() for one in waits):
        time.sleep(0.005)
    return honest(self, *given)

Database._asking = slow

if __name__ == "__main__":
    taken, settings = listen(Settings(port=0, postgres=0, workers=2, rate=0.0))
    lines, settings = listen_for_postgres(settings)
    plan = ServingPlan(folder / "errorfloor.toml", settings, folder / "tokens.json", postgres=lines)
    serve(plan, taken, lambda: print(settings.postgres, flush=True))
"""


@contextmanager
def two_processes(folder, **environment):
    """A server of two processes that takes as long over a question as there is a file."""
    write_pay(folder)
    _, token = TokenFile(folder / "tokens.json").create("anna", Role.ANALYST)
    script = folder / "slow.py"
    script.write_text(SLOW)
    program = [sys.executable, str(script), str(folder)]
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(
            program, stdout=subprocess.PIPE, stderr=log, text=True, env={**os.environ, **environment}
        )
    try:
        port = int(process.stdout.readline())
        yield lambda: psycopg.connect(
            host="127.0.0.1", port=port, user="anna", password=token, dbname="x", autocommit=True, connect_timeout=60
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


def of_each_process(connect, stack):
    """Open lines until there is one to each process, the second of which may start late."""
    found, until = {}, time.monotonic() + 60
    while len(found) < 2:
        assert time.monotonic() < until, "one process took all lines"
        line = connect()
        if line.pgconn.backend_pid in found:
            line.close()
        else:
            found[line.pgconn.backend_pid] = stack.enter_context(line)
    return list(found.values())


def test_cancellation_reaches_its_question_whichever_process_hears_it(tmp_path):
    """Targets are chosen at random, and no process knows them before it takes the line."""
    rng = random.Random(20261118)
    temporary = tmp_path / ("a" * 100)  # a socket has a short name only
    temporary.mkdir()
    with two_processes(tmp_path / "pay", TMPDIR=str(temporary)) as connect, ExitStack() as stack:
        lines = of_each_process(connect, stack)
        for line in lines:
            line.execute("SET charge = on")
        for number in range(CANCELLED):
            line = rng.choice(lines)
            (tmp_path / "pay" / "entered").unlink(missing_ok=True)
            wait = tmp_path / "pay" / f"wait-{number}"
            wait.touch()
            told = []

            def ask(line=line, number=number, told=told):
                try:
                    told.append(line.execute(f"{MEAN} WITHIN {1e6 + number}").fetchone())
                except psycopg.Error as problem:
                    told.append(problem)

            asking = threading.Thread(target=ask)
            asking.start()
            while not (tmp_path / "pay" / "entered").exists() and asking.is_alive():
                time.sleep(0.002)
            line.cancel_safe()
            asking.join(20)
            wait.unlink()
            assert isinstance(told[0], psycopg.errors.QueryCanceled), told
            assert "before anything was charged" in str(told[0])
        for line in lines:
            assert line.execute("SELECT count(*) FROM pay").fetchone() == (120,)


def test_a_process_with_fewer_lines_takes_the_next(tmp_path):
    with two_processes(tmp_path / "pay") as connect, ExitStack() as stack:
        of_each_process(connect, stack)
        held = [stack.enter_context(connect()).pgconn.backend_pid for _ in range(20)]
        counts = sorted(held.count(one) for one in set(held))
        assert len(counts) == 2 and counts[0] >= 5, counts


def test_cancellations_for_nobody_hurt_nobody(tmp_path):
    with two_processes(tmp_path / "pay") as connect, connect() as line:
        address = ("127.0.0.1", line.info.port)
        for process in (0, 1, line.pgconn.backend_pid, 2**31, 2**32 - 1):
            with socket.create_connection(address, timeout=20) as other:
                other.sendall(struct.pack("!IIII", 16, 80877102, process, 7))
                assert other.recv(1) == b""
        assert line.execute("SELECT count(*) FROM pay").fetchone() == (120,)


def test_kills_under_load_through_both_doors_lose_no_charge(tmp_path):
    found = killed(write_pay(tmp_path / "pay"), 20261118, rounds(5))
    assert found["wrong"] == [] and found["kills"] == rounds(5)
    assert found["statuses"]["SQL"] > 0
