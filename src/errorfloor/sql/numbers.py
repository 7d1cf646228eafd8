"""A number of a row: its polynomial, and on which rows it is there.

Arithmetic with NULL is NULL, so a number is there where all its parts are. It keeps within limits that make every later
step quick: otherwise ``power(x, 1000000)`` or a product of many sums would be a cheap way to stop a server. Formulas of
numbers are put into canonical form here, too.
"""

import operator
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any, TypeGuard, TypeVar

from errorfloor.arithmetic.polynomial import MOST_DEGREE, Monomial, Node, Polynomial, order_of
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.question import is_private

LARGEST = 10**60  # of a coefficient's numerator and denominator
MOST_CALLS = 4  # functions within functions
MOST_ARGUMENT = 10_000  # bytes of a function's argument, encoded
MOST_BYTES = 100_000  # of any value or condition: what stands twice in its meaning may stand once in the text

TOO_LARGE = "is too large when written out: ask for its parts"
HALF = Fraction(1, 2)
Part = TypeVar("Part", bound="Node | Number")

DECIMAL = re.compile(r"([0-9]{1,60}\.?[0-9]{0,60}|\.[0-9]{1,60})([eE][+-]?[0-9]{1,3})?")
GREATEST_LITERAL = Fraction(10) ** 30
MOST_FACTORS = 24  # aggregates multiplied with each other


@dataclass(frozen=True)
class Number:
    """A polynomial, and the condition under which it is not NULL.

    >>> (Number.constant(2) * Number.constant(3)).polynomial.value
    Fraction(6, 1)
    """

    polynomial: Polynomial
    present: plan.Condition

    @classmethod
    def constant(cls, value: Fraction | int) -> "Number":
        """A number that is the same on every row."""
        return cls(Polynomial.constant(value), plan.Always())

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
        return Number(Polynomial.atom(plan.Call(function, parameters, self.polynomial)), self.present)

    def _with(self, other: "Number", polynomial: Polynomial) -> "Number":
        return checked(Number(polynomial, plan.all_of([self.present, other.present])))


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
    """Refuse a scalar or condition that is too large to be handled quickly; numbers are checked when they are made."""
    if isinstance(node, Node) and len(node.encoded) > MOST_BYTES:
        raise RefusedError(TOO_LARGE, reason="too-long")
    return node


def calls_deep(polynomial: Polynomial) -> int:
    """Count the functions within each other."""
    depths = [1 + calls_deep(atom.argument) for atom in polynomial.atoms if isinstance(atom, plan.Call)]
    return max(depths, default=0)


def has_calls(polynomial: Polynomial) -> bool:
    """Tell whether a value depends on floating point, and so has no exact comparison."""
    return calls_deep(polynomial) > 0


def presence(polynomial: Polynomial) -> plan.Condition:
    """Give the condition under which a polynomial itself is not NULL: its nullable columns are there."""
    parts: list[plan.Condition] = []
    for atom in polynomial.atoms:
        if isinstance(atom, plan.TableColumn):
            parts.append(column_presence(atom))
        elif isinstance(atom, plan.DatePart):
            parts.append(scalar_presence(atom.of))
        elif isinstance(atom, plan.RoundedDown):
            parts.append(presence(atom.of))
        elif isinstance(atom, plan.Call):
            parts.append(presence(atom.argument))
    return plan.all_of(parts)


def column_presence(column: plan.TableColumn) -> plan.Condition:
    """Give the condition under which a column is not NULL."""
    return plan.Not(plan.Missing(column)) if column.nullable else plan.Always()


def scalar_presence(scalar: plan.TableColumn | plan.Truncated | plan.AsDate) -> plan.Condition:
    """Give the condition under which a date or moment is not NULL."""
    while not isinstance(scalar, plan.TableColumn):
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
            not isinstance(atom, plan.TableColumn) or (atom.step is not None and atom.step.denominator == 1)
            for atom, _ in monomial
        )
        for monomial, coefficient in polynomial.terms
    )


def plus(parts: Iterable[plan.Formula]) -> plan.Formula:
    """Give a sum in canonical form: flat, constants added.

    >>> plus([plan.Constant(Fraction(1)), plan.Constant(Fraction(2))]) == plan.Constant(Fraction(3))
    True
    """
    return _with_one_constant(plan.Plus, parts, operator.add, 0)


def times(parts: Iterable[plan.Formula]) -> plan.Formula:
    """Give a product in canonical form: flat, constants multiplied.

    >>> times([plan.Constant(Fraction(2)), plan.Constant(Fraction(3))]) == plan.Constant(Fraction(6))
    True
    """
    return _with_one_constant(plan.Times, parts, operator.mul, 1)


def _with_one_constant(
    kind: type[plan.Plus | plan.Times], parts: Iterable[plan.Formula], join: Callable[..., Any], unit: int
) -> plan.Formula:
    """Join the constants of parts into one, which is left out where it changes nothing."""
    pieces = list(plan.flat(kind, parts))
    kept = [piece for piece in pieces if not isinstance(piece, plan.Constant)]
    constant = reduce(join, (piece.value for piece in pieces if isinstance(piece, plan.Constant)), Fraction(unit))
    if constant != unit or not kept:
        kept.append(plan.Constant(constant))
    return kept[0] if len(kept) == 1 else kind(tuple(sorted(kept, key=order_of)))


def negative(formula: plan.Formula) -> plan.Formula:
    """Give minus a formula."""
    return times([plan.Constant(Fraction(-1)), formula])


def root(formula: plan.Formula) -> plan.Formula:
    """Give the square root of a formula."""
    return plan.Apply("sqrt", (), formula)


def power(base: plan.Formula, exponent: Fraction) -> plan.Formula:
    """Give a formula to a constant power."""
    if abs(exponent) > MOST_DEGREE:
        raise RefusedError(f"has an exponent beyond {MOST_DEGREE}: ask for a smaller one", reason="too-long")
    if isinstance(base, plan.Constant):
        if exponent.denominator > 1 or (base.value == 0 and exponent <= 0):
            raise RefusedError("is a function of a constant: write its value as a decimal number", reason="constant")
        return plan.Constant(base.value ** int(exponent))
    if exponent == Fraction(1, 2):
        return root(base)
    if exponent.denominator > 1 or exponent == 0:
        raise RefusedError("needs a whole exponent other than 0, or 0.5, outside of an aggregate", reason="function")
    whole = base if abs(exponent) == 1 else plan.Power(base, abs(int(exponent)))
    return whole if exponent > 0 else quotient(plan.Constant(Fraction(1)), whole)


def quotient(numerator: plan.Formula, denominator: plan.Formula) -> plan.Formula:
    """Give a quotient in canonical form: constants before it, a weighted mean where it is one."""
    above, one = _factored(numerator)
    below, two = _factored(denominator)
    if below == 0:
        raise RefusedError("divides by zero", reason="constant")
    factor = plan.Constant(above / below)
    if two is None:
        return times([factor] if one is None else [factor, one])
    if one is None:
        return plan.Quotient(factor, two)
    if _is_mean(one) and _is_mean(two) and one.denominator == two.denominator:
        return times([factor, quotient(one.numerator, two.numerator)])
    mean = _weighted_mean(one, two)
    return times([factor, plan.Quotient(one, two) if mean is None else mean])


def _is_mean(formula: plan.Formula) -> TypeGuard[plan.Quotient]:
    return isinstance(formula, plan.Quotient) and isinstance(formula.denominator, plan.Count)


def _factored(formula: plan.Formula) -> tuple[Fraction, plan.Formula | None]:
    """Take the constant out of a product; None stands for 1."""
    if isinstance(formula, plan.Constant):
        return formula.value, None
    if isinstance(formula, plan.Times):
        constants = [part.value for part in formula.parts if isinstance(part, plan.Constant)]
        others = [part for part in formula.parts if not isinstance(part, plan.Constant)]
        if constants and constants[0]:
            return constants[0], times(others)
    return Fraction(1), formula


def _weighted_mean(numerator: plan.Formula, denominator: plan.Formula) -> plan.Formula | None:
    if not (
        isinstance(numerator, plan.Sum) and isinstance(denominator, plan.Sum) and numerator.where == denominator.where
    ):
        return None
    if len(denominator.of.terms) != 1 or not is_private(denominator.of):
        return None
    weight, scale = denominator.of.terms[0]
    terms: list[tuple[Monomial, Fraction]] = []
    for monomial, coefficient in numerator.of.terms:
        rest = _divided(monomial, weight)
        if rest is None:
            return None
        terms.append((rest, coefficient / scale))
    return plan.WeightedMean(Polynomial.of(terms), Polynomial(((weight, Fraction(1)),)), numerator.where)


def _divided(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(monomial)
    for atom, exponent in divisor:
        if powers.get(atom, 0) < exponent:
            return None
        powers[atom] -= exponent
    return tuple((atom, exponent) for atom, exponent in powers.items() if exponent)


def bounded(formula: plan.Formula) -> plan.Formula:
    """Refuse formulas whose exact evaluation would be slow."""
    if any(max(abs(value.numerator), value.denominator) > LARGEST for value in _constants(formula)):
        raise RefusedError(
            "has constants that are too long or too large: round them, or change the unit", reason="constant"
        )
    if factors(formula) > MOST_FACTORS:
        raise RefusedError(f"multiplies more than {MOST_FACTORS} aggregates: ask for its parts", reason="too-long")
    return formula


def _constants(formula: plan.Formula) -> Iterator[Fraction]:
    """The constants at the top of a formula; those below have been looked at before."""
    parts = formula.parts if isinstance(formula, (plan.Plus, plan.Times)) else (formula,)
    for part in parts:
        if isinstance(part, plan.Constant):
            yield part.value
        elif isinstance(part, plan.Quotient) and isinstance(part.numerator, plan.Constant):
            yield part.numerator.value


def factors(formula: plan.Formula) -> int:
    """Bound how many aggregates are multiplied with each other.

    >>> factors(plan.Constant(Fraction(2)))
    0
    """
    match formula:
        case plan.Constant():
            return 0
        case plan.Plus(parts):
            return max(map(factors, parts))
        case plan.Times(parts):
            return sum(map(factors, parts))
        case plan.Quotient(numerator, denominator):
            return factors(numerator) + factors(denominator)
        case plan.Power(base, exponent):
            return factors(base) * exponent
        case plan.Apply(_, _, argument):
            return factors(argument)
        case _:
            return 1
