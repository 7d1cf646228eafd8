"""The exact value of a formula, by another route than the server's: fractions, and functions to fifty digits."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from math import lcm

import mpmath

from errorfloor.answering.releasing import values_before_noise
from errorfloor.arithmetic.polynomial import ONE, Monomial, Polynomial
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
from errorfloor.sql.sums import Layout, scaled

Sums = Mapping[tuple[Monomial, Condition], int | None]
Value = Fraction | None
DIGITS = 80
FUNCTIONS = {"exp": mpmath.exp, "ln": mpmath.log, "sqrt": mpmath.sqrt, "tanh": mpmath.tanh}


def exact_value(formula: Formula, sums: Sums, layout: Layout) -> Value:
    """Give the value of a formula from the sums that it needs; None where SQL gives NULL."""
    return _evaluator(formula, layout)(sums)


def apply(function: str, parameters: tuple[Fraction, ...], value: Fraction) -> Value:
    match function:
        case "greatest":
            return max(value, *parameters)
        case "least":
            return min(value, *parameters)
    if (function == "ln" and value <= 0) or (function == "sqrt" and value < 0):
        return None
    with mpmath.workdps(DIGITS + 400):  # enough for ln near 1 and tanh near 0
        found = FUNCTIONS[function](mpmath.mpf(value.numerator) / value.denominator)
        sign, mantissa, exponent, _ = found._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** exponent


def _product(one: Polynomial, two: Polynomial) -> Polynomial:
    return one * two


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


def values_seen(prepared, engine) -> list[list[Value]]:
    """Give what the server computes before noise, for every output and group, as fractions; None where it is NULL."""
    found = iter(values_before_noise(prepared, engine))
    seen = []
    for one in prepared.outputs:
        bounds = prepared.bounds_of(one)
        middles = [Fraction(low) / 2 + Fraction(high) / 2 for low, high in zip(bounds.low, bounds.high, strict=True)]
        value = None if one.constant is not None else next(found)
        seen.append(
            [
                None if not there else middles[i] if value is None else value.exact(i)
                for i, there in enumerate(bounds.defined.tolist())
            ]
        )
    return seen
