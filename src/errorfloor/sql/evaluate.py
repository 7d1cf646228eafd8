"""From exact integer sums to the values of formulas: all groups at once, in steps that follow from the formula alone.

What is computed here is private until noise is added. So nothing branches on it, no precision follows it, and no step
is left out for it: the cost of an answer is a function of the formula and of the number of groups.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, reduce
from operator import add

from errorfloor.arithmetic.double_functions import applied
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.arithmetic.polynomial import ONE, Monomial, Polynomial
from errorfloor.sql import plan
from errorfloor.sql.layout import Layout, scaled
from errorfloor.sql.question import aggregates, combined

Wanted = tuple[Monomial, plan.Condition]
Sums = Mapping[Wanted, DoubleWord]
ROWS: Wanted = (ONE, plan.Always())  # every row of a group: how many there are is a public fact


def needed(formula: plan.Formula) -> list[Wanted]:
    """Give the sums that a formula is computed from: monomials with the condition that a row must meet to count.

    Each is named once. A count is the sum of the monomial ONE.

    >>> needed(plan.Count(plan.Always())) == [(ONE, plan.Always())]
    True
    """
    return list(dict.fromkeys(one for aggregate in aggregates(formula) for one in _needed(aggregate)))


def evaluate(formulas: Sequence[plan.Formula], sums: Sums, layout: Layout) -> list[DoubleWord]:
    """Give the values of formulas for every group, from the sums that they need; 0 stands for a sum over no rows.

    With g, h polynomials and n the number of rows that count: population covariance Σgh/n − Σg·Σh/n², sample
    covariance n/(n − 1) times that, weighted mean Σgw/Σw. What occurs twice is computed once.

    *Guarantee*: each step is off by what ``double_words`` and ``double_functions`` say, which ``pricing.formulas``
    adds up; the steps are the same whatever the sums are. Where public facts make a formula NULL, its value means
    nothing.

    >>> import numpy as np
    >>> from fractions import Fraction
    >>> third = plan.Quotient(plan.Count(plan.Always()), plan.Constant(Fraction(3)))
    >>> rows = DoubleWord(np.array([7.0, 6.0]), np.zeros(2))
    >>> evaluate([third], {(ONE, plan.Always()): rows}, Layout({}, {}, rows=10))[0].high.tolist()
    [2.3333333333333335, 2.0]
    """
    walk = _Walk(sums, layout)
    return [walk.value(formula) for formula in formulas]


@dataclass
class _Walk:
    """One walk over some formulas, with the values of all nodes that were met."""

    sums: Sums
    layout: Layout
    known: dict[plan.Formula, DoubleWord] = field(default_factory=dict)
    totals: dict[tuple[Polynomial, plan.Condition], DoubleWord] = field(default_factory=dict)

    def value(self, formula: plan.Formula) -> DoubleWord:
        if formula not in self.known:
            self.known[formula] = self._computed(formula)
        return self.known[formula]

    def _computed(self, formula: plan.Formula) -> DoubleWord:
        match formula:
            case plan.Constant(value=constant):
                return DoubleWord.of(constant)
            case plan.Count(where=where):
                return self.sums[ONE, where]
            case plan.Sum(of=of, where=where):
                return self._total(of, where)
            case plan.Covariance():
                return self._covariance(formula)
            case plan.WeightedMean(value=value, weight=weight, where=where):
                return self._total(_product(value, weight), where) / self._total(weight, where)
        found: DoubleWord = combined(formula, self.value, applied)
        return found

    def _total(self, polynomial: Polynomial, where: plan.Condition) -> DoubleWord:
        """Give Σ of a polynomial over the rows that count, from the sums of its monomials."""
        if (polynomial, where) not in self.totals:
            self.totals[polynomial, where] = self._added(polynomial, where)
        return self.totals[polynomial, where]

    def _added(self, polynomial: Polynomial, where: plan.Condition) -> DoubleWord:
        terms = _factors(polynomial, self.layout)
        if not terms:
            return self.sums[ONE, where] * DoubleWord.of(0)
        return reduce(add, (self.sums[monomial, where] * factor for monomial, factor in terms))

    def _covariance(self, formula: plan.Covariance) -> DoubleWord:
        where = formula.where
        count = self.sums[ONE, where]
        first, second = self._total(formula.first, where), self._total(formula.second, where)
        both = self._total(_product(formula.first, formula.second), where)
        centred = both - first * second / count
        return centred / (count - DoubleWord.of(1) if formula.sample else count)


def _needed(aggregate: plan.Aggregate) -> Iterator[Wanted]:
    match aggregate:
        case plan.Count(where=where):
            yield ONE, where
        case plan.Sum(of=of, where=where):
            yield from _monomials(of, where)
        case plan.Covariance(first=first, second=second, where=where):
            yield ONE, where
            for polynomial in (first, second, _product(first, second)):
                yield from _monomials(polynomial, where)
        case plan.WeightedMean(value=value, weight=weight, where=where):
            for polynomial in (weight, _product(value, weight)):
                yield from _monomials(polynomial, where)


def _monomials(polynomial: Polynomial, where: plan.Condition) -> Iterator[Wanted]:
    """Give the monomials to sum; without any other, the count says whether a row counts at all."""
    yield from ((monomial, where) for monomial, _ in polynomial.terms) if polynomial.terms else iter([(ONE, where)])


@lru_cache(maxsize=1024)
def _factors(polynomial: Polynomial, layout: Layout) -> list[tuple[Monomial, DoubleWord]]:
    """Give by what the sums of monomials are multiplied; the same for every block of groups."""
    return [(monomial, DoubleWord.of(factor)) for monomial, factor in scaled(polynomial, layout)]


@lru_cache(maxsize=1024)
def _product(one: Polynomial, two: Polynomial) -> Polynomial:
    return one * two
