"""What a row of a table that protects records can add to a sum, from declared domains and from public tables alone."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

from errorfloor.arithmetic.polynomial import Monomial, Node, Polynomial
from errorfloor.catalogue.model import Table
from errorfloor.errors import RefusedError
from errorfloor.sql import plan
from errorfloor.sql.question import walk
from errorfloor.sql.sums import LARGEST_PART, MOST_CALL
from errorfloor.vault.records import PRESENCE

if TYPE_CHECKING:
    from errorfloor.vault import Snapshot

MOST_INDICATORS = 8  # whose values are gone through one by one
MOST_COMPARED = 64  # terms, times indicators, of what is compared with what indicators say
NEEDS = {"exp": "bounded", "ln": "above 0", "sqrt": "not below 0", "reciprocal": "on one side of 0"}
COMPUTED: Mapping[str, Callable[[float], float]] = {
    "exp": math.exp,
    "ln": math.log,
    "sqrt": math.sqrt,
    "reciprocal": lambda x: 1 / x,
}
FARTHEST = 27  # exp is then stored between 2⁻⁴⁰ and 2⁴⁰
HERE = plan.TableColumn(0, PRESENCE, "number", private=True, step=Fraction(1))


@dataclass(frozen=True, eq=False)
class Domains:
    """Which stored integers the columns of a row can hold: those that are declared, and of ``joined`` tables their own.

    A column of a joined table may have no value on a row besides; no such row counts in a sum of what it is a part of.

    >>> owned = {"owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}}
    >>> table = Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned})
    >>> domains = Domains(table, ({"age": (3, 5)},))
    >>> [domains.steps(plan.TableColumn(place, "age", "number", step=Fraction(1))) for place in (0, 1)]
    [(0, 110), (3, 5)]
    """

    table: Table
    joined: tuple[Mapping[str, tuple[int, int]], ...] = ()

    @classmethod
    def of(cls, table: Table, snapshots: "Sequence[Snapshot]") -> "Domains":
        """Give those of a table as it is declared, and of the public ones that are joined to its snapshot."""
        return cls(table, tuple(one.extent for one in snapshots[1:]))

    def steps(self, column: plan.TableColumn) -> tuple[int, int]:
        """Give the least and the greatest integer that a column of numbers can hold, where it has a value."""
        if column.place == 0:
            return self.table.columns[column.name].steps
        return self.joined[column.place - 1].get(column.name, (0, 0))


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


def row_range(formula: plan.Formula, domains: Domains) -> RowRange:
    """Bound what a row can add to a sum, from what its columns can hold.

    >>> owned = {"owner": {"floor": 0.4}, "columns": {"age": {"range": [0, 110]}}}
    >>> table = Table.model_validate({"source": "p", "version": "1", "protects": "records", **owned})
    >>> age = Polynomial.atom(plan.TableColumn(0, "age", "number", step=Fraction(1)))
    >>> row_range(plan.Sum((age - 10) * Polynomial.atom(HERE), HERE), Domains(table))
    RowRange(below=Fraction(10, 1), above=Fraction(100, 1), whole=True)
    """
    assert isinstance(formula, plan.Sum)
    terms = [(tuple(factor for factor in monomial if factor[0] != HERE), by) for monomial, by in formula.of.terms]
    low, high = value_range(Polynomial.of(terms), domains)
    return RowRange(max(-low, Fraction(0)), max(high, Fraction(0)), _is_whole(formula.of))


def limits_of(formula: plan.Formula) -> dict[plan.TableColumn, tuple[float, float]]:
    """Give the columns that the condition of a sum limits, each with its least and its largest number of steps.

    They are told apart by the table that they are from: a joined one may have a column of the same name.

    >>> age = Polynomial.atom(plan.TableColumn(0, "age", "number", step=Fraction(1)))
    >>> adults = plan.Sum(age, plan.Compare("<", age, Polynomial.constant(18)))
    >>> [(one.name, ends) for one, ends in limits_of(adults).items()]
    [('age', (-inf, 17))]
    """
    assert isinstance(formula, plan.Sum)
    found: dict[plan.TableColumn, tuple[float, float]] = {}
    for part in formula.where.parts if isinstance(formula.where, plan.And) else (formula.where,):
        match part:
            case plan.Compare(operator="<" | "<=" as operator, left=Polynomial() as left, right=Polynomial() as right):
                for column, constant, below in ((left, right, True), (right, left, False)):
                    atom = next(iter(column.atoms), None)
                    if constant.value is None or not isinstance(atom, plan.TableColumn) or atom.step is None:
                        continue
                    if column != Polynomial.atom(atom) or atom == HERE:
                        continue
                    low, high = found.get(atom, (-math.inf, math.inf))
                    steps, strict = constant.value / atom.step, operator == "<"
                    if below:
                        high = min(high, math.ceil(steps) - 1 if strict else math.floor(steps))
                    else:
                        low = max(low, math.floor(steps) + 1 if strict else math.ceil(steps))
                    found[atom] = low, high
    return found


def value_range(polynomial: Polynomial, domains: Domains) -> tuple[Fraction, Fraction]:
    """Enclose a polynomial of a row: each of a few indicators is gone through, terms are enclosed one by one.

    An indicator that compares numbers bounds what is a multiple of their difference: |x| is not negative.

    >>> value_range(Polynomial.constant(2), None)
    (Fraction(2, 1), Fraction(2, 1))
    """
    ranges = {atom: _of_atom(atom, domains) for atom in polynomial.atoms}  # once: floors hold polynomials themselves
    flags = sorted((atom for atom in ranges if isinstance(atom, plan.Indicator)), key=lambda one: one.encoded)
    if len(flags) > MOST_INDICATORS:
        return _by_terms(polynomial, ranges, {})
    found = [
        _by_terms(polynomial, ranges, dict(zip(flags, map(Fraction, values), strict=True)))
        for values in product((0, 1), repeat=len(flags))
        if not _contradict(flags, values)
    ]
    found = [(low, high) for low, high in found if low <= high]
    return min(low for low, _ in found), max(high for _, high in found)


def _contradict(flags: Sequence[plan.Indicator], values: Sequence[int]) -> bool:
    """Tell whether one of several conditions would hold, and none of them and of others."""
    each = [(_any_of(flag.of), value) for flag, value in zip(flags, values, strict=True)]
    return any(one <= other for one, holds in each if holds for other, too in each if not too)


def _any_of(condition: plan.Condition) -> set[plan.Condition]:
    return set(condition.parts) if isinstance(condition, plan.Or) else {condition}


def _known(condition: plan.Condition, holds: bool) -> Iterator[tuple[Polynomial, Polynomial]]:
    """Give pairs, the first at most as large as the second, if a condition holds or not and nothing is missing."""
    match condition:
        case plan.Compare(operator="<" | "<=", left=Polynomial() as left, right=Polynomial() as right):
            yield (left, right) if holds else (right, left)
        case plan.Compare(operator="=", left=Polynomial() as left, right=Polynomial() as right) if holds:
            yield from ((left, right), (right, left))
        case plan.Not(part=part):
            yield from _known(part, not holds)
        case plan.And(parts=parts) if holds:
            yield from (one for part in parts for one in _known(part, holds))
        case plan.Or(parts=parts) if not holds:
            yield from (one for part in parts for one in _known(part, holds))


Terms = dict[Monomial, Fraction]
Ranges = Mapping[Node, tuple[Fraction, Fraction]]


def _by_terms(polynomial: Polynomial, ranges: Ranges, known: Mapping[Node, Fraction]) -> tuple[Fraction, Fraction]:
    """Enclose a polynomial for known indicators, by its terms and by what the indicators say.

    If p is not positive, c·p + q is at most as large as q where c > 0, and at least as large where c < 0. Where what is
    compared has other atoms than the polynomial, also such as cancel in p, it says nothing: they may be missing, and
    its opposite need not hold.
    """
    terms = _collected(polynomial, known)
    low, high = _enclosed(terms, ranges)
    if len(terms) * len(known) > MOST_COMPARED:
        return low, high
    flags = [(flag.of, bool(value)) for flag, value in known.items() if isinstance(flag, plan.Indicator)]
    untrue = {part for condition, holds in flags if not holds for part in _any_of(condition)}
    for condition, holds in flags:
        left = _any_of(condition) - untrue if holds else {condition}
        for small, large in _known(next(iter(left)), holds) if len(left) == 1 else ():
            other = _without(_collected(small, known), _collected(large, known))
            if len(other) > MOST_COMPARED or not ranges.keys() >= {*small.atoms, *large.atoms}:
                continue
            for factor in {by / other[part] for part, by in terms.items() if part and part in other}:
                least, most = _enclosed(_without(terms, other, factor), ranges)
                low, high = (low, min(high, most)) if factor > 0 else (max(low, least), high)
    return low, high


def _without(terms: Terms, other: Terms, factor: Fraction = Fraction(1)) -> Terms:
    """Subtract a multiple of some terms."""
    rest = {part: terms.get(part, Fraction(0)) - factor * other.get(part, Fraction(0)) for part in (*terms, *other)}
    return {part: by for part, by in rest.items() if by}


def _collected(polynomial: Polynomial, known: Mapping[Node, Fraction]) -> Terms:
    """Add up what known indicators make alike."""
    collected: Terms = {}
    for monomial, coefficient in polynomial.terms:
        factor = math.prod((known[atom] for atom, _ in monomial if atom in known), start=coefficient)
        rest = tuple(item for item in monomial if item[0] not in known)
        collected[rest] = collected.get(rest, Fraction(0)) + factor
    return {monomial: by for monomial, by in collected.items() if by}


def _enclosed(terms: Terms, ranges: Ranges) -> tuple[Fraction, Fraction]:
    low = high = Fraction(0)
    for monomial, coefficient in terms.items():
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


def _of_atom(atom: Node, domains: Domains) -> tuple[Fraction, Fraction]:
    match atom:
        case plan.TableColumn(step=step) if step is not None:
            first, last = domains.steps(atom)
            return first * step, last * step
        case plan.Indicator() | plan.Different():
            return Fraction(0), Fraction(1)
        case plan.RoundedDown(of=of):
            low, high = value_range(of, domains)
            return Fraction(math.floor(low)), Fraction(math.floor(high))
        case plan.Call():
            return called(atom, domains).ends
        case plan.DatePart(part="year", of=of):
            (column,) = (part for part in walk(of) if isinstance(part, plan.TableColumn))
            if column.place > 0:
                said = f"the year of {column.name} has no bound: declare it as a whole number of the joined table"
                raise RefusedError(said, reason="function")
            start, end = domains.table.columns[column.name].days
            before = start.month == 1 and start.day <= 7  # then the beginning of its week may be in the year before
            return Fraction(start.year - before), Fraction(end.year)
        case plan.DatePart(part=part):
            return Fraction(0), Fraction(LARGEST_PART[part])
    raise TypeError(f"{type(atom).__name__} is no atom of a record")


class Called(NamedTuple):
    """A function of a row as it is stored: between what ``ends``, in units of 2^−``bits``, how far off at most."""

    ends: tuple[Fraction, Fraction]
    bits: int
    error: Fraction


def called(call: plan.Call, domains: Domains) -> Called:
    """Bound exp, ln, sqrt or a reciprocal of a row, as engines compute and store it; ``pricing/records.proof.md``.

    Raises RefusedError where it has no value, or none between 2⁻⁴⁰ and 2⁴⁰ in size.
    """
    low, high = value_range(call.argument, domains)
    if any(isinstance(atom, plan.Call) for atom in call.argument.atoms):
        raise _no_function(call, "is a function of a function: use one at a time")
    name, needs = call.function, NEEDS.get(call.function)
    if needs is None:
        raise _no_function(
            call,
            "is not computed for the rows of a table that protects records: use + - * / floor, "
            "ceil, round, abs, greatest, least, exp, ln, sqrt, comparisons and CASE",
        )
    if (name == "ln" and low <= 0) or (name == "sqrt" and low < 0) or (name == "reciprocal" and low <= 0 <= high):
        raise _no_function(
            call,
            f"needs what is {needs}, and it can be {float(low):g} … {float(high):g}: narrow it with greatest or least",
        )
    if name == "exp" and not -FARTHEST <= high <= FARTHEST:
        raise _no_function(call, f"needs at most ±{FARTHEST}, and it can be {float(high):g}: divide it")
    one, two = sorted(
        Fraction(COMPUTED[name](float(end))) for end in (max(low, Fraction(-700)) if name == "exp" else low, high)
    )
    reach = max(abs(one), abs(two))
    if not Fraction(1, MOST_CALL) <= reach <= MOST_CALL / 2:
        raise _no_function(
            call, f"is at most {float(reach):.3g} in size, and is stored between 1e-12 and 5e11: rescale it"
        )
    bits = MOST_CALL.bit_length() - 2 - math.frexp(float(reach))[1]
    error = reach / 2**44 + Fraction(1, 2**48) + Fraction(51, 100) / Fraction(2) ** bits
    return Called((one - 2 * error, two + 2 * error), bits, error)


def _no_function(call: plan.Call, said: str) -> RefusedError:
    written = "a quotient" if call.function == "reciprocal" else call.function
    return RefusedError(f"{written} {said}", reason="function")


def _is_whole(polynomial: Polynomial) -> bool:
    """Tell whether it is a whole number on every row, by its coefficients and the steps of its columns."""
    if any(isinstance(atom, plan.Call) for atom in polynomial.atoms):
        return False
    return all(
        math.prod(
            ((atom.step or Fraction(1)) ** power for atom, power in monomial if isinstance(atom, plan.TableColumn)),
            start=coefficient,
        ).denominator
        == 1
        for monomial, coefficient in polynomial.terms
    )
