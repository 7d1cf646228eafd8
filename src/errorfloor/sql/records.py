"""Questions about a table that protects records: every sum has who is there as a factor.

A row that is absent is a row of presence 0. So ``count(*)`` is the sum of presence, and ``sum(x)`` that of x times
presence: all that is asked is private, conditions and groups included, and nothing else has to know.

The scan adds to the rows one of presence 0 for every combination of values that its group keys can have. It
changes no sum, and makes the groups of an answer those that are declared, whoever is there. Conditions stand inside the
sums, so that every row is read whatever its values are.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from errorfloor.catalogue.model import Table
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import RefusedError
from errorfloor.sql.plan import (
    And,
    Call,
    Compare,
    Condition,
    Count,
    Covariance,
    Different,
    Formula,
    Sum,
    TableColumn,
    WeightedMean,
)
from errorfloor.sql.polynomial import Monomial, Node, Polynomial
from errorfloor.sql.question import Derived, Question, QuestionOutput, walk
from errorfloor.sql.record_ranges import HERE, called, row_range
from errorfloor.sql.truth import ALWAYS, both
from errorfloor.vault import Snapshot
from errorfloor.vault.domains import domain_sql

Wanted = tuple[Monomial, Condition]
AGGREGATES = (Count, Sum, Covariance, WeightedMean)
PRESENT = Polynomial.atom(HERE)
ABSENT: Condition = Compare("=", PRESENT, Polynomial.constant(0))


def about_records(question: Question, table: Table) -> Question:
    """Put presence into every sum of a question; whatever is no sum is derived from sums that are released.

    Raises RefusedError for what is not answered of a table that protects records.
    """
    if question.least > 1:
        raise RefusedError(
            "HAVING would tell how many rows a group has, which is protected here: leave it out, and filter the answer",
            reason="records",
        )
    if question.joins:
        raise RefusedError("a table that protects records is asked by itself: leave the join out", reason="records")
    if question.running:
        raise RefusedError(
            "running totals are not answered of a table that protects records: ask for the groups, and add up what is "
            "answered",
            reason="records",
        )
    different = any(isinstance(node, Different) for node in walk(question))
    if question.sets and (
        different or not all(isinstance(one.formula, Count | Sum) and not one.part_of for one in question.outputs)
    ):
        raise RefusedError(
            "of a table that protects records, counts and sums add up to totals, and nothing else: ask for these, or "
            "by one grouping at a time",
            reason="records",
        )
    for call in (node for node in walk(question) if isinstance(node, Call)):
        called(call, table)  # or it is refused
    return replace(question, outputs=tuple(part for one in question.outputs for part in _parts(one, table)))


def with_presence(formula: Formula) -> Formula:
    """Give a count or a sum as a sum over those who are there."""
    match formula:
        case Count(where=where):
            return Sum(PRESENT, where)
        case Sum(of=of, where=where):
            return Sum(of * PRESENT, where)
    raise TypeError(f"{type(formula).__name__} is no sum")


def _parts(output: QuestionOutput, table: Table) -> Iterator[QuestionOutput]:
    """Give an output as the sums that it is, or is derived from; their bounds go by what one row can add."""
    if isinstance(output.formula, Count | Sum):
        yield replace(output, formula=with_presence(output.formula))
        return
    whole = Derived(output.name, output.unit, output.formula)
    sums = dict.fromkeys(with_presence(one) for one in _sums(output.formula))
    for place, formula in enumerate(sums):
        found = row_range(formula, table)
        weight = max(found.below, found.above) or Fraction(1)
        yield QuestionOutput(f"{output.name}/{place}", formula, "", whole, weight)


def _sums(formula: Node) -> Iterator[Formula]:
    for node in walk(formula, stop=AGGREGATES):
        match node:
            case Count() | Sum():
                yield node
            case Covariance(first=first, second=second, where=where):
                yield Count(where)
                yield from (Sum(of, where) for of in (first, second, first * second))
            case WeightedMean(value=value, weight=weight, where=where):
                yield from (Sum(of, where) for of in (value * weight, weight))


def columns_grouped(question: Question) -> tuple[str, ...]:
    """Give the columns that decide which group a row is in."""
    return tuple(sorted({name for key in question.keys for name in _columns(key.value)}))


def combinations(question: Question, table: Table) -> int:
    """Count the combinations of values that the groups of a question can come from."""
    return math.prod(table.columns[name].size for name in columns_grouped(question))


def shown_where(question: Question) -> Condition:
    """Give the part of a question's condition that decides which groups are shown: on columns of its groups alone.

    Rows that the rest of it leaves out are left out of sums.
    """
    where, grouped = question.where, set(columns_grouped(question))
    parts = where.parts if isinstance(where, And) else (where,)
    return both(part for part in parts if _columns(part) <= grouped)


def _columns(node: Node) -> set[str]:
    return {part.name for part in walk(node) if isinstance(part, TableColumn)}


def domain_of(question: Question, snapshot: Snapshot, dialect: Dialect) -> Snapshot:
    """Give a snapshot with all combinations of values that the question's groups can come from, and with nobody."""
    return replace(snapshot, relation=f"({domain_sql(snapshot.table, columns_grouped(question), dialect)})")


def with_domain(question: Question, snapshot: Snapshot, dialect: Dialect) -> Snapshot:
    """Give the snapshot's rows together with those of its domain."""
    rows = f"SELECT {', '.join(snapshot.columns.values())} FROM {snapshot.relation}"
    return replace(
        snapshot, relation=f"({rows} UNION ALL {domain_sql(snapshot.table, columns_grouped(question), dialect)})"
    )


def without_where(question: Question, sums: Sequence[Wanted]) -> tuple[Question, list[Wanted], Condition]:
    """Move the condition of a question into its sums; the last part tells which rows of the domain show a group."""
    inside = [(monomial, both([question.where, where])) for monomial, where in sums]
    return replace(question, where=ALWAYS), inside, both([shown_where(question), ABSENT])
