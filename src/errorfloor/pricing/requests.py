"""Which public facts a question's price needs."""

from collections.abc import Iterator

from errorfloor.pricing.facts import EVERY_ROW, Request
from errorfloor.pricing.forms import calls_of, form_of
from errorfloor.sql.canonical import order_of
from errorfloor.sql.plan import (
    Aggregate,
    Apply,
    Condition,
    Count,
    Covariance,
    Formula,
    Plus,
    Power,
    Question,
    Quotient,
    Sum,
    Times,
    WeightedMean,
)
from errorfloor.sql.polynomial import Polynomial


def requested(question: Question) -> tuple[Request, ...]:
    """Give every public polynomial, with its condition, that the walk over the outputs asks about; in one order.

    >>> from errorfloor.sql.plan import Always
    >>> requested(Question("t", "1", (), Always(), (), (), (), (), None))
    ()
    """
    found: dict[tuple[bytes, bytes], Request] = {}
    for output in question.outputs:
        for aggregate in aggregates(output.formula):
            for polynomial, where in _of_aggregate(aggregate):
                found[order_of(polynomial), order_of(where)] = polynomial, where
    return tuple(found[key] for key in sorted(found))


def aggregates(formula: Formula) -> Iterator[Aggregate]:
    """Give the aggregates that a formula is made of."""
    match formula:
        case Count() | Sum() | Covariance() | WeightedMean():
            yield formula
        case Plus(parts) | Times(parts):
            for part in parts:
                yield from aggregates(part)
        case Quotient(numerator, denominator):
            yield from aggregates(numerator)
            yield from aggregates(denominator)
        case Power(inner, _) | Apply(_, _, inner):
            yield from aggregates(inner)


def polynomials(aggregate: Aggregate) -> tuple[Polynomial, ...]:
    """Give the polynomials that are walked over the rows of an aggregate."""
    match aggregate:
        case Sum(of, _):
            return (of,)
        case Covariance(first, second, _, _):
            return (first, second)
        case WeightedMean(value, weight, _):
            return (value, weight)
        case _:
            return ()


def _of_aggregate(aggregate: Aggregate) -> Iterator[Request]:
    yield EVERY_ROW, aggregate.where
    for polynomial in polynomials(aggregate):
        yield from _of_polynomial(polynomial, aggregate.where)
        for call in calls_of(polynomial):
            yield from _of_polynomial(call.argument, aggregate.where)
    if isinstance(aggregate, Covariance):
        first, second = aggregate.first, aggregate.second
        for one, two in ((first, first), (second, second), (first, second)):
            if form_of(one).is_public and form_of(two).is_public:
                yield from _of_polynomial(one * two, aggregate.where)


def _of_polynomial(polynomial: Polynomial, where: Condition) -> Iterator[Request]:
    for term in form_of(polynomial).terms:
        if term.public.value is None:
            yield term.public, where
