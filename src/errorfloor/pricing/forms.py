"""The polynomials of a question's rows, split into what is public and exact and what is not.

Which public facts a price needs follows from them: those about the public factors of their terms.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from errorfloor.arithmetic.polynomial import ONE, Monomial, Node, Polynomial, order_of
from errorfloor.pricing.interval import ZERO, Enclosure
from errorfloor.sql.plan import (
    Aggregate,
    Call,
    Condition,
    Covariance,
    Sum,
    TableColumn,
    WeightedMean,
)
from errorfloor.sql.question import Question, aggregates

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
