"""The release of a table that grows, part by part: what was released of a part stays as it is, and free.

*Guarantee* (``by_part.proof.md``): the numbers that leave for a part's rows, and what they are charged under, follow
from that part alone; and the charge of several parts bounds what one entry, or one owner, can do to all of them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from errorfloor.accounts import NOTHING
from errorfloor.bulk.charging import charges, exposure
from errorfloor.bulk.perturbation import noise_label
from errorfloor.bulk.request import Request
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.bulk.snapshots import SnapshotTable
from errorfloor.catalogue import Catalogue
from errorfloor.charging.settling import together
from errorfloor.engines import Engine
from errorfloor.ledger import Entry
from errorfloor.pricing import Account, Charge
from errorfloor.vault import Snapshot

if TYPE_CHECKING:
    from errorfloor.service.database import Database


@dataclass(frozen=True)
class ReleasedPart:
    """One part of a table, as a request to release it alone; a table that does not grow has one part without a name."""

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
    database: "Database",
) -> Entry:
    """Give what the release of a column costs: a label for each part, and the charges of those that are not free yet.

    Public columns of parts that are free are not read.
    """
    labels = {
        database._key.release_id(noise_label(schema, column, part.request.key, part.request.naming)): part
        for part in parts
    }
    free = database.ledger.known(labels) if len(parts) > 1 else frozenset[str]()
    costs = {
        label: cost_of(column, part.snapshot, database.catalogue, database._engine)
        for label, part in labels.items()
        if label not in free
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
