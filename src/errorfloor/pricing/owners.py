"""How many rows each owner has in each group: public, and what owners' accounts are charged by."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.catalogue.model import Owner, Period, Table
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import EngineError
from errorfloor.identity import Part
from errorfloor.pricing.facts import FactsCache, rows_of
from errorfloor.pricing.interval import largest_at
from errorfloor.pricing.keys import GroupKeys, canonical_cells
from errorfloor.sql import compile as compiled
from errorfloor.sql.plan import TableColumn, Truncated
from errorfloor.sql.question import Question
from errorfloor.sql.sums import Layout, with_columns
from errorfloor.vault import Snapshot

MOST_PAIRS = 20_000_000


@dataclass(frozen=True, eq=False)
class OwnerCounts:
    """``count[i]`` rows of owner number ``owner[i]`` in group number ``group[i]``.

    Owners' names are not kept. Beyond ``MOST_PAIRS`` pairs all owners are taken for one that has in each group as many
    rows as the owner with most of them: more is charged than need be, never less. Where each period has an allowance,
    an owner's rows in each of them count as another owner's: those of number o are in ``cells[cell[o]]``. Where there
    is an allowance for life, too, an owner's rows in all periods count as one more owner's.

    >>> OwnerCounts(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([30, 28, 31])).owners
    2
    """

    group: Array
    owner: Array
    count: Array
    period: Array | None = None
    cells: Sequence[tuple[Part, ...]] = ((),)

    @cached_property
    def owners(self) -> int:
        """The number of owners."""
        return int(self.owner.max(initial=-1)) + 1

    @cached_property
    def cell(self) -> Array:
        """The number of each owner's cell."""
        return np.zeros(self.owners, dtype=np.int64) if self.period is None else self.period

    def largest(self, moved: Array) -> Array:
        """Give, for each period, the most of what all pairs of one owner add up to; ``moved`` has that of each pair.

        >>> counts = OwnerCounts(np.array([0, 1, 1]), np.array([0, 0, 1]), np.ones(3))
        >>> counts.largest(np.array([1.0, 2.0, 2.5])).tolist()
        [3.0]
        """
        each = np.bincount(self.owner, weights=moved, minlength=self.owners)
        return largest_at(self.cell[: len(each)], each, len(self.cells))

    def with_life(self, whole: "OwnerCounts") -> "OwnerCounts":
        """Count owners once more, over all periods, in a cell of its own without a name.

        >>> months = OwnerCounts(np.zeros(2, int), np.arange(2), np.array([3, 4]), np.arange(2), [("5",), ("6",)])
        >>> both = months.with_life(OwnerCounts(np.zeros(1, int), np.zeros(1, int), np.array([7])))
        >>> both.cells, both.largest(both.count).tolist()
        ([('5',), ('6',), ()], [3.0, 4.0, 7.0])
        """
        return OwnerCounts(
            np.concatenate([self.group, whole.group]),
            np.concatenate([self.owner, whole.owner + len(self.cell)]),
            np.concatenate([self.count, whole.count]),
            np.concatenate([self.cell, np.full(whole.owners, len(self.cells))]),
            [*self.cells, ()],
        )

    def only(self, kept: Array) -> "OwnerCounts":
        """Give the counts of some of the groups, which are numbered anew."""
        if kept.all():
            return self
        pairs = kept[self.group]
        group = (np.cumsum(kept) - 1)[self.group[pairs]]
        return replace(self, group=group, owner=self.owner[pairs], count=self.count[pairs])


def owners_in(
    table: Table,
    owner: Owner,
    question: Question,
    groups: int,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    stored: Layout,
    cache: FactsCache | None,
) -> OwnerCounts:
    """Count the rows of each owner in each of so many groups, as the accounts of a table's owners go by."""
    column = public_column(table, owner.column)
    per = None if table.owners_by is None else _period(table.owners_by, table)
    layout = with_columns(stored, [column, *([per] if isinstance(per, TableColumn) else [])], snapshots)
    found = owner_counts(question, column, groups, snapshots, engine, layout, cache, per)
    if table.owners_by is not None:
        found = replace(found, cells=[(table.owners_by.text(value),) for (value,) in found.cells])
    if owner.life is not None:
        found = found.with_life(owner_counts(question, column, groups, snapshots, engine, layout, cache))
    return found


def public_column(table: Table, name: str) -> TableColumn:
    """Give a declared public column as plans have it."""
    column = table.public[name]
    return TableColumn(0, name, "number" if column.step is not None else column.type, step=column.step)  # type: ignore[arg-type]


def _period(per: Period, table: Table) -> TableColumn | Truncated:
    column = public_column(table, per.column)
    return column if per.period is None else Truncated(per.period, column)


def owner_counts(
    question: Question,
    owner: TableColumn,
    groups: int,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
    cache: FactsCache | None,
    per: TableColumn | Truncated | None = None,
) -> OwnerCounts:
    """Count the rows of each owner, ``per`` period if so, in each of so many ``groups``, numbered as their keys are."""
    key = ("owners", *rows_of(question, snapshots), owner.canonical, *(() if per is None else (per.canonical,)))
    known: OwnerCounts | None = cache.find(key) if cache is not None else None
    if known is not None:
        return known
    each = compiled.owners(question, snapshots, owner, engine.dialect, layout, per)
    scalars = [one.value for one in question.keys]
    if snapshots[0].rows > MOST_PAIRS and _pairs(each, engine) > MOST_PAIRS:
        by = [*(f"k{j}" for j in range(len(scalars))), *([] if per is None else ["a0"])]
        grouped = f" GROUP BY {', '.join(by)}" if by else ""
        most = f"SELECT {', '.join([*by, 'max(n) AS n'])} FROM ({each}) AS each_owner{grouped}"
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
    count = arrow.whole_numbers(result.column("n"))
    found = OwnerCounts(group, numbers, count)
    if per is not None:
        cells, cell = canonical_cells(result, [per], layout)
        pairs, owners = np.unique(numbers.astype(np.int64) * max(len(cells), 1) + cell, return_inverse=True)
        found = OwnerCounts(group, owners.astype(np.int32), count, pairs % max(len(cells), 1), cells)
    if cache is not None:
        cache.keep(key, found, 3 * len(found.group))
    return found


def _pairs(each: str, engine: Engine) -> int:
    found = engine.query(f"SELECT count(*) AS pairs FROM ({each}) AS each_owner")
    return int(found.column("pairs")[0].as_py())
