"""Facts from an engine are those of the definition, on every engine, in whatever order its rows come."""

import datetime
import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pricing_reference import Row, World

from errorfloor.accounts import cell_text
from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import Engine, open_engine
from errorfloor.pricing import Account, Bounds, FactsCache, Noised, bounds, charges, owners
from errorfloor.pricing.bounding import bounds_from_facts
from errorfloor.sql import parse
from errorfloor.sql.sums import stored_layout
from errorfloor.vault import register, snapshot

QUESTIONS = [
    "SELECT place, sum(x) AS a, avg(x * p + y * q) AS b, var_samp(x) AS c FROM t GROUP BY place",
    "SELECT place, avg(exp(x / 5)) AS a, count(*) AS n FROM t WHERE q >= 1 GROUP BY place",
    "SELECT place, covar_pop(x, p) AS a, sum(y * (x + 1)) / sum(x + 1) AS b FROM t GROUP BY place",
    "SELECT place, avg(ln(p + 10) * x) AS a, sum(p) AS b, sum(x) FILTER (WHERE p > 0) AS c FROM t GROUP BY place",
]
MORE = [
    "SELECT avg(x) AS a FROM t",
    "SELECT sum(y) AS a FROM t WHERE q = 99",
    "SELECT p, avg(x) AS a FROM t GROUP BY p",
]


def town(rows: int = 60, seed: int = 5) -> World:
    chance = random.Random(seed)
    return World(
        tuple(
            Row(
                chance.choice("abc"),
                chance.choice("ns"),
                chance.randrange(7),
                chance.randint(-12, 30),
                chance.randrange(5),
            )
            for _ in range(rows)
        )
    )


def day_of(row: Row) -> datetime.date | None:
    return datetime.date(2012, 12, 25) + datetime.timedelta(days=9 * (row.p + 12)) if row.q else None


def write(world: World, folder: Path, seed: int) -> None:
    order = list(range(len(world.rows)))
    random.Random(seed).shuffle(order)
    rows = [world.rows[i] for i in order]
    columns: dict[str, Any] = {
        "id": order,
        "place": [row.place for row in rows],
        "region": [row.region for row in rows],
        "owner": [row.owner for row in rows],
        "p": [row.p / 4 for row in rows],
        "q": [row.q for row in rows],
        "day": pa.array([day_of(row) for row in rows], pa.date32()),
        "hour": pa.array([day and datetime.datetime(day.year, day.month, day.day, 23) for day in map(day_of, rows)]),
        "x": [5 * random.Random(seed + i).random() for i in order],
        "y": [5 * random.Random(seed - i).random() - 2 for i in order],
    }
    pq.write_table(pa.table(columns), folder / f"t{seed}.parquet")


def catalogue_of(place: Any, folder: Path, seed: int = 0, per: dict[str, str] | None = None) -> Catalogue:
    private = {"resolution": 0.001, "floor": 0.01}
    table = {
        "source": f"t{seed}.parquet",
        "version": "1",
        "row_key": ["id"],
        "private": {"x": {"range": [0, 5], **private}, "y": {"range": [-2, 3], **private}},
        "public": {
            "id": "whole",
            "place": "text",
            "region": "text",
            "owner": "whole",
            "p": {"type": "number", "resolution": 0.25},
            "q": "whole",
            "day": "date",
            "hour": "moment",
        },
        "owner": {"column": "owner", "floor": 0.1, "per": per},
        "account_by": ["region"],
    }
    return Catalogue.model_validate({"place": place, "tables": {"t": table}, "folder": folder})


def priced(question: str, catalogue: Catalogue, engine: Engine, cache: FactsCache | None = None) -> Bounds:
    return bounds(parse(question, catalogue), catalogue, [snapshot(catalogue, "t", engine)], engine, cache)


def same(one: Bounds, two: Bounds) -> bool:
    """Tell whether two bounds agree in every bit."""
    if (list(one.groups), list(one.cells)) != (list(two.groups), list(two.cells)):
        return False
    pairs = [(one.group, two.group), (one.cell, two.cell), (one.kind, two.kind)]
    for mine, other in zip(one.outputs, two.outputs, strict=True):
        pairs += [(getattr(mine, name), getattr(other, name)) for name in ("owner", "error", "low", "high", "defined")]
        pairs += [(mine.slopes[name].values, other.slopes[name].values) for name in mine.slopes]
    return all(np.array_equal(first, second) for first, second in pairs)


def test_engine_facts_are_those_of_the_definition(duckdb_place: Any) -> None:
    world = town()
    write(world, duckdb_place.folder, 0)
    catalogue = catalogue_of(duckdb_place.place, duckdb_place.folder)
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        register(catalogue, "t", engine=engine)
        for text in QUESTIONS:
            question = parse(text, catalogue)
            mine = priced(text, catalogue, engine)
            stored = stored_layout(question, [snapshot(catalogue, "t", engine)])
            other = bounds_from_facts(question, world.facts(question), world.ranges, stored)
            assert [group for (group,) in mine.groups] == ["a", "b", "c"]
            for one, two in zip(mine.outputs, other.outputs, strict=True):
                assert set(one.slopes) == set(two.slopes)
                for name in one.slopes:
                    found = one.slopes[name].dense[mine.kind]
                    np.testing.assert_allclose(found, two.slopes[name].dense, rtol=1e-12)
                for side in ("owner", "error", "low", "high", "defined"):
                    found = getattr(one, side)[mine.kind]
                    np.testing.assert_allclose(found, getattr(two, side), rtol=1e-12, atol=1e-15)


def test_bounds_do_not_depend_on_the_order_of_rows(duckdb_place: Any) -> None:
    world, found = town(), []
    for seed in (0, 1):
        write(world, duckdb_place.folder, seed)
        place = duckdb_place.place.model_copy(update={"snapshots": f"vault{seed}.duckdb"})
        catalogue = catalogue_of(place, duckdb_place.folder, seed)
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            register(catalogue, "t", engine=engine)
            found.append([priced(text, catalogue, engine) for text in QUESTIONS + MORE])
    assert all(same(one, two) for one, two in zip(*found, strict=True))


def test_bounds_are_the_same_bits_on_every_engine(every_place: Any) -> None:
    world, found, paid = town(), [], []
    write(world, every_place[0].folder, 0)
    for place in every_place:
        catalogue = catalogue_of(place.place, place.folder)
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            register(catalogue, "t", engine=engine)
            found.append([priced(text, catalogue, engine) for text in QUESTIONS + MORE])
            paid.append([charges(one, [Noised(0, 2.0)]) for one in found[-1]])
    assert all(same(one, two) for other in found[1:] for one, two in zip(found[0], other, strict=True))
    assert all(other == paid[0] for other in paid[1:])


def test_owners_are_counted_in_every_group(duckdb_place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    world = town()
    write(world, duckdb_place.folder, 0)
    catalogue = catalogue_of(duckdb_place.place, duckdb_place.folder)
    text = "SELECT place, sum(x) AS a FROM t WHERE q >= 1 GROUP BY place"
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        register(catalogue, "t", engine=engine)
        found = priced(text, catalogue, engine)
        monkeypatch.setattr(owners, "MOST_PAIRS", 3)
        short = priced(text, catalogue, engine)
    assert found.owners is not None and short.owners is not None
    numbers = [
        [sum((row.place, row.owner) == (place, owner) and row.q >= 1 for row in world.rows) for place in "abc"]
        for owner in range(7)
    ]
    exact = max(sum((5 * n) ** 2 for n in counts) for counts in numbers)
    account = Account("t", "", "")
    assert charges(found, [Noised(0, 1.0)])[account].information == pytest.approx(exact, rel=1e-9)
    together = sum((5 * max(counts[g] for counts in numbers)) ** 2 for g in range(3))
    assert charges(short, [Noised(0, 1.0)])[account].information == pytest.approx(together, rel=1e-9)
    assert together >= exact


PERIODS = [
    *({"column": "day", "period": period} for period in ("day", "week", "month", "quarter", "year")),
    {"column": "hour", "period": "month"},
    {"column": "q"},
]


def test_owners_are_charged_for_the_rows_of_each_period_on_every_engine(
    every_place: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = town()
    write(world, every_place[0].folder, 0)
    text = "SELECT place, sum(x) AS a FROM t GROUP BY place"
    for place in every_place:
        with open_engine(place.place, place.folder, read_only=False) as engine:
            register(catalogue_of(place.place, place.folder), "t", engine=engine)
            for per in PERIODS:
                catalogue = catalogue_of(place.place, place.folder, per=per)
                declared = catalogue.tables["t"].per
                assert declared is not None
                wanted: dict[str, float] = {}
                for owner in range(7):
                    moved: dict[Any, dict[str, int]] = {}
                    for row in (row for row in world.rows if row.owner == owner):
                        cell = row.q if "period" not in per else declared.text(day_of(row))
                        by_place = moved.setdefault(cell_text((cell,)), {})
                        by_place[row.place] = by_place.get(row.place, 0) + 1
                    for name, counts in moved.items():
                        wanted[name] = max(wanted.get(name, 0), sum((5 * n) ** 2 for n in counts.values()))
                cost = charges(priced(text, catalogue, engine), [Noised(0, 1.0)])
                found = {account.cell: one.information for account, one in cost.items() if not account.column}
                assert found == pytest.approx(wanted, rel=1e-9)
                with monkeypatch.context() as few:
                    few.setattr(owners, "MOST_PAIRS", 3)
                    cost = charges(priced(text, catalogue, engine), [Noised(0, 1.0)])
                more = {account.cell: one.information for account, one in cost.items() if not account.column}
                assert more.keys() == found.keys() and all(more[cell] >= found[cell] for cell in found)


def test_known_facts_are_not_asked_for_again(duckdb_place: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write(town(), duckdb_place.folder, 0)
    catalogue = catalogue_of(duckdb_place.place, duckdb_place.folder)
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        register(catalogue, "t", engine=engine)
        cache = FactsCache()
        first = [priced(text, catalogue, engine, cache) for text in QUESTIONS]
        kept, asked = snapshot(catalogue, "t", engine), []
        monkeypatch.setattr(engine, "query", asked.append)
        again = [bounds(parse(text, catalogue), catalogue, [kept], engine, cache) for text in QUESTIONS]
    assert not asked
    assert all(same(one, two) for one, two in zip(first, again, strict=True))


def test_a_question_without_keys_has_one_group_even_without_rows(duckdb_place: Any) -> None:
    write(town(), duckdb_place.folder, 0)
    catalogue = catalogue_of(duckdb_place.place, duckdb_place.folder)
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        register(catalogue, "t", engine=engine)
        nothing = priced("SELECT sum(x) AS a, count(*) AS n FROM t WHERE q = 99", catalogue, engine)
    assert list(nothing.groups) == [()]
    assert [bool(output.defined[0]) for output in nothing.outputs] == [False, True]
    assert charges(nothing, [Noised(0, 1.0)]) == {}
