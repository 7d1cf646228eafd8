"""Questions about a table that protects records: every sum has who is there as a factor.

A row that is absent is a row of presence 0. So ``count(*)`` is the sum of presence, and ``sum(x)`` that of x times
presence: all that is asked is private, conditions and groups included, and nothing else has to know.

The scan adds to the rows one of presence 0 for every combination of values that its group keys can have. It
changes no sum, and makes the groups of an answer those that are declared, whoever is there. Conditions stand inside the
sums, so that every row is read whatever its values are.

A joined public table is looked up for every row, too: a join that leaves rows out is one that leaves none out, with the
condition that something was found. Rows of presence 0 hold every value of the columns that tables are joined by, so
that which rows of a public table are found, of any, does not depend on who is there.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.engines.dialects import Dialect
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.question import Derived, Question, QuestionOutput, aggregates, summed, walk
from errorfloor.sql.record_ranges import HERE, Domains, called, row_range
from errorfloor.vault import Snapshot
from errorfloor.vault.records import domain_sql

Wanted = tuple[Monomial, plan.Condition]
PRESENT = Polynomial.atom(HERE)
ABSENT: plan.Condition = plan.Compare("=", PRESENT, Polynomial.constant(0))


def about_records(question: Question) -> Question:
    """Put presence into every sum of a question; whatever is no sum is derived from sums that are released.

    Raises RefusedError for what is not answered of a table that protects records.
    """
    if question.least > 1:
        raise RefusedError(
            "HAVING would tell how many rows a group has, which is protected here: leave it out, and filter the answer",
            reason="records",
        )
    if question.running:
        raise RefusedError(
            "running totals are not answered of a table that protects records: ask for the groups, and add up what is "
            "answered",
            reason="records",
        )
    different = any(isinstance(node, plan.Different) for node in walk(question))
    if question.sets and (
        different
        or not all(isinstance(one.formula, plan.Count | plan.Sum) and not one.part_of for one in question.outputs)
    ):
        raise RefusedError(
            "of a table that protects records, counts and sums add up to totals, and nothing else: ask for these, or "
            "by one grouping at a time",
            reason="records",
        )
    found = [plan.opposite(plan.Missing(join.on[0][1])) for join in question.joins if not join.keep_unmatched]
    return replace(
        question,
        joins=tuple(replace(join, keep_unmatched=True) for join in question.joins),
        where=plan.all_of([question.where, *found]),
        outputs=tuple(part for one in question.outputs for part in _parts(one)),
    )


def weighed(question: Question, domains: Domains) -> Question:
    """Give the parts of what is derived their weights: their bounds go by what one row can add.

    Raises RefusedError for functions of a row that have no bound.
    """
    for call in (node for node in walk(question) if isinstance(node, plan.Call)):
        called(call, domains)  # or it is refused
    return replace(question, outputs=tuple(_weighed(one, domains) for one in question.outputs))


def _weighed(output: QuestionOutput, domains: Domains) -> QuestionOutput:
    if not isinstance(output.part_of, Derived):
        return output
    found = row_range(output.formula, domains)
    return replace(output, weight=max(found.below, found.above) or Fraction(1))


def with_presence(formula: plan.Formula) -> plan.Formula:
    """Give a count or a sum as a sum over those who are there."""
    match formula:
        case plan.Count(where=where):
            return plan.Sum(PRESENT, where)
        case plan.Sum(of=of, where=where):
            return plan.Sum(of * PRESENT, where)
    raise TypeError(f"{type(formula).__name__} is no sum")


def _parts(output: QuestionOutput) -> Iterator[QuestionOutput]:
    """Give an output as the sums that it is, or is derived from."""
    if isinstance(output.formula, plan.Count | plan.Sum):
        yield replace(output, formula=with_presence(output.formula))
        return
    whole = Derived(output.name, output.unit, output.formula)
    totals = (total for aggregate in aggregates(output.formula) for total in summed(aggregate))
    sums = dict.fromkeys(map(with_presence, totals))
    for place, formula in enumerate(sums):
        yield QuestionOutput(f"{output.name}/{place}", formula, "", whole)


def columns_grouped(question: Question) -> tuple[str, ...]:
    """Give the columns of the table that decide which group a row is in, some by what they are joined to."""
    return _decisive(question, question.keys)


def columns_joined(question: Question) -> tuple[str, ...]:
    """Give the columns of the table that decide what is joined to a row, but for those that decide its group."""
    joined = _decisive(question, (two for join in question.joins for _, two in join.on))
    return tuple(name for name in joined if name not in columns_grouped(question))


def combinations(question: Question, table: Table) -> int:
    """Count the combinations of values that the groups of a question can come from."""
    return math.prod(table.columns[name].size for name in columns_grouped(question))


def domain_rows(question: Question, table: Table) -> int:
    """Count the rows of presence 0 that are scanned besides those of the table."""
    return combinations(question, table) + sum(table.columns[name].size for name in columns_joined(question))


def shown_where(question: Question) -> plan.Condition:
    """Give the part of a question's condition that decides which groups are shown: on what decides them alone.

    Rows that the rest of it leaves out are left out of sums.
    """
    where, grouped = question.where, set(columns_grouped(question))
    parts = where.parts if isinstance(where, plan.And) else (where,)
    return plan.all_of(part for part in parts if grouped.issuperset(_decisive(question, (part,))))


def _decisive(question: Question, nodes: Iterable[Node]) -> tuple[str, ...]:
    """Give the columns of the table that decide the value of something: what is joined follows from what it is by."""
    waiting = [part for node in nodes for part in walk(node) if isinstance(part, plan.TableColumn)]
    seen: dict[plan.TableColumn, None] = {}
    while waiting:
        column = waiting.pop()
        if column not in seen:
            seen[column] = None
            waiting += [one for one, _ in question.joins[column.place - 1].on] if column.place else []
    return tuple(sorted({column.name for column in seen if not column.place}))


def domain_of(question: Question, snapshot: Snapshot, dialect: Dialect) -> Snapshot:
    """Give a snapshot with all combinations of values that the question's groups can come from, and with nobody."""
    return replace(snapshot, relation=f"({domain_sql(snapshot.table, columns_grouped(question), dialect)})")


def with_domain(question: Question, snapshot: Snapshot, dialect: Dialect) -> Snapshot:
    """Give the snapshot's rows together with those of its domain, and with every value that tables are joined by."""
    rows = f"SELECT {', '.join(snapshot.columns.values())} FROM {snapshot.relation}"
    each = (columns_grouped(question), *((name,) for name in columns_joined(question)))
    relations = " UNION ALL ".join([rows, *(domain_sql(snapshot.table, columns, dialect) for columns in each)])
    return replace(snapshot, relation=f"({relations})")


def without_where(question: Question, sums: Sequence[Wanted]) -> tuple[Question, list[Wanted], plan.Condition]:
    """Move the condition of a question into its sums; the last part tells which rows of the domain show a group."""
    inside = [(monomial, plan.all_of([question.where, where])) for monomial, where in sums]
    return replace(question, where=plan.ALWAYS), inside, plan.all_of([shown_where(question), ABSENT])
