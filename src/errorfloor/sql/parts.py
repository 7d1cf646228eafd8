"""What a formula is made of, where its own derivative has no bound: parts that are released, and computed with.

A standard deviation changes without bound where all values are the same, and a ratio where its denominator is 0. A
variance and an average do not: they are released, and the rest is arithmetic on intervals.
"""

from collections.abc import Container, Iterator
from dataclasses import replace

from errorfloor.sql.plan import (
    Apply,
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
from errorfloor.sql.question import Derived, Question, QuestionOutput, is_private


def is_made_of_parts(formula: Formula) -> bool:
    """Tell whether something private is divided by, multiplied with itself, or put into a function."""
    return is_private(formula) and not _is_linear(formula)


def by_parts(question: Question, places: Container[int]) -> Question:
    """Derive some outputs of a question, by their places, from parts that are released."""
    outputs: list[QuestionOutput] = []
    for place, one in enumerate(question.outputs):
        if place not in places:
            outputs.append(one)
            continue
        whole = Derived(one.name, one.unit, one.formula, in_rows=False)
        parts = sorted(dict.fromkeys(_parts(one.formula)), key=is_private)  # private ones last: they state the bound
        outputs += [QuestionOutput(f"{one.name}/{part}", formula, "", whole) for part, formula in enumerate(parts)]
    return replace(question, outputs=tuple(outputs))


def _is_linear(formula: Formula) -> bool:
    match formula:
        case Constant() | Count() | Sum() | Covariance():
            return True
        case Plus(parts=parts):
            return all(map(_is_linear, parts))
        case Times(parts=parts):
            return all(map(_is_linear, parts)) and sum(map(is_private, parts)) < 2
        case Quotient(numerator=numerator, denominator=denominator):
            return _is_linear(numerator) and not is_private(denominator)
    return not is_private(formula)


def _parts(formula: Formula) -> Iterator[Formula]:
    match formula:
        case Constant():
            return
        case _ if _is_linear(formula):
            yield formula
        case WeightedMean(value=value, weight=weight, where=where):
            yield from (Sum(value * weight, where), Sum(weight, where))
        case Plus(parts=parts) | Times(parts=parts):
            for part in parts:
                yield from _parts(part)
        case Quotient(numerator=numerator, denominator=denominator):
            yield from _parts(numerator)
            yield from _parts(denominator)
        case Power(base=inner) | Apply(argument=inner):
            yield from _parts(inner)
