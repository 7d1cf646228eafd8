"""Sums over the rows of a group: of which integers they are, how large these can be, and the values of formulas.

A polynomial is written in the whole numbers that an engine stores, which are bounded so that no type overflows. Values
are computed for all groups at once, in steps that follow from the formula alone: they are private until noise is added.
So nothing branches on them, no precision follows them, and no step is left out for them: the cost of an answer is a
function of the formula and of the number of groups.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, reduce
from operator import add
from typing import TYPE_CHECKING

from errorfloor.arithmetic.double_functions import applied
from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.arithmetic.polynomial import ONE, Monomial, Node, Polynomial
from errorfloor.sql import plan
from errorfloor.sql.question import Question, aggregates, combined, summed, walk

if TYPE_CHECKING:
    from errorfloor.vault import Snapshot

# What a call's stored integer m promises (compile.proof.md): m·2^-bits = function(x̃)·(1 + φ) + ρ·2^-bits, where
ARGUMENT_ERROR = 2.0**-50  # |x̃ − x| ≤ this·|x|; none for above, whose FUNCTION_ERROR covers it
FUNCTION_ERROR = 2.0**-49  # |φ| ≤ this, for every function but power
POWER_ERROR = 2.0**-43  # |φ| ≤ this for power, whose exponent is rounded to a double
ROUNDING_ERROR = 0.5 + 2.0**-12  # |ρ| ≤ this, while |function|·2^bits ≤ MOST_CALL
MOST_CALL = 2**40
MOST_BITS = 900

LARGEST_PART = {
    "year": 10**6,
    "quarter": 4,
    "month": 12,
    "week": 53,
    "day": 31,
    "dayofyear": 366,
    "isodow": 7,
    "hour": 23,
    "minute": 59,
}

Stored = plan.TableColumn | plan.DatePart | plan.RoundedDown | plan.Call  # what has an integer of some size
Wanted = tuple[Monomial, plan.Condition]
Sums = Mapping[Wanted, DoubleWord]
ROWS: Wanted = (ONE, plan.Always())  # every row of a group: how many there are is a public fact


@dataclass(frozen=True, eq=False)
class Layout:
    """Bounds on stored integers, from declared ranges and public facts.

    ``largest`` bounds the absolute value of the integer stored for each atom; ``bits`` says for each call that its
    integer is the function's value times 2^bits, rounded; ``rows`` bounds the number of rows of a group. Two
    layouts are equal if they are the same object.

    >>> Layout({}, {}, rows=10).rows
    10
    """

    largest: Mapping[Stored, int]
    bits: Mapping[plan.Call, int]
    rows: int


def stored_layout(question: Question, snapshots: "Sequence[Snapshot]") -> Layout:
    """Bound every atom of a question that is no call (nor made of one), from declarations and extents alone.

    Guarantee: private columns are bounded by their declared range, public ones by their extent in the snapshot, and
    so on upwards; no private value is looked at.

    >>> class Snapshot:
    ...     rows = 12
    >>> stored_layout(Question("t", "1", (), plan.Always(), (), (), (), (), None), [Snapshot()]).rows
    12
    """
    largest: dict[Stored, int] = {}
    for atom in reversed(list(walk(question))):  # parts before what they are part of
        match atom:
            case plan.TableColumn(type="number"):
                largest[atom] = _of_column(atom, snapshots[atom.place])
            case plan.DatePart():
                largest[atom] = LARGEST_PART[atom.part]
            case plan.RoundedDown() if not any(isinstance(part, plan.Call) for part in walk(atom.of)):
                largest[atom] = _of_floor(atom, largest)
    return Layout(largest, {}, snapshots[0].rows)


def with_columns(layout: Layout, columns: Sequence[plan.TableColumn], snapshots: "Sequence[Snapshot]") -> Layout:
    """Add bounds on the stored integers of further columns."""
    largest = dict(layout.largest)
    largest |= {column: _of_column(column, snapshots[column.place]) for column in columns if column.type == "number"}
    return Layout(largest, layout.bits, layout.rows)


def _of_column(column: plan.TableColumn, snapshot: "Snapshot") -> int:
    if column.name in snapshot.table.private:
        return max(map(abs, snapshot.table.private[column.name].steps))
    return max(map(abs, snapshot.extent.get(column.name, (0, 0))))


def _of_floor(floor: plan.RoundedDown, largest: Mapping[Stored, int]) -> int:
    total = Fraction(0)
    for monomial, coefficient in floor.of.terms:
        term = abs(coefficient)
        for atom, power in monomial:
            if isinstance(atom, plan.TableColumn | plan.DatePart | plan.RoundedDown):
                step = atom.step if isinstance(atom, plan.TableColumn) and atom.step is not None else 1
                term *= (largest[atom] * step) ** power
        total += term
    return math.ceil(total)


def scale(monomial: Monomial, layout: Layout) -> Fraction:
    """Give what the product of a monomial's stored integers is to be multiplied by.

    >>> column = plan.TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
    >>> scale(((column, 2),), Layout({column: 50_000}, {}, rows=10))
    Fraction(1, 1000000)
    """
    return math.prod((_scale(atom, layout) ** power for atom, power in monomial), start=Fraction(1))


def denominator(polynomial: Polynomial, layout: Layout) -> int:
    """Give the least D for which D times the polynomial is a whole number on every row, by its form alone.

    >>> denominator(Polynomial.constant(Fraction(3, 4)), Layout({}, {}, rows=10))
    4
    """
    return math.lcm(*(coefficient.denominator for _, coefficient in scaled(polynomial, layout)))


def scaled(polynomial: Polynomial, layout: Layout) -> list[tuple[Monomial, Fraction]]:
    """Give the coefficients that belong to the stored integers.

    >>> scaled(Polynomial.constant(2), Layout({}, {}, rows=10))
    [((), Fraction(2, 1))]
    """
    return [(monomial, coefficient * scale(monomial, layout)) for monomial, coefficient in polynomial.terms]


def largest(monomial: Monomial, layout: Layout) -> int:
    """Bound the absolute value of the product of a monomial's stored integers, and of every part of that product.

    >>> column = plan.TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000))
    >>> largest(((column, 2),), Layout({column: 50_000}, {}, rows=10))
    2500000000
    """
    return math.prod(max(1, layout.largest[atom]) ** power for atom, power in monomial if isinstance(atom, Stored))


def _scale(atom: Node, layout: Layout) -> Fraction:
    if isinstance(atom, plan.TableColumn):
        assert atom.step is not None, "only numbers are atoms"
        return atom.step
    return Fraction(2) ** -layout.bits[atom] if isinstance(atom, plan.Call) else Fraction(1)


def needed(formula: plan.Formula) -> list[Wanted]:
    """Give the sums that a formula is computed from: monomials with the condition that a row must meet to count.

    Each is named once. A count is the sum of the monomial ONE.

    >>> needed(plan.Count(plan.Always())) == [(ONE, plan.Always())]
    True
    """
    totals = (total for aggregate in aggregates(formula) for total in summed(aggregate))
    return list(dict.fromkeys(one for total in totals for one in _monomials(total)))


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


def _monomials(total: plan.Count | plan.Sum) -> Iterator[Wanted]:
    """Give the monomials to sum; without any other, the count says whether a row counts at all."""
    terms = total.of.terms if isinstance(total, plan.Sum) else ()
    yield from ((monomial, total.where) for monomial, _ in terms or [(ONE, 1)])


@lru_cache(maxsize=1024)
def _factors(polynomial: Polynomial, layout: Layout) -> list[tuple[Monomial, DoubleWord]]:
    """Give by what the sums of monomials are multiplied; the same for every block of groups."""
    return [(monomial, DoubleWord.of(factor)) for monomial, factor in scaled(polynomial, layout)]


@lru_cache(maxsize=1024)
def _product(one: Polynomial, two: Polynomial) -> Polynomial:
    return one * two
