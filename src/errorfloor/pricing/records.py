"""Bounds of questions about a table that protects records: from the catalogue alone.

A sum of g over rows, with −c₁ ≤ g ≤ c₂ on every row that can be stored. At most r rows of an owner count, so that any
two contents of one owner, absence being one, differ by at most r(c₁ + c₂) in one group, and by at most r·max(c₁, c₂) in
each of two groups, if there are two. So an owner moves all groups together by at most r·√m,
m = max{(c₁ + c₂)², 2·max(c₁, c₂)²}, or (c₁ + c₂)² where there is one group; ``records.proof.md``.
"""

import datetime
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from errorfloor.catalogue.model import Catalogue, Table
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.pricing.bounding import Bounds, OutputBounds
from errorfloor.pricing.fetch import FactsCache, fetch
from errorfloor.pricing.interval import Enclosure, quiet, up
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.sql.double_words import ROUNDING, UNDERFLOW
from errorfloor.sql.layout import LARGEST_PART, Layout, largest, scaled, stored_layout
from errorfloor.sql.plan import DatePart, Formula, Indicator, RoundedDown, Sum, TableColumn
from errorfloor.sql.polynomial import Node, Polynomial
from errorfloor.sql.question import Question
from errorfloor.sql.records import HERE, columns_grouped, domain_of, shown_where
from errorfloor.vault import Snapshot

MOST_COMBINATIONS = 2_000_000
MOST_INDICATORS = 8  # whose values are gone through one by one
APART = math.nextafter(math.sqrt(2), 2)  # errors of two groups, beside those of one


class RowRange(NamedTuple):
    """What one row can add to a sum: from −``below`` to ``above``, both at least 0; ``whole`` if always a whole number.

    >>> count = RowRange(Fraction(0), Fraction(1), True)
    >>> count.moved(groups=1), count.moved(groups=2)
    (1.0, 1.41421356...)
    """

    below: Fraction
    above: Fraction
    whole: bool

    def moved(self, *, groups: int) -> float:
        """Bound how far a row of an owner moves all groups together, rounded up."""
        wide, far = self.below + self.above, max(self.below, self.above)
        square = wide**2 if groups < 2 else max(wide**2, 2 * far**2)
        root = math.sqrt(float(Enclosure.exact(square).high))
        return root if Fraction(root) ** 2 >= square else math.nextafter(root, math.inf)


def row_range(formula: Formula, table: Table) -> RowRange:
    """Bound what a row can add to a sum, from the domains that are declared.

    >>> owned = {"owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}}
    >>> table = Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned})
    >>> age = Polynomial.atom(TableColumn(0, "age", "number", step=Fraction(1)))
    >>> row_range(Sum((age - 10) * Polynomial.atom(HERE), HERE), table)
    RowRange(below=Fraction(10, 1), above=Fraction(100, 1), whole=True)
    """
    assert isinstance(formula, Sum)
    terms = [(tuple(factor for factor in monomial if factor[0] != HERE), by) for monomial, by in formula.of.terms]
    low, high = _range(Polynomial.of(terms), table)
    return RowRange(max(-low, Fraction(0)), max(high, Fraction(0)), _is_whole(formula.of))


def possible(formula: Formula, table: Table) -> tuple[float, float]:
    """Give what a sum can be, whoever is there, rounded outwards."""
    found = row_range(formula, table)
    ends = Enclosure.around([-found.below * table.most_rows, found.above * table.most_rows])
    return float(ends.low[0]), float(ends.high[1])


def signs(formula: Formula, table: Table) -> tuple[float, float]:
    """Give where a released sum is cut off: at 0, where no row can bring it there."""
    found = row_range(formula, table)
    return (-math.inf if found.below else 0.0), (math.inf if found.above else 0.0)


def record_bounds(
    question: Question,
    catalogue: Catalogue,
    snapshots: Sequence[Snapshot],
    engine: Engine,
    cache: FactsCache | None = None,
) -> Bounds:
    """Bound a question about a table that protects records.

    *Guarantee*: everything here follows from the question and the declaration; no row is read.

    Raises ``RefusedError`` (``cells``) where groups come from more combinations of values than can be gone through.
    """
    table = catalogue.tables[question.table]
    assert table.owner is not None
    used = columns_grouped(question)
    combinations = math.prod(table.columns[name].size for name in used)
    if combinations > MOST_COMBINATIONS:
        raise RefusedError(
            f"{' and '.join(used)} can have {combinations:,} combinations of values, and groups come from at most "
            f"{MOST_COMBINATIONS:,}: group by fewer columns, or put conditions into count(*) FILTER (WHERE …)",
            reason="cells",
        )
    stored = stored_layout(question, snapshots)
    domain = domain_of(question, snapshots[0], engine.dialect)
    listed = replace(question, where=shown_where(question))
    groups = fetch(listed, [], (), [domain], engine, stored, cache).groups
    each, one = np.arange(len(groups)), np.zeros(1, dtype=np.int64)
    rows = np.full(len(groups), table.owner.most_rows)
    return Bounds(
        table=question.table,
        groups=groups,
        cells=[()],
        group=one,
        cell=one,
        kind=np.zeros(len(groups), dtype=np.int64),
        rows=one + 1,
        layout=stored,
        outputs=tuple(_output(one.formula, table, stored, len(groups)) for one in question.outputs),
        owners=OwnerCounts(each, each, rows),
    )


@quiet
def _output(formula: Formula, table: Table, layout: Layout, groups: int) -> OutputBounds:
    assert isinstance(formula, Sum)
    found = row_range(formula, table)
    low, high = possible(formula, table)
    terms = scaled(formula.of, layout)
    reach = sum((abs(factor) * largest(monomial, layout) for monomial, factor in terms), Fraction(0)) * layout.rows
    error = up(up(Enclosure.exact(reach).high * ((len(terms) + 4) * ROUNDING)) + UNDERFLOW)
    return OutputBounds(
        slopes={},
        owner=np.array([found.moved(groups=groups)]),
        error=np.array([float(up(error * APART))]),
        low=np.array([low]),
        high=np.array([high]),
        defined=np.array([groups > 0]),
    )


def _range(polynomial: Polynomial, table: Table) -> tuple[Fraction, Fraction]:
    """Enclose a polynomial of a row: each of a few indicators is gone through, terms are enclosed one by one."""
    flags = sorted((atom for atom in polynomial.atoms if isinstance(atom, Indicator)), key=lambda one: one.encoded)
    if len(flags) > MOST_INDICATORS:
        return _by_terms(polynomial, table, {})
    found = [
        _by_terms(polynomial, table, {flag: (Fraction(value),) * 2 for flag, value in zip(flags, values, strict=True)})
        for values in product((0, 1), repeat=len(flags))
    ]
    return min(low for low, _ in found), max(high for _, high in found)


def _by_terms(
    polynomial: Polynomial, table: Table, known: Mapping[Node, tuple[Fraction, Fraction]]
) -> tuple[Fraction, Fraction]:
    collected: dict[tuple[tuple[Node, int], ...], Fraction] = {}
    for monomial, coefficient in polynomial.terms:  # what a known indicator makes alike is added first
        factor = math.prod((known[atom][0] for atom, _ in monomial if atom in known), start=coefficient)
        rest = tuple(item for item in monomial if item[0] not in known)
        collected[rest] = collected.get(rest, Fraction(0)) + factor
    low = high = Fraction(0)
    for monomial, coefficient in collected.items():
        ends = [coefficient]
        for atom, power in monomial:
            ends = [one * other for one in ends for other in _powers(*_of_atom(atom, table), power)]
            ends = [min(ends), max(ends)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _powers(low: Fraction, high: Fraction, exponent: int) -> Iterator[Fraction]:
    yield from (low**exponent, high**exponent)
    if low < 0 < high and exponent % 2 == 0:
        yield Fraction(0)


def _of_atom(atom: Node, table: Table) -> tuple[Fraction, Fraction]:
    match atom:
        case TableColumn(name=name, step=step) if step is not None:
            first, last = table.columns[name].steps
            return first * step, last * step
        case Indicator():
            return Fraction(0), Fraction(1)
        case RoundedDown(of=of):
            low, high = _range(of, table)
            return Fraction(math.floor(low)), Fraction(math.floor(high))
        case DatePart(part="year"):
            days = [day for one in table.columns.values() if one.public.type == "date" for day in one.days]
            near = datetime.timedelta(days=7)  # the beginning of a week may be in the year before
            return Fraction((min(days) - near).year), Fraction(max(days).year)
        case DatePart(part=part):
            return Fraction(0), Fraction(LARGEST_PART[part])
    raise TypeError(f"{type(atom).__name__} is no atom of a record")


def _is_whole(polynomial: Polynomial) -> bool:
    """Tell whether it is a whole number on every row, by its coefficients and the steps of its columns."""
    return all(
        math.prod(
            ((atom.step or Fraction(1)) ** power for atom, power in monomial if isinstance(atom, TableColumn)),
            start=coefficient,
        ).denominator
        == 1
        for monomial, coefficient in polynomial.terms
    )
