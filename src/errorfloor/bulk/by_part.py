"""The release of a table that grows, part by part: what was released of a part stays as it is, and free.

*Guarantee* (``by_part.proof.md``): the numbers that leave for a part's rows, and what they are charged under, follow
from that part alone; and the charge of several parts bounds what one entry, or one owner, can do to all of them.
"""

import json
from collections.abc import Generator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from errorfloor.accounts import NOTHING
from errorfloor.bulk.ascent import AscentWatch, DescentError
from errorfloor.bulk.charging import charges, exposure
from errorfloor.bulk.flow import Counter, perturbed
from errorfloor.bulk.perturbation import Perturbation, noise_label
from errorfloor.bulk.report import Release
from errorfloor.bulk.request import Request
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.bulk.tables import TableFile
from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import together
from errorfloor.engines import Engine
from errorfloor.identity import Key
from errorfloor.ledger import Entry, Ledger
from errorfloor.pricing import Account, Charge
from errorfloor.vault import Snapshot


@dataclass(frozen=True)
class ReleasedPart:
    """One part of a table, as a request to release it alone; a table that does not grow has one part without a name.

    >>> list(ReleasedPart.__annotations__)
    ['name', 'request', 'source']
    """

    name: str
    request: Request
    source: SnapshotTable

    @property
    def snapshot(self) -> Snapshot:
        """What it is released from."""
        return self.source.snapshot


def parts_of(request: Request, taken: Snapshot, vault: Path) -> tuple[ReleasedPart, ...]:
    """Give the parts of a table that grows, in their order."""
    found = []
    for part in taken.parts:
        alone = taken.reading([part.name])
        source = SnapshotTable(vault / f"{part.key}.duckdb", alone)
        found.append(ReleasedPart(part.name, replace(request, declared=alone.whose), source))
    return tuple(found)


def entry_of(
    column: RuledColumn,
    parts: Sequence[ReleasedPart],
    schema: pa.Schema,
    note: dict[str, Any],
    key: Key,
    catalogue: Catalogue,
    ledger: Ledger,
    engine: Engine,
) -> Entry:
    """Give what the release of a column costs: a label for each part, and the charges of those that are not free yet.

    Public columns of parts that are free are not read.
    """
    labels = {
        key.release_id(noise_label(schema, column, part.request.key, part.request.naming)): part for part in parts
    }
    free = ledger.known(labels) if len(parts) > 1 else frozenset[str]()
    costs = {
        label: cost_of(column, part.snapshot, catalogue, engine) for label, part in labels.items() if label not in free
    }

    def entry(chosen: Sequence[str]) -> Entry:
        read = {one.name: one.version for label in chosen for one in labels[label].snapshot.parts}
        each = [costs[label] for label in chosen if label in costs]
        cost = together(each) if each else _nothing(column, parts[0].snapshot)
        return Entry(chosen[0], cost, {**note, **({"parts": read} if read else {})}, tuple(chosen[1:]), entry)

    return entry(tuple(labels))


def cost_of(column: RuledColumn, taken: Snapshot, catalogue: Catalogue, engine: Engine) -> dict[Account, Charge]:
    """Give what the release of a column of a snapshot costs each account."""
    shown = exposure(catalogue, taken, column.name, engine)
    return charges(column, taken.table.private[column.name], taken.table_name, shown, exact=taken.table.exact)


def _nothing(column: RuledColumn, taken: Snapshot) -> dict[Account, Charge]:
    """Name the accounts of what is free, so that it is said how they stand."""
    found = {Account(taken.table_name, column.name, ""): NOTHING}
    owner = taken.table.owner
    if owner is not None and not taken.table.divided_by:
        found[Account(owner.accounts_of(taken.table_name), "", "")] = NOTHING
    return found


@dataclass(frozen=True)
class CopyingParts:
    """Copies the rows of parts into one file, part after part, each in the order of its keys and with its own noise."""

    parts: tuple[ReleasedPart, ...]
    outlet: TableFile
    scratch: Path
    columns: tuple[str, ...]
    secret: Key
    report: Release

    def run(self) -> int:
        """Write the target and give the number of its rows; all are sorted if those of some part do not ascend."""
        with suppress(DescentError):
            return self._run(is_sorted=False)
        return self._run(is_sorted=True)

    def _run(self, *, is_sorted: bool) -> int:
        request = self.parts[0].request
        counted = Counter(request.progress)
        with ExitStack() as stack:
            rows = stack.enter_context(closing(self._rows(is_sorted=is_sorted)))
            schema = next(rows).schema
            self.outlet.write(
                self.scratch,
                schema,
                counted.through(rows),
                {"errorfloor": json.dumps(self.report.to_dict() | {"rows": None})},
                lambda: None,  # a snapshot never changes
                request.overwrite,
            )
        return counted.rows

    def _rows(self, *, is_sorted: bool) -> Generator[pa.RecordBatch, None, None]:
        """Give the released rows in batches, and before them one without rows."""
        for place, part in enumerate(self.parts):
            request = part.request
            with part.source.read(self.scratch, self.columns, request.key if is_sorted else ()) as reader:
                named = request.columns, request.key, request.naming
                work = Perturbation.prepare(reader.schema, *named, self.secret)
                watch = AscentWatch(request, is_sorted=is_sorted)
                if place == 0:
                    yield pa.RecordBatch.from_pylist([], schema=work.schema(reader.schema))
                with closing(perturbed(part.source.batches(reader), work, watch)) as batches:
                    yield from batches
                watch.settle()
