"""Interval arithmetic on arrays, rounded outwards.

+ − × ÷ and √ of doubles are rounded correctly, so that the next double beyond a rounded end is beyond the true one. An
infinite end means "no bound is known": 0 times it is 0, because what it stands for is finite.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.arithmetic.double_words import by_squaring, two_sum
from errorfloor.arithmetic.double_words import quiet as quiet
from errorfloor.checks import Array

EXACT_INTEGER = 2**53  # every integer up to it is a double


@dataclass(frozen=True, eq=False)
class Enclosure:
    """Ends of intervals, as arrays that are broadcast against each other.

    *Guarantee*: the result of an operation contains the results for all numbers in its operands.

    >>> both = Enclosure.of(1.0, 2.0) * Enclosure.of(-3.0, 4.0)
    >>> float(both.low) < -6.0 < 8.0 < float(both.high)
    True
    """

    low: Array
    high: Array

    @classmethod
    def of(cls, low: Any, high: Any) -> "Enclosure":
        """Give the interval with these ends."""
        return cls(np.asarray(low, dtype=float), np.asarray(high, dtype=float))

    @classmethod
    def exact(cls, value: Fraction | int) -> "Enclosure":
        """Give the narrowest interval of doubles around a rational number."""
        return cls.around([value]).reshape(())

    @classmethod
    def around(cls, values: Sequence[Fraction | int]) -> "Enclosure":
        """Give the narrowest intervals of doubles around rational numbers."""
        nearest = [_nearest(value) for value in values]
        low = [_below(double, value) for double, value in zip(nearest, values, strict=True)]
        high = [-_below(-double, -value) for double, value in zip(nearest, values, strict=True)]
        return cls.of(low, high)

    @property
    def magnitude(self) -> Array:
        """The largest absolute value."""
        return np.maximum(np.abs(self.low), np.abs(self.high))

    @property
    def has_zero(self) -> Array:
        """Whether 0 is inside."""
        return (self.low <= 0) & (self.high >= 0)

    @property
    def width(self) -> Array:
        """The width, rounded up."""
        return (self - self).high

    @property
    def middle(self) -> "Enclosure":
        """A point inside; it need not be the exact middle."""
        point = np.clip(self.low / 2 + self.high / 2, self.low, self.high)
        return Enclosure(point, point)

    def __getitem__(self, index: Any) -> "Enclosure":
        return Enclosure(self.low[index], self.high[index])

    def reshape(self, *shape: Any) -> "Enclosure":
        """Give both ends another shape."""
        return Enclosure(self.low.reshape(*shape), self.high.reshape(*shape))

    def broadcast(self, shape: tuple[int, ...]) -> "Enclosure":
        """Repeat both ends to a shape."""
        return Enclosure(np.broadcast_to(self.low, shape), np.broadcast_to(self.high, shape))

    def __neg__(self) -> "Enclosure":
        return Enclosure(-self.high, -self.low)

    @quiet
    def __add__(self, other: "Enclosure") -> "Enclosure":
        return Enclosure(sum_down(self.low, other.low), -sum_down(-self.high, -other.high))

    def __sub__(self, other: "Enclosure") -> "Enclosure":
        return self + -other

    @quiet
    def __mul__(self, other: "Enclosure") -> "Enclosure":
        products = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        nothing = ((self.low == 0) & (self.high == 0)) | ((other.low == 0) & (other.high == 0))
        return _outwards(products, self, other, nothing)

    @quiet
    def __truediv__(self, other: "Enclosure") -> "Enclosure":
        """Divide by an interval without 0; nothing is known of the quotient where 0 is inside."""
        quotients = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        result = _outwards(quotients, self, other, (self.low == 0) & (self.high == 0))
        unknown = other.has_zero
        return Enclosure(np.where(unknown, -np.inf, result.low), np.where(unknown, np.inf, result.high))

    def __pow__(self, exponent: int) -> "Enclosure":
        """Give a whole power of at least 0; even powers know their sign."""
        if exponent == 0:
            return Enclosure.of(np.ones_like(self.low), np.ones_like(self.low))
        least = np.where(self.has_zero, 0.0, np.minimum(np.abs(self.low), np.abs(self.high)))
        if exponent % 2 == 0:
            return Enclosure(_power(least, exponent).low, _power(self.magnitude, exponent).high)
        low, high = _power(np.abs(self.low), exponent), _power(np.abs(self.high), exponent)
        return Enclosure(
            np.where(self.low < 0, -low.high, low.low),
            np.where(self.high < 0, -high.low, high.high),
        )

    def meet(self, other: "Enclosure") -> "Enclosure":
        """Give what is common to two enclosures of the same numbers."""
        return Enclosure(np.maximum(self.low, other.low), np.minimum(self.high, other.high))

    def widened(self, by: Array | float) -> "Enclosure":
        """Move both ends outwards by a number of at least 0."""
        return self + Enclosure(-np.asarray(by, dtype=float), np.asarray(by, dtype=float))

    def where(self, condition: Array, other: "Enclosure") -> "Enclosure":
        """Keep the ends where a condition holds, and take the other's elsewhere."""
        return Enclosure(np.where(condition, self.low, other.low), np.where(condition, self.high, other.high))

    def over_last_axis(self) -> "Enclosure":
        """Give the hull along the last axis."""
        return Enclosure(self.low.min(axis=-1), self.high.max(axis=-1))


ZERO = Enclosure.of(0.0, 0.0)
UNIT = Enclosure.of(1.0, 1.0)


def sum_down(a: Array, b: Array) -> Array:
    """Give a + b rounded down: the rounded sum, or the double below it where the rounding went up."""
    total, error = two_sum(a, b)
    result = np.where(error >= 0, total, np.nextafter(total, -np.inf))
    return np.where(np.isnan(total), -np.inf, result)


@quiet
def up(value: Any) -> Array:
    """Give the next double above; for a rounded result of + − × ÷ √ it is not below the true one."""
    return np.asarray(np.nextafter(value, np.inf))


@quiet
def down(value: Any) -> Array:
    """Give the next double below."""
    return np.asarray(np.nextafter(value, -np.inf))


@quiet
def grouped_sum(value: Enclosure, group: Array, groups: int) -> Enclosure:
    """Give the sum of the intervals of each group.

    Doubles are added one after another, in the order given: k of them are off by at most (k − 1)·2^-53·Σ|x| to first
    order, and k·2^-52·Σ|x| covers the rest. A group of one is exact.
    """
    count = np.bincount(group, minlength=groups)
    ends = []
    for end, sign in ((value.low, -1.0), (value.high, 1.0)):
        total = np.bincount(group, weights=end, minlength=groups)
        slack = count * 2.0**-52 * np.bincount(group, weights=np.abs(end), minlength=groups)
        ends.append(np.where((count <= 1) | (slack == 0), total, np.nextafter(total + sign * slack, sign * np.inf)))
    low, high = (np.where(np.isnan(end), sign * np.inf, end) for end, sign in zip(ends, (-1.0, 1.0), strict=True))
    return Enclosure(low, high)


def grouped_hull(value: Enclosure, group: Array, groups: int) -> Enclosure:
    """Give the hull of the intervals of each group; 1 … 1 for a group without any."""
    low, high = np.full(groups, np.inf), np.full(groups, -np.inf)
    np.minimum.at(low, group, value.low)
    np.maximum.at(high, group, value.high)
    return Enclosure(np.where(low > high, 1.0, low), np.where(low > high, 1.0, high))


def largest_at(place: Array, values: Array, count: int) -> Array:
    """Give the largest value at each place, 0 where there is none.

    >>> largest_at(np.array([0, 2, 2]), np.array([1.0, 3.0, 2.0]), 3).tolist()
    [1.0, 0.0, 3.0]
    """
    worst = np.zeros(count)
    np.maximum.at(worst, place, values)
    return worst


def _outwards(results: list[Array], one: Enclosure, two: Enclosure, nothing: Array) -> Enclosure:
    """Give the hull of rounded products or quotients, one double wider; where signs are known they are kept."""
    filled = [np.where(np.isnan(result), 0.0, result) for result in results]  # 0·∞
    low = np.nextafter(np.minimum(np.minimum(filled[0], filled[1]), np.minimum(filled[2], filled[3])), -np.inf)
    high = np.nextafter(np.maximum(np.maximum(filled[0], filled[1]), np.maximum(filled[2], filled[3])), np.inf)
    positive = ((one.low >= 0) & (two.low >= 0)) | ((one.high <= 0) & (two.high <= 0))
    negative = ((one.low >= 0) & (two.high <= 0)) | ((one.high <= 0) & (two.low >= 0))
    low = np.where(positive, np.maximum(low, 0.0), low)
    high = np.where(negative, np.minimum(high, 0.0), high)
    unknown = np.isnan(one.low + one.high + two.low + two.high)  # also where both ends are infinite
    low, high = np.where(nothing, 0.0, low), np.where(nothing, 0.0, high)
    return Enclosure(np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high))


def _power(base: Array, exponent: int) -> Enclosure:
    """Give a power of numbers of at least 0."""
    power: Enclosure = by_squaring(Enclosure(base, base), exponent)
    return power


def _nearest(value: Fraction | int) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _below(double: float, value: Fraction | int) -> float:
    """Give the double or its neighbour below, whichever is not above the value."""
    if isinstance(value, int) and -EXACT_INTEGER <= value <= EXACT_INTEGER:
        return double
    if double == -np.inf or (double != np.inf and Fraction(double) <= value):
        return double
    return float(np.nextafter(double, -np.inf))


@quiet
def integer_intervals(integers: Array, denominator: int) -> Enclosure:
    """Enclose integers over a denominator in doubles.

    >>> around = integer_intervals(np.array([1, 3]), 3)
    >>> bool(around.low[0] < 1 / 3 < around.high[0])
    True
    """
    nearest = integers.astype(float)
    exact = np.abs(nearest) < EXACT_INTEGER
    around = Enclosure(
        np.where(exact, nearest, np.nextafter(nearest, -np.inf)),
        np.where(exact, nearest, np.nextafter(nearest, np.inf)),
    )
    return around if denominator == 1 else around / Enclosure.exact(denominator)
