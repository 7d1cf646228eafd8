"""Cost of a question about a private table, against the bare query on the same snapshot.

Large tables, where reading dominates; a small one, where everything else does; growth with the length of the ledger.
Set BENCH_ROWS=100000000 for a large table of that size.
"""

import itertools
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

from benchmarks.report import Report
from benchmarks.stopwatch import on_clocks, side_by_side
from errorfloor.catalogue import Catalogue
from errorfloor.engines import open_engine
from errorfloor.identity import KeyRing
from errorfloor.ledger import Entry, Ledger, MemoryLedger, open_ledger
from errorfloor.pricing import Charge
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from errorfloor.vault import register, snapshot

ROWS = int(os.environ.get("BENCH_ROWS", "10000000"))
BARE, COPY, SYNC = "the bare query", "DuckDB copies into a table", "one line appended, on disk"


class Bench:
    """A table of readings: a row key, public keys that take as many values as they are named after, one private column.

    Every question asks for another error, so that it is charged anew.
    """

    def __init__(
        self, folder: Path, rows: int, groups: Sequence[int] = (100,), *, owners: int = 0, shuffled: bool = False
    ) -> None:
        self.folder, self.rows, self.source = folder, rows, folder / "readings.parquet"
        order = f"range * 7919 % {rows}" if shuffled else "range"
        keys = {f"key_{n}": f"(range % {n})::INT AS key_{n}" for n in groups}
        if owners:
            keys["who"] = f"(range // {rows // owners})::INT AS who"
        duckdb.sql("SET enable_progress_bar = false")
        duckdb.sql(
            f"COPY (SELECT {order} AS id, {', '.join(keys.values())}, round(50 * random(), 3) AS kwh "
            f"FROM range({rows})) TO '{self.source}' (FORMAT parquet)"
        )
        declared: dict[str, Any] = {
            "source": self.source.name,
            "version": "1",
            "row_key": ["id"],
            "public": {"id": "whole"} | dict.fromkeys(keys, "whole"),
            "private": {"kwh": {"range": [0, 50], "resolution": 0.001, "floor": 0.5, "unit": "kWh"}},
        }
        if owners:
            declared["owner"] = {"column": "who", "floor": 0.01}
        self.catalogue = Catalogue.model_validate({"tables": {"readings": declared}, "folder": folder})
        self.keys = KeyRing.create(folder / "keys.json")
        self._errors = (1 / (1 + place * 1e-6) for place in itertools.count())  # a wider one follows from what is kept

    def register(self) -> None:
        """Make the vault anew."""
        shutil.rmtree(self.folder / "vault.duckdb", ignore_errors=True)
        with open_engine(self.catalogue.place, self.folder, read_only=False) as engine:
            register(self.catalogue, "readings", engine=engine)

    def copy(self) -> None:
        """Let DuckDB keep the same rows as they are."""
        copy = self.folder / "copy.duckdb"
        copy.unlink(missing_ok=True)
        with duckdb.connect(str(copy)) as connection:
            connection.execute(f"CREATE TABLE readings AS SELECT * FROM '{self.source}'")
        copy.unlink()

    def open(self, ledger: Ledger) -> Database:
        """Open the table; nothing is known of it yet."""
        self.engine = open_engine(self.catalogue.place, self.folder, read_only=True)
        enter_all(ledger, self.engine)
        return Database(self.catalogue, engine=self.engine, ledger=ledger, keys=self.keys)

    def cold(self, database: Database) -> Database:
        """Open it again on the same engine and ledger, without the public facts that were asked for already."""
        return Database(self.catalogue, engine=self.engine, ledger=database.ledger, keys=self.keys)

    def bare(self, groups: int = 100) -> Callable[[], object]:
        """Give the query that a question is measured against, on the same snapshot and engine."""
        kept = snapshot(self.catalogue, "readings", self.engine)
        key, kwh = kept.columns[f"key_{groups}"], kept.columns["kwh"]
        sql = f"SELECT {key}, avg({kwh}), var_samp({kwh}) FROM {kept.relation} GROUP BY {key}"
        return lambda: self.engine.query(sql)

    def question(self, groups: int = 100, first: str = "avg", second: str = "var_samp") -> dict[str, Any]:
        """Give a question that was never asked; its noise is wide enough for thousands of them to be affordable."""
        key, scale = f"key_{groups}", 10 * next(self._errors)
        sql = f"SELECT {key}, {first}(kwh) AS one, {second}(kwh) AS two FROM readings GROUP BY {key}"
        wide = {"sum": 1000.0, "avg": 1.0, "var_samp": 100.0}
        if self.catalogue.tables["readings"].owner is not None:
            scale *= 10_000
        return {"sql": sql, "max_error": {"one": wide[first] * scale, "two": wide[second] * scale}}


def large(report: Report, folder: Path) -> None:
    (folder / "shuffled").mkdir()
    orders = {
        "another order": Bench(folder / "shuffled", ROWS, shuffled=True),
        "the order of their key": Bench(folder, ROWS),
    }
    for order, bench in orders.items():
        actions = {COPY: bench.copy, "errorfloor registers": bench.register}
        compare(report, f"Registering {ROWS:,} rows in {order}", actions, COPY)
    with bench.open(open_ledger(bench.catalogue.place, folder, create=True)) as database:
        again = bench.question()
        database.ask(**again)
        actions = {
            BARE: bench.bare(),
            "ask again": lambda: database.ask(**again),
            "ask again, opened anew": lambda: bench.cold(database).ask(**again),
            "price, first time": lambda: bench.cold(database).price(**bench.question()),
            "ask, first time": lambda: bench.cold(database).ask(**bench.question()),
            "ask, with another error": lambda: database.ask(**bench.question()),
        }
        compare(report, f"{ROWS:,} rows, mean and variance by 100 keys", actions, BARE)


def compare(report: Report, title: str, actions: Mapping[str, Callable[[], object]], base: str) -> None:
    """Measure by the clock and by the processor time of all threads, which other work on the machine changes little."""
    found = on_clocks(actions, 7, time.perf_counter, time.process_time)
    columns = ["", f"× {base}", "× its processor time"]
    report.rows(title, columns, [[name, *(times[name] / times[base] for times in found)] for name in actions])


def small(report: Report, folder: Path) -> None:
    bench = Bench(folder, 1000)
    bench.register()
    with (
        bench.open(MemoryLedger()) as memory,
        bench.open(open_ledger(bench.catalogue.place, folder, create=True)) as durable,
    ):
        actions: dict[str, Callable[[], object]] = {BARE: bench.bare(), SYNC: lambda: sync(folder / "synced")}
        for name, database in {"ledger in memory": memory, "ledger on SQLite": durable}.items():
            actions[f"price, {name}"] = lambda database=database: database.price(**bench.question())
            actions[f"ask, {name}"] = lambda database=database: database.ask(**bench.question())
        times = side_by_side(actions, 15)
    report.ratios("1,000 rows, mean and variance by 100 keys", times, BARE, unit="ms")
    for name in (name for name in times if name.startswith("ask")):
        report.note(f"{name}: beyond {BARE} it takes {(times[name] - times[BARE]) / times[SYNC]:.1f} × {SYNC}")


def sync(file: Path) -> None:
    """Do what a charge does at the least: have one line on disk."""
    with file.open("a") as opened:
        opened.write("charged\n")
        opened.flush()
        os.fsync(opened.fileno())


def by_history(report: Report, folder: Path) -> None:
    sizes = (10, 1000, 100_000)
    bench = Bench(folder, 1000)
    bench.register()
    actions: dict[str, Callable[[], object]] = {}
    with ExitStack() as opened:
        for size in sizes:
            (folder / str(size)).mkdir()
            ledger = open_ledger(bench.catalogue.place, folder / str(size), create=True)
            database = opened.enter_context(bench.open(ledger))
            fill(ledger, database, bench, size)
            actions[f"price after {size:,} entries"] = lambda database=database: database.price(**bench.question())
            actions[f"ask after {size:,} entries"] = lambda database=database: database.ask(**bench.question())
        times = side_by_side(actions, 15)
    report.ratios("1,000 rows, with a ledger on SQLite that has a history", times, "ask after 10 entries", unit="ms")


def fill(ledger: Ledger, database: Database, bench: Bench, size: int) -> None:
    """Write entries with small charges of their own to the account that the questions use."""
    prepared = database.price(**bench.question()).prepared
    account = next(iter(prepared.plan.allowances))
    small = np.random.default_rng(1).uniform(0, 1e-9, size).tolist()
    entries = [
        Entry(sha256(f"{place}".encode()).hexdigest(), {account: Charge(charge, 0.0)}, {"output": "one"})
        for place, charge in enumerate(small)
    ]
    for start in range(0, size, 1000):
        ledger.charge(entries[start : start + 1000], prepared.plan.allowances, prepared.terms)


def main(report: Report) -> None:
    for measure in (large, small, by_history):
        with tempfile.TemporaryDirectory() as folder:
            measure(report, Path(folder))
