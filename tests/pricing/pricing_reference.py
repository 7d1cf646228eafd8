"""Small tables, their public facts, and what a plan means on them, written again from the definitions.

Nothing here uses interval arithmetic or the walk: a plan is evaluated on numbers of some kind — mpmath's for what is
exact, dual numbers for derivatives, fractions for what an engine computes — by one recursive definition.
"""

import math
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa
from mpmath.libmp import from_rational

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.identity import encode
from errorfloor.pricing.bounding import Bounds, bounds_from_facts
from errorfloor.pricing.facts import Fact, Facts, Request
from errorfloor.pricing.keys import GroupKeys, KeyColumn
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.pricing.scene import requested
from errorfloor.sql.plan import (
    Always,
    And,
    Apply,
    Call,
    Compare,
    Condition,
    Constant,
    Count,
    Covariance,
    Formula,
    Indicator,
    Missing,
    Not,
    Or,
    Plus,
    Power,
    Quotient,
    RoundedDown,
    Sum,
    TableColumn,
    Times,
    WeightedMean,
)
from errorfloor.sql.question import GroupKey, Question, QuestionOutput, walk
from errorfloor.sql.sums import ARGUMENT_ERROR, FUNCTION_ERROR, POWER_ERROR, Layout

STEP = Fraction(1, 1000)
X = TableColumn(0, "x", "number", private=True, step=STEP)
Y = TableColumn(0, "y", "number", private=True, step=STEP)
P = TableColumn(0, "p", "number", step=Fraction(1, 4))
Q = TableColumn(0, "q", "number", step=Fraction(1))
GROUP = TableColumn(0, "place", "text")
CELL = TableColumn(0, "region", "text")
PROMISED = {
    "argument": ARGUMENT_ERROR,
    "function": FUNCTION_ERROR,
    "power": POWER_ERROR,
}  # before any test changes them
x, y, p, q = (Polynomial.atom(column) for column in (X, Y, P, Q))
ALWAYS = Always()


def call(function: str, argument: Polynomial, *parameters: Fraction | int) -> Polynomial:
    return Polynomial.atom(Call(function, tuple(map(Fraction, parameters)), argument))


def constant(value: Fraction | int) -> Constant:
    return Constant(Fraction(value))


def mean(polynomial: Polynomial, where: Condition = ALWAYS) -> Formula:
    return Quotient(Sum(polynomial, where), Count(where))


@dataclass(frozen=True)
class Row:
    """The public side of a row: its group, account cell and owner, and its public numbers as stored."""

    place: str
    region: str
    owner: int
    p: int
    q: int

    def public(self, name: str) -> Fraction:
        return Fraction(self.p, 4) if name == "p" else Fraction(self.q)


@dataclass(frozen=True)
class World:
    """A table, and the declared ranges of its private columns."""

    rows: tuple[Row, ...]
    ranges: Mapping[str, tuple[Fraction, Fraction]] = field(
        default_factory=lambda: {"x": (Fraction(0), Fraction(5)), "y": (Fraction(-2), Fraction(3))}
    )

    def question(self, *formulas: Formula) -> Question:
        outputs = tuple(QuestionOutput(f"o{i}", formula, "") for i, formula in enumerate(formulas))
        return Question("t", "1", (), ALWAYS, (GroupKey("place", GROUP),), outputs, ("place",), (), None)

    def facts(self, question: Question) -> Facts:
        """Count, add and compare in exact arithmetic, row by row."""
        kept = [row for row in self.rows if holds(question.where, row)]
        groups = sorted({(row.place,) for row in kept}, key=encode)
        cells = sorted({(row.region,) for row in kept}, key=encode)
        parts = sorted({(groups.index((row.place,)), cells.index((row.region,))) for row in kept})
        members = [[row for row in kept if (row.place, row.region) == (groups[g][0], cells[c][0])] for g, c in parts]
        return Facts(
            groups=GroupKeys((KeyColumn(pa.array([place for (place,) in groups], pa.string())),), len(groups)),
            cells=cells,
            group=np.array([g for g, _ in parts], dtype=np.int64),
            cell=np.array([c for _, c in parts], dtype=np.int64),
            rows=np.array([len(rows) for rows in members], dtype=np.int64),
            known={request: _fact(request, members) for request in requested(question)},
        )

    def bounds(self, *formulas: Formula) -> Bounds:
        question = self.question(*formulas)
        facts = self.facts(question)
        floors = {node: 10**7 for node in walk(question) if isinstance(node, RoundedDown)}
        stored = Layout({X: 10**6, Y: 10**6, P: 10**6, Q: 10**6, **floors}, {}, rows=len(self.rows))
        counts: dict[tuple[int, int], int] = {}
        for row in self.rows:
            pair = facts.groups.index((row.place,)), row.owner
            counts[pair] = counts.get(pair, 0) + 1
        group, owner = (np.array(side, dtype=np.int64) for side in zip(*counts, strict=True))
        owners = OwnerCounts(group, owner, np.array(list(counts.values()), dtype=np.int64))
        return bounds_from_facts(question, facts, self.ranges, stored, owners)


def _fact(request: Request, members: Sequence[Sequence[Row]]) -> Fact:
    polynomial, where = request
    values = [[of_row(polynomial, row, {}, EXACT) for row in rows if holds(where, row)] for rows in members]
    unit = math.lcm(*(value.denominator for part in values for value in part))
    whole = [[int(value * unit) for value in part] for part in values]
    return Fact(
        count=np.array([len(part) for part in whole], dtype=np.int64),
        low=np.array([min(part, default=0) for part in whole], dtype=object),
        high=np.array([max(part, default=0) for part in whole], dtype=object),
        above=np.array([sum(value for value in part if value > 0) for part in whole], dtype=object),
        below=np.array([sum(value for value in part if value < 0) for part in whole], dtype=object),
        denominator=unit,
    )


# -- what a plan means, on numbers of any kind


@dataclass(frozen=True)
class Kind:
    """A kind of numbers: how to make one from a fraction, and functions on them."""

    number: Callable[[Fraction], Any]
    row_function: Callable[[Call, Any], Any]
    formula_function: Callable[[str, tuple[Fraction, ...], Any], Any]


def holds(condition: Condition, row: Row) -> bool:
    match condition:
        case Always():
            return True
        case And():
            return all(holds(part, row) for part in condition.parts)
        case Or():
            return any(holds(part, row) for part in condition.parts)
        case Missing():
            return False  # no row here has a NULL
        case Not():
            return not holds(condition.part, row)
        case Compare():
            left, right = (of_row(side, row, {}, EXACT) for side in (condition.left, condition.right))
            return {"=": left == right, "<>": left != right, "<": left < right, "<=": left <= right}[condition.operator]
    raise TypeError(type(condition).__name__)


def of_row(polynomial: Polynomial, row: Row, entries: Mapping[str, Any], kind: Kind) -> Any:
    total = kind.number(Fraction(0))
    for monomial, coefficient in polynomial.terms:
        term = kind.number(coefficient)
        for atom, power in monomial:
            value = _atom(atom, row, entries, kind)
            for _ in range(power):
                term = term * value
        total = total + term
    return total


def _atom(atom: Node, row: Row, entries: Mapping[str, Any], kind: Kind) -> Any:
    match atom:
        case TableColumn():
            return entries[atom.name] if atom.private else kind.number(row.public(atom.name))
        case Indicator():
            return kind.number(Fraction(holds(atom.of, row)))
        case RoundedDown():
            return kind.number(Fraction(math.floor(of_row(atom.of, row, {}, EXACT))))
        case Call():
            argument = atom.argument
            if atom.function == "above":  # the place within the step
                argument = (argument - atom.parameters[0]) * (1 / atom.parameters[1]) + Fraction(1, 2)
            return kind.row_function(atom, of_row(argument, row, entries, kind))
    raise TypeError(type(atom).__name__)


def of_group(formula: Formula, rows: Sequence[tuple[Row, Mapping[str, Any]]], kind: Kind) -> Any:
    """Give the value on the rows of one group, each with its entries; None where SQL has NULL."""
    match formula:
        case Constant():
            return kind.number(formula.value)
        case Count():
            return kind.number(Fraction(len(_counting(formula.where, rows))))
        case Sum():
            values = _values(formula.of, formula.where, rows, kind)
            return _added(values, kind) if values else None
        case Covariance():
            return _covariance(formula, rows, kind)
        case WeightedMean():
            values, weights = (_values(g, formula.where, rows, kind) for g in (formula.value, formula.weight))
            both = [one * two for one, two in zip(values, weights, strict=True)]
            return _added(both, kind) / _added(weights, kind) if values else None
        case Plus() | Times():
            parts = [of_group(part, rows, kind) for part in formula.parts]
            if any(part is None for part in parts):
                return None
            result = parts[0]
            for part in parts[1:]:
                result = result + part if isinstance(formula, Plus) else result * part
            return result
        case Quotient():
            above, below = of_group(formula.numerator, rows, kind), of_group(formula.denominator, rows, kind)
            return None if above is None or below is None or below == 0 else above / below
        case Power():
            base = of_group(formula.base, rows, kind)
            return None if base is None else math.prod([base] * (formula.exponent - 1), start=base)
        case Apply():
            inner = of_group(formula.argument, rows, kind)
            return None if inner is None else kind.formula_function(formula.function, formula.parameters, inner)
    raise TypeError(type(formula).__name__)


def _counting(where: Condition, rows: Sequence[tuple[Row, Any]]) -> list[tuple[Row, Any]]:
    return [pair for pair in rows if holds(where, pair[0])]


def _values(polynomial: Polynomial, where: Condition, rows: Sequence[tuple[Row, Any]], kind: Kind) -> list[Any]:
    return [of_row(polynomial, row, entries, kind) for row, entries in _counting(where, rows)]


def _added(values: Iterable[Any], kind: Kind) -> Any:
    total = kind.number(Fraction(0))
    for value in values:
        total = total + value
    return total


def _covariance(formula: Covariance, rows: Sequence[tuple[Row, Any]], kind: Kind) -> Any:
    first, second = (_values(g, formula.where, rows, kind) for g in (formula.first, formula.second))
    n = len(first)
    if n < 1 + formula.sample:
        return None
    share = kind.number(Fraction(1, n))
    one, two = _added(first, kind) * share, _added(second, kind) * share
    total = _added(((g - one) * (h - two) for g, h in zip(first, second, strict=True)), kind)
    return total * kind.number(Fraction(1, n - 1 if formula.sample else n))


# -- kinds of numbers


def _smoothstep(s: Any) -> Any:
    return s * s * (3 - 2 * s)


def _mp_function(name: str, parameters: tuple[Fraction, ...], value: Any) -> Any:
    match name:
        case "exp" | "ln" | "sqrt" | "sin" | "cos" | "tanh":
            return getattr(mpmath, name)(value)
        case "reciprocal":
            return 1 / value
        case "power":
            return value ** _mp(parameters[0])
        case "above":
            return _smoothstep(min(max(value, mpmath.mpf(0)), mpmath.mpf(1)))
        case "greatest":
            return max(value, _mp(parameters[0]))
        case "least":
            return min(value, _mp(parameters[0]))
    raise ValueError(name)


def _mp(value: Fraction) -> Any:
    return mpmath.mp.make_mpf(from_rational(value.numerator, value.denominator, mpmath.mp.prec))


def _no_function(*_: Any) -> Any:
    raise TypeError("a public number has no function")


EXACT = Kind(lambda value: value, _no_function, _no_function)
PRECISE = Kind(_mp, lambda node, value: _mp_function(node.function, node.parameters, value), _mp_function)


@dataclass(frozen=True)
class Dual:
    """A value and its derivative."""

    value: float
    slope: float

    def __add__(self, other: Any) -> "Dual":
        other = _dual(other)
        return Dual(self.value + other.value, self.slope + other.slope)

    __radd__ = __add__

    def __neg__(self) -> "Dual":
        return Dual(-self.value, -self.slope)

    def __sub__(self, other: Any) -> "Dual":
        return self + -_dual(other)

    def __mul__(self, other: Any) -> "Dual":
        other = _dual(other)
        return Dual(self.value * other.value, self.slope * other.value + self.value * other.slope)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> "Dual":
        other = _dual(other)
        ratio = self.value / other.value
        return Dual(ratio, (self.slope - ratio * other.slope) / other.value)

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


def _dual(value: Any) -> Dual:
    return value if isinstance(value, Dual) else Dual(float(value), 0.0)


def _dual_function(name: str, parameters: tuple[Fraction, ...], of: Dual) -> Dual:
    v = of.value
    match name:
        case "exp":
            f, d = math.exp(v), math.exp(v)
        case "ln":
            f, d = math.log(v), 1 / v
        case "sqrt":
            f, d = math.sqrt(v), 0.5 / math.sqrt(v)
        case "sin":
            f, d = math.sin(v), math.cos(v)
        case "cos":
            f, d = math.cos(v), -math.sin(v)
        case "tanh":
            f, d = math.tanh(v), 1 - math.tanh(v) ** 2
        case "reciprocal":
            f, d = 1 / v, -1 / v**2
        case "power":
            exponent = float(parameters[0])
            f, d = v**exponent, (exponent * v ** (exponent - 1) if v or exponent > 1 else math.inf)
        case "above":
            s = min(max(v, 0.0), 1.0)
            f, d = _smoothstep(s), 6 * s * (1 - s)
        case "greatest":
            f, d = max(v, float(parameters[0])), float(v > parameters[0])
        case "least":
            f, d = min(v, float(parameters[0])), float(v < parameters[0])
        case _:
            raise ValueError(name)
    return Dual(f, d * of.slope)


DUAL = Kind(
    lambda value: Dual(float(value), 0.0),
    lambda node, value: _dual_function(node.function, node.parameters, value),
    _dual_function,
)


def engine_kind(layout: Layout, seed: int) -> Kind:
    """Numbers as an engine computes them: fractions, and functions in doubles on a grid, as badly as is promised.

    Arguments and functions are off by nearly as much as the layout's promise allows: all up, all down, or either way
    at random.
    """
    chance = random.Random(seed)
    ways = chance.choice([(1,), (-1,), (-1, 1)])

    def stored(node: Call, value: Fraction) -> Fraction:
        with mpmath.workprec(200):
            argument = _mp(value) * (1 + chance.choice(ways) * mpmath.mpf(PROMISED["argument"]))
            if node.function == "above":  # there the promise for the function includes its argument
                argument = _mp(value)
            off = mpmath.mpf(PROMISED["power" if node.function == "power" else "function"])
            result = _mp_function(node.function, node.parameters, argument)
            double = float(result * (1 + chance.choice(ways) * off * mpmath.mpf("0.999")))
        bits = layout.bits[node]
        integer = math.floor(double * 2.0**bits + 0.5)
        assert abs(integer) <= min(layout.largest[node], 2**40 + 1)
        return Fraction(integer) / Fraction(2) ** bits

    def of_formula(name: str, parameters: tuple[Fraction, ...], value: Fraction) -> Fraction:
        if name in ("greatest", "least"):
            return (max if name == "greatest" else min)(value, parameters[0])
        with mpmath.workdps(50):
            return _fraction(_mp_function(name, parameters, _mp(value)))

    return Kind(lambda value: value, stored, of_formula)


def _fraction(value: Any) -> Fraction:
    sign, mantissa, exponent, _ = value._mpf_
    return (-1) ** sign * Fraction(int(mantissa)) * Fraction(2) ** int(exponent)


def exactly(value: Fraction) -> Any:
    """Give a fraction as a number of mpmath."""
    return _mp(value)
