"""Questions about a table that protects records: every sum has who is there as a factor.

A row that is absent is a row of presence 0. So ``count(*)`` is the sum of presence, and ``sum(x)`` that of x times
presence: all that is asked is private, conditions and groups included, and nothing else has to know.

The scan adds to the rows one of presence 0 for every combination of values that its group keys can have. It
changes no sum, and makes the groups of an answer those that are declared, whoever is there. Conditions stand inside the
sums, so that every row is read whatever its values are.
"""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from errorfloor.engines.dialects import Dialect
from errorfloor.errors import RefusedError
from errorfloor.sql.plan import And, Call, Compare, Condition, Count, Formula, Sum, TableColumn
from errorfloor.sql.polynomial import Monomial, Node, Polynomial
from errorfloor.sql.question import Question, walk
from errorfloor.sql.truth import ALWAYS, both
from errorfloor.vault import Snapshot
from errorfloor.vault.domains import domain_sql
from errorfloor.vault.records import PRESENCE

Wanted = tuple[Monomial, Condition]
HERE = TableColumn(0, PRESENCE, "number", private=True, step=Fraction(1))
PRESENT = Polynomial.atom(HERE)
ABSENT: Condition = Compare("=", PRESENT, Polynomial.constant(0))


def about_records(question: Question) -> Question:
    """Put presence into every sum of a question.

    Raises RefusedError for what is not answered of a table that protects records.
    """
    if question.least > 1:
        raise RefusedError(
            "HAVING would tell how many rows a group has, which is protected here: leave it out, and filter the answer",
            reason="records",
        )
    if question.joins:
        raise RefusedError("a table that protects records is asked by itself: leave the join out", reason="records")
    if question.sets:
        raise RefusedError(
            "totals of groups are not answered of a table that protects records: ask for the groups, and add up the "
            "answers",
            reason="records",
        )
    call = next((node for node in walk(question) if isinstance(node, Call)), None)
    if call is not None:
        raise RefusedError(
            f"{call.function} is not computed for the rows of a table that protects records: use + - * floor, "
            f"comparisons and CASE",
            reason="records",
        )
    outputs = (replace(one, formula=_with_presence(one.formula)) for one in question.outputs)
    return replace(question, outputs=tuple(outputs))


def _with_presence(formula: Formula) -> Formula:
    match formula:
        case Count(where=where):
            return Sum(PRESENT, where)
        case Sum(of=of, where=where):
            return Sum(of * PRESENT, where)
    raise RefusedError(
        "a table that protects records answers count(*), count(*) FILTER (WHERE …) and sum(x), one in each column: ask "
        "for these, and compute the rest from the answers",
        reason="records",
    )


def columns_grouped(question: Question) -> tuple[str, ...]:
    """Give the columns that decide which group a row is in."""
    return tuple(sorted({name for key in question.keys for name in _columns(key.value)}))


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
