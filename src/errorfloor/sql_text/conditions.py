"""Conditions on the rows of an answer, in SQL's logic of three values, as Arrow computes it."""

import datetime
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.errors import RefusedError

Condition = Callable[[pa.Schema], pc.Expression]  # refuses what cannot be compared, before a row is seen
SIGNS: dict[str, Callable[[Any, Any], Any]] = {
    **{"<>": operator.ne, "!=": operator.ne, "<=": operator.le, ">=": operator.ge},
    **{"=": operator.eq, "<": operator.lt, ">": operator.gt},
}
UNKNOWN = pc.scalar(pa.nulls(1, pa.bool_())[0])  # pa.scalar would load pandas where it is installed


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


def refusal(said: str, reason: str = "subquery") -> RefusedError:
    """Give the refusal of a query around a question."""
    return RefusedError(f"in the query around the question, {said}", reason=reason)


def compared(name: Name, sign: str, constant: Any) -> Condition:
    """Compare a column with a constant; a text that is compared with a date is read as one.

    >>> table = pa.table({"n": [None, 4, 1]})
    >>> found = either([is_null(Name("n")), compared(Name("n"), ">", 3)])
    >>> table.filter(found(table.schema)).to_pydict(), table.filter(negated(found)(table.schema)).to_pydict()
    ({'n': [None, 4]}, {'n': [1]})
    """

    def bound(schema: pa.Schema) -> pc.Expression:
        field, (other,) = _read(name, [constant], schema)
        return SIGNS[sign](field, other)

    return bound


def one_of(name: Name, constants: Sequence[Any]) -> Condition:
    """Say whether a column has one of some values."""

    def bound(schema: pa.Schema) -> pc.Expression:
        field, others = _read(name, constants, schema)
        unknown = UNKNOWN if others.null_count else field.is_null() & UNKNOWN
        return field.isin(others.drop_null()) | unknown

    return bound


def is_null(name: Name) -> Condition:
    """Say whether a column has no value."""
    return lambda schema: pc.field(name.among(schema.names)).is_null()


def always(truth: bool) -> Condition:
    """Say the same of every row."""
    return lambda _: pc.scalar(truth)


def negated(condition: Condition) -> Condition:
    """Say the contrary; what is unknown stays so."""
    return lambda schema: ~condition(schema)


def either(conditions: Sequence[Condition]) -> Condition:
    """Say whether any of them holds."""
    return lambda schema: _joined(operator.or_, [one(schema) for one in conditions])


def both(conditions: Sequence[Condition]) -> Condition:
    """Say whether all of them hold."""
    return lambda schema: _joined(operator.and_, [one(schema) for one in conditions])


def _joined(join: Callable[[Any, Any], Any], parts: list[Any]) -> pc.Expression:
    """Join conditions in pairs, and these in pairs again: many of them are not nested deeply."""
    while len(parts) > 1:
        parts = [*map(join, parts[::2], parts[1::2]), *parts[len(parts) // 2 * 2 :]]
    return parts[0]


def _read(name: Name, constants: Sequence[Any], schema: pa.Schema) -> tuple[pc.Expression, pa.Array]:
    """Give a column and the constants that it is compared with, in one type."""
    column = name.among(schema.names)
    field, kind = pc.field(column), schema.field(column).type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        moment = pa.timestamp("us")
        return field.cast(moment), pa.array([_moment(column, one) for one in constants], moment)
    is_text = pa.types.is_string(kind)
    wrong = next((one for one in constants if one is not None and is_text is not isinstance(one, str)), None)
    if wrong is not None:
        raise refusal(f"{column} is compared with {str(wrong)[:40]!r}, which is of another type", "condition")
    if is_text:
        return field, pa.array(constants, kind)
    is_whole = pa.types.is_integer(kind) or pa.types.is_boolean(kind)  # a flag counts as 1 or 0
    is_exact = is_whole and not any(isinstance(one, float) for one in constants)
    number, convert = (pa.int64(), int) if is_exact else (pa.float64(), float)
    return field.cast(number, safe=False), pa.array([one if one is None else convert(one) for one in constants], number)


def _moment(column: str, constant: Any) -> datetime.datetime | None:
    """Read what a column of dates or moments is compared with; a date is its first moment."""
    try:
        return None if constant is None else datetime.datetime.fromisoformat(str(constant).strip()).replace(tzinfo=None)
    except ValueError:
        raise refusal(f"{column} is compared with {str(constant)[:40]!r}, which is no date", "condition") from None
