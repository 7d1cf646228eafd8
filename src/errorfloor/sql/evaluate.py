"""From exact integer sums to the exact value of a formula.

Rational arithmetic is exact; functions of formulas are decimals of fifty digits (``apply``). So a formula's value is
the same on every machine.
"""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from math import lcm

from errorfloor.sql.apply import apply
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import (
    Apply,
    Condition,
    Constant,
    Count,
    Covariance,
    Formula,
    Plus,
    Power,
    Quotient,
    Sum,
    Times,
    WeightedMean,
)
from errorfloor.sql.polynomial import ONE, Monomial, Polynomial
from errorfloor.sql.scaled import scaled

Wanted = tuple[Monomial, Condition]
Sums = Mapping[Wanted, int | None]
Value = Fraction | None


def needed(formula: Formula) -> list[Wanted]:
    """Give the sums that a formula is computed from: monomials with the condition that a row must meet to count.

    Each is named once. A count is the sum of the monomial ONE.

    >>> from errorfloor.sql.plan import Always
    >>> needed(Count(Always())) == [(ONE, Always())]
    True
    """
    return list(dict.fromkeys(_needed(formula)))


def evaluate(formula: Formula, sums: Sums, layout: Layout) -> Value:
    """Give the value of a formula from the sums that it needs.

    With g, h polynomials and n the number of rows that count: population covariance Σgh/n − Σg·Σh/n², sample
    covariance n/(n − 1) times that, weighted mean Σgw/Σw.

    Guarantee: exact, but for a relative error of ``apply.APPLY_ERROR`` at every function of a formula. None where SQL
    gives NULL: a sum over no rows, a sample covariance of fewer than two, a quotient by zero, a function outside its
    domain, and whatever is computed from them.

    >>> from errorfloor.sql.plan import Always
    >>> evaluate(Quotient(Count(Always()), Constant(Fraction(3))), {(ONE, Always()): 7}, Layout({}, {}, rows=10))
    Fraction(7, 3)
    """
    return _evaluator(formula, layout)(sums)


def applied(polynomial: Polynomial, where: Condition, sums: Sums, layout: Layout) -> Value:
    """Give Σ of a polynomial over the rows that count, from the sums of its monomials; None if no row counts.

    >>> from errorfloor.sql.plan import Always
    >>> half = Polynomial.constant(Fraction(1, 2))
    >>> applied(half, Always(), {(ONE, Always()): 7}, Layout({}, {}, rows=10))
    Fraction(7, 2)
    """
    total, divisor = _linear(polynomial, where, layout)
    result = total(sums)
    return None if result is None else Fraction(result, divisor)


def _needed(formula: Formula) -> Iterator[Wanted]:
    match formula:
        case Count(where=where):
            yield ONE, where
        case Sum(of=of, where=where):
            yield from _monomials(of, where)
        case Covariance(first=first, second=second, where=where):
            yield ONE, where
            for polynomial in (first, second, _product(first, second)):
                yield from _monomials(polynomial, where)
        case WeightedMean(value=value, weight=weight, where=where):
            for polynomial in (weight, _product(value, weight)):
                yield from _monomials(polynomial, where)
        case Plus(parts=parts) | Times(parts=parts):
            for part in parts:
                yield from _needed(part)
        case Quotient(numerator=numerator, denominator=denominator):
            yield from _needed(numerator)
            yield from _needed(denominator)
        case Power(base=inner) | Apply(argument=inner):
            yield from _needed(inner)


def _monomials(polynomial: Polynomial, where: Condition) -> Iterator[Wanted]:
    """Give the monomials to sum; without any other, the count says whether a row counts at all."""
    yield from ((monomial, where) for monomial, _ in polynomial.terms or ((ONE, Fraction(0)),))


@lru_cache(maxsize=1024)
def _product(one: Polynomial, two: Polynomial) -> Polynomial:
    return one * two


# -- a formula is turned into functions of the sums once, and these are called for every group


@lru_cache(maxsize=256)
def _evaluator(formula: Formula, layout: Layout) -> Callable[[Sums], Value]:
    match formula:
        case Constant(value=constant):
            return lambda sums: constant
        case Count(where=where):
            return lambda sums: Fraction(sums[ONE, where] or 0)
        case Sum(of=of, where=where):
            total, divisor = _linear(of, where, layout)
            return lambda sums: _ratio(total(sums), divisor)
        case Covariance():
            return _covariance(formula, layout)
        case WeightedMean(value=value, weight=weight, where=where):
            product, product_unit = _linear(_product(value, weight), where, layout)
            whole, whole_unit = _linear(weight, where, layout)
            return lambda sums: _ratio(_times(product(sums), whole_unit), _times(whole(sums), product_unit))
        case Quotient(numerator=numerator, denominator=denominator):
            above, below = _evaluator(numerator, layout), _evaluator(denominator, layout)
            return lambda sums: _ratio(above(sums), below(sums))
        case Plus(parts=parts):
            return _combined(parts, layout, lambda one, two: one + two)
        case Times(parts=parts):
            return _combined(parts, layout, lambda one, two: one * two)
        case Power(base=base, exponent=exponent):
            inner = _evaluator(base, layout)
            return lambda sums: _unless_null(inner(sums), lambda value: value**exponent)
        case Apply(function=function, parameters=parameters, argument=argument):
            inner = _evaluator(argument, layout)
            return lambda sums: _unless_null(inner(sums), lambda value: apply(function, parameters, value))


def _linear(polynomial: Polynomial, where: Condition, layout: Layout) -> tuple[Callable[[Sums], int | None], int]:
    """Give a function of the sums that is D·Σ polynomial, in integers, and D."""
    terms = scaled(polynomial, layout)
    divisor = lcm(*(factor.denominator for _, factor in terms))
    weights = [((monomial, where), int(factor * divisor)) for monomial, factor in terms] or [((ONE, where), 0)]

    def total(sums: Sums) -> int | None:
        result = 0
        for wanted, weight in weights:
            part = sums[wanted]
            if part is None or (wanted[0] == ONE and part == 0):
                return None
            result += weight * part
        return result

    return total, divisor


def _covariance(formula: Covariance, layout: Layout) -> Callable[[Sums], Value]:
    first, first_unit = _linear(formula.first, formula.where, layout)
    second, second_unit = _linear(formula.second, formula.where, layout)
    product, product_unit = _linear(_product(formula.first, formula.second), formula.where, layout)
    counted = (ONE, formula.where)

    def covariance(sums: Sums) -> Value:
        count, one, two, both = sums[counted] or 0, first(sums), second(sums), product(sums)
        if count < 1 + formula.sample or one is None or two is None or both is None:
            return None
        unit = first_unit * second_unit
        centred = count * both * unit - one * two * product_unit
        return Fraction(centred, unit * product_unit * count * (count - 1 if formula.sample else count))

    return covariance


def _combined(
    parts: tuple[Formula, ...], layout: Layout, operation: Callable[[Fraction, Fraction], Fraction]
) -> Callable[[Sums], Value]:
    first, *others = [_evaluator(part, layout) for part in parts]

    def combined(sums: Sums) -> Value:
        result = first(sums)
        for other in others:
            value = other(sums)
            if result is None or value is None:
                return None
            result = operation(result, value)
        return result

    return combined


def _ratio(above: Fraction | int | None, below: Fraction | int | None) -> Value:
    return None if above is None or not below else Fraction(above, below)


def _times(value: int | None, factor: int) -> int | None:
    return None if value is None else value * factor


def _unless_null(value: Value, function: Callable[[Fraction], Value]) -> Value:
    return None if value is None else function(value)
