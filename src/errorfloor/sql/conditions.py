"""Conditions on public columns: which rows count.

A private column in a condition would let the choice of rows give its values away, so it is refused; which entries of a
private column are null is no secret where the declaration says so, and ``x IS NOT NULL`` may be asked.
"""

from collections.abc import Callable
from operator import eq, le, lt, ne
from typing import Any, ClassVar, final
from typing import Literal as OneOf

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.choices import flagged
from errorfloor.sql.dates import Value, literal_like
from errorfloor.sql.numbers import Number, small
from errorfloor.sql.row_expressions import RowExpressions

Operator = OneOf["=", "<>", "<", "<="]

HOLDS: dict[Operator, Callable[[Any, Any], bool]] = {"=": eq, "<>": ne, "<": lt, "<=": le}
WRITTEN = {  # how what is rarer in a comparison is written
    "flag": "a flag is true or false, without quotation marks",
    "moment": "a moment is written as '2013-01-31 12:00:00', and CAST(x AS DATE) makes a moment a date",
    "date": "a date is written as '2013-01-31', and year(x) is a number",
    "number": "numbers are written without quotation marks, texts with them",
}

# Whether the sides are exchanged, and the operator then.
COMPARISONS: dict[type[exp.Expression], tuple[bool, Operator]] = {
    exp.EQ: (False, "="),
    exp.NEQ: (False, "<>"),
    exp.LT: (False, "<"),
    exp.LTE: (False, "<="),
    exp.GT: (True, "<"),
    exp.GTE: (True, "<="),
}


@final
class RowConditions(RowExpressions):
    """Reads values and conditions over the rows of a relation."""

    def condition(self, node: exp.Expression) -> plan.Condition:
        """Read a condition on public columns."""
        how = self._condition_readers.get(type(node))
        if how is None:
            raise self._no_condition(node)
        condition: plan.Condition = self.words.quoting(node, how, self, small)
        return condition

    def filter(self, node: exp.Expression) -> plan.Condition:
        """Read a condition that decides which rows count: it must be able to hold."""
        condition = self.condition(node)
        if condition == plan.NEVER:
            raise self.words.refusal(node, "constant", "is never true, so no row is left: leave it out")
        return condition

    def equal(self, node: exp.Expression, one: Value, two: Value) -> plan.Condition:
        """Compare two values that have been read already, for CASE x WHEN …."""
        return self._compare(node, "=", one, two)

    def _no_condition(self, node: exp.Expression) -> RefusedError:
        if isinstance(node, exp.Predicate) or type(node) not in self._readers:
            return self.words.unanswered(node)
        value = self.value(node)
        self.check_public(node, value)
        return self.words.refusal(node, "type", "is not a condition: compare it with something")

    def _joined(self, node: exp.Expression) -> plan.Condition:
        """Read a AND b AND c, or a OR b OR c, as one list."""
        parts: list[exp.Expression] = []
        kind = type(node)
        while type(node) is kind:
            self.words.only(node, "this", "expression")
            parts.append(node.expression)
            node = node.this
        join = plan.all_of if kind is exp.And else plan.any_of
        return join(self.condition(part) for part in (node, *reversed(parts)))

    def _flag(self, node: exp.Expression) -> plan.Condition:
        value = self.value(node)
        if isinstance(value, plan.TableColumn) and value.type == "flag":
            return flagged(value)
        raise self._no_condition(node)

    def _comparison(self, node: exp.Expression) -> plan.Condition:
        exchanged, operator = COMPARISONS[type(node)]
        one, two = self.value(node.this), self.value(node.expression)
        return self._compare(node, operator, two, one) if exchanged else self._compare(node, operator, one, two)

    def _compare(self, node: exp.Expression, operator: Operator, one: Value, two: Value) -> plan.Condition:
        left, right = self._alike(node, one, two)
        if isinstance(left, Polynomial) and isinstance(right, Polynomial):
            if left.value is not None and right.value is not None:
                return plan.ALWAYS if HOLDS[operator](left.value, right.value) else plan.NEVER
        elif isinstance(left, plan.Literal) and isinstance(right, plan.Literal):
            raise self.words.refusal(node, "constant", "names no column: compare a column with a value")
        elif operator in ("<", "<=") and not isinstance(left, Polynomial) and left.type in ("text", "flag"):
            raise self.words.refusal(
                node, "type", f"orders {left.type}s, which differs between systems: use =, IN or LIKE"
            )
        if operator in ("=", "<>") and right.encoded < left.encoded:
            left, right = right, left
        return plan.Compare(operator, left, right)

    def _alike(self, node: exp.Expression, one: Value, two: Value) -> tuple[plan.Scalar, plan.Scalar]:
        """Give two values as scalars of one type."""
        self.check_public(node, one)
        self.check_public(node, two)
        if isinstance(one, plan.Literal) and not isinstance(two, Number):
            one = literal_like(two.type, one)
        if isinstance(two, plan.Literal) and not isinstance(one, Number):
            two = literal_like(one.type, two)
        kinds = ["number" if isinstance(value, Number) else value.type for value in (one, two)]
        if kinds[0] != kinds[1]:
            written = next(WRITTEN[kind] for kind in ("flag", "moment", "date", "number") if kind in kinds)
            raise self.words.refusal(node, "type", f"compares a {kinds[0]} with a {kinds[1]}: {written}")
        return self.comparable(node, one), self.comparable(node, two)

    def _between(self, node: exp.Expression) -> plan.Condition:
        value, low, high = (self.value(node.args[slot]) for slot in ("this", "low", "high"))
        return plan.all_of([self._compare(node, "<=", low, value), self._compare(node, "<=", value, high)])

    def _among(self, node: exp.Expression) -> plan.Condition:
        if not node.expressions:
            raise self.words.refusal(node, "syntax", "has no list of values: write IN (1, 2)")
        value = self.value(node.this)
        scalar = self.comparable(node, value)
        choices: dict[bytes, plan.Scalar] = {}
        for part in node.expressions:
            _, choice = self._alike(node, value, self.value(part))
            if not plan.is_constant(choice):
                raise self.words.refusal(part, "constant", "must be a constant: IN takes a list of values")
            choices[choice.encoded] = choice
        if plan.is_constant(scalar):
            raise self.words.refusal(node, "constant", "names no column: compare a column with a value")
        if len(choices) == 1:
            return self._compare(node, "=", value, self.value(node.expressions[0]))
        return plan.Among(scalar, tuple(choices[key] for key in sorted(choices)))

    def _like(self, node: exp.Expression) -> plan.Condition:
        value, pattern = self.value(node.this), self.value(node.expression)
        self.check_public(node, value)
        if isinstance(value, (Number, plan.Literal)) or value.type != "text" or not isinstance(pattern, plan.Literal):
            raise self.words.refusal(node, "type", "needs a public text column and a pattern, as in tariff LIKE 'E%'")
        if pattern.type != "text":
            raise self.words.refusal(node, "type", "needs a pattern between quotation marks")
        condition = plan.Matches(value, str(pattern.value))
        return plan.opposite(condition) if node.args.get("negate") else condition

    def _is(self, node: exp.Expression) -> plan.Condition:
        if type(node.expression) is exp.Null:
            condition = self._missing(node)
        elif type(node.expression) is exp.Boolean:
            inner = self.condition(node.this)
            wanted = inner if node.expression.this else plan.opposite(inner)
            if wanted in (plan.ALWAYS, plan.NEVER):
                condition = wanted
            else:
                told: tuple[Polynomial, Polynomial] = (Polynomial.atom(plan.Indicator(wanted)), Polynomial.constant(1))
                condition = plan.Compare("=", *sorted(told, key=lambda side: side.encoded))
        else:
            raise self.words.unanswered(node)
        return plan.opposite(condition) if node.args.get("negate") else condition

    def _missing(self, node: exp.Expression) -> plan.Condition:
        value = self.value(node.this)
        if isinstance(value, Number):
            terms = value.polynomial.terms
            column = terms[0][0][0][0] if len(terms) == 1 and len(terms[0][0]) == 1 else None
            if not isinstance(column, plan.TableColumn) or value.polynomial != Polynomial.atom(column):
                raise self.words.refusal(node, "type", "tests an expression for nulls: test its columns")
        elif isinstance(value, plan.Literal):
            raise self.words.refusal(node, "constant", "names no column: leave it out")
        elif not isinstance(value, plan.TableColumn):
            return plan.Missing(value)
        else:
            column = value
        return plan.Missing(column) if column.nullable else plan.NEVER

    # how each kind of node is read, and which of its arguments are understood
    _condition_readers: ClassVar[dict[type[exp.Expression], tuple[Any, ...]]] = {
        exp.Paren: (lambda self, node: self.condition(node.this), "this"),
        exp.And: (_joined,),
        exp.Or: (_joined,),
        exp.Not: (lambda self, node: plan.opposite(self.condition(node.this)), "this"),
        exp.Boolean: (lambda self, node: plan.ALWAYS if node.this else plan.NEVER, "this"),
        exp.Column: (_flag,),
        exp.Between: (_between, "this", "low", "high"),
        exp.In: (_among, "this", "expressions"),
        exp.Like: (_like, "this", "expression", "negate"),
        exp.Is: (_is, "this", "expression", "negate"),
        **dict.fromkeys(COMPARISONS, (_comparison, "this", "expression")),
    }
