"""Twins: two tables with equal public parts and other private numbers, and what an adversary asks of them."""

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from houses import register_house

TWINS = ("twin_a", "twin_b")
ROWS = 40
RELEASED = ("answer", "certain_interval", "centred", "low", "high")
TABLE = """
[tables.{name}]
source = "{name}.parquet"
version = "1"
row_key = ["id"]
public = {{ id = "whole", region = "text" }}

[tables.{name}.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 1.0
"""
ASKED = (
    "SELECT ln(1 + power(power(1e-30*1e-30 * greatest(sum(kwh) - {place}, 0), 12), 2)) AS a FROM {table} WHERE id = 7",
    "SELECT tanh(1e-30 * 1e-10 * (sum(kwh) - {place})) AS a, sum(kwh) AS b FROM {table} WHERE id = 7",
    "SELECT exp(-power(sum(kwh) - {place}, 2) / 1000) AS a FROM {table} WHERE id = 7",
    "SELECT region, sum({place} * kwh) AS a FROM {table} GROUP BY region ORDER BY a",
    "SELECT sqrt(greatest(avg(kwh) - {place}, 0.01)) AS a, avg(above(kwh, {place}, 2)) AS b FROM {table}",
    "SELECT region, ln(1 + exp(-8000 - sum(kwh)) * greatest(sum(kwh) - {place}, 0)) AS a FROM {table} GROUP BY region",
)


def sixty(table, place=15):
    """Sixty outputs that a careless server works on for four seconds or for forty, by one private number."""
    one = f"ln(1 + exp(-8000 - sum(kwh)) * greatest(sum(kwh) - {place}, 0))"
    return f"SELECT {', '.join(f'{one} AS a{k}' for k in range(60))} FROM {table} WHERE id = 7"


def question(number, table):
    """An adversary's question, another one for every number."""
    return ASKED[number % len(ASKED)].format(table=table, place=15 + number / 10_000)


def write_twins(folder: Path) -> Path:
    """Declare and register the twins: one has all private numbers low, the other high; give their catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in zip(TWINS, (3.0, 47.125), strict=True):
        columns = {"id": list(range(ROWS)), "region": ["north", "south"] * (ROWS // 2), "kwh": [value] * ROWS}
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    path = folder / "errorfloor.toml"
    path.write_text("".join(TABLE.format(name=name) for name in TWINS))
    KeyRing.create(folder / "keys.json")
    register_house(load(path))
    return path


def shape(body: bytes) -> str:
    """What a reply says but for released numbers, and what follows from them: intervals, and the order of its rows."""
    said = json.loads(body)
    for cell in said.get("cells", []):
        for output in cell["outputs"].values():
            output.update({name: 0 for name in RELEASED if name in output})
    said["rows"] = [len(row) for row in said.get("rows", [])]
    said.get("cells", []).sort(key=lambda cell: str(cell["keys"]))
    return re.sub("|".join(TWINS), "twin", json.dumps(said))
