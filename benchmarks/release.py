"""Cost of releasing a whole table, against DuckDB copying the same file; memory and growth.

Set BENCH_ROWS=100000000 for the large table.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import numpy as np

from benchmarks.stopwatch import side_by_side, table
from errorfloor.bulk import release
from errorfloor.identity import KeyRing
from errorfloor.support import Interval

ROWS = int(os.environ.get("BENCH_ROWS", "20000000"))
ALONE = """
import sys
from errorfloor.bulk import release
from errorfloor.support import Interval
release(sys.argv[1], sys.argv[2], columns={"kwh": Interval(0, 0.5)}, key=["household", "day"],
        batch=sys.argv[1].split("/")[-1].removesuffix(".parquet"), keys=sys.argv[3],
        ranges={"kwh": (0, 50)}, order_is_public=True, overwrite=True)
lines = open("/proc/self/status").read().splitlines()
print(next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmHWM")))
"""


def make(path: Path, rows: int) -> None:
    duckdb.sql(
        f"COPY (SELECT (range // 365)::INT AS household, (DATE '2013-01-01' + (range % 365)::INT)::DATE AS day, "
        f"round(20 * random(), 3) AS kwh FROM range({rows})) TO '{path}' (FORMAT parquet)"
    )


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        keys = KeyRing.create(here / "keys.json").path
        times = {}
        sizes = [ROWS // 10, ROWS // 3, ROWS]
        for rows in sizes:
            source = here / f"{rows}.parquet"
            make(source, rows)

            def copy(source: Path = source) -> None:
                duckdb.sql(f"COPY (SELECT * FROM '{source}') TO '{here / 'copy.parquet'}' (FORMAT parquet)")

            def perturb(source: Path = source) -> None:
                release(
                    source,
                    here / "out.parquet",
                    columns={"kwh": Interval(0, 0.5)},
                    key=["household", "day"],
                    batch=source.stem,
                    keys=keys,
                    ranges={"kwh": (0, 50)},
                    order_is_public=True,
                    overwrite=True,
                )

            times[rows] = side_by_side({"DuckDB copies": copy, "errorfloor releases": perturb}, 3)
        table(f"{ROWS:,} rows, Parquet to Parquet", times[ROWS], "DuckDB copies", unit="s")
        exponent = np.polyfit(np.log(sizes), np.log([times[rows]["errorfloor releases"] for rows in sizes]), 1)[0]
        print(f"  time grows as rows^{exponent:.2f}")
        command = [sys.executable, "-c", ALONE, str(here / f"{ROWS}.parquet"), str(here / "alone.parquet"), str(keys)]
        used = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
        print(f"  most memory of a process that releases {ROWS:,} rows: {used} MiB")
