"""Medians and other quantiles: read as shares of rows below many thresholds, from which a quantile is located.

A share jumps with a value that crosses its threshold, so it is softened: over a ramp between two thresholds the value
counts in part. Ramps lie side by side, so that one value is on one of them, and 128 shares move hardly more than one.
"""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue.columns import PrivateColumn
from errorfloor.catalogue.model import Table
from errorfloor.sql.conditions import RowConditions
from errorfloor.sql.numbers import Number, quotient
from errorfloor.sql.plan import ALWAYS, NEVER, Compare, Count, Sum, all_of
from errorfloor.sql.question import CountedQuantile, Quantile, QuestionOutput
from errorfloor.sql.refusals import Wording


class _Wanted(NamedTuple):
    """The pieces of a quantile in the syntax tree."""

    column: exp.Expression
    share: exp.Expression | None
    where: exp.Expression | None
    interpolated: bool = False


def quantile_outputs(
    name: str, node: exp.Expression, rows: RowConditions, private: Mapping[str, PrivateColumn]
) -> list[QuestionOutput]:
    """Give the shares from which a quantile is located, and how many rows they are of where that matters."""
    words = rows.words
    wanted = _wanted(node, words)
    column = rows.relation.find(wanted.column).column if type(wanted.column) is exp.Column else None
    if column is None or not column.private:
        raise words.refusal(
            node, "aggregate", "is answered for a private column as it is: of a public one, GROUP BY it and count"
        )
    share = _share_of(wanted, node, rows)
    declared, number = private[column.name], rows.number(wanted.column)
    counted = all_of([ALWAYS if wanted.where is None else rows.filter(wanted.where), number.present])
    if counted == NEVER:
        raise words.refusal(node, "constant", "leaves no row: leave it out")
    interpolated = wanted.interpolated and share != Fraction(1, 2)
    quantile = Quantile(
        name, declared.unit, column.name, share, declared.low, declared.high, declared.resolution, interpolated
    )
    shares = [
        QuestionOutput(
            f"{name}/{place}", quotient(Sum(ramp_down(number, *ramp).polynomial, counted), Count(counted)), "", quantile
        )
        for place, ramp in enumerate(quantile.ramps)
    ]
    return [*shares, QuestionOutput(f"{name}/rows", Count(counted), "")] if interpolated else shares


def counted_outputs(name: str, node: exp.Expression, rows: RowConditions, table: Table) -> list[QuestionOutput]:
    """Give the counts from which a quantile over records is located."""
    words = rows.words
    wanted = _wanted(node, words)
    column = rows.relation.find(wanted.column).column if type(wanted.column) is exp.Column else None
    if column is None or column.step is None:
        raise words.refusal(node, "aggregate", "is answered for a column of numbers as it is, as in median(x)")
    if column.place > 0:
        raise words.refusal(
            node,
            "aggregate",
            "is answered for columns of the table itself: of a joined one ask for cumulative(x, 1, 2, 3)",
        )
    share = _share_of(wanted, node, rows)
    declared = table.columns[column.name]
    low, high = (step * column.step for step in declared.steps)
    counted = ALWAYS if wanted.where is None else rows.filter(wanted.where)
    quantile = CountedQuantile(name, declared.unit, column.name, share, low, high, column.step)
    number = Polynomial.atom(column)
    below = [all_of([counted, Compare("<=", number, Polynomial.constant(at))]) for at in quantile.thresholds]
    return [
        QuestionOutput(f"{name}/{place}", Count(where), "", quantile) for place, where in enumerate([*below, counted])
    ]


def _share_of(wanted: _Wanted, node: exp.Expression, rows: RowConditions) -> Fraction:
    share = Fraction(1, 2) if wanted.share is None else rows.constant(wanted.share)
    if not 0 < share < 1:
        raise rows.words.refusal(node, "constant", "needs a share between 0 and 1, such as 0.25 for the lowest quarter")
    return share


def _wanted(node: exp.Expression, words: Wording) -> _Wanted:
    if type(node) is exp.Filter:
        words.only(node, "this", "expression")
        words.only(node.expression, "this")
        return _wanted(node.this, words)._replace(where=node.expression.this)
    if type(node) is exp.Median:
        words.only(node, "this")
        return _Wanted(node.this, None, None)
    if type(node) is exp.Quantile:
        words.only(node, "this", "quantile")
        return _Wanted(node.this, node.args["quantile"], None)
    words.only(node, "this", "expression")
    words.only(node.this, "this")
    words.only(node.expression, "expressions")
    ordered = node.expression.expressions
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        raise words.refusal(node, "aggregate", "orders in another way: write WITHIN GROUP (ORDER BY x)")
    words.only(ordered[0], "this", "desc", "nulls_first")
    return _Wanted(ordered[0].this, node.this.this, None, type(node.this) is exp.PercentileCont)


def ramp_down(number: Number, start: Fraction, end: Fraction) -> Number:
    """Give 1 up to ``start``, falling to 0 at ``end``: (greatest(x, end) − greatest(x, start)) / (end − start)."""
    return (number.call("greatest", end) - number.call("greatest", start)) / Number.constant(end - start)
