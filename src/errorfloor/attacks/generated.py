"""Generated tables, registered in a folder as a custodian registers real ones."""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.catalogue import Catalogue, Place, Table
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError
from errorfloor.vault import register

WIDER, FINER = 10, 10  # what another meaning does to a range, on either side, and to its steps
OTHER = "another meaning"
GENERATED = "generated-for-an-audit"  # a file that marks a folder whose keys and ledger are nobody's


def registered(catalogue: Catalogue, folder: Path, rows: Mapping[str, pa.Table], *, versions: int = 1) -> Catalogue:
    """Register the rows of every table in a new folder, in several versions that hold the same; give its catalogue.

    One question may take all that there is: a floor must hold without the limit that keeps analysts from slips.
    """
    folder.mkdir()
    (folder / GENERATED).touch()
    for name in catalogue.tables:
        pq.write_table(rows[name], folder / f"{name}.parquet")
    unlimited = catalogue.limit.model_copy(update={"question": 1.0})
    tables = {n: table.model_copy(update={"source": f"{n}.parquet"}) for n, table in catalogue.tables.items()}
    copied = catalogue.model_copy(update={"tables": tables, "place": Place(), "folder": folder, "limit": unlimited})
    with open_engine(copied.place, folder, read_only=False) as engine:
        for number in range(versions):
            renamed = {n: t.model_copy(update={"version": version(t, number)}) for n, t in tables.items()}
            for name in tables:
                declared = copied.model_copy(update={"tables": renamed})
                register(declared, name, engine=engine, identity=_identity(folder.name, name, number))
    return copied


def redeclared(catalogue: Catalogue, names: Sequence[str]) -> Catalogue:
    """Register a further version of some tables that declares wider ranges and finer steps for the same rows.

    Give the catalogue that has it; where that is refused, the table stays as it was.
    """
    tables = dict(catalogue.tables)
    with open_engine(catalogue.place, catalogue.folder, read_only=False) as engine:
        for name in names:
            changed = catalogue.model_copy(update={"tables": tables | {name: _other_meaning(tables[name])}})
            with suppress(CatalogueError):
                register(changed, name, engine=engine, identity=_identity(catalogue.folder.name, name, OTHER))
                tables = changed.tables
    return catalogue.model_copy(update={"tables": tables})


def _other_meaning(table: Table) -> Table:
    private = {}
    for name, column in table.private.items():
        low, high = column.range
        wider, finer = (low - WIDER * (high - low), high + WIDER * (high - low)), column.resolution / FINER
        private[name] = column.model_copy(update={"range": wider, "resolution": finer})
    return table.model_copy(update={"version": f"{table.version} ({OTHER})", "private": private})


def version(table: Table, number: int) -> str:
    """Give the name of a version; the first is the declared one."""
    return f"{table.version} ({number})" if number else table.version


def _identity(*words: str | int) -> str:
    """Give an identity that follows from what was generated, so that an audit with a seed can be repeated."""
    return hashlib.sha256(repr(words).encode()).hexdigest()[:32]


def with_values(rows: pa.Table, column: str, values: Mapping[int, float]) -> pa.Table:
    """Put values into some rows of a private column.

    >>> with_values(pa.table({"kwh": [1.0, 2.0]}), "kwh", {1: 5.0})["kwh"].to_pylist()
    [1.0, 5.0]
    """
    numbers = rows[column].to_pylist()
    for place, value in values.items():
        numbers[place] = value
    return rows.set_column(rows.column_names.index(column), column, pa.array(numbers, pa.float64()))
