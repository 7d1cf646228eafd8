"""The rows of a question as pricing sees them, and what is known of a formula on them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, frexp, log2

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.facts import Facts
from errorfloor.pricing.interval import UNIT, Enclosure, grouped_hull
from errorfloor.pricing.refusals import too_large
from errorfloor.pricing.rows import MOST_NUMBERS, PricedRows, Ranges
from errorfloor.sql.layout import MOST_CALL, Layout
from errorfloor.sql.plan import Call, Condition, DatePart, Formula, RoundedDown, TableColumn
from errorfloor.sql.polynomial import Monomial, Node, Polynomial

MOST_SUM_BITS = 122  # a little less than 10^37
MOST_BITS = 80  # of a function inside another's argument; with a column of 40 bits it still is below 10^37


@dataclass
class Storage:
    """The bits and the largest stored integer of each function; ``fewer`` are the bits that some have to do without.

    >>> Storage.bits_for(1.0), Storage.bits_for(3.0)
    (39, 38)
    """

    fewer: Mapping[Call, int] = field(default_factory=dict)
    bits: dict[Call, int] = field(default_factory=dict)
    largest: dict[TableColumn | DatePart | RoundedDown | Call, int] = field(default_factory=dict)

    @staticmethod
    def bits_for(reach: float) -> int:
        """Give the largest number of bits for which the value, rounded, stays within 2^40."""
        exponent = frexp(reach)[1] if reach else -MOST_BITS  # reach < 2^exponent
        return min(MOST_CALL.bit_length() - 1 - exponent, MOST_BITS)

    def fill(self, rows: Sequence[PricedRows]) -> None:
        """Decide the bits of every function of the polynomials, inner ones first.

        One function has the same bits wherever it occurs: they follow from the largest of its values on all rows.

        Raises ``RefusedError`` for a function that may exceed 2^40.
        """
        calls = {call: None for one in rows for call in one.calls}
        for depth in range(1, 1 + max(map(_depth, calls), default=0)):
            for call in (call for call in calls if _depth(call) == depth):
                reach = max(one.reach(call) for one in rows if call in one.calls)
                if not reach < MOST_CALL:
                    raise too_large(call, reach, float(MOST_CALL))
                self.bits[call] = self.bits_for(reach) - self.fewer.get(call, 0)
                self.largest[call] = int(np.ceil(reach * 2.0 ** self.bits[call])) + 1

    def layout(self, stored: Layout, rows: int) -> Layout:
        """Add the functions to what is known of the other atoms; ``rows`` bounds the rows of a group."""
        return Layout({**stored.largest, **self.largest}, {**stored.bits, **self.bits}, max(rows, 1))


def crowded(sums: Iterable[Monomial], layout: Layout) -> dict[Call, int]:
    """Say how many bits fewer the functions must have whose products would exceed what engines add up exactly.

    >>> crowded([()], Layout({}, {}, rows=10))
    {}
    """
    fewer: dict[Call, int] = {}
    for monomial in sums:
        size = log2(layout.rows) + sum(power * log2(max(1, _largest(atom, layout))) for atom, power in monomial)
        calls = [(atom, power) for atom, power in monomial if isinstance(atom, Call)]
        excess = size - MOST_SUM_BITS
        if excess > 0 and calls:
            each = ceil(excess / sum(power for _, power in calls))
            for call, _ in calls:
                fewer[call] = max(fewer.get(call, 0), each)
    return fewer


def _largest(atom: Node, layout: Layout) -> int:
    return layout.largest.get(atom, 1) if isinstance(atom, TableColumn | DatePart | RoundedDown | Call) else 1


def _depth(call: Call) -> int:
    return 1 + max((_depth(atom) for atom in call.argument.atoms if isinstance(atom, Call)), default=0)


@dataclass(frozen=True, eq=False)
class FormulaBound:
    """What is known of a formula.

    ``value`` encloses, for each group, the exact value and the computed one; ``slopes`` encloses, for each part and by
    private column, the derivative by any one entry of the part (a column that does not occur is left out); ``move``
    bounds, for each part, how far the formula moves when all private entries of one of its rows change; ``error``
    bounds |computed − exact|; ``defined`` is False where public facts make the formula NULL, and there the value is 1.
    """

    value: Enclosure
    slopes: Mapping[str, Enclosure]
    move: Array
    error: Array
    defined: Array


@dataclass
class Scene:
    """The rows of a question as pricing sees them; ``known`` are bounds of formulas that were found already."""

    facts: Facts
    ranges: Ranges
    storage: Storage
    most: int = MOST_NUMBERS
    layout: Layout = field(default_factory=lambda: Layout({}, {}, rows=1))
    walked: dict[tuple[Polynomial, Condition], PricedRows] = field(default_factory=dict)
    known: dict[Formula, FormulaBound] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.facts.groups)

    def rows(self, polynomial: Polynomial, where: Condition) -> PricedRows:
        """Give the walk over the rows of an aggregate, made once."""
        key = polynomial, where
        if key not in self.walked:
            self.walked[key] = PricedRows(polynomial, where, self.facts, self.ranges, self.storage.bits, self.most)
        return self.walked[key]

    def count(self, where: Condition) -> Array:
        """Give the number of rows of each group for which a condition holds, as doubles."""
        counts = np.bincount(self.facts.group, weights=self.facts.count(where), minlength=self.groups)
        return counts.astype(float)

    def at_parts(self, rows: PricedRows, found: Enclosure, where: Condition) -> Enclosure:
        """Spread what holds for a row that counts over all parts; 0 joins in where some rows do not count."""
        low, high = np.zeros(len(self.facts.rows)), np.zeros(len(self.facts.rows))
        low[rows.active], high[rows.active] = found.low, found.high
        some_do_not = self.facts.count(where) < self.facts.rows
        return Enclosure(
            np.where(some_do_not, np.minimum(low, 0.0), low), np.where(some_do_not, np.maximum(high, 0.0), high)
        )

    def moves(self, rows: PricedRows, found: Array) -> Array:
        """Spread how far a row that counts moves something over all parts."""
        moved = np.zeros(len(self.facts.rows))
        moved[rows.active] = found
        return moved

    def over_groups(self, rows: PricedRows, found: Enclosure) -> Enclosure:
        """Give the hull over the active parts of each group."""
        return grouped_hull(found, self.facts.group[rows.active], self.groups)

    def worst_error(self, rows: PricedRows) -> Array:
        """Give the largest error of one row in each group."""
        worst = np.zeros(self.groups)
        np.maximum.at(worst, self.facts.group[rows.active], rows.error())
        return worst


def where_defined(bound: FormulaBound) -> FormulaBound:
    """Put 1 where a formula is NULL, so that whatever is computed from it there does no harm."""
    if bound.defined.all():
        return bound
    error = np.where(bound.defined, bound.error, 0.0)
    return FormulaBound(bound.value.where(bound.defined, UNIT), bound.slopes, bound.move, error, bound.defined)
