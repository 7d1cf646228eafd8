"""A small table that is ready to be asked, for documentation."""

import tempfile
from collections.abc import Iterator
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
"""


@contextmanager
def example_database(households: int = 1000) -> Iterator[Database]:
    """Open a temporary table of meter readings, with a ledger that is forgotten.

    >>> with example_database() as db:
    ...     db.ask("SELECT count(*) AS n FROM meters", max_error=1.0).to_arrow().to_pylist()
    [{'n': 1000}]
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"{i},{'ToU' if i % 4 == 0 else 'Std'},{7 + i % 13}\n" for i in range(households))
        (folder / "meters.csv").write_text(f"household,tariff,kwh\n{rows}")
        (folder / "errorfloor.toml").write_text(CATALOGUE)
        catalogue = load(folder / "errorfloor.toml")
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            register(catalogue, "meters", engine=engine)
        engine = open_engine(catalogue.place, catalogue.folder)
        keys = KeyRing.create(folder / "keys.json")
        with Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=keys) as database:
            yield database
