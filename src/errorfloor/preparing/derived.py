"""Averages, ratios, variances and what else follows from parts that are released: the walk over a formula of them.

Arithmetic on what anybody may know, so it costs nothing beyond the parts. *Guarantee* (``derived.proof.md``): if it has
a value for the rows that count, that lies between the two ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import Enclosure, quiet
from errorfloor.sql import plan
from errorfloor.sql.question import Derived, combined
from errorfloor.sql.record_ranges import Domains, value_range
from errorfloor.sql.records import with_presence

NOT_NEGATIVE = Enclosure.of(0.0, np.inf)
NEAR = 1e-4  # of a part: where slopes are taken


@dataclass(frozen=True, eq=False)
class Bounded:
    """A number for each group, and where the truth certainly is."""

    number: Array
    around: Enclosure

    def __add__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number + other.number, self.around + other.around)

    def __mul__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number * other.number, self.around * other.around)

    def __truediv__(self, other: "Bounded") -> "Bounded":
        return Bounded(self.number / other.number, self.around / other.around)

    def __pow__(self, exponent: int) -> "Bounded":
        return Bounded(self.number**exponent, self.around**exponent)


def derived_from(parts: Mapping[plan.Formula, Bounded], derived: Derived, domains: Domains) -> Bounded:
    """Give what is derived from its parts."""
    return _Walk(parts, domains).of(derived.formula)


@quiet
def enclosed(derived: Derived, parts: Mapping[plan.Formula, Enclosure], domains: Domains) -> Enclosure:
    """Enclose what is derived, for all values of its parts in intervals; endless where nothing bounds it."""
    known = {part: Bounded((ends.low + ends.high) / 2, ends) for part, ends in parts.items()}
    return derived_from(known, derived, domains).around


@quiet
def scales(
    derived: Derived, parts: Mapping[plan.Formula, tuple[float, bool]], domains: Domains
) -> dict[plan.Formula, float]:
    """Say by how much what is derived is farther off than each of its parts, all of them together.

    That is where every part is as far from 0 as it can be, a number that is given with whether the part is private. It
    follows from public facts, and is rounded up to three digits, by which bounds are divided.
    """

    def at(values: Mapping[plan.Formula, float]) -> float:
        known = {part: Bounded(np.array(value), Enclosure.of(value, value)) for part, value in values.items()}
        return float(derived_from(known, derived, domains).number)

    values = {part: value for part, (value, _) in parts.items()}
    noisy = [part for part, (_, is_noisy) in parts.items() if is_noisy]
    found = {}
    for part in noisy:
        by = abs(values[part]) * NEAR
        rise = at({**values, part: values[part] + by}) - at({**values, part: values[part] - by})
        scale = len(noisy) * abs(rise / (2 * by)) if by else 0.0  # a part that is 0 everywhere has no noise
        found[part] = float(rounded_up(scale)) if 0 < scale < np.inf else 1.0
    return found


@dataclass(frozen=True)
class _Walk:
    """A walk over a formula, from what was released."""

    parts: Mapping[plan.Formula, Bounded]
    domains: Domains

    def of(self, formula: plan.Formula) -> Bounded:
        if formula in self.parts:
            return self.parts[formula]
        match formula:
            case plan.Constant(value=value):
                return Bounded(np.array(float(value)), Enclosure.exact(value))
            case plan.Count() | plan.Sum():
                return self.parts[with_presence(formula)]
            case plan.Covariance(first=first, second=second, where=where, sample=sample):
                return self._covariance(first, second, where, sample=sample)
            case plan.Quotient(plan.Sum(of, where), plan.Count(counted)) if where == counted:
                return self._mean(of, where)
            case plan.Quotient(plan.Covariance() as one, plan.Apply("sqrt", argument=plan.Times()) as two):
                return _within(self._quotient(one, two), Enclosure.of(-1.0, 1.0))  # a correlation
            case plan.WeightedMean(value=value, weight=weight, where=where):
                return self._quotient(plan.Sum(value * weight, where), plan.Sum(weight, where))
        found: Bounded = combined(formula, self.of, self._applied)
        return found

    def _quotient(self, numerator: plan.Formula, denominator: plan.Formula) -> Bounded:
        return self.of(numerator) / self.of(denominator)

    def _mean(self, of: Polynomial, where: plan.Condition) -> Bounded:
        """A mean lies in the range of what is averaged, if there are rows at all."""
        return _within(self._quotient(plan.Sum(of, where), plan.Count(where)), _range(of, self.domains))

    def _covariance(self, first: Polynomial, second: Polynomial, where: plan.Condition, *, sample: bool) -> Bounded:
        one, two, both = (self._mean(of, where) for of in (first, second, first * second))
        product = one.around**2 if first == second else one.around * two.around
        found = Bounded(both.number - one.number * two.number, both.around - product)
        halves = [(high - low) / 2 for low, high in (value_range(of, self.domains) for of in (first, second))]
        most = Enclosure.exact(halves[0] * halves[1])  # both ends are reached by half of the rows each
        found = _within(found, Enclosure(np.zeros(()) if first == second else -most.high, most.high))
        if not sample:
            return found
        count = self.of(plan.Count(where))
        fewer = Bounded(count.number - 1, count.around - Enclosure.exact(1))
        return Bounded(found.number * count.number / fewer.number, found.around * (count.around / fewer.around))

    def _applied(self, name: str, parameters: tuple[Fraction, ...], inner: Bounded) -> Bounded:
        function = FUNCTIONS[name]
        argument = inner.around.meet(NOT_NEGATIVE) if name == "sqrt" else inner.around
        value = function.value(argument, parameters)
        point = function.value(Enclosure(inner.number, inner.number), parameters)
        return Bounded((point.low + point.high) / 2, value)


def _within(found: Bounded, most: Enclosure) -> Bounded:
    return Bounded(found.number, found.around.meet(most))


def _range(of: Polynomial, domains: Domains) -> Enclosure:
    ends = Enclosure.around(value_range(of, domains))
    return Enclosure(ends.low[0], ends.high[1])
