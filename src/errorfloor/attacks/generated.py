"""Generated tables, registered in a folder as a custodian registers real ones, and keys that follow from a seed."""

import hashlib
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import final

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.catalogue import Catalogue, Place, Reading
from errorfloor.closing import Closing
from errorfloor.engines import Engine, open_engine
from errorfloor.identity import Key
from errorfloor.vault import register


class Ground(Closing):
    """A temporary folder in which generated tables are registered and opened; use it as a context manager."""

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))

    def opened(self, catalogue: Catalogue, name: str, rows: Mapping[str, pa.Table]) -> tuple[Catalogue, Engine]:
        """Register rows under a name, and open them."""
        made = registered(catalogue, self._folder / name, rows)
        return made, self._stack.enter_context(open_engine(made.place, made.folder))

    def close(self) -> None:
        """Close what was opened, and remove the folder."""
        self._stack.close()


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


@final
class SeededKeys:
    """Keys in a row that follow from a seed and a word; without a seed each is drawn at random.

    Whoever knows the seed knows the noise. That is harmless where rows were generated, and only such servers get these
    keys; adversaries make no use of it.

    >>> one, two = SeededKeys(7, "differencing"), SeededKeys(7, "differencing")
    >>> first = one.next()
    >>> first == two.next(), first == two.next(), SeededKeys(None, "").next() == SeededKeys(None, "").next()
    (True, False, False)
    """

    def __init__(self, seed: int | None, word: str) -> None:
        self._seed, self._word, self._made = seed, word, 0

    def next(self) -> Key:
        """Give the next key."""
        if self._seed is None:
            return Key.fresh()
        self._made += 1
        secret = hashlib.sha256(f"errorfloor audit {self._seed} {self._word} {self._made}".encode()).digest()
        return Key(id=hashlib.sha256(secret).hexdigest()[:16], created="", secret=secret)
