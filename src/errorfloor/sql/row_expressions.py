"""Values of a row: numbers as polynomials, and public texts, dates, moments and flags.

Arithmetic is exact: 0.1 is one tenth, 1 / 2 is one half, and a quotient of columns is a product with a reciprocal. A
null stays null, in ``greatest`` and ``least`` too. Where systems disagree (``log``, ``%``, ``-x^2``) the question is
refused rather than read in one of the ways.
"""

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any, ClassVar, TypeVar

from sqlglot import exp

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.errors import RefusedError
from errorfloor.sql import choices, dates
from errorfloor.sql.choices import chosen_number, chosen_scalar, flagged
from errorfloor.sql.dates import Value, literal_like
from errorfloor.sql.names import Relation
from errorfloor.sql.numbers import Number, column_presence, has_calls, is_whole, number_of, presence, small
from errorfloor.sql.plan import Choice, Condition, Indicator, Literal, Missing, Scalar, TableColumn
from errorfloor.sql.question import is_private, walk
from errorfloor.sql.refusals import NAMED_OF_RECORDS, PRIVATE_FILTER, check_power

ARITHMETIC: dict[type[exp.Expression], Callable[[Number, Number], Number]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
FUNCTIONS: dict[type[exp.Expression], str] = {
    exp.Exp: "exp",
    exp.Ln: "ln",
    exp.Sqrt: "sqrt",
    exp.Sin: "sin",
    exp.Cos: "cos",
    exp.Tanh: "tanh",
}
STEPS: dict[type[exp.Expression], Callable[[Number], Number]] = {
    exp.Abs: choices.size,
    exp.Ceil: choices.upwards,
    exp.Round: choices.nearest,
    exp.Sign: choices.sign,
}
MOST_DIGITS = 9
Read = TypeVar("Read")
INSTEAD = {  # of a value that is no number
    "text": "group by it",
    "flag": "write CASE WHEN x THEN 1 ELSE 0 END",
    "date": "write the date itself, or a part such as year(x)",
    "moment": "write the moment itself, or a part such as hour(x)",
}
WHOLE_TYPES = (exp.DataType.Type.INT, exp.DataType.Type.BIGINT)
MOMENT_TYPES = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.DATETIME)


class RowExpressions(ABC):
    """Reads values over the rows of a relation; ``RowConditions`` adds conditions."""

    def __init__(self, relation: Relation) -> None:
        self.relation = relation
        self.words = relation.words

    @abstractmethod
    def condition(self, node: exp.Expression) -> Condition:
        """Read a condition on public columns."""

    @abstractmethod
    def equal(self, node: exp.Expression, one: Value, two: Value) -> Condition:
        """Compare two values that have been read already, for CASE x WHEN …."""

    def value(self, node: exp.Expression) -> Value:
        """Read a value of a row."""
        how = self._readers.get(type(node))
        if how is None:
            raise self.words.unanswered(node)
        value: Value = self.words.quoting(node, how, self, small)
        return value

    def number(self, node: exp.Expression) -> Number:
        """Read a value that must be a number."""
        value = self.value(node)
        if not isinstance(value, Number):
            instead = "columns stand without quotation marks" if type(node) is exp.Literal else INSTEAD[value.type]
            raise self.words.refusal(node, "type", f"is a {value.type} where a number is needed: {instead}")
        return value

    def constant(self, node: exp.Expression) -> Fraction:
        """Read a number that must not depend on the row."""
        value = self.number(node).polynomial.value
        if value is None:
            raise self.words.refusal(node, "constant", "must be a plain number here: write it in digits")
        return value

    def comparable(self, node: exp.Expression, value: Value) -> Scalar:
        """Give a value as a public scalar, by which rows can be chosen: exact, and null only where its columns are."""
        self.check_public(node, value)
        if not isinstance(value, Number):
            return value
        polynomial = value.polynomial
        if has_calls(polynomial):
            raise self.words.refusal(
                node, "function", "depends on rounding, so it cannot be compared exactly: use + - * and floor"
            )
        if value.present != presence(polynomial):
            raise self.words.refusal(
                node, "type", "is null on rows that its columns do not determine: give every CASE an ELSE"
            )
        return polynomial

    def check_public(self, node: exp.Expression, value: Value) -> None:
        """Refuse a value that would make the choice of rows depend on a private column."""
        if isinstance(value, Number) and is_private(value.polynomial):
            name = next(part.name for part in walk(value.polynomial) if isinstance(part, TableColumn) and part.private)
            raise self.words.refusal(node, "private-filter", PRIVATE_FILTER.format(name))

    # -- one reader for each kind of node

    def _literal(self, node: exp.Expression) -> Value:
        text = str(node.this)
        if node.args.get("is_string"):
            return Literal(text, "text")
        return Number.constant(number_of(text))

    def _column(self, node: exp.Expression) -> Value:
        assert isinstance(node, exp.Column)
        column = self.relation.find(node).column
        if column.type == "number":
            return Number(Polynomial.atom(column), column_presence(column))
        return column

    def _arithmetic(self, node: exp.Expression) -> Value:
        return ARITHMETIC[type(node)](self.number(node.this), self.number(node.expression))

    def _power(self, node: exp.Expression) -> Value:
        check_power(node, self.words)
        return self.number(node.this).power(self.constant(node.expression))

    def _extreme(self, node: exp.Expression) -> Value:
        if self.relation.is_exact:
            parts = [self.number(part) for part in (node.this, *node.expressions)]
            if any(has_calls(part.polynomial) for part in parts):
                raise self.words.refusal(node, "function", "compares rounded numbers: use + - * of columns")
            if isinstance(node, exp.Greatest):
                return choices.largest(parts)
            return choices.MINUS * choices.largest([choices.MINUS * part for part in parts])
        number, bound = self.extreme(node, self.number, lambda number: number.polynomial.value)
        return number.call("greatest" if isinstance(node, exp.Greatest) else "least", bound)

    def extreme(
        self, node: exp.Expression, read: Callable[[exp.Expression], Read], value_of: Callable[[Read], Fraction | None]
    ) -> tuple[Read, Fraction]:
        """Give the one part of greatest or least that varies, and the constant it is compared with."""
        parts = [read(part) for part in (node.this, *node.expressions)]
        constants = [value for part in parts if (value := value_of(part)) is not None]
        varying = [part for part in parts if value_of(part) is None]
        if len(varying) != 1 or not constants:
            raise self.words.refusal(node, "function", "needs one expression and one constant, as in greatest(x, 0)")
        return varying[0], max(constants) if isinstance(node, exp.Greatest) else min(constants)

    def _floor(self, node: exp.Expression) -> Value:
        number = self.number(node.this)
        if is_private(number.polynomial):
            raise self.words.refusal(
                node, "function", "jumps with a private value: ask for shares with above(x, t, width)"
            )
        if has_calls(number.polynomial):
            raise self.words.refusal(node, "function", "takes the floor of a rounded number: use + - * of columns")
        return choices.down(number)

    def _step(self, node: exp.Expression) -> Value:
        number, digits = self.number(node.this), node.args.get("decimals")
        if is_private(number.polynomial):
            raise self.words.unanswered(node)
        if has_calls(number.polynomial):
            raise self.words.refusal(node, "function", "steps with a rounded number: use + - * of columns")
        if digits is None:
            return STEPS[type(node)](number)
        places = self.constant(digits)
        if type(node) is not exp.Round or places.denominator != 1 or not 0 <= places <= MOST_DIGITS:
            raise self.words.refusal(node, "constant", f"is rounded to 0 … {MOST_DIGITS} decimal digits: round(x, 2)")
        return choices.nearest(number, int(places))

    def _case(self, node: exp.Expression) -> Value:
        subject = self.value(node.this) if node.this else None
        branches: list[tuple[Condition, Value]] = []
        for branch in node.args["ifs"]:
            self.words.only(branch, "this", "true")
            condition = (
                self.condition(branch.this)
                if subject is None
                else self.equal(branch.this, subject, self.value(branch.this))
            )
            branches.append((condition, self.value(branch.args["true"])))
        default = node.args.get("default")
        otherwise = None if default is None or type(default) is exp.Null else self.value(default)
        values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
        kinds = {"number" if isinstance(value, Number) else value.type for value in values}
        if len(kinds) > 1:
            raise RefusedError(f"mixes {' and '.join(sorted(kinds))} in its branches: use one type", reason="type")
        if kinds == {"number"}:
            return chosen_number(branches, otherwise)
        return chosen_scalar(branches, otherwise)

    def _coalesce(self, node: exp.Expression) -> Value:
        value, others = self.value(node.this), [self.value(part) for part in node.expressions]
        if isinstance(value, Number) or len(others) != 1:
            raise self.words.unanswered(node)
        other = others[0]
        if isinstance(other, Literal):
            other = literal_like(value.type, other)
        if not isinstance(other, Literal) or other.type != value.type:
            raise RefusedError(f"needs a constant of the type {value.type} as its second part", reason="type")
        return Choice(((Missing(value), other),), value, value.type)

    def _cast(self, node: exp.Expression) -> Value:
        to = node.args["to"]
        self.words.only(to, "this")
        value = self.value(node.this)
        text = str(value.value) if isinstance(value, Literal) and value.type == "text" else None
        if to.this == exp.DataType.Type.DATE:
            return dates.as_date(value)
        if to.this in MOMENT_TYPES:
            if text is not None:
                return dates.moment_literal(text)
            if not isinstance(value, Number) and value.type == "moment":
                return value
        if isinstance(value, Number):
            if to.this == exp.DataType.Type.DOUBLE or (to.this in WHOLE_TYPES and is_whole(value.polynomial)):
                return value
        elif isinstance(value, TableColumn) and value.type == "flag" and to.this in WHOLE_TYPES:
            return Number(Polynomial.atom(Indicator(flagged(value))), column_presence(value))
        elif to.this in (exp.DataType.Type.TEXT, exp.DataType.Type.VARCHAR) and value.type == "text":
            return value
        raise RefusedError(
            "is a cast that is not supported: a moment becomes a date, a number DOUBLE; use floor(x) for whole numbers",
            reason="type",
        )

    def _part(self, node: exp.Expression) -> Value:
        return dates.date_part(dates.PARTS[type(node)], self.value(node.this))

    def _extract(self, node: exp.Expression) -> Value:
        if type(node.this) not in (exp.Var, exp.Literal):
            raise self.words.unanswered(node.this)
        return dates.date_part(str(node.this.this), self.value(node.expression))

    def _truncate(self, node: exp.Expression) -> Value:
        unit = node.args["unit"]
        if type(unit) not in (exp.Var, exp.Literal):
            raise self.words.unanswered(unit)
        return dates.truncated(str(unit.this), self.value(node.this))

    def _named(self, node: exp.Expression) -> Value:
        assert isinstance(node, exp.Anonymous)
        name, arguments = str(node.this).lower(), node.expressions
        if self.relation.is_exact and name in NAMED_OF_RECORDS:
            raise self.words.unanswered(node)
        if name == "above" and len(arguments) == 3:
            return self._above(self.number(arguments[0]), arguments[1], arguments[2])
        if name == "between" and len(arguments) == 4:
            number, low, high, width = arguments
            inside = self.number(number)
            if not self.constant(low) < self.constant(high):
                raise RefusedError(
                    "needs its lower end below its upper end: between(x, low, high, width)", reason="constant"
                )
            return self._above(inside, low, width) - self._above(inside, high, width)
        if name in ("above", "between"):
            raise RefusedError(
                "needs different arguments: above(x, threshold, width) or between(x, low, high, width)",
                reason="function",
            )
        if name in ("date_part", "datepart") and len(arguments) == 2 and type(arguments[0]) is exp.Literal:
            return dates.date_part(str(arguments[0].this), self.value(arguments[1]))
        raise self.words.unanswered(node)

    def _above(self, number: Number, threshold: exp.Expression, width: exp.Expression) -> Number:
        over = self.constant(width)
        if over <= 0:
            raise self.words.refusal(
                width, "constant", "must be a positive width: it is where above() rises from 0 to 1"
            )
        return number.call("above", self.constant(threshold), over)

    # how each kind of node is read, and which of its arguments are understood
    _readers: ClassVar[dict[type[exp.Expression], tuple[Any, ...]]] = {
        exp.Paren: (lambda self, node: self.value(node.this), "this"),
        exp.Literal: (_literal, "this", "is_string"),
        exp.Boolean: (lambda self, node: Literal(bool(node.this), "flag"), "this"),
        exp.Column: (_column,),
        exp.Neg: (lambda self, node: Number.constant(-1) * self.number(node.this), "this"),
        **dict.fromkeys(ARITHMETIC, (_arithmetic, "this", "expression")),
        exp.Pow: (_power, "this", "expression"),
        **dict.fromkeys((exp.Greatest, exp.Least), (_extreme, "this", "expressions", "ignore_nulls")),
        exp.Floor: (_floor, "this"),
        **dict.fromkeys(STEPS, (_step, "this", "decimals")),
        exp.Case: (_case, "this", "ifs", "default"),
        exp.Coalesce: (_coalesce, "this", "expressions"),
        exp.Cast: (_cast, "this", "to"),
        exp.Date: (lambda self, node: dates.as_date(self.value(node.this)), "this"),
        exp.Extract: (_extract, "this", "expression"),
        exp.DateTrunc: (_truncate, "this", "unit"),
        exp.Anonymous: (_named, "this", "expressions"),
        **dict.fromkeys(FUNCTIONS, (lambda self, node: self.number(node.this).call(FUNCTIONS[type(node)]), "this")),
        **dict.fromkeys(dates.PARTS, (_part, "this")),
    }
