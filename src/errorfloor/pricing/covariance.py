"""Covariances and variances: sharper than the rules for sums and products, as deviations from the mean are bounded.

The rules are derived in ``covariance.proof.md``, what one whole row moves in ``formulas.proof.md``.
"""

import math

import numpy as np

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.checks import Array
from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import UNIT, ZERO, Enclosure, integer_intervals, quiet, up
from errorfloor.pricing.rows import PricedRows, form_of
from errorfloor.pricing.scene import FormulaBound, Scene, covariance_rounding, exact_total, public_total, where_defined
from errorfloor.sql.plan import Condition, Covariance

HALF = Enclosure.of(0.5, 0.5)


def covariance_bound(node: Covariance, scene: Scene) -> FormulaBound:
    """Enclose a covariance: ∂cov/∂x = (1/n)·(∂g_i·(h_i − mean h) + ∂h_i·(g_i − mean g)) for an entry x of row i."""
    first, second = (scene.rows(polynomial, node.where) for polynomial in (node.first, node.second))
    count = scene.count(node.where)
    defined = count >= (2 if node.sample else 1)
    n, fewer = _counts(count)
    stretch = n / fewer if node.sample else UNIT
    ranges = [rows.value() for rows in (first, second)]
    hulls = [scene.over_groups(rows, found) for rows, found in zip((first, second), ranges, strict=True)]
    single = count <= 1
    errors = ZERO.widened(up(scene.worst_error(first) * hulls[1].width)) + ZERO.widened(
        up(scene.worst_error(second) * hulls[0].width)
    )
    slopes = {}
    for name in sorted({column.name for rows in (first, second) for column in rows.columns}):
        moved = _pull(node.second, second, ranges[1], hulls[1], node, scene) * first.slope(name)
        moved = moved + _pull(node.first, first, ranges[0], hulls[0], node, scene) * second.slope(name)
        slopes[name] = scene.at_parts(first, moved, node.where)
    return where_defined(
        FormulaBound(
            value=ZERO.where(single, _spread(node, scene, hulls) * stretch),
            slopes=slopes,
            move=scene.moves(first, _moved(node, first, second, hulls, scene)),
            error=up(
                np.where(single, 0.0, (errors * HALF * stretch).high)
                + covariance_rounding(node.first, node.second, scene)
            ),
            defined=defined,
        )
    )


@quiet
def _moved(node: Covariance, first: PricedRows, second: PricedRows, hulls: list[Enclosure], scene: Scene) -> Array:
    """Bound how far one row moves it: (n − 1)/n²·(W_h·|Δg| + W_g·|Δh|), at most (n − 1)/n²·W² for a variance."""
    group = scene.facts.group[first.active]
    widths = [hull[group].width for hull in hulls]
    far = up(up(widths[1] * first.move()) + up(widths[0] * second.move()))
    if node.first == node.second:
        far = np.minimum(far, up(widths[0] ** 2))
    count = scene.count(node.where)[group]
    n, fewer = _counts(count)
    share = UNIT / n if node.sample else fewer / (n * n)
    return np.where(count <= 1, 0.0, up(far * share.high))


def _counts(count: Array) -> tuple[Enclosure, Enclosure]:
    """Give the number of rows and one less, of two rows at least."""
    safe = np.maximum(count, 2.0)
    return Enclosure(safe, safe), Enclosure(safe - 1, safe - 1)


def _pull(
    polynomial: Polynomial, rows: PricedRows, own: Enclosure, hull: Enclosure, node: Covariance, scene: Scene
) -> Enclosure:
    """Enclose (h_i − mean of h)/n for a row of each active part; over n − 1 for a sample.

    h_i − mean = (n − 1)/n · (h_i − mean of the others), and the others lie in the hull; a public mean is known.
    """
    group = scene.facts.group[rows.active]
    count = scene.count(node.where)[group]
    n, fewer = _counts(count)
    away = (own - hull[group]) * (UNIT / n if node.sample else fewer / (n * n))
    if form_of(polynomial).is_public:
        mean = public_total(polynomial, node.where, scene)[group] / n
        away = away.meet((own - mean) / (fewer if node.sample else n))
    return ZERO.where(count <= 1, away)


def _spread(node: Covariance, scene: Scene, hulls: list[Enclosure]) -> Enclosure:
    """Enclose the population covariance: exactly if both are public, else by the product of deviations."""
    if form_of(node.first).is_public and form_of(node.second).is_public:
        return _public_covariance(node.first, node.second, node.where, scene)
    most = _deviation(node.first, node.where, scene, hulls[0]) * _deviation(node.second, node.where, scene, hulls[1])
    return Enclosure(np.zeros(scene.groups) if node.first == node.second else -most.high, most.high)


def _deviation(polynomial: Polynomial, where: Condition, scene: Scene, hull: Enclosure) -> Enclosure:
    """Bound the standard deviation: half the width, or its exact value if it is public."""
    half = HALF * Enclosure(hull.width, hull.width)
    if not form_of(polynomial).is_public:
        return half
    exact = _public_covariance(polynomial, polynomial, where, scene)
    return FUNCTIONS["sqrt"].value(Enclosure(np.maximum(exact.low, 0.0), np.maximum(exact.high, 0.0)), ())


def _public_covariance(first: Polynomial, second: Polynomial, where: Condition, scene: Scene) -> Enclosure:
    """Give (n Σgh − Σg Σh)/n² from exact sums."""
    (g, one), (h, two), (gh, both) = (
        exact_total(polynomial, where, scene) for polynomial in (first, second, first * second)
    )
    n = scene.facts.by_group(scene.facts.count(where))
    unit = math.lcm(both, one * two)
    most = _most(n) * _most(gh) * (unit // both) + _most(g) * _most(h) * (unit // (one * two))
    kind = np.int64 if most < 2**63 else object
    n, g, h, gh = (integers.astype(kind) for integers in (n, g, h, gh))
    spread = integer_intervals(n * gh * (unit // both) - g * h * (unit // (one * two)), unit)
    count = integer_intervals(n, 1)
    return (spread / (count * count)).where(count.low > 0, ZERO)


def _most(integers: Array) -> int:
    return max(map(abs, (int(integers.max(initial=0)), int(integers.min(initial=0)))))
