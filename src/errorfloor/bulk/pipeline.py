"""The release of whole columns: every value carries noise of its own, which stays the same for its key and batch."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from queue import Empty, Queue
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.register import entered, source_digest
from errorfloor.bulk.rowkey import RowKey, kind_of
from errorfloor.bulk.tables import TableFile
from errorfloor.bulk.uniqueness import SeenTags, arrange
from errorfloor.bulk.workplace import workplace
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.identity import Key, KeyRing, Label
from errorfloor.noise import Noise
from errorfloor.support import Interval

WORKERS = 2
AHEAD = 10  # batches in flight


@dataclass(frozen=True)
class Perturbation:
    """What is done to each batch of a table. It holds derived keys, enough to take this batch's noise away again.

    >>> column = ReleasedColumn.plan("x", Interval(-1, 1), step="0.5", out_of_range="refuse", nulls="keep")
    >>> batch = pa.record_batch({"id": [1, 2], "x": [0.0, 0.0]})
    >>> released, tags = Perturbation.prepare(batch.schema, [column], ["id"], "2013", Key.fresh()).apply(batch)
    >>> set(released.column("x").to_pylist()) <= {-1.0, -0.5, 0.0, 0.5, 1.0}, tags.shape
    (True, (2, 2))
    """

    row_key: RowKey
    columns: tuple[ReleasedColumn, ...]

    @classmethod
    def prepare(
        cls, schema: pa.Schema, columns: Sequence[ReleasedColumn], key: Sequence[str], batch: str, secret: Key
    ) -> "Perturbation":
        """Derive the keys of rows and columns from what names them."""
        kinds = tuple(kind_of(schema.field(name).type, name) for name in key)
        whose = (batch, tuple(key), kinds)
        rows = RowKey(tuple(key), secret.derive(Label("release rows", whose)))
        derived = (secret.derive(Label("release column", (*whose, *column.identity))) for column in columns)
        return cls(rows, tuple(replace(c, derived=d) for c, d in zip(columns, derived, strict=True)))

    def schema(self, schema: pa.Schema) -> pa.Schema:
        """Give the schema of the released table: doubles for what carries noise, and no metadata of the source."""
        noisy = {column.name for column in self.columns}
        return pa.schema([(f.name, pa.float64() if f.name in noisy else f.type) for f in schema])

    def apply(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, Array]:
        """Give the released batch and its rows' tags."""
        tags = self.row_key.tags(batch)
        arrays = list(batch.columns)
        for column in self.columns:
            place = batch.schema.get_field_index(column.name)
            arrays[place] = column.perturb(arrays[place], tags)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema(batch.schema)), tags


@dataclass(frozen=True)
class Release:
    """What was released, in words and figures that may be published with it.

    >>> column = ReleasedColumn.plan("kwh", Interval(0, 0.5), unit="kWh", out_of_range="refuse", nulls="keep")
    >>> Release(Path("out.parquet"), 3, "2013-q1", "0011", (column,)).explain()
    'kwh: each released number minus the true one lies certainly in 0 … 0.5 kWh, in steps of 0.001 kWh; ...'
    """

    target: Path
    rows: int
    batch: str
    key_id: str
    columns: tuple[ReleasedColumn, ...]
    unchanged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {
            "batch": self.batch,
            "key_id": self.key_id,
            "rows": self.rows,
            "columns": [column.describe() for column in self.columns],
            "published_unchanged": list(self.unchanged),
            "left_out": list(self.left_out),
            "scope": "one release: floors do not hold for several releases of the same values together",
        }

    def explain(self) -> str:
        """Say it, a paragraph a column."""
        parts = []
        for column in self.columns:
            unit = f" {column.unit}" if column.unit else ""
            facts = column.describe()
            true = "the true one" + (
                f", clamped to {column.range[0]:g} … {column.range[1]:g}{unit},"
                if column.range and column.out_of_range == "clamp"
                else ""
            )
            certain = (
                f"each released number minus {true} lies certainly in {column.low:g} … {column.high:g}{unit}"
                if facts["certain_interval"]
                else "the noise is not bounded"
            )
            parts.append(
                f"{column.name}: {certain}, in steps of {column.lattice.step}{unit}; bias {facts['bias']:.4g}{unit}, "
                f"standard error {facts['standard_error']:.4g}{unit}. {facts['explanation']}"
            )
        if self.unchanged:
            parts.append(f"published as they are: {', '.join(self.unchanged)}")
        if self.left_out:
            parts.append(f"left out, as nobody declared them public: {', '.join(self.left_out)}")
        return "\n".join(parts)


def release(
    source: str | Path,
    target: str | Path,
    *,
    columns: Mapping[str, Noise | Interval],
    key: Sequence[str],
    batch: str,
    keys: KeyRing | str | Path,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
    steps: Mapping[str, str] | None = None,
    out_of_range: str = "refuse",
    nulls: str = "keep",
    table: str | None = None,
    target_table: str | None = None,
    public: Sequence[str] = (),
    order_is_public: bool = False,
    again: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Write a copy of a table in which some columns carry noise.

    Guarantee: each released number minus the true one lies in the interval given for its column, and tells about the
    true one no more than the report says. The noise of a value follows from the key, the batch, the row's key and the
    column, so the same release made again is the same file, and no two batches share noise.

    Parameters
    ----------
    source, target
        Files ending in .parquet, .csv, .arrow, .feather or .duckdb.
    table, target_table
        The tables meant in DuckDB files.
    columns
        For each column an interval that the noise must not leave, or a noise.
    key
        Columns that together name a row; no two rows may share them.
    batch
        A name that no other release of other data has had, such as "2013-q1".
    keys
        The key ring, or the path of its file.
    ranges, units, steps
        Declared range, unit and lattice step, by column.
    out_of_range, nulls
        "refuse" or "clamp" what lies outside a range; "keep" or "refuse" nulls.
    public
        Columns that are published as they are; what is neither key, nor released, nor public is left out.
    order_is_public
        Rows leave sorted by their key, as their order might tell something; True keeps the order of the source.
    again
        Allow a second draw of a column of the same data under another batch name: it is another answer.
    overwrite
        Replace an existing target.
    progress
        Called with the number of rows written so far.

    >>> import tempfile, pyarrow.parquet
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(folder)
    ...     ring = KeyRing.create(here / "keys.json")
    ...     pyarrow.parquet.write_table(pa.table({"id": [1, 2, 3], "kwh": [9.0, 10.5, 11.0]}), here / "in.parquet")
    ...     report = release(
    ...         here / "in.parquet", here / "out.parquet", columns={"kwh": Interval(0, 0.5)}, key=["id"],
    ...         batch="2013-q1", keys=ring, ranges={"kwh": (0, 50)}, units={"kwh": "kWh"},
    ...     )
    ...     released = pyarrow.parquet.read_table(here / "out.parquet")["kwh"].to_numpy()
    >>> bool(((released >= [9.0, 10.5, 11.0]) & (released <= [9.5, 11.0, 11.5])).all()), report.rows
    (True, 3)
    """
    planned = plan_columns(columns, key, batch, ranges or {}, units or {}, steps or {}, out_of_range, nulls)
    ring = keys if isinstance(keys, KeyRing) else KeyRing(keys)
    inlet, outlet = TableFile.of(source, table), TableFile.of(target, target_table)
    if inlet.path.resolve() == outlet.path.resolve():
        raise InputError(f"source and target are both {inlet.path}: a release is a copy")
    if not outlet.path.parent.is_dir():
        raise InputError(f"there is no folder {outlet.path.parent} to write to")
    if outlet.path.is_dir() or (not overwrite and outlet.exists()):
        raise InputError(f"{outlet.path} exists already: choose another name, or overwrite it")
    with workplace(outlet.path) as scratch:
        chosen, left_out = _choose(inlet.schema(), key, planned, public)
        unchanged = tuple(name for name in chosen if name not in columns)
        before = inlet.stamp()
        with entered(
            ring,
            batch=batch,
            source=source_digest(inlet.path, inlet.table, ring),
            key=tuple(key),
            columns={column.name: column.fingerprint for column in planned},
            again=again,
        ) as secret:
            report = Release(outlet.path, 0, batch, secret.id, tuple(planned), unchanged, left_out)
            counted = _Counter(progress)
            order = () if order_is_public else key
            with inlet.read(scratch, chosen, order) as reader, SeenTags(scratch / "tags") as seen:
                work = Perturbation.prepare(reader.schema, planned, key, batch, secret)

                def check() -> None:
                    _refuse_repeated(inlet, scratch, work, seen)
                    if inlet.stamp() != before:
                        raise InputError(f"{inlet.path} changed while it was read: nothing was released; try again")

                outlet.write(
                    scratch,
                    work.schema(reader.schema),
                    counted.through(_perturbed(inlet.batches(reader), work, seen)),
                    {"errorfloor": json.dumps(report.to_dict() | {"rows": None})},
                    check,
                    overwrite,
                )
    return replace(report, rows=counted.rows)


def _choose(
    schema: pa.Schema, key: Sequence[str], planned: Sequence[ReleasedColumn], public: Sequence[str]
) -> tuple[list[str], tuple[str, ...]]:
    """Give the columns that will be published, in the source's order, and those that will not."""
    if len({name.lower() for name in schema.names}) < len(schema.names):
        raise InputError("the table has two columns of one name: rename one")
    wanted = {*key, *(column.name for column in planned), *public}
    for name in wanted:
        if name not in schema.names:
            near = get_close_matches(name, schema.names, 1)
            hint = f": did you mean {near[0]}?" if near else f"; it has {', '.join(schema.names)}"
            raise InputError(f"the table has no column {name}{hint}")
    chosen = [name for name in schema.names if name in wanted]
    return chosen, tuple(name for name in schema.names if name not in wanted)


class _Counter:
    """Counts rows on their way to the target."""

    def __init__(self, progress: Callable[[int], None] | None) -> None:
        self.rows = 0
        self._progress = progress

    def through(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            self.rows += batch.num_rows
            if self._progress is not None:
                self._progress(self.rows)


def _perturbed(batches: Iterator[pa.RecordBatch], work: Perturbation, seen: SeenTags) -> Iterator[pa.RecordBatch]:
    """Read ahead, perturb on several cores, and give the batches in their order."""
    line: Queue[Future[tuple[pa.RecordBatch, tuple[Array, Array]]] | None] = Queue(AHEAD)
    stopped = Event()

    def perturb(batch: pa.RecordBatch) -> tuple[pa.RecordBatch, tuple[Array, Array]]:
        released, tags = work.apply(batch)
        return released, arrange(tags)

    with ThreadPoolExecutor(WORKERS + 1) as pool:

        def feed() -> None:
            try:
                for batch in batches:
                    if stopped.is_set():
                        return
                    line.put(pool.submit(perturb, batch))
            finally:
                line.put(None)

        feeder = pool.submit(feed)
        try:
            while (future := line.get()) is not None:
                released, arranged = future.result()
                seen.add(arranged)
                yield released
            feeder.result()
        finally:
            stopped.set()
            while not feeder.done():  # it may be waiting for room in the line
                with suppress(Empty):
                    line.get(timeout=0.01)


def _refuse_repeated(source: TableFile, scratch: Path, work: Perturbation, seen: SeenTags) -> None:
    """Refuse a table in which two rows have one key; suspects are read again and compared in full."""
    suspects = seen.suspects()
    if not suspects.size:
        return
    with source.read(scratch, list(work.row_key.columns)) as reader:
        parts = [tags[np.isin(tags[:, 0], suspects)] for tags in map(work.row_key.tags, source.batches(reader))]
    full = np.concatenate(parts)
    if len(np.unique(full, axis=0)) < len(full):
        raise InputError(
            f"the row key {', '.join(work.row_key.columns)} is not unique: at least {suspects.size} keys name several "
            f"rows, which would share their noise; name more columns"
        )


def plan_columns(
    columns: Mapping[str, Noise | Interval],
    key: Sequence[str],
    batch: str,
    ranges: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
    steps: Mapping[str, str],
    out_of_range: str,
    nulls: str,
) -> list[ReleasedColumn]:
    """Check what was asked for and plan every column; nothing is read yet."""
    if not columns:
        raise InputError("name at least one column to release, with its noise")
    if isinstance(key, str) or not key or len(set(key)) < len(key):
        raise InputError("key must be a list of different columns that together name a row")
    if not isinstance(batch, str) or not batch.strip():
        raise InputError("batch must be a name that no other release of other data has had, such as 2013-q1")
    for stated, what in ((ranges, "range"), (units, "unit"), (steps, "step")):
        if unknown := set(stated) - set(columns):
            raise InputError(f"a {what} is given for {', '.join(sorted(unknown))}, which is not released")
    if out_of_range == "clamp" and set(ranges) != set(columns):
        raise InputError("clamping needs the range of every released column")
    if both := set(columns) & set(key):
        raise InputError(f"{', '.join(sorted(both))} cannot be both key and released: the key is published as it is")
    return [
        ReleasedColumn.plan(
            name,
            wanted,
            step=steps.get(name),
            range=_range(name, ranges.get(name)),
            unit=units.get(name, ""),
            out_of_range=out_of_range,
            nulls=nulls,
        )
        for name, wanted in columns.items()
    ]


def _range(name: str, given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = given
        interval = Interval(low, high)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the range of {name} must be a pair (low, high) with low < high: {problem}") from None
    return interval.low, interval.high
