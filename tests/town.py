"""A small town: meters of a few households, with public columns that never change and private ones that do."""

import datetime
import hashlib
import json
import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.catalogue import Place, load
from errorfloor.engines import open_engine
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from errorfloor.vault import register
from houses import registered

HOUSEHOLDS, DAYS = 24, 30
OWNER = """
[tables.meters.owner]
column = "household"
floor = 0.05
"""
CATALOGUE = """
[tables.meters]
source = "meters.parquet"
version = "1"
row_key = ["household", "day"]

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 0.5
distance = 5
nulls = "public"

[tables.meters.private.peak]
unit = "kW"
range = [0.5, 10]
resolution = 0.01
floor = 0.1
nulls = "impute"
impute = 1

[tables.meters.public]
household = "text"
day = "date"
tariff = "text"
rooms = "whole"
area = { type = "number", resolution = 0.1 }

[tables.homes]
source = "homes.parquet"
version = "a"
row_key = ["household"]

[tables.homes.public]
household = "text"
class = "text"
people = "whole"
"""


def public_columns():
    rows = HOUSEHOLDS * DAYS
    house = np.repeat(np.arange(HOUSEHOLDS), DAYS)
    first = datetime.date(2013, 1, 20)
    return {
        "household": pa.array([f"h{i:02d}" for i in house]),
        "day": pa.array([first + datetime.timedelta(days=int(d)) for d in np.tile(np.arange(DAYS), HOUSEHOLDS)]),
        "tariff": pa.array(["Std" if i % 3 else "ToU" for i in house]),
        "rooms": pa.array((1 + house % 6).astype("int64")),
        "area": pa.array(np.round(30 + 2.5 * (house % 11) + 0.1 * (np.arange(rows) % 3), 1)),
    }


def private_columns(kind="plain", seed=1):
    generator = np.random.default_rng(seed)
    rows = HOUSEHOLDS * DAYS
    kwh = np.round(generator.gamma(2.0, 5.0, rows), 3)
    peak = np.round(0.5 + generator.gamma(2.0, 1.0, rows), 2)
    if kind == "nasty":  # values that break naive servers: all end up inside the declared range
        bad = [math.inf, -math.inf, 1e308, -1e308, 2.0**63, -(2.0**63), 5e-324, -0.0, 50.0005, 49.9995, 2147483647.0]
        kwh[: len(bad)] = bad
        peak[:4] = [math.nan, math.inf, -1.0, 1e300]
    if kind == "low":
        kwh[:], peak[:] = 0.0, 0.5
    if kind == "high":
        kwh[:], peak[:] = 50.0, 10.0
    missing = np.arange(rows) % 97 == 5  # which readings are null is public here
    return {"kwh": pa.array(kwh, mask=missing), "peak": pa.array(peak)}


def write_town(folder: Path, kind="plain", seed=1, owner=False):
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({**public_columns(), **private_columns(kind, seed)}), folder / "meters.parquet")
    homes = {
        "household": [f"h{i:02d}" for i in range(HOUSEHOLDS)],
        "class": [["affluent", "comfortable", "adversity"][i % 3] for i in range(HOUSEHOLDS)],
        "people": [1 + i % 5 for i in range(HOUSEHOLDS)],
    }
    pq.write_table(pa.table(homes), folder / "homes.parquet")
    (folder / "errorfloor.toml").write_text(CATALOGUE + (OWNER if owner else ""))
    write_keys(folder)


def write_keys(folder: Path):
    """Write a key that is always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    secret = {"format": 1, "keys": [{"id": "feedfacefeedface", "created": "2026-01-01", "secret": "07" * 32}]}
    keys = folder / "keys.json"
    keys.write_text(json.dumps(secret))
    keys.chmod(0o600)


def open_town(folder: Path, place: Place | None = None, *, ledger=None, make=True, anew=False):
    """Register the town on an engine and open it, with a ledger in memory unless one is given.

    The key is fixed, and so are identities unless ``anew``: towns that differ in private numbers alone have one noise.
    """
    catalogue = load(folder / "errorfloor.toml")
    if place is not None:
        catalogue = catalogue.model_copy(update={"place": place})

    def made():
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            for name in catalogue.tables:
                identity = None if anew else hashlib.sha256(name.encode()).hexdigest()[:32]
                register(catalogue, name, engine=engine, identity=identity)

    if make:
        registered(catalogue, made, "town", alike=not anew)
    engine = open_engine(catalogue.place, catalogue.folder, read_only=True)
    book = ledger or MemoryLedger()
    if not book.is_forgotten and not book.head().sequence:
        enter_all(book, engine)
    return Database(catalogue, engine=engine, ledger=book, keys=KeyRing(folder / "keys.json"))
