"""Where attacks are tried: servers that hold a generated table, in which one entry has one of two values."""

import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from errorfloor.attacks.attack import Door, Shadows
from errorfloor.attacks.secret import Secret
from errorfloor.catalogue import Catalogue, Place, PrivateColumn, Table, allowance
from errorfloor.engines import open_engine
from errorfloor.errors import CatalogueError, InputError
from errorfloor.floors.two_point import angle, success
from errorfloor.identity import Key
from errorfloor.ledger import Ledger, MemoryLedger
from errorfloor.service import Database
from errorfloor.service.dummy import dummy_rows
from errorfloor.vault import register

VERSIONS = 3
ANGLE = 0.35  # between the two laws when the whole allowance is spent: right at most 67 times in 100 by the promise


class World:
    """A declared table with generated rows, in two copies that differ in one entry of one private column.

    Every ``server`` is fresh: it has a key of its own and nothing has been spent. The two values are as far apart as
    makes the promise worth testing. Use it as a context manager.

    ``rows`` of each table are dummy ones unless they are given.

    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with World(Catalogue(tables={"meters": meters}), "meters", "kwh") as world:
    ...     with world.server(1) as door:
    ...         answer = door.ask(f"SELECT sum(kwh) AS kwh FROM meters WHERE {world.secret.condition()}", spend=0.1)
    >>> world.secret.values, round(world.promised, 2)
    ((23.935, 26.065), 0.67)
    """

    def __init__(
        self, catalogue: Catalogue, table: str, column: str, rows: Mapping[str, pa.Table] | None = None
    ) -> None:
        declared = catalogue.tables.get(table)
        if declared is None or column not in declared.private:
            raise InputError(f"{table}.{column} is not a private column of the catalogue")
        made = {name: dummy_rows(one) for name, one in catalogue.tables.items()} if rows is None else dict(rows)
        if made[table].num_rows < 3:
            raise InputError(f"attacks need a table of three rows or more, and {table} has {made[table].num_rows}")
        values, victim = two_values(declared.private[column]), made[table].num_rows // 2
        copies = [made | {table: _with_value(made[table], column, victim, value)} for value in values]
        self.secret = Secret(table, declared, column, copies[0][table], victim, values)
        self._stack = ExitStack()
        self._folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory()))
        self._catalogues = [_registered(catalogue, self._folder / str(n), one) for n, one in enumerate(copies)]
        self._engines = [self._stack.enter_context(open_engine(c.place, c.folder)) for c in self._catalogues]

    versions = VERSIONS

    @cached_property
    def promised(self) -> float:
        """How often anybody may be right at most, when the whole allowance is spent."""
        information, evaluation = allowance(self.secret.private)
        return float(success(angle(self.secret.distance, information, evaluation)))

    @contextmanager
    def server(
        self, coin: int, *, ledger: Ledger | None = None, key: Key | None = None, version: int = 0
    ) -> Iterator[Door]:
        """Open a server on the copy that a coin chose; a fresh one unless a ledger and a key are given."""
        table = self.secret.table
        tables = dict(self._catalogues[coin].tables)
        tables[table] = tables[table].model_copy(update={"version": _version(tables[table], version)})
        catalogue = self._catalogues[coin].model_copy(update={"tables": tables})
        yield Database(
            catalogue, engine=self._engines[coin], ledger=ledger or MemoryLedger(), keys=key or self.fresh_key()
        )

    def fresh_key(self) -> Key:
        """Give a key that no other server has."""
        return Key.fresh()

    @property
    def shadows(self) -> Shadows:
        """Servers of the adversary's own, one on each copy."""
        return self._shadow(0), self._shadow(1)

    def _shadow(self, coin: int) -> Callable[[], Door]:
        return lambda: Database(
            self._catalogues[coin], engine=self._engines[coin], ledger=MemoryLedger(), keys=self.fresh_key()
        )

    @contextmanager
    def updated(self, coin: int, folder: Path, *, ledger: Ledger, key: Key) -> Iterator[Door]:
        """Put the rows of a copy in the place of those in a folder, register them under the same version, and serve.

        Where registering is refused, what was registered before is served.
        """
        for source in self._catalogues[coin].folder.glob("*.parquet"):
            shutil.copy(source, folder)
        catalogue = self._catalogues[coin].model_copy(update={"folder": folder})
        with suppress(CatalogueError), open_engine(catalogue.place, folder, read_only=False) as engine:
            for name in catalogue.tables:
                register(catalogue, name, engine=engine)
        with open_engine(catalogue.place, folder) as engine:
            yield Database(catalogue, engine=engine, ledger=ledger, keys=key)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()


def _registered(catalogue: Catalogue, folder: Path, rows: Mapping[str, pa.Table]) -> Catalogue:
    """Register every table, and the attacked ones in several versions of the same rows."""
    folder.mkdir()
    for name in catalogue.tables:
        pq.write_table(rows[name], folder / f"{name}.parquet")
    tables = {n: table.model_copy(update={"source": f"{n}.parquet"}) for n, table in catalogue.tables.items()}
    copied = catalogue.model_copy(update={"tables": tables, "place": Place(), "folder": folder})
    with open_engine(copied.place, folder, read_only=False) as engine:
        for number in range(VERSIONS):
            renamed = {n: t.model_copy(update={"version": _version(t, number)}) for n, t in tables.items()}
            for name in tables:
                register(copied.model_copy(update={"tables": renamed}), name, engine=engine)
    return copied


def _version(table: Table, number: int) -> str:
    return f"{table.version} ({number})" if number else table.version


def two_values(column: PrivateColumn) -> tuple[float, float]:
    """Give two values about the middle of the range whose laws are ANGLE apart when the allowance is spent.

    >>> two_values(PrivateColumn(range=(0, 50), resolution=0.001, floor=2.0, unit="kWh"))
    (23.935, 26.065)
    """
    information, evaluation = allowance(column)
    wanted = (2 * ANGLE - 2 * math.sqrt(evaluation)) / math.sqrt(information)
    low, high = column.steps
    steps = min(max(1, round(wanted / float(column.resolution))), high - low)
    first = low + (high - low - steps) // 2
    return float(first * column.resolution), float((first + steps) * column.resolution)


def _with_value(rows: pa.Table, column: str, victim: int, value: float) -> pa.Table:
    numbers = rows[column].to_pylist()
    numbers[victim] = value
    return rows.set_column(rows.column_names.index(column), column, pa.array(numbers, pa.float64()))
