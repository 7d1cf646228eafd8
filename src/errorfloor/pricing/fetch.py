"""Ask an engine for public facts, and remember them."""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.identity import Part
from errorfloor.pricing.facts import Fact, Facts, Request
from errorfloor.pricing.keys import canonical_cells, canonical_groups
from errorfloor.sql import compile as compiled
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Column, Question
from errorfloor.sql.polynomial import Polynomial
from errorfloor.vault import Snapshot

MOST_PARTS = 2_000_000
OVERHEAD = 200  # what keeping anything costs besides its numbers, in numbers


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
    by: Sequence[Column],
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
    result: Any, question: Question, by: Sequence[Column], requests: Sequence[Request], layout: Layout
) -> Facts:
    """Turn the engine's Arrow table into facts; a group without keys is there even when no row is."""
    if result.num_rows > MOST_PARTS:
        raise RefusedError(
            f"the question has {result.num_rows:,} groups (times cells of accounts); at most {MOST_PARTS:,} are "
            f"answered: group by fewer columns",
            reason="group",
        )
    count = _integers(result.column("n"))
    kept = np.flatnonzero(count > 0)
    result, count = result.take(kept), count[kept]
    groups, group = canonical_groups(result, question, layout)
    cells, cell = canonical_cells(result, by, layout)
    order = np.lexsort((cell, group))
    known = {
        request: _fact(result, j, order, request[0], compiled.denominator(request[0], layout))
        for j, request in enumerate(requests)
    }
    return Facts(
        groups=groups if question.keys else [()],
        cells=cells if by else [()],
        group=group[order],
        cell=cell[order],
        rows=count[order],
        known=known,
    )


def _fact(result: Any, j: int, order: Array, polynomial: Polynomial, denominator: int) -> Fact:
    count = _integers(result.column(f"n_{j}"))[order]
    constant = polynomial.value
    if constant is None:
        low, high, above, below = (_whole_numbers(result.column(f"{name}_{j}"), order) for name in COLUMNS)
        return Fact(count, low, high, above, below, denominator)
    value = int(constant * denominator)
    here = [value if n else 0 for n in count.tolist()]
    totals = [value * n for n in count.tolist()]
    nothing = [0] * len(here)
    above, below = (totals, nothing) if value > 0 else (nothing, totals)
    return Fact(count, here, here, above, below, denominator)


COLUMNS = ("low", "high", "above", "below")


def _integers(column: Any) -> Array:
    return np.array(column.to_pylist(), dtype=np.int64)


def _whole_numbers(column: Any, order: Array) -> list[int]:
    """Read integers from texts, 0 for NULL."""
    texts = column.to_pylist()
    return [int(texts[i] or 0) for i in order.tolist()]
