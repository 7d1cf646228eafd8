"""The same question elsewhere: sum and mean of a private column by 100 public keys, each peer in its own environment.

What is timed is the question alone: every peer has its table in memory, or where it wants it, before the clock starts.
A peer gets the table in growing sizes and has two minutes for all of them; the sizes that it finished are shown.
Accuracy is not compared: the others promise differential privacy.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path

from benchmarks import peers
from benchmarks.environments import python_for, reason, run
from benchmarks.questions import ROWS, Bench
from benchmarks.report import Report
from benchmarks.stopwatch import side_by_side
from errorfloor.ledger import open_ledger

SIZES = [size for size in (100_000, 1_000_000, 10_000_000) if size <= ROWS]
OURS = "errorfloor"

OPENDP = """
import opendp.prelude as dp, polars as pl
dp.enable_features("contrib")
load = pl.read_parquet
def ask(data):
    margin = dp.polars.Margin(by=["key_100"], max_length=len(data) // 50, max_groups=100, invariant="lengths")
    context = dp.Context.compositor(
        data=data.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=1.0),
        split_evenly_over=1, margins=[margin],
    )
    kwh = pl.col("kwh").fill_null(0.0).fill_nan(0.0)
    wanted = kwh.dp.sum((0.0, 50.0)).alias("one"), kwh.dp.mean((0.0, 50.0)).alias("two")
    return len(context.query().group_by("key_100").agg(*wanted).release().collect())
"""

SMARTNOISE = """
import pandas as pd, snsql
from snsql import Privacy
COLUMNS = {
    "row_privacy": True, "censor_dims": False, "id": {"type": "int"}, "key_100": {"type": "int"},
    "kwh": {"type": "float", "lower": 0.0, "upper": 50.0},
}
def load(path):
    metadata = {"": {"": {"readings": {**COLUMNS, "rows": 1000}}}}
    return snsql.from_df(pd.read_parquet(path), privacy=Privacy(epsilon=1.0, delta=1e-6), metadata=metadata)
def ask(data):
    return len(data.execute("SELECT key_100, SUM(kwh) AS one, AVG(kwh) AS two FROM readings GROUP BY key_100")) - 1
"""

TUMULT = """
import os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, Session
settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "4"}
spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
keys = KeySet.from_dict({"key_100": list(range(100))})
def load(path):
    data = spark.read.parquet(path).cache()
    data.count()
    return data
def ask(data):
    session = Session.from_dataframe(
        privacy_budget=PureDPBudget(2), source_id="readings", dataframe=data, protected_change=AddOneRow()
    )
    grouped = QueryBuilder("readings").groupby(keys)
    one = session.evaluate(grouped.sum("kwh", 0.0, 50.0), PureDPBudget(1)).collect()
    session.evaluate(grouped.average("kwh", 0.0, 50.0), PureDPBudget(1)).collect()
    return len(one)
"""

PIPELINEDP = """
import pipeline_dp as pdp, pyarrow.parquet as pq
def load(path):
    return list(zip(*(column.to_pylist() for column in pq.read_table(path).columns)))
def ask(data):
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    wanted = pdp.AggregateParams(
        metrics=[pdp.Metrics.SUM, pdp.Metrics.MEAN], noise_kind=pdp.NoiseKind.LAPLACE, min_value=0.0, max_value=50.0,
        max_partitions_contributed=1, max_contributions_per_partition=1,
    )
    place = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )
    result = engine.aggregate(data, wanted, place, public_partitions=list(range(100)))
    accountant.compute_budgets()
    return len(list(result))
"""

HARNESS = """
import json, sys, time, warnings
from importlib.metadata import version
warnings.simplefilter("ignore")
SCRIPT
for path in sys.argv[1:]:
    data, taken = load(path), []
    while len(taken) < 3 and sum(taken) < 5:
        start = time.perf_counter()
        groups = ask(data)
        taken.append(time.perf_counter() - start)
        assert groups == 100, groups
    print("TAKEN", json.dumps([path, sorted(taken)[len(taken) // 2], version("PACKAGE")]), flush=True)
"""

# name, package, what pip installs, script
PEERS = (
    ("OpenDP with Polars", "opendp", peers.WANTED, OPENDP),
    ("SmartNoise SQL", "smartnoise-sql", ("smartnoise-sql>=1,<2", "pyarrow"), SMARTNOISE),
    ("Tumult Analytics on Spark", "tmlt.analytics", ("tmlt.analytics<1",), TUMULT),
    ("PipelineDP, local", "pipeline-dp", ("pipeline-dp<1", "pyarrow"), PIPELINEDP),
)


def ask(package: str, wanted: tuple[str, ...], script: str, files: Iterable[str]) -> tuple[str, str]:
    """Let a peer answer; give what it printed, and why it stopped early if it did."""
    code = HARNESS.replace("SCRIPT", script).replace("PACKAGE", package)
    try:
        return run([python_for(package, wanted), "-c", code, *files]), ""
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
        shown = problem.stdout or ""
        return shown if isinstance(shown, str) else shown.decode(), reason(problem)


def ours(folder: Path, size: int) -> tuple[str, float]:
    """Answer it here; give the file with the table, and the time."""
    folder.mkdir()
    bench = Bench(folder, size)
    bench.register()
    with bench.open(open_ledger(bench.catalogue.place, folder, create=True)) as database:
        action = {OURS: lambda: bench.cold(database).ask(**bench.question(100, "sum", "avg"))}
        return str(bench.source), side_by_side(action, 5)[OURS]


def main(report: Report) -> None:
    unfinished = []
    with tempfile.TemporaryDirectory() as folder:
        measured = [ours(Path(folder) / str(size), size) for size in SIZES]
        rows = {file: {OURS: seconds} for file, seconds in measured}
        for name, package, wanted, script in PEERS:
            shown, why = ask(package, wanted, script, rows)
            if why:
                unfinished.append(f"{name}: {why}")
            for line in shown.splitlines():
                if line.startswith("TAKEN "):
                    file, seconds, report.peers[name] = json.loads(line.removeprefix("TAKEN "))
                    rows[file][name] = seconds
    for size, taken in zip(SIZES, rows.values(), strict=True):
        report.ratios(f"{size:,} rows, sum and mean by 100 keys", taken, OURS)
    for line in unfinished:
        report.note(line)
