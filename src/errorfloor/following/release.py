"""Releasing periods of a standing question: say durably in which snapshots they are read, look, and keep."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.answering.asking import attendant
from errorfloor.answering.releasing import tags_of
from errorfloor.charging.settling import terms_of
from errorfloor.checks import Array
from errorfloor.following.block import Block, accounts_of, same_groups
from errorfloor.following.period import PlannedPeriod, ReleasedPeriod, planned
from errorfloor.following.question import FollowedQuestion
from errorfloor.ledger import Entry
from errorfloor.ledger.terms import Deposit
from errorfloor.preparing.cost import drawing_cost

if TYPE_CHECKING:
    from errorfloor.service.database import Database


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
    plans = [planned(database, followed, block, name, records.get(block.part(name))) for block, name in missing]
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
    plans = list(_pinned(database, followed, plans, about))
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
    database: "Database", followed: FollowedQuestion, plans: Sequence[PlannedPeriod], about: Mapping[str, Any]
) -> Iterator[PlannedPeriod]:
    """Make durable which snapshot each period is read in; where another process was first, it is that one's."""
    ledger, entries = database.ledger, []
    for one in plans:
        if one.record is None:
            taken = one.plan.snapshots[0]
            ledger.check(terms_of(taken.table_name, one.plan.table, accounts_of(followed), one.plan.snapshots))
            ledger.check_belong(Deposit(taken.table_name, *which) for which in taken.identities)
            entries.append(Entry(one.block.part(one.name), {}, one.note(about)))
    if entries:
        ledger.charge(entries, {}, {})
    records = ledger.found({one.block.part(one.name) for one in plans})
    for one in plans:
        record = records[one.block.part(one.name)]
        is_mine = record.note["read"] == json.loads(json.dumps(one.plan.snapshots[0].whose[2]))
        yield one if is_mine else planned(database, followed, one.block, one.name, record)
