"""The rows of a question as pricing sees them, and what is known of a formula on them."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.facts import Facts
from errorfloor.pricing.interval import UNIT, Interval, grouped_hull
from errorfloor.pricing.rows import MOST_NUMBERS, Ranges, Rows
from errorfloor.pricing.storage import Storage
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Condition, Formula
from errorfloor.sql.polynomial import Polynomial


@dataclass(frozen=True, eq=False)
class Bound:
    """What is known of a formula.

    ``value`` encloses, for each group, the exact value and the computed one; ``slopes`` encloses, for each part and by
    private column, the derivative by any one entry of the part (a column that does not occur is left out); ``move``
    bounds, for each part, how far the formula moves when all private entries of one of its rows change; ``error``
    bounds |computed − exact|; ``defined`` is False where public facts make the formula NULL, and there the value is 1.
    """

    value: Interval
    slopes: Mapping[str, Interval]
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
    walked: dict[tuple[Polynomial, Condition], Rows] = field(default_factory=dict)
    known: dict[Formula, Bound] = field(default_factory=dict)

    @property
    def groups(self) -> int:
        """The number of groups."""
        return len(self.facts.groups)

    def rows(self, polynomial: Polynomial, where: Condition) -> Rows:
        """Give the walk over the rows of an aggregate, made once."""
        key = polynomial, where
        if key not in self.walked:
            self.walked[key] = Rows(polynomial, where, self.facts, self.ranges, self.storage.bits, self.most)
        return self.walked[key]

    def count(self, where: Condition) -> Array:
        """Give the number of rows of each group for which a condition holds, as doubles."""
        counts = np.bincount(self.facts.group, weights=self.facts.count(where), minlength=self.groups)
        return counts.astype(float)

    def at_parts(self, rows: Rows, found: Interval, where: Condition) -> Interval:
        """Spread what holds for a row that counts over all parts; 0 joins in where some rows do not count."""
        low, high = np.zeros(len(self.facts.rows)), np.zeros(len(self.facts.rows))
        low[rows.active], high[rows.active] = found.low, found.high
        some_do_not = self.facts.count(where) < self.facts.rows
        return Interval(
            np.where(some_do_not, np.minimum(low, 0.0), low), np.where(some_do_not, np.maximum(high, 0.0), high)
        )

    def moves(self, rows: Rows, found: Array) -> Array:
        """Spread how far a row that counts moves something over all parts."""
        moved = np.zeros(len(self.facts.rows))
        moved[rows.active] = found
        return moved

    def over_groups(self, rows: Rows, found: Interval) -> Interval:
        """Give the hull over the active parts of each group."""
        return grouped_hull(found, self.facts.group[rows.active], self.groups)

    def worst_error(self, rows: Rows) -> Array:
        """Give the largest error of one row in each group."""
        worst = np.zeros(self.groups)
        np.maximum.at(worst, self.facts.group[rows.active], rows.error())
        return worst


def where_defined(bound: Bound) -> Bound:
    """Put 1 where a formula is NULL, so that whatever is computed from it there does no harm."""
    if bound.defined.all():
        return bound
    error = np.where(bound.defined, bound.error, 0.0)
    return Bound(bound.value.where(bound.defined, UNIT), bound.slopes, bound.move, error, bound.defined)
