"""Cost of releasing a whole table, against DuckDB copying the same file; memory and growth.

Two tables: one stored in the order of its key, as published tables usually are, and one that has to be sorted, whose
cost is set beside DuckDB sorting it too. Set BENCH_ROWS=100000000 for large ones.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.bulk import Column, release
from errorfloor.identity import KeyRing
from errorfloor.support import Interval

ROWS = int(os.environ.get("BENCH_ROWS", "20000000"))
COPY, SORTED_COPY, RELEASE = "DuckDB copies", "DuckDB sorts", "errorfloor releases"
ALONE = """
import sys
from benchmarks.release import perturbing
from pathlib import Path
perturbing(Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]))()
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))
"""


def make(path: Path, rows: int) -> None:
    duckdb.sql(
        f"COPY (SELECT (range // 365)::INT AS household, (DATE '2013-01-01' + (range % 365)::INT)::DATE AS day, "
        f"round(20 * random(), 3) AS kwh FROM range({rows})) TO '{path}' (FORMAT parquet)"
    )


def shuffle(source: Path, target: Path) -> None:
    duckdb.sql(f"COPY (SELECT * FROM '{source}' ORDER BY hash(household, day)) TO '{target}' (FORMAT parquet)")


def copying(source: Path, target: Path, order: str = "") -> Callable[[], object]:
    return lambda: duckdb.sql(f"COPY (SELECT * FROM '{source}' {order}) TO '{target}' (FORMAT parquet)")


def perturbing(source: Path, target: Path, keys: Path) -> Callable[[], object]:
    return lambda: release(
        source,
        target,
        columns={"kwh": Column(Interval(0, 0.5), range=(0, 50))},
        key=["household", "day"],
        batch=source.stem,
        keys=keys,
        overwrite=True,
    )


def memory(source: Path, target: Path, keys: Path) -> str:
    command = [sys.executable, "-c", ALONE, str(source), str(target), str(keys)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main(report: Report) -> None:
    duckdb.sql("SET enable_progress_bar = false")
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        copy, out = here / "copy.parquet", here / "out.parquet"
        keys = KeyRing.create(here / "keys.json").path
        sizes = [ROWS // 10, ROWS // 3, ROWS]
        times = []
        for rows in sizes:
            ordered = here / f"{rows}.parquet"
            make(ordered, rows)
            actions = {COPY: copying(ordered, copy), RELEASE: perturbing(ordered, out, keys)}
            times.append(side_by_side(actions, 3))
        report.ratios(f"{ROWS:,} rows in the order of their key, Parquet to Parquet", times[-1], COPY, unit="s")
        exponent = np.polyfit(np.log(sizes), np.log([taken[RELEASE] for taken in times]), 1)[0]
        report.note(f"time grows as rows^{exponent:.2f}")
        shuffled = here / "shuffled.parquet"
        shuffle(ordered, shuffled)
        actions = {
            COPY: copying(shuffled, copy),
            SORTED_COPY: copying(shuffled, copy, "ORDER BY household, day"),
            RELEASE: perturbing(shuffled, out, keys),
        }
        report.ratios(f"{ROWS:,} rows in another order, Parquet to Parquet", side_by_side(actions, 3), COPY, unit="s")
        for source, order in ((ordered, "in the order of their key"), (shuffled, "in another order")):
            report.note(f"most memory of a process that releases rows {order}: {memory(source, out, keys)} MiB")
