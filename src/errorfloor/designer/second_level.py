"""How far above the ground the second level lies: proved, by counting zeros on the line and by convexity beyond it."""

import itertools
import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.one_axis import Line
from errorfloor.designer.potential import Curve, Potential

TRIES = ((800, 0.7), (800, 0.35), (6400, 0.35), (6400, 0.1))  # cells, and how far up to the estimate
CLOSE = ((6400, 0.99), (6400, 0.9), *TRIES)


def second_level(
    line: Line, low: float, high: float, above: float, estimate: float, tries: tuple[tuple[int, float], ...] = TRIES
) -> float | None:
    """Give ρ > above that is at most the second eigenvalue of −k u″ + V u on the line's interval, or None.

    A convex V lies above the secants of its neighbours, so a step function of them has lower eigenvalues (the window's
    end values go on outside it); for steps the solution is elementary, and by Sturm's theorem at most one eigenvalue
    lies below ρ if the solution at ρ that starts at the left end has at most one zero.

    >>> 9.0 < second_level(Line(1.0, Curve(), 0.0, 1.0), 0.0, 1.0, 9.87, 39.48) < 39.48
    True
    """
    if not estimate > above:
        return None
    for cells, share in tries:
        grid = np.linspace(low, high, cells + 1)
        steps = _below(line.curve(grid), grid)
        level = above + share * (estimate - above)
        if _zeros(line, grid, steps, level) <= 1:
            return level
    return None


def _below(values: Array, grid: Array) -> Array:
    """A step function below a convex function, from secants of cells to the left and to the right."""
    slope = np.diff(values) / np.diff(grid)
    left, right = np.full(len(slope), -math.inf), np.full(len(slope), -math.inf)
    left[1:] = np.minimum(values[1:-1], values[1:-1] + slope[:-1] * np.diff(grid)[1:])
    right[:-1] = np.minimum(values[1:-1], values[1:-1] - slope[1:] * np.diff(grid)[:-1])
    return np.asarray(np.maximum(left, right))


def _zeros(line: Line, grid: Array, steps: Array, level: float) -> float:
    """Zeros of the solution of −k u″ + V u = level·u from the left end on; infinite if a tail would oscillate."""
    tails = (grid[0] > line.low, grid[-1] < line.high)
    ends = line.curve(grid[[0, -1]])
    if any(open_end and level >= V for open_end, V in zip(tails, ends, strict=True)):
        return math.inf
    u, du = (1.0, math.sqrt((float(ends[0]) - level) / line.k)) if tails[0] else (0.0, 1.0)
    zeros = 0
    for width, V in zip(np.diff(grid).tolist(), steps.tolist(), strict=True):
        w = math.sqrt(abs(level - V) / line.k)
        z = w * width
        if level > V and z > 3:
            return math.inf  # a cell may then hold two zeros
        c, s = (math.cos(z), math.sin(z)) if level > V else (math.cosh(min(z, 300.0)), math.sinh(min(z, 300.0)))
        sign = -1.0 if level > V else 1.0
        after = (u * c + du * (s / w if w > 0 else width), sign * u * w * s + du * c)
        zeros += after[0] * u < 0 or (after[0] == 0 and u != 0)
        size = abs(after[0]) + width * abs(after[1])
        u, du = after[0] / size, after[1] / size
    if tails[1]:
        growing = du + math.sqrt((float(ends[1]) - level) / line.k) * u
        zeros += growing * u < 0
    return zeros


def convex_gap(A: Array, potential: Potential, low: Array, high: Array) -> float:
    """A lower bound of λ₂ − λ₁ for −div(A∇) + V on the box from low to high, V convex.

    3π²/D² on a convex set of diameter D (Andrews and Clutterbuck), measured by A⁻¹; and 2√μ where V − xᵀRx is convex
    and A^½RA^½ ⪰ μ, as for the harmonic oscillator (Brascamp and Lieb).

    >>> round(convex_gap(np.eye(1), Potential.none(1), np.zeros(1), np.ones(1)) / math.pi**2, 12)
    3.0
    """
    gap = 0.0
    width = high - low
    if np.isfinite(width).all():
        inverse = np.linalg.inv(A)
        diameter = max(
            float((signs * width) @ inverse @ (signs * width))
            for signs in map(np.array, itertools.product((1.0, -1.0), repeat=len(width)))
        )
        gap = 3 * math.pi**2 / diameter
    if potential.weight is not None:
        root = np.linalg.cholesky(A)
        gap = max(gap, 2 * math.sqrt(max(0.0, float(np.linalg.eigvalsh(root.T @ potential.weight @ root)[0]))))
    return gap


def line_of(A: Array, potential: Potential, low: Array, high: Array, axis: int) -> Line:
    """The one-dimensional problem along an axis when nothing is coupled."""
    curve: Curve = potential.curves[axis]
    return Line(float(A[axis, axis]), curve, float(low[axis]), float(high[axis]))
