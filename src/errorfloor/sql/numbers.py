"""A number of a row: its polynomial, and on which rows it is there.

Arithmetic with NULL is NULL, so a number is there where all its parts are. It keeps within limits that make every later
step quick: otherwise ``power(x, 1000000)`` or a product of many sums would be a cheap way to stop a server.
"""

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from errorfloor.errors import RefusedError
from errorfloor.sql.plan import (
    Always,
    AsDate,
    Call,
    Condition,
    DatePart,
    Missing,
    Not,
    RoundedDown,
    TableColumn,
    Truncated,
    all_of,
    is_private,
)
from errorfloor.sql.polynomial import MOST_DEGREE, Node, Polynomial

LARGEST = 10**60  # of a coefficient's numerator and denominator
MOST_CALLS = 4  # functions within functions
MOST_ARGUMENT = 10_000  # bytes of a function's argument, encoded
MOST_BYTES = 100_000  # of any value or condition: what stands twice in its meaning may stand once in the text

TOO_LARGE = "is too large when written out: ask for its parts"
HALF = Fraction(1, 2)
Part = TypeVar("Part", bound=Node)

DECIMAL = re.compile(r"([0-9]{1,60}\.?[0-9]{0,60}|\.[0-9]{1,60})([eE][+-]?[0-9]{1,3})?")
GREATEST_LITERAL = Fraction(10) ** 30


@dataclass(frozen=True)
class Number:
    """A polynomial, and the condition under which it is not NULL.

    >>> (Number.constant(2) * Number.constant(3)).polynomial.value
    Fraction(6, 1)
    """

    polynomial: Polynomial
    present: Condition

    @classmethod
    def constant(cls, value: Fraction | int) -> "Number":
        """A number that is the same on every row."""
        return cls(Polynomial.constant(value), Always())

    def __add__(self, other: "Number") -> "Number":
        return self._with(other, self.polynomial + other.polynomial)

    def __sub__(self, other: "Number") -> "Number":
        return self._with(other, self.polynomial - other.polynomial)

    def __mul__(self, other: "Number") -> "Number":
        return self._with(other, self.polynomial * other.polynomial)

    def __truediv__(self, other: "Number") -> "Number":
        divisor = other.polynomial.value
        if divisor is None:
            return self * other.call("reciprocal")
        if divisor == 0:
            raise RefusedError("divides by zero", reason="constant")
        return self._with(other, self.polynomial * (1 / divisor))

    def power(self, exponent: Fraction) -> "Number":
        """Give the number to a constant power: a polynomial where the exponent is whole."""
        if abs(exponent) > MOST_DEGREE:
            raise RefusedError(f"has an exponent beyond {MOST_DEGREE}: ask for a smaller one", reason="too-long")
        if exponent.denominator > 1:
            return self.call("sqrt") if exponent == HALF else self.call("power", exponent)
        base = self if exponent >= 0 else Number.constant(1) / self
        return checked(Number(base.polynomial ** abs(int(exponent)), base.present))

    def call(self, function: str, *parameters: Fraction) -> "Number":
        """Give a function of the number."""
        if self.polynomial.value is not None:
            raise RefusedError("is a function of a constant: write its value as a decimal number", reason="constant")
        if len(self.polynomial.encoded) > MOST_ARGUMENT or calls_deep(self.polynomial) >= MOST_CALLS:
            raise RefusedError(
                f"is a function of too much: at most {MOST_CALLS} functions within each other and about fifty terms "
                f"are allowed; ask for its parts",
                reason="too-long",
            )
        return Number(Polynomial.atom(Call(function, parameters, self.polynomial)), self.present)

    def _with(self, other: "Number", polynomial: Polynomial) -> "Number":
        return checked(Number(polynomial, all_of([self.present, other.present])))


def checked(number: Number) -> Number:
    """Refuse coefficients that no row could need, and polynomials that are too large to be handled quickly."""
    if sum(len(atom.encoded) for monomial, _ in number.polynomial.terms for atom, _ in monomial) > MOST_BYTES:
        raise RefusedError(TOO_LARGE, reason="too-long")
    for _, coefficient in number.polynomial.terms:
        if abs(coefficient.numerator) > LARGEST or coefficient.denominator > LARGEST:
            raise RefusedError(
                "has constants that are too long or too large when multiplied out: round them, or change the unit",
                reason="constant",
            )
    return number


def small(node: Part) -> Part:
    """Refuse a scalar or condition that is too large to be handled quickly."""
    if len(node.encoded) > MOST_BYTES:
        raise RefusedError(TOO_LARGE, reason="too-long")
    return node


def calls_deep(polynomial: Polynomial) -> int:
    """Count the functions within each other."""
    depths = [1 + calls_deep(atom.argument) for atom in polynomial.atoms if isinstance(atom, Call)]
    return max(depths, default=0)


def has_calls(polynomial: Polynomial) -> bool:
    """Tell whether a value depends on floating point, and so has no exact comparison."""
    return calls_deep(polynomial) > 0


def presence(polynomial: Polynomial) -> Condition:
    """Give the condition under which a polynomial itself is not NULL: its nullable columns are there."""
    parts: list[Condition] = []
    for atom in polynomial.atoms:
        if isinstance(atom, TableColumn):
            parts.append(column_presence(atom))
        elif isinstance(atom, DatePart):
            parts.append(scalar_presence(atom.of))
        elif isinstance(atom, RoundedDown):
            parts.append(presence(atom.of))
        elif isinstance(atom, Call):
            parts.append(presence(atom.argument))
    return all_of(parts)


def column_presence(column: TableColumn) -> Condition:
    """Give the condition under which a column is not NULL."""
    return Not(Missing(column)) if column.nullable else Always()


def scalar_presence(scalar: TableColumn | Truncated | AsDate) -> Condition:
    """Give the condition under which a date or moment is not NULL."""
    while not isinstance(scalar, TableColumn):
        scalar = scalar.of
    return column_presence(scalar)


def number_of(text: str) -> Fraction:
    """Read a decimal number exactly.

    >>> number_of("1.50")
    Fraction(3, 2)
    """
    if DECIMAL.fullmatch(text):
        value = Fraction(text if not text.startswith(".") else "0" + text)
        if value == 0 or 1 / GREATEST_LITERAL <= value <= GREATEST_LITERAL:
            return value
    raise RefusedError("is beyond 1e-30 … 1e30, or has too many digits: change the unit", reason="constant")


def is_whole(polynomial: Polynomial) -> bool:
    """Tell whether a public polynomial has whole values only."""
    if is_private(polynomial) or has_calls(polynomial):
        return False
    return all(
        coefficient.denominator == 1
        and all(
            not isinstance(atom, TableColumn) or (atom.step is not None and atom.step.denominator == 1)
            for atom, _ in monomial
        )
        for monomial, coefficient in polynomial.terms
    )
