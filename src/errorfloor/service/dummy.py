"""Dummy rows for dry runs: made from what the catalogue declares and from nothing else."""

import datetime
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.catalogue import Catalogue, Place, PrivateColumn, PublicColumn, Reading, RecordColumn, Table
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.duckdb import DuckDBEngine
from errorfloor.identity import Key
from errorfloor.vault import register

ROWS = 1000
FEW = 4  # different values of a public column that is no part of the row key
FIRST = datetime.datetime(2024, 1, 1)
KEY = Key(id="dry", created="", secret=bytes(32))  # dummy rows have nothing to hide


def dummy_engine(catalogue: Catalogue) -> tuple[Catalogue, Engine]:
    """Give a catalogue with the same declarations and an engine with dummy rows of its tables.

    They are kept in a temporary file that has no name any more: nothing is left behind. Neither the declared vault nor
    the sources, the ledger or the keys are touched, or need to exist.
    """
    from pyarrow import parquet  # loaded where it is needed: it takes a while, and questions do without

    with tempfile.TemporaryDirectory(prefix="errorfloor-dry-") as name:
        folder = Path(name)
        hidden = [table.columns for table in catalogue.tables.values() if table.hides_records]
        tables, domains = {}, {name: one for columns in hidden for name, one in columns.items()}
        for number, (table_name, table) in enumerate(catalogue.tables.items()):
            parquet.write_table(dummy_rows(table, domains), folder / f"{number}.parquet")
            kept: dict[str, Any] = {"source": (f"{number}.parquet",), "read": Reading(), "min_group": 1}
            kept["grows_by"] = None  # a thousand rows that stay
            if table.hides_records:
                kept["most_rows"] = max(table.most_rows, ROWS)
            tables[table_name] = table.model_copy(update=kept)
        dry = catalogue.model_copy(update={"tables": tables, "place": Place(), "folder": folder})
        file = folder / dry.place.snapshots  # one file, which stays readable when it has no name any more
        with DuckDBEngine(file, folder, read_only=False) as writer:
            for table_name in tables:
                register(dry, table_name, engine=writer, identity="0" * 32)  # the same noise in every dry run
        return dry, DuckDBEngine(file, folder, read_only=True)


def dummy_rows(table: Table, domains: Mapping[str, RecordColumn] | None = None) -> pa.Table:
    """Give up to a thousand rows that obey a declaration, always the same ones.

    Columns of the row key take each combination of values once, the others a few values in turn; values of the same
    name and type are the same in every table, so that joins find something: those of a column of records, whose
    ``domains`` may be given, begin where its domain does. Private numbers are spread over their range, with a null here
    and there where nulls are allowed.

    Of a table that protects records, every column takes values of its domain.

    >>> rows = dummy_rows(Table(source="a", version="1", row_key=("area",), public={"area": "text", "rooms": "whole"}))
    >>> rows.num_rows, rows.slice(0, 1).to_pylist()
    (1000, [{'area': 'area 0', 'rooms': 0}])
    """
    if table.hides_records:
        columns: dict[str, Any] = {
            name: _record(one, number) for number, (name, one) in enumerate(table.columns.items())
        }
        owner = {} if table.owner is None or not table.owner.column else {table.owner.column: map(str, range(ROWS))}
        return pa.table(columns | {name: pa.array(list(values)) for name, values in owner.items()})
    sizes = _sizes([table.public[name] for name in table.row_key])
    count = min(ROWS, int(np.prod(sizes)))
    row = np.arange(count)
    places: dict[str, Array] = {}
    for name, size in zip(table.row_key, sizes, strict=True):
        places[name], row = row % size, row // size
    others = [name for name in table.public if name not in places]
    for number, name in enumerate(others):
        places[name] = np.arange(count) // (number + 1) % FEW
    places = _with_joining(table, places)
    count = len(next(iter(places.values())))
    columns = {name: _public(name, one, places[name], (domains or {}).get(name)) for name, one in table.public.items()}
    for number, (name, column) in enumerate(table.private.items()):
        columns[name] = _private(column, count, seed=number)
    return pa.table(columns)


def _with_joining(table: Table, places: dict[str, Array]) -> dict[str, Array]:
    """Let every owner have joined once."""
    if table.owner is None or table.joined is None:
        return places
    owner, joined = table.owner.column, table.joined.column
    if joined not in table.row_key:
        return places | {joined: places[owner] % FEW}
    if owner not in table.row_key:
        return places | {owner: places[joined]}
    mine = places[joined] == places[owner] % (places[joined].max() + 1)
    return {name: one[mine] for name, one in places.items()}


def _sizes(columns: Sequence[PublicColumn]) -> list[int]:
    """Say how many values each column of a row key takes, so that together they name as many rows as are wanted."""
    open_ended = sum(column.type != "flag" for column in columns)
    flags = len(columns) - open_ended
    each = int(np.ceil((ROWS / min(2.0**flags, ROWS)) ** (1 / open_ended))) if open_ended else 1
    return [2 if column.type == "flag" else each for column in columns]


def _public(name: str, column: PublicColumn, places: Array, domain: RecordColumn | None) -> Any:
    numbers = places.tolist()
    if domain is not None and (domain.public.type, domain.public.step) == (column.type, column.step):
        return _in_domain(domain, numbers)
    match column.type:
        case "text":
            return pa.array([f"{name} {j}" for j in numbers])
        case "whole":
            return pa.array(numbers, pa.int64())
        case "number":
            return pa.array([float(j * (column.resolution or Fraction(1))) for j in numbers])
        case "date":
            return pa.array([(FIRST + datetime.timedelta(days=j)).date() for j in numbers])
        case "moment":
            return pa.array([FIRST + datetime.timedelta(hours=j) for j in numbers])
        case "flag":
            return pa.array([bool(j % 2) for j in numbers])


def _record(column: RecordColumn, seed: int) -> Any:
    return _in_domain(column, np.random.default_rng(seed).integers(0, column.size, ROWS).tolist())


def _in_domain(column: RecordColumn, places: Sequence[int]) -> Any:
    """Give values of a domain by their places in it; there are others behind the last text."""
    match column.public.type:
        case "text":
            known = dict(enumerate(column.texts))
            return pa.array([known.get(place, f"another {place}") for place in places])
        case "date":
            return pa.array([column.days[0] + datetime.timedelta(days=place) for place in places])
    return pa.array([float((column.steps[0] + place) * column.resolution) for place in places])


def _private(column: PrivateColumn, count: int, seed: int) -> Any:
    low, high = column.steps
    steps = np.random.default_rng(seed).integers(low, high, count, endpoint=True).tolist()
    null = np.arange(count) % 50 == 7 if column.nulls != "forbidden" else np.zeros(count, dtype=bool)
    return pa.array([float(step * column.resolution) for step in steps], mask=null)
