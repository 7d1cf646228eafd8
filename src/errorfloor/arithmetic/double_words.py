"""Double-word arithmetic: numbers as unevaluated sums of two doubles, whole arrays at a time.

Every operation is a fixed sequence of sums, products, quotients and square roots of doubles. So its cost depends on the
length of the arrays and on nothing else, and its result is the same, bit for bit, on every machine.

Where public facts show a number to be a double, or one of few digits, steps that could only add zero are left out.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

from errorfloor.checks import Array

ROUNDING = 2.0**-100  # relative: more than any operation here is off by, double_words.proof.md
LARGEST = 2.0**900  # of an operand and of a result in absolute value
LEAST = 2.0**-900  # of a divisor and of what a square root or a logarithm is taken of
UNDERFLOW = 2.0**-1000  # absolute: more than what is lost below the least double
SPLITTER = 2.0**27 + 1
NOTHING: Array = np.zeros(())  # the lower word of numbers that are doubles by public facts; known by its identity
SHORT = 2.0**26  # whole numbers up to this one are their own upper half
Halves = tuple[Array, Array]
P = ParamSpec("P")
R = TypeVar("R")


def quiet(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function meet infinities, 0·∞ and cells without a value unwarned: it takes care of them itself."""

    @wraps(function)
    def quietly(*args: P.args, **keywords: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            return function(*args, **keywords)

    return quietly


@dataclass(frozen=True, eq=False)
class DoubleWord:
    """Numbers high + low, |low| at most half a unit in the last place of high.

    ``low`` is ``NOTHING`` where public facts show that it is 0 everywhere, and ``short`` says that they show ``high``
    to have 26 digits at most.

    *Guarantee*: a result differs from the exact one for the same operands by at most ``ROUNDING`` of it plus
    ``UNDERFLOW`` (of a quotient, ``UNDERFLOW`` over the divisor), while operands and results stay within ``LARGEST``
    and divisors beyond ``LEAST``; ``double_words.proof.md``.

    >>> third = DoubleWord.of(Fraction(1, 3))
    >>> abs(third.exact(()) * 3 - 1) < Fraction(1, 2**100)
    True
    """

    high: Array
    low: Array
    short: bool = False
    _halves: list[Halves] = field(default_factory=list, repr=False)  # once they were needed

    @classmethod
    def of(cls, value: Fraction | int) -> "DoubleWord":
        """Give the double word nearest to a rational number, about."""
        high = float(value)
        low = float(value - Fraction(high))
        upper = np.asarray(high)
        return cls(upper, np.asarray(low) if low else NOTHING, bool(halves_of(upper)[1] == 0.0))

    @classmethod
    def whole(cls, values: Array, most: int) -> "DoubleWord":
        """Give whole numbers; public facts bound them by ``most``, which is at most 2⁵³.

        >>> DoubleWord.whole(np.array([7]), most=10).short
        True
        """
        return cls(values.astype(float), NOTHING, most <= SHORT)

    @classmethod
    @quiet
    def of_words(cls, upper: Array, lower: Array) -> "DoubleWord":
        """Give whole numbers of 128 bits: upper·2⁶⁴ + lower, ``upper`` int64 and ``lower`` uint64.

        >>> DoubleWord.of_words(np.array([-1]), np.array([2**64 - 3], dtype=np.uint64)).exact(0)
        Fraction(-3, 1)
        """
        half = np.uint64(32)
        parts = [
            (upper >> 32).astype(float) * 2.0**96,
            (upper & 0xFFFFFFFF).astype(float) * 2.0**64,
            (lower >> half).astype(float) * 2.0**32,
            (lower & np.uint64(0xFFFFFFFF)).astype(float),
        ]
        total = cls(*two_sum(parts[0], parts[1]))
        for part in parts[2:]:
            total = total + cls(part, NOTHING)
        return total

    @property
    def halves(self) -> Halves:
        """The upper word in two parts of at most 26 digits each."""
        if not self._halves:
            self._halves.append((self.high, NOTHING) if self.short else halves_of(self.high))
        return self._halves[0]

    def exact(self, place: int | tuple[()]) -> Fraction:
        """Give one of the numbers as a fraction."""
        low = np.broadcast_to(self.low, self.high.shape)
        return Fraction(float(self.high[place])) + Fraction(float(low[place]))

    @quiet
    def __add__(self, other: "DoubleWord") -> "DoubleWord":
        high, rest = two_sum(self.high, other.high)
        if self.low is NOTHING and other.low is NOTHING:
            return DoubleWord(high, rest)
        if self.low is NOTHING or other.low is NOTHING:
            low = other.low if self.low is NOTHING else self.low
            return DoubleWord(*fast_two_sum(high, rest + low))
        low, last = two_sum(self.low, other.low)
        high, rest = fast_two_sum(high, rest + low)
        return DoubleWord(*fast_two_sum(high, last + rest))

    def __neg__(self) -> "DoubleWord":
        return DoubleWord(-self.high, self.low if self.low is NOTHING else -self.low, self.short)

    def __sub__(self, other: "DoubleWord") -> "DoubleWord":
        return self + -other

    @quiet
    def __mul__(self, other: "DoubleWord") -> "DoubleWord":
        high, rest = product_of(self.high, self.halves, other.high, other.halves)
        if self.low is NOTHING and other.low is NOTHING:
            return DoubleWord(high, rest)
        if self.low is NOTHING or other.low is NOTHING:
            cross = self.high * other.low if self.low is NOTHING else self.low * other.high
        else:
            cross = self.high * other.low + self.low * other.high
        return DoubleWord(*fast_two_sum(high, rest + cross))

    @quiet
    def __truediv__(self, other: "DoubleWord") -> "DoubleWord":
        high = self.high / other.high
        upper, lower = product_of(other.high, other.halves, high, halves_of(high))
        if other.low is not NOTHING:
            upper, part = fast_two_sum(upper, other.low * high)
            upper, lower = fast_two_sum(upper, part + lower)
        missing = (self.high - upper) - lower if self.low is NOTHING else (self.high - upper) + (self.low - lower)
        return DoubleWord(*fast_two_sum(high, missing / other.high))

    def __pow__(self, exponent: int) -> "DoubleWord":
        """Give a whole power of at least 1, by squaring."""
        power: DoubleWord = by_squaring(self, exponent)
        return power

    @quiet
    def root(self) -> "DoubleWord":
        """Give the square root of positive numbers, by one step of Newton's from that of the upper word."""
        high = np.sqrt(self.high)
        square, rest = two_product(high, high)
        missing = ((self.high - square) - rest) + self.low
        return DoubleWord(*fast_two_sum(high, missing / (2 * high)))

    def scaled(self, exponent: Array | int) -> "DoubleWord":
        """Give the numbers times a power of two: exact, unless it is below the least double."""
        low = self.low if self.low is NOTHING else np.ldexp(self.low, exponent)
        return DoubleWord(np.ldexp(self.high, exponent), low)

    def at_least(self, other: "DoubleWord") -> "DoubleWord":
        """Give the larger of two numbers, without a branch."""
        return self._where((self.high > other.high) | ((self.high == other.high) & (self.low >= other.low)), other)

    def at_most(self, other: "DoubleWord") -> "DoubleWord":
        """Give the smaller of two numbers, without a branch."""
        return self._where((self.high < other.high) | ((self.high == other.high) & (self.low <= other.low)), other)

    def _where(self, condition: Array, other: "DoubleWord") -> "DoubleWord":
        return DoubleWord(np.where(condition, self.high, other.high), np.where(condition, self.low, other.low))

    @quiet
    def nearest_whole(self) -> Array:
        """Give the nearest whole numbers, of absolute value below 2⁶²; one of two that are equally near."""
        whole = np.rint(self.high)
        return np.asarray(whole.astype(np.int64) + np.rint((self.high - whole) + self.low).astype(np.int64))


def by_squaring(base: Any, exponent: int) -> Any:
    """Give a whole power of at least 1 of whatever can be multiplied.

    >>> by_squaring(3, 5)
    243
    """
    square, result = base, None
    while exponent:
        if exponent % 2:
            result = square if result is None else result * square
        exponent //= 2
        if exponent:
            square = square * square
    return result


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Give a + b rounded, and what the rounding left out, exactly.

    >>> two_sum(1.0, 2.0**-60) == (1.0, 2.0**-60)
    True
    """
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def fast_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Give the same where |a| ≥ |b|, or a is 0."""
    total = a + b
    return total, b - (total - a)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Give a·b rounded, and what the rounding left out, exactly but for underflow."""
    return product_of(a, halves_of(a), b, halves_of(b))


def product_of(a: Array, of_a: Halves, b: Array, of_b: Halves) -> tuple[Array, Array]:
    """Give the same from numbers and their halves; a lower one may be ``NOTHING``."""
    product = a * b
    rest = of_a[0] * of_b[0] - product
    for one, two in ((of_a[0], of_b[1]), (of_a[1], of_b[0]), (of_a[1], of_b[1])):
        if one is not NOTHING and two is not NOTHING:
            rest = rest + one * two
    return product, rest


def halves_of(a: Array) -> tuple[Array, Array]:
    """Split doubles into two of at most 26 digits each."""
    large = SPLITTER * a
    upper = large - (large - a)
    return upper, a - upper
