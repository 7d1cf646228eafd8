"""The typed plan: the only thing that is priced, labelled and compiled.

::

    Question
      table, joins, where ...... which rows: conditions on public columns
      keys ..................... scalars of public columns: the groups
      outputs .................. formulas: arithmetic of aggregates
        Sum, Count, Covariance, WeightedMean over the rows of a group for which ``where`` holds
          Polynomial ........... of atoms: TableColumn, Indicator, DatePart, RoundedDown, Different, Call

A row's numbers are polynomials with exact coefficients. Nodes are compared by their canonical encoding; sums, products,
"and" and "or" are kept in canonical order.
"""

import datetime
import operator
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, ClassVar, TypeVar
from typing import Literal as OneOf

from errorfloor.arithmetic.polynomial import Node, Polynomial, order_of

Whole = TypeVar("Whole")
ScalarType = OneOf["text", "number", "date", "moment", "flag"]

ROW_FUNCTIONS = ("exp", "ln", "sqrt", "sin", "cos", "tanh", "power", "reciprocal", "above", "greatest", "least")
FORMULA_FUNCTIONS = ("exp", "ln", "sqrt", "tanh", "greatest", "least")
DATE_PARTS = ("year", "quarter", "month", "week", "day", "dayofyear", "isodow", "hour", "minute")
DATE_UNITS = ("year", "quarter", "month", "week", "day", "hour")


@dataclass(frozen=True, eq=False)
class TableColumn(Node):
    """A column of the table (place 0) or of the joined public table number ``place``.

    A number is stored as an integer multiple of ``step``; a private column always is one.
    """

    label: ClassVar[str] = "Column"
    place: int
    name: str
    type: ScalarType
    private: bool = False
    step: Fraction | None = None
    nullable: bool = False


@dataclass(frozen=True, eq=False)
class Literal(Node):
    """A text, date, moment or flag that the question names; numbers are constant polynomials."""

    value: str | datetime.date | datetime.datetime | bool
    type: ScalarType


@dataclass(frozen=True, eq=False)
class Truncated(Node):
    """The beginning of the year, quarter, month, week (Monday), day or hour of a public date or moment."""

    unit: str
    of: "TableColumn | Truncated | AsDate"

    @property
    def type(self) -> ScalarType:
        """That of what is cut off."""
        return self.of.type


@dataclass(frozen=True, eq=False)
class AsDate(Node):
    """The day of a public moment."""

    of: "TableColumn | Truncated"
    type: ClassVar[ScalarType] = "date"


@dataclass(frozen=True, eq=False)
class Choice(Node):
    """CASE on public conditions with texts, dates or flags; numbers use indicators. ``otherwise`` None is NULL."""

    branches: "tuple[tuple[Condition, Scalar], ...]"
    otherwise: "Scalar | None"
    type: ScalarType


@dataclass(frozen=True, eq=False)
class DatePart(Node):
    """A whole number from a public date or moment: its month, its ISO day of the week, and so on."""

    part: str
    of: TableColumn | Truncated | AsDate


@dataclass(frozen=True, eq=False)
class RoundedDown(Node):
    """The greatest whole number not above a polynomial of public columns."""

    label: ClassVar[str] = "Floor"
    of: Polynomial


@dataclass(frozen=True, eq=False)
class Indicator(Node):
    """1 where a public condition is true, 0 where it is false or unknown."""

    of: "Condition"
    idempotent: ClassVar[bool] = True


@dataclass(frozen=True, eq=False)
class Different(Node):
    """1 on one of the rows with each value and 0 on the others, of records that count: its sum counts the values.

    It stands in sums alone, as a factor of presence.
    """

    of: "Scalar"


@dataclass(frozen=True, eq=False)
class Call(Node):
    """A function of a polynomial, stored as an integer multiple of a power of two that follows from public facts.

    ``power`` has its exponent as parameter; ``above`` a threshold and a width: it rises smoothly from 0 at threshold −
    width/2 to 1 at threshold + width/2 as 3s² − 2s³; ``greatest`` and ``least`` the constant to compare with.
    """

    function: str
    parameters: tuple[Fraction, ...]
    argument: Polynomial


Scalar = TableColumn | Literal | Truncated | AsDate | Choice | Polynomial


# -- conditions on public columns; three-valued as in SQL


@dataclass(frozen=True, eq=False)
class Always(Node):
    """True."""


@dataclass(frozen=True, eq=False)
class And(Node):
    """All of them; made by ``all_of``."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, eq=False)
class Or(Node):
    """Any of them; made by ``any_of``."""

    parts: "tuple[Condition, ...]"


@dataclass(frozen=True, eq=False)
class Not(Node):
    """The opposite."""

    part: "Condition"


@dataclass(frozen=True, eq=False)
class Compare(Node):
    """``left`` operator ``right``; numbers are polynomials, and other types are the same on both sides."""

    operator: OneOf["=", "<>", "<", "<="]
    left: Scalar
    right: Scalar


@dataclass(frozen=True, eq=False)
class Among(Node):
    """One of several literals, in canonical order; for numbers, constant polynomials."""

    value: Scalar
    choices: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class Matches(Node):
    """A text like a pattern with % and _, case mattering and nothing escaped."""

    value: Scalar
    pattern: str


@dataclass(frozen=True, eq=False)
class Missing(Node):
    """The scalar is NULL."""

    value: Scalar


Condition = Always | And | Or | Not | Compare | Among | Matches | Missing


def all_of(parts: Iterable[Condition]) -> Condition:
    """Give the conjunction in canonical form: flat, sorted, without repetition.

    >>> all_of([Always()]) == Always()
    True
    """
    flat = {piece.encoded: piece for piece in _flat(And, parts) if not isinstance(piece, Always)}
    return _whole(And, [flat[key] for key in sorted(flat)]) if flat else Always()


def any_of(parts: Iterable[Condition]) -> Condition:
    """Give the disjunction in canonical form: flat, sorted, without repetition.

    >>> any_of([Always(), Always()]) == Always()
    True
    """
    flat = {piece.encoded: piece for piece in _flat(Or, parts)}
    return _whole(Or, [flat[key] for key in sorted(flat)])


# -- aggregates and formulas


@dataclass(frozen=True, eq=False)
class Count(Node):
    """The number of rows of the group for which the condition is true: public, exact."""

    where: Condition


@dataclass(frozen=True, eq=False)
class Sum(Node):
    """Σ of a polynomial over the rows of the group for which the condition is true."""

    of: Polynomial
    where: Condition


@dataclass(frozen=True, eq=False)
class Covariance(Node):
    """Population (or sample) covariance of two polynomials; a variance when they are the same."""

    first: Polynomial
    second: Polynomial
    where: Condition
    sample: bool


@dataclass(frozen=True, eq=False)
class WeightedMean(Node):
    """Σ value·weight / Σ weight, with a weight that is private."""

    value: Polynomial
    weight: Polynomial
    where: Condition


Aggregate = Count | Sum | Covariance | WeightedMean


@dataclass(frozen=True, eq=False)
class Constant(Node):
    """A number."""

    value: Fraction


@dataclass(frozen=True, eq=False)
class Plus(Node):
    """A sum of formulas, in canonical order."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, eq=False)
class Times(Node):
    """A product of formulas, in canonical order."""

    parts: "tuple[Formula, ...]"


@dataclass(frozen=True, eq=False)
class Quotient(Node):
    """A quotient of formulas."""

    numerator: "Formula"
    denominator: "Formula"


@dataclass(frozen=True, eq=False)
class Power(Node):
    """A formula to a whole power of at least two."""

    base: "Formula"
    exponent: int


@dataclass(frozen=True, eq=False)
class Apply(Node):
    """A function of a formula: one of ``FORMULA_FUNCTIONS``; greatest and least have their constant as parameter."""

    function: str
    parameters: tuple[Fraction, ...]
    argument: "Formula"


Formula = Constant | Count | Sum | Covariance | WeightedMean | Plus | Times | Quotient | Power | Apply


def plus(parts: Iterable[Formula]) -> Formula:
    """Give a sum in canonical form: flat, constants added.

    >>> plus([Constant(Fraction(1)), Constant(Fraction(2))]) == Constant(Fraction(3))
    True
    """
    return _gathered(Plus, parts, operator.add, 0)


def times(parts: Iterable[Formula]) -> Formula:
    """Give a product in canonical form: flat, constants multiplied.

    >>> times([Constant(Fraction(2)), Constant(Fraction(3))]) == Constant(Fraction(6))
    True
    """
    return _gathered(Times, parts, operator.mul, 1)


def _gathered(kind: type[Plus | Times], parts: Iterable[Formula], join: Callable[..., Any], unit: int) -> Formula:
    """Join the constants of parts into one, which is left out where it changes nothing."""
    pieces = list(_flat(kind, parts))
    kept = [piece for piece in pieces if not isinstance(piece, Constant)]
    constant = reduce(join, (piece.value for piece in pieces if isinstance(piece, Constant)), Fraction(unit))
    if constant != unit or not kept:
        kept.append(Constant(constant))
    return kept[0] if len(kept) == 1 else kind(tuple(sorted(kept, key=order_of)))


def _flat(kind: type[Any], parts: Iterable[Any]) -> Iterator[Any]:
    """Give parts, and in place of those of a kind what they are made of."""
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)


def _whole(kind: Callable[[tuple[Any, ...]], Whole], parts: Sequence[Any]) -> Whole:
    return parts[0] if len(parts) == 1 else kind(tuple(parts))
