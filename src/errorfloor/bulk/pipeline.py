"""The release of whole columns: every value carries noise of its own, which stays the same for its key and batch."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from errorfloor.bulk.files import release_file
from errorfloor.bulk.report import Release
from errorfloor.bulk.request import Request, Wanted, plan_columns
from errorfloor.bulk.tables import TableFile
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing


def release(
    source: str | Path,
    target: str | Path,
    *,
    columns: Mapping[str, Wanted],
    key: Sequence[str] = (),
    batch: str,
    keys: KeyRing | str | Path | None = None,
    public: Sequence[str] = (),
    allow: Collection[str] = (),
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Release:
    """Write a copy of a file in which some columns carry noise; a declared table has ``Database.release``.

    Guarantee: each released number minus the true one lies in the interval given for its column, or the number itself
    in the outputs of its policy; it tells about the true one no more than the report says. What is drawn for a value
    follows from the key, the batch, the row's key and the column, so the same release made again is the same file, and
    no two batches share noise. A register beside the key file knows released rows again, however they are stored.

    Parameters
    ----------
    source, target
        Files ending in .parquet, .csv, .arrow or .feather, or a table of a DuckDB file as file.duckdb::table.
    columns
        For each column its noise: an interval that it must not leave, a noise, or a policy; or a ``Column`` of one of
        them, which says the declared range, the unit and more.
    key
        Columns that together name a row; no two rows may share them.
    batch
        A name that no other release of other data has had, such as "2013-q1".
    keys
        The key ring, or the path of its file.
    public
        Columns that are published as they are; what is neither key, nor released, nor public is left out. Rows leave
        sorted by their key, for the order of the source might tell something.
    allow
        "again" allows a second draw of rows that were released under another batch name: it is another answer.
    overwrite
        Replace an existing target.
    progress
        Called with the number of rows written so far; the count begins again where rows turn out to need sorting.

    Raises InputError if what was given or found cannot be used; nothing was released.

    >>> import tempfile, pyarrow as pa, pyarrow.parquet
    >>> from errorfloor.bulk import Column
    >>> from errorfloor.support import Interval
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     here = Path(folder)
    ...     ring = KeyRing.create(here / "keys.json")
    ...     pyarrow.parquet.write_table(pa.table({"id": [1, 2, 3], "kwh": [9.0, 10.5, 11.0]}), here / "in.parquet")
    ...     kwh = Column(Interval(0, 0.5), range=(0, 50), unit="kWh")
    ...     options = {"columns": {"kwh": kwh}, "key": ["id"], "batch": "2013-q1", "keys": ring}
    ...     report = release(here / "in.parquet", here / "out.parquet", **options)
    ...     released = pyarrow.parquet.read_table(here / "out.parquet")["kwh"].to_numpy()
    >>> bool(((released >= [9.0, 10.5, 11.0]) & (released <= [9.5, 11.0, 11.5])).all()), report.rows
    (True, 3)
    """
    if not isinstance(source, str | Path):
        raise InputError(f"source must be the name of a file, got {type(source).__name__}: write it to Parquet first")
    if Path(source).suffix.lower() == ".toml":
        raise InputError(
            f"{source} is a catalogue: its tables are released by the database, "
            f"ef.open({str(source)!r}).release('meters', {str(target)!r}, columns={{…}}, batch={batch!r})"
        )
    if keys is None:
        raise InputError("keys is missing: name the key file to draw with, or release a declared table of a catalogue")
    if isinstance(allow, str) or not set(allow) <= {"again"}:
        raise InputError(f"allow is ['again'] or nothing, got {allow!r}: rows leave sorted by their key, always")
    request = Request(
        columns=plan_columns(columns, key, batch),
        key=tuple(key),
        batch=batch,
        ring=keys if isinstance(keys, KeyRing) else KeyRing(keys),
        public=tuple(public),
        again="again" in allow,
        overwrite=overwrite,
        progress=progress,
    )
    return release_file(request, TableFile.of(source), TableFile.of(target))
