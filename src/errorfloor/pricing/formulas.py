"""The walk over a formula: rules of calculus on enclosures, from aggregates up to an output."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.pricing.covariance import covariance_bound
from errorfloor.pricing.functions import FUNCTIONS, TINY
from errorfloor.pricing.interval import ZERO, Interval, quiet, up
from errorfloor.pricing.refusals import no_derivative, no_quotient
from errorfloor.pricing.scene import Bound, Scene, where_defined
from errorfloor.pricing.totals import sum_bound
from errorfloor.pricing.weighted_mean import weighted_mean_bound
from errorfloor.sql.apply import APPLY_ERROR
from errorfloor.sql.plan import (
    Apply,
    Constant,
    Count,
    Covariance,
    Formula,
    Plus,
    Power,
    Quotient,
    Sum,
    Times,
    WeightedMean,
)

AS_A_DOUBLE = 2.0**-52  # relative: the exact result becomes a double
NEARLY = Interval.of(1 - AS_A_DOUBLE, 1 + AS_A_DOUBLE)  # more than any function of a formula is off by
LEAST_ERROR = 2.0**-400  # its square is still a double: no result is called exact


def formula_bound(node: Formula, scene: Scene) -> Bound:
    """Enclose a formula on every group.

    *Guarantee*: moving one private entry by h within its range moves the computed value by at most h·sup|slope| +
    2·error; ``formulas.proof.md``.

    Raises ``RefusedError`` where a derivative has no bound.
    """
    match node:
        case Constant():
            return _exact(Interval.exact(node.value).broadcast((scene.groups,)), scene)
        case Count():
            return _exact(Interval(scene.count(node.where), scene.count(node.where)), scene)
        case Sum():
            return sum_bound(node, scene)
        case Covariance():
            return covariance_bound(node, scene)
        case WeightedMean():
            return weighted_mean_bound(node, scene)
        case Plus():
            return _folded(node.parts, scene, _plus)
        case Times():
            return _folded(node.parts, scene, _times)
        case Quotient():
            return _quotient(node, scene)
        case Power():
            return _power(node, scene)
        case Apply():
            return _apply(node, scene)


@quiet
def final_error(bound: Bound) -> Array:
    """Bound what the released number is off by before noise: the formula's error and its conversion to a double."""
    return up(up(bound.error + up(AS_A_DOUBLE * bound.value.magnitude)) + LEAST_ERROR)


def _exact(value: Interval, scene: Scene) -> Bound:
    still = np.zeros(len(scene.facts.rows))
    return Bound(value, {}, still, np.zeros(scene.groups), np.ones(scene.groups, dtype=bool))


def _folded(parts: tuple[Formula, ...], scene: Scene, rule: Callable[[Bound, Bound, Scene], Bound]) -> Bound:
    result = formula_bound(parts[0], scene)
    for part in parts[1:]:
        result = where_defined(rule(result, formula_bound(part, scene), scene))
    return result


def _names(*bounds: Bound) -> list[str]:
    return sorted({name for bound in bounds for name in bound.slopes})


def _slope(bound: Bound, name: str) -> Interval:
    return bound.slopes.get(name, ZERO)


def _plus(one: Bound, two: Bound, scene: Scene) -> Bound:
    slopes = {name: _slope(one, name) + _slope(two, name) for name in _names(one, two)}
    move, error = up(one.move + two.move), up(one.error + two.error)
    return Bound(one.value + two.value, slopes, move, error, one.defined & two.defined)


def _times(one: Bound, two: Bound, scene: Scene) -> Bound:
    """(fg)′ = f′g + fg′."""
    here, there = one.value[scene.facts.group], two.value[scene.facts.group]
    slopes = {name: _slope(one, name) * there + _slope(two, name) * here for name in _names(one, two)}
    move = up(up(one.move * there.magnitude) + up(two.move * here.magnitude))
    error = up(up(one.error * two.value.magnitude) + up(two.error * one.value.magnitude))
    return Bound(one.value * two.value, slopes, move, error, one.defined & two.defined)


def _quotient(node: Quotient, scene: Scene) -> Bound:
    """(f/g)′ = (f′ − (f/g)·g′)/g; NULL where g is zero by public facts, refused where it merely may be."""
    above, below = formula_bound(node.numerator, scene), formula_bound(node.denominator, scene)
    zero = (below.value.low == 0) & (below.value.high == 0)
    defined = above.defined & below.defined & ~zero
    if (below.value.has_zero & defined).any():
        raise no_quotient(node.numerator, node.denominator, below.value[below.value.has_zero & defined])
    one = Interval.of(1.0, 1.0)
    top, bottom = above.value.where(defined, one), below.value.where(defined, one)
    ratio = top / bottom
    here, under = ratio[scene.facts.group], bottom[scene.facts.group]
    slopes = {name: (_slope(above, name) - here * _slope(below, name)) / under for name in _names(above, below)}
    move = ZERO.widened(up(above.move + up(below.move * here.magnitude))) / under
    off = ZERO.widened(up(above.error + up(below.error * ratio.magnitude))) / bottom
    return where_defined(Bound(ratio, slopes, move.high, off.high, defined))


def _power(node: Power, scene: Scene) -> Bound:
    """(f^k)′ = k·f^(k−1)·f′."""
    base = formula_bound(node.base, scene)
    steep = Interval.exact(node.exponent) * base.value ** (node.exponent - 1)
    return _chained(base, base.value**node.exponent, steep, scene)


def _apply(node: Apply, scene: Scene) -> Bound:
    """f(g)′ = f′(g)·g′; the function itself is off by a relative error of ``APPLY_ERROR``."""
    inner = formula_bound(node.argument, scene)
    function = FUNCTIONS[node.function]
    outside = ~function.domain(inner.value, node.parameters) & inner.defined
    if outside.any():
        raise no_derivative(node.function, node.parameters, node.argument, inner.value[outside])
    value = function.value(inner.value, node.parameters)
    own = up(APPLY_ERROR * value.magnitude + TINY)
    chained = _chained(inner, value * NEARLY, function.slope(inner.value, node.parameters), scene)
    return where_defined(replace(chained, error=up(chained.error + own)))


def _chained(inner: Bound, value: Interval, steep: Interval, scene: Scene) -> Bound:
    at_parts = steep[scene.facts.group]
    slopes = {name: at_parts * slope for name, slope in inner.slopes.items()}
    move, error = up(at_parts.magnitude * inner.move), up(steep.magnitude * inner.error)
    return where_defined(Bound(value, slopes, move, error, inner.defined))
