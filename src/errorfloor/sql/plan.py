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
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any, ClassVar
from typing import Literal as OneOf

from errorfloor.arithmetic.polynomial import Node, Polynomial

ScalarType = OneOf["text", "number", "date", "moment", "flag"]


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


class Literal(Node):
    """A text, date, moment or flag that the question names; numbers are constant polynomials."""

    value: str | datetime.date | datetime.datetime | bool
    type: ScalarType


class Truncated(Node):
    """The beginning of the year, quarter, month, week (Monday), day or hour of a public date or moment."""

    unit: str
    of: "TableColumn | Truncated | AsDate"

    @property
    def type(self) -> ScalarType:
        """That of what is cut off."""
        return self.of.type


class AsDate(Node):
    """The day of a public moment."""

    of: "TableColumn | Truncated"
    type: ClassVar[ScalarType] = "date"


class Choice(Node):
    """CASE on public conditions with texts, dates or flags; numbers use indicators. ``otherwise`` None is NULL."""

    branches: "tuple[tuple[Condition, Scalar], ...]"
    otherwise: "Scalar | None"
    type: ScalarType


class DatePart(Node):
    """A whole number from a public date or moment: its month, its ISO day of the week, and so on."""

    part: str
    of: TableColumn | Truncated | AsDate


class RoundedDown(Node):
    """The greatest whole number not above a polynomial of public columns."""

    label: ClassVar[str] = "Floor"
    of: Polynomial


class Indicator(Node):
    """1 where a public condition is true, 0 where it is false or unknown."""

    of: "Condition"
    idempotent: ClassVar[bool] = True


class Different(Node):
    """1 on one of the rows with each value and 0 on the others, of records that count: its sum counts the values.

    It stands in sums alone, as a factor of presence.
    """

    of: "Scalar"


class Call(Node):
    """A function of a polynomial, stored as an integer multiple of a power of two that follows from public facts.

    ``power`` has its exponent as parameter; ``above`` a threshold and a width: it rises smoothly from 0 at threshold −
    width/2 to 1 at threshold + width/2 as 3s² − 2s³; ``greatest`` and ``least`` the constant to compare with.
    """

    function: str
    parameters: tuple[Fraction, ...]
    argument: Polynomial


Scalar = TableColumn | Literal | Truncated | AsDate | Choice | Polynomial


def is_constant(scalar: Scalar) -> bool:
    """Tell whether a scalar is the same on every row."""
    return isinstance(scalar, Literal) or (isinstance(scalar, Polynomial) and scalar.value is not None)


# -- conditions on public columns; three-valued as in SQL


class Always(Node):
    """True."""


class Several(Node):
    """Something made of parts of its own kind, in canonical order."""

    parts: tuple[Any, ...]


class And(Several):
    """All of them; made by ``all_of``."""


class Or(Several):
    """Any of them; made by ``any_of``."""


class Not(Node):
    """The opposite."""

    part: "Condition"


class Compare(Node):
    """``left`` operator ``right``; numbers are polynomials, and other types are the same on both sides."""

    operator: OneOf["=", "<>", "<", "<="]
    left: Scalar
    right: Scalar


class Among(Node):
    """One of several literals, in canonical order; for numbers, constant polynomials."""

    value: Scalar
    choices: tuple[Scalar, ...]


class Matches(Node):
    """A text like a pattern with % and _, case mattering and nothing escaped."""

    value: Scalar
    pattern: str


class Missing(Node):
    """The scalar is NULL."""

    value: Scalar


Condition = Always | And | Or | Not | Compare | Among | Matches | Missing


ALWAYS = Always()
NEVER = Not(ALWAYS)


def all_of(parts: Iterable[Condition]) -> Condition:
    """Give the conjunction in canonical form: flat, sorted, without repetition; FALSE AND unknown is FALSE.

    >>> all_of([ALWAYS]) == ALWAYS, all_of([ALWAYS, NEVER]) == NEVER
    (True, True)
    """
    return _gathered(And, parts, ALWAYS, NEVER)


def any_of(parts: Iterable[Condition]) -> Condition:
    """Give the disjunction in canonical form: flat, sorted, without repetition; TRUE OR unknown is TRUE.

    >>> any_of([ALWAYS, NEVER]) == ALWAYS, any_of([]) == NEVER
    (True, True)
    """
    return _gathered(Or, parts, NEVER, ALWAYS)


def _gathered(kind: type[And | Or], parts: Iterable[Condition], nothing: Condition, decisive: Condition) -> Condition:
    """Leave out what changes ``nothing``; what is ``decisive`` is all there is."""
    found = {piece.encoded: piece for piece in flat(kind, parts) if piece != nothing}
    if not found or decisive in found.values():
        return decisive if found else nothing
    return kind(tuple(found[key] for key in sorted(found))) if len(found) > 1 else next(iter(found.values()))


def opposite(part: Condition) -> Condition:
    """Give the negation; NOT NOT c is c.

    >>> opposite(opposite(ALWAYS)) == ALWAYS
    True
    """
    return part.part if isinstance(part, Not) else Not(part)


# -- aggregates and formulas


class Count(Node):
    """The number of rows of the group for which the condition is true: public, exact."""

    where: Condition


class Sum(Node):
    """Σ of a polynomial over the rows of the group for which the condition is true."""

    of: Polynomial
    where: Condition


class Covariance(Node):
    """Population (or sample) covariance of two polynomials; a variance when they are the same."""

    first: Polynomial
    second: Polynomial
    where: Condition
    sample: bool


class WeightedMean(Node):
    """Σ value·weight / Σ weight, with a weight that is private."""

    value: Polynomial
    weight: Polynomial
    where: Condition


Aggregate = Count | Sum | Covariance | WeightedMean


class Constant(Node):
    """A number."""

    value: Fraction


class Plus(Several):
    """A sum of formulas; made by ``plus``."""


class Times(Several):
    """A product of formulas; made by ``times``."""


class Quotient(Node):
    """A quotient of formulas."""

    numerator: "Formula"
    denominator: "Formula"


class Power(Node):
    """A formula to a whole power of at least two."""

    base: "Formula"
    exponent: int


class Apply(Node):
    """exp, ln, sqrt or tanh of a formula; or greatest or least, which have their constant as parameter."""

    function: str
    parameters: tuple[Fraction, ...]
    argument: "Formula"


Formula = Constant | Count | Sum | Covariance | WeightedMean | Plus | Times | Quotient | Power | Apply


def flat(kind: type[Any], parts: Iterable[Any]) -> Iterator[Any]:
    """Give parts, and in place of those of a kind what they are made of."""
    for part in parts:
        yield from part.parts if isinstance(part, kind) else (part,)
