"""Polynomials with exact coefficients: the one canonical form of every number that is computed from a row.

An atom stands for an integer that the engine holds or computes for a row, times a scale that is known exactly. So a
polynomial of atoms is evaluated without any rounding, and two texts with the same polynomial are the same function.
Every node of a plan has one encoding, which decides whether two questions are the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, dataclass_transform

from errorfloor.errors import RefusedError
from errorfloor.identity import Part, encode

MOST_TERMS = 64
MOST_DEGREE = 12


@dataclass_transform(frozen_default=True, eq_default=False)
@dataclass(frozen=True, eq=False)
class Node:
    """A part of a plan: a frozen dataclass, as every class made from it is, compared by content, with one encoding."""

    idempotent: ClassVar[bool] = False
    label: ClassVar[str]  # what a label calls the node: it stays when the class is renamed

    def __init_subclass__(cls) -> None:
        cls.label = cls.__dict__.get("label", cls.__name__)
        dataclass(frozen=True, eq=False)(cls)

    @cached_property
    def canonical(self) -> Part:
        """The node's kind and fields as parts of a label; different nodes have different ones."""
        return (self.label, *(_part(getattr(self, field.name)) for field in fields(self)))

    @cached_property
    def encoded(self) -> bytes:
        """The canonical form as bytes."""
        return encode(self.canonical)

    @cached_property
    def _hash(self) -> int:
        return hash(self.encoded)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.encoded == other.encoded


def order_of(node: Node) -> bytes:
    """Give what nodes are sorted by wherever their order has no meaning."""
    return node.encoded


def _part(value: Any) -> Part:
    if isinstance(value, Node):
        return value.canonical
    if isinstance(value, Fraction):
        return ("/", value.numerator, value.denominator)
    if isinstance(value, tuple):
        return tuple(_part(item) for item in value)
    plain: Part = value
    return plain


Monomial = tuple[tuple[Node, int], ...]
ONE: Monomial = ()


class Polynomial(Node):
    """Σ coefficient · Π atom^exponent, in canonical order and without zero terms.

    >>> from errorfloor.sql.plan import TableColumn
    >>> x = Polynomial.atom(TableColumn(0, "kwh", "number", private=True, step=Fraction(1, 1000)))
    >>> (x + 1) * (x - 1) == x * x - 1
    True
    """

    terms: tuple[tuple[Monomial, Fraction], ...]

    @classmethod
    def of(cls, terms: Iterable[tuple[Monomial, Fraction]]) -> "Polynomial":
        """Collect terms: equal monomials are added, zeros left out."""
        total: dict[Monomial, Fraction] = {}
        for monomial, coefficient in terms:
            total[monomial] = total.get(monomial, Fraction(0)) + coefficient
        kept = [(monomial, coefficient) for monomial, coefficient in total.items() if coefficient]
        if len(kept) > MOST_TERMS:
            raise RefusedError(
                f"an expression has {len(kept)} terms when multiplied out; at most {MOST_TERMS} are allowed: "
                f"ask for its parts",
                reason="too-long",
            )
        return cls(tuple(sorted(kept, key=lambda term: [(order_of(atom), power) for atom, power in term[0]])))

    @classmethod
    def constant(cls, value: Fraction | int) -> "Polynomial":
        """A number."""
        return cls.of([(ONE, Fraction(value))])

    @classmethod
    def atom(cls, atom: Node) -> "Polynomial":
        """A column, an indicator, or a function of a polynomial."""
        return cls(((((atom, 1),), Fraction(1)),))

    @property
    def value(self) -> Fraction | None:
        """The number it is, if it is constant."""
        if not self.terms:
            return Fraction(0)
        return self.terms[0][1] if len(self.terms) == 1 and self.terms[0][0] == ONE else None

    @cached_property
    def atoms(self) -> frozenset[Node]:
        """The atoms that occur; not those inside a function's argument."""
        return frozenset(atom for monomial, _ in self.terms for atom, _ in monomial)

    def __add__(self, other: "Polynomial | Fraction | int") -> "Polynomial":
        return Polynomial.of([*self.terms, *_polynomial(other).terms])

    def __neg__(self) -> "Polynomial":
        return Polynomial(tuple((monomial, -coefficient) for monomial, coefficient in self.terms))

    def __sub__(self, other: "Polynomial | Fraction | int") -> "Polynomial":
        return self + -_polynomial(other)

    def __mul__(self, other: "Polynomial | Fraction | int") -> "Polynomial":
        return Polynomial.of(
            (_product(one, two), first * second)
            for one, first in self.terms
            for two, second in _polynomial(other).terms
        )

    def __pow__(self, exponent: int) -> "Polynomial":
        result = Polynomial.constant(1)
        for _ in range(exponent):
            result = result * self
        return result


def _polynomial(value: "Polynomial | Fraction | int") -> Polynomial:
    return value if isinstance(value, Polynomial) else Polynomial.constant(value)


def _product(one: Monomial, two: Monomial) -> Monomial:
    """Multiply monomials; an indicator is 0 or 1, so that its powers are itself."""
    powers = dict(one)
    for atom, power in two:
        powers[atom] = 1 if atom.idempotent else powers.get(atom, 0) + power
    if sum(powers.values()) > MOST_DEGREE:
        raise RefusedError(
            f"an expression has degree {sum(powers.values())} when multiplied out; at most {MOST_DEGREE} is allowed",
            reason="too-long",
        )
    return tuple(sorted(powers.items(), key=lambda item: order_of(item[0])))
