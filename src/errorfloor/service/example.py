"""A small table that is ready to be asked, for documentation."""

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.service.database import Database
from errorfloor.vault import register

CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = ["household"]
public = { household = "whole", tariff = "text" }

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0
distance = 5

[streams.cars]
A = [[1, 1], [0, 1]]
C = [[1, 0]]
horizon = 9
states = ["position", "speed"]
public = ["speed"]
max_loss = 1e5

[streams.cars.private.position]
unit = "m"
range = [-5000, 5000]
resolution = 0.1
floor = 20
distance = 50
"""


@contextmanager
def example_database(households: int = 1000, quota: Mapping[str, float] | None = None) -> Iterator[Database]:
    """Open a temporary table of meter readings, with a ledger that is forgotten, and quotas if any are given.

    >>> with example_database() as db:
    ...     db.ask("SELECT count(*) AS n FROM meters", max_error=1.0).to_arrow().to_pylist()
    [{'n': 1000}]
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"{i},{'ToU' if i % 4 == 0 else 'Std'},{7 + i % 13}\n" for i in range(households))
        (folder / "meters.csv").write_text(f"household,tariff,kwh\n{rows}", encoding="utf-8")
        quotas = "".join(f"{kind} = {share}\n" for kind, share in (quota or {}).items())
        (folder / "errorfloor.toml").write_text(f"[quota]\n{quotas}{CATALOGUE}", encoding="utf-8")
        catalogue = load(folder / "errorfloor.toml")
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            register(catalogue, "meters", engine=engine)
        engine = open_engine(catalogue.place, catalogue.folder)
        keys = KeyRing.create(folder / "keys.json")
        with Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=keys) as database:
            yield database
