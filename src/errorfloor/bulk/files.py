"""A release from file to file, on one machine."""

import json
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.bulk.ascent import AscentWatch, DescentError
from errorfloor.bulk.content import Content, ContentWatch
from errorfloor.bulk.flow import Counter, Watch, perturbed
from errorfloor.bulk.holding import Holding
from errorfloor.bulk.perturbation import Perturbation
from errorfloor.bulk.register import Register, file_digest
from errorfloor.bulk.report import Release
from errorfloor.bulk.request import Request
from errorfloor.bulk.tables import TableFile
from errorfloor.bulk.workplace import workplace
from errorfloor.errors import InputError
from errorfloor.identity import Key

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
