"""A release from file to file, on one machine."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa

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
        copying = Copying(request, inlet, outlet, scratch, tuple(chosen), before, secret, report, enter)
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


class Inlet(Protocol):
    """A table that is read a batch at a time: a file, or a registered snapshot."""

    @property
    def path(self) -> Path:
        """The file that holds it."""

    def stamp(self) -> tuple[int, ...]:
        """Give what changes when somebody writes to it."""

    def read(self, scratch: Path, columns: Sequence[str], order: Sequence[str] = ()) -> AbstractContextManager[Any]:
        """Open some columns as a stream of batches, sorted by ``order`` or, without it, as they are stored."""

    def batches(self, reader: Any) -> Iterator[pa.RecordBatch]:
        """Give the rows of a reader in batches of a fixed size, the last one less."""


@dataclass(frozen=True)
class Copying:
    """What stays the same whether rows are taken as they are stored or have to be sorted.

    ``enter`` is told what the rows hold, by column, once they are all drawn and before the target can be seen.
    """

    request: Request
    inlet: Inlet
    outlet: TableFile
    scratch: Path
    columns: tuple[str, ...]
    before: tuple[int, ...]
    secret: Key
    report: Release
    enter: Callable[[Mapping[str, Holding]], None] | None = None

    def run(self) -> int:
        """Write the target and give the number of its rows; they are sorted if they do not ascend by their key."""
        with suppress(DescentError):
            return self._run(order=())
        return self._run(order=self.request.key)

    def _run(self, order: Sequence[str]) -> int:
        """Write the target and give the number of its rows; DescentError if rows in no order were to ascend."""
        request, counted = self.request, Counter(self.request.progress)
        with ExitStack() as stack:
            reader = stack.enter_context(self.inlet.read(self.scratch, self.columns, order))
            work = Perturbation.prepare(reader.schema, request.columns, request.key, request.naming, self.secret)
            watch: Watch = AscentWatch(request, is_sorted=bool(order))
            if self.enter is not None:
                content = Content.prepare(reader.schema, request.columns, request.key, request.keys.keys[0])
                watch = ContentWatch(content, watch, self.enter)

            # closed before the reader is, which a thread may still be reading
            rows = stack.enter_context(closing(perturbed(self.inlet.batches(reader), work, watch)))

            def check() -> None:
                watch.settle()
                if self.inlet.stamp() != self.before:
                    raise InputError(f"{self.inlet.path} changed while it was read: nothing was released; try again")

            self.outlet.write(
                self.scratch,
                work.schema(reader.schema),
                counted.through(rows),
                {"errorfloor": json.dumps(self.report.to_dict() | {"rows": None})},
                check,
                request.overwrite,
            )
        return counted.rows
