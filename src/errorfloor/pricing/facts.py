"""Public facts: what prices are computed from, besides declarations.

The rows of a question fall into *parts*: the rows of one group that belong to one cell of the partition of accounts.
Everything here is a function of public columns; sums, least and greatest values are exact integers. Which of them a
price needs follows from the polynomials of its rows, split into what is public and exact and what is not.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from errorfloor.arithmetic.polynomial import ONE, Monomial, Node, Polynomial, order_of
from errorfloor.checks import Array
from errorfloor.identity import Part
from errorfloor.pricing.interval import EXACT_INTEGER, ZERO, Enclosure, quiet
from errorfloor.pricing.keys import GroupKeys, kinds_of
from errorfloor.sql.plan import (
    Aggregate,
    Apply,
    Call,
    Condition,
    Count,
    Covariance,
    Formula,
    Plus,
    Power,
    Quotient,
    Sum,
    TableColumn,
    Times,
    WeightedMean,
)
from errorfloor.sql.question import Question

# compared by identity: a factor that changes nothing is left out, which keeps ends exact
UNITY = Enclosure.of(1.0, 1.0)
Request = tuple[Polynomial, Condition]
EVERY_ROW = Polynomial.constant(1)  # what is asked for where only the number of rows matters


@dataclass(frozen=True)
class Term:
    """``factor`` · ``public`` · ``rest``, where ``public`` is a polynomial of public columns."""

    factor: Fraction
    public: Polynomial
    rest: Monomial


@dataclass(frozen=True)
class Form:
    """A sum of terms whose rests are all different.

    ``repeats`` says that some variable occurs in more than one term, so that terms may cancel.
    """

    terms: tuple[Term, ...]

    @property
    def variables(self) -> tuple[Node, ...]:
        """The private columns and functions that occur, in canonical order."""
        found = {atom for term in self.terms for atom, _ in term.rest}
        return tuple(sorted(found, key=order_of))

    @property
    def is_public(self) -> bool:
        """Whether it holds neither a private column nor a function."""
        return all(term.rest == ONE for term in self.terms)

    @property
    def repeats(self) -> bool:
        """Whether some variable occurs in more than one term."""
        seen = [atom for term in self.terms for atom, _ in term.rest]
        return len(set(seen)) < len(seen)

    def derivative(self, by: Node) -> "Form":
        """Give the partial derivative by one private column or function, the others held fixed."""
        return _derivative(self, by)

    def enclosure(self, public: Callable[[Term], Enclosure], value: Callable[[Node], Enclosure]) -> Enclosure:
        """Enclose it: term by term, and where terms may cancel also by the mean-value form.

        The mean-value form is p(c) + Σ ∂p/∂v(box)·(v − c_v) with c inside the box of the variables. ``public`` encloses
        factor · C on the rows concerned, ``value`` a private column or a function.
        """
        natural = self._natural(public, value)
        if not self.repeats:
            return natural
        result = self._natural(public, lambda atom: value(atom).middle)
        for atom in self.variables:
            box = value(atom)
            result = result + self.derivative(atom)._natural(public, value) * (box - box.middle)
        return natural.meet(result)

    def _natural(self, public: Callable[[Term], Enclosure], value: Callable[[Node], Enclosure]) -> Enclosure:
        total = ZERO
        for term in self.terms:
            product = public(term)
            for atom, exponent in term.rest:
                power = value(atom) ** exponent if exponent > 1 else value(atom)
                product = power if product is UNITY else product * power
            total = product if total is ZERO else total + product
        return total


@lru_cache(maxsize=4096)
def form_of(polynomial: Polynomial) -> Form:
    """Split a polynomial; the public part of each term is multiplied out.

    >>> from errorfloor.sql.plan import TableColumn
    >>> x = Polynomial.atom(TableColumn(0, "kwh", "number", private=True, step=Fraction(1)))
    >>> p = Polynomial.atom(TableColumn(0, "rooms", "number", step=Fraction(1)))
    >>> [str(term.factor) for term in form_of(x * p + x * 2 + 1).terms], form_of(p * p).is_public
    (['1', '1'], True)
    """
    parts: dict[Monomial, list[tuple[Monomial, Fraction]]] = {}
    for monomial, coefficient in polynomial.terms:
        public = tuple(item for item in monomial if not is_variable(item[0]))
        rest = tuple(item for item in monomial if is_variable(item[0]))
        parts.setdefault(rest, []).append((public, coefficient))
    return Form(tuple(Term(Fraction(1), Polynomial.of(terms), rest) for rest, terms in parts.items()))


def is_variable(atom: Node) -> bool:
    """Tell whether an atom is a private column or a function, not an exact public number."""
    return isinstance(atom, Call) or (isinstance(atom, TableColumn) and atom.private)


@lru_cache(maxsize=4096)
def _derivative(form: Form, by: Node) -> Form:
    return Form(tuple(_derivatives(form, by)))


def _derivatives(form: Form, by: Node) -> Iterator[Term]:
    for term in form.terms:
        powers = dict(term.rest)
        exponent = powers.pop(by, 0)
        if exponent:
            rest = tuple((atom, power - (atom == by)) for atom, power in term.rest if (atom, power) != (by, 1))
            yield Term(term.factor * exponent, term.public, rest)


def calls_of(polynomial: Polynomial) -> tuple[Call, ...]:
    """Give the functions in a polynomial and inside their arguments, inner ones first."""
    found: dict[Call, None] = {}
    for atom in sorted(polynomial.atoms, key=order_of):
        if isinstance(atom, Call):
            for inner in calls_of(atom.argument):
                found[inner] = None
            found[atom] = None
    return tuple(found)


def private_columns(polynomial: Polynomial) -> tuple[TableColumn, ...]:
    """Give the private columns in a polynomial and inside its functions, in canonical order."""
    found = {atom for atom in polynomial.atoms if isinstance(atom, TableColumn) and atom.private}
    for call in calls_of(polynomial):
        found.update(atom for atom in call.argument.atoms if isinstance(atom, TableColumn) and atom.private)
    return tuple(sorted(found, key=order_of))


@dataclass(frozen=True, eq=False)
class Fact:
    """What is known of a public polynomial on the rows of each part for which a condition holds.

    ``count`` rows; ``low`` and ``high`` its least and greatest value (0 where there is no row), ``above`` and ``below``
    the sums of its positive and of its negative values; integers in units of 1/``denominator``, of 64 bits, or Python's
    where bounds do not keep them to that.
    """

    count: Array
    low: Array
    high: Array
    above: Array
    below: Array
    denominator: int

    @property
    def columns(self) -> tuple[Array, ...]:
        """All of it, one array for each number of a part."""
        return self.count, self.low, self.high, self.above, self.below

    def taken(self, places: Array) -> "Fact":
        """Give the facts about some of the parts."""
        count, low, high, above, below = (array[places] for array in self.columns)
        return Fact(count, low, high, above, below, self.denominator)

    @cached_property
    def range(self) -> Enclosure:
        """Its values on the rows of each part."""
        least, greatest = integer_intervals(self.low, self.denominator), integer_intervals(self.high, self.denominator)
        return Enclosure(least.low, greatest.high)

    @cached_property
    def positive(self) -> Enclosure:
        """The sum of its positive values on each part."""
        return integer_intervals(self.above, self.denominator)

    @cached_property
    def negative(self) -> Enclosure:
        """The sum of its negative values on each part."""
        return integer_intervals(self.below, self.denominator)


@dataclass(frozen=True, eq=False)
class Facts:
    """The groups of a question, the cells of the partition of accounts, the parts, and facts about each part.

    ``groups`` and ``cells`` are in canonical order; part i holds ``rows[i]`` ≥ 1 rows of group ``group[i]`` and cell
    ``cell[i]``, sorted by group and then by cell.
    """

    groups: GroupKeys
    cells: Sequence[tuple[Part, ...]]
    group: Array
    cell: Array
    rows: Array
    known: Mapping[Request, Fact]

    def fact(self, polynomial: Polynomial, where: Condition) -> Fact:
        """Give the facts about a polynomial that was asked for."""
        return self.known[polynomial, where]

    def count(self, where: Condition) -> Array:
        """Give the number of rows of each part for which a condition holds."""
        return self.known[EVERY_ROW, where].count

    @cached_property
    def kinds(self) -> tuple["Facts", Array]:
        """One group of each kind, and the kind of every group: public facts do not tell groups of a kind apart.

        What is bounded for one of them holds for all. Where groups have several parts, each is of a kind of its own.
        """
        columns = [self.cell, self.rows, *(column for fact in self.known.values() for column in fact.columns)]
        found = kinds_of(columns) if len(self.group) == len(self.groups) else None
        if found is None:
            return self, np.arange(len(self.groups))
        kind, first = found
        known = {request: fact.taken(first) for request, fact in self.known.items()}
        groups = self.groups.taken(first)
        few = Facts(groups, self.cells, np.arange(len(first)), self.cell[first], self.rows[first], known)
        return few, kind

    def kept(self, least: int) -> Array:
        """Tell for each group whether it has at least so many rows.

        A group without keys and without rows is kept if any number of rows will do: it is NULL.
        """
        return self.by_group(self.rows) >= least if least > 1 else np.ones(len(self.groups), dtype=bool)

    def only(self, kept: Array) -> "Facts":
        """Give the facts about some of the groups."""
        if kept.all():
            return self
        parts = np.flatnonzero(kept[self.group])
        return Facts(
            groups=self.groups.taken(np.flatnonzero(kept)),
            cells=self.cells,
            group=(np.cumsum(kept) - 1)[self.group[parts]],
            cell=self.cell[parts],
            rows=self.rows[parts],
            known={request: fact.taken(parts) for request, fact in self.known.items()},
        )

    def by_group(self, integers: Array) -> Array:
        """Add the integers of each group's parts, exactly."""
        if len(self.group) == len(self.groups):
            return integers
        totals = np.zeros(len(self.groups), dtype=integers.dtype)
        np.add.at(totals, self.group, integers)
        return totals


def multiplied(integers: Array, factor: int) -> Array:
    """Give exact multiples of integers that are not negative.

    >>> multiplied(np.array([3, 1]), 10**20).tolist()
    [300000000000000000000, 100000000000000000000]
    """
    most = int(integers.max(initial=1)) * abs(factor)
    return integers.astype(np.int64 if most < 2**63 else object) * factor


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


def requested(question: Question) -> tuple[Request, ...]:
    """Give every public polynomial, with its condition, that the walk over the outputs asks about; in one order.

    >>> from errorfloor.sql.plan import Always
    >>> requested(Question("t", "1", (), Always(), (), (), (), (), None))
    ()
    """
    found: dict[tuple[bytes, bytes], Request] = {}
    for output in question.outputs:
        for aggregate in aggregates(output.formula):
            for polynomial, where in _of_aggregate(aggregate):
                found[order_of(polynomial), order_of(where)] = polynomial, where
    return tuple(found[key] for key in sorted(found))


def aggregates(formula: Formula) -> Iterator[Aggregate]:
    """Give the aggregates that a formula is made of."""
    match formula:
        case Count() | Sum() | Covariance() | WeightedMean():
            yield formula
        case Plus(parts) | Times(parts):
            for part in parts:
                yield from aggregates(part)
        case Quotient(numerator, denominator):
            yield from aggregates(numerator)
            yield from aggregates(denominator)
        case Power(inner, _) | Apply(_, _, inner):
            yield from aggregates(inner)


def polynomials(aggregate: Aggregate) -> tuple[Polynomial, ...]:
    """Give the polynomials that are walked over the rows of an aggregate."""
    match aggregate:
        case Sum(of, _):
            return (of,)
        case Covariance(first, second, _, _):
            return (first, second)
        case WeightedMean(value, weight, _):
            return (value, weight)
        case _:
            return ()


def _of_aggregate(aggregate: Aggregate) -> Iterator[Request]:
    yield EVERY_ROW, aggregate.where
    for polynomial in polynomials(aggregate):
        yield from _of_polynomial(polynomial, aggregate.where)
        for call in calls_of(polynomial):
            yield from _of_polynomial(call.argument, aggregate.where)
    if isinstance(aggregate, Covariance):
        first, second = aggregate.first, aggregate.second
        for one, two in ((first, first), (second, second), (first, second)):
            if form_of(one).is_public and form_of(two).is_public:
                yield from _of_polynomial(one * two, aggregate.where)


def _of_polynomial(polynomial: Polynomial, where: Condition) -> Iterator[Request]:
    for term in form_of(polynomial).terms:
        if term.public.value is None:
            yield term.public, where
