"""Lower bounds of the least levels of −k u″ + V u on a line, V convex: from values of V alone.

A convex function lies above the secants of neighbouring cells, continued, and so above a step function. With the steps
in place of V, Crouzeix–Raviart elements on the line bound the levels; where V has reached a ceiling the line may be
cut, if nothing is asked of functions there.
"""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.bounds.crouzeix_raviart import eigenvalue_bound
from errorfloor.designer.meshes.mesh import Mesh

PIECES = 1500
INNER = 4.0  # where V is below the ceiling by this factor most of the pieces are
ROUNDING = 1e-12  # relative: what levels without a potential are lowered by


def free_levels(k: float, low: float, high: float, count: int) -> Array:
    """The first levels of −k u″ between two ends, a little less for rounding: kπ²n²/width²."""
    return np.asarray(k * (math.pi * np.arange(1, count + 1) / (high - low)) ** 2 * (1 - ROUNDING))


def levels_on_line(
    k: float,
    potential: Callable[[Array], Array],
    ends: tuple[float, float],
    place: float,
    ceiling: float,
    count: int,
) -> Array:
    """Lower bounds, up to ``ceiling``, of the first ``count`` levels of −k u″ + V u between two ends, zero there.

    Guarantee: they hold for every convex V with these values. ``place`` is about where V is least; where V is not below
    the ceiling there, nothing is known.

    >>> levels_on_line(1.0, np.abs, (-math.inf, math.inf), 0.0, 5.0, 2).round(2).tolist()  # 1.0188 and 2.3381, Airy's
    [1.02, 2.33]
    """
    if not float(potential(np.array([place]))[0]) < ceiling:
        return np.full(count, -math.inf)
    low, high = (_reached(potential, place, sign, end, ceiling) for sign, end in zip((-1, 1), ends, strict=True))
    unit = math.sqrt(k)
    # most of the pieces where the lowest states live
    inner = [_reached(potential, place, sign, end, ceiling / INNER) for sign, end in zip((-1, 1), ends, strict=True)]
    each = PIECES // 6
    parts = [
        np.linspace(low, inner[0], each),
        np.linspace(inner[0], inner[1], PIECES - 2 * each),
        np.linspace(inner[1], high, each),
    ]
    grid = np.unique(np.concatenate(parts))
    steps = steps_below(potential(grid), grid)
    least = float(steps.min())
    walls = [[1.0, place / unit] for place, end in ((low, ends[0]), (high, ends[1])) if place != end]
    cells = np.stack([np.arange(len(steps)), np.arange(1, len(grid))], axis=1)
    mesh = Mesh(grid[:, None] / unit, cells, np.array(walls) if walls else None)
    levels = [least + eigenvalue_bound(mesh, steps - least, which) for which in range(count)]
    return np.minimum(levels, ceiling)


def steps_below(values: Array, grid: Array) -> Array:
    """A step function below a convex function, from secants of the cells to the left and to the right."""
    width = np.diff(grid)
    slope = np.diff(values) / width
    left, right = np.full(len(slope), -math.inf), np.full(len(slope), -math.inf)
    left[1:] = np.minimum(values[1:-1], values[1:-1] + slope[:-1] * width[1:])
    right[:-1] = np.minimum(values[1:-1], values[1:-1] - slope[1:] * width[:-1])
    return np.asarray(np.maximum(left, right))


def _reached(potential: Callable[[Array], Array], place: float, sign: int, end: float, ceiling: float) -> float:
    """Where V is at least the ceiling on one side of a place, or that side's end."""
    above = abs(end - place) if math.isfinite(end) else 1 + abs(place)

    def is_high(distance: float) -> bool:
        return bool(float(potential(np.array([place + sign * distance]))[0]) >= ceiling)

    while not is_high(above):
        if math.isfinite(end):
            return end
        above *= 2
    while is_high(above / 2) and above > 0:
        above /= 2
    below = above / 2
    for _ in range(20):
        middle = (below + above) / 2
        below, above = (below, middle) if is_high(middle) else (middle, above)
    return place + sign * above if above < abs(end - place) else end
