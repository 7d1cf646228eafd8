"""Ask an engine for public facts, and remember them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.identity import Part, encode
from errorfloor.pricing.facts import Fact, Facts, Request, multiplied
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql import compile as compiled
from errorfloor.sql.layout import Layout, denominator
from errorfloor.sql.plan import Always, TableColumn, Truncated
from errorfloor.sql.question import Question
from errorfloor.vault import Snapshot

MOST_PARTS = 2_000_000
OVERHEAD = 200  # what keeping anything costs besides its numbers, in numbers
COLUMNS = ("low", "high", "above", "below")


def canonical_cells(
    result: Any, columns: Sequence[TableColumn | Truncated], layout: Layout
) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different cells of accounts of a result, from columns a0, a1 and so on, and the number of each row's.

    Each has accounts of its own in the ledger; they are in the order of their encoding.
    """
    codes = np.zeros(result.num_rows, dtype=np.int64)
    for j in range(len(columns)):
        column = result.column(f"a{j}").combine_chunks().dictionary_encode(null_encoding="encode")
        index = arrow.values_of(column.indices).astype(np.int64)
        codes = np.unique(codes * max(len(column.dictionary), 1) + index, return_inverse=True)[1]
    _, first, number = np.unique(codes, return_index=True, return_inverse=True)
    named = result.take(arrow.column(first)).select([f"a{j}" for j in range(len(columns))])
    scalars = [Polynomial.atom(column) if column.type == "number" else column for column in columns]
    values = list(GroupKeys.of(named.rename_columns([f"k{j}" for j in range(len(columns))]), scalars, layout))
    encoded = [encode(value) for value in values]
    order = sorted(range(len(values)), key=encoded.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return [values[i] for i in order], place[number]


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
