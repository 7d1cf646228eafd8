"""How many rows each owner has in each group: public, and what owners' accounts are charged by."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import EngineError
from errorfloor.pricing.fetch import FactsCache, rows_of
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql import arrow
from errorfloor.sql import compile as compiled
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import TableColumn
from errorfloor.sql.question import Question
from errorfloor.vault import Snapshot

MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class OwnerCounts:
    """``count[i]`` rows of owner number ``owner[i]`` in group number ``group[i]``.

    Owners' names are not kept. Beyond ``MOST_PAIRS`` pairs all owners are taken for one that has in each group as many
    rows as the owner with most of them: more is charged than need be, never less.

    >>> OwnerCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([30, 28, 31])).owners
    2
    """

    group: Array
    owner: Array
    count: Array

    @cached_property
    def owners(self) -> int:
        """The number of owners."""
        return int(self.owner.max(initial=-1)) + 1

    def only(self, kept: Array) -> "OwnerCounts":
        """Give the counts of some of the groups, which are numbered anew."""
        if kept.all():
            return self
        pairs = kept[self.group]
        return OwnerCounts((np.cumsum(kept) - 1)[self.group[pairs]], self.owner[pairs], self.count[pairs])


def owner_counts(
    question: Question,
    owner: TableColumn,
    groups: int,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
    cache: FactsCache | None,
) -> OwnerCounts:
    """Count the rows of each owner in each of so many ``groups``, numbered in the order of their keys."""
    key = ("owners", *rows_of(question, snapshots), owner.canonical)
    found: OwnerCounts | None = cache.find(key) if cache is not None else None
    if found is None:
        found = _fetched(question, owner, groups, snapshots, engine, layout)
        if cache is not None:
            cache.keep(key, found, 3 * len(found.group))
    return found


def _fetched(
    question: Question,
    owner: TableColumn,
    groups: int,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
) -> OwnerCounts:
    each, scalars = (
        compiled.owners(question, snapshots, owner, engine.dialect, layout),
        [k.value for k in question.keys],
    )
    if snapshots[0].rows > MOST_PAIRS and _pairs(each, engine) > MOST_PAIRS:
        keys = "".join(f"k{j}, " for j in range(len(scalars)))
        grouped = f" GROUP BY {keys[:-2]}" if keys else ""
        most = f"SELECT {keys}max(n) AS n FROM ({each}) AS each_owner{grouped}"
        result = engine.query(compiled.ordered(most, scalars, engine.dialect))
        numbers = np.zeros(result.num_rows, dtype=np.int32)
    else:
        result = engine.query(compiled.ordered(each, scalars, engine.dialect))
        codes = result.column("o").combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = arrow.values_of(codes.indices)
    # rows come in the order of their groups, so that sums over an owner's groups have one order on every engine
    group = GroupKeys.of(result, scalars, layout).numbered().astype(np.int32)
    if group.max(initial=-1) + 1 > groups:
        raise EngineError("an engine gave other groups for owners than for all rows", engine=engine.name)
    return OwnerCounts(group, numbers, arrow.whole_numbers(result.column("n")))


def _pairs(each: str, engine: Engine) -> int:
    found = engine.query(f"SELECT count(*) AS pairs FROM ({each}) AS each_owner")
    return int(found.column("pairs")[0].as_py())
