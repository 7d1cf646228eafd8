"""What a bound for each cell gains: averages of cells of very different sizes, by ``spend`` beside ``max_error``.

Ninety-six cells of 28 to 5,000 rows, of a number from 0 to 50 with a floor of 2. At one charge, ``max_error`` gives all
cells the bound that the smallest affords; ``spend`` gives each its own. The last two rows are for owners, 2,000 with a
floor of 0.1, whose rows are spread over the cells.
"""

import statistics
import tempfile
from pathlib import Path

from benchmarks.report import Report
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.service import open_database
from errorfloor.service.registering import register_all

CELLS, SMALLEST, LARGEST, OWNERS = 96, 28, 5000, 2000
QUESTION = "SELECT place, avg(kwh) AS mean FROM meters GROUP BY place"
CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = ["id"]
public = {{ id = "whole", place = "whole", home = "whole" }}
{owner}

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = 2.0
"""
OWNER = 'owner = { column = "home", floor = 0.1 }'


def compare(folder: Path, owner: str, spend: float) -> tuple[float, float, float, float]:
    """Give the bound that serves all cells, the median of their own bounds, and what the questions take."""
    sizes = [round(SMALLEST * (LARGEST / SMALLEST) ** (cell / (CELLS - 1))) for cell in range(CELLS)]
    places = [cell for cell, size in enumerate(sizes) for _ in range(size)]
    lines = [f"{row},{place},{row % OWNERS},{row % 50}" for row, place in enumerate(places)]
    (folder / "meters.csv").write_text("id,place,home,kwh\n" + "\n".join(lines) + "\n", encoding="utf-8")
    (folder / "errorfloor.toml").write_text(CATALOGUE.format(owner=owner), encoding="utf-8")
    KeyRing.create(folder / "keys.json")
    register_all(load(folder / "errorfloor.toml"))
    with open_database(folder / "errorfloor.toml") as database:
        answer = database.ask(QUESTION, spend=spend)
        own = statistics.median(cell["outputs"]["mean"]["max_error"] for cell in answer.cells())
        low, high = 1e-3, 50.0  # the least bound for all cells that takes no more
        for _ in range(40):
            middle = (low * high) ** 0.5
            priced = max(one.used_by_this for one in database.price(QUESTION, max_error=middle).standings)
            low, high = (low, middle) if priced <= spend else (middle, high)
        same = max(one.used_by_this for one in database.price(QUESTION, max_error=high).standings)
        return high, own, same, max(one.used_by_this for one in answer.standings)


def main(report: Report) -> None:
    """Compare bounds at one charge."""
    rows = []
    for name, owner in (("entries", ""), ("owners", OWNER)):
        for spend in (0.01, 0.1):
            with tempfile.TemporaryDirectory() as folder:
                same, own, one, other = compare(Path(folder), owner, spend)
            rows.append([f"{name}, {spend:.0%}", f"±{same:.3g}", f"±{own:.3g}", same / own, one, other])
    head = ["of the allowance of", "one bound for all", "median of own bounds", "ratio", "takes", "takes"]
    report.rows("Averages of 96 cells of 28 to 5,000 rows, in kWh", head, rows)
