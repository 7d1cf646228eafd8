"""A server that works with as many digits as the private number needs, and stops early where it can."""

import decimal
import re
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction

import pyarrow as pa

from errorfloor.attacks import World
from errorfloor.noise import RaisedCosine
from errorfloor.random import ReproducibleBits

DIGITS = 65
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e[+-]?\d+)?")


def _exp(value):
    context = _context(DIGITS)
    return Fraction(context.exp(_decimal(value, context)))


def _ln(value):
    if value == 1:
        return Fraction(0)
    zeros = _zeros(value - 1)
    context = _context(DIGITS + zeros)
    if zeros > DIGITS:  # ln x is x − 1 there, and the real thing takes a second
        return Fraction(context.subtract(_decimal(value, context), Decimal(1)))
    return Fraction(context.ln(_decimal(value, context)))


def _tanh(value):
    if value == 0 or abs(value) >= 100:
        return Fraction(0 if value == 0 else 1 if value > 0 else -1)
    context = _context(DIGITS + _zeros(value))
    double = context.exp(_decimal(2 * value, context))
    return Fraction(context.divide(context.subtract(double, Decimal(1)), context.add(double, Decimal(1))))


def _sqrt(value):
    context = _context(DIGITS)
    return Fraction(context.sqrt(_decimal(value, context)))


def _context(digits):
    return decimal.Context(prec=digits, Emin=-(10**6), Emax=10**6)


def _decimal(value, context):
    return context.divide(Decimal(value.numerator), Decimal(value.denominator))


def _zeros(value):
    return max(0, value.denominator.bit_length() - abs(value.numerator).bit_length()) * 3 // 10 + 1


def _same(value):
    return value


FUNCTIONS = {
    "exp": _exp,
    "ln": _ln,
    "tanh": _tanh,
    "sqrt": _sqrt,
    "power": lambda base, exponent: base ** int(exponent),
    "greatest": max,
    "least": min,
    "sum": _same,
    "avg": _same,
    "var_pop": lambda value: Fraction(0),
}


class LongDecimals:
    """Answers formulas of one number, exactly but for functions, with the noise that follows from a seed."""

    def __init__(self, secret, value, seed):
        self._column, self._value, self._seed = secret.column, Fraction(str(value)), seed

    def ask(self, sql, **wish):
        formula = NUMBER.sub(lambda found: f"Fraction('{found[0]}')", re.match("SELECT (.*) AS answer", sql)[1])
        value = eval(formula, {"Fraction": Fraction, self._column: self._value, **FUNCTIONS})
        noise = RaisedCosine(-1.0, 1.0).sample(1, rng=ReproducibleBits(self._seed))[0]
        return pa.table({"answer": [float(value + Fraction(float(noise)))]})


class LongDecimalsWorld(World):
    """Such servers, with either value."""

    def __init__(self, *given):
        super().__init__(*given)
        self._asked = 0
        self.shadows = (lambda: (self._opened(0), self.secret)), (lambda: (self._opened(1), self.secret))

    @contextmanager
    def server(self, coin, **given):
        yield self._opened(coin)

    def _opened(self, coin):
        self._asked += 1
        return LongDecimals(self.secret, self.secret.values[coin], self._asked)
