"""Sums over the rows of a group: enclosures of private ones, exact values of public ones."""

from fractions import Fraction

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.facts import integer_intervals
from errorfloor.pricing.interval import ZERO, Enclosure, grouped_sum, quiet, up
from errorfloor.pricing.scene import FormulaBound, Scene, where_defined
from errorfloor.sql.double_words import LARGEST, ROUNDING
from errorfloor.sql.layout import largest, scaled
from errorfloor.sql.plan import Condition, Sum
from errorfloor.sql.polynomial import Polynomial

UNDERFLOW = 2.0**-1060  # a step loses less than 2⁻¹⁰⁷⁰ by underflow


def size(polynomial: Polynomial, scene: Scene) -> tuple[float, int]:
    """Give M, rounded up, and the number of terms.

    Every step that adds a term is off by at most ``ROUNDING`` of n·M, and so is the term itself.
    """
    terms = scaled(polynomial, scene.layout)
    total = sum((abs(factor) * largest(monomial, scene.layout) for monomial, factor in terms), Fraction(0))
    return float(Enclosure.exact(total).high), len(terms)


@quiet
def sum_rounding(polynomial: Polynomial, where: Condition, scene: Scene) -> Array:
    """Bound |computed − exact| of Σ polynomial on each group: (terms + 4)·ROUNDING·n·M."""
    most, terms = size(polynomial, scene)
    return _if_small(up(scene.count(where) * most), (terms + 4) * ROUNDING)


@quiet
def covariance_rounding(first: Polynomial, second: Polynomial, scene: Scene) -> Array:
    """Bound the same of Σgh/n − Σg·Σh/n², and of a sample's: every part of it is at most M_gh + M_g·M_h."""
    (one, few), (two, more), (both, most) = (size(polynomial, scene) for polynomial in (first, second, first * second))
    reach = np.full(scene.groups, both + one * two)
    return _if_small(up(reach), 8 * (few + more + most + 32) * ROUNDING)


@quiet
def computed(bound: FormulaBound) -> Enclosure:
    """Enclose what is computed for a formula, beside its exact value."""
    return bound.value.widened(bound.error)


@quiet
def rounded(value: Enclosure, error: Array, steps: int = 1) -> Array:
    """Add what some steps of arithmetic are off by to an error; it is infinite where a number is too large for them."""
    reach = up(value.magnitude + error)
    return up(error + up(_if_small(reach, 2 * steps * ROUNDING)))


def _if_small(reach: Array, share: float) -> Array:
    """Give a share of what numbers may reach, and what underflows of hundreds of steps lose; infinite if too large."""
    return np.where(reach < LARGEST, up(up(reach * share) + UNDERFLOW), np.inf)


def sum_bound(node: Sum, scene: Scene) -> FormulaBound:
    """Enclose a sum; its derivative by an entry is that of the entry's own row, and errors of rows and steps add up."""
    rows = scene.rows(node.of, node.where)
    group = scene.facts.group[rows.active]
    many = scene.facts.count(node.where)[rows.active].astype(float)
    errors = Enclosure(many, many) * ZERO.widened(rows.error())
    slopes = {column.name: scene.at_parts(rows, rows.slope(column.name), node.where) for column in rows.columns}
    return where_defined(
        FormulaBound(
            value=total(node.of, node.where, scene),
            slopes=slopes,
            move=scene.moves(rows, rows.move()),
            error=up(grouped_sum(errors, group, scene.groups).high + sum_rounding(node.of, node.where, scene)),
            defined=scene.count(node.where) > 0,
        )
    )


def total(polynomial: Polynomial, where: Condition, scene: Scene) -> Enclosure:
    """Enclose Σ g over each group: exactly if g is public, else by Σ of each part's terms and by n·range(g)."""
    rows = scene.rows(polynomial, where)
    if rows.form.is_public:
        return public_total(polynomial, where, scene)
    active = rows.active
    many = Enclosure.of(*[scene.facts.count(where)[active].astype(float)] * 2)
    by_terms = ZERO.broadcast(active.shape)
    for term in rows.form.terms:
        constant = term.public.value
        if constant is not None:
            by_terms = by_terms + many * Enclosure.exact(constant) * rows.rest(term.rest)
            continue
        fact, rest = scene.facts.fact(term.public, where), rows.rest(term.rest)
        by_terms = by_terms + fact.positive[active] * rest + fact.negative[active] * rest
    return grouped_sum(by_terms.meet(many * rows.value()), scene.facts.group[active], scene.groups)


def public_total(polynomial: Polynomial, where: Condition, scene: Scene) -> Enclosure:
    """Enclose Σ of a public polynomial over each group as tightly as doubles can."""
    totals, denominator = exact_total(polynomial, where, scene)
    return integer_intervals(totals, denominator)


def exact_total(polynomial: Polynomial, where: Condition, scene: Scene) -> tuple[list[int], int]:
    """Give Σ of a public polynomial over each group as integers over a denominator."""
    constant = polynomial.value
    if constant is not None:
        counts = scene.facts.by_group(scene.facts.count(where))
        return [constant.numerator * count for count in counts], constant.denominator
    fact = scene.facts.fact(polynomial, where)
    above, below = scene.facts.by_group(fact.above), scene.facts.by_group(fact.below)
    return [one + two for one, two in zip(above, below, strict=True)], fact.denominator
