"""What the arithmetic of formulas may be off by, from the sums of an engine on: bounds that follow from public facts.

Sums are computed as Σ factor·S over the monomials of a polynomial, in double words. M = Σ |factor|·largest bounds the
terms of one row, so that n rows give terms of at most n·M together.
"""

from fractions import Fraction

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.interval import Interval, quiet, up
from errorfloor.pricing.scene import Bound, Scene
from errorfloor.sql.double_words import LARGEST, ROUNDING
from errorfloor.sql.plan import Condition
from errorfloor.sql.polynomial import Polynomial
from errorfloor.sql.scaled import largest, scaled

UNDERFLOW = 2.0**-1060  # a step loses less than 2⁻¹⁰⁷⁰ by underflow


def size(polynomial: Polynomial, scene: Scene) -> tuple[float, int]:
    """Give M, rounded up, and the number of terms.

    Every step that adds a term is off by at most ``ROUNDING`` of n·M, and so is the term itself.
    """
    terms = scaled(polynomial, scene.layout)
    total = sum((abs(factor) * largest(monomial, scene.layout) for monomial, factor in terms), Fraction(0))
    return float(Interval.exact(total).high), len(terms)


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
def computed(bound: Bound) -> Interval:
    """Enclose what is computed for a formula, beside its exact value."""
    return bound.value.widened(bound.error)


@quiet
def rounded(value: Interval, error: Array, steps: int = 1) -> Array:
    """Add what some steps of arithmetic are off by to an error; it is infinite where a number is too large for them."""
    reach = up(value.magnitude + error)
    return up(error + up(_if_small(reach, 2 * steps * ROUNDING)))


def _if_small(reach: Array, share: float) -> Array:
    """Give a share of what numbers may reach, and what underflows of hundreds of steps lose; infinite if too large."""
    return np.where(reach < LARGEST, up(up(reach * share) + UNDERFLOW), np.inf)
