"""A registered snapshot as a table to release: values as they are kept, under their declared names."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from errorfloor.bulk.tables import ROWS, regrouped
from errorfloor.engines import Engine
from errorfloor.engines.duckdb import READER, DuckDBEngine
from errorfloor.errors import AnswerFailedError
from errorfloor.vault import Snapshot

MOST_DIGITS = 18  # of a step that is published as a decimal; with the 13 of a stored integer they fit into 38


@dataclass(frozen=True)
class SnapshotTable:
    """A snapshot in a DuckDB vault, or one part of a table that grows; ``path`` is the file that it is in.

    Guarantee: a private number is the stored integer times the declared step, as a double that is off by at most four
    roundings; if reading its rows fails, or another snapshot has taken its place, nothing more is said than that.
    """

    path: Path
    snapshot: Snapshot

    def schema(self, engine: Engine) -> pa.Schema:
        """Give names and types: public columns as they are kept, then private ones as doubles; no row is read."""
        table = self.snapshot.table
        public = engine.query(f"{self._select(tuple(table.public))} LIMIT 0").schema
        return pa.schema([*public, *(pa.field(name, pa.float64()) for name in table.private)])

    @contextmanager
    def read(self, scratch: Path, columns: Sequence[str], order: Sequence[str] = ()) -> Iterator[Any]:
        """Open some columns as a stream of batches; what does not fit into memory is sorted beside the vault.

        Only its owner can enter that folder.
        """
        spilling = self.path.with_name(f"{self.path.name}.tmp")  # where DuckDB puts what it sorts
        with ExitStack() as stack:
            stack.callback(_remove_if_unused, spilling)
            if order:
                with suppress(OSError):  # into a folder that cannot be written nothing is spilled either
                    spilling.mkdir(exist_ok=True)
                    spilling.chmod(0o700)
            # the settings are those of everybody else who reads the vault, or DuckDB would refuse to open it twice
            connection = stack.enter_context(duckdb.connect(str(self.path), read_only=True, config=READER))
            connection.execute("SET enable_progress_bar = false")
            told = connection.execute(f"SELECT note FROM {DuckDBEngine.notes}").fetchall()
            (_, identity), *_ = self.snapshot.identities
            if identity not in {json.loads(note)["identity"] for (note,) in told}:
                raise AnswerFailedError  # it was made anew since it was priced: its noise is not for these rows
            reader = connection.sql(self._select(columns, order)).to_arrow_reader(ROWS)
            stack.callback(reader.close)  # or whoever still holds it would keep DuckDB from opening the vault again
            yield reader

    def batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Give the rows of a reader in batches of a fixed size, the last one less."""
        return regrouped(reader, lambda kind: AnswerFailedError())

    def _select(self, columns: Sequence[str], order: Sequence[str] = ()) -> str:
        shown = ", ".join(f'{self._value(name)} AS "{name}"' for name in columns)
        by = ", ".join(self._rank(name) for name in order)
        return f"SELECT {shown} FROM {self.snapshot.relation}{f' ORDER BY {by}' if by else ''}"

    def _value(self, name: str) -> str:
        table, stored = self.snapshot.table, self.snapshot.columns[name]
        if name in table.private:
            return _double(stored, table.private[name].resolution)
        step = table.public[name].resolution
        if step is None:
            return stored
        digits = _digits(step) if name in table.row_key else None  # a key has to be exact
        return _double(stored, step) if digits is None else _decimal(stored, step, digits)

    def _rank(self, name: str) -> str:
        stored = self.snapshot.columns[name]
        return f'{stored} COLLATE "binary"' if self.snapshot.table.public[name].type == "text" else stored


def _remove_if_unused(folder: Path) -> None:
    with suppress(OSError):  # not there, or somebody else is sorting in it
        folder.rmdir()


def _double(stored: str, step: Fraction) -> str:
    above, below = (f"CAST('{float(part)!r}' AS DOUBLE)" for part in (step.numerator, step.denominator))
    return f"CAST({stored} AS DOUBLE) * {above} / {below}"


def _digits(step: Fraction) -> int | None:
    """Give how many digits after the point a step has; None if it has no short decimal form."""
    for digits in range(MOST_DIGITS + 1):
        whole = step * 10**digits
        if whole.denominator == 1:
            return digits if whole < 10**MOST_DIGITS else None
    return None


def _decimal(stored: str, step: Fraction, digits: int) -> str:
    text = f"{Decimal(int(step * 10**digits)).scaleb(-digits):f}"
    return f"CAST({stored} AS DECIMAL(14, 0)) * CAST('{text}' AS DECIMAL({MOST_DIGITS}, {digits}))"
