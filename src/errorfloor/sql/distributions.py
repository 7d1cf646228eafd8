"""Medians and other quantiles, and how values are distributed: ``cumulative(x, t1, …)`` and ``histogram(x, e1, …)``.

A quantile is located by shares of rows below many thresholds, and a distribution has a column for each number. A share
or a count jumps with a value that crosses its edge, so of a private column it is softened: over a ramp around the edge
a row counts in part. Ramps do not overlap, so that a value is on one of them: 128 shares move hardly more than one, and
all edges cost an entry what one costs. Bins are differences of what is released for the edges: they add up to all
rows. Where records are protected nothing is softened: a row is in a bin, or it is not.
"""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.sql.aggregates import Formulas
from errorfloor.sql.conditions import RowConditions
from errorfloor.sql.numbers import Number, quotient
from errorfloor.sql.plan import ALWAYS, NEVER, Compare, Condition, Count, Formula, Sum, TableColumn, all_of
from errorfloor.sql.question import Bin, CountedQuantile, Quantile, QuestionOutput
from errorfloor.sql.refusals import Wording

MOST_EDGES = 64
CLOSE = Fraction(9, 10)  # of the room between edges: how wide ramps are, if it is not said


class _Located(NamedTuple):
    """The pieces of a quantile in the syntax tree."""

    column: exp.Expression
    share: exp.Expression | None
    where: exp.Expression | None
    interpolated: bool = False


def quantile_outputs(name: str, node: exp.Expression, rows: RowConditions, table: Table) -> list[QuestionOutput]:
    """Give the shares from which a quantile is located, and how many rows they are of where that matters.

    Over records it is located by counts.
    """
    wanted = _located(node, rows.words)
    if table.hides_records:
        return _counted_outputs(name, node, wanted, rows, table)
    column = _private(wanted.column, node, rows)
    share = _share_of(wanted, node, rows)
    declared, number = table.private[column.name], rows.number(wanted.column)
    counted = _counted_rows(wanted.where, number, node, rows)
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


def _private(asked: exp.Expression, node: exp.Expression, rows: RowConditions) -> TableColumn:
    """Give the private column that is asked about as it is."""
    column = rows.relation.find(asked).column if type(asked) is exp.Column else None
    if column is None or not column.private:
        raise rows.words.refusal(
            node, "aggregate", "is answered for a private column as it is: of a public one, GROUP BY it and count"
        )
    return column


def _counted_rows(where: exp.Expression | None, number: Number, node: exp.Expression, rows: RowConditions) -> Condition:
    """Give which rows count: those for which the filter holds and that have a value."""
    counted = all_of([ALWAYS if where is None else rows.filter(where), number.present])
    if counted == NEVER:
        raise rows.words.refusal(node, "constant", "leaves no row: leave it out")
    return counted


def _counted_outputs(
    name: str, node: exp.Expression, wanted: _Located, rows: RowConditions, table: Table
) -> list[QuestionOutput]:
    words = rows.words
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


def _share_of(wanted: _Located, node: exp.Expression, rows: RowConditions) -> Fraction:
    share = Fraction(1, 2) if wanted.share is None else rows.constant(wanted.share)
    if not 0 < share < 1:
        raise rows.words.refusal(node, "constant", "needs a share between 0 and 1, such as 0.25 for the lowest quarter")
    return share


def _unfiltered(node: exp.Expression, words: Wording) -> tuple[exp.Expression, exp.Expression | None]:
    """Take FILTER (WHERE …) off, and give its condition."""
    if type(node) is not exp.Filter:
        return node, None
    words.only(node, "this", "expression")
    words.only(node.expression, "this")
    return node.this, node.expression.this


def _located(node: exp.Expression, words: Wording) -> _Located:
    node, where = _unfiltered(node, words)
    if type(node) is exp.Median:
        words.only(node, "this")
        return _Located(node.this, None, where)
    if type(node) is exp.Quantile:
        words.only(node, "this", "quantile")
        return _Located(node.this, node.args["quantile"], where)
    words.only(node, "this", "expression")
    words.only(node.this, "this")
    words.only(node.expression, "expressions")
    ordered = node.expression.expressions
    if len(ordered) != 1 or ordered[0].args.get("desc"):
        raise words.refusal(node, "aggregate", "orders in another way: write WITHIN GROUP (ORDER BY x)")
    words.only(ordered[0], "this", "desc", "nulls_first")
    return _Located(ordered[0].this, node.this.this, where, type(node.this) is exp.PercentileCont)


def ramp_down(number: Number, start: Fraction, end: Fraction) -> Number:
    """Give 1 up to ``start``, falling to 0 at ``end``: (greatest(x, end) − greatest(x, start)) / (end − start)."""
    return (number.call("greatest", end) - number.call("greatest", start)) / Number.constant(end - start)


class _Wanted(NamedTuple):
    """The pieces of a distribution in the syntax tree, and its edges."""

    node: exp.Expression
    column: exp.Expression
    width: exp.Expression | None
    edges: tuple[Fraction, ...]
    written: tuple[exp.Expression, ...]
    where: exp.Expression | None
    in_bins: bool

    @property
    def bins(self) -> list[tuple[Fraction | None, Fraction | None]]:
        """The edges of each number that is asked for."""
        if self.in_bins:
            return list(pairwise([None, *self.edges, None]))
        return [(None, edge) for edge in self.edges]


def distribution_outputs(name: str, node: exp.Expression, formulas: Formulas, table: Table) -> list[QuestionOutput]:
    """Give the outputs of a distribution, whose columns are named by their edges."""
    wanted = _wanted(node, formulas)
    if table.hides_records:
        return [_counted(name, wanted, bin_, formulas) for bin_ in wanted.bins]
    rows = formulas.rows
    column = _private(wanted.column, node, rows)
    declared, number = table.private[column.name], rows.number(wanted.column)
    counted = _counted_rows(wanted.where, number, node, rows)
    width = _width(wanted, declared.low, declared.high, formulas)
    outputs: list[QuestionOutput] = []
    for start, end in wanted.bins:
        whole = Bin(f"{name}{_named(start, end)}", "", column.name, start, end, width)
        weight = Fraction(1, 2 if wanted.in_bins else 1)
        parts: dict[str, Formula] = {"rows": Count(counted)} if end is None else {}  # first: others state the bound
        parts |= {
            place: Sum(ramp_down(number, edge - width / 2, edge + width / 2).polynomial, counted)
            for place, edge in (("start", start), ("end", end))
            if edge is not None
        }
        outputs += [
            QuestionOutput(f"{whole.name}/{place}", formula, "", whole, weight, name)
            for place, formula in parts.items()
        ]
    return outputs


def _wanted(node: exp.Expression, formulas: Formulas) -> _Wanted:
    words = formulas.words
    node, where = _unfiltered(node, words)
    words.only(node, "this", "expressions")
    called, (column, *others) = str(node.this).lower(), node.expressions or [None]
    if not others:
        raise words.refusal(node, "aggregate", f"names no edges: write {called}(x, 10, 20, 30)")
    width = None
    if type(column) is exp.Anonymous and str(column.this).lower() == "soft":
        words.only(column, "this", "expressions")
        if len(column.expressions) != 2:
            raise words.refusal(column, "function", "needs a column and a width: soft(x, 2)")
        column, width = column.expressions
    edges = tuple(formulas.rows.constant(edge) for edge in others)
    if len(edges) > MOST_EDGES:
        raise words.refusal(node, "too-long", f"has {len(edges)} edges: ask for at most {MOST_EDGES} at a time")
    if any(one >= two for one, two in pairwise(edges)):
        raise words.refusal(node, "constant", "needs its edges in order, each above the one before")
    return _Wanted(node, column, width, edges, tuple(others), where, called == "histogram")


def _width(wanted: _Wanted, low: Fraction, high: Fraction, formulas: Formulas) -> Fraction:
    """Give how wide ramps are: as is said, or nearly so that they meet each other or an end of the range."""
    edges, words = wanted.edges, formulas.words
    if not low < edges[0] <= edges[-1] < high:
        raise words.refusal(
            wanted.node, "constant", f"needs edges between {_written(low)} and {_written(high)}, the ends of the range"
        )
    room = min([2 * (edges[0] - low), 2 * (high - edges[-1]), *(two - one for one, two in pairwise(edges))])
    if wanted.width is None:
        return room * CLOSE
    width = formulas.rows.constant(wanted.width)
    if not 0 < width <= room:
        raise words.refusal(
            wanted.width,
            "constant",
            f"must be a width above 0 and at most {_written(room)}, so that no value is softened twice or beyond the "
            f"range",
        )
    return width


def _counted(
    name: str, wanted: _Wanted, edges: tuple[Fraction | None, Fraction | None], formulas: Formulas
) -> QuestionOutput:
    """Give the number of rows above one edge and not above the other, as any count with a condition."""
    if wanted.width is not None:
        raise formulas.words.refusal(
            wanted.node, "records", "softens edges, which are exact where records are protected: leave soft out"
        )
    value, conditions = formulas.rows.number(wanted.column), []
    if wanted.where is not None:
        conditions.append(formulas.rows.filter(wanted.where))
    signs: tuple[type[exp.GT] | type[exp.LTE], ...] = (exp.GT, exp.LTE)
    for sign, edge in zip(signs, edges, strict=True):
        if edge is not None:
            written = wanted.written[wanted.edges.index(edge)]
            conditions.append(formulas.rows.filter(sign(this=wanted.column.copy(), expression=written.copy())))
    counted = Count(all_of([value.present, *conditions]))
    return QuestionOutput(f"{name}{_named(*edges)}", counted, "", family=name)


def _named(start: Fraction | None, end: Fraction | None) -> str:
    if start is None:
        assert end is not None
        return f"_to_{_written(end)}"
    return f"_from_{_written(start)}" if end is None else f"_{_written(start)}_to_{_written(end)}"


def _written(number: Fraction) -> str:
    return f"{float(number):.12g}"
