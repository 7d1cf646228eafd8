"""The server: latency and throughput beside the sum of their parts, then a long search for what it should never do.

Parts and whole are measured alternately in one run: an empty request, the parse, the bare engine query, one durable
commit of SQLite. The long searches are requests at random with a canary among the private values (BENCH_REQUESTS=100000
says how many), and schemathesis.
"""

import http.client
import itertools
import json
import logging
import os
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.report import Report
from errorfloor.server import Role, TokenFile
from errorfloor.service import open_database
from errorfloor.sql import parse
from fuzzing import fuzz
from serving import holds_canary, served, start_server, write_pay

TEAMS = "SELECT team, avg(wage) AS mean FROM pay GROUP BY team"
ROUNDS, CLIENTS, EACH = 1000, 8, 200
FUZZED, EXAMPLES = int(os.environ.get("BENCH_REQUESTS", "100000")), 200


class Line:
    """A connection that is kept open, with as little of a client around it as there can be."""

    def __init__(self, server, token=None):
        self._line = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        self._headers = {"Authorization": f"Bearer {token or server.token}", "Content-Type": "application/json"}

    def health(self):
        """Send an empty request."""
        self._line.request("GET", "/healthz")
        self._line.getresponse().read()

    def ask(self, bound):
        """Ask, and wait for the answer."""
        self._line.request("POST", "/v1/ask", json.dumps({"sql": TEAMS, "max_error": bound}), self._headers)
        reply = self._line.getresponse()
        said = reply.read()
        assert reply.status == 200, said
        return said

    def close(self):
        """Give the line back: a process with fewer lines takes the next."""
        self._line.close()


def latency(report, folder):
    """p50 and p99 of a fresh question with its durable charge, and of the sum of its parts."""
    catalogue = write_pay(folder / "latency")
    server = start_server(catalogue, "--rate", "0", "--audit-log", folder / "audit.log")
    database = open_database(catalogue)
    statement = database.price(TEAMS, max_error=1e8).prepared.statement
    bare = database._engine._connection  # DuckDB itself, as it comes
    bare.execute("RESET threads")
    book = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    book.execute("PRAGMA journal_mode=WAL")
    book.execute("PRAGMA synchronous=FULL")
    book.execute("CREATE TABLE charges (label TEXT PRIMARY KEY, amount REAL)")

    def commit(number):
        book.execute("BEGIN IMMEDIATE")
        book.execute("INSERT INTO charges VALUES (?, ?)", [f"{number:064x}", 1.0])
        book.execute("COMMIT")

    line = Line(server)
    actions = {
        "empty request": lambda number: line.health(),
        "parse": lambda number: parse(TEAMS, database.catalogue),
        "bare engine query": lambda number: bare.cursor().sql(statement).to_arrow_table(),
        "durable commit": commit,
        "ask, fresh": lambda number: line.ask(1e7 / (1.001 + number / 1000)),  # a wider bound follows from what is kept
        "ask, again": lambda number: line.ask(1e7),
    }
    taken = {name: [] for name in actions}
    try:
        for number in range(ROUNDS + 20):
            for name, action in actions.items():
                start = time.perf_counter()
                action(number)
                if number >= 20:  # the first ones warm up
                    taken[name].append(time.perf_counter() - start)
    finally:
        book.close()
        database.close()
        server.stop()
    parts = list(actions)[:4]
    sums = [sum(each) for each in zip(*(taken[name] for name in parts), strict=True)]
    taken["sum of these"] = sums
    rows = [
        [name, *(quantile(taken[name], share) / quantile(sums, share) for share in (0.5, 0.99))]
        for name in [*parts, "sum of these", "ask, fresh", "ask, again"]
    ]
    title = f"Latency over HTTP, {ROUNDS} questions, each with its durable charge"
    report.rows(title, ["", "p50, × the sum's", "p99, × the sum's"], rows)


class SqlLine:
    """A session of the PostgreSQL door, with libpq and nothing around it."""

    def __init__(self, server):
        place = {"host": "127.0.0.1", "port": server.postgres, "dbname": "errorfloor", "autocommit": True}
        self._line = psycopg.connect(**place, user=server.token.split("_")[1], password=server.token)
        self.ask("SET client_min_messages = warning")

    def ask(self, text):
        """Ask, and wait for the answer."""
        found = self._line.pgconn.exec_(text.encode())
        assert found.status in (psycopg.pq.ExecStatus.TUPLES_OK, psycopg.pq.ExecStatus.COMMAND_OK), found.error_message
        return found

    def close(self):
        """End the session."""
        self._line.close()


def doors(report, folder):
    """p50 and p99 of a free answer through the PostgreSQL door, beside the same answer over HTTP."""
    server = start_server(write_pay(folder / "doors"), "--rate", "0", "--postgres", "0")
    line, sql = Line(server), SqlLine(server)
    line.ask(1e7)
    wrapped = f"SELECT team, mean FROM ({TEAMS} WITHIN 1e7) AS t ORDER BY team LIMIT 1000"
    actions = {
        "HTTP": lambda: line.ask(1e7),
        "PostgreSQL": lambda: sql.ask(f"{TEAMS} WITHIN 1e7"),
        "PostgreSQL, in a query of a tool's": lambda: sql.ask(wrapped),
        "PostgreSQL, the system catalogue": lambda: sql.ask("SELECT table_name FROM information_schema.tables"),
    }
    taken = {name: [] for name in actions}
    try:
        for number in range(ROUNDS + 20):
            for name, action in actions.items():
                start = time.perf_counter()
                action()
                if number >= 20:  # the first ones warm up
                    taken[name].append(time.perf_counter() - start)
    finally:
        sql.close()
        server.stop()
    whole = taken["HTTP"]
    rows = [
        [name, *(quantile(each, share) / quantile(whole, share) for share in (0.5, 0.99))]
        for name, each in taken.items()
    ]
    report.rows(f"A free answer, {ROUNDS} times through each door", ["", "p50, × HTTP's", "p99, × HTTP's"], rows)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def throughput(report, folder):
    """How many fresh questions a second 8 clients get answered by one process and by one for each core."""
    found = {}
    for workers in (1, os.cpu_count()):
        place = folder / f"throughput-{workers}"
        catalogue = write_pay(place)
        server = start_server(catalogue, "--rate", "0", "--workers", str(workers), "--audit-log", place / "audit.log")
        tokens = TokenFile(catalogue.parent / "tokens.json")
        texts = [tokens.create(f"client-{number}", Role.ANALYST)[1] for number in range(CLIENTS)]

        numbers = itertools.count()

        def client(number, count, server=server, texts=texts, numbers=numbers):
            line, taken = Line(server, texts[number]), []
            for _ in range(count):
                begun = time.perf_counter()
                line.ask(1e7 / (1 + next(numbers) / 10000))  # narrower than all others: nothing kept will do
                taken.append(time.perf_counter() - begun)
            line.close()
            return taken

        try:
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda number: client(number, 20), range(CLIENTS)))
                alone = EACH / sum(client(0, EACH))
                begun = time.perf_counter()
                taken = list(pool.map(lambda number: client(number, EACH), range(CLIENTS)))
                together = CLIENTS * EACH / (time.perf_counter() - begun)
        finally:
            server.stop()
        every = [one for several in taken for one in several]
        found[workers] = (together, alone, quantile(every, 0.95) / quantile(every, 0.5))
    base = found[1][0]
    rows = [
        [f"{CLIENTS} clients, {workers} process{'es' * (workers > 1)}", together / base, together / alone, spread]
        for workers, (together, alone, spread) in found.items()
    ]
    report.rows("Throughput of fresh questions", ["", "× one process", "× one client", "p95 / p50"], rows)


def timing(report, folder):
    """Whether the time of an answer depends on the private values: all at one end of the range, or the other."""
    databases = {
        name: open_database(write_pay(folder / name, wages=[value] * 120))
        for name, value in (("low", 0.0), ("high", 1e9))
    }
    taken = {name: [] for name in databases}
    for number in range(400):
        for name, database in databases.items():
            start = time.perf_counter()
            database.ask(TEAMS, max_error=1e8 / (1 + number / 1000))  # a narrower bound: it is scanned and drawn anew
            taken[name].append(time.perf_counter() - start)
    for database in databases.values():
        database.close()
    ratio = statistics.median(taken["high"][50:]) / statistics.median(taken["low"][50:])
    row = ["all private values at the upper end", f"{ratio:.3f}"]
    report.rows("Time of an answer", ["", "× all at the lower end"], [row])
    report.note(
        "Medians of one plain average, on two tables; this is no bound on what the time of another question tells."
    )


def search(report, folder, count=FUZZED):
    """Send requests at random; say what was found that should never be."""
    found, statuses, lock = [], {}, threading.Lock()
    log = folder / "server.log"
    handler = logging.FileHandler(log)
    logging.getLogger().addHandler(handler)

    def seen(request, reply):
        text = reply.content.decode("utf-8", "replace")
        asked = request[2] is not None and holds_canary(request[2].decode("utf-8", "replace"))
        wrong = reply.status_code >= 500 and reply.json()["error"]["code"] not in ("busy", "time")
        with lock:
            statuses[reply.status_code] = statuses.get(reply.status_code, 0) + 1
            if wrong or "Traceback" in text or (holds_canary(text) and not asked):
                found.append((request, reply.status_code, text[:200]))

    with open_database(write_pay(folder / "fuzzed", floor=10.0)) as database, served(database, folder) as server:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda seed: fuzz(server.client, count // 4, seed, seen), range(4)))
        metrics = server.client("owner").get("/metrics").text
        written = server.audit.read_text() + metrics + log.read_text()
    logging.getLogger().removeHandler(handler)
    handler.close()
    if holds_canary(written) or "Traceback" in written:
        found.append("in a log or a metric")
    title = f"{sum(statuses.values()):,} requests at random, by the status of the reply"
    report.rows(title, ["status", "replies"], [[str(status), f"{n:,}"] for status, n in sorted(statuses.items())])
    report.note(f"failures of the server, tracebacks, private values: {len(found)} {found[:3] or ''}")
    assert not found


def described(report, folder, examples=EXAMPLES):
    """Run schemathesis over the OpenAPI description, all phases and checks."""
    (folder / "schemathesis.toml").write_text(
        '[checks.positive_data_acceptance]\nexpected-statuses = ["2xx", 403, 404, 409, 422]\n'
    )
    with open_database(write_pay(folder / "described", floor=10.0)) as database, served(database, folder) as server:
        program = Path(sys.executable).with_name("schemathesis")
        command = [program, "--config-file", folder / "schemathesis.toml", "run", f"{server.url}/openapi.json"]
        options = ["-H", f"Authorization: Bearer {server.tokens['analyst']}", "--max-examples", str(examples)]
        options += ["--generation-database", "none", "--warnings", "off"]
        done = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True)
    told = [line.strip() for line in done.stdout.splitlines() if "generated," in line or "Failures" in line]
    report.note(f"schemathesis: {'nothing found' if done.returncode == 0 else done.stdout}; {' '.join(told)}")
    assert done.returncode == 0


def hostile(report, folder, readers=16, rounds=300, people=100_000):
    """An analyst's small question beside readers who ask the largest that they may, as fast as they can.

    Measured once every reader has had an answer: by then the server knows what they ask.
    """
    catalogue = write_pay(folder / "hostile", people=people)
    tokens = TokenFile(catalogue.parent / "tokens.json")
    _, analyst = tokens.create("analyst", Role.ANALYST)
    texts = [tokens.create(f"reader-{number}", Role.READER)[1] for number in range(readers)]
    server = start_server(catalogue, "--rate", "0", "--audit-log", folder / "audit.log")
    server.token, memory = analyst, []
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text()
    processes = [server.process.pid, *map(int, children.split())]

    def asked(first):
        line, taken = Line(server), []
        for number in range(rounds):
            start = time.perf_counter()
            line.ask(1e7 / (1 + first + number / 1000))
            taken.append(time.perf_counter() - start)
            memory.append(max(resident(process) for process in processes))
        return quantile(taken[rounds // 10 :], 0.5), quantile(taken[rounds // 10 :], 0.99)

    rows = []
    try:
        alone = asked(1)
        for number, kind in enumerate(("same", "new")):
            with attacked(server.url, kind, texts) as attack:
                beside = asked(2 + number)
                attack.terminate()
                told = attack.stdout.read().split()
            ratios = [there / here for here, there in zip(alone, beside, strict=True)]
            rows.append([f"{readers} readers, {kind} texts", *ratios, f"{max(memory):.0f}", str(told.count("200"))])
    finally:
        server.stop()
    columns = ["", "p50, × alone", "p99, × alone", "memory of a process, MB", "large answers"]
    report.rows("An analyst's question beside hostile readers", columns, rows)


def resident(process):
    """Give the memory that a process holds, in MB."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@contextmanager
def attacked(url, kind, tokens):
    """Let a process of its own ask for the largest answers, until every token had one and then until it is ended."""
    command = [sys.executable, "-m", "benchmarks.hostile", url, kind]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        process.stdin.write("\n".join(tokens))
        process.stdin.close()
        assert process.stdout.readline() == "all\n"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def slow_lines(report, folder, count=2000, seconds=60.0):
    """Lines on which heads are sent byte by byte, while questions are answered."""
    server = start_server(write_pay(folder / "slow"), "--rate", "0", "--audit-log", folder / "audit.log")
    host, port = server.url.removeprefix("http://").split(":")
    lines, taken, over = [], [], time.monotonic() + seconds
    try:
        while time.monotonic() < over:
            while len(lines) < count:
                lines.append(socket.create_connection((host, int(port)), timeout=10))
            for line in list(lines):
                try:
                    line.send(b"G")
                except OSError:  # it had its time
                    lines.remove(line)
                    line.close()
            start = time.perf_counter()
            Line(server).ask(1e7 / (3 + len(taken) / 1000))
            taken.append(time.perf_counter() - start)
    finally:
        for line in lines:
            line.close()
        server.stop()
    row = [f"{count} slow lines", str(len(taken)), f"{quantile(taken, 0.99):.3f}"]
    report.rows("Questions answered beside slow lines", ["", "answers", "p99, s"], [row])


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        latency(report, folder)
        doors(report, folder)
        throughput(report, folder)
        timing(report, folder)
        hostile(report, folder)
        slow_lines(report, folder)
        search(report, folder)
        described(report, folder)
