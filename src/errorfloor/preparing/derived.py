"""Averages, ratios, variances and what else follows from released sums and counts of records, with certain intervals.

Arithmetic on what anybody may know, so it costs nothing beyond the sums. *Guarantee* (``derived.proof.md``): if it has
a value for the rows that count, that lies between the two ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue import PrivateColumn
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.preparing.ends import interval
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import Enclosure, quiet
from errorfloor.pricing.words import number, words
from errorfloor.sql.plan import (
    Apply,
    Condition,
    Constant,
    Count,
    Covariance,
    Formula,
    Missing,
    Plus,
    Power,
    Quotient,
    Sum,
    TableColumn,
    Times,
    WeightedMean,
)
from errorfloor.sql.question import CountedQuantile, Derived, walk
from errorfloor.sql.record_ranges import Domains, value_range
from errorfloor.sql.records import with_presence

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

NOT_NEGATIVE = Enclosure.of(0.0, np.inf)
NO_DERIVATIVE = "its own derivative has no bound"
NEAR = 1e-4  # of a part: where slopes are taken


class Bounded(NamedTuple):
    """A number for each group, and where the truth certainly is."""

    number: Array
    around: Enclosure


@quiet
def derived_columns(derived: Derived, prepared: "Prepared") -> dict[str, Any]:
    """Give the columns of what is derived; NULL where nothing bounds it."""
    parts = {one.output.formula: released(one, prepared) for one in prepared.outputs if one.output.part_of == derived}
    found = _Walk(parts, prepared.plan.domains).of(derived.formula)
    shape = (len(prepared.bounds.groups),)
    low, high = (np.broadcast_to(end, shape) for end in (found.around.low, found.around.high))
    there = np.isfinite(low) & np.isfinite(high) & (low <= high)
    for one in prepared.outputs:
        if one.output.part_of == derived:
            there &= ~arrow.nulls(one.kept)
    low, high = np.where(there, low, 0.0), np.where(there, high, 0.0)
    number = np.broadcast_to(found.number, shape)
    middle = np.where((low <= number) & (number <= high), number, (low + high) / 2)
    ends = {"": middle, "_low": low, "_high": high}
    return {f"{derived.name}{end}": arrow.column(values, there) for end, values in ends.items()}


@quiet
def enclosed(derived: Derived, parts: Mapping[Formula, Enclosure], domains: Domains) -> Enclosure:
    """Enclose what is derived, for all values of its parts in intervals; endless where nothing bounds it."""
    known = {part: Bounded((ends.low + ends.high) / 2, ends) for part, ends in parts.items()}
    return _Walk(known, domains).of(derived.formula).around


def released(one: "PreparedOutput", prepared: "Prepared") -> Bounded:
    """Give the released numbers of a part, and where the truth certainly is."""
    numbers = arrow.values_of(arrow.without_nulls(one.kept)).astype(float)
    if one.added is None:
        off = 0.0 if one.constant is None else one.constant.error
        return Bounded(numbers, Enclosure(numbers - off, numbers + off).widened(0.0))
    ends = interval(
        numbers, one.added, prepared.bounds_of(one), prepared.bounds.kind, fine=False
    )  # numbers follow from them
    return Bounded(numbers, Enclosure(*ends))


@dataclass(frozen=True)
class _Walk:
    """A walk over a formula, from what was released."""

    parts: Mapping[Formula, Bounded]
    domains: Domains

    def of(self, formula: Formula) -> Bounded:
        if formula in self.parts:
            return self.parts[formula]
        match formula:
            case Constant(value=value):
                return Bounded(np.array(float(value)), Enclosure.exact(value))
            case Count() | Sum():
                return self.parts[with_presence(formula)]
            case Covariance(first=first, second=second, where=where, sample=sample):
                return self._covariance(first, second, where, sample=sample)
            case Quotient(numerator=Sum(of=of, where=where), denominator=Count(where=counted)) if where == counted:
                return self._mean(of, where)
            case Quotient(numerator=Covariance() as one, denominator=Apply(function="sqrt", argument=Times())):
                return _within(self._quotient(one, formula.denominator), Enclosure.of(-1.0, 1.0))  # a correlation
            case Quotient(numerator=numerator, denominator=denominator):
                return self._quotient(numerator, denominator)
            case WeightedMean(value=value, weight=weight, where=where):
                return self._quotient(Sum(value * weight, where), Sum(weight, where))
            case Plus(parts=parts):
                return reduce(
                    lambda one, two: Bounded(one.number + two.number, one.around + two.around), map(self.of, parts)
                )
            case Times(parts=parts):
                return reduce(
                    lambda one, two: Bounded(one.number * two.number, one.around * two.around), map(self.of, parts)
                )
            case Power(base=base, exponent=exponent):
                found = self.of(base)
                return Bounded(found.number**exponent, found.around**exponent)
            case Apply(function=name, parameters=parameters, argument=argument):
                return self._applied(name, parameters, self.of(argument))
        raise TypeError(f"{type(formula).__name__} is not derived from sums")

    def _quotient(self, numerator: Formula, denominator: Formula) -> Bounded:
        one, two = self.of(numerator), self.of(denominator)
        return Bounded(one.number / two.number, one.around / two.around)

    def _mean(self, of: Polynomial, where: Condition) -> Bounded:
        """A mean lies in the range of what is averaged, if there are rows at all."""
        return _within(self._quotient(Sum(of, where), Count(where)), _range(of, self.domains))

    def _covariance(self, first: Polynomial, second: Polynomial, where: Condition, *, sample: bool) -> Bounded:
        one, two, both = (self._mean(of, where) for of in (first, second, first * second))
        product = one.around**2 if first == second else one.around * two.around
        found = Bounded(both.number - one.number * two.number, both.around - product)
        halves = [(high - low) / 2 for low, high in (value_range(of, self.domains) for of in (first, second))]
        most = Enclosure.exact(halves[0] * halves[1])  # both ends are reached by half of the rows each
        found = _within(found, Enclosure(np.zeros(()) if first == second else -most.high, most.high))
        if not sample:
            return found
        count = self.of(Count(where))
        fewer = Bounded(count.number - 1, count.around - Enclosure.exact(1))
        return Bounded(found.number * count.number / fewer.number, found.around * (count.around / fewer.around))

    def _applied(self, name: str, parameters: tuple[Fraction, ...], inner: Bounded) -> Bounded:
        function = FUNCTIONS[name]
        argument = inner.around.meet(NOT_NEGATIVE) if name == "sqrt" else inner.around
        value = function.value(argument, parameters)
        point = function.value(Enclosure(inner.number, inner.number), parameters)
        return Bounded((point.low + point.high) / 2, value)


def _within(found: Bounded, most: Enclosure) -> Bounded:
    return Bounded(found.number, found.around.meet(most))


def _range(of: Polynomial, domains: Domains) -> Enclosure:
    ends = Enclosure.around(value_range(of, domains))
    return Enclosure(ends.low[0], ends.high[1])


@quiet
def scales(derived: Derived, parts: Mapping[Formula, tuple[float, bool]], domains: Domains) -> dict[Formula, float]:
    """Say by how much what is derived is farther off than each of its parts, all of them together.

    That is where every part is as far from 0 as it can be, a number that is given with whether the part is private. It
    follows from public facts, and is rounded up to three digits, by which bounds are divided.
    """

    def at(values: Mapping[Formula, float]) -> float:
        known = {part: Bounded(np.array(value), Enclosure.of(value, value)) for part, value in values.items()}
        return float(_Walk(known, domains).of(derived.formula).number)

    values = {part: value for part, (value, _) in parts.items()}
    noisy = [part for part, (_, is_noisy) in parts.items() if is_noisy]
    found = {}
    for part in noisy:
        by = abs(values[part]) * NEAR
        steep = (at({**values, part: values[part] + by}) - at({**values, part: values[part] - by})) / (2 * by)
        scale = len(noisy) * abs(steep)
        found[part] = float(rounded_up(scale)) if 0 < scale < np.inf else 1.0
    return found


def _by_parts(derived: Derived, prepared: "Prepared") -> str:
    """Say what the parts are, and how far off each of them is."""
    parts = [one for one in prepared.outputs if one.output.part_of == derived and one.added is not None]
    said = [f"{words(one.output.formula)} within ±{rounded_up(one.added.widest.high)}" for one in parts if one.added]
    private = {name: one for name, one in prepared.table.private.items() if name in _columns(derived.formula)}
    said += [_clamped(name, one) for name, one in private.items()]
    return (
        f"{derived.name} is certainly between {derived.name}_low and {derived.name}_high: it is computed from released "
        f"parts, {', '.join(said)}, since {NO_DERIVATIVE}. How far off that leaves it depends "
        f"on the values.{_null(derived, prepared)}"
    )


def _null(derived: Derived, prepared: "Prepared") -> str:
    from errorfloor.preparing.derived_nulls import is_null, needs  # loaded where it is needed: few questions do

    if is_null(derived, prepared) == "never":
        return ""
    return f" It is null where the released parts do not show {needs(derived.formula)}."


def _columns(formula: Formula) -> set[str]:
    return {node.name for node in walk(formula, stop=Missing) if isinstance(node, TableColumn) and node.private}


def _clamped(name: str, one: PrivateColumn) -> str:
    return f"{name} clamped to {number(one.low)} … {number(one.high)}{f' {one.unit}' if one.unit else ''}"


def derived_where(derived: Derived, one: "PreparedOutput", prepared: "Prepared") -> str:
    """Say what is certain of what is derived, from one of its sums."""
    if not derived.in_rows:
        return _by_parts(derived, prepared)
    rows = rounded_up((0.0 if one.added is None else one.added.widest.high) * one.output.span, 6)
    return (
        f"{derived.name} is certainly between {derived.name}_low and {derived.name}_high, if there are rows at all: it "
        f"follows from released counts within ±{rows} rows, and from sums within ±{rows} times what one row can add."
        f"{_null(derived, prepared)}"
    )


def derived_facts(derived: Derived | CountedQuantile, one: "PreparedOutput") -> dict[str, Any]:
    """Give what is stated of what is derived beforehand, as plain JSON types."""
    rows = (0.0 if one.added is None else one.added.widest.high) * one.output.span
    by_parts = {"by_parts": True, "way": "parts", "why": NO_DERIVATIVE}
    made = {"rows": rows} if isinstance(derived, CountedQuantile) or derived.in_rows else by_parts
    return {"name": derived.name, "unit": derived.unit, "exact": False, **made, "low": None, "high": None}
