"""Kill a process that answers eight clients, at random moments, again and again; what was answered must be charged.

``python -m benchmarks.kills FOLDER LEDGER SEED ROUNDS`` prints what it found as JSON; LEDGER is a file name or a URL.
Each round forks a process that opens the table and the ledger and answers eight threads, ends it with SIGKILL, and then
opens the ledger anew: every answer that was received must be charged, no account may be over its allowance, and every
record, sum and anchor must verify.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from errorfloor.catalogue import Catalogue, Place
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError
from errorfloor.identity import KeyRing
from errorfloor.ledger import open_ledger
from errorfloor.service import Database
from errorfloor.service.registering import enter_all

CLIENTS = 8
QUESTION = "SELECT avg(kwh) AS mean FROM readings"
SHIFTED, ERROR = QUESTION.replace("kwh", "kwh + {}"), 0.35


class Readings:
    """A small table of readings in a folder, on DuckDB, with keys."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        declared = {
            "source": "readings.csv",
            "version": "1",
            "row_key": ["id"],
            "public": {"id": "whole"},
            "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 0.5, "unit": "kWh"}},
        }
        self.catalogue = Catalogue.model_validate({"tables": {"readings": declared}, "folder": folder})
        if not (folder / "keys.json").exists():
            KeyRing.create(folder / "keys.json")
            child, receive = in_child(self._register)  # this process must not start the threads of an engine: it forks
            os.close(receive)
            assert os.waitpid(child, 0)[1] == 0
        self.keys = KeyRing(folder / "keys.json")

    def _register(self, _report: int) -> None:
        from errorfloor.vault import register

        values = random.Random(1)
        rows = "".join(f"{n},{values.uniform(0, 50):.3f}\n" for n in range(1000))
        (self.folder / "readings.csv").write_text(f"id,kwh\n{rows}")
        with open_engine(self.catalogue.place, self.folder, read_only=False) as engine:
            register(self.catalogue, "readings", engine=engine)
        os._exit(0)

    def open(self, ledger: str) -> Database:
        """Open the table with a durable ledger."""
        book = open_ledger(Place(ledger=ledger), self.folder, create=True)
        engine = open_engine(self.catalogue.place, self.folder, read_only=True)
        enter_all(book, engine)
        return Database(self.catalogue, engine=engine, ledger=book, keys=self.keys)


def client(database: Database, seed: int, report: int) -> None:
    """Ask without end; hand over each answer with its label."""
    shifts = random.Random(seed)
    asked = [shifts.randrange(1, 10**5)]
    while True:  # another sum each time: a wider bound would follow from what was released
        shift = shifts.choice(asked) if shifts.random() < 0.2 else shifts.randrange(1, 10**5)
        asked.append(shift)
        try:
            answer = database.ask(SHIFTED.format(shift), max_error=ERROR)
        except AllowanceError:
            os.write(report, b'{"refused": true}\n')
            continue
        output = answer.prepared.outputs[0]
        if output.paid is None:
            assert output.label is not None
            paid = database._key.release_id(output.label)
        else:
            paid = output.paid  # it was released before, and is read again
        given = {"label": paid, "shift": shift, "mean": answer.table["mean"][0].as_py()}
        os.write(report, f"{json.dumps(given)}\n".encode())


def serve(table: Readings, ledger: str, seed: int, report: int) -> None:
    """Answer eight clients until killed."""
    database = table.open(ledger)
    os.write(report, b'{"open": true}\n')
    threads = [threading.Thread(target=client, args=(database, seed * CLIENTS + n, report)) for n in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def in_child(work: Callable[[int], None]) -> tuple[int, int]:
    """Fork a process with a pipe to write to; give its id and the end to read from."""
    receive, report = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(receive)
        try:
            work(report)
        finally:
            os._exit(1)
    os.close(report)
    return child, receive


def one_round(table: Readings, ledger: str, seed: int) -> list[dict[str, Any]]:
    """Kill a serving process, at any moment of its opening or after some answers; give what was received from it."""
    moments = random.Random(seed)
    child, receive = in_child(lambda report: serve(table, ledger, seed, report))
    with os.fdopen(receive) as reports:
        if moments.random() < 0.1:  # while it opens, or soon after
            received: list[str] = []
            time.sleep(moments.uniform(0.0, 0.3))
        else:
            received = [reports.readline() for _ in range(moments.randint(1, 8))]
            time.sleep(moments.uniform(0.0, 0.01))
        os.kill(child, signal.SIGKILL)
        received += list(reports)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    return [json.loads(line) for line in received if line.endswith("\n")]  # half a line is no answer


def look(table: Readings, ledger: str, received: list[dict[str, Any]], report: int) -> None:
    """Open what was left, and say what is wrong with it; ask for the last answer again."""
    wrong = []
    with table.open(ledger) as database:
        book = database.ledger
        records = book.verify().head.sequence
        answers = [one for one in received if "label" in one]
        known = book.known({one["label"] for one in answers})
        wrong += [f"not charged: {one['label']}" for one in answers if one["label"] not in known]
        left = database.left()
        wrong += [f"over its allowance: {standing.name}" for standing in left if standing.used > 1]
        for one in answers[-1:]:
            again = database.ask(SHIFTED.format(one["shift"]), max_error=ERROR, charge=False)
            if again.table["mean"][0].as_py() != one["mean"]:
                wrong.append(f"another answer: {one['label']}")
        used = max(standing.used for standing in left)
    os.write(report, json.dumps({"wrong": wrong, "records": records, "used": used}).encode())
    os._exit(0)


def kills(table: Readings, ledger: str, seed: int, rounds: int) -> dict[str, Any]:
    """Kill so often; give how many answers were received, what was wrong, and how the ledger stands."""
    wrong: list[str] = []
    answers = refused = 0
    left: dict[str, Any] = {"records": 0, "used": 0.0}
    for number in range(rounds):
        received = one_round(table, ledger, seed + number)
        answers += sum("label" in one for one in received)
        refused += sum("refused" in one for one in received)
        child, receive = in_child(lambda report, received=received: look(table, ledger, received, report))  # type: ignore[misc]
        with os.fdopen(receive) as reports:
            text = reports.read()
        os.waitpid(child, 0)
        found = json.loads(text) if text else {"wrong": ["the ledger could not be opened"], **left}
        wrong += [f"round {number}: {line}" for line in found.pop("wrong")]
        left = found
    return {"rounds": rounds, "answers": answers, "refused": refused, "wrong": wrong, **left}


def main(folder: str, ledger: str, seed: str, rounds: str) -> None:
    print(json.dumps(kills(Readings(Path(folder)), ledger, int(seed), int(rounds))))


if __name__ == "__main__":
    main(*sys.argv[1:])
