"""Polynomials in whole numbers: every atom is an integer times an exact scale, and so is every polynomial.

With scales sᵢ of the monomials, p = Σ cᵢ sᵢ mᵢ = (Σ aᵢ mᵢ)/D with integers aᵢ = cᵢ sᵢ D and D their least common
denominator.
"""

import math
from fractions import Fraction

from errorfloor.sql.canonical import Node
from errorfloor.sql.layout import Layout
from errorfloor.sql.plan import Call, Column, DatePart, Floor
from errorfloor.sql.polynomial import Monomial, Polynomial


def scale(monomial: Monomial, layout: Layout) -> Fraction:
    """Give what the product of a monomial's stored integers is to be multiplied by.

    >>> column = Column(0, "kwh", "number", private=True, step=Fraction(1, 1000))
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

    >>> column = Column(0, "kwh", "number", private=True, step=Fraction(1, 1000))
    >>> largest(((column, 2),), Layout({column: 50_000}, {}, rows=10))
    2500000000
    """
    return math.prod(
        max(1, layout.largest[atom]) ** power
        for atom, power in monomial
        if isinstance(atom, Column | DatePart | Floor | Call)
    )


def _scale(atom: Node, layout: Layout) -> Fraction:
    if isinstance(atom, Column):
        assert atom.step is not None, "only numbers are atoms"
        return atom.step
    return Fraction(2) ** -layout.bits[atom] if isinstance(atom, Call) else Fraction(1)
