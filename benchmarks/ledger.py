"""The ledger at length: a thousand kills, races for what is left, a million records, and what a durable charge adds.

BENCH_KILLS=1000 and BENCH_RECORDS=1000000 say how many. SQLite and, where it is installed, PostgreSQL, with fsync on.
"""

import itertools
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from benchmarks.cluster import cluster, programs
from benchmarks.kills import QUESTION, Readings
from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.ledger import Charge, Entry
from errorfloor.service import Database
from errorfloor.sql import parse
from errorfloor.vault import snapshot

KILLS = int(os.environ.get("BENCH_KILLS", "1000"))
RECORDS = int(os.environ.get("BENCH_RECORDS", "1000000"))
CLIENTS = 32
DATABASES = ("SQLite", "PostgreSQL") if programs() else ("SQLite",)


@contextmanager
def place(database: str) -> Iterator[str]:
    """Give a place for ledgers: a file in the folder of the table, or the URL of a server."""
    if database == "SQLite":
        yield "ledger.sqlite"
        return
    with cluster() as url:
        yield url


def at_length(module: str, *arguments: object) -> str:
    """Run a measurement in a process of its own; it forks, and this one has threads."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def crashes(report: Report) -> None:
    kills, races = [], []
    for database in DATABASES:
        with place(database) as ledger, tempfile.TemporaryDirectory() as folder:
            found = json.loads(at_length("kills", folder, ledger, 1, KILLS))
            kills.append([database, *(f"{found[name]:,}" for name in ("answers", "records")), str(len(found["wrong"]))])
            assert not found["wrong"], found["wrong"]
        with place(database) as ledger, tempfile.TemporaryDirectory() as folder:
            found = json.loads(at_length("race", folder, ledger, 2, 32))
            races.append(
                [database, *(str(found[name]) for name in ("answered", "charged", "refused")), f"{found['used']:.4f}"]
            )
    title = f"{KILLS:,} kills while eight clients are answered"
    report.rows(title, ["", "answers received", "records", "found wrong"], kills)
    title = "64 clients after the last hundredth of an allowance, each for a thousandth"
    report.rows(title, ["", "answered", "charged", "refused", "share used in the end"], races)
    with tempfile.TemporaryDirectory() as folder:
        found = json.loads(at_length("process_kills", folder, 1, KILLS))
    assert not found["wrong"], found["wrong"]
    title = f"{KILLS:,} kills of random processes while four clients are answered"
    rows = [["processes of a server of three, SQLite", f"{found['answers']:,}", str(len(found["wrong"]))]]
    report.rows(title, ["", "answers received", "found wrong"], rows)


class Asked:
    """A database with a ledger, and questions that it was never asked."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._errors = (39 / (1 + place * 1e-6) for place in itertools.count())  # a wider one follows from what is kept
        self.again = {"sql": QUESTION, "max_error": 40.0}
        database.ask(**self.again)

    def new(self) -> dict[str, Any]:
        """Give a question that is charged anew."""
        return {"sql": QUESTION, "max_error": next(self._errors)}

    def lengthen(self, size: int) -> None:
        """Charge so many entries, each its own, to the account that the questions use."""
        prepared = self.database.price(**self.new()).prepared
        ((account, allowed),) = prepared.plan.allowances.items()
        cost = {account: Charge(allowed.information / size / 4, 0.0)}
        for start in range(0, size, 1000):
            entries = [
                Entry(sha256(f"{n}".encode()).hexdigest(), cost, {"output": "mean"})
                for n in range(start, min(size, start + 1000))
            ]
            self.database.ledger.charge(entries, {account: allowed}, prepared.terms)


def history(report: Report) -> None:
    for database in DATABASES:
        with ExitStack() as opened:
            actions: dict[str, Callable[[], object]] = {}
            for size in (10, RECORDS):
                folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
                asked = Asked(opened.enter_context(Readings(folder).open(opened.enter_context(place(database)))))
                asked.lengthen(size)
                for name, act in {
                    "price": lambda asked=asked: asked.database.price(**asked.new()),
                    "ask": lambda asked=asked: asked.database.ask(**asked.new()),
                    "ask again": lambda asked=asked: asked.database.ask(**asked.again),
                    "simulate": lambda asked=asked: asked.database.simulate(**asked.new()),
                    "a page of history": lambda asked=asked, size=size: asked.database.history(after=size - 10),
                }.items():
                    actions[f"{name} after {size:,} records"] = act
            times = side_by_side(actions, 201)
        report.ratios(f"A ledger on {database} that has a history", times, "ask after 10 records", unit="ms")
        for name in ("price", "ask", "ask again", "simulate", "a page of history"):
            ratio = times[f"{name} after {RECORDS:,} records"] / times[f"{name} after 10 records"]
            report.note(f"{name}: {ratio:.2f} × after {RECORDS:,} records what it takes after 10")


def latency(report: Report) -> None:
    """What an answer takes beside its unavoidable parts: reading the question, the bare query, one durable commit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        readings = Readings(folder)
        commit = committing(folder / "commits.sqlite")
        with readings.open("ledger.sqlite") as database:
            asked = Asked(database)
            kept = snapshot(database.catalogue, "readings", database._engine)
            bare = f"SELECT avg({kept.columns['kwh']}) FROM {kept.relation}"
            spellings = (f"{QUESTION} WHERE id >= {-n}" for n in itertools.count(1))
            parts = ("the parse", "the bare query", "one durable commit")
            times = side_by_side(
                {
                    "the parse": lambda: parse(QUESTION, database.catalogue),
                    "the bare query": lambda: database._engine.query(bare),
                    "one durable commit": commit,
                    "price": lambda: database.price(**asked.new()),
                    "ask": lambda: database.ask(**asked.new()),
                    "ask again": lambda: database.ask(**asked.again),
                    "ask what was never planned": lambda: database.ask(next(spellings), max_error=30.0),
                },
                201,
            )
        times["all three"] = sum(times[part] for part in parts)
        report.ratios("A small question with a durable charge on SQLite", times, "all three", unit="ms")


def committing(file: Path) -> Callable[[], object]:
    """Give what makes one durable commit in SQLite, as a ledger is set up."""
    connection = sqlite3.connect(file, isolation_level=None)
    for setting in ("journal_mode=WAL", "synchronous=FULL"):
        connection.execute(f"PRAGMA {setting}")
    connection.execute("CREATE TABLE charges (label TEXT PRIMARY KEY, charge TEXT)")
    labels = itertools.count()

    def commit() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO charges VALUES (?, ?)", (f"{next(labels):064}", "x" * 300))
        connection.execute("COMMIT")

    return commit


def shared(report: Report) -> None:
    """How many durable charges of clients that wait at the same time share one commit, and so one sync of the disk."""
    rows = []
    for database in DATABASES:
        for name, many in (("charges alone", 100), ("whole questions", 20)):
            with place(database) as there, tempfile.TemporaryDirectory() as folder, ExitStack() as opened:
                asked = Asked(opened.enter_context(Readings(Path(folder)).open(there)))
                charged, commits = at_once(asked, many, whole=name == "whole questions")
                rows.append([f"{database}, {name}", f"{charged:,}", f"{commits:,}", f"{charged / commits:.1f}"])
    report.rows(f"{CLIENTS} clients, threads of one process", ["", "charges", "commits", "charges for one sync"], rows)


def at_once(asked: Asked, many: int, *, whole: bool) -> tuple[int, int]:
    """Let clients charge without a pause; give how many charges were written, and in how many commits."""
    ledger, commits = asked.database.ledger, itertools.count()
    prepared = asked.database.price(**asked.new()).prepared
    ((account, allowed),) = prepared.plan.allowances.items()
    cost = {account: Charge(allowed.information / CLIENTS / many / 10, 0.0)}
    questions, turns = [asked.new() for _ in range(CLIENTS * many)], itertools.count()

    run = ledger._database.run  # type: ignore[attr-defined]

    def counted(work: Any, mode: Any) -> Any:
        if mode == "write":
            next(commits)
        return run(work, mode)

    def client(number: int) -> None:
        for place in range(number * many, (number + 1) * many):
            if whole:
                asked.database.ask(**questions[next(turns)])  # narrower than all before
            else:
                entry = Entry(sha256(f"{place}".encode()).hexdigest(), cost, {"output": "mean"})
                ledger.charge([entry], {account: allowed}, prepared.terms)

    before = ledger.verify().head.sequence
    ledger._database.run = counted  # type: ignore[attr-defined]
    with ThreadPoolExecutor(CLIENTS) as pool:
        list(pool.map(client, range(CLIENTS)))
    return ledger.verify().head.sequence - before, next(commits)


def main(report: Report) -> None:
    latency(report)
    shared(report)
    history(report)
    crashes(report)
