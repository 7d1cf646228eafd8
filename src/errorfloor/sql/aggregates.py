"""Formulas: arithmetic of aggregates and constants.

Means are quotients of sums and counts; a variance is a covariance of a number with itself; correlations and slopes are
quotients of covariances. A sum weighted by a private number over the sum of that number is kept as one weighted mean,
because its derivative is far smaller than those of its parts suggest.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.conditions import RowConditions
from errorfloor.sql.numbers import Number, bounded, negative, number_of, plus, power, quotient, root, times
from errorfloor.sql.refusals import PRIVATE_ROWS, check_power

ARITHMETIC: dict[type[exp.Expression], Callable[[plan.Formula, plan.Formula], plan.Formula]] = {
    exp.Add: lambda one, two: plus([one, two]),
    exp.Sub: lambda one, two: plus([one, negative(two)]),
    exp.Mul: lambda one, two: times([one, two]),
    exp.Div: quotient,
}
FUNCTIONS: dict[type[exp.Expression], str] = {exp.Exp: "exp", exp.Ln: "ln", exp.Sqrt: "sqrt", exp.Tanh: "tanh"}
SPREADS: dict[type[exp.Expression], tuple[bool, bool]] = {  # whether of a sample, and whether its root is taken
    exp.VariancePop: (False, False),
    exp.Variance: (True, False),
    exp.StddevPop: (False, True),
    exp.StddevSamp: (True, True),
    exp.Stddev: (True, True),
}
PAIRS: tuple[type[exp.Expression], ...] = (exp.CovarPop, exp.CovarSamp, exp.Corr, exp.RegrSlope)
AGGREGATES: tuple[type[exp.Expression], ...] = (exp.Sum, exp.Avg, exp.Count, *SPREADS, *PAIRS)


def is_formula(node: exp.Expression) -> bool:
    """Tell whether an aggregate occurs, answered or not; a window's does not make a formula of the whole."""
    return any(
        isinstance(part, (exp.AggFunc, exp.WithinGroup, exp.Window)) or is_distribution(part) for part in node.walk()
    )


def is_quantile(node: exp.Expression) -> bool:
    """Tell whether a quantile is asked for.

    >>> from errorfloor.sql.reading import read
    >>> [is_quantile(node) for node in read("SELECT median(x), avg(x), quantile(x, 0.25)").expressions]
    [True, False, True]
    """
    if type(node) is exp.Filter:
        return is_quantile(node.this)
    return type(node) in (exp.Median, exp.Quantile) or (
        type(node) is exp.WithinGroup and type(node.this) in (exp.PercentileCont, exp.PercentileDisc)
    )


def is_distribution(node: exp.Expr) -> bool:
    """Tell whether several numbers are asked for, by edges.

    >>> from errorfloor.sql.reading import read
    >>> [is_distribution(node) for node in read("SELECT histogram(x, 1, 2), avg(x)").expressions]
    [True, False]
    """
    if type(node) is exp.Filter:
        return is_distribution(node.this)
    return type(node) is exp.Anonymous and str(node.this).lower() in ("cumulative", "histogram")


class Formulas:
    """Reads formulas over the rows of a relation."""

    def __init__(self, rows: RowConditions) -> None:
        self.rows = rows
        self.words = rows.words

    def formula(self, node: exp.Expression) -> plan.Formula:
        """Read a formula."""
        how = self._readers.get(type(node))
        if how is None:
            raise self._no_formula(node)
        formula: plan.Formula = self.words.quoting(node, how, self, bounded)
        return formula

    def _no_formula(self, node: exp.Expression) -> RefusedError:
        if type(node) is exp.Column:
            column = self.rows.relation.find(node).column
            if column.private:
                return self.words.refusal(node, "private-key", PRIVATE_ROWS.format(column.name))
            return self.words.refusal(
                node, "group", "is combined with an aggregate: select it as a separate column, and group by it"
            )
        return self.words.unanswered(node)

    def _literal(self, node: exp.Expression) -> plan.Formula:
        if node.args.get("is_string"):
            raise self.words.refusal(node, "type", "is text where a number is needed: columns have no quotation marks")
        return plan.Constant(number_of(str(node.this)))

    def _sides(self, node: exp.Expression) -> tuple[plan.Formula, plan.Formula]:
        return self.formula(node.this), self.formula(node.expression)

    def _arithmetic(self, node: exp.Expression) -> plan.Formula:
        return ARITHMETIC[type(node)](*self._sides(node))

    def _power(self, node: exp.Expression) -> plan.Formula:
        check_power(node, self.words)
        base, exponent = self._sides(node)
        if not isinstance(exponent, plan.Constant):
            raise self.words.refusal(node.expression, "constant", "must be a plain number: write it in digits")
        return power(base, exponent.value)

    def _function(self, node: exp.Expression) -> plan.Formula:
        argument = self.formula(node.this)
        if isinstance(argument, plan.Constant):
            raise RefusedError("is a function of a constant: write its value as a decimal number", reason="constant")
        return plan.Apply(FUNCTIONS[type(node)], (), argument)

    def _extreme(self, node: exp.Expression) -> plan.Formula:
        argument, bound = self.rows.extreme(
            node, self.formula, lambda formula: formula.value if isinstance(formula, plan.Constant) else None
        )
        return plan.Apply("greatest" if isinstance(node, exp.Greatest) else "least", (bound,), argument)

    def _cast(self, node: exp.Expression) -> plan.Formula:
        self.words.only(node.args["to"], "this")
        if node.args["to"].this != exp.DataType.Type.DOUBLE:
            raise self.words.refusal(node, "type", "is not supported: answers are numbers; round them afterwards")
        return self.formula(node.this)

    # -- aggregates

    def _filtered(self, node: exp.Expression) -> plan.Formula:
        if type(node.this) not in AGGREGATES:
            raise self.words.unanswered(node.this)
        self.words.only(node.expression, "this")
        return self._aggregate(node.this, self.rows.filter(node.expression.this))

    def _aggregate(self, node: exp.Expression, where: plan.Condition = plan.ALWAYS) -> plan.Formula:
        if type(node) is exp.Count:
            return self._count(node, where)
        if type(node) in PAIRS:
            return self._pair(node, where)
        self.words.only(node, "this")
        number, counted = self._argument(node.this, where)
        if type(node) in SPREADS:
            sample, rooted = SPREADS[type(node)]
            spread = plan.Covariance(number, number, counted, sample)
            return root(spread) if rooted else spread
        total = plan.Sum(number, counted)
        return total if type(node) is exp.Sum else quotient(total, plan.Count(counted))

    def _argument(self, node: exp.Expression, where: plan.Condition) -> tuple[Polynomial, plan.Condition]:
        if is_formula(node):
            raise self.words.refusal(node, "aggregate", "is an aggregate inside an aggregate: ask for one of them")
        number = self.rows.number(node)
        if number.polynomial.value == 0:
            raise self.words.refusal(node, "constant", "is zero on every row: leave it out")
        return number.polynomial, self._counted(node, where, number.present)

    def _counted(self, node: exp.Expression, *conditions: plan.Condition) -> plan.Condition:
        counted = plan.all_of(conditions)
        if counted == plan.NEVER:
            raise self.words.refusal(node, "constant", "leaves no row: leave it out")
        return counted

    def _count(self, node: exp.Expression, where: plan.Condition) -> plan.Formula:
        self.words.only(node, "this", "big_int")
        if type(node.this) is exp.Star:
            self.words.only(node.this)
            return plan.Count(where)
        if node.this is None:
            raise self.words.refusal(node, "aggregate", "counts nothing: write count(*)")
        if type(node.this) is exp.Distinct and self.rows.relation.is_exact:
            return self._different(node.this, where)
        value = self.rows.value(node.this)
        if isinstance(value, Number):
            return plan.Count(self._counted(node, where, value.present))
        if isinstance(value, plan.Literal) or (isinstance(value, plan.TableColumn) and not value.nullable):
            return plan.Count(where)
        return plan.Count(plan.all_of([where, plan.opposite(plan.Missing(value))]))

    def _different(self, node: exp.Expression, where: plan.Condition) -> plan.Formula:
        self.words.only(node, "expressions")
        if len(node.expressions) != 1:
            raise self.words.refusal(node, "distinct", "counts combinations of values: count those of one expression")
        value = self.rows.comparable(node, self.rows.value(node.expressions[0]))
        if plan.is_constant(value):
            raise self.words.refusal(node, "constant", "names no column: count the different values of one")
        return plan.Sum(Polynomial.atom(plan.Different(value)), where)

    def _pair(self, node: exp.Expression, where: plan.Condition) -> plan.Formula:
        self.words.only(node, "this", "expression")
        one, first = self._argument(node.this, where)
        two, second = self._argument(node.expression, where)
        counted = self._counted(node, first, second)
        covariance = _covariance(one, two, counted, sample=type(node) is exp.CovarSamp)
        if type(node) is exp.RegrSlope:
            return quotient(covariance, plan.Covariance(two, two, counted, False))
        if type(node) is exp.Corr:
            spreads = [plan.Covariance(number, number, counted, False) for number in (one, two)]
            return quotient(covariance, root(times(spreads)))
        return covariance

    # how each kind of node is read, and which of its arguments are understood
    _readers: ClassVar[dict[type[exp.Expression], tuple[Any, ...]]] = {
        exp.Paren: (lambda self, node: self.formula(node.this), "this"),
        exp.Literal: (_literal, "this", "is_string"),
        exp.Neg: (lambda self, node: negative(self.formula(node.this)), "this"),
        **dict.fromkeys(ARITHMETIC, (_arithmetic, "this", "expression")),
        exp.Pow: (_power, "this", "expression"),
        **dict.fromkeys((exp.Greatest, exp.Least), (_extreme, "this", "expressions", "ignore_nulls")),
        exp.Cast: (_cast, "this", "to"),
        exp.Filter: (_filtered, "this", "expression"),
        **dict.fromkeys(FUNCTIONS, (_function, "this")),
        **dict.fromkeys(AGGREGATES, (_aggregate,)),
    }


def _covariance(one: Polynomial, two: Polynomial, where: plan.Condition, *, sample: bool) -> plan.Covariance:
    """A covariance is the same in both orders."""
    first, second = sorted((one, two), key=lambda number: number.encoded)
    return plan.Covariance(first, second, where, sample)
