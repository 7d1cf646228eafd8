"""What a plan means, written a second time: rows are Python values, numbers exact fractions, functions mpmath's."""

import re
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import floor

import mpmath

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql import plan

Row = dict[tuple[int, str], object]  # (place, column) → value; numbers as values, not as stored integers

FUNCTIONS = {
    "exp": mpmath.exp,
    "ln": mpmath.log,
    "sqrt": mpmath.sqrt,
    "sin": mpmath.sin,
    "cos": mpmath.cos,
    "tanh": mpmath.tanh,
    "power": lambda x, p: mpmath.power(x, p),
    "reciprocal": lambda x: 1 / x,
    "greatest": lambda x, c: max(x, c),
    "least": lambda x, c: min(x, c),
    "above": lambda x, t, w: smoothstep(min(max((x - t) / w + 0.5, 0), 1)),
}


def smoothstep(s):
    return s * s * (3 - 2 * s)


def real(value):
    """Give a fraction to the working precision of mpmath."""
    return mpmath.mpf(value.numerator) / value.denominator if isinstance(value, Fraction | int) else value


def number(polynomial: Polynomial, row: Row):
    """The polynomial on a row: a Fraction, an mpf where a call occurs, None where a column is NULL."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms:
        term = coefficient
        for atom, power in monomial:
            value = atom_value(atom, row)
            if value is None:
                return None
            term = real(term) * value**power if isinstance(value, mpmath.mpf) else term * value**power
        total = real(total) + real(term) if isinstance(term, mpmath.mpf) else total + term
    return total


def atom_value(atom, row: Row):
    match atom:
        case plan.TableColumn():
            return row[atom.place, atom.name]
        case plan.Indicator():
            return Fraction(int(truth(atom.of, row) is True))
        case plan.RoundedDown():
            inner = number(atom.of, row)
            return None if inner is None else Fraction(floor(inner))
        case plan.DatePart():
            day = scalar(atom.of, row)
            return None if day is None else Fraction(date_part(atom.part, day))
        case plan.Call():
            inner = number(atom.argument, row)
            return FUNCTIONS[atom.function](real(inner), *map(real, atom.parameters))


def date_part(part: str, day) -> int:
    parts = {
        "quarter": (day.month + 2) // 3,
        "week": day.isocalendar()[1],
        "dayofyear": day.timetuple().tm_yday,
        "isodow": day.isoweekday(),
    }
    return parts[part] if part in parts else getattr(day, part)


def truncated(unit: str, day):
    if unit == "hour":
        return day.replace(minute=0, second=0, microsecond=0)
    if isinstance(day, datetime):
        day = day.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "year":
            return day.replace(month=1, day=1)
        case "quarter":
            return day.replace(month=day.month - (day.month - 1) % 3, day=1)
        case "month":
            return day.replace(day=1)
        case "week":
            return day - timedelta(days=day.weekday())
    return day


def scalar(value, row: Row):
    match value:
        case Polynomial():
            return number(value, row)
        case plan.TableColumn():
            return row[value.place, value.name]
        case plan.Literal():
            return value.value
        case plan.Truncated():
            inner = scalar(value.of, row)
            return None if inner is None else truncated(value.unit, inner)
        case plan.AsDate():
            inner = scalar(value.of, row)
            return None if inner is None else date(inner.year, inner.month, inner.day)
        case plan.Choice():
            for condition, then in value.branches:
                if truth(condition, row) is True:
                    return scalar(then, row)
            return None if value.otherwise is None else scalar(value.otherwise, row)


def truth(condition, row: Row):
    """True, False or None (unknown)."""
    match condition:
        case plan.Always():
            return True
        case plan.And():
            parts = [truth(part, row) for part in condition.parts]
            return False if False in parts else None if None in parts else True
        case plan.Or():
            parts = [truth(part, row) for part in condition.parts]
            return True if True in parts else None if None in parts else False
        case plan.Not():
            inner = truth(condition.part, row)
            return None if inner is None else not inner
        case plan.Missing():
            return scalar(condition.value, row) is None
        case plan.Matches():
            text = scalar(condition.value, row)
            pattern = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in condition.pattern)
            return None if text is None else re.fullmatch(pattern, text, re.DOTALL) is not None
        case plan.Among():
            left = scalar(condition.value, row)
            return None if left is None else any(left == scalar(choice, row) for choice in condition.choices)
        case plan.Compare():
            left, right = scalar(condition.left, row), scalar(condition.right, row)
            if left is None or right is None:
                return None
            if isinstance(left, str):
                left, right = left.encode(), right.encode()
            return {
                "=": left == right,
                "<>": left != right,
                "<": left < right,
                "<=": left <= right,
            }[condition.operator]


def formula_value(formula, rows: list[Row]):
    """The formula over the rows of a group; None where SQL gives NULL."""

    def counted(where):
        return [row for row in rows if truth(where, row) is True]

    match formula:
        case plan.Constant():
            return formula.value
        case plan.Count():
            return Fraction(len(counted(formula.where)))
        case plan.Sum():
            kept = counted(formula.where)
            return sum((number(formula.of, row) for row in kept), start=Fraction(0)) if kept else None
        case plan.Covariance():
            pairs = [(number(formula.first, row), number(formula.second, row)) for row in counted(formula.where)]
            if len(pairs) < 1 + formula.sample:
                return None
            centre = [sum(side) / len(pairs) for side in zip(*pairs, strict=True)]
            total = sum((one - centre[0]) * (two - centre[1]) for one, two in pairs)
            return total / (len(pairs) - formula.sample)
        case plan.WeightedMean():
            pairs = [(number(formula.value, row), number(formula.weight, row)) for row in counted(formula.where)]
            weight = sum(weight for _, weight in pairs)
            return sum(value * weight for value, weight in pairs) / weight if weight else None
    parts = {
        plan.Plus: lambda: list(formula.parts),
        plan.Times: lambda: list(formula.parts),
        plan.Quotient: lambda: [formula.numerator, formula.denominator],
        plan.Power: lambda: [formula.base],
        plan.Apply: lambda: [formula.argument],
    }[type(formula)]()
    values = [formula_value(part, rows) for part in parts]
    if None in values:
        return None
    match formula:
        case plan.Plus():
            return sum(values)
        case plan.Times():
            product = values[0]
            for value in values[1:]:
                product *= value
            return product
        case plan.Quotient():
            return values[0] / values[1] if values[1] else None
        case plan.Power():
            return values[0] ** formula.exponent
        case plan.Apply():
            return FUNCTIONS[formula.function](real(values[0]), *map(real, formula.parameters))
