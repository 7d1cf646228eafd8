"""The release of whole columns: every value carries noise of its own, which stays the same for its key and batch."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from errorfloor.bulk.files import release_file
from errorfloor.bulk.report import Release
from errorfloor.bulk.request import Request, plan_columns
from errorfloor.bulk.tables import TableFile
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing
from errorfloor.noise import Noise
from errorfloor.policies import Policy
from errorfloor.support import Interval


def release(
    source: Any,
    target: str | Path,
    *,
    columns: Mapping[str, Noise | Interval | Policy],
    batch: str,
    key: Sequence[str] | None = None,
    keys: KeyRing | str | Path | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
    steps: Mapping[str, str] | None = None,
    out_of_range: str | None = None,
    nulls: str | None = None,
    table: str | None = None,
    target_table: str | None = None,
    public: Sequence[str] = (),
    order_is_public: bool = False,
    again: bool = False,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Write a copy of a table in which some columns carry noise.

    Guarantee: each released number minus the true one lies in the interval given for its column, or the number itself
    in the outputs of its policy; it tells about the true one no more than the report says. What is drawn for a value
    follows from the key, the batch, the row's key and the column, so the same release made again is the same file, and
    no two batches share noise. A register beside the key file knows released rows again, however they are stored.

    A catalogue as source means its registered ``table``: the release is charged to the table's accounts before a
    private column is read, what was charged before is free, and the catalogue says what ``key``, ``keys``, ``ranges``,
    ``units``, ``out_of_range``, ``nulls`` and ``public`` say otherwise.

    Parameters
    ----------
    source, target
        Files ending in .parquet, .csv, .arrow, .feather or .duckdb; or a Spark data frame and the folder of Parquet
        files to write (extra ``spark``); or a catalogue ending in .toml and such a file (extra ``sql``).
    table, target_table
        The tables meant in DuckDB files; the declared table in a catalogue.
    columns
        For each column an interval that the noise must not leave, or a noise; or a policy, whose draws at the true
        values, clamped as ``out_of_range`` says, then stand in place of them and never leave its outputs.
    key
        Columns that together name a row; no two rows may share them.
    batch
        A name that no other release of other data has had, such as "2013-q1".
    keys
        The key ring, or the path of its file.
    ranges, units, steps
        Declared range, unit and lattice step, by column.
    out_of_range, nulls
        "refuse" (the default) or "clamp" what lies outside a range; "keep" (the default) or "refuse" nulls.
    public
        Columns that are published as they are; what is neither key, nor released, nor public is left out.
    order_is_public
        Rows leave sorted by their key, as their order might tell something; True keeps the order of the source.
    again
        Allow a second draw of rows that were released under another batch name: it is another answer.
    overwrite
        Replace an existing target.
    progress
        Called with the number of rows written so far; the count begins again where rows turn out to need sorting.

    Raises
    ------
    InputError
        What was given or found cannot be used; nothing was released.
    AllowanceError
        The release of a declared table would break a floor; nothing was charged, read or written.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet
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
    if isinstance(source, str | Path) and Path(source).suffix.lower() == ".toml":
        from errorfloor.bulk.declared import Wanted, refuse_declared, release_table

        refuse_declared(
            {
                "key": key,
                "keys": keys,
                "ranges": ranges,
                "units": units,
                "out_of_range": out_of_range,
                "nulls": nulls,
                "public": public,
                "order_is_public": order_is_public,
                "again": again,
            }
        )
        wanted = Wanted(columns, batch, steps or {}, overwrite, progress)
        return release_table(Path(source), table, TableFile.of(target, target_table), wanted)
    if keys is None:
        raise InputError("keys is missing: name the key file to draw with, or release a declared table of a catalogue")
    planned = plan_columns(
        columns, key or (), batch, ranges or {}, units or {}, steps or {}, out_of_range or "refuse", nulls or "keep"
    )
    request = Request(
        columns=planned,
        key=tuple(key or ()),
        batch=batch,
        ring=keys if isinstance(keys, KeyRing) else KeyRing(keys),
        public=tuple(public),
        order_is_public=order_is_public,
        again=again,
        overwrite=overwrite,
        progress=progress,
    )
    if isinstance(source, str | Path):
        return release_file(request, TableFile.of(source, table), TableFile.of(target, target_table))
    if not type(source).__module__.startswith("pyspark."):
        raise InputError(f"source must be the name of a file or a Spark data frame, got {type(source).__name__}")
    if table is not None or target_table is not None:
        raise InputError("a Spark data frame is released into a folder: leave out table and target_table")
    if "://" in str(target):
        raise InputError(f"{target} is not a path: name a folder on a file system that all machines of Spark share")
    from errorfloor.bulk.spark import release_frame

    return release_frame(request, source, Path(target))
