"""How the cost of a question grows with rows and cells; and that a cluster of Spark answers what DuckDB does.

``python -m benchmarks.growth`` prints what docs/how-cost-grows.md states. The processor time of all threads is counted,
so that other work on the machine matters little. The cluster is Spark's own on one machine: a master, two workers, an
executor on each.
"""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.questions import Bench
from errorfloor.catalogue.model import Place
from errorfloor.engines import open_engine
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.vault import copy

ROWS = (1_000_000, 3_000_000, 10_000_000)
CELLS = (100, 1000, 10_000, 100_000, 1_000_000)
SPREAD = (300_000, 3_000_000)  # rows on the cluster
REPEATED = 5


def least(work: Callable[[], object]) -> float:
    """Give the least processor time of some runs."""
    times = []
    for _ in range(REPEATED):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def on_duckdb(rows: int, cells: int) -> tuple[float, float, float]:
    """Give the times of the bare query, of a text seen before and of a new one."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), rows, (cells,))
        bench.register()
        with bench.open(MemoryLedger()) as database:
            database.ask(**bench.question(cells))
            return (
                least(bench.bare(cells)),
                least(lambda: database.ask(**bench.question(cells))),
                least(lambda: bench.cold(database).ask(**bench.question(cells))),
            )


def cluster() -> Any:
    """Start a master, two workers and an executor on each."""
    import pyspark
    from pyspark import SparkConf, SparkContext

    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    settings = {
        "spark.master": "local-cluster[2,1,1024]",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
    }
    return SparkContext(conf=SparkConf().setAll(list(settings.items())))


def on_cluster(rows: int) -> int:
    """Ask DuckDB, then the cluster; give the number of cells that both answered alike, to the last bit."""
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(folder), rows)
        bench.register()
        ledger, question = MemoryLedger(), bench.question()
        there = bench.catalogue.model_copy(update={"place": Place(engine="spark", snapshots="spark")})
        with bench.open(ledger) as database, open_engine(there.place, bench.folder, read_only=False) as target:
            copy(there, "readings", source=bench.engine, target=target)
            here = database.ask(**question).to_arrow()
        with open_engine(there.place, bench.folder) as engine:
            spread = Database(there, engine=engine, ledger=ledger, keys=bench.keys).ask(**question).to_arrow()
        assert spread.equals(here), "the cluster answers something else"
        return int(spread.num_rows)


def main() -> None:
    """Measure, and print."""
    print(f"{'rows':>12} {'cells':>10} {'bare':>9} {'seen':>9} {'new':>9}   seconds of processor time, DuckDB")
    for rows, cells in [*((rows, 100) for rows in ROWS), *((ROWS[0], cells) for cells in CELLS[1:])]:
        print(f"{rows:>12,} {cells:>10,} {'{:>9.4f} {:>9.4f} {:>9.4f}'.format(*on_duckdb(rows, cells))}", flush=True)
    context = cluster()
    for rows in SPREAD:
        print(f"{rows:>12,} {on_cluster(rows):>10,}   cells alike on DuckDB and on Spark", flush=True)
    print(f"executors: {len(context._jsc.sc().statusTracker().getExecutorInfos()) - 1}")
    context.stop()


if __name__ == "__main__":
    main()
