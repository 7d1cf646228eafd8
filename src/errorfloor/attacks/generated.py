"""Generated tables, registered in a folder as a custodian registers real ones."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.catalogue import Catalogue, Place, Reading
from errorfloor.engines import open_engine
from errorfloor.vault import register


def registered(catalogue: Catalogue, folder: Path, rows: Mapping[str, pa.Table]) -> Catalogue:
    """Register the rows of every table in a new folder; give its catalogue.

    One question may take all that there is: a floor must hold without the limit that keeps analysts from slips.
    """
    folder.mkdir()
    for name in catalogue.tables:
        pq.write_table(rows[name], folder / f"{name}.parquet")
    unlimited = catalogue.limit.model_copy(update={"question": 1.0})
    tables = {
        name: table.model_copy(update={"source": (f"{name}.parquet",), "read": Reading(), "grows_by": None})
        for name, table in catalogue.tables.items()
    }
    copied = catalogue.model_copy(update={"tables": tables, "place": Place(), "folder": folder, "limit": unlimited})
    with open_engine(copied.place, folder, read_only=False) as engine:
        for name in tables:
            register(copied, name, engine=engine, identity=identity(folder.name, name, 0))
    return copied


def identity(*words: str | int) -> str:
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
