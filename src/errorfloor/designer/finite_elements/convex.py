"""What is proved of a convex function of which only values are known: affine functions below it on simplices."""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array

STEP = 1 / 32  # ε: nearly the slope in the middle, and rounding is multiplied by no more than its inverse
MOST_SIMPLICES = 40_000  # that are looked at in search of a least value

Function = Callable[[Array], Array]


def affine_below(function: Function, corners: Array) -> Array:
    """Affine functions below a convex one on simplices, at their corners (simplex, corner, coordinate).

    With c the middle of a simplex, v_i its corners and y_i = c − ε(v_i − c), which lie inside as well, c is between y_i
    and v_i, and so ℓ(Σλ_i v_i) ≥ (1 + 1/ε)ℓ(c) − ℓ(Σλ_i y_i)/ε ≥ Σλ_i((1 + 1/ε)ℓ(c) − ℓ(y_i)/ε).
    """
    middle = corners.mean(axis=1)
    beside = middle[:, None] - STEP * (corners - middle[:, None])
    return np.asarray((1 + 1 / STEP) * function(middle)[:, None] - function(beside) / STEP)


def least_value(function: Function, corners: Array, tolerance: float) -> tuple[float, float]:
    """A proved lower bound of a convex function's least value on some simplices, and the least value that was seen.

    Simplices on which it may fall below what was seen by more than the tolerance are halved, as long as there are not
    too many of them. Where the function is not known the bound is minus infinity.

    >>> segments = np.array([[[-1.0], [0.5]], [[0.5], [3.0]]])
    >>> low, seen = least_value(lambda x: (x[..., 0] - 0.1) ** 2, segments, 1e-6)
    >>> bool(-1e-6 < low <= 0 <= seen < 1e-6)
    True
    """
    low, seen, count = math.inf, math.inf, 0
    while len(corners):
        below = affine_below(function, corners).min(axis=1)
        below = np.where(np.isnan(below), -math.inf, below)
        seen = min(seen, float(np.nanmin(function(corners))), float(np.nanmin(function(corners.mean(axis=1)))))
        count += len(corners)
        unsettled = below < seen - tolerance
        if count > MOST_SIMPLICES:
            unsettled[:] = False
        low = min(low, float(below[~unsettled].min(initial=math.inf)))
        corners = halved(corners[unsettled])
    return low, seen


def halved(corners: Array) -> Array:
    """Cut each of some simplices through the middle of its longest edge."""
    first, second = np.triu_indices(corners.shape[1], 1)
    longest = np.linalg.norm(corners[:, first] - corners[:, second], axis=2).argmax(axis=1)
    row, a, b = np.arange(len(corners)), first[longest], second[longest]
    one, other = corners.copy(), corners.copy()
    one[row, a] = other[row, b] = (corners[row, a] + corners[row, b]) / 2
    return np.concatenate([one, other])
