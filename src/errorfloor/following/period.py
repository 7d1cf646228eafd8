"""One period of a standing question: planned from public facts, read once, kept, and read from there ever after.

*Guarantee*: a period is read in the snapshot in which it was first released, and in no other: which one that is, is
durable before the first look at it. What was read is kept, durably, before anybody sees it. So its figure never
changes, a correction never shows under the same noise, and an erasure does not take the figure away.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from errorfloor.answering.asking import attendant
from errorfloor.answering.kept import KeptAnswer
from errorfloor.answering.known import part_of_it
from errorfloor.answering.packing import pack
from errorfloor.answering.releasing import tags_of, values_before_noise
from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.catalogue import Table
from errorfloor.charging import look
from errorfloor.charging.refusal import lost_parts
from errorfloor.charging.settling import Terms, snapshot_paths, terms_of
from errorfloor.checks import Array
from errorfloor.errors import CatalogueError, RefusedError
from errorfloor.following.block import Block, accounts_of, same_groups
from errorfloor.following.horizon import check_priced
from errorfloor.following.question import FollowedQuestion
from errorfloor.identity import Label
from errorfloor.ledger import Entry, Record
from errorfloor.ledger.shelf import RELEASED
from errorfloor.ledger.terms import Deposit
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.choosing import plan, prepared_for
from errorfloor.preparing.cost import drawing_cost
from errorfloor.preparing.preparation import PlannedQuestion, Prepared, PreparedOutput, ReadQuestion
from errorfloor.pricing import FactsCache
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.plan import Compare, Literal, TableColumn, all_of
from errorfloor.vault import Snapshot, is_current, snapshot

if TYPE_CHECKING:
    from errorfloor.service.database import Database


@dataclass(frozen=True, eq=False)
class ReleasedPeriod:
    """What was released for a period: its groups, a number of steps of the lattice each, and of averages the rows."""

    groups: GroupKeys
    steps: Array
    rows: Array | None

    @classmethod
    def of(cls, kept: KeptAnswer) -> "ReleasedPeriod":
        """Read what was kept."""
        steps, *rows = (arrow.values_of(one) for one in kept.cells.numbers)
        return cls(kept.cells.groups, steps, rows[0] if rows else None)


@dataclass(frozen=True, eq=False)
class PlannedPeriod:
    """A period that is about to be read; nothing private was looked at. ``record`` is of its first release, if any."""

    name: str
    block: Block
    record: Record | None
    prepared: Prepared

    @property
    def plan(self) -> PlannedQuestion:
        """What follows from public facts."""
        return self.prepared.plan

    @property
    def tags(self) -> Array:
        """What the noise of each group goes by."""
        return tags_of(self.prepared.bounds.groups, self.block.key)

    def note(self, about: Mapping[str, Any]) -> dict[str, Any]:
        """Give what the ledger says of its release: in which snapshot, or parts, it is read for ever."""
        taken = self.plan.snapshots[0]
        return {**about, "part": self.name, "version": taken.version, "read": taken.whose[2]}

    def read_and_keep(
        self, database: "Database", followed: FollowedQuestion, said: Mapping[str, Any], noise: Array
    ) -> None:
        """Look, once its release is durable; and keep what is released, with a noise for each group."""
        prepared, block = self.prepared, self.block
        bounds = prepared.bounds
        defined = bounds.outputs[0].defined[bounds.kind]

        def work() -> list[Array] | None:
            values, *rows = values_before_noise(prepared, database._engine)
            if not all(is_current(one, database._engine) for one in prepared.plan.snapshots):
                return None
            safe = DoubleWord(np.where(defined, values.high, 0.0), np.where(defined, values.low, 0.0))
            return [block.steps(safe, noise), *(one.nearest_whole() for one in rows)]

        numbers = look(work)
        pairs = zip(prepared.outputs, numbers, strict=True)
        answered = replace(prepared, outputs=tuple(replace(one, kept=arrow.column(found)) for one, found in pairs))
        database._keeper.put({**said, **self._facts(followed)}, pack(answered))

    def _facts(self, followed: FollowedQuestion) -> dict[str, Any]:
        block, bounds = self.block, self.prepared.bounds
        own = block.part(self.name)
        outputs = [
            {
                "asked": names_of(block, self.name)[place],
                "over": RELEASED,
                "name": one.output.name,
                "unit": one.output.unit,
                "label": own if place == 0 else None,
                "drawn": block.key.id if place == 0 else None,
                "added": block.added.to_dict() if place == 0 else None,
                "constant": None,
                "columns": list(bounded.slopes),
            }
            for place, (one, bounded) in enumerate(zip(self.prepared.outputs, bounds.outputs, strict=True))
        ]
        taken = self.plan.snapshots[0]
        return {
            "version": taken.version,
            "snapshots": [[taken.table_name, *which] for which in taken.identities],
            "cells": len(bounds.groups),
            "left_out": 0,
            "units": [one.unit for one in bounds.groups.columns],
            "keys": [key.value.encoded.hex() for key in followed.read.question.keys],
            "outputs": outputs,
            "wish": {"max_error": block.bound, "period": self.name},
        }


def names_of(block: Block, name: str) -> tuple[str, str]:
    """Give the names by which the figures of a period, and its numbers of rows, are kept."""
    own = f"{block.part(name)} {block.drawn}"  # another ledger with the same key draws other noise
    first, second = (hashlib.sha256(f"errorfloor {what} {own}".encode()).hexdigest() for what in ("figures", "rows"))
    return first, second


def kept_periods(database: "Database", wanted: Collection[tuple[Block, str]]) -> dict[str, ReleasedPeriod]:
    """Give those periods that are kept, by name."""
    asked = {names_of(block, name)[0]: name for block, name in wanted}
    return {asked[one]: ReleasedPeriod.of(kept) for one, kept in database._keeper.found(list(asked)).items()}


def planned(
    database: "Database",
    followed: FollowedQuestion,
    block: Block,
    name: str,
    current: Callable[[], tuple[Snapshot, Sequence[str]]],
    record: Record | None = None,
) -> PlannedPeriod:
    """Bound the question for one period, and check that it is what was priced; public facts only.

    ``record`` says from which snapshot, or which parts of a table that grows, it was released: no other is read. One
    that was not is read in the ``current`` table, of which some parts may be lost.
    """
    engine, catalogue, asked_of = database._engine, database.catalogue, followed.read.question
    table_name, (first, last) = asked_of.table, block.horizon.days[name]
    day = TableColumn(0, followed.column, "date")
    within = [Compare("<=", Literal(first, "date"), day), Compare("<=", day, Literal(last, "date"))]
    asked = replace(asked_of, where=all_of([asked_of.where, *within]))
    if record is None:
        whole, lost = current()
        taken = part_of_it(whole, asked, lost) if whole.parts else whole
        ends = " AND ".join(map(engine.dialect.literal, (first, last)))
        rows = f"{taken.relation} AS r WHERE {taken.columns[followed.column]} BETWEEN {ends}"
        if not engine.query(f"SELECT 1 AS one FROM {rows} LIMIT 1").num_rows:
            raise RefusedError(f"{table_name} has no row of {name} yet: register it first", reason="follow")
    else:
        pinned = [tuple(one) for one in cast(list[list[str]], record.note["read"])]
        table = _as_it_was(catalogue.tables[table_name], str(record.note["version"]), pinned)
        catalogue = catalogue.model_copy(update={"tables": {**catalogue.tables, table_name: table}})
        try:
            taken = snapshot(catalogue, table_name, engine).reading([part for part, _, _ in pinned])
        except CatalogueError:
            raise gone(table_name, name) from None
        if taken.whose[2] != tuple(pinned):
            raise gone(table_name, name)
    asked = replace(asked, version=taken.table.version)
    found = plan(ReadQuestion("", asked, taken.table, (taken,)), catalogue, engine, FactsCache())
    check_priced(found, name, followed.owner_rows, block.added)
    sums, *rest = found.question.outputs
    outputs = (
        PreparedOutput(sums, CellNoise.same(block.added, len(found.bounds.rows)), Label("follow", (name,))),
        *(PreparedOutput(one, None) for one in rest),
    )
    return PlannedPeriod(name, block, record, prepared_for(found, outputs, engine))


def as_it_is(database: "Database", table: str) -> tuple[Snapshot, Sequence[str]]:
    """Give a table as it is declared and registered now, and which of its parts are lost."""
    whole = snapshot(database.catalogue, table, database._engine)
    return whole, lost_parts(database.ledger, whole) if whole.parts else ()


def gone(table: str, name: str) -> CatalogueError:
    """Say that a period cannot be read any more."""
    return CatalogueError(
        f"{name} was first released from a snapshot of {table} that is not in the vault any more, or was declared "
        f"otherwise, what was released is not kept, and it is never read from another one: put back what was there. If "
        f"it was erased, cancel this question and follow one that begins later",
        table=table,
    )


def _as_it_was(table: Table, version: str, pinned: Sequence[tuple[str, ...]]) -> Table:
    """Give the declaration of the versions, of a table or of its parts, in which a period was released."""
    if table.grows_by is None:
        return table.model_copy(update={"version": version})
    corrected = table.grows_by.corrected | {name: version for name, version, _ in pinned}
    return table.model_copy(update={"grows_by": table.grows_by.model_copy(update={"corrected": corrected})})


def release_periods(
    database: "Database",
    followed: FollowedQuestion,
    missing: Sequence[tuple[Block, str]],
    about: Mapping[str, Any],
    said: Mapping[str, Any],
    shown: Collection[ReleasedPeriod],
    blocks: Sequence[Block],
) -> None:
    """Release some periods, all or none, unless the process dies between two of them.

    ``shown`` are those that are released and come along, of any of ``blocks``. Noise is drawn before anything is
    pinned, while it can be stopped. Everything up to the first look follows from public facts;
    whatever is refused is refused before any period is pinned to a snapshot.
    """
    ledger = database.ledger
    records = ledger.found({block.part(name) for block, name in missing})
    current = cache(partial(as_it_is, database, followed.read.question.table))
    plans = [
        planned(database, followed, block, name, current, records.get(block.part(name))) for block, name in missing
    ]
    attending = attendant()
    key = blocks[0].key
    first, places = same_groups([*(tags_of(one.groups, key) for one in shown), *(one.tags for one in plans)])
    lacking = int((np.bincount(np.concatenate(places)) < len(places)).sum())  # these are drawn again to be shown
    again = sum(drawing_cost(lacking, len(one.horizon.names)) for one in blocks)
    groups = max(len(one.prepared.bounds.groups) for one in plans)
    now = {one.block: drawing_cost(groups, len(one.block.horizon.names)) for one in plans}
    attending.showing(len(first) * len(places), again + sum(now.values()))
    attending.releasing([one.prepared for one in plans], again)
    drawn = _drawn(plans)
    attending.charging()
    plans = list(_pinned(database, followed, plans, current, about))
    attending.looking(None, (), [one.block.part(one.name) for one in plans])
    facts = {**said, "time": ledger.time(), "outlives": not followed.names_somebody}
    for one in plans:
        noise = drawn[one] if one in drawn else _drawn([one])[one]
        one.read_and_keep(database, followed, facts, noise)


def _drawn(plans: Sequence[PlannedPeriod]) -> dict[PlannedPeriod, Array]:
    """Draw the noise of periods, once for all of a block."""
    found: dict[PlannedPeriod, Array] = {}
    for block in {one.block: None for one in plans}:
        mine = [one for one in plans if one.block is block]
        tags = [one.tags for one in mine]
        first, places = same_groups(tags)
        noise = block.noise(np.concatenate(tags)[first], [one.name for one in mine])
        found |= {one: noise[place, column] for column, (one, place) in enumerate(zip(mine, places, strict=True))}
    return found


def _pinned(
    database: "Database",
    followed: FollowedQuestion,
    plans: Sequence[PlannedPeriod],
    current: Callable[[], tuple[Snapshot, Sequence[str]]],
    about: Mapping[str, Any],
) -> Iterator[PlannedPeriod]:
    """Make durable which snapshot each period is read in; where another process was first, it is that one's."""
    ledger, entries = database.ledger, []
    parts: Terms = {}
    for one in plans:
        if one.record is None:
            taken = one.plan.snapshots[0]
            if taken.parts:
                parts |= {path: {"identity": part} for path, part in snapshot_paths(taken.table_name, taken)}
            ledger.check(terms_of(taken.table_name, one.plan.table, accounts_of(followed), one.plan.snapshots))
            ledger.check_belong(Deposit(taken.table_name, *which) for which in taken.identities)
            entries.append(Entry(one.block.part(one.name), {}, one.note(about)))
    if parts:  # as a charge does, so that nothing leaves them out when the vault has lost them
        ledger.enter({"event": "read", "table": followed.read.question.table}, parts)
    if entries:
        ledger.charge(entries, {}, {})
    records = ledger.found({one.block.part(one.name) for one in plans})
    for one in plans:
        record = records[one.block.part(one.name)]
        is_mine = record.note["read"] == json.loads(json.dumps(one.plan.snapshots[0].whose[2]))
        yield one if is_mine else planned(database, followed, one.block, one.name, current, record)
