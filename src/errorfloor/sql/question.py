"""A question as a whole: what it selects, from which rows, in which order; and the walk through its nodes."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

from errorfloor.identity import Part
from errorfloor.sql.plan import Condition, Formula, Missing, Scalar, TableColumn
from errorfloor.sql.polynomial import Node


@dataclass(frozen=True, eq=False)
class Join(Node):
    """A public table joined on its whole row key: each row of the table meets at most one of its rows."""

    table: str
    version: str
    on: tuple[tuple[TableColumn, TableColumn], ...]
    keep_unmatched: bool


@dataclass(frozen=True, eq=False)
class GroupKey(Node):
    """A named group key."""

    label: ClassVar[str] = "Key"
    name: str
    value: Scalar


@dataclass(frozen=True, eq=False)
class QuestionOutput(Node):
    """A named cell of each group. ``unit`` is for display only, and no part of what is computed."""

    label: ClassVar[str] = "Output"
    name: str
    formula: Formula
    unit: str


@dataclass(frozen=True, eq=False)
class Ordering(Node):
    """Sort the released answer by a key or an output."""

    name: str
    descending: bool


@dataclass(frozen=True, eq=False)
class Question(Node):
    """What is asked: rows, groups and cells, and how the released answer is laid out.

    ``selected`` names the keys and outputs in the order in which they are shown. Groups with fewer rows than ``least``
    are left out before anything is priced.
    """

    table: str
    version: str
    joins: tuple[Join, ...]
    where: Condition
    keys: tuple[GroupKey, ...]
    outputs: tuple[QuestionOutput, ...]
    selected: tuple[str, ...]
    order: tuple[Ordering, ...]
    limit: int | None
    least: int = 1

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


def walk(node: Node, stop: type[Node] | None = None) -> Iterator[Node]:
    """Give a node and all nodes below it, but nothing from below nodes of the kind ``stop``."""
    yield node
    if stop is None or not isinstance(node, stop):
        for field in fields(node):
            yield from _inside(getattr(node, field.name), stop)


def _inside(value: object, stop: type[Node] | None) -> Iterator[Node]:
    if isinstance(value, Node):
        yield from walk(value, stop)
    elif isinstance(value, tuple):
        for item in value:
            yield from _inside(item, stop)


def is_private(node: Node) -> bool:
    """Tell whether the value of a private column is used anywhere below; which entries are null is public.

    >>> from errorfloor.sql.polynomial import Polynomial
    >>> is_private(Polynomial.constant(2))
    False
    """
    return any(isinstance(part, TableColumn) and part.private for part in walk(node, stop=Missing))
