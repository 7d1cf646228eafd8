"""How many rows each owner has in each group: public, and what owners' accounts are charged by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.identity import Part
from errorfloor.pricing.fetch import FactsCache, canonical_groups, rows_of
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

    @property
    def owners(self) -> int:
        """The number of owners."""
        return int(self.owner.max(initial=-1)) + 1


def owner_counts(
    question: Question,
    owner: TableColumn,
    groups: Sequence[tuple[Part, ...]],
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
    cache: FactsCache | None,
) -> OwnerCounts:
    """Count the rows of each owner in each group, numbered as in ``groups``."""
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
    groups: Sequence[tuple[Part, ...]],
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
) -> OwnerCounts:
    each = compiled.owners(question, snapshots, owner, engine.dialect, layout)
    keys = "".join(f"k{j}, " for j in range(len(question.keys)))
    if snapshots[0].rows > MOST_PAIRS and _pairs(each, engine) > MOST_PAIRS:
        grouped = f" GROUP BY {keys[:-2]}" if keys else ""
        result = engine.query(f"SELECT {keys}max(n) AS n FROM ({each}) AS each_owner{grouped}")
        numbers = np.zeros(result.num_rows, dtype=np.int32)
    else:
        result = engine.query(each)
        codes = result.column("o").combine_chunks().dictionary_encode(null_encoding="encode")
        numbers = codes.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    own, place = canonical_groups(result, question, layout)
    number = {group: i for i, group in enumerate(groups)}
    place = np.array([number[group] for group in own], dtype=np.int32)[place]
    count = result.column("n").combine_chunks().to_numpy(zero_copy_only=False)
    order = np.argsort(place, kind="stable")  # sums over an owner's groups then have one order on every engine
    return OwnerCounts(place[order], numbers[order], count[order].astype(np.int64))


def _pairs(each: str, engine: Engine) -> int:
    found = engine.query(f"SELECT count(*) AS pairs FROM ({each}) AS each_owner")
    return int(found.column("pairs")[0].as_py())
