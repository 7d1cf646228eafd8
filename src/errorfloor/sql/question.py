"""A question as a whole: what it selects, from which rows, in which order; and the walk through its nodes.

Where a formula's own derivative has no bound, it is made of parts that are released, and computed with: a standard
deviation changes without bound where all values are the same, and a ratio where its denominator is 0. A variance and an
average do not: they are released, and the rest is arithmetic on intervals.
"""

import operator
from collections.abc import Callable, Container, Iterator
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, cached_property, reduce
from typing import Any, ClassVar

from errorfloor.arithmetic.polynomial import Node
from errorfloor.identity import Part
from errorfloor.sql import plan

RAMPS = 128  # half the pieces in which slopes are bounded: each piece meets one ramp
COUNTED = 32  # parts in which a quantile over records is located
APART = Fraction(1, 1000)  # of a ramp: left free at either end, so that it is


class Join(Node):
    """A public table joined on its whole row key: each row of the table meets at most one of its rows."""

    table: str
    version: str
    on: tuple[tuple[plan.TableColumn, plan.TableColumn], ...]
    keep_unmatched: bool


class GroupKey(Node):
    """A named group key."""

    label: ClassVar[str] = "Key"
    name: str
    value: plan.Scalar


class LocatedQuantile(Node):
    """A column of the answer that says where a quantile of a column certainly lies, between ``low`` and ``high``."""

    name: str
    unit: str
    column: str
    share: Fraction
    low: Fraction
    high: Fraction
    step: Fraction


class Quantile(LocatedQuantile):
    """A quantile of a private column.

    It is computed from released outputs, one for each of the ``ramps``: the share of rows at or below its start, and
    of those on the ramp a part that falls from 1 to 0. Values are multiples of ``step``.

    >>> age = Quantile("median_age", "", "age", Fraction(1, 2), Fraction(0), Fraction(2), Fraction(1))
    >>> [(float(start), float(end)) for start, end in age.ramps]
    [(0.001, 0.999), (1.001, 1.999)]
    """

    interpolated: bool = False  # between neighbours in order, as percentile_cont does

    @cached_property
    def ramps(self) -> tuple[tuple[Fraction, Fraction], ...]:
        """Where ramps begin and end: between neighbouring values if they are few, and else 128 of them."""
        count = min(RAMPS, int((self.high - self.low) / self.step))
        width = (self.high - self.low) / count
        starts = [self.low + place * width for place in range(count)]
        return tuple((start + APART * width, start + (1 - APART) * width) for start in starts)


class CountedQuantile(LocatedQuantile):
    """A quantile over records.

    It is computed from released counts: of all rows, and of those at or below each of the ``thresholds``.

    >>> age = CountedQuantile("median_age", "", "age", Fraction(1, 2), Fraction(0), Fraction(3), Fraction(1))
    >>> [int(t) for t in age.thresholds]
    [0, 1, 2]
    """

    @cached_property
    def thresholds(self) -> tuple[Fraction, ...]:
        """Every value but the last if they are few, and else 31 that cut the range into equal parts."""
        steps = int((self.high - self.low) / self.step)
        count = min(steps + 1, COUNTED)
        return tuple(self.low + (place * (steps + 1) // count - 1) * self.step for place in range(1, count))


class Derived(Node):
    """A column of the answer that follows from released parts: an average of records, a standard deviation, a ratio.

    Bounds that are asked for it are ``in_rows`` if parts are sums over records, and else in its own unit.
    """

    name: str
    unit: str
    formula: plan.Formula
    in_rows: bool = True


class Bin(Node):
    """A column of the answer that says how many rows have a private value between two edges, both softened.

    It is the released number of rows up to ``end``, or of all rows, less that up to ``start``; None is no edge. A row
    on the ramp of ``width`` around an edge counts in part.
    """

    name: str
    unit: str
    column: str
    start: Fraction | None
    end: Fraction | None
    width: Fraction

    @property
    def edges(self) -> tuple[Fraction, ...]:
        """Its edges, in order."""
        return tuple(edge for edge in (self.start, self.end) if edge is not None)


Located = Quantile | CountedQuantile | Derived | Bin


class QuestionOutput(Node):
    """A named cell of each group. ``unit`` is for display only, and no part of what is computed.

    What is ``part_of`` a quantile, a bin, or of what is derived, is charged and released as any other, and not shown.
    A bound that is asked for is ``weight`` times that for this part; of what is derived it is in rows. ``family`` is
    the name that several columns were asked for by.
    """

    label: ClassVar[str] = "Output"
    name: str
    formula: plan.Formula
    unit: str
    part_of: "Located | None" = None
    weight: Fraction = Fraction(1)
    family: str = ""

    @property
    def asked_as(self) -> str:
        """The name of the column that it is asked for by."""
        return self.name if self.part_of is None else self.part_of.name

    @property
    def span(self) -> float:
        """What a bound that is asked for is divided by: shares are bounded in parts of the column's range."""
        if isinstance(self.part_of, Quantile):
            return float(self.part_of.high - self.part_of.low)
        return float(1 / self.weight)


class Running(Node):
    """A column that shows running totals of an output: over the groups that agree in the keys of the ``partition``.

    ``order`` has the names of the other keys, each with whether it falls. A ``mean`` is over the groups so far.
    """

    name: str
    partition: tuple[str, ...]
    order: tuple[tuple[str, bool], ...]
    mean: bool = False


class Ordering(Node):
    """Sort the released answer by a key or an output."""

    name: str
    descending: bool


class Question(Node):
    """What is asked: rows, groups and cells, and how the released answer is laid out.

    ``selected`` names the keys and outputs in the order in which they are shown. Groups with fewer rows than ``least``
    are left out before anything is priced. ``sets`` are the keys of coarser groupings that are shown as well,
    ``running`` the columns of running totals, all along the same keys.
    """

    table: str
    version: str
    joins: tuple[Join, ...]
    where: plan.Condition
    keys: tuple[GroupKey, ...]
    outputs: tuple[QuestionOutput, ...]
    selected: tuple[str, ...]
    order: tuple[Ordering, ...]
    limit: int | None
    least: int = 1
    sets: tuple[tuple[str, ...], ...] = ()
    running: tuple[Running, ...] = ()

    def sharing(self, output: QuestionOutput) -> tuple[str, ...]:
        """Give the names of outputs that share cells with a running total; none if this output has no part in one.

        Parts of what is derived have none: their bounds follow from what is made of them.
        """
        names = {one.name for one in self.running}
        alike = [one for one in self.outputs if one.part_of is None and one.formula == output.formula]
        if output.part_of is not None or not any(one.name in names for one in alike):
            return ()
        return tuple(one.name for one in alike)

    @property
    def quantiles(self) -> "tuple[Located, ...]":
        """The columns that are computed from released shares or sums."""
        return tuple(dict.fromkeys(one.part_of for one in self.outputs if one.part_of is not None))

    @property
    def families(self) -> dict[str, tuple[str, ...]]:
        """The columns that were asked for by one name, by that name."""
        found: dict[str, dict[str, None]] = {}
        for one in self.outputs:
            if one.family:
                found.setdefault(one.family, {})[one.asked_as] = None
        return {family: tuple(names) for family, names in found.items()}

    def function_of(self, output: QuestionOutput) -> tuple[Part, ...]:
        """Give what decides one output as a function of the snapshots: names and layout do not.

        It is a tuple of label parts: rows, groups and formula.
        """
        return (
            self.table,
            self.version,
            tuple(join.canonical for join in self.joins),
            self.where.canonical,
            tuple(key.value.canonical for key in self.keys),
            output.formula.canonical,
        )


def walk(node: Node, stop: type[Node] | tuple[type[Node], ...] | None = None) -> Iterator[Node]:
    """Give a node and all nodes below it, but nothing from below nodes of the kind ``stop``."""
    yield node
    if stop is None or not isinstance(node, stop):
        for name in _fields_of(type(node)):  # type: ignore[arg-type]  # classes can be hashed as their objects can
            yield from _inside(getattr(node, name), stop)


@cache
def _fields_of(kind: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


def _inside(value: object, stop: type[Node] | tuple[type[Node], ...] | None) -> Iterator[Node]:
    if isinstance(value, Node):
        yield from walk(value, stop)
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item, stop)


def aggregates(formula: plan.Formula) -> Iterator[plan.Aggregate]:
    """Give the aggregates that a formula is made of."""
    kinds = (plan.Count, plan.Sum, plan.Covariance, plan.WeightedMean)
    return (node for node in walk(formula, stop=kinds) if isinstance(node, kinds))


def summed(aggregate: plan.Aggregate) -> Iterator[plan.Count | plan.Sum]:
    """Give the counts and sums that an aggregate is computed from."""
    match aggregate:
        case plan.Covariance(first, second, where):
            yield plan.Count(where)
            yield from (plan.Sum(of, where) for of in (first, second, first * second))
        case plan.WeightedMean(value, weight, where):
            yield from (plan.Sum(of, where) for of in (value * weight, weight))
        case _:
            yield aggregate


def combined(formula: plan.Formula, value: Callable[[plan.Formula], Any], applied: Callable[..., Any]) -> Any:
    """Give what arithmetic makes of the values of a formula's parts; ``applied`` of a function, its numbers and one."""
    match formula:
        case plan.Plus(parts):
            return reduce(operator.add, map(value, parts))
        case plan.Times(parts):
            return reduce(operator.mul, map(value, parts))
        case plan.Quotient(numerator, denominator):
            return value(numerator) / value(denominator)
        case plan.Power(base, exponent):
            return value(base) ** exponent
        case plan.Apply(function, parameters, argument):
            return applied(function, parameters, value(argument))
    raise TypeError(f"{type(formula).__name__} is not made of other formulas")


def is_private(node: Node) -> bool:
    """Tell whether the value of a private column is used anywhere below; which entries are null is public.

    >>> from errorfloor.arithmetic.polynomial import Polynomial
    >>> is_private(Polynomial.constant(2))
    False
    """
    return any(isinstance(part, plan.TableColumn) and part.private for part in walk(node, stop=plan.Missing))


def is_made_of_parts(formula: plan.Formula) -> bool:
    """Tell whether something private is divided by, multiplied with itself, or put into a function."""
    return is_private(formula) and not _is_linear(formula)


def by_parts(question: Question, places: Container[int]) -> Question:
    """Derive some outputs of a question, by their places, from parts that are released."""
    outputs: list[QuestionOutput] = []
    for place, one in enumerate(question.outputs):
        if place not in places:
            outputs.append(one)
            continue
        whole = Derived(one.name, one.unit, one.formula, in_rows=False)
        parts = sorted(dict.fromkeys(_parts(one.formula)), key=is_private)  # private ones last: they state the bound
        outputs += [QuestionOutput(f"{one.name}/{part}", formula, "", whole) for part, formula in enumerate(parts)]
    return replace(question, outputs=tuple(outputs))


def _is_linear(formula: plan.Formula) -> bool:
    match formula:
        case plan.Constant() | plan.Count() | plan.Sum() | plan.Covariance():
            return True
        case plan.Plus(parts=parts):
            return all(map(_is_linear, parts))
        case plan.Times(parts=parts):
            return all(map(_is_linear, parts)) and sum(map(is_private, parts)) < 2
        case plan.Quotient(numerator=numerator, denominator=denominator):
            return _is_linear(numerator) and not is_private(denominator)
    return not is_private(formula)


def _parts(formula: plan.Formula) -> Iterator[plan.Formula]:
    match formula:
        case plan.Constant():
            return
        case _ if _is_linear(formula):
            yield formula
        case plan.WeightedMean():
            yield from summed(formula)
        case plan.Plus(parts=parts) | plan.Times(parts=parts):
            for part in parts:
                yield from _parts(part)
        case plan.Quotient(numerator=numerator, denominator=denominator):
            yield from _parts(numerator)
            yield from _parts(denominator)
        case plan.Power(base=inner) | plan.Apply(argument=inner):
            yield from _parts(inner)
