"""Public facts: what prices are computed from, besides declarations; an engine is asked for them, once.

The rows of a question fall into *parts*: the rows of one group that belong to one cell of the partition of accounts.
Everything here is a function of public columns; sums, least and greatest values are exact integers.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.identity import Part
from errorfloor.pricing.interval import Enclosure, integer_intervals
from errorfloor.pricing.keys import GroupKeys, canonical_cells, kinds_of
from errorfloor.sql import compile as compiled
from errorfloor.sql.plan import Always, Condition, TableColumn
from errorfloor.sql.question import Question
from errorfloor.sql.sums import Layout, denominator
from errorfloor.vault import Snapshot

MOST_PARTS = 2_000_000
OVERHEAD = 200  # what keeping anything costs besides its numbers, in numbers
COLUMNS = ("low", "high", "above", "below")
Request = tuple[Polynomial, Condition]
EVERY_ROW = Polynomial.constant(1)  # what is asked for where only the number of rows matters


@dataclass(frozen=True, eq=False)
class Fact:
    """What is known of a public polynomial on the rows of each part for which a condition holds.

    ``count`` rows; ``low`` and ``high`` its least and greatest value (0 where there is no row), ``above`` and ``below``
    the sums of its positive and of its negative values; integers in units of 1/``denominator``, of 64 bits, or Python's
    where bounds do not keep them to that.
    """

    count: Array
    low: Array
    high: Array
    above: Array
    below: Array
    denominator: int

    @property
    def columns(self) -> tuple[Array, ...]:
        """All of it, one array for each number of a part."""
        return self.count, self.low, self.high, self.above, self.below

    def taken(self, places: Array) -> "Fact":
        """Give the facts about some of the parts."""
        count, low, high, above, below = (array[places] for array in self.columns)
        return Fact(count, low, high, above, below, self.denominator)

    @cached_property
    def range(self) -> Enclosure:
        """Its values on the rows of each part."""
        least, greatest = integer_intervals(self.low, self.denominator), integer_intervals(self.high, self.denominator)
        return Enclosure(least.low, greatest.high)

    @cached_property
    def positive(self) -> Enclosure:
        """The sum of its positive values on each part."""
        return integer_intervals(self.above, self.denominator)

    @cached_property
    def negative(self) -> Enclosure:
        """The sum of its negative values on each part."""
        return integer_intervals(self.below, self.denominator)


@dataclass(frozen=True, eq=False)
class Facts:
    """The groups of a question, the cells of the partition of accounts, the parts, and facts about each part.

    ``groups`` and ``cells`` are in canonical order; part i holds ``rows[i]`` ≥ 1 rows of group ``group[i]`` and cell
    ``cell[i]``, sorted by group and then by cell.
    """

    groups: GroupKeys
    cells: Sequence[tuple[Part, ...]]
    group: Array
    cell: Array
    rows: Array
    known: Mapping[Request, Fact]

    def fact(self, polynomial: Polynomial, where: Condition) -> Fact:
        """Give the facts about a polynomial that was asked for."""
        return self.known[polynomial, where]

    def count(self, where: Condition) -> Array:
        """Give the number of rows of each part for which a condition holds."""
        return self.known[EVERY_ROW, where].count

    @cached_property
    def kinds(self) -> tuple["Facts", Array]:
        """One group of each kind, and the kind of every group: public facts do not tell groups of a kind apart.

        What is bounded for one of them holds for all. Where groups have several parts, each is of a kind of its own.
        """
        columns = [self.cell, self.rows, *(column for fact in self.known.values() for column in fact.columns)]
        found = kinds_of(columns) if len(self.group) == len(self.groups) else None
        if found is None:
            return self, np.arange(len(self.groups))
        kind, first = found
        known = {request: fact.taken(first) for request, fact in self.known.items()}
        groups = self.groups.taken(first)
        few = Facts(groups, self.cells, np.arange(len(first)), self.cell[first], self.rows[first], known)
        return few, kind

    def kept(self, least: int) -> Array:
        """Tell for each group whether it has at least so many rows.

        A group without keys and without rows is kept if any number of rows will do: it is NULL.
        """
        return self.by_group(self.rows) >= least if least > 1 else np.ones(len(self.groups), dtype=bool)

    def only(self, kept: Array) -> "Facts":
        """Give the facts about some of the groups."""
        if kept.all():
            return self
        parts = np.flatnonzero(kept[self.group])
        return Facts(
            groups=self.groups.taken(np.flatnonzero(kept)),
            cells=self.cells,
            group=(np.cumsum(kept) - 1)[self.group[parts]],
            cell=self.cell[parts],
            rows=self.rows[parts],
            known={request: fact.taken(parts) for request, fact in self.known.items()},
        )

    def by_group(self, integers: Array) -> Array:
        """Add the integers of each group's parts, exactly."""
        if len(self.group) == len(self.groups):
            return integers
        totals = np.zeros(len(self.groups), dtype=integers.dtype)
        np.add.at(totals, self.group, integers)
        return totals


def multiplied(integers: Array, factor: int) -> Array:
    """Give exact multiples of integers that are not negative.

    >>> multiplied(np.array([3, 1]), 10**20).tolist()
    [300000000000000000000, 100000000000000000000]
    """
    most = int(integers.max(initial=1)) * abs(factor)
    return integers.astype(np.int64 if most < 2**63 else object) * factor


@dataclass
class FactsCache:
    """Public facts, and what follows from them, that were asked for already; snapshots never change, so they stay true.

    One cache may serve many threads, and costs the same however much it holds. What was not used for longest is
    forgotten once all together have ``most`` numbers.

    >>> cache = FactsCache(most=1000)
    >>> cache.keep(("a",), "facts", 600), cache.keep(("b",), "others", 600)
    (None, None)
    >>> cache.find(("a",)), cache.find(("b",))
    (None, 'others')
    """

    most: int = 20_000_000
    _held: "OrderedDict[tuple[Part, ...], tuple[Any, int]]" = field(default_factory=OrderedDict, repr=False)
    _size: int = field(default=0, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def find(self, key: tuple[Part, ...]) -> Any:
        """Give what is kept under a key, or None."""
        with self._lock:
            if key not in self._held:
                return None
            self._held.move_to_end(key)
            return self._held[key][0]

    def keep(self, key: tuple[Part, ...], found: Any, size: int) -> None:
        """Keep something of a size under a key."""
        with self._lock:
            _, before = self._held.pop(key, (None, 0))
            self._held[key] = found, size + OVERHEAD
            self._size += size + OVERHEAD - before
            while len(self._held) > 1 and self._size > self.most:
                _, (_, freed) = self._held.popitem(last=False)
                self._size -= freed


def fetch(
    question: Question,
    by: Sequence[TableColumn],
    requests: Sequence[Request],
    snapshots: Sequence[Snapshot],
    engine: Engine,
    layout: Layout,
    cache: FactsCache | None,
) -> Facts:
    """Give the public facts of a question's rows, in canonical order whatever the order of the engine's rows."""
    key = (
        "facts",
        *rows_of(question, snapshots),
        tuple(column.canonical for column in by),
        tuple((polynomial.canonical, where.canonical) for polynomial, where in requests),
    )
    found: Facts | None = cache.find(key) if cache is not None else None
    if found is None:
        most = allotment().parts(outputs=len(question.outputs), sums=len(requests), divided=bool(by))
        statement = compiled.facts(question, snapshots, by, requests, layout, engine.dialect)
        result = engine.query(statement if most is None else f"{statement}\nLIMIT {most + 1}")
        if most is not None and result.num_rows > most:
            raise too_many(f"more than {most:,} groups{' (times cells of accounts)' if by else ''}", question)
        found = read_facts(result, question, by, requests, layout)
        if cache is not None:
            cache.keep(key, found, len(found.rows) * (5 * len(requests) + 3) + len(found.groups))
    return found


def too_many(found: str, question: Question) -> RefusedError:
    """Refuse an answer with more cells, or that takes more memory, than one may."""
    limits = allotment()
    cells = "any number of" if limits.cells is None else f"{limits.cells:,}"
    memory = "" if limits.memory is None else f" and {limits.memory >> 20:,} MB of memory"
    return RefusedError(
        f"the question has {found} and {len(question.outputs)} output{'s' if len(question.outputs) != 1 else ''}; one "
        f"answer may have {cells} cells (groups times outputs){memory}: group by fewer columns, or ask in parts with "
        f"WHERE; nothing was charged",
        reason="cells",
        cells=limits.cells,
        memory=limits.memory,
    )


def rows_of(question: Question, snapshots: Sequence[Snapshot]) -> tuple[Part, ...]:
    """Give what decides the rows of a question and their groups: snapshots, joins, condition and keys."""
    return (
        tuple(snapshot.relation for snapshot in snapshots),
        tuple(join.canonical for join in question.joins),
        question.where.canonical,
        tuple(key.value.canonical for key in question.keys),
    )


def read_facts(
    result: Any, question: Question, by: Sequence[TableColumn], requests: Sequence[Request], layout: Layout
) -> Facts:
    """Turn the engine's Arrow table into facts; a group without keys is there even when no row is."""
    if result.num_rows > MOST_PARTS:
        raise RefusedError(
            f"the question has {result.num_rows:,} groups (times cells of accounts); at most {MOST_PARTS:,} are "
            f"allowed: group by fewer columns",
            reason="group",
        )
    if not question.keys:  # all rows are one group, which is there even if it has none
        result = result.filter(arrow.column(arrow.whole_numbers(result.column("n")) > 0))
    each = GroupKeys.of(result, [key.value for key in question.keys], layout)
    group = each.numbered()
    if by:
        cells, cell = canonical_cells(result, by, layout)
        order = np.lexsort((cell, group))
        result, group, cell = result.take(arrow.column(order)), group[order], cell[order]
    else:
        cells, cell = [()], np.zeros(len(group), dtype=np.int64)
    is_apart = not len(group) or group[-1] == len(group) - 1
    groups = each if is_apart else each.taken(np.flatnonzero(np.diff(group, prepend=-1)))
    rows = arrow.whole_numbers(result.column("n"))
    return Facts(
        groups=groups if question.keys else GroupKeys((), 1),
        cells=cells,
        group=group,
        cell=cell,
        rows=rows,
        known={request: _fact(result, j, request, rows, layout) for j, request in enumerate(requests)},
    )


def _fact(result: Any, j: int, request: Request, rows: Array, layout: Layout) -> Fact:
    polynomial, where = request
    count = rows if isinstance(where, Always) else arrow.whole_numbers(result.column(f"n_{j}"))
    unit = denominator(polynomial, layout)
    constant = polynomial.value
    if constant is None:
        low, high, above, below = (arrow.whole_numbers(result.column(f"{name}_{j}")) for name in COLUMNS)
        return Fact(count, low, high, above, below, unit)
    value = int(constant * unit)
    here, totals, nothing = multiplied(count > 0, value), multiplied(count, value), np.zeros_like(count)
    above, below = (totals, nothing) if value > 0 else (nothing, totals)
    return Fact(count, here, here, above, below, unit)
