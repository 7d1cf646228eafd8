"""CASE: the first branch whose condition is true decides.

For numbers, let Jᵢ be 1 where one of the first i conditions is true and 0 elsewhere. Then Jᵢ − Jᵢ₋₁ is 1 exactly where
branch i decides, and CASE is Σ (Jᵢ − Jᵢ₋₁)·valueᵢ + (1 − J)·otherwise, a polynomial. Without ELSE the value is NULL
where no condition is true; on all other rows the last branch can stand for ELSE.
"""

from collections.abc import Sequence

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql.dates import Value
from errorfloor.sql.numbers import Number, checked, small
from errorfloor.sql.plan import (
    ALWAYS,
    NEVER,
    AsDate,
    Choice,
    Condition,
    Indicator,
    Literal,
    TableColumn,
    Truncated,
    all_of,
    any_of,
)

Branches = Sequence[tuple[Condition, Value]]


def chosen_number(branches: Branches, otherwise: Value | None) -> Number:
    """Give CASE as one number.

    Its branches must be null on the same rows: a product with an indicator cannot tell "null in a branch that is not
    taken" from "null".
    """
    kept, last = _reachable(branches, otherwise)
    present = ALWAYS if last is not None else any_of(condition for condition, _ in kept)
    if last is None:
        last = kept.pop()[1]
    assert isinstance(last, Number)
    total, before = Polynomial.constant(0), Polynomial.constant(0)
    conditions: list[Condition] = []
    for condition, value in kept:
        assert isinstance(value, Number)
        if value.present != last.present:
            raise RefusedError(
                "has branches that are null on different rows: ask for sum(x) FILTER (WHERE …), or CASE without ELSE",
                reason="type",
            )
        conditions.append(condition)
        reached = Polynomial.atom(small(Indicator(any_of(conditions))))
        total, before = total + (reached - before) * value.polynomial, reached
    total = total + (Polynomial.constant(1) - before) * last.polynomial
    return checked(Number(total, all_of([present, last.present])))


def chosen_scalar(branches: Branches, otherwise: Value | None) -> Value:
    """Give CASE with texts, dates, moments or flags."""
    kept, last = _reachable(branches, otherwise)
    if not kept:
        assert last is not None
        return last
    pairs = tuple((condition, _scalar(value)) for condition, value in kept)
    return Choice(pairs, None if last is None else _scalar(last), pairs[0][1].type)


def _scalar(value: Value) -> TableColumn | Literal | Truncated | AsDate | Choice:
    assert not isinstance(value, Number)
    return value


def _reachable(branches: Branches, otherwise: Value | None) -> tuple[list[tuple[Condition, Value]], Value | None]:
    """Leave out what can never decide."""
    kept: list[tuple[Condition, Value]] = []
    for condition, value in branches:
        if condition == ALWAYS:
            return kept, value
        if condition == NEVER:
            raise RefusedError("has a condition that is never true: leave the branch out", reason="constant")
        kept.append((condition, value))
    return kept, otherwise
