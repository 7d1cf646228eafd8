"""Means with private weights: no weight moves the mean out of the range of the values.

The rules are derived in ``weighted_mean.proof.md``.
"""

import numpy as np

from errorfloor.arithmetic.double_words import LEAST, UNDERFLOW
from errorfloor.checks import Array
from errorfloor.pricing.interval import UNIT, ZERO, Enclosure, up
from errorfloor.pricing.scene import FormulaBound, Scene, rounded, sum_rounding, where_defined
from errorfloor.pricing.scene import total as total_of
from errorfloor.pricing.words import no_weight
from errorfloor.sql.plan import WeightedMean

SHARE = Enclosure.of(0.0, 1.0)


def weighted_mean_bound(node: WeightedMean, scene: Scene) -> FormulaBound:
    """Enclose Σaw/Σw, w ≥ 0: the derivative by an entry of row i is ∂a_i·w_i/Σw + ∂w_i·(a_i − mean)/Σw.

    Raises ``RefusedError`` for weights that may be of both signs, or all zero.
    """
    value, weight = (scene.rows(polynomial, node.where) for polynomial in (node.value, node.weight))
    group, count = scene.facts.group[value.active], scene.count(node.where)
    defined = count > 0
    own, heavy, total = value.value(), weight.value(), total_of(node.weight, node.where, scene)
    flipped = bool(heavy.high.size) and bool((heavy.high < 0).all())  # the same mean with weights of the other sign
    if flipped:
        heavy, total = -heavy, -total
    if (heavy.low < 0).any() or (total.low[defined] <= 0).any():
        raise no_weight(node.weight, weight.value())
    total = total.where(defined, UNIT)
    hull = scene.over_groups(value, own)
    share, pull = _shares(heavy, total[group], scene.over_groups(weight, heavy)[group], count[group])
    slopes = {}
    for name in sorted({column.name for rows in (value, weight) for column in rows.columns}):
        tilt = -weight.slope(name) if flipped else weight.slope(name)
        moved = value.slope(name) * share + tilt * (own - hull[group]) * pull
        slopes[name] = scene.at_parts(value, moved, node.where)
    many = Enclosure(count, count)
    tilted = many * ZERO.widened(up(scene.worst_error(weight) * hull.width)) / total
    off = up(sum_rounding(node.value * node.weight, node.where, scene))
    spun = up(sum_rounding(node.weight, node.where, scene) * hull.magnitude)
    steps = ZERO.widened(up(up(off + spun) + UNDERFLOW)) / total
    error = rounded(hull, (ZERO.widened(scene.worst_error(value)) + tilted + steps + steps).high)
    error = np.where(total.low > 2 * LEAST, error, np.inf)
    width = hull[group].width
    far = up(up(share.high * value.move()) + up(up(pull.high * width) * weight.move()))
    return where_defined(FormulaBound(hull, slopes, scene.moves(value, np.minimum(far, width)), error, defined))


def _shares(own: Enclosure, total: Enclosure, hull: Enclosure, count: Array) -> tuple[Enclosure, Enclosure]:
    """Enclose w/(w + r) and r/(w + r)² for a weight w of each part and the sum r of the other weights of its group.

    The first rises with w and falls with r; the second falls with w, and rises with r up to r = w and falls from there.
    """
    others = (Enclosure(count - 1, count - 1) * hull).meet(total - own)
    others = Enclosure(np.maximum(others.low, 0.0), np.maximum(others.high, 0.0))
    share = Enclosure(
        _share(own.low, others.high).low,
        _share(own.high, others.low).high,
    )
    peak = np.clip(own.low, others.low, others.high)
    most = np.minimum(_pulled(own.low, peak).high, (UNIT / Enclosure(total.low, total.low)).high)
    least = np.minimum(_pulled(own.high, others.low).low, _pulled(own.high, others.high).low)
    return share.meet(SHARE), Enclosure(np.maximum(least, 0.0), most)


def _share(weight: Array, others: Array) -> Enclosure:
    w, r = Enclosure(weight, weight), Enclosure(others, others)
    return w / (w + r)


def _pulled(weight: Array, others: Array) -> Enclosure:
    w, r = Enclosure(weight, weight), Enclosure(others, others)
    return r / (w + r) ** 2
