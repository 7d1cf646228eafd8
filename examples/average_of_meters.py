"""Averages of smart-meter readings by day, beside the truth that only the custodian sees.

Generates three months of 2,000 households, declares and registers them, asks for the daily average within ±1.5 kWh, and
plots what was released over the truth: no released number is further off than the bound.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.plots import canvas, save
from errorfloor.service.demo_table import make_demo_tables
from errorfloor.service.registering import register_all

BOUND = 1.5
CATALOGUE = """
[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]
public = { household = "text", day = "date", tariff = "text" }
owner = { column = "household", floor = 0.2 }

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0
distance = 5
"""


def prepare(folder: Path) -> Path:
    """Generate, declare and register the table."""
    make_demo_tables(folder, households=2000, days=90)
    path = folder / "errorfloor.toml"
    path.write_text(CATALOGUE)
    KeyRing.create(folder / "keys.json")
    declared = load(path)
    register_all(declared)
    return path


def main(folder: Path) -> Path:
    """Ask, compare with the truth, and draw both."""
    with tempfile.TemporaryDirectory() as place:
        with ef.open(prepare(Path(place))) as db:
            answer = db.ask("SELECT day, avg(kwh) AS mean FROM meters GROUP BY day ORDER BY day", max_error=BOUND)
            print(answer.summary())
        readings = pq.read_table(Path(place) / "meters.parquet")["kwh"].to_numpy().reshape(2000, 90)
    truth = np.clip(readings, 0, 50).mean(axis=0)
    released = answer.to_arrow()["mean"].to_numpy()
    worst = float(np.abs(released - truth).max())
    print(f"\nThe worst of 90 released averages is off by {worst:.2f} kWh; at most {BOUND} was promised.")
    assert worst <= BOUND

    figure, axes = canvas(width=7.2)
    days = np.arange(1, 91)
    axes.fill_between(days, released - BOUND, released + BOUND, alpha=0.25, label="the truth certainly lies here")
    axes.plot(days, released, ".", label="released")
    axes.plot(days, truth, color="black", linewidth=1, label="truth, seen by the custodian only")
    axes.set_xlabel("day")
    axes.set_ylabel("average consumption (kWh)")
    axes.legend(frameon=False, loc="lower left")
    return save(figure, folder / "average_of_meters.png")


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
