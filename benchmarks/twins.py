"""Twins over HTTP: nobody tells two tables apart by anything but the released numbers.

One server holds two tables with equal public parts; all private numbers are low in one and high in the other. Each is
asked 2,000 adversarial questions (BENCH_TWINS says how many) that were never asked before, in random order. Of every
reply the time, the status, and the size and order of all but released numbers are taken. A two-sample
Kolmogorov–Smirnov test compares the times among questions of a kind. A logistic regression, trained on one half of the
replies, names the twins in the other. Each is significant below 10⁻³. The same is done with a delay of 2 ms planted in
the replies of one twin: on a machine with nothing else to do that is found.
"""

import argparse
import asyncio
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from benchmarks.report import Report
from errorfloor.attacks.learned_rule import LearnedRule
from errorfloor.checks import Array
from twins import ASKED, TWINS, question, shape, write_twins

REQUESTS, WARM = int(os.environ.get("BENCH_TWINS", "2000")), 60
ALPHA = 1e-3
PLANTED = 0.002  # seconds


def main(report: Report) -> None:
    """Compare the twins as they are, and with a delay planted."""
    rows = []
    for delay in (0.0, PLANTED):
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder), delay) as asked:
            times, trained, right = compared(replies(asked, REQUESTS))
        name = f"{1e3 * delay:g} ms planted" if delay else "as they are"
        told = min(times, trained) < ALPHA
        rows.append([name, f"{times:.2g}", f"{trained:.2g}", f"{right:.1%}", "yes" if told else "no"])
    columns = ["twins", "Kolmogorov–Smirnov p", "classifier p", "classifier right", "told apart"]
    report.rows(f"Twins over HTTP, {REQUESTS} adversarial requests each", columns, rows)


def replies(asked: Callable[[str], list[float]], requests: int) -> tuple[Array, Array]:
    """Ask as many questions of either twin, in random order; give the features of every reply, and whose it is.

    Times are ranks from 0 to 1 among all replies to questions of one kind: kinds take different times, twins must not.
    """
    chance = np.random.default_rng(18)
    order = [(number, twin) for number in range(requests + WARM) for twin in chance.permutation(2)]
    found = [[*asked(question(number, TWINS[twin])), number % len(ASKED), twin] for number, twin in order]
    seen = np.array(found[2 * WARM :])
    for kind in range(len(ASKED)):
        alike = seen[:, -2] == kind
        seen[alike, 0] = seen[alike, 0].argsort().argsort() / alike.sum()
    return seen[:, :-2], seen[:, -1]


def compared(seen: tuple[Array, Array]) -> tuple[float, float, float]:
    """Give the p-values of the two tests, and how often the classifier was right."""
    from scipy.stats import binomtest, ks_2samp

    features, twins = seen
    times = ks_2samp(features[twins == 0, 0], features[twins == 1, 0]).pvalue
    half = len(twins) // 2
    odds = LearnedRule.of(features[:half], twins[:half]).odds(features[half:])
    coins = np.random.default_rng(1).random(len(odds)) < 0.5
    right = int((np.where(odds == 0, coins, odds > 0) == twins[half:]).sum())
    return float(times), float(binomtest(right, len(odds), 0.5).pvalue), right / len(odds)


@contextmanager
def serving(folder: Path, delay: float) -> Iterator[Callable[[str], list[float]]]:
    """Serve the twins in a process of their own; give what asks one question and takes the features of its reply."""
    catalogue = write_twins(folder / "twins")
    command = [sys.executable, "-m", "benchmarks.twins", str(catalogue), "--delay", str(delay)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        port, token = process.stdout.readline().split()
        line = http.client.HTTPConnection("127.0.0.1", int(port), timeout=120)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

        def asked(sql: str) -> list[float]:
            body = json.dumps({"sql": sql, "spend": 1e-5})
            start = time.perf_counter()
            line.request("POST", "/v1/ask", body, headers)
            reply = line.getresponse()
            said = reply.read()
            taken = time.perf_counter() - start
            told = shape(said)
            return [taken, reply.status, len(told), zlib.crc32(told.encode())]

        yield asked
        line.close()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


class Delayed:
    """An app whose replies about the second twin leave later."""

    def __init__(self, app: Any, delay: float) -> None:
        self._app, self._delay = app, delay

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass everything on; hold back the head of a reply."""
        about = b""

        async def received() -> Any:
            nonlocal about
            message = await receive()
            about += message.get("body", b"")
            return message

        async def sent(message: Any) -> None:
            if message["type"] == "http.response.start" and TWINS[1].encode() in about:
                await asyncio.sleep(self._delay)
            await send(message)

        await self._app(scope, received, sent)


def serve(catalogue: Path, delay: float) -> None:
    """Serve a catalogue on a free port; say which, with an analyst's token."""
    import uvicorn

    from errorfloor.server import Role, Settings, TokenFile, create_app
    from errorfloor.server.running import listen
    from errorfloor.service import open_database

    tokens = TokenFile(None)
    _, token = tokens.create("adversary", Role.ANALYST)
    taken, settings = listen(Settings(port=0, rate=0.0, audit_log=catalogue.with_name("audit.log")))
    app = create_app(open_database(catalogue), tokens=tokens, settings=settings, close_database=True)
    config = uvicorn.Config(Delayed(app, delay) if delay else app, log_config=None, access_log=False)
    print(settings.port, token, flush=True)
    uvicorn.Server(config).run(sockets=[taken])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Serve twins; the benchmark starts this in a process of its own.")
    parser.add_argument("catalogue", type=Path)
    parser.add_argument("--delay", type=float, default=0.0)
    given = parser.parse_args()
    serve(given.catalogue, given.delay)
