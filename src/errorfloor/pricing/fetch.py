"""Ask an engine for public facts, read its keys as labels hold them, and remember both."""

import decimal
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.engines.allotment import allotment
from errorfloor.errors import RefusedError
from errorfloor.identity import Part, encode
from errorfloor.pricing.facts import Fact, Facts, Request
from errorfloor.sql import compile as compiled
from errorfloor.sql.compile import denominator
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Scalar, TableColumn
from errorfloor.sql.polynomial import Polynomial
from errorfloor.sql.question import Question
from errorfloor.vault import Snapshot

DIGITS = 60  # integers of an engine have at most 38: two different keys stay different
MOST_PARTS = 2_000_000
OVERHEAD = 200  # what keeping anything costs besides its numbers, in numbers
COLUMNS = ("low", "high", "above", "below")


def keys_of(result: Any, question: Question, layout: Layout) -> list[tuple[Part, ...]]:
    """Give the group of each row of a result, an Arrow table with columns k0, k1 and so on.

    Whole numbers are ``int``; other numbers are ``Decimal``, exact where they have a decimal form.
    """
    return _tuples(result, [(f"k{j}", key.value) for j, key in enumerate(question.keys)], layout)


def canonical_groups(result: Any, question: Question, layout: Layout) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different groups of a result in canonical order, and for each row the number of its group."""
    return _canonical(result, [(f"k{j}", key.value) for j, key in enumerate(question.keys)], layout)


def canonical_cells(
    result: Any, columns: Sequence[TableColumn], layout: Layout
) -> tuple[list[tuple[Part, ...]], Array]:
    """Give the different cells of accounts of a result, from columns a0, a1 and so on, and the number of each row's."""
    scalars = [Polynomial.atom(column) if column.type == "number" else column for column in columns]
    return _canonical(result, [(f"a{j}", scalar) for j, scalar in enumerate(scalars)], layout)


def _canonical(
    result: Any, wanted: Sequence[tuple[str, Scalar]], layout: Layout
) -> tuple[list[tuple[Part, ...]], Array]:
    """Sort the different tuples of some columns by their encoding; nothing runs row by row."""
    codes = np.zeros(result.num_rows, dtype=np.int64)
    for name, _ in wanted:
        column = result.column(name).combine_chunks().dictionary_encode(null_encoding="encode")
        index = column.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        codes = np.unique(codes * max(len(column.dictionary), 1) + index, return_inverse=True)[1]
    _, first, number = np.unique(codes, return_index=True, return_inverse=True)
    values = _tuples(result.take(first), wanted, layout)
    encoded = [encode(value) for value in values]
    order = sorted(range(len(values)), key=encoded.__getitem__)
    place = np.empty(len(values), dtype=np.int64)
    place[order] = np.arange(len(values))
    return [values[i] for i in order], place[number]


def _tuples(result: Any, wanted: Sequence[tuple[str, Scalar]], layout: Layout) -> list[tuple[Part, ...]]:
    if not wanted:
        return [()] * result.num_rows
    return list(zip(*(_values(result.column(name), scalar, layout) for name, scalar in wanted), strict=True))


def _values(column: Any, scalar: Scalar, layout: Layout) -> list[Part]:
    values: list[Part] = column.to_pylist()
    if not isinstance(scalar, Polynomial):
        return values
    unit = denominator(scalar, layout)
    return [None if value is None else _number(int(str(value)), unit) for value in values]


def _number(integer: int, unit: int) -> int | Decimal:
    """Give integer/unit; the type follows from the unit alone.

    >>> _number(6, 1), _number(6, 4), _number(8, 4)
    (6, Decimal('1.5'), Decimal('2'))
    """
    if unit == 1:
        return integer
    value = Fraction(integer, unit)
    context = decimal.Context(prec=DIGITS)
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


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


def _integers(column: Any) -> Array:
    return np.array(column.to_pylist(), dtype=np.int64)


def _whole_numbers(column: Any, order: Array) -> list[int]:
    """Read integers from texts, 0 for NULL."""
    texts = column.to_pylist()
    return [int(texts[i] or 0) for i in order.tolist()]
