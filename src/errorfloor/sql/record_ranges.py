"""What a row of a table that protects records can add to a sum, from the domains that are declared."""

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from errorfloor.catalogue.model import Table
from errorfloor.sql.layout import LARGEST_PART
from errorfloor.sql.plan import And, Compare, DatePart, Formula, Indicator, RoundedDown, Sum, TableColumn
from errorfloor.sql.polynomial import Node, Polynomial
from errorfloor.vault.records import PRESENCE

MOST_INDICATORS = 8  # whose values are gone through one by one
HERE = TableColumn(0, PRESENCE, "number", private=True, step=Fraction(1))


class RowRange(NamedTuple):
    """What one row can add to a sum: from −``below`` to ``above``, both at least 0; ``whole`` if always a whole number.

    >>> count = RowRange(Fraction(0), Fraction(1), True)
    >>> count.moved(groups=1), count.moved(groups=2)
    (1.0, 1.41421356...)
    """

    below: Fraction
    above: Fraction
    whole: bool

    def moved(self, *, groups: int) -> float:
        """Bound how far a row of an owner moves all groups together, rounded up."""
        wide, far = self.below + self.above, max(self.below, self.above)
        square = wide**2 if groups < 2 else max(wide**2, 2 * far**2)
        root = math.sqrt(square)
        while Fraction(root) ** 2 < square:
            root = math.nextafter(root, math.inf)
        return root


def row_range(formula: Formula, table: Table) -> RowRange:
    """Bound what a row can add to a sum, from the domains that are declared.

    >>> owned = {"owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}}
    >>> table = Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned})
    >>> age = Polynomial.atom(TableColumn(0, "age", "number", step=Fraction(1)))
    >>> row_range(Sum((age - 10) * Polynomial.atom(HERE), HERE), table)
    RowRange(below=Fraction(10, 1), above=Fraction(100, 1), whole=True)
    """
    assert isinstance(formula, Sum)
    terms = [(tuple(factor for factor in monomial if factor[0] != HERE), by) for monomial, by in formula.of.terms]
    low, high = value_range(Polynomial.of(terms), table)
    return RowRange(max(-low, Fraction(0)), max(high, Fraction(0)), _is_whole(formula.of))


def limits_of(formula: Formula) -> dict[str, tuple[float, float]]:
    """Give the columns that the condition of a sum limits, each with its least and its largest number of steps.

    >>> age = Polynomial.atom(TableColumn(0, "age", "number", step=Fraction(1)))
    >>> limits_of(Sum(age, Compare("<", age, Polynomial.constant(18))))
    {'age': (-inf, 17)}
    """
    assert isinstance(formula, Sum)
    found: dict[str, tuple[float, float]] = {}
    for part in formula.where.parts if isinstance(formula.where, And) else (formula.where,):
        match part:
            case Compare(operator="<" | "<=" as operator, left=Polynomial() as left, right=Polynomial() as right):
                for column, constant, below in ((left, right, True), (right, left, False)):
                    atom = next(iter(column.atoms), None)
                    if constant.value is None or not isinstance(atom, TableColumn) or atom.step is None:
                        continue
                    if column != Polynomial.atom(atom) or atom == HERE:
                        continue
                    low, high = found.get(atom.name, (-math.inf, math.inf))
                    steps, strict = constant.value / atom.step, operator == "<"
                    if below:
                        high = min(high, math.ceil(steps) - 1 if strict else math.floor(steps))
                    else:
                        low = max(low, math.floor(steps) + 1 if strict else math.ceil(steps))
                    found[atom.name] = low, high
    return found


def value_range(polynomial: Polynomial, table: Table) -> tuple[Fraction, Fraction]:
    """Enclose a polynomial of a row: each of a few indicators is gone through, terms are enclosed one by one.

    >>> value_range(Polynomial.constant(2), None)
    (Fraction(2, 1), Fraction(2, 1))
    """
    ranges = {atom: _of_atom(atom, table) for atom in polynomial.atoms}  # once: floors hold polynomials themselves
    flags = sorted((atom for atom in ranges if isinstance(atom, Indicator)), key=lambda one: one.encoded)
    if len(flags) > MOST_INDICATORS:
        return _by_terms(polynomial, ranges, {})
    found = [
        _by_terms(polynomial, ranges, dict(zip(flags, map(Fraction, values), strict=True)))
        for values in product((0, 1), repeat=len(flags))
    ]
    return min(low for low, _ in found), max(high for _, high in found)


def _by_terms(
    polynomial: Polynomial, ranges: Mapping[Node, tuple[Fraction, Fraction]], known: Mapping[Node, Fraction]
) -> tuple[Fraction, Fraction]:
    collected: dict[tuple[tuple[Node, int], ...], Fraction] = {}
    for monomial, coefficient in polynomial.terms:  # what a known indicator makes alike is added first
        factor = math.prod((known[atom] for atom, _ in monomial if atom in known), start=coefficient)
        rest = tuple(item for item in monomial if item[0] not in known)
        collected[rest] = collected.get(rest, Fraction(0)) + factor
    low = high = Fraction(0)
    for monomial, coefficient in collected.items():
        ends = [coefficient]
        for atom, power in monomial:
            ends = [one * other for one in ends for other in _powers(*ranges[atom], power)]
            ends = [min(ends), max(ends)]
        low, high = low + min(ends), high + max(ends)
    return low, high


def _powers(low: Fraction, high: Fraction, exponent: int) -> Iterator[Fraction]:
    yield from (low**exponent, high**exponent)
    if low < 0 < high and exponent % 2 == 0:
        yield Fraction(0)


def _of_atom(atom: Node, table: Table) -> tuple[Fraction, Fraction]:
    match atom:
        case TableColumn(name=name, step=step) if step is not None:
            first, last = table.columns[name].steps
            return first * step, last * step
        case Indicator():
            return Fraction(0), Fraction(1)
        case RoundedDown(of=of):
            low, high = value_range(of, table)
            return Fraction(math.floor(low)), Fraction(math.floor(high))
        case DatePart(part="year"):
            days = [day for one in table.columns.values() if one.public.type == "date" for day in one.days]
            start = min(days)
            before = start.month == 1 and start.day <= 7  # then the beginning of its week may be in the year before
            return Fraction(start.year - before), Fraction(max(days).year)
        case DatePart(part=part):
            return Fraction(0), Fraction(LARGEST_PART[part])
    raise TypeError(f"{type(atom).__name__} is no atom of a record")


def _is_whole(polynomial: Polynomial) -> bool:
    """Tell whether it is a whole number on every row, by its coefficients and the steps of its columns."""
    return all(
        math.prod(
            ((atom.step or Fraction(1)) ** power for atom, power in monomial if isinstance(atom, TableColumn)),
            start=coefficient,
        ).denominator
        == 1
        for monomial, coefficient in polynomial.terms
    )
