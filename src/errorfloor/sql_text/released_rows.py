"""Rows, columns and totals of an answer, as tools ask for them around a question: arithmetic on what is released.

The ends of certain intervals are carried along: those of a sum, a mean, a least or a greatest number certainly hold
the true one, too. There are none where a number is null because released parts do not show what it is: it may have a
true value, which would be among those that are put together. Nor are there any of several numbers each of which is
certain only if there are rows: one that has none would not be among them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from errorfloor.sql_text.conditions import SIGNS, Condition, Name, refusal

Row = Mapping[str, Any]
ENDS = ("_low", "_high")
CASTS: dict[str, Callable[[Any], bool]] = {  # those that change nothing
    **dict.fromkeys(("text", "varchar"), pa.types.is_string),
    **dict.fromkeys(("bigint", "int", "integer"), pa.types.is_integer),
    **dict.fromkeys(("double", "float", "numeric", "real"), pa.types.is_floating),
    **{"date": pa.types.is_date, "timestamp": pa.types.is_timestamp, "boolean": pa.types.is_boolean},
}


@dataclass(frozen=True)
class Item:
    """One column of the result: a column, a constant, or what ``total`` makes of either in all rows of a group."""

    column: Name | None = None
    constant: Any = None
    total: str = ""
    than: tuple[str, Any] | None = None  # what a count is compared with
    name: str = ""
    cast: str = ""

    def named(self, names: Sequence[str]) -> str:
        """Give its name in the result."""
        return self.name or self.total or (self.column.among(names) if self.column else "?column?")

    def value(self, source: str, group: Sequence[Row], towards: float | None = None) -> Any:
        """Give what it is of a group of rows; ``towards`` says where to an end of an interval is rounded."""
        if not self.total:
            value = group[0][source] if source else self.constant
            return value if self.than is None else SIGNS[self.than[0]](value, self.than[1])
        found = [row[source] if source else self.constant for row in group]
        found = [one for one in found if one is not None]
        if self.total == "count":
            return len(found) if self.than is None else SIGNS[self.than[0]](len(found), self.than[1])
        if not found:
            return None
        if self.total in ("min", "max"):
            return min(found) if self.total == "min" else max(found)
        whole = sum(found) if all(isinstance(one, int) for one in found) else math.fsum(found)
        whole = whole / len(found) if self.total == "avg" else whole
        if towards is None or len(found) == 1:
            return whole
        return math.nextafter(math.nextafter(whole, towards), towards)

    def type(self, source: str, table: pa.Table) -> Any:
        """Give the type of its values."""
        if self.than is not None:
            return pa.bool_()
        if self.total in ("count", "avg"):
            return pa.int64() if self.total == "count" else pa.float64()
        return table.schema.field(source).type if source else pa.array([self.constant]).type


@dataclass(frozen=True)
class Order:
    """What rows are sorted by: a column of the result or of the question, a place, or an item."""

    by: Name | Item | int
    is_descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class ShownColumn:
    """A column of the result: what it is, from which column of the question, under which name.

    ``towards`` says of an end to where it is rounded, ``is_whole`` whether it has none where one of its group has none,
    ``is_alone`` whether only one of a single row has one.
    """

    item: Item
    source: str
    name: str
    towards: float | None = None
    is_whole: bool = False
    is_alone: bool = False

    def value(self, group: Sequence[Row]) -> Any:
        """Give what it is of a group of rows."""
        totalled = self.item.total not in ("", "count")  # a count of what has no end is a count
        if totalled and self.is_alone and len(group) > 1:
            return None
        if totalled and self.is_whole and any(row[self.source] is None for row in group):
            return None
        return self.item.value(self.source, group, self.towards)


@dataclass(frozen=True)
class RowsWanted:
    """What a query does with the rows of an answer; ``items`` is None for all columns."""

    items: tuple[Item, ...] | None = None
    test: Condition | None = None
    groups: tuple[Name | int, ...] | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int = 0
    is_never: bool = False  # no row can pass the test

    @property
    def is_probe(self) -> bool:
        """Whether no row is wanted whatever the answer is; a count of no rows is still a row."""
        totals = any(one.total for one in self.items or ())
        return self.limit == 0 or (self.is_never and (self.groups is not None or not totals))

    @property
    def is_plain(self) -> bool:
        """Whether it names columns and constants, and neither groups nor totals."""
        return self.groups is None and not any(one.total for one in self.items or ())

    def applied(
        self, table: pa.Table, private: Sequence[str], derived: Mapping[str, bool], *, bounds: bool
    ) -> tuple[pa.Table, list[str], dict[str, bool]]:
        """Give the rows that are wanted of an answer, and which of their columns have certain intervals.

        ``table`` has the ends of the intervals of all ``private`` columns; those of the result follow its columns if
        ``bounds`` are wanted, unless they are selected themselves. ``derived`` are those that may be null though they
        have a true value, each with whether it has one only if there are rows; the last part says it of the result.
        """
        names = list(table.column_names)
        columns = self._columns(names, private, derived, bounds)
        keys = self._keys([one.item for one in columns], names)
        for one in columns:
            _check(one, table, keys)
        rows: list[Row] = (table if self.test is None else table.filter(self.test(table.schema))).to_pylist()
        groups = [[row] for row in rows] if keys is None else _grouped(rows, keys)
        found = {one.name: [one.value(group) for group in groups] for one in columns}
        places = list(range(len(groups)))
        for order in reversed(self.order):
            places = _sorted(places, order, self._ordered(order.by, groups, found, columns, names, keys))
        places = places[self.offset : None if self.limit is None else self.offset + self.limit]
        arrays = [
            _array([found[one.name][place] for place in places], one.item.type(one.source, table)) for one in columns
        ]
        still = [name for name in found if all(f"{name}{end}" in found for end in ENDS)]
        doubtful = {one.name: derived[one.source] for one in columns if one.source in derived and one.name in still}
        return pa.table(arrays, names=list(found)), still, doubtful

    def _columns(
        self, names: Sequence[str], private: Sequence[str], derived: Mapping[str, bool], bounds: bool
    ) -> list[ShownColumn]:
        ends = {
            f"{name}{end}": towards
            for name in private
            for end, towards in zip(ENDS, (-math.inf, math.inf), strict=True)
        }
        doubtful = {f"{name}{end}": if_rows for name, if_rows in derived.items() for end in ENDS}
        plain = [Item(Name(name, True)) for name in names if name not in ends]
        shown = []
        for item in plain if self.items is None else self.items:
            source = item.column.among(names) if item.column else ""
            doubts = source in doubtful, doubtful.get(source, False)
            shown.append(ShownColumn(item, source, item.named(names), ends.get(source), *doubts))
        chosen = {one.source for one in shown}
        added = [
            ShownColumn(
                one.item,
                f"{one.source}{end}",
                f"{one.name}{end}",
                ends[f"{one.source}{end}"],
                one.source in derived,
                derived.get(one.source, False),
            )
            for one in shown
            if bounds and one.source in private and one.item.total != "count" and one.item.than is None
            for end in ENDS
            if not chosen & {f"{one.source}{either}" for either in ENDS}
        ]
        if len({one.name for one in (*shown, *added)}) != len(shown) + len(added):
            raise refusal("two columns have the same name: rename one with AS", "column")
        return [*shown, *added]

    def _keys(self, items: Sequence[Item], names: Sequence[str]) -> list[str] | None:
        """Give the columns that rows are grouped by; None if each row is by itself."""
        if self.groups is None:
            return [] if any(one.total for one in items) else None
        keys = []
        for one in self.groups:
            if isinstance(one, int):
                item: Item | None = _placed(one, items)
            else:
                item = next((other for other in items if other.name == one.text and one.text not in names), Item(one))
            if item is None or item.column is None or item.total:
                raise refusal(f"GROUP BY {one} is not a column", "group")
            keys.append(item.column.among(names))
        return keys

    def _ordered(
        self,
        by: Name | Item | int,
        groups: Sequence[Sequence[Row]],
        found: Mapping[str, Sequence[Any]],
        columns: Sequence[ShownColumn],
        names: Sequence[str],
        keys: Sequence[str] | None,
    ) -> Sequence[Any]:
        """Give the values that groups are sorted by."""
        if isinstance(by, int):
            return found[_placed(by, columns).name]
        if isinstance(by, Name):
            mine = [name for name in found if name == by.text or (not by.is_quoted and name.lower() == by.text.lower())]
            if mine:
                return found[mine[0]]
            by = Item(by)
        source = by.column.among(names) if by.column else ""
        if keys is not None and not by.total and source not in keys:
            raise refusal(f"rows are sorted by {source}, which is neither in GROUP BY nor a total", "order")
        return [by.value(source, group) for group in groups]


def _placed(place: int, among: Sequence[Any]) -> Any:
    if not 1 <= place <= len(among):
        raise refusal(f"{place} is not the place of a column: use 1 to {len(among)}", "order")
    return among[place - 1]


def _check(column: ShownColumn, table: pa.Table, keys: Sequence[str] | None) -> None:
    item, source = column.item, column.source
    if keys is not None and source and not item.total and source not in keys:
        raise refusal(f"{source} is neither in GROUP BY nor a total", "group")
    kind = item.type(source, table) if not source else table.schema.field(source).type
    if item.total in ("sum", "avg") and not (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        raise refusal(f"{item.total} needs numbers, and {source or 'this'} has none", "function")
    if item.cast and not CASTS[item.cast](kind):
        raise refusal(f"a cast of {source} would change its type: leave it out", "function")


def _grouped(rows: Sequence[Row], keys: Sequence[str]) -> list[list[Row]]:
    """Put rows with the same keys together, in the order of the first; without keys there is one group."""
    groups: dict[tuple[Any, ...], list[Row]] = {} if keys else {(): []}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in keys), []).append(row)
    return list(groups.values())


def _sorted(places: Sequence[int], order: Order, values: Sequence[Any]) -> list[int]:
    nulls = [place for place in places if values[place] is None]
    others = [place for place in places if values[place] is not None]
    others.sort(key=lambda place: values[place], reverse=order.is_descending)
    return [*nulls, *others] if order.nulls_first else [*others, *nulls]


def _array(values: Sequence[Any], kind: Any) -> pa.Array:
    try:
        return pa.array(values, kind)
    except (pa.ArrowInvalid, OverflowError):
        raise refusal("a total is too large", "number") from None
