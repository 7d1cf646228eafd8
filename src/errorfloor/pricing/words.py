"""Plans in words: the SQL that a part of a plan stands for, quoted where it is said why a question has no price.

Public facts and declarations only.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.errors import RefusedError
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import Enclosure
from errorfloor.sql import plan


def words(node: Node) -> str:
    """Write a part of a plan as SQL; a polynomial is written multiplied out.

    >>> x = Polynomial.atom(plan.TableColumn(0, "kwh", "number", private=True, step=Fraction(1)))
    >>> words(plan.Apply("sqrt", (), plan.Covariance(x, x, plan.Always(), sample=False)))
    'sqrt(var_pop(kwh))'
    >>> words(plan.Sum((x - 3) ** 2, plan.Always()))
    'sum(9 - 6 * kwh + kwh ^ 2)'
    """
    written = WRITTEN.get(type(node))
    return type(node).__name__.lower() if written is None else written(node)


def call_words(function: str, parameters: tuple[Fraction, ...], argument: str) -> str:
    """Write a function of something that is in words already."""
    if function == "reciprocal":
        return f"1 / ({argument})"
    return f"{function}({', '.join([argument, *map(number, parameters)])})"


def number(value: Fraction) -> str:
    """Write a number as a decimal if it is a short one, and as a fraction otherwise.

    >>> number(Fraction(1, 4)), number(Fraction(1, 3)), number(Fraction(10**20))
    ('0.25', '1/3', '100000000000000000000')
    """
    if value.denominator == 1:
        return str(value.numerator)
    decimal = f"{float(value):.12g}"
    return decimal if Fraction(decimal) == value else str(value)


def _term(monomial: Monomial, coefficient: Fraction) -> str:
    factors = [words(atom) if power == 1 else f"{words(atom)} ^ {power}" for atom, power in monomial]
    if not factors:
        return number(coefficient)
    if abs(coefficient) != 1:
        return " * ".join([number(coefficient), *factors])
    return ("-" if coefficient < 0 else "") + " * ".join(factors)


def _signed(parts: Iterable[str]) -> str:
    text = " + ".join(parts) or "0"
    return text.replace("+ -", "- ")


def _inner(node: plan.Condition) -> str:
    return f"({words(node)})" if isinstance(node, plan.And | plan.Or) else words(node)


def _covariance(node: plan.Covariance) -> str:
    first, second = words(node.first), words(node.second)
    name, of = ("var", first) if node.first == node.second else ("covar", f"{first}, {second}")
    return f"{name}_{'samp' if node.sample else 'pop'}({of})" + _filter(node.where)


def _weighted_mean(node: plan.WeightedMean) -> str:
    both = words(node.value * node.weight) + _filter(node.where)
    return f"sum({both}) / sum({words(node.weight)})" + _filter(node.where)


def _quotient(node: plan.Quotient) -> str:
    match node:
        case plan.Quotient(plan.Sum() as total, plan.Count() as count) if total.where == count.where:
            return f"avg({words(total.of)})" + _filter(total.where)
    return f"{_factor(node.numerator)} / {_factor(node.denominator, below=True)}"


def _filter(where: plan.Condition) -> str:
    return "" if isinstance(where, plan.Always) else f" FILTER (WHERE {words(where)})"


def _factor(node: Node, below: bool = False) -> str:
    products = plan.Times | plan.Quotient | plan.Power | plan.WeightedMean
    needs = isinstance(node, plan.Plus) or (below and isinstance(node, products))
    return f"({words(node)})" if needs else words(node)


WRITTEN: Mapping[type[Node], Callable[[Any], str]] = {
    Polynomial: lambda node: _signed(_term(monomial, coefficient) for monomial, coefficient in node.terms),
    plan.TableColumn: lambda node: node.name,
    plan.Literal: lambda node: f"'{node.value}'",
    plan.Truncated: lambda node: f"date_trunc('{node.unit}', {words(node.of)})",
    plan.AsDate: lambda node: f"CAST({words(node.of)} AS date)",
    plan.Choice: lambda _: "CASE … END",
    plan.DatePart: lambda node: f"extract({node.part} FROM {words(node.of)})",
    plan.RoundedDown: lambda node: f"floor({words(node.of)})",
    plan.Indicator: lambda node: f"CASE WHEN {words(node.of)} THEN 1 ELSE 0 END",
    plan.Call: lambda node: call_words(node.function, node.parameters, words(node.argument)),
    plan.Always: lambda _: "true",
    plan.And: lambda node: " AND ".join(map(_inner, node.parts)),
    plan.Or: lambda node: " OR ".join(map(_inner, node.parts)),
    plan.Not: lambda node: (
        f"{words(node.part.value)} IS NOT NULL" if isinstance(node.part, plan.Missing) else f"NOT ({words(node.part)})"
    ),
    plan.Compare: lambda node: f"{words(node.left)} {node.operator} {words(node.right)}",
    plan.Among: lambda node: f"{words(node.value)} IN ({', '.join(map(words, node.choices))})",
    plan.Matches: lambda node: f"{words(node.value)} LIKE '{node.pattern}'",
    plan.Missing: lambda node: f"{words(node.value)} IS NULL",
    plan.Constant: lambda node: number(node.value),
    plan.Count: lambda node: "count(*)" + _filter(node.where),
    plan.Sum: lambda node: f"sum({words(node.of)})" + _filter(node.where),
    plan.Covariance: _covariance,
    plan.WeightedMean: _weighted_mean,
    plan.Plus: lambda node: _signed(map(words, node.parts)),
    plan.Times: lambda node: " * ".join(map(_factor, node.parts)),
    plan.Quotient: _quotient,
    plan.Power: lambda node: f"{_factor(node.base, below=True)} ^ {node.exponent}",
    plan.Apply: lambda node: call_words(node.function, node.parameters, words(node.argument)),
}


def no_derivative(function: str, parameters: tuple[Fraction, ...], argument: Node, reach: Enclosure) -> RefusedError:
    """A function whose derivative has no bound where its argument may be."""
    inside, ends, cut, _ = _reached(argument, reach)
    allowed = "at least 0" if function == "power" and parameters[0] > 1 else FUNCTIONS[function].needs
    return _unbounded(
        f"{call_words(function, parameters, inside)} cannot be answered: {inside} can lie anywhere in {ends}, and the "
        f"answer's derivative is bounded only where it is {allowed}: ask for {call_words(function, parameters, cut)}, "
        f"with a constant of your choice"
    )


def no_quotient(numerator: Node, denominator: Node, reach: Enclosure) -> RefusedError:
    """A quotient whose denominator may be zero."""
    below, ends, cut, _ = _reached(denominator, reach)
    return _unbounded(
        f"({words(numerator)}) / ({below}) cannot be answered: the denominator can lie anywhere in {ends}, so it may "
        f"be 0: ask for ({words(numerator)}) / {cut}, with a constant of your choice"
    )


def no_weight(weight: Node, reach: Enclosure) -> RefusedError:
    """Weights that may all be zero, or of both signs."""
    inside, ends, _, cut = _reached(weight, reach)
    return _unbounded(
        f"the weight {inside} can lie anywhere in {ends}; a weighted mean is bounded only for weights above 0: ask "
        f"with the weight {cut}, with a constant of your choice"
    )


def too_large(node: Node, reach: float, most: float) -> RefusedError:
    """A value beyond what is kept exactly."""
    return _unbounded(
        f"{words(node)} can be as large as {reach:.3g}; at most {most:.3g} is kept exactly: divide it by a constant, "
        f"or cut its argument with least(…) or greatest(…)"
    )


def no_number(node: Node) -> RefusedError:
    """A formula whose value or derivative exceeds every double."""
    return _unbounded(f"{words(node)} has no bound that fits a number: ask for it in other units, or for its parts")


def _unbounded(said: str) -> RefusedError:
    return RefusedError(said, reason="unbounded")


def _reached(node: Node, reach: Enclosure) -> tuple[str, str, str, str]:
    """Say what something is, where it can lie, and how it can be cut: to the side where it mostly lies, and above 0."""
    inside, low, high = words(node), float(np.min(reach.low)), float(np.max(reach.high))
    above = f"greatest({inside}, {_cut(high)})"
    below = f"least({inside}, -{_cut(-low)})"
    return inside, f"{low:.6g} … {high:.6g}", below if abs(low) > high else above, above


def _cut(scale: float) -> str:
    """Give about a thousandth of a number, to one digit: something above zero to suggest."""
    return f"{float(f'{scale / 1000:.0e}'):g}" if 0 < scale < np.inf else "0.01"
