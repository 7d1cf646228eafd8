"""Arithmetic of formulas, in canonical form.

Only rewritings that keep the function are made: constants are gathered, a quotient of two means over the same rows is
the quotient of the sums, and Σ value·weight / Σ weight with a private weight becomes one weighted mean.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import TypeGuard

from errorfloor.errors import RefusedError
from errorfloor.sql.numbers import LARGEST
from errorfloor.sql.plan import (
    Apply,
    Constant,
    Count,
    Formula,
    Plus,
    Power,
    Quotient,
    Sum,
    Times,
    WeightedMean,
    is_private,
    times,
)
from errorfloor.sql.polynomial import MOST_DEGREE, Monomial, Polynomial

MOST_FACTORS = 24  # aggregates multiplied with each other


def negative(formula: Formula) -> Formula:
    """Give minus a formula."""
    return times([Constant(Fraction(-1)), formula])


def root(formula: Formula) -> Formula:
    """Give the square root of a formula."""
    return Apply("sqrt", (), formula)


def power(base: Formula, exponent: Fraction) -> Formula:
    """Give a formula to a constant power."""
    if abs(exponent) > MOST_DEGREE:
        raise RefusedError(f"has an exponent beyond {MOST_DEGREE}: ask for a smaller one", reason="too-long")
    if isinstance(base, Constant):
        if exponent.denominator > 1 or (base.value == 0 and exponent <= 0):
            raise RefusedError("is a function of a constant: write its value as a decimal number", reason="constant")
        return Constant(base.value ** int(exponent))
    if exponent == Fraction(1, 2):
        return root(base)
    if exponent.denominator > 1 or exponent == 0:
        raise RefusedError("needs a whole exponent other than 0, or 0.5, outside of an aggregate", reason="function")
    whole = base if abs(exponent) == 1 else Power(base, abs(int(exponent)))
    return whole if exponent > 0 else quotient(Constant(Fraction(1)), whole)


def quotient(numerator: Formula, denominator: Formula) -> Formula:
    """Give a quotient in canonical form: constants before it, a weighted mean where it is one."""
    above, one = _factored(numerator)
    below, two = _factored(denominator)
    if below == 0:
        raise RefusedError("divides by zero", reason="constant")
    factor = Constant(above / below)
    if two is None:
        return times([factor] if one is None else [factor, one])
    if one is None:
        return Quotient(factor, two)
    if _is_mean(one) and _is_mean(two) and one.denominator == two.denominator:
        return times([factor, quotient(one.numerator, two.numerator)])
    mean = _weighted_mean(one, two)
    return times([factor, Quotient(one, two) if mean is None else mean])


def _is_mean(formula: Formula) -> TypeGuard[Quotient]:
    return isinstance(formula, Quotient) and isinstance(formula.denominator, Count)


def _factored(formula: Formula) -> tuple[Fraction, Formula | None]:
    """Take the constant out of a product; None stands for 1."""
    if isinstance(formula, Constant):
        return formula.value, None
    if isinstance(formula, Times):
        constants = [part.value for part in formula.parts if isinstance(part, Constant)]
        others = [part for part in formula.parts if not isinstance(part, Constant)]
        if constants and constants[0]:
            return constants[0], times(others)
    return Fraction(1), formula


def _weighted_mean(numerator: Formula, denominator: Formula) -> Formula | None:
    if not (isinstance(numerator, Sum) and isinstance(denominator, Sum) and numerator.where == denominator.where):
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
    return WeightedMean(Polynomial.of(terms), Polynomial(((weight, Fraction(1)),)), numerator.where)


def _divided(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    powers = dict(monomial)
    for atom, exponent in divisor:
        if powers.get(atom, 0) < exponent:
            return None
        powers[atom] -= exponent
    return tuple((atom, exponent) for atom, exponent in powers.items() if exponent)


def bounded(formula: Formula) -> Formula:
    """Refuse formulas whose exact evaluation would be slow."""
    if any(max(abs(value.numerator), value.denominator) > LARGEST for value in _constants(formula)):
        raise RefusedError(
            "has constants that are too long or too large: round them, or change the unit", reason="constant"
        )
    if factors(formula) > MOST_FACTORS:
        raise RefusedError(f"multiplies more than {MOST_FACTORS} aggregates: ask for its parts", reason="too-long")
    return formula


def _constants(formula: Formula) -> Iterator[Fraction]:
    """The constants at the top of a formula; those below have been looked at before."""
    parts = formula.parts if isinstance(formula, (Plus, Times)) else (formula,)
    for part in parts:
        if isinstance(part, Constant):
            yield part.value
        elif isinstance(part, Quotient) and isinstance(part.numerator, Constant):
            yield part.numerator.value


def factors(formula: Formula) -> int:
    """Bound how many aggregates are multiplied with each other.

    >>> factors(Constant(Fraction(2)))
    0
    """
    match formula:
        case Constant():
            return 0
        case Plus(parts):
            return max(map(factors, parts))
        case Times(parts):
            return sum(map(factors, parts))
        case Quotient(numerator, denominator):
            return factors(numerator) + factors(denominator)
        case Power(base, exponent):
            return factors(base) * exponent
        case Apply(_, _, argument):
            return factors(argument)
        case _:
            return 1
