"""Tallies: facts that are added up from them are those of the rows, bit for bit, and they go wherever the rows go."""

import datetime
import json
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from errorfloor.catalogue.model import Catalogue
from errorfloor.engines import open_engine
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.pricing import bounds
from errorfloor.pricing.facts import fetch
from errorfloor.pricing.scene import requested
from errorfloor.service import Database
from errorfloor.service.registering import enter_all
from errorfloor.sql import parse
from errorfloor.sql.plan import TableColumn
from errorfloor.sql.sums import stored_layout, with_columns
from errorfloor.vault import register, snapshot
from errorfloor.vault.copying import copy
from errorfloor.vault.erasure import erase
from errorfloor.vault.snapshot import name_of, notes
from repeated import rounds

ROWS = 4000
PUBLIC = {
    "id": "whole",
    "who": "whole",
    "tariff": "text",
    "region": "text",
    "rooms": "whole",
    "area": {"type": "number", "resolution": 0.25},
    "day": "date",
    "hour": "moment",
    "night": "flag",
}
PRIVATE = {"range": [0, 5], "resolution": 0.001, "floor": 0.01}
KEYS = [
    *("tariff", "region", "rooms", "area", "day", "hour", "night", "who", "2 * rooms - area", "floor(area / 2)"),
    *("date_trunc('month', day)", "extract(isodow FROM day)", "CASE WHEN rooms >= 4 THEN 'large' ELSE tariff END"),
]
CONDITIONS = [
    *("tariff = 'Std'", "tariff IS NULL", "rooms >= 3", "area < rooms", "night", "NOT night", "who < 20", "rooms = 99"),
    *("day >= '2013-02-01'", "region IN ('n', 's')", "tariff LIKE '%''%'", "day IS NOT NULL OR rooms = 2", "id < 1000"),
]
OUTPUTS = [
    *("avg(x)", "sum(x * rooms)", "count(*)", "sum(rooms)", "sum(rooms - area)", "var_samp(x)", "avg(x * area - y)"),
    *("sum(x) FILTER (WHERE rooms >= 4)", "covar_pop(x, rooms)", "avg(CASE WHEN region = 'n' THEN x END)", "sum(z)"),
    *(
        "sum(x * area) / sum(area + 9)",
        "count(*) FILTER (WHERE night)",
        "avg(exp(x / 5) * rooms)",
        "avg(ln(rooms + 9))",
    ),
]


def write(folder, seed):
    chance = random.Random(seed)
    first = datetime.date(2012, 12, 28)
    days = [None if chance.random() < 0.1 else first + datetime.timedelta(chance.randrange(90)) for _ in range(ROWS)]
    columns = {
        "id": list(range(ROWS)),
        "who": [place % 50 for place in range(ROWS)],
        "tariff": [chance.choice(["Std", "ToU", "it's", "", "straße", None]) for _ in range(ROWS)],
        "region": [chance.choice("nsew") for _ in range(ROWS)],
        "rooms": [chance.choice([-3, 1, 2, 3, 4, 5, 2**40, None]) for _ in range(ROWS)],
        "area": [chance.choice([-0.25, 0.0, 7.75, 1e6, None]) for _ in range(ROWS)],
        "day": pa.array(days, pa.date32()),
        "hour": pa.array([datetime.datetime(2013, 1, 1, chance.randrange(24), 30) for _ in range(ROWS)]),
        "night": [chance.choice([True, False, None]) for _ in range(ROWS)],
        "x": [chance.uniform(0, 5) for _ in range(ROWS)],
        "y": [chance.uniform(0, 5) for _ in range(ROWS)],
        "z": [None if chance.random() < 0.1 else 1.0 for _ in range(ROWS)],
    }
    pq.write_table(pa.table(columns), folder / "t.parquet")
    places = {"region": list("nse"), "people": [chance.randrange(9) for _ in range(3)]}
    pq.write_table(pa.table(places), folder / "places.parquet")


def declare(place, **changed):
    table = {
        "source": "t.parquet",
        "version": "1",
        "row_key": ["id"],
        "public": PUBLIC,
        "private": {"x": PRIVATE, "y": PRIVATE, "z": PRIVATE | {"nulls": "public"}},
        **changed,
    }
    places = {"source": "places.parquet", "version": "1", "row_key": ["region"]}
    places["public"] = {"region": "text", "people": "whole"}
    return Catalogue.model_validate(
        {"place": place.place, "tables": {"t": table, "places": places}, "folder": place.folder}
    )


def asked(chance):
    joined = chance.random() < 0.25
    keys = chance.sample(KEYS + ["people"] * joined, chance.choice([0, 1, 1, 2, 3]))
    outputs = chance.sample(OUTPUTS + ["avg(x * people)"] * joined, chance.choice([1, 2, 3]))
    conditions = chance.sample(CONDITIONS, chance.choice([0, 0, 1, 2]))
    shown = [f"{key} AS k{place}" for place, key in enumerate(keys)]
    shown += [f"{output} AS o{place}" for place, output in enumerate(outputs)]
    join = chance.choice(["JOIN", "LEFT JOIN"])
    text = f"SELECT {', '.join(shown)} FROM t" + f" {join} places USING (region)" * joined
    text += f" WHERE {chance.choice([' AND ', ' OR ']).join(conditions)}" * bool(conditions)
    text += f" GROUP BY {', '.join(f'k{place}' for place in range(len(keys)))}" * bool(keys)
    return (
        text.replace("region IN", "t.region IN").replace("region AS", "t.region AS").replace("region =", "t.region =")
    )


def alike(one, two):
    arrays = [(one.group, two.group), (one.cell, two.cell), (one.rows, two.rows)]
    for request, fact in one.known.items():
        other = two.known[request]
        assert fact.denominator == other.denominator
        arrays += list(zip(fact.columns, other.columns, strict=True))
    assert one.groups.are(two.groups) and list(one.cells) == list(two.cells) and len(one.known) == len(two.known)
    return all(first.dtype == second.dtype and np.array_equal(first, second) for first, second in arrays)


@pytest.mark.parametrize("account_by", [[], ["region"]], ids=["one account", "an account for each region"])
def test_facts_from_tallies_are_those_of_the_rows(duckdb_place, monkeypatch, account_by):
    monkeypatch.setattr("errorfloor.vault.tallies.EACH_OF_FEW", 1)
    for seed in range(rounds(1)):
        chance = random.Random(seed)
        write(duckdb_place.folder, seed)
        place = duckdb_place.place.model_copy(update={"snapshots": f"vault{seed}.duckdb"})
        catalogue = declare(replace(duckdb_place, place=place), account_by=account_by)
        by = [TableColumn(0, column, "text") for column in account_by]
        used = []
        with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
            for name in catalogue.tables:
                register(catalogue, name, engine=engine)
            kept = snapshot(catalogue, "t", engine)
            assert sum(len(tally.columns) for tally in kept.tallies) == len(PUBLIC) - 1
            query = engine.query
            monkeypatch.setattr(engine, "query", lambda sql, query=query, used=used: used.append(sql) or query(sql))
            counted = 0
            for _ in range(50):
                question = parse(asked(chance), catalogue)
                joined = [snapshot(catalogue, join.table, engine) for join in question.joins]
                found = []
                for table in (kept, replace(kept, tallies=())):
                    layout = with_columns(stored_layout(question, [table, *joined]), by, [table, *joined])
                    found.append(fetch(question, by, requested(question), [table, *joined], engine, layout, None))
                assert alike(*found)
                assert "tally" not in used[-1]
                counted += "tally" in used[-2]
            assert counted > 10


def test_prices_answers_and_labels_are_those_of_a_vault_without_tallies(duckdb_place):
    write(duckdb_place.folder, 1)
    catalogue = declare(duckdb_place)
    questions = ["SELECT tariff, avg(x) AS a, count(*) AS n FROM t GROUP BY tariff", "SELECT sum(x) AS a FROM t"]
    keys = KeyRing.create(duckdb_place.folder / "keys.json")
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        for name in catalogue.tables:
            register(catalogue, name, engine=engine)
    found = []
    for older in (False, True):
        if older:
            name = name_of("t", "1")
            with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
                note = json.loads(engine.recall(name))
                assert note.pop("tallies")
                engine.note_anew(name, json.dumps(note))
        engine, ledger = open_engine(catalogue.place, catalogue.folder, read_only=True), MemoryLedger()
        enter_all(ledger, engine)
        with Database(catalogue, engine=engine, ledger=ledger, keys=keys) as database:
            assert bool(snapshot(catalogue, "t", engine).tallies) != older
            answers = [database.ask(sql, max_error=40) for sql in questions]
            found.append([(answer.to_arrow().to_pydict(), answer.charge) for answer in answers])
    assert found[0] == found[1]


def test_erasing_a_person_leaves_no_tally_with_them(duckdb_place):
    write(duckdb_place.folder, 2)
    owner = {"column": "who", "floor": 0.01}
    older, newer, last = (
        declare(duckdb_place, version=version, owner=owner, account_by=["region"]) for version in "123"
    )
    rows = pq.read_table(duckdb_place.folder / "t.parquet")
    left = rows.filter(np.array(rows["who"].to_pylist()) != 7)
    with open_engine(older.place, older.folder, read_only=False) as engine:
        register(older, "t", engine=engine)
        register(newer, "t", engine=engine)
        pq.write_table(left, duckdb_place.folder / "t.parquet")
        erase(last, "t", {"who": "7"}, engine=engine, base="2")
        assert {note["version"]: bool(note["tallies"]) for note in notes(engine).values()} == {
            "3": True,
            "1 (without those who were erased)": False,  # nobody asks it
        }
        kept = snapshot(last, "t", engine)
        holding = [tally for tally in kept.tallies if "who" in tally.columns]
        column = kept.columns["who"]
        for tally in holding:
            assert not engine.query(f"SELECT 1 AS one FROM {tally.relation} WHERE {column} = 7").num_rows
        for tally in kept.tallies:
            assert engine.query(f"SELECT sum(n) AS n FROM {tally.relation}").column("n")[0].as_py() == left.num_rows
        tables = "SELECT count(*) AS n FROM duckdb_tables() WHERE table_name LIKE 'tally%'"
        assert engine.query(tables).column("n")[0].as_py() == len(kept.tallies) > 0


def test_a_copy_has_tallies_of_its_own_where_its_engine_keeps_any(duckdb_place, postgresql_place):
    write(duckdb_place.folder, 3)
    catalogue = declare(duckdb_place)
    again = duckdb_place.place.model_copy(update={"snapshots": "copy.duckdb"})
    text = "SELECT tariff, avg(x) AS a FROM t GROUP BY tariff"
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as source:
        here = register(catalogue, "t", engine=source).snapshot
        assert here.tallies
        mine = bounds(parse(text, catalogue), catalogue, [here], source)
        for place in (again, postgresql_place.place):
            with open_engine(place, catalogue.folder, read_only=False) as target:
                there = copy(catalogue, "t", source=source, target=target).snapshot
                assert [one.columns for one in there.tallies] == [one.columns for one in here.tallies] * (
                    place is again
                )
                assert json.loads(target.recall(name_of("t", "1")))["tallies"] or place is not again
                other = bounds(parse(text, catalogue), catalogue, [there], target)
            assert mine.groups.are(other.groups) and np.array_equal(mine.outputs[0].error, other.outputs[0].error)
            assert np.array_equal(mine.outputs[0].slopes["x"].values, other.outputs[0].slopes["x"].values)


def test_nothing_is_counted_of_a_table_that_protects_records(duckdb_place):
    write(duckdb_place.folder, 4)
    table = {
        "source": "t.parquet",
        "version": "1",
        "protects": "records",
        "owner": {"column": "who", "rows": 2, "floor": 0.2},
        "most_rows": ROWS,
        "columns": {"region": {"values": list("nse"), "rest": "elsewhere"}},
    }
    catalogue = Catalogue.model_validate({"tables": {"t": table}, "folder": duckdb_place.folder})
    with open_engine(duckdb_place.place, duckdb_place.folder, read_only=False) as engine:
        kept = register(catalogue, "t", engine=engine).snapshot
        assert not kept.tallies
        tables = "SELECT count(*) AS n FROM duckdb_tables() WHERE table_name LIKE 'tally%'"
        assert engine.query(tables).column("n")[0].as_py() == 0
