"""CASE: the first branch whose condition is true decides; and functions of a row that are made of it.

For numbers, let Jᵢ be 1 where one of the first i conditions is true and 0 elsewhere. Then Jᵢ − Jᵢ₋₁ is 1 exactly where
branch i decides, and CASE is Σ (Jᵢ − Jᵢ₋₁)·valueᵢ + (1 − J)·otherwise, a polynomial. Without ELSE the value is NULL
where no condition is true; on all other rows the last branch can stand for ELSE.

Steps are exact wherever a value may be compared: of public columns, and of records. All are made of comparisons and of
the floor: |x| is CASE WHEN x < 0 THEN −x ELSE x END, and the nearest whole number, halves away from zero, is ⌊x + ½⌋
or, below zero, −⌊½ − x⌋.
"""

from collections.abc import Sequence
from fractions import Fraction

from errorfloor.arithmetic.polynomial import Polynomial, order_of
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.dates import Value
from errorfloor.sql.numbers import Number, checked, small

Branches = Sequence[tuple[plan.Condition, Value]]
HALF = Number.constant(Fraction(1, 2))
MINUS = Number.constant(-1)


def chosen_number(branches: Branches, otherwise: Value | None) -> Number:
    """Give CASE as one number.

    Its branches must be null on the same rows: a product with an indicator cannot tell "null in a branch that is not
    taken" from "null".
    """
    kept, last = _reachable(branches, otherwise)
    present = plan.ALWAYS if last is not None else plan.any_of(condition for condition, _ in kept)
    if last is None:
        last = kept.pop()[1]
    assert isinstance(last, Number)
    total, before = Polynomial.constant(0), Polynomial.constant(0)
    conditions: list[plan.Condition] = []
    for condition, value in kept:
        assert isinstance(value, Number)
        if value.present != last.present:
            raise RefusedError(
                "has branches that are null on different rows: ask for sum(x) FILTER (WHERE …), or CASE without ELSE",
                reason="type",
            )
        conditions.append(condition)
        reached = Polynomial.atom(small(plan.Indicator(plan.any_of(conditions))))
        total, before = total + (reached - before) * value.polynomial, reached
    total = total + (Polynomial.constant(1) - before) * last.polynomial
    return checked(Number(total, plan.all_of([present, last.present])))


def chosen_scalar(branches: Branches, otherwise: Value | None) -> Value:
    """Give CASE with texts, dates, moments or flags."""
    kept, last = _reachable(branches, otherwise)
    if not kept:
        assert last is not None
        return last
    pairs = tuple((condition, _scalar(value)) for condition, value in kept)
    return plan.Choice(pairs, None if last is None else _scalar(last), pairs[0][1].type)


def _scalar(value: Value) -> plan.TableColumn | plan.Literal | plan.Truncated | plan.AsDate | plan.Choice:
    assert not isinstance(value, Number)
    return value


def _reachable(branches: Branches, otherwise: Value | None) -> tuple[list[tuple[plan.Condition, Value]], Value | None]:
    """Leave out what can never decide."""
    kept: list[tuple[plan.Condition, Value]] = []
    for condition, value in branches:
        if condition == plan.ALWAYS:
            return kept, value
        if condition == plan.NEVER:
            raise RefusedError("has a condition that is never true: leave the branch out", reason="constant")
        kept.append((condition, value))
    return kept, otherwise


def down(number: Number) -> Number:
    """Give the greatest whole number that is not above a number.

    >>> down(Number.constant(Fraction(-3, 2))).polynomial.value
    Fraction(-2, 1)
    """
    constant = number.polynomial.value
    if constant is not None:
        return Number(Polynomial.constant(constant.numerator // constant.denominator), number.present)
    return Number(Polynomial.atom(small(plan.RoundedDown(number.polynomial))), number.present)


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
    return chosen_number([(plan.Compare("<", number.polynomial, Polynomial.constant(0)), below)], otherwise)


def flagged(column: plan.TableColumn) -> plan.Condition:
    """Give the condition that a public flag is true."""
    sides: tuple[plan.Scalar, plan.Scalar] = (column, plan.Literal(True, "flag"))
    return plan.Compare("=", *sorted(sides, key=order_of))
