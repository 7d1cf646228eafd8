"""How the cost of a question grows with its cells, against the bare query that gives the same groups as Arrow.

A million rows, mean and variance, ledger in memory; with the larger numbers of cells most have no variance, and it is
not computed. With up to about 100,000 cells, an eighth of the rows, a new text has public facts from tallies of the
snapshot; with more it is scanned twice: once for public facts, once for the answer. With owners, 100,000 of them, the
rows of each in each cell are counted as well. Compared is the processor time of all threads, which other work on the
machine changes little, and the time by the clock, by which the bare query gains more from a second core: on a busy
machine that gain is lost, and ratios by the clock say little. Set BENCH_CELL_ROWS for another number of rows, and
BENCH_CELL_SIZES for other numbers of cells, as in BENCH_CELL_SIZES=100000,1000000: then it leaves owners out.
"""

import math
import os
import tempfile
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.questions import BARE, Bench
from benchmarks.report import Report
from benchmarks.stopwatch import on_clocks
from errorfloor.ledger import MemoryLedger
from errorfloor.server.statements import json_parts

ROWS = int(os.environ.get("BENCH_CELL_ROWS", "1000000"))
CHOSEN = os.environ.get("BENCH_CELL_SIZES", "")
USUAL = (100, 1000, 10_000, 100_000, 1_000_000)
SIZES = tuple(map(int, CHOSEN.split(","))) if CHOSEN else tuple(size for size in USUAL if size <= ROWS)
ROUNDS = 7
CLOCKS = (time.process_time, time.perf_counter)
NEW, SEEN, JSON = "a new text", "a text seen before", "its reply in JSON"
OWNERS = ", with owners"
MOST_WRITTEN = 100_000  # cells whose reply is written


def measured(folder: Path, *, owners: int) -> list[dict[int, dict[str, float]]]:
    """Give the times of the actions for each number of cells, by the processor and by the clock."""
    found: list[dict[int, dict[str, float]]] = [{} for _ in CLOCKS]
    bench = Bench(folder, ROWS, SIZES, owners=owners)
    bench.register()
    with bench.open(MemoryLedger()) as database:
        for size in SIZES:
            answer = database.ask(**bench.question(size))
            actions: dict[str, Callable[[], Any]] = {
                BARE: bench.bare(size),
                NEW: lambda size=size: bench.cold(database).ask(**bench.question(size)),
                SEEN: lambda size=size: database.ask(**bench.question(size)),
            }
            if size <= MOST_WRITTEN:
                actions[JSON] = lambda answer=answer: sum(map(len, json_parts(answer)))
            for times, each in zip(found, on_clocks(actions, ROUNDS, *CLOCKS), strict=True):
                times[size] = each
    return found


def peak(size: int, folder: str, *, bare: bool) -> float:
    """Give the bytes for each cell that a query or a question takes at its peak, beyond what the process had before."""
    bench = Bench(Path(folder), ROWS, (100, size))
    bench.register()
    with bench.open(MemoryLedger()) as database:
        database.ask(**bench.question(100))
        work = bench.bare(size) if bare else lambda: database.ask(**bench.question(size))
        Path("/proc/self/clear_refs").write_text("5")
        before = _memory("VmRSS")
        kept = work()
        return (_memory("VmHWM") - before) / size if kept else 0.0


def _ratio(times: dict[str, float], name: str) -> float | str:
    return times[name] / times[BARE] if name in times else "–"


def _memory(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(name))


def main(report: Report) -> None:
    with tempfile.TemporaryDirectory() as folder:
        alone, by_clock = measured(Path(folder), owners=0)
    owned: dict[int, dict[str, float]] = {}
    if not CHOSEN:
        with tempfile.TemporaryDirectory() as folder:
            owned = measured(Path(folder), owners=ROWS // 10)[0]
    columns = ["cells", SEEN, NEW, JSON, SEEN + OWNERS, NEW + OWNERS]
    rows = []
    for size in SIZES:
        wanted = [(alone, SEEN), (alone, NEW), (alone, JSON), (owned, SEEN), (owned, NEW)]
        rows.append([f"{size:,}", *(_ratio(times.get(size, {}), name) for times, name in wanted)])
    report.rows(f"{ROWS:,} rows, × {BARE} on as many cells, by processor time", columns, rows)
    if len(SIZES) > 1:
        for name in (BARE, SEEN, NEW):
            slope = math.log(alone[SIZES[-1]][name] / alone[SIZES[0]][name]) / math.log(SIZES[-1] / SIZES[0])
            last = math.log(alone[SIZES[-1]][name] / alone[SIZES[-2]][name]) / math.log(SIZES[-1] / SIZES[-2])
            report.note(f"{name} grows as cells^{slope:.2f} in all, and as cells^{last:.2f} over the last step")
    rows = [[f"{size:,}", *(_ratio(by_clock[size], name) for name in (SEEN, NEW, JSON))] for size in SIZES]
    report.rows("The same by the clock", columns[:4], rows)
    found = []
    for bare in (True, False):
        with tempfile.TemporaryDirectory() as folder, get_context("spawn").Pool(1) as fresh:
            found.append(fresh.apply(peak, (SIZES[-1], folder), {"bare": bare}))
    report.note("at its peak {:.0f} bytes a cell are taken by the bare query, {:.0f} by a new text".format(*found))
