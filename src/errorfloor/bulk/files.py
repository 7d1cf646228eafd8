"""The release of plain files: every value carries noise of its own, which stays the same for its key and batch."""

import json
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.bulk.ascent import AscentWatch, DescentError
from errorfloor.bulk.content import Content, ContentWatch, Holding
from errorfloor.bulk.perturbation import Counter, Perturbation, Watch, perturbed
from errorfloor.bulk.register import Register, file_digest
from errorfloor.bulk.request import Release, Request, Wanted, plan_columns
from errorfloor.bulk.tables import TableFile, workplace
from errorfloor.errors import InputError
from errorfloor.identity import Key, KeyRing

if TYPE_CHECKING:
    from errorfloor.bulk.snapshots import SnapshotTable


def release_file(request: Request, inlet: TableFile, outlet: TableFile) -> Release:
    """Release a table, if the register lets it before it is seen; what fails leaves neither a file nor an entry."""
    check_target(outlet, [inlet.path], overwrite=request.overwrite)
    with workplace(outlet.path) as scratch:
        chosen, left_out = request.choose(inlet.schema())
        before = inlet.stamp()
        register = Register(request)
        secret = register.secret()
        known_as = [file_digest(inlet.path, inlet.table, request.keys)]

        def enter(held: Mapping[str, Holding]) -> None:
            register.enter(held, secret, known_as)

        report = request.report(outlet.path, secret.id, chosen, left_out)

        def check() -> None:
            if inlet.stamp() != before:
                raise InputError(f"{inlet.path} changed while it was read: nothing was released; try again")

        source = [(request, inlet)]
        copying = Copying(source, outlet, scratch, tuple(chosen), secret, report, enter, check)
        with register.pending():
            rows = copying.run()
    return replace(report, rows=rows)


def check_target(outlet: TableFile, sources: Iterable[Path], *, overwrite: bool) -> None:
    """Refuse a target that cannot be written, or must not: it is there already, or it is what is released."""
    for source in sources:
        if source.resolve() == outlet.path.resolve():
            raise InputError(f"source and target are both {source}: a release is a copy")
        if source.is_dir() and source.resolve() in outlet.path.resolve().parents:
            raise InputError(f"{outlet.path} would be among the files of the source {source}: choose another")
    if not outlet.path.parent.is_dir():
        raise InputError(f"there is no folder {outlet.path.parent} to write to")
    if outlet.path.is_dir() or (not overwrite and outlet.exists()):
        raise InputError(f"{outlet.path} exists already: choose another name, or allow it with overwrite (--overwrite)")


@dataclass(frozen=True)
class Copying:
    """Copies the rows of a source, or of one part after the other, into one file, each in the order of its keys.

    Each part is what is asked of it, and where its rows are. ``enter`` is told what rows hold, by column, once they are
    all drawn, and ``check`` is called then; only after both the target can be seen.
    """

    parts: "Sequence[tuple[Request, TableFile | SnapshotTable]]"
    outlet: TableFile
    scratch: Path
    columns: tuple[str, ...]
    secret: Key
    report: Release
    enter: Callable[[Mapping[str, Holding]], None] | None = None
    check: Callable[[], None] = lambda: None

    def run(self) -> int:
        """Write the target and give the number of its rows; all are sorted if those of some part do not ascend."""
        with suppress(DescentError):
            return self._run(is_sorted=False)
        return self._run(is_sorted=True)

    def _run(self, *, is_sorted: bool) -> int:
        request, _ = self.parts[0]
        counted = Counter(request.progress)
        metadata = {"errorfloor": json.dumps(self.report.to_dict() | {"rows": None})}
        with closing(self._rows(is_sorted=is_sorted)) as rows:
            schema, released = next(rows), counted.through(rows)
            self.outlet.write(self.scratch, schema, released, metadata, self.check, request.overwrite)
        return counted.rows

    def _rows(self, *, is_sorted: bool) -> Generator[Any, None, None]:
        """Give the schema of what is released, and then its rows in batches."""
        for place, (request, source) in enumerate(self.parts):
            with source.read(self.scratch, self.columns, request.key if is_sorted else ()) as reader:
                work = Perturbation.prepare(reader.schema, request.columns, request.key, request.naming, self.secret)
                watch: Watch = AscentWatch(request, is_sorted=is_sorted)
                if self.enter is not None:
                    content = Content.prepare(reader.schema, request.columns, request.key, request.keys.keys[0])
                    watch = ContentWatch(content, watch, self.enter)
                if place == 0:
                    yield work.schema(reader.schema)
                # closed before the reader is, which a thread may still be reading
                with closing(perturbed(source.batches(reader), work, watch)) as batches:
                    yield from batches
                watch.settle()


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
