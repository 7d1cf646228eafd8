"""Polynomials of a row, split into what is public and exact and what is not.

A row's number is g = Σ C·P: each C a polynomial of public columns, indicators, parts of dates and floors, whose values
on the rows of a group are public facts; each P a product of private columns and functions. Differentiating by a private
column or a function changes the P and multiplies by whole numbers, so that no new public facts are needed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from errorfloor.pricing.interval import ZERO, Enclosure
from errorfloor.sql.plan import Call, TableColumn
from errorfloor.sql.polynomial import ONE, Monomial, Node, Polynomial, order_of


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


UNITY = Enclosure.of(
    1.0, 1.0
)  # compared by identity: a factor that changes nothing is left out, which keeps ends exact


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
