"""Functions of a row that are exact wherever a value may be compared: of public columns, and of records.

All are made of comparisons and of the floor: |x| is CASE WHEN x < 0 THEN −x ELSE x END, and the nearest whole number,
halves away from zero, is ⌊x + ½⌋ or, below zero, −⌊½ − x⌋.
"""

from collections.abc import Sequence
from fractions import Fraction

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql.choices import chosen_number
from errorfloor.sql.numbers import Number, small
from errorfloor.sql.plan import Compare, RoundedDown

HALF = Number.constant(Fraction(1, 2))
MINUS = Number.constant(-1)


def down(number: Number) -> Number:
    """Give the greatest whole number that is not above a number.

    >>> down(Number.constant(Fraction(-3, 2))).polynomial.value
    Fraction(-2, 1)
    """
    constant = number.polynomial.value
    if constant is not None:
        return Number(Polynomial.constant(constant.numerator // constant.denominator), number.present)
    return Number(Polynomial.atom(small(RoundedDown(number.polynomial))), number.present)


def upwards(number: Number) -> Number:
    """Give the least whole number that is not below a number."""
    return MINUS * down(MINUS * number)


def nearest(number: Number, digits: int = 0) -> Number:
    """Round to so many decimal digits, halves away from zero.

    >>> [nearest(Number.constant(Fraction(x, 2))).polynomial.value for x in (5, -5)]
    [Fraction(3, 1), Fraction(-3, 1)]
    """
    scale = Number.constant(Fraction(10) ** digits)
    scaled = number * scale
    return _by_sign(scaled, MINUS * down(HALF - scaled), down(scaled + HALF)) / scale


def size(number: Number) -> Number:
    """Give the absolute value."""
    return _by_sign(number, MINUS * number, number)


def sign(number: Number) -> Number:
    """Give −1, 0 or 1."""
    positive = _by_sign(MINUS * number, Number.constant(1), Number.constant(0))
    return _by_sign(number, MINUS, positive)


def largest(numbers: Sequence[Number]) -> Number:
    """Give the largest of several numbers.

    >>> largest([Number.constant(2), Number.constant(3)]).polynomial.value
    Fraction(3, 1)
    """
    found = numbers[0]
    for other in numbers[1:]:
        found = _by_sign(found - other, other, found)
    return found


def _by_sign(number: Number, below: Number, otherwise: Number) -> Number:
    below, otherwise = (Number(one.polynomial, number.present) for one in (below, otherwise))  # null where it is null
    constant = number.polynomial.value
    if constant is not None:
        return below if constant < 0 else otherwise
    return chosen_number([(Compare("<", number.polynomial, Polynomial.constant(0)), below)], otherwise)
