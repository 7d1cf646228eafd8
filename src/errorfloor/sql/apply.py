"""Functions of formulas, in decimals of fixed length: the same digits on every machine.

Guarantee: the result differs from the function's value by at most ``APPLY_ERROR`` times that value.
"""

import decimal
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

DIGITS = 50
GUARD = 15  # more digits for what is in between: arguments of exp up to 10¹² cost twelve of them
APPLY_ERROR = 1e-48


def apply(function: str, parameters: tuple[Fraction, ...], value: Fraction) -> Fraction | None:
    """Give a function of an exact number; None outside its domain, as SQL gives NULL.

    >>> float(apply("sqrt", (), Fraction(1, 4)))
    0.5
    >>> apply("ln", (), Fraction(0)) is None
    True
    """
    match function, parameters:
        case "greatest", (other,):
            return max(value, other)
        case "least", (other,):
            return min(value, other)
        case (("exp" | "ln" | "sqrt" | "tanh"), ()):
            return FUNCTIONS[function](value)
    raise ValueError(f"no function of a formula is called {function} with {len(parameters)} numbers")


def _exp(value: Fraction) -> Fraction | None:
    context = _context(DIGITS + GUARD)
    return _shortened(context.exp(_decimal(value, context)))


def _ln(value: Fraction) -> Fraction | None:
    if value <= 0:
        return None
    if value == 1:
        return Fraction(0)
    context = _context(DIGITS + GUARD + max(0, _magnitude(1 / abs(value - 1))))  # ln x is about x − 1 near one
    return _shortened(context.ln(_decimal(value, context)))


def _sqrt(value: Fraction) -> Fraction | None:
    if value < 0:
        return None
    context = _context(DIGITS + GUARD)
    return _shortened(context.sqrt(_decimal(value, context)))


def _tanh(value: Fraction) -> Fraction | None:
    """Give 1 − 2/(e²ˣ + 1); near zero, where it cancels, with as many more digits as x has leading zeros."""
    if value == 0:
        return Fraction(0)
    if abs(value) >= 100:  # 1 − tanh 100 < 10⁻⁸⁶
        return Fraction(1 if value > 0 else -1)
    zeros = max(0, _magnitude(1 / abs(value)))
    if zeros > DIGITS:  # x³/3 is below x·10⁻¹⁰⁰
        return value
    context = _context(DIGITS + GUARD + zeros)
    double = context.exp(_decimal(2 * value, context))
    return _shortened(context.divide(context.subtract(double, Decimal(1)), context.add(double, Decimal(1))))


FUNCTIONS: dict[str, Callable[[Fraction], Fraction | None]] = {"exp": _exp, "ln": _ln, "sqrt": _sqrt, "tanh": _tanh}


def _context(digits: int) -> decimal.Context:
    return decimal.Context(
        prec=digits,
        rounding=decimal.ROUND_HALF_EVEN,
        Emin=-100_000,
        Emax=100_000,
        traps=[decimal.InvalidOperation, decimal.DivisionByZero, decimal.Overflow],
    )


def _decimal(value: Fraction, context: decimal.Context) -> Decimal:
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _magnitude(value: Fraction) -> int:
    """Bound the number of digits before the point."""
    return (value.numerator.bit_length() - value.denominator.bit_length() + 1) * 3 // 10 + 1


def _shortened(value: Decimal) -> Fraction:
    return Fraction(_context(DIGITS).plus(value))
