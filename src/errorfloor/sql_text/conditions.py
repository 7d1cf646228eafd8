"""Conditions on the rows of an answer, in SQL's logic of three values."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from errorfloor.errors import RefusedError

Row = Mapping[str, Any]
Test = Callable[[Row], bool | None]  # of a row with the names of the answer; None is unknown
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    **{"<>": lambda a, b: a != b, "!=": lambda a, b: a != b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b},
    **{"=": lambda a, b: a == b, "<": lambda a, b: a < b, ">": lambda a, b: a > b},
}


@dataclass(frozen=True)
class Name:
    """The name of a column as a query writes it; small and capital letters differ where it is quoted."""

    text: str
    is_quoted: bool = False

    def among(self, names: Sequence[str]) -> str:
        """Give the column that is meant; raises RefusedError if there is none."""
        if self.text in names:
            return self.text
        found = [one for one in names if not self.is_quoted and one.lower() == self.text.lower()]
        if len(found) != 1:
            raise refusal(f"{self.text[:60]!r} is not a column of the question: it has {', '.join(names)}", "column")
        return found[0]


@dataclass(frozen=True)
class Condition:
    """What is asked of a row: ``bind`` is told the columns, and refuses what cannot be compared before a row is seen.

    >>> found = either([is_null(Name("n")), compared(Name("n"), ">", 3)]).bind(pa.schema({"n": pa.int64()}))
    >>> found({"n": None}), found({"n": 4}), found({"n": 1})
    (True, True, False)
    """

    bind: Callable[[pa.Schema], Test]


def refusal(said: str, reason: str = "subquery") -> RefusedError:
    """Give the refusal of a query around a question."""
    return RefusedError(f"in the query around the question, {said}", reason=reason)


def compared(name: Name, sign: str, constant: Any) -> Condition:
    """Compare a column with a constant; a text that is compared with a date is read as one."""

    def bind(schema: pa.Schema) -> Test:
        column, read = _column(name, schema)
        other, compare = read(constant), SIGNS[sign]

        def passes(row: Row) -> bool | None:
            value = row[column]
            return None if value is None or other is None else compare(_moment(value), other)

        return passes

    return Condition(bind)


def one_of(name: Name, constants: Sequence[Any]) -> Condition:
    """Say whether a column has one of some values."""

    def bind(schema: pa.Schema) -> Test:
        column, read = _column(name, schema)
        others = {read(one) for one in constants}

        def passes(row: Row) -> bool | None:
            value = row[column]
            if value is not None and _moment(value) in others:
                return True
            return None if value is None or None in others else False

        return passes

    return Condition(bind)


def is_null(name: Name) -> Condition:
    """Say whether a column has no value."""

    def bind(schema: pa.Schema) -> Test:
        column, _ = _column(name, schema)
        return lambda row: row[column] is None

    return Condition(bind)


def always(truth: bool) -> Condition:
    """Say the same of every row."""
    return Condition(lambda _: lambda _: truth)


def negated(condition: Condition) -> Condition:
    """Say the contrary; what is unknown stays so."""

    def bind(schema: pa.Schema) -> Test:
        test = condition.bind(schema)

        def passes(row: Row) -> bool | None:
            truth = test(row)
            return None if truth is None else not truth

        return passes

    return Condition(bind)


def either(conditions: Sequence[Condition]) -> Condition:
    """Say whether any of them holds."""

    def bind(schema: pa.Schema) -> Test:
        tests = [one.bind(schema) for one in conditions]

        def passes(row: Row) -> bool | None:
            truths = [test(row) for test in tests]
            return True if True in truths else None if None in truths else False

        return passes

    return Condition(bind)


def both(conditions: Sequence[Condition]) -> Condition:
    """Say whether all of them hold."""
    return conditions[0] if len(conditions) == 1 else negated(either([negated(one) for one in conditions]))


def _column(name: Name, schema: pa.Schema) -> tuple[str, Callable[[Any], Any]]:
    """Give the column that is meant, and how constants that it is compared with are read."""
    column = name.among(schema.names)
    kind = schema.field(column).type

    def read(constant: Any) -> Any:
        if constant is None:
            return None
        if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
            try:
                return datetime.datetime.fromisoformat(str(constant).strip()).replace(tzinfo=None)
            except ValueError:
                raise refusal(
                    f"{column} is compared with {str(constant)[:40]!r}, which is no date", "condition"
                ) from None
        if pa.types.is_string(kind) is not isinstance(constant, str):
            raise refusal(f"{column} is compared with {str(constant)[:40]!r}, which is of another type", "condition")
        return constant

    return column, read


def _moment(value: Any) -> Any:
    """Give a date as its first moment, and anything else as it is."""
    if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime):
        return datetime.datetime(value.year, value.month, value.day)
    return value
