"""Plans in words: the SQL that a part of a plan stands for, quoted where it is said why a question has no price.

Public facts and declarations only.
"""

from collections.abc import Iterable
from fractions import Fraction

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
    match node:
        case Polynomial():
            return _signed(_term(monomial, coefficient) for monomial, coefficient in node.terms)
        case plan.TableColumn():
            return node.name
        case plan.Literal():
            return f"'{node.value}'"
        case plan.Truncated():
            return f"date_trunc('{node.unit}', {words(node.of)})"
        case plan.AsDate():
            return f"CAST({words(node.of)} AS date)"
        case plan.Choice():
            return "CASE … END"
        case plan.DatePart():
            return f"extract({node.part} FROM {words(node.of)})"
        case plan.RoundedDown():
            return f"floor({words(node.of)})"
        case plan.Indicator():
            return f"CASE WHEN {words(node.of)} THEN 1 ELSE 0 END"
        case plan.Call():
            return call_words(node.function, node.parameters, words(node.argument))
        case _ if isinstance(node, plan.Condition):
            return _condition(node)
        case _:
            return _formula(node)


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


def _condition(node: plan.Condition) -> str:
    match node:
        case plan.Always():
            return "true"
        case plan.And():
            return " AND ".join(_inner(part) for part in node.parts)
        case plan.Or():
            return " OR ".join(_inner(part) for part in node.parts)
        case plan.Not(plan.Missing() as missing):
            return f"{words(missing.value)} IS NOT NULL"
        case plan.Not():
            return f"NOT ({words(node.part)})"
        case plan.Compare():
            return f"{words(node.left)} {node.operator} {words(node.right)}"
        case plan.Among():
            return f"{words(node.value)} IN ({', '.join(words(choice) for choice in node.choices)})"
        case plan.Matches():
            return f"{words(node.value)} LIKE '{node.pattern}'"
        case plan.Missing():
            return f"{words(node.value)} IS NULL"


def _inner(node: plan.Condition) -> str:
    return f"({words(node)})" if isinstance(node, plan.And | plan.Or) else words(node)


def _formula(node: Node) -> str:
    match node:
        case plan.Constant():
            return number(node.value)
        case plan.Count():
            return "count(*)" + _filter(node.where)
        case plan.Sum():
            return f"sum({words(node.of)})" + _filter(node.where)
        case plan.Covariance() if node.first == node.second:
            return f"{'var_samp' if node.sample else 'var_pop'}({words(node.first)})" + _filter(node.where)
        case plan.Covariance():
            name = "covar_samp" if node.sample else "covar_pop"
            return f"{name}({words(node.first)}, {words(node.second)})" + _filter(node.where)
        case plan.WeightedMean():
            both = words(node.value * node.weight) + _filter(node.where)
            return f"sum({both}) / sum({words(node.weight)})" + _filter(node.where)
        case plan.Plus():
            return _signed(words(part) for part in node.parts)
        case plan.Times():
            return " * ".join(_factor(part) for part in node.parts)
        case plan.Quotient(plan.Sum() as total, plan.Count() as count) if total.where == count.where:
            return f"avg({words(total.of)})" + _filter(total.where)
        case plan.Quotient():
            return f"{_factor(node.numerator)} / {_factor(node.denominator, below=True)}"
        case plan.Power():
            return f"{_factor(node.base, below=True)} ^ {node.exponent}"
        case plan.Apply():
            return call_words(node.function, node.parameters, words(node.argument))
        case _:
            return type(node).__name__.lower()


def _filter(where: plan.Condition) -> str:
    return "" if isinstance(where, plan.Always) else f" FILTER (WHERE {words(where)})"


def _factor(node: Node, below: bool = False) -> str:
    products = plan.Times | plan.Quotient | plan.Power | plan.WeightedMean
    needs = isinstance(node, plan.Plus) or (below and isinstance(node, products))
    return f"({words(node)})" if needs else words(node)


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
