"""A table that protects who is there: patients with several visits each, with or without one of them."""

import datetime
import json
import random
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import errorfloor as ef
from errorfloor.catalogue import load
from errorfloor.engines import open_engine
from errorfloor.errors import ErrorFloorError
from errorfloor.identity import KeyRing
from errorfloor.ledger import MemoryLedger
from errorfloor.preparing.cost import public_cost
from errorfloor.service.database import Database
from errorfloor.sql.records import HERE
from errorfloor.vault import register
from houses import register_house
from plan_values import number, scalar, truth

MOST = 2  # visits of a patient that count
REGIONS = ("north", "south", "west")
FIRST = datetime.date(2024, 1, 1)
CATALOGUE = """
[limit]
question = 1.0

[tables.patients]
source = "patients.parquet"
version = "1"
protects = "records"
owner = { column = "patient", rows = 2, floor = 0.05 }
most_rows = 10000

[tables.patients.columns]
sex = { values = ["f", "m"], rest = "other" }
age = { range = [0, 110], rest = 0, unit = "years" }
region = { values = ["north", "south", "west"], rest = "elsewhere" }
day = { range = [2024-01-01, 2024-12-31] }
cost = { range = [-100, 2000], resolution = 0.5, rest = 0, unit = "EUR" }
"""
STATED = CATALOGUE.replace("floor = 0.05 }", "floor = 0.2, max_delta = 1e-5, max_epsilon = 3 }")


def visits(people=200, seed=1):
    """Rows as a source has them: outside of their domains here and there, missing ones too."""
    chance = random.Random(seed)
    return [
        {
            "patient": f"P{person}",
            "sex": chance.choice(("f", "m", "m", "F", None)),
            "age": chance.choice((None, -3.0, 130.0, *map(float, range(20, 90)))),
            "region": chance.choice((*REGIONS, "north", "abroad")),
            "day": FIRST + datetime.timedelta(days=chance.randrange(-20, 400)),
            "cost": chance.choice((None, float("nan"), 1e9, round(chance.uniform(-200, 2500), 2))),
        }
        for person in range(people)
        for _ in range(chance.choice((1, 1, 2, 4)))
    ]


def write_patients(folder: Path, rows, catalogue=CATALOGUE, identity=None) -> Path:
    """Declare and register patients; give their catalogue."""
    folder.mkdir(parents=True, exist_ok=True)
    types = {"patient": pa.string(), "sex": pa.string(), "region": pa.string(), "day": pa.date32()}
    columns = ("patient", "sex", "age", "region", "day", "cost")
    schema = pa.schema([(name, types.get(name, pa.float64())) for name in columns])
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / "patients.parquet")
    path = folder / "errorfloor.toml"
    path.write_text(catalogue)
    if not (folder / "keys.json").exists():
        KeyRing.create(folder / "keys.json")
    if identity is None:
        register_house(load(path))
    else:  # a fixed one, of which no ledger knows yet
        declared = load(path)
        with open_engine(declared.place, declared.folder, read_only=False) as engine:
            register(declared, "patients", engine=engine, identity=identity)
    return path


def open_patients(folder: Path, rows=None, ledger=None, *, free=False, catalogue=CATALOGUE):
    """Open a database of patients; a free one charges nothing."""
    path = write_patients(folder, visits() if rows is None else rows, catalogue)
    if ledger is None and not free:
        return ef.open(path)
    declared = load(path)
    engine = open_engine(declared.place, declared.folder)
    keys = KeyRing(folder / "keys.json")
    return Database(declared, engine=engine, ledger=ledger or MemoryLedger(), keys=keys, is_dry=free)


def stored(db):
    """The rows that count, as they are stored."""
    found = db._known.snapshot(db.catalogue, "patients", db._engine)
    names = {physical: name for name, physical in found.columns.items() if name}
    rows = db._engine.query(f"SELECT {', '.join(names)} FROM {found.relation}").to_pylist()
    return [{names[one]: value for one, value in row.items()} for row in rows]


def content(chance, most):
    """The rows of one owner: none, or up to as many as count, often at the ends of their ranges."""
    return [
        {
            (0, "sex"): chance.choice(("f", "m", "other")),
            (0, "age"): Fraction(chance.choice((0, 110, chance.randrange(111)))),
            (0, "region"): chance.choice((*REGIONS, "elsewhere")),
            (0, "day"): datetime.date(2024, 1, 1) + datetime.timedelta(days=chance.randrange(366)),
            (0, "cost"): Fraction(chance.choice((-200, 4000, chance.randrange(-200, 4001))), 2),
            (0, HERE.name): Fraction(1),
        }
        for _ in range(chance.randrange(most + 1))
    ]


def answers(question, rows):
    """What some rows add to each output in each group."""
    found = {}
    for row in rows:
        group = tuple(str(scalar(key.value, row)) for key in question.keys)
        for place, output in enumerate(question.outputs):
            if truth(question.where, row) is True and truth(output.formula.where, row) is True:
                cell = place, group
                value = number(output.formula.of, row)
                found[cell] = found.get(cell, Fraction(0)) + (
                    value if isinstance(value, Fraction) else Fraction(float(value))
                )
    return found


def outside_view(db, ledger, questions):
    """Everything that somebody who may ask can see, but for released numbers."""
    seen = [db.tables()]
    for sql in questions:
        for wish in ({"max_error": 5000}, {"spend": 0.001}, {"max_error": 1.0}, {"max_error": 1e-9}):
            try:
                price = db.price(sql, **wish)
                seen.append([sql, price.to_dict(), price.explain(), price.prepared.statement])
                seen.append(public_cost(price.prepared))
                seen.append([db.simulate(sql, **wish).to_dict(), [str(one.label) for one in price.prepared.outputs]])
                answer = db.ask(sql, **wish)
                keys = [key.name for key in answer.prepared.question.keys]
                seen.append([answer.explain(), answer.fresh, answer.table.schema.names, answer.table.num_rows])
                seen.append(
                    answer.table.select([name for name in keys if name in answer.table.column_names]).to_pylist()
                )
            except ErrorFloorError as problem:
                seen.append([sql, problem.code, str(problem), repr(problem.fields)])
    seen.append([one.to_dict() for one in db.left()])
    seen.extend(record.to_json() | dict.fromkeys(("time", "previous", "hash")) for record in ledger.entries())
    return json.dumps(seen, default=str)
