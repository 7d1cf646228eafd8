"""Means under the square of a tensor of polynomials: by rules that agree, or split where a loss is not smooth."""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise.loss import Loss
from errorfloor.noise.numerical import NOT_FOUND
from errorfloor.noise.piecewise_cells import volumes
from errorfloor.noise.piecewise_losses import smooth_parts
from errorfloor.noise.piecewise_quadrature import simplex_rule
from errorfloor.noise.recent import Recent
from errorfloor.noise.spectral_axis import Axis, along, gauss

POINTS = 10  # of a rule on a triangle, along each of its directions
SHORT = 6  # degrees for which one of the squares that are cut into triangles will do
MOST_NODES = 600_000
MOST_OUTER = 400_000  # lines along which |direction·w + offset| is integrated
FINER = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)  # nodes of rules, in those of one
_rules: Recent[tuple[Array, Array, float]] = Recent(kept=2)


def mean_absolute(axes: tuple[Axis, ...], unit: Array, direction: Array, offset: float) -> tuple[float, float]:
    """E|direction·w + offset| under u², and the relative change when the rule was last refined.

    Along the axis that the direction moves most the integral is exact, whatever the others are: with t where the line
    crosses the kink, ∫|x−t|u² = ∫(x−t)u² + 2∫_{x<t}(t−x)u². What is left is smooth enough for Gauss rules.
    """
    reach = [abs(d) * float(axis.breaks[-1] - axis.breaks[0]) for d, axis in zip(direction, axes, strict=True)]
    inner = int(np.argmax(reach))
    others = [i for i in range(len(axes)) if i != inner]
    if len(others) == 1:
        return _in_the_plane(axes, unit, direction, offset, inner), 0.0
    previous, change = math.nan, math.inf
    for factor in (1, 2, 3, 5, 8, 13):
        rules = [axes[i].rule_with(factor * (axes[i].degree + 4)) for i in others]
        if math.prod(len(w) for _, w, _ in rules) > MOST_OUTER and not math.isnan(previous):
            break
        lines, weights, places = np.moveaxis(unit, inner, -1), np.ones(()), np.zeros(())
        for place, (i, (x, w, basis)) in enumerate(zip(others, rules, strict=True)):
            lines = along(basis, lines, place)
            weights = np.multiply.outer(weights, w)
            places = np.add.outer(places, direction[i] * x)
        slope = float(direction[inner])
        turn = -(offset + places.ravel()) / slope
        total = abs(slope) * float(weights.ravel() @ _beside(axes[inner], lines.reshape(-1, axes[inner].size), turn))
        change = abs(total - previous) / abs(total) if total else 0.0
        previous = total
        if change <= 1e-13:
            break
    return previous, change


def _in_the_plane(axes: tuple[Axis, ...], unit: Array, direction: Array, offset: float, inner: int) -> float:
    """With two coordinates all is exact: between places where the kink crosses breaks there are only polynomials."""
    outer, slope, tilt = axes[1 - inner], float(direction[inner]), float(direction[1 - inner])
    crossings = -(offset + slope * axes[inner].breaks) / tilt if tilt else np.zeros(0)
    inside = crossings[(crossings > outer.breaks[0]) & (crossings < outer.breaks[-1])]
    ends = np.unique(np.concatenate([outer.breaks, inside]))
    nodes, weights = gauss(outer.degree + axes[inner].degree + 3)
    half = np.diff(ends)[:, None] / 2
    x, w = (ends[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()
    lines = outer.values(x) @ (unit if inner == 1 else unit.T)
    return abs(slope) * float(w @ _beside(axes[inner], lines, -(offset + tilt * x) / slope))


def _beside(axis: Axis, lines: Array, turn: Array) -> Array:
    """∫|x − t|u² along one axis, for each line's coefficients and each t: exact but for rounding."""
    centre = float(axis.breaks[0] + axis.breaks[-1]) / 2
    mass = ((lines @ axis.mass) * lines).sum(axis=1)
    first = ((lines @ axis.weighted(lambda x: x - centre)) * lines).sum(axis=1)
    total = first - (turn - centre) * mass
    nodes, weights = gauss(axis.degree + 2)
    for low, high in zip(axis.breaks[:-1], axis.breaks[1:], strict=True):
        end = np.clip(turn, low, high)
        live = np.flatnonzero(end > low)
        if not live.size:
            continue
        half = (end[live] - low) / 2
        x = low + half[:, None] * (nodes + 1)
        basis = axis.values(x.ravel()).reshape(len(live), len(nodes), -1)
        values = np.einsum("pqs,ps->pq", basis, lines[live])
        total[live] += 2 * half * ((values**2 * (turn[live, None] - x)) @ weights)
    return np.asarray(total)


def plane_rule(axes: tuple[Axis, Axis], loss: Loss) -> tuple[Array, Array, float]:
    """In two coordinates: nodes, weights times the loss, and an estimate of the relative error, for ∫ℓu².

    >>> one = Axis(np.array([-1.0, 1.0]), 4)
    >>> points, weighted, error = plane_rule((one, one), Loss(None, lambda w: np.abs(w[..., 0] + w[..., 1])))
    >>> round(float(weighted.sum()), 12)  # 8/3
    2.666666666667
    """
    key = (*(axis.breaks.tobytes() for axis in axes), *(axis.degree for axis in axes), loss.function)
    return _rules.find(key, lambda: _plane_rule(axes, loss))


def _plane_rule(axes: tuple[Axis, Axis], loss: Loss) -> tuple[Array, Array, float]:
    corners = _triangles(axes)
    leaves = smooth_parts(corners, loss, POINTS, MOST_NODES)
    nodes, weights = simplex_rule(2, POINTS)
    where = np.einsum("pij,pjk->pik", leaves.part, corners[leaves.cell])
    points = np.einsum("qi,pik->pqk", nodes, where)
    weighted = volumes(where)[:, None] * weights * np.asarray(loss(points))
    return points.reshape(-1, 2), weighted.reshape(-1), leaves.error


def _triangles(axes: tuple[Axis, Axis]) -> Array:
    """Triangles so small that a rule on each integrates the square of a polynomial of the axes' degrees."""
    cuts = []
    for axis in axes:
        parts = -(-axis.degree // SHORT)
        share = np.arange(parts) / parts
        inner = axis.breaks[:-1, None] + np.diff(axis.breaks)[:, None] * share
        cuts.append(np.append(inner.ravel(), axis.breaks[-1]))
    x, y = np.meshgrid(*cuts, indexing="ij")
    grid = np.stack([x, y], axis=-1)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    return np.concatenate(
        [np.stack([a, b, c], axis=2).reshape(-1, 3, 2), np.stack([a, c, d], axis=2).reshape(-1, 3, 2)]
    )


def mean_on_line(axis: Axis, u: Callable[[Array], Array], function: Callable[[Array], Array]) -> float:
    """On the line: ∫f u², pieces halved until a rule on each agrees with the rules on its halves."""
    nodes, weights = gauss(axis.degree + 4)

    def rule(a: Array, b: Array) -> Array:
        half = (b - a)[:, None] / 2
        x = a[:, None] + half * (nodes + 1)
        return np.asarray((function(x) * u(x.reshape(-1, 1)).reshape(x.shape) ** 2 * half) @ weights)

    a, b, total, size = axis.breaks[:-1], axis.breaks[1:], 0.0, 0.0
    for _ in range(60):
        middle = (a + b) / 2
        whole, left, right = rule(a, b), rule(a, middle), rule(middle, b)
        size = max(size, float(np.abs(left).sum() + np.abs(right).sum()))
        if not math.isfinite(size):
            break
        settled = np.abs(left + right - whole) <= 1e-14 * size
        total += float((left + right)[settled].sum())
        if settled.all():
            return total
        a, b = (np.concatenate([x[~settled], y[~settled]]) for x, y in ((a, middle), (middle, b)))
    raise ConvergenceError(NOT_FOUND)


def mean_by_rules(
    axes: tuple[Axis, ...],
    unit: Array,
    integrand: Callable[[Array, list[Array]], Array],
    tolerance: float,
    most: float = 2e7,
    *,
    up: bool = False,
) -> float:
    """Refine until two rules agree to 1e-12, or as far as memory allows; the error must then be tolerated.

    At a kink the error falls as the square of the number of nodes, so that it is read off the two rules before, the
    more cautious reading counts; rounded ``up``, it is added.
    """
    before: list[tuple[float, float]] = []
    best = math.inf
    least = 2 if up else 0  # a mean that is asked for by a design needs two rules at least
    for factor in FINER:
        counts = [math.ceil(factor * (a.degree + 4)) for a in axes]
        if factor > least and math.prod(n * a.pieces for n, a in zip(counts, axes, strict=True)) > most:
            break
        rules = [a.rule_with(n) for n, a in zip(counts, axes, strict=True)]
        values, weights = unit, np.ones(())
        for i, (_, w, basis) in enumerate(rules):
            values = along(basis, values, i)
            weights = np.multiply.outer(weights, w)
        total = float((integrand(values, [x for x, _, _ in rules]) * weights).sum())
        changes = [(abs(total - other) / (abs(total) or 1.0), (factor / fewer) ** 2 - 1) for fewer, other in before]
        if changes and changes[-1][0] <= 1e-12:
            return total
        best = max((change / min(1.0, finer) for change, finer in changes), default=math.inf)
        before = [*before[-1:], (factor, total)]
    if best <= tolerance:
        return total + best * abs(total) if up else total
    raise ConvergenceError(f"a mean under this noise was not found to a relative {tolerance:g}: use samples")
