"""How many answers a floor allows: accounts of any noise beside accounts of raised-cosine noise, in one run.

A table of one number from 0 to 50 for each of 1,000 households is asked for averages, all of one bound, until the next
one is refused. *any* counts every answer by its information alone; *raised cosine* (the default) by the
value of the best adversary's game. The promise is the same: the declared floor, whatever is asked. The last column is
the ratio of the two allowances.

The second table has what one question with many outputs takes, beside the sum of what its outputs take one by one.
The third asks them one by one, each in a question of its own: what is used of an entry's allowance in the end, place by
place of its range, beside the sum of the charges, which was used before places were told apart.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from benchmarks.report import Report
from errorfloor.accounts import Account
from errorfloor.catalogue import allowed, load
from errorfloor.engines import open_engine
from errorfloor.errors import AllowanceError
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.service.database import Database
from errorfloor.vault import register

HOUSEHOLDS, ANSWERS = 1000, 60
CATALOGUE = """
[tables.meters]
source = "meters.csv"
version = "1"
row_key = ["household"]
public = {{ household = "whole" }}
noises = "{noises}"

[tables.meters.private.kwh]
unit = "kWh"
range = [0, 50]
resolution = 0.001
floor = {floor}
"""
OWNER = """
[tables.meters.owner]
column = "household"
floor = {owner}
"""


@contextmanager
def opened(noises: str, floor: float, owner: float | None) -> Iterator[Database]:
    """Open a table with these declarations and a new ledger."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = "".join(f"{i},{7 + i % 13}\n" for i in range(HOUSEHOLDS))
        (folder / "meters.csv").write_text(f"household,kwh\n{rows}", encoding="utf-8")
        text = CATALOGUE.format(noises=noises, floor=floor) + ("" if owner is None else OWNER.format(owner=owner))
        (folder / "errorfloor.toml").write_text(text, encoding="utf-8")
        catalogue = load(folder / "errorfloor.toml")
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            register(catalogue, "meters", engine=engine)
        engine, keys = open_engine(catalogue.place, catalogue.folder), KeyRing.create(folder / "keys.json")
        with Database(catalogue, engine=engine, ledger=MemoryLedger(), keys=keys) as database:
            yield database


def lasting(database: Database, max_error: float) -> int:
    """Ask one question after another, each another one of the same price, until one is refused."""
    for number in count():
        try:
            database.ask(f"SELECT avg(kwh) AS mean FROM meters WHERE household <> -{number + 1}", max_error=max_error)
        except AllowanceError:
            return number
    raise AssertionError


def compare(floor: float, owner: float | None, answers: int = ANSWERS) -> tuple[int, int, float]:
    """Give how many answers either account allows, and the ratio of their allowances."""
    found = []
    with opened("any", floor, owner) as database:
        bound = database.price("SELECT avg(kwh) AS mean FROM meters", spend=1 / answers).max_error["mean"]
    for noises in ("any", "raised cosine"):
        with opened(noises, floor, owner) as database:
            limit = allowed(database.catalogue.tables["meters"], "kwh" if owner is None else "")
            found.append((lasting(database, bound), limit.raised_cosine or limit.information))
    (old, small), (new, large) = found
    return old, new, large / small


def together(outputs: list[str]) -> list[float]:
    """Give the charges of one question to entries and to owners, as parts of those of its outputs one by one."""
    with opened("raised cosine", 2.0, 0.2) as database:

        def taken(chosen: list[str]) -> list[float]:
            found = database.price(f"SELECT {', '.join(chosen)} FROM meters", max_error=0.02).charge
            return [found[Account("meters", column, "")].raised_cosine for column in ("kwh", "")]

        apart = [taken([one]) for one in outputs]
        return [whole / sum(parts) for whole, parts in zip(taken(outputs), zip(*apart, strict=True), strict=True)]


def one_by_one(outputs: list[str]) -> tuple[float, float]:
    """Give the sum of what outputs take of an entry's allowance, each asked alone, and what is used once all are."""
    with opened("raised cosine", 2.0, None) as database:
        found = [database.ask(f"SELECT {one} FROM meters", spend=0.02).standings[0] for one in outputs]
        return sum(one.used_by_this for one in found), found[-1].used


BARS = [f"avg(between(kwh, {50 * i / 32}, {50 * (i + 1) / 32}, 0.5)) AS bar{i}" for i in range(32)]
POINTS = [f"avg(above(kwh, {50 * i / 31:.3f}, 2)) AS point{i}" for i in range(1, 31)]


def main(report: Report) -> None:
    """Count answers, floor by floor."""
    rows = []
    for part in (50, 25, 10, 5):
        old, new, limit = compare(50 / part, None)
        rows.append([f"floor at 1/{part} of the range", old, new, new / old, limit])
    for owner in (0.1, 0.2, 0.4):
        old, new, limit = compare(0.01, owner)
        rows.append([f"owners' floor {owner}", old, new, new / old, limit])
    report.rows(
        "Answers until the next one is refused", ["", "any", "raised cosine", "ratio", "ratio of allowances"], rows
    )
    named = {"a histogram of 32 bars": BARS, "a curve of 30 points": POINTS}
    parts = [[name, *together(outputs)] for name, outputs in named.items()]
    report.rows("One question, over its outputs one by one", ["", "entries", "owners"], parts)
    curves = {name: one_by_one(outputs) for name, outputs in (("32 bars", BARS), ("30 points", POINTS))}
    report.rows(
        "Asked one by one, 2 % each: used of an entry's allowance",
        ["", "sum of charges", "place by place", "ratio"],
        [
            [name, f"{100 * before:.1f}%", f"{100 * after:.1f}%", before / after]
            for name, (before, after) in curves.items()
        ],
    )
