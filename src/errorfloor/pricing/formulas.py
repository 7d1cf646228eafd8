"""The walk over a formula: rules of calculus on enclosures, from aggregates up to an output."""

from collections.abc import Callable

import numpy as np

from errorfloor.arithmetic.double_functions import FUNCTION_ERROR
from errorfloor.arithmetic.double_words import LEAST, UNDERFLOW
from errorfloor.checks import Array
from errorfloor.pricing.covariance import covariance_bound
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import ZERO, Enclosure, quiet, up
from errorfloor.pricing.scene import FormulaBound, Rise, Scene, computed, rounded, sum_bound, where_defined
from errorfloor.pricing.weighted_mean import weighted_mean_bound
from errorfloor.pricing.words import no_derivative, no_quotient
from errorfloor.sql import plan

AS_A_DOUBLE = 2.0**-49  # relative: eight times what the released double may be off by, so that 62 bits hold its steps
ABSOLUTE = ("ln", "tanh")  # functions whose error is not relative to a small value
POSITIVE = ("ln", "sqrt")  # functions of numbers above 0
LEAST_ERROR = 2.0**-400  # its square is still a double: no result is called exact


def formula_bound(node: plan.Formula, scene: Scene) -> FormulaBound:
    """Enclose a formula on every group.

    *Guarantee*: moving one private entry by h within its range moves the computed value by at most h·sup|slope| +
    2·error; ``formulas.proof.md``.

    Raises ``RefusedError`` where a derivative has no bound.
    """
    if node not in scene.known:
        scene.known[node] = _bound(node, scene)
    return scene.known[node]


def _bound(node: plan.Formula, scene: Scene) -> FormulaBound:
    match node:
        case plan.Constant():
            constant = Enclosure.exact(node.value).broadcast((scene.groups,))
            return _public(constant, rounded(constant, np.zeros(scene.groups)), scene)
        case plan.Count():
            return _public(Enclosure(scene.count(node.where), scene.count(node.where)), np.zeros(scene.groups), scene)
        case plan.Sum():
            return sum_bound(node, scene)
        case plan.Covariance():
            return covariance_bound(node, scene)
        case plan.WeightedMean():
            return weighted_mean_bound(node, scene)
        case plan.Plus():
            return _folded(node.parts, scene, _plus)
        case plan.Times():
            return _folded(node.parts, scene, _times)
        case plan.Quotient():
            return _quotient(node, scene)
        case plan.Power():
            return _power(node, scene)
        case plan.Apply():
            return _apply(node, scene)


@quiet
def final_error(bound: FormulaBound) -> Array:
    """Bound what the released number is off by before noise: the formula's error and its conversion to a double."""
    return up(up(bound.error + up(AS_A_DOUBLE * computed(bound).magnitude)) + LEAST_ERROR)


def _public(value: Enclosure, error: Array, scene: Scene) -> FormulaBound:
    still = np.zeros(len(scene.facts.rows))
    return FormulaBound(value, {}, still, error, np.ones(scene.groups, dtype=bool))


def _folded(
    parts: tuple[plan.Formula, ...], scene: Scene, rule: Callable[[FormulaBound, FormulaBound, Scene], FormulaBound]
) -> FormulaBound:
    result = formula_bound(parts[0], scene)
    for part in parts[1:]:
        result = where_defined(rule(result, formula_bound(part, scene), scene))
    return result


def _names(*bounds: FormulaBound) -> list[str]:
    return sorted({name for bound in bounds for name in bound.slopes})


def _slope(bound: FormulaBound, name: str) -> Enclosure:
    return bound.slopes.get(name, ZERO)


def _plus(one: FormulaBound, two: FormulaBound, scene: Scene) -> FormulaBound:
    slopes = {name: _slope(one, name) + _slope(two, name) for name in _names(one, two)}
    total = one.value + two.value
    error = rounded(total, up(one.error + two.error))
    rise = _rise(one, two, None, None)
    return FormulaBound(total, slopes, up(one.move + two.move), error, one.defined & two.defined, rise)


def _times(one: FormulaBound, two: FormulaBound, scene: Scene) -> FormulaBound:
    """(fg)′ = f′g + fg′."""
    here, there = one.value[scene.facts.group], two.value[scene.facts.group]
    slopes = {name: _slope(one, name) * there + _slope(two, name) * here for name in _names(one, two)}
    move = up(up(one.move * there.magnitude) + up(two.move * here.magnitude))
    product = one.value * two.value
    carried = up(up(one.error * computed(two).magnitude) + up(two.error * one.value.magnitude))
    error = rounded(product, up(carried + UNDERFLOW))
    rise = _rise(one, two, there.magnitude, here.magnitude)
    return FormulaBound(product, slopes, move, error, one.defined & two.defined, rise)


def _quotient(node: plan.Quotient, scene: Scene) -> FormulaBound:
    """(f/g)′ = (f′ − (f/g)·g′)/g; NULL where g is zero by public facts, refused where it merely may be."""
    above, below = formula_bound(node.numerator, scene), formula_bound(node.denominator, scene)
    zero = (below.value.low == 0) & (below.value.high == 0)
    defined = above.defined & below.defined & ~zero
    divisor = computed(below)
    if (divisor.has_zero & defined).any():
        raise no_quotient(node.numerator, node.denominator, below.value[divisor.has_zero & defined])
    one = Enclosure.of(1.0, 1.0)
    top, bottom, divisor = (each.where(defined, one) for each in (above.value, below.value, divisor))
    ratio = top / bottom
    here, under = ratio[scene.facts.group], bottom[scene.facts.group]
    slopes = {name: (_slope(above, name) - here * _slope(below, name)) / under for name in _names(above, below)}
    move = ZERO.widened(up(above.move + up(below.move * here.magnitude))) / under
    off = ZERO.widened(up(up(above.error + up(below.error * ratio.magnitude)) + UNDERFLOW)) / divisor
    error = np.where(_far_from_zero(divisor), rounded(ratio, off.high), np.inf)
    steep = (one / under).magnitude
    rise = _rise(above, below, steep, up(steep * here.magnitude))
    return where_defined(FormulaBound(ratio, slopes, move.high, error, defined, rise))


def _power(node: plan.Power, scene: Scene) -> FormulaBound:
    """(f^k)′ = k·f^(k−1)·f′."""
    base = formula_bound(node.base, scene)
    steep, widely = (
        Enclosure.exact(node.exponent) * value ** (node.exponent - 1) for value in (base.value, computed(base))
    )
    value = base.value**node.exponent
    error = rounded(value, up(widely.magnitude * base.error + node.exponent * UNDERFLOW), 2 * node.exponent)
    return _chained(base, value, steep, error, scene)


def _apply(node: plan.Apply, scene: Scene) -> FormulaBound:
    """f(g)′ = f′(g)·g′; the function itself is off by ``FUNCTION_ERROR``, of its value or absolutely."""
    inner = formula_bound(node.argument, scene)
    function = FUNCTIONS[node.function]
    argument = computed(inner).where(inner.defined, inner.value)
    outside = ~function.domain(argument, node.parameters) & inner.defined
    if outside.any():
        raise no_derivative(node.function, node.parameters, node.argument, inner.value[outside])
    value, steep = (rule(inner.value, node.parameters) for rule in (function.value, function.slope))
    reach, widely = (rule(argument, node.parameters) for rule in (function.value, function.slope))
    scale = np.maximum(reach.magnitude, 1.0 if node.function in ABSOLUTE else 0.0)
    own = up(FUNCTION_ERROR * scale + UNDERFLOW)
    error = rounded(value, up(up(widely.magnitude * inner.error) + own))
    error = np.where(_far_from_zero(argument) | (node.function not in POSITIVE), error, np.inf)
    return _chained(inner, value, steep, error, scene)


def _chained(inner: FormulaBound, value: Enclosure, steep: Enclosure, error: Array, scene: Scene) -> FormulaBound:
    at_parts = steep[scene.facts.group]
    slopes = {name: at_parts * slope for name, slope in inner.slopes.items()}
    move, rise = up(at_parts.magnitude * inner.move), _scaled(inner, at_parts.magnitude)
    return where_defined(FormulaBound(value, slopes, move, error, inner.defined, rise))


def _rise(one: FormulaBound, two: FormulaBound, first: Array | None, second: Array | None) -> Rise | None:
    """Give the rise of what two formulas make, one of them public, by how far it moves with each of them."""
    if one.slopes and two.slopes:
        return None
    return _scaled(one, first) if one.slopes else _scaled(two, second)


@quiet
def _scaled(bound: FormulaBound, steep: Array | None) -> Rise | None:
    if bound.rise is None or steep is None:
        return bound.rise
    rows, by = bound.rise
    return rows, up(by * steep)


def _far_from_zero(value: Enclosure) -> Array:
    return (value.low >= LEAST) | (value.high <= -LEAST)
