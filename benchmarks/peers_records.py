"""Counts, sums, means, medians and a histogram of people, here and elsewhere, for equal promises.

20,000 rows, each somebody else's, in ten groups. Every question is asked alone and takes the whole allowance; each peer
asks it as its documentation advises, with public groups and ranges, by the noise that is nearest for the promise. *At
(ε, δ)* is ε = 1, δ = 10⁻⁶; peers have pure ε. *In or out* is that nobody tells better than 60 times in 100 whether
somebody is there: for OpenDP and Tumult a normal law of 1.97 times what a row adds (ρ = 0.128), and ε = ln 1.5 for
SmartNoise and for medians. Here the promise covers any two contents of a row besides, which costs √2 in groups; for the
peers a row is there or not.

Each question is asked 4 times with fresh noise, so that there are 40 errors of each, ten of every run. *Within* is
what 95 in 100 of them were within; *certain* is what the answer itself says that it is within, always (the middle one
and the largest, where they differ). Time is that of a question whose table is registered, here with a ledger in memory.
"""

import json
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import peers
from benchmarks.environments import python_for, reason, run
from benchmarks.report import Report, ratio
from errorfloor.catalogue import Catalogue
from errorfloor.checks import Array
from errorfloor.engines import open_engine
from errorfloor.identity import Key
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.vault import register

ROWS, GROUPS, RUNS, MOST_COST, MOST_AGE = 20_000, 10, 4, 1000, 99
PATIENCE = 900.0
OURS = "errorfloor"
PROMISES = {
    "(ε, δ)": {"floor": 0.2, "max_delta": 1e-6, "max_epsilon": 1.0},
    "in or out": {"floor": 0.4},
}
QUESTIONS = {
    "counts": "SELECT g, count(*) AS x FROM people GROUP BY g",
    "sums": "SELECT g, sum(cost) AS x FROM people GROUP BY g",
    "means": "SELECT g, avg(cost) AS x FROM people GROUP BY g",
    "medians": "SELECT g, median(age) AS x FROM people GROUP BY g",
    "histogram": "SELECT floor(age / 10) AS bin, count(*) AS x FROM people GROUP BY bin",
}

OPENDP = """
import math, polars as pl, opendp.prelude as dp
dp.enable_features("contrib")
data = pl.read_parquet(sys.argv[1])
cost, age = (pl.col(name).fill_null(0).dp for name in ("cost", "age"))
WANTED = {
    "counts": ("g", dp.len()), "sums": ("g", cost.sum((0, 1000))), "means": ("g", cost.mean((0, 1000))),
    "medians": ("g", age.median(list(range(100)))), "histogram": ("bin", dp.len()),
}
def ask(promise, question):
    key, wanted = WANTED[question]
    pure = {"(ε, δ)": 1.0, "in or out": math.log(1.5)}[promise]
    loss = {"epsilon": pure} if promise == "(ε, δ)" or question == "medians" else {"rho": 0.1283}
    margin = dp.polars.Margin(by=[key], max_length=len(data), max_groups=10, invariant="keys")
    context = dp.Context.compositor(
        data=data.lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(**loss),
        split_evenly_over=1, margins=[margin],
    )
    return context.query().group_by(key).agg(wanted.alias("x")).release().collect().select(key, "x").rows()
"""

SMARTNOISE = """
import math, pandas as pd, snsql
from snsql import Privacy
data = pd.read_parquet(sys.argv[1])
number = {"type": "int", "lower": 0}
META = {"": {"": {"people": {
    "row_privacy": True, "censor_dims": False, "rows": 20000, "id": {"type": "int"}, "g": {"type": "int"},
    "bin": {"type": "int"}, "cost": {**number, "upper": 1000}, "age": {**number, "upper": 99},
}}}}
WANTED = {"counts": ("g", "COUNT(*)"), "sums": ("g", "SUM(cost)"), "means": ("g", "AVG(cost)"),
          "histogram": ("bin", "COUNT(*)")}
def ask(promise, question):
    if question not in WANTED:
        return None
    key, wanted = WANTED[question]
    sql = f"SELECT {key}, {wanted} AS x FROM people GROUP BY {key}"
    whole = {"(ε, δ)": 1.0, "in or out": math.log(1.5)}[promise]
    reader = snsql.from_df(data, privacy=Privacy(epsilon=whole, delta=1e-6), metadata=META)
    spent = reader.get_privacy_cost(sql)[0]  # each sum or count takes the ε that is given
    if spent > whole * 1.0001:
        reader = snsql.from_df(data, privacy=Privacy(epsilon=whole * whole / spent, delta=1e-6), metadata=META)
    return [tuple(row) for row in reader.execute(sql)[1:]]
"""

TUMULT = """
import math, os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, KeySet, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session
settings = {"spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "2"}
spark = SparkSession.builder.master("local[*]").config(map=settings).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
data = spark.read.parquet(sys.argv[1]).cache()
data.count()
endless = {
    kind: Session.from_dataframe(
        privacy_budget=kind(float("inf")), source_id="people", dataframe=data, protected_change=AddOneRow()
    )
    for kind in (PureDPBudget, RhoZCDPBudget)
}
def ask(promise, question):
    key = "bin" if question == "histogram" else "g"
    query = QueryBuilder("people").groupby(KeySet.from_dict({key: list(range(10))}))
    wanted = {
        "counts": lambda: query.count(name="x"), "histogram": lambda: query.count(name="x"),
        "sums": lambda: query.sum("cost", 0, 1000, name="x"), "means": lambda: query.average("cost", 0, 1000, name="x"),
        "medians": lambda: query.median("age", 0, 100, name="x"),
    }[question]()
    if promise == "(ε, δ)" or question == "medians":
        budget = PureDPBudget({"(ε, δ)": 1.0, "in or out": math.log(1.5)}[promise])
    else:
        budget = RhoZCDPBudget(0.1283)
    return [(row[key], row["x"]) for row in endless[type(budget)].evaluate(wanted, budget).collect()]
"""

HARNESS = """
import json, sys, time, warnings
from importlib.metadata import version
warnings.simplefilter("ignore")
SCRIPT
promises, questions, runs = json.loads(sys.argv[2])
for promise in promises:
    for question in questions:
        answers, taken = [], []
        for run in range(runs + 1):  # the first is not counted: what is made once is made then
            start = time.perf_counter()
            found = ask(promise, question)
            taken.append(time.perf_counter() - start)
            if found is None:
                break
            answers.append([float(x) for _, x in sorted((int(key), x) for key, x in found)])
        if answers:
            said = [promise, question, answers[1:], sorted(taken[1:])[runs // 2], version("PACKAGE")]
            print("FOUND", json.dumps(said), flush=True)
"""

PEERS = (
    ("OpenDP", "opendp", peers.WANTED, OPENDP),
    ("SmartNoise SQL", "smartnoise-sql", ("smartnoise-sql>=1,<2", "pyarrow"), SMARTNOISE),
    ("Tumult Analytics", "tmlt.analytics", ("tmlt.analytics<1",), TUMULT),
)


def made_up() -> dict[str, Array]:
    """Give the table: groups of 400 to 4,000 rows, ages that are skewed, costs with a long tail."""
    chance = np.random.default_rng(2026)
    weights = np.arange(1.0, GROUPS + 1)
    ages = np.minimum(MOST_AGE, (chance.beta(2, 3, ROWS) * (MOST_AGE + 1)).astype(np.int64))
    costs = np.minimum(MOST_COST, chance.exponential(200, ROWS).astype(np.int64))
    groups = chance.choice(GROUPS, ROWS, p=weights / weights.sum())
    return {"id": np.arange(ROWS), "g": groups, "age": ages, "bin": ages // 10, "cost": costs}


def truths(table: dict[str, Array]) -> dict[str, Array]:
    """Give what is exact."""
    each = [table["g"] == group for group in range(GROUPS)]
    return {
        "counts": np.array([rows.sum() for rows in each], dtype=float),
        "sums": np.array([table["cost"][rows].sum() for rows in each], dtype=float),
        "means": np.array([table["cost"][rows].mean() for rows in each]),
        "medians": np.array([np.median(table["age"][rows]) for rows in each]),
        "histogram": np.bincount(table["bin"], minlength=GROUPS).astype(float),
    }


def ours(folder: Path, owner: dict[str, float]) -> Callable[[str], tuple[Array, Array, float]]:
    """Give what asks here, with fresh noise each time: the answers, how far off each is at most, and the seconds."""
    columns = {"g": [0, GROUPS - 1], "age": [0, MOST_AGE], "cost": [0, MOST_COST]}
    table = {
        "source": "people.parquet",
        "version": "1",
        "protects": "records",
        "owner": owner,
        "most_rows": ROWS,
        "columns": {name: {"range": ends} for name, ends in columns.items()},
    }
    catalogue = Catalogue.model_validate({"tables": {"people": table}, "limit": {"question": 1.0}})
    place = catalogue.place.model_copy(update={"snapshots": f"{len(owner)}.duckdb"})
    catalogue = catalogue.model_copy(update={"folder": folder, "place": place})
    with open_engine(place, folder, read_only=False) as engine:
        register(catalogue, "people", engine=engine)

    def ask(question: str) -> tuple[Array, Array, float]:
        engine = open_engine(place, folder)
        with Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=Key.fresh()) as database:
            start = time.perf_counter()
            answer = database.ask(QUESTIONS[question], spend=0.999)
            taken = time.perf_counter() - start
            found = answer.to_arrow()
            x, low, high = (found[f"x{end}"].to_numpy().astype(float) for end in ("", "_low", "_high"))
        return x, np.maximum(x - low, high - x), taken

    return ask


def main(report: Report) -> None:
    table = made_up()
    exact = truths(table)
    found: dict[tuple[str, str, str], tuple[Array, Array | None, float]] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.table(table), folder / "people.parquet")
        for promise, owner in PROMISES.items():
            ask = ours(folder, owner)
            for question, truth in exact.items():
                runs = [ask(question) for _ in range(RUNS + 1)][1:]
                errors = np.array([x - truth for x, _, _ in runs])
                certain = np.array([most for _, most, _ in runs])
                assert (np.abs(errors) <= certain + 1e-6).all(), question
                found[promise, question, OURS] = errors, certain, median(t for *_, t in runs)
        for peer, package, wanted, script in PEERS:
            for promise, question, answers, seconds, version in elsewhere(
                report, peer, package, wanted, script, folder
            ):
                report.peers[peer] = version
                found[promise, question, peer] = np.array(answers) - exact[question], None, seconds
    for promise in PROMISES:
        rows = [
            _row(question, peer, *found[promise, question, peer], found[promise, question, OURS][2])
            for question in exact
            for peer in (OURS, *(one[0] for one in PEERS))
            if (promise, question, peer) in found
        ]
        columns = ["question", "root mean square", "95 in 100 within", "largest seen", "certain", f"time, × {OURS}"]
        report.rows(f"At equal {promise}", columns, rows)


def _row(question: str, peer: str, errors: Array, certain: Array | None, seconds: float, base: float) -> list[Any]:
    off = np.abs(errors)
    figures = float(np.sqrt((errors**2).mean())), float(np.quantile(off, 0.95)), float(off.max())
    ends = [] if certain is None else [float(np.median(certain)), float(certain.max())]
    return [f"{question}, {peer}", *figures, " … ".join(dict.fromkeys(map(ratio, ends))), seconds / base]


def elsewhere(report: Report, peer: str, package: str, wanted: tuple[str, ...], script: str, folder: Path) -> list[Any]:
    """Let a peer answer; what it finished counts, and why it stopped early is noted."""
    code = HARNESS.replace("SCRIPT", script).replace("PACKAGE", package)
    asked = json.dumps([list(PROMISES), list(QUESTIONS), RUNS])
    try:
        shown = run([python_for(package, wanted), "-c", code, str(folder / "people.parquet"), asked], patience=PATIENCE)
    except (subprocess.TimeoutExpired, subprocess.CalledProcessError) as problem:
        report.note(f"{peer}: {reason(problem)}")
        shown = problem.stdout or ""
        shown = shown if isinstance(shown, str) else shown.decode()
    lines = (line for line in shown.splitlines() if line.startswith("FOUND "))
    return [json.loads(line.removeprefix("FOUND ")) for line in lines]
