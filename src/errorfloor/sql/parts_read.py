"""Which parts of a table that grows a question can read: decided from its condition on public columns alone.

*Guarantee*: a part that is left out has no row for which the condition is true, whatever its rows are.
"""

import datetime
from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.catalogue.model import Growth, PublicColumn
from errorfloor.sql import plan

Truths = frozenset[bool | None]
Ends = tuple[Any, Any]  # the least and the greatest value that a scalar may have, of one type

ANY: Truths = frozenset((True, False, None))
LAST = datetime.time.max
ASCENDING: dict[str, Callable[[datetime.date], int]] = {  # within a year
    "month": lambda day: day.month,
    "quarter": lambda day: (day.month + 2) // 3,
    "dayofyear": lambda day: day.timetuple().tm_yday,
}


def parts_read(where: plan.Condition, growth: Growth, column: PublicColumn, names: Iterable[str]) -> list[str]:
    """Give the names of those parts in which the condition may be true for some row.

    >>> day = plan.TableColumn(0, "day", "date")
    >>> since = plan.Compare("<=", plan.Literal(datetime.date(2024, 2, 10), "date"), day)
    >>> monthly = Growth(column="day", part="month")
    >>> parts_read(since, monthly, PublicColumn(type="date"), ["2024-01", "2024-02", "2024-03"])
    ['2024-02', '2024-03']
    """
    return [name for name in names if True in _truths(where, _Part(growth, column, name))]


class _Part:
    """What the column by which a table grows may hold in one part."""

    def __init__(self, growth: Growth, column: PublicColumn, name: str) -> None:
        self._column = growth.column
        if growth.part is None:
            value: Any = int(name) if column.type == "whole" else name
            self._ends: Ends = value, value
        else:
            first, last = growth.days(name)
            at_midnight = datetime.datetime.combine(first, datetime.time.min), datetime.datetime.combine(last, LAST)
            self._ends = at_midnight if column.type == "moment" else (first, last)

    def ends(self, scalar: Node) -> Ends | None:
        """Give between which values a scalar lies in this part; None if that is not known, or it may be NULL."""
        match scalar:
            case plan.TableColumn(place=0, name=name) if name == self._column:
                return self._ends
            case plan.Literal(value=value):
                return value, value
            case plan.Truncated(unit=unit, of=of):
                return self._through(of, lambda value: _beginning(unit, value))
            case plan.AsDate(of=of):
                return self._through(of, lambda value: value.date() if isinstance(value, datetime.datetime) else value)
            case plan.DatePart(part="year", of=of):
                return self._through(of, lambda value: value.year)
            case plan.DatePart(part=part, of=of) if part in ASCENDING:
                found = self._through(of, lambda value: (value.year, ASCENDING[part](value)))
                return None if found is None or found[0][0] != found[1][0] else (found[0][1], found[1][1])
            case Polynomial():
                if scalar.value is not None:
                    return scalar.value, scalar.value
                (powers, factor), *others = scalar.terms
                if others or factor != 1 or len(powers) != 1 or powers[0][1] != 1:
                    return None
                return self.ends(powers[0][0])
        return None

    def _through(self, of: Node, ascending: Callable[[Any], Any]) -> Ends | None:
        found = self.ends(of)
        return None if found is None else (ascending(found[0]), ascending(found[1]))


def _beginning(unit: str, value: Any) -> Any:
    """Give the beginning of the period that a date or moment lies in."""
    if isinstance(value, datetime.datetime) and unit == "hour":
        return value.replace(minute=0, second=0, microsecond=0)
    day = value.date() if isinstance(value, datetime.datetime) else value
    match unit:
        case "week":
            day -= datetime.timedelta(days=day.weekday())
        case "month":
            day = day.replace(day=1)
        case "quarter":
            day = day.replace(month=(day.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            day = day.replace(month=1, day=1)
    return datetime.datetime.combine(day, datetime.time.min) if isinstance(value, datetime.datetime) else day


def _truths(condition: plan.Condition, part: _Part) -> Truths:
    """Give what a condition may be for rows of a part, or more."""
    match condition:
        case plan.Always():
            return frozenset((True,))
        case plan.And(parts=parts):
            return reduce(_both, (_truths(one, part) for one in parts), frozenset((True,)))
        case plan.Or(parts=parts):
            return _opposite(reduce(_both, (_opposite(_truths(one, part)) for one in parts), frozenset((True,))))
        case plan.Not(part=inner):
            return _opposite(_truths(inner, part))
        case plan.Compare(operator=operator, left=left, right=right):
            return _compared(operator, part.ends(left), part.ends(right))
        case plan.Among(value=value, choices=choices):
            ends = part.ends(value)
            each = [_compared("=", ends, part.ends(one)) for one in choices]
            return _opposite(reduce(_both, map(_opposite, each), frozenset((True,))))
        case plan.Missing(value=value):
            return ANY if part.ends(value) is None else frozenset((False,))
    return ANY


def _compared(operator: str, one: Ends | None, two: Ends | None) -> Truths:
    if one is None or two is None or (type(one[0]) is not type(two[0]) and not _are_numbers(one, two)):
        return ANY
    (low, high), (least, most) = one, two
    match operator:
        case "<":
            truths = {True: low < most, False: high >= least}
        case "<=":
            truths = {True: low <= most, False: high > least}
        case _:
            same = {True: low <= most and least <= high, False: not low == high == least == most}
            truths = same if operator == "=" else {True: same[False], False: same[True]}
    return frozenset(truth for truth, may_be in truths.items() if may_be)


def _are_numbers(one: Ends, two: Ends) -> bool:
    return all(not isinstance(end, (str, bool, datetime.date)) for end in (*one, *two))


def _both(one: Truths, two: Truths) -> Truths:
    """Give what "and" of two may be, in three-valued logic."""
    return frozenset(False if False in (a, b) else None if None in (a, b) else True for a in one for b in two)


def _opposite(truths: Truths) -> Truths:
    return frozenset(None if one is None else not one for one in truths)
