"""Units of answers, for display: kWh, kWh², kWh/°C; nothing where they are not clear.

A unit is a product of the declared units of columns, each to a rational power. What has no declared unit, or is a sum
of different units, has no clear one. A constant takes the unit of what it is added to.
"""

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.sql import plan

Unit = Mapping[str, Fraction] | None  # None: not clear
PURE: Unit = {}
SAME = ("greatest", "least")
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def display_unit(formula: plan.Formula, unit_of: Callable[[plan.TableColumn], str]) -> str:
    """Give the unit of a formula as it is shown; an empty text where there is none or it is not clear.

    Parameters
    ----------
    formula
        What is computed.
    unit_of
        The declared unit of a column, or an empty text.

    >>> x = Polynomial.atom(plan.TableColumn(0, "kwh", "number", private=True, step=Fraction(1)))
    >>> from errorfloor.sql.plan import Always
    >>> display_unit(plan.Covariance(x, x, Always(), sample=False), lambda column: "kWh")
    'kWh²'
    """
    unit = _of_formula(formula, unit_of)
    return "" if unit is None else _written(unit)


def _of_formula(formula: plan.Formula, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    match formula:
        case plan.Constant() | plan.Count():
            return PURE
        case plan.Sum(of, _):
            return _of_polynomial(of, unit_of)
        case plan.WeightedMean(value, _, _):
            return _of_polynomial(value, unit_of)
        case plan.Covariance(first, second, _, _):
            return _product([_of_polynomial(first, unit_of), _of_polynomial(second, unit_of)])
        case plan.Plus(parts):
            return _common(_of_formula(part, unit_of) for part in parts if not isinstance(part, plan.Constant))
        case plan.Times(parts):
            return _product(_of_formula(part, unit_of) for part in parts)
        case plan.Quotient(numerator, denominator):
            below = _power(_of_formula(denominator, unit_of), Fraction(-1))
            return _product([_of_formula(numerator, unit_of), below])
        case plan.Power(base, exponent):
            return _power(_of_formula(base, unit_of), Fraction(exponent))
        case plan.Apply(function, _, argument):
            return _of_function(function, (), _of_formula(argument, unit_of))


def _of_polynomial(polynomial: Polynomial, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    terms = [monomial for monomial, _ in polynomial.terms if monomial]
    return _common(
        _product(_power(_of_atom(atom, unit_of), Fraction(exponent)) for atom, exponent in monomial)
        for monomial in terms
    )


def _of_atom(atom: Node, unit_of: Callable[[plan.TableColumn], str]) -> Unit:
    match atom:
        case plan.TableColumn():
            unit = unit_of(atom)
            return {unit: Fraction(1)} if unit else None
        case plan.Indicator():
            return PURE
        case plan.Call(function, parameters, argument):
            return _of_function(function, parameters, _of_polynomial(argument, unit_of))
        case _:
            return None


def _of_function(function: str, parameters: tuple[Fraction, ...], unit: Unit) -> Unit:
    if function in SAME:
        return unit
    if function == "sqrt":
        return _power(unit, Fraction(1, 2))
    if function == "reciprocal":
        return _power(unit, Fraction(-1))
    if function == "power":
        return _power(unit, parameters[0])
    return PURE


def _product(units: Iterable[Unit]) -> Unit:
    total: dict[str, Fraction] = {}
    for unit in units:
        if unit is None:
            return None
        for name, exponent in unit.items():
            total[name] = total.get(name, Fraction(0)) + exponent
    return {name: exponent for name, exponent in total.items() if exponent}


def _power(unit: Unit, exponent: Fraction) -> Unit:
    return None if unit is None else {name: own * exponent for name, own in unit.items()}


def _common(units: Iterable[Unit]) -> Unit:
    given = list(units)
    if not given:
        return PURE
    return given[0] if all(unit == given[0] for unit in given) else None


def _written(unit: Mapping[str, Fraction]) -> str:
    above = [_factor(name, exponent) for name, exponent in sorted(unit.items()) if exponent > 0]
    below = [_factor(name, -exponent) for name, exponent in sorted(unit.items()) if exponent < 0]
    if not below:
        return "·".join(above)
    denominator = below[0] if len(below) == 1 else f"({'·'.join(below)})"
    return f"{'·'.join(above) or '1'}/{denominator}"


def _factor(name: str, exponent: Fraction) -> str:
    plain = name if exponent == 1 or not any(sign in name for sign in "/·*^ ²³") else f"({name})"
    if exponent.denominator > 1:
        return f"{plain}^({exponent})"
    return plain if exponent == 1 else f"{plain}{str(exponent).translate(SUPERSCRIPTS)}"
