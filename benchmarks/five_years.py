"""Five years of a monthly dashboard: what it costs, whether its bounds hold, and whether its first answers stay.

Generated people, a fiftieth of whom leave and are replaced every month, and one reading a month of each. Each month its
part is registered, and an average is asked for in every cell of two keys; a standing question gives the month's sum,
its running total and the total of twelve months. One part in a hundred is corrected two months later. *Today's way* is
a new version of the whole table every month, of which everything is asked again.
"""

import datetime
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import errorfloor as ef
from benchmarks.report import Report
from errorfloor.attacks.judgement import threshold
from errorfloor.attacks.likelihood import log_odds
from errorfloor.catalogue import load
from errorfloor.checks import Array
from errorfloor.engines import open_engine
from errorfloor.identity import Key, KeyRing
from errorfloor.joint.normal import running
from errorfloor.ledger import MemoryLedger
from errorfloor.service import Database
from errorfloor.service.registering import enter_all, registering

TABLE = """
[tables.meters]
source = "meters.parquet"
version = "1"
row_key = ["person", "day"]
public = {{ person = "whole", day = "date", since = "date", district = "whole", kind = "whole" }}
owner = {{ column = "person", floor = 0.2{joined} }}
grows_by = {{ column = "day", part = "month", corrected = {{ {corrected} }} }}
private.kwh = {{ range = [0, 50], resolution = 0.001, floor = 0.5, unit = "kWh" }}
"""
CELLS = (
    "SELECT date_trunc('month', day) AS month, district, kind, avg(kwh) AS mean FROM meters{} "
    "GROUP BY date_trunc('month', day), district, kind"
)
TOTAL = "SELECT sum(kwh) AS used FROM meters"
JOINED = ', joined = { column = "since", period = "year" }'
CHURN, CORRECTED, LATER = 0.02, 0.01, 2  # of the people, of the parts, and how many months later
YEAR = 12  # months
FALSE_ALARM = 1e-9
ERRORS = {"cell_error": 12.0, "total_error": 30_000.0}
AGAINST, GAMES = {"cell_error": 200.0, "total_error": 30_000.0}, 40  # ten times fewer people in each cell


@dataclass
class House:
    """A custodian's folder, and the truth: ``rows`` has a month's people, joining months and readings in steps."""

    folder: Path
    people: int = 6000
    months: int = 60
    districts: int = 11
    kinds: int = 5
    seed: int = 1
    joined: str = ""
    rows: list[tuple[Array, Array, Array]] = field(default_factory=list)
    versions: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chance = np.random.default_rng(self.seed)
        here, since, new = np.arange(self.people), np.zeros(self.people, dtype=np.int64), self.people
        for month in range(self.months):
            if month:
                left = chance.random(self.people) < CHURN
                left[0] = False  # the one whose history an adversary would tell
                here[left] = np.arange(new, new + left.sum())
                since[left], new = month, new + int(left.sum())
            self.rows.append((here.copy(), since.copy(), chance.integers(0, 50_001, self.people)))
        KeyRing.create(self.folder / "keys.json")

    def name(self, month: int) -> str:
        """Name a month's part."""
        return self.first(month).isoformat()[:7]

    def first(self, month: int) -> datetime.date:
        """Give a month's first day."""
        return datetime.date(2020 + month // 12, 1 + month % 12, 1)

    def correct(self, month: int) -> None:
        """Change a hundredth of a month's readings, and declare a new version of its part."""
        steps = self.rows[month][2]
        steps[1 : max(2, self.people // 100)] = 25_000
        self.versions[month] = "2"

    def register(self, *months: int, corrections: bool = False) -> None:
        """Register the rows of some months; the source has no others."""
        tables = []
        for month in months:
            people, since, steps = self.rows[month]
            columns = {
                "person": people,
                "day": pa.array([self.first(month)] * len(people)),
                "since": pa.array([self.first(one) for one in since.tolist()]),
                "district": people % self.districts,
                "kind": people // self.districts % self.kinds,
                "kwh": steps / 1000,
            }
            tables.append(pa.table(columns))
        pq.write_table(pa.concat_tables(tables), self.folder / "meters.parquet")
        corrected = ", ".join(f'"{self.name(month)}" = "{version}"' for month, version in self.versions.items())
        (self.folder / "errorfloor.toml").write_text(TABLE.format(corrected=corrected, joined=self.joined))
        list(registering(load(self.folder / "errorfloor.toml"), corrections=corrections))

    def open(self) -> Database:
        """Open it as an analyst does."""
        return ef.open(self.folder / "errorfloor.toml")

    def cells(self, month: int) -> dict[tuple[int, int], float]:
        """Give the true average of every cell of a month, exact but for one rounding."""
        people, _, steps = self.rows[month]
        place = people % self.districts * self.kinds + people // self.districts % self.kinds
        sums, counts = np.zeros(self.districts * self.kinds, dtype=np.int64), np.bincount(place)
        np.add.at(sums, place, steps)
        return {divmod(int(one), self.kinds): int(sums[one]) / (1000 * int(counts[one])) for one in np.unique(place)}

    def total(self, month: int) -> float:
        """Give the true sum of a month."""
        return int(self.rows[month][2].sum()) / 1000


@dataclass
class Found:
    """What the years showed. ``used`` has the share of the owners' allowance after each month."""

    used: list[float] = field(default_factory=list)
    followed: float = 0.0  # the share that the standing question took
    checked: int = 0  # certain intervals that were compared with the truth
    outside: int = 0  # and did not hold it
    changed: int = 0  # numbers that differ from those that were first released
    corrected: int = 0


def live(house: House, *, cell_error: float, total_error: float) -> Found:
    """Go through the months as a custodian and an analyst do, and compare everything with the truth."""
    found, first = Found(), dict[int, dict[tuple[int, int], tuple[float, float, float]]]()
    every = max(1, round(1 / CORRECTED))
    figures: dict[str, tuple[float, ...]] = {}
    sums: list[float] = []
    horizon = {"since": house.name(0), "until": house.name(house.months - 1), "owner_rows": 1}
    for month in range(house.months):
        sums.append(house.total(month))
        house.register(month)
        due = month - LATER
        if due >= 0 and due % every == min(5, house.months // 2) % every:
            house.correct(due)
            house.register(due, corrections=True)
            del first[due]
            found.corrected += 1
        with house.open() as db:
            following = db.follow(TOTAL, max_error=total_error, **horizon)
            if month == 0:
                found.followed = _of_owners(following.standings)
            answer = db.ask(CELLS.format(""), max_error=cell_error)
            now = _by_month(answer.to_arrow(), house)
            for one, cells in now.items():
                known = first.setdefault(one, cells)
                found.changed += sum(cells[place] != known[place] for place in known) + abs(len(cells) - len(known))
                if one in (month, due):
                    _check(found, ((low, true, high) for (_, low, high), true in _paired(cells, house.cells(one))))
            released = following.release(house.name(month), moving=min(YEAR, house.months)).to_pylist()
            true = np.cumsum(sums)
            for place, row in enumerate(released):
                said = tuple(row[name] for name in ("used", "used_total"))
                found.changed += figures.setdefault(row["month"], said) != said
                year = true[place] - (true[place - YEAR] if place >= YEAR else 0.0)
                _check(
                    found,
                    (
                        (row[f"{name}_low"], value, row[f"{name}_high"])
                        for name, value in (
                            ("used", sums[place]), ("used_total", true[place]), ("used_moving", year),
                        )
                        if row[name] is not None
                    ),
                )  # fmt: skip
            found.used.append(_of_owners(db.left()))
    with house.open() as db:
        db.ledger.verify()
    return found


def _check(found: Found, intervals: Any) -> None:
    for low, true, high in intervals:
        found.checked += 1
        found.outside += not low <= true <= high


def _paired(cells: dict[Any, Any], true: dict[Any, float]) -> list[tuple[Any, float]]:
    assert cells.keys() == true.keys()
    return [(cells[place], true[place]) for place in true]


def _by_month(table: pa.Table, house: House) -> dict[int, dict[tuple[int, int], tuple[float, float, float]]]:
    found: dict[int, dict[tuple[int, int], tuple[float, float, float]]] = {}
    for row in table.to_pylist():
        month = (row["month"].year - 2020) * 12 + row["month"].month - 1
        numbers = row["mean"], row["mean_low"], row["mean_high"]
        found.setdefault(month, {})[row["district"], row["kind"]] = numbers
    return found


def _of_owners(standings: Any) -> float:
    """Give the share that is used of the owners' account, or of the most used one."""
    return max(one.used for one in standings if not one.account.column)


def anew(house: House, *, cell_error: float, total_error: float) -> list[float]:
    """Give the share of the owners' allowance that everything up to each month costs where all of it is asked again."""
    shares = []
    by_month = "GROUP BY year(day), month(day)"
    with house.open() as db:
        for month in range(house.months):
            until = f"FROM meters WHERE day < '{house.first(month + 1)}' {by_month}"
            cells = f"SELECT year(day) AS y, month(day) AS m, district, kind, avg(kwh) AS mean {until}, district, kind"
            totals = "SELECT year(day) AS y, month(day) AS m, sum(kwh) AS used"
            totals += f", sum(sum(kwh)) OVER (ORDER BY year(day), month(day)) AS total {until}"
            prices = db.price(cells, max_error=cell_error), db.price(totals, max_error=total_error)
            by_this = [one.used_by_this for price in prices for one in price.standings if not one.account.column]
            shares.append(sum(by_this))
    return shares


def by_joining(house: House, *, cell_error: float) -> dict[str, float]:
    """Give what all cells of all months take of the accounts of owners who joined in one year."""
    house.register(*range(house.months))
    with house.open() as db:
        db.ask(CELLS.format(""), max_error=cell_error)
        return {one.account.cell: one.used for one in db.left() if not one.account.column}


def play(house: House, *, cell_error: float, total_error: float, games: int) -> tuple[int, float, float]:
    """Let somebody who knows all other people tell two histories of the first person apart, from all that is released.

    Every reading of that person is 0 in one and 50 kWh in the other. Give how often the adversary was right, how often
    it may be after what was spent, and how often whatever is asked.
    """
    months, chance = range(house.months), np.random.default_rng(house.seed)
    coins, right, told, promised = chance.integers(0, 2, games), 0, 0.0, 0.0
    sums, means = np.zeros((2, house.months)), np.zeros((2, house.months))
    opened = []
    for coin in (0, 1):
        for month in months:
            house.rows[month][2][0] = coin * 50_000
            sums[coin, month] = house.total(month)
            means[coin, month] = house.cells(month)[0, 0]
        folder = house.folder / f"coin-{coin}"
        folder.mkdir()
        twin = House(folder, house.people, house.months, house.districts, house.kinds, house.seed)
        twin.rows = house.rows
        twin.register(*months)
        catalogue = load(folder / "errorfloor.toml")
        opened.append((catalogue, open_engine(catalogue.place, folder, read_only=True)))
    factor = running((house.months,)).form.factor
    moved = np.linalg.solve(factor, (sums[1] - sums[0]) / total_error)
    for coin in coins.tolist():
        catalogue, engine = opened[coin]
        ledger = MemoryLedger()
        enter_all(ledger, engine)
        database = Database(catalogue, engine=engine, ledger=ledger, keys=Key.fresh())
        following = database.follow(
            TOTAL, since=house.name(0), until=house.name(house.months - 1), owner_rows=1, max_error=total_error
        )
        used = np.array(following.release(house.name(house.months - 1))["used"].to_pylist())
        seen = np.linalg.solve(factor, (used - sums[0]) / total_error)
        odds = float(moved @ seen - moved @ moved / 2)
        for month in months:
            answer = database.ask(CELLS.format(f" WHERE day = '{house.first(month)}'"), max_error=cell_error)
            odds += log_odds(answer, "mean", means[0, month], means[1, month], cell=0)
        right += (odds > 0) == bool(coin)
        (owners,) = [one for one in database.left() if not one.account.column]
        told, promised = owners.told_apart, owners.promised.told_apart
    for _, engine in opened:
        engine.close()
    return right, told, promised


def main(report: Report) -> None:
    """Live through five years with 6,000 people, and play against 600 of them."""
    with tempfile.TemporaryDirectory() as name:
        house = House(Path(name))
        found, shares = live(house, **ERRORS), anew(house, **ERRORS)
    rows = [
        [f"{month} months", f"{found.used[month - 1]:.1%}", f"{sum(shares[:month]):.0%}"]
        for month in (1, 12, 24, 36, 48, 60)
    ]
    report.rows("Share of the owners' allowance", ["after", "here", "today's way"], rows)
    ends = next((month for month in range(61) if sum(shares[:month]) > 1), 60)
    report.note(
        f"Of it the standing question, paid in the first month: {found.followed:.1%}. Today's way ends in month "
        f"{ends}. Parts corrected: {found.corrected}. Certain intervals that were compared with the truth: "
        f"{found.checked:,}; without it: {found.outside}. Numbers that changed after they were first released: "
        f"{found.changed}."
    )
    with tempfile.TemporaryDirectory() as name:
        shared = by_joining(House(Path(name), joined=JOINED), cell_error=ERRORS["cell_error"])
    report.rows(
        "All cells, by when owners joined", ["joined", "used"], [[one, f"{x:.1%}"] for one, x in shared.items()]
    )
    with tempfile.TemporaryDirectory() as name:
        right, told, promised = play(House(Path(name), 600), **AGAINST, games=GAMES)
    report.note(
        f"An adversary who knows everybody else, and weighs all five years exactly, was right in {right} of {GAMES} "
        f"games, each with a new key. It may be right {told:.1%} of the time after what was spent, and {promised:.1%} "
        f"whatever is asked; {threshold(GAMES, told, FALSE_ALARM)} would show a broken floor."
    )
