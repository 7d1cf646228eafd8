"""Kill processes of a server at random while it answers: what was answered must be charged, and answered alike again.

``python -m benchmarks.process_kills FOLDER SEED KILLS`` prints what it found as JSON. A server of three processes over
one SQLite ledger answers four clients, two over HTTP and two through PostgreSQL's protocol; every few tenths of a
second one of the processes is killed, whichever it is, and the server starts another. Each fiftieth kill ends all of
them at once, and the server is started again. After each of these, and at the end, the ledger must verify, and every
answer that was received must be given again, free.
"""

import json
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from errorfloor.service import open_database
from serving import ServerProcess, start_server, write_pay

CLIENTS, WORKERS, TOGETHER = 4, 3, 50  # a token may have four questions in progress
PATIENCE = 60.0  # seconds
SQL = "SELECT team, avg(wage + {}) AS mean FROM pay GROUP BY team"
ERROR = 1e8


class Load:
    """Four clients at two doors that ask without end, each time for another sum, and keep what they received."""

    def __init__(self, seed: int) -> None:
        self.received: dict[int, Any] = {}
        self.statuses: dict[str, int] = {}
        self._shifts, self._lock = random.Random(seed), threading.Lock()

    @contextmanager
    def on(self, server: ServerProcess) -> Iterator[None]:
        """Ask a server during the block."""
        stopped = threading.Event()
        with ThreadPoolExecutor(CLIENTS) as pool:
            doors = [self._ask, self._ask_in_sql] * (CLIENTS // 2)
            asking = [pool.submit(door, server, stopped) for door in doors]
            try:
                yield
            finally:
                stopped.set()
                server.process.kill()
        for one in asking:
            one.result()

    def _ask(self, server: ServerProcess, stopped: threading.Event) -> None:
        with server.client() as client:
            while not stopped.is_set():
                shift = self._shift()
                try:
                    reply = client.post("/v1/ask", json={"sql": SQL.format(shift), "max_error": ERROR})
                except httpx.TransportError:
                    continue  # its process was killed; the next connection goes to another
                rows = reply.json()["rows"] if reply.status_code == 200 else []
                self._keep(f"HTTP {reply.status_code}", shift, rows)

    def _ask_in_sql(self, server: ServerProcess, stopped: threading.Event) -> None:
        place = {"host": "127.0.0.1", "port": server.postgres, "dbname": "errorfloor", "connect_timeout": 10}
        who = {"user": server.token.split("_")[1], "password": server.token}
        while not stopped.is_set():
            try:
                with psycopg.connect(**place, **who, autocommit=True, options="-c charge=on") as line:
                    while not stopped.is_set():
                        shift = self._shift()
                        self._keep("SQL", shift, line.execute(f"{SQL.format(shift)} WITHIN {ERROR!r}").fetchall())
            except psycopg.Error:
                time.sleep(0.01)  # its process was killed; the next connection goes to another

    def _shift(self) -> int:
        with self._lock:
            return self._shifts.randrange(1, 10**6)  # each is another release

    def _keep(self, door: str, shift: int, rows: Sequence[Sequence[Any]]) -> None:
        with self._lock:
            self.statuses[door] = self.statuses.get(door, 0) + 1
            if rows:
                self.received[shift] = {row[0]: row[1] for row in rows}


def processes(server: ServerProcess) -> list[int]:
    """Give the processes that answer: the children of the one that was started."""
    parent, found = server.process.pid, []
    for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):  # one that was killed may go in between
            if "spawn_main" in Path(f"/proc/{one}/cmdline").read_text():
                found.append(int(one))
    return found


def checked(catalogue: Path, received: dict[int, Any]) -> list[str]:
    """Say what is wrong with what was left."""
    with open_database(catalogue) as database:
        records = database.ledger.verify().head.sequence
        wrong = [f"{records} records for {len(received)} answers"] if records < len(received) else []
        for shift, rows in received.items():
            again = database.ask(SQL.format(shift), max_error=ERROR, charge=False)  # refused if it was never charged
            if {row["team"]: row["mean"] for row in again.to_arrow().to_pylist()} != rows:
                wrong.append(f"another answer with {shift}")
    return wrong


def killed(catalogue: Path, seed: int, kills: int) -> dict[str, Any]:
    """Kill so many processes, and give what was found."""
    moments, load, wrong, done, seen = random.Random(seed), Load(seed), [], 0, 0
    while done < kills:
        server = start_server(catalogue, "--rate", "0", "--workers", WORKERS, "--postgres", "0")
        with load.on(server):
            for _ in range(min(TOGETHER, kills - done)):
                time.sleep(moments.uniform(0.05, 0.6))
                before = len(load.received)
                alive = processes(server)
                until = time.monotonic() + PATIENCE
                while not alive or len(load.received) == before:  # something is answered again
                    assert time.monotonic() < until, "nothing is answered any more"
                    time.sleep(0.02)
                    alive = processes(server)
                os.kill(moments.choice(alive), signal.SIGKILL)
                done += 1
            server.stop(signal.SIGKILL)
        new = dict(list(load.received.items())[seen:])
        seen = len(load.received)
        wrong += checked(catalogue, new)
        print(f"{done} kills, {seen} answers, {len(wrong)} wrong", file=sys.stderr, flush=True)
    wrong += checked(catalogue, load.received)
    return {"kills": done, "answers": len(load.received), "statuses": load.statuses, "wrong": wrong}


if __name__ == "__main__":
    place, seed, kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    print(json.dumps(killed(write_pay(place / "pay"), seed, kills)))
