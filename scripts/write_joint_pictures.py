"""Write the pictures of the pages about tables with margins, distributions and running totals, from generated readings.

Noise follows from a new key each time. What is called true is known here because the readings are generated.
"""

import math
import tempfile
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.identity import KeyRing
from errorfloor.joint.normal import running, table
from errorfloor.plots import save
from errorfloor.plots.canvas import COLOURS, canvas
from errorfloor.service.demo_table import make_demo_tables
from errorfloor.service.registering import register_all

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
CATALOGUE = """
[limit]
question = 1.0

[tables.meters]
source = "meters.parquet"
version = "2013"
row_key = ["household", "day"]
public = { household = "text", day = "date", tariff = "text" }
private = { kwh = { unit = "kWh", range = [0, 50], resolution = 0.001, floor = 2.0 } }

[tables.households]
source = "households.parquet"
version = "2013"
row_key = ["household"]
public = { household = "text", class = "text", rooms = "whole" }
"""
JOINED = "meters JOIN households USING (household)"
WEEKLY = "SELECT class, date_trunc('week', day) AS week, sum(kwh) AS used FROM {} GROUP BY {}"
RUNNING = "SELECT day, sum(kwh) AS used, sum(sum(kwh)) OVER (ORDER BY day) AS so_far FROM meters GROUP BY day"
EDGES = (2, 4, 6, 8, 10, 12, 15, 20, 25, 30, 40)
SHARES = np.r_[0.01, 0.05 * np.arange(1, 20), 0.99]
OURS, APART = COLOURS[0], COLOURS[1]
BOUND = 200.0


def true_rows(folder: Path, sql: str) -> list[dict[str, Any]]:
    """Ask DuckDB the same about the readings as they are stored."""
    with duckdb.connect() as engine:
        engine.execute(f"CREATE VIEW households AS FROM '{folder}/households.parquet'")
        engine.execute(
            "CREATE VIEW meters AS SELECT household, day, least(greatest(round(kwh, 3), 0), 50) AS kwh "
            f"FROM '{folder}/meters.parquet'"
        )
        found = engine.execute(sql)
        names = [one[0] for one in found.description]
        return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def errors(database: Any, folder: Path, sql: str, keys: tuple[str, ...], output: str, **wish: Any) -> dict[Any, float]:
    """Give how far off each released number is, by its keys."""
    released = database.ask(sql, **wish).to_arrow().to_pylist()
    true = {tuple(str(row[key])[:10] for key in keys): float(row[output]) for row in true_rows(folder, sql)}
    found = {tuple(str(row[key])[:10] for key in keys): row[output] for row in released}
    return {key: value - true[key] for key, value in found.items()}


def price_of(database: Any, sql: str, bound: float) -> float:
    """Give the share of the allowance that an answer takes."""
    return float(database.price(sql, max_error=bound).standings[0].used_by_this)


def tables_with_margins(database: Any, folder: Path) -> Any:
    """How far off sums of many cells are, and what tables cost, with joint noise and with cells of their own."""
    keys = ("class", "week")
    cube, alone = WEEKLY.format(JOINED, "CUBE (class, week)"), WEEKLY.format(JOINED, "class, week")
    joint = errors(database, folder, cube, keys, "used", max_error=BOUND)
    own_bound = BOUND * math.sqrt(price_of(database, alone, BOUND) / price_of(database, cube, BOUND * 1.0001))
    own = errors(database, folder, alone, keys, "used", max_error=round(own_bound, 1))
    classes, weeks = ({key[place] for key in own} for place in (0, 1))
    count = {key: (len(classes) if key[0] == "None" else 1) * (len(weeks) if key[1] == "None" else 1) for key in joint}
    summed = {
        key: sum(off for cell, off in own.items() if all(k in ("None", c) for k, c in zip(key, cell, strict=True)))
        for key in joint
    }
    figure, (left, right) = canvas(1, 2, width=4.8, height=3.6)
    largest = np.array([1, max(count.values())])
    left.fill_between(largest, -BOUND, BOUND, color=OURS, alpha=0.15, linewidth=0)
    left.fill_between(largest, -own_bound * largest, own_bound * largest, color=APART, alpha=0.12, linewidth=0)
    for found, colour, beside, label in ((summed, APART, 1.06, "cells of their own"), (joint, OURS, 0.94, "joint")):
        left.plot([count[key] * beside for key in joint], list(found.values()), ".", color=colour, label=label)
    left.set(xscale="log", xlabel="cells in the sum", ylabel="released − true (kWh)", ylim=(-6 * BOUND, 6 * BOUND))
    left.set_xticks(sorted(set(count.values())), [str(one) for one in sorted(set(count.values()))])
    left.set_xticks([], minor=True)
    left.legend(frameon=False, loc="upper left")
    sizes = np.array([2, 3, 5, 10, 20, 50, 100, 300])
    costs = [table((n, n), ((0, 1), (0,), (1,), ())).information / math.pi**2 for n in sizes.tolist()]
    right.loglog(sizes**2, sizes**4.0, color=APART, label="cells of their own")
    right.loglog(sizes**2, costs, color=OURS, label="joint")
    right.set(xlabel="cells of the table", ylabel="price, in answers of one sum")
    right.legend(frameon=False, loc="upper left")
    return figure


def distributions(database: Any, folder: Path) -> Any:
    """A histogram with certain intervals, and where quantiles certainly lie."""
    answer = database.ask(f"SELECT histogram(kwh, {', '.join(map(str, EDGES))}) AS h FROM meters", max_error=400)
    row = answer.to_arrow().to_pylist()[0]
    ends = np.array([0, *EDGES, 50])
    names = [name for name in row if not name.endswith(("_low", "_high"))]
    figure, (left, right) = canvas(1, 2, width=4.8, height=3.6)
    wide, middle = np.diff(ends), (ends[1:] + ends[:-1]) / 2
    numbers, low, high = (np.array([row[f"{name}{end}"] for name in names]) / wide for end in ("", "_low", "_high"))
    left.bar(middle, numbers, wide * 0.96, color=OURS, alpha=0.35)
    left.vlines(middle, low, high, color=OURS, linewidth=2.5)
    left.set(xlabel="kWh a day", ylabel="readings per kWh")
    wanted = ", ".join(f"quantile(kwh, {share:.2f}) AS q{place}" for place, share in enumerate(SHARES))
    found = database.ask(f"SELECT {wanted} FROM meters", max_error=0.3).to_arrow().to_pylist()[0]
    true = true_rows(
        folder, "SELECT quantile_cont(kwh, [" + ", ".join(f"{one:.2f}" for one in SHARES) + "]) AS q FROM meters"
    )
    low, high = (np.array([found[f"q{place}_{end}"] for place in range(len(SHARES))]) for end in ("low", "high"))
    right.hlines(SHARES, low, high, color=OURS, linewidth=3.5, alpha=0.6, label="certain interval")
    right.plot(true[0]["q"], SHARES, "|", color=APART, markersize=7, label="true quantile")
    right.set(xlabel="kWh a day", ylabel="share of readings below", ylim=(0, 1))
    right.legend(frameon=False, loc="lower right")
    return figure


def running_totals(database: Any, folder: Path) -> Any:
    """How far off running totals are, day by day, and what many of them cost."""
    joint = errors(database, folder, RUNNING, ("day",), "so_far", max_error=BOUND)
    daily = "SELECT day, sum(kwh) AS used FROM meters GROUP BY day"
    own_bound = BOUND * math.sqrt(price_of(database, daily, BOUND) / price_of(database, RUNNING, BOUND * 1.0001))
    own = errors(database, folder, daily, ("day",), "used", max_error=round(own_bound, 1))
    days = np.arange(1, len(joint) + 1)
    figure, (left, right) = canvas(1, 2, width=4.8, height=3.6)
    left.fill_between(days, -BOUND, BOUND, color=OURS, alpha=0.15, linewidth=0)
    left.fill_between(days, -own_bound * days, own_bound * days, color=APART, alpha=0.12, linewidth=0)
    left.plot(days, np.cumsum([own[key] for key in sorted(own)]), color=APART, label="daily sums, added up")
    left.plot(days, [joint[key] for key in sorted(joint)], color=OURS, label="joint")
    left.set(xlabel="days added up", ylabel="released − true (kWh)", ylim=(-4 * BOUND, 4 * BOUND))
    left.legend(frameon=False, loc="upper left")
    lengths = np.array([2, 4, 7, 12, 24, 52, 100, 200, 365])
    costs = [running((n,)).information / math.pi**2 for n in lengths.tolist()]
    right.loglog(lengths, lengths**2.0, color=APART, label="parts of their own, added up")
    right.loglog(lengths, costs, color=OURS, label="joint")
    right.set(xlabel="running totals", ylabel="price, in answers of one sum")
    right.legend(frameon=False, loc="upper left")
    return figure


def main() -> None:
    """Generate, register, ask and draw."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_demo_tables(folder, households=600, days=91)
        (folder / "errorfloor.toml").write_text(CATALOGUE)
        KeyRing.create(folder / "keys.json")
        register_all(load(folder / "errorfloor.toml"))
        with ef.open(folder / "errorfloor.toml") as database:
            for draw in (tables_with_margins, distributions, running_totals):
                save(draw(database, folder), PICTURES / f"{draw.__name__.replace('_', '-')}.png")


if __name__ == "__main__":
    main()
