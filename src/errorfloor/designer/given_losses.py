"""Losses that are functions: whether they are finite, convex and growing, and whether polynomials resolve them."""

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.corners import corners
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss
from errorfloor.noise.spectral_axis import gauss, legendre
from errorfloor.support import Ball, Ellipsoid, Support


def check_convex(loss: Loss, support: Support) -> None:
    """Refuse a given loss that is infinite, or not convex, at points of the support.

    Points are drawn from a fixed sequence, so the same loss is always judged alike; a violation between them goes
    unseen, and costs optimality, never the stated information.
    """
    if loss.function is None:
        return
    generator = np.random.default_rng(20)
    low, high = support.bounding_box
    reach = 1.0 + float(np.abs(np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)], [0.0]])).max())
    for size in (1.0, 10.0, 0.1):
        bottom = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - size * reach)
        top = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0) + size * reach)
        points = bottom + (top - bottom) * generator.random((4000, support.dimension))
        points = points[np.atleast_1d(support.contains(points[..., 0] if support.dimension == 1 else points))]
        points = np.concatenate([points, _extremes(support)])
        values = loss(points)
        if not np.isfinite(values).all():
            raise InputError(
                f"loss must be finite on the support, but is {values[~np.isfinite(values)][0]} at "
                f"{np.array2string(points[~np.isfinite(values)][0], precision=6)}"
            )
        half = len(points) // 2
        first, second = points[:half], points[half : 2 * half]
        middle = loss((first + second) / 2)
        excess = middle - (loss(first) + loss(second)) / 2
        scale = np.maximum(np.abs(loss(first)), np.abs(loss(second))) + 1e-300
        if (excess > 1e-9 * scale).any():
            k = int(np.argmax(excess / scale))
            raise InputError(
                f"loss must be convex, but half-way between {np.array2string(first[k], precision=4)} and "
                f"{np.array2string(second[k], precision=4)} it lies above the mean of its values there"
            )


def is_smooth(loss: Loss, support: Support) -> bool:
    """Tell whether polynomials of degree 24 resolve a loss along segments through the support, from a fixed sequence.

    >>> from errorfloor.support import Box
    >>> square = Box([-1, -1], [1, 1])
    >>> is_smooth(Loss(None, lambda w: np.exp(w).sum(axis=-1)), square)
    True
    >>> is_smooth(Loss(None, lambda w: np.abs(w).max(axis=-1)), square)
    False
    """
    generator = np.random.default_rng(21)
    low, high = (np.clip(end, -3.0, 3.0) if not support.is_bounded else end for end in support.bounding_box)
    points = low + (high - low) * generator.random((2000, support.dimension))
    points = points[np.atleast_1d(support.contains(points))]
    nodes, weights = gauss(25)
    ends = points[: 2 * (len(points) // 2)].reshape(2, -1, support.dimension)[:, :60]
    places = ends[0][:, None] + (ends[1] - ends[0])[:, None] * ((nodes + 1) / 2)[:, None]
    values = np.asarray(loss(places))
    coefficients = np.abs((values * weights) @ legendre(nodes, 24))
    return bool((coefficients[:, -3:].max(axis=1) <= 1e-7 * np.abs(values).max(axis=1)).all())


def _extremes(support: Support) -> Array:
    """Points of the boundary of a bounded support: where a loss is infinite, it often is so first."""
    if not support.is_bounded:
        return np.zeros((0, support.dimension))
    if isinstance(support, (Ball, Ellipsoid)):
        reach = np.linalg.cholesky(support.shape)
        return np.concatenate([support.middle + reach.T, support.middle - reach.T]) * (1 - 1e-15)
    return corners(support)


def check_coercive(loss: Loss, support: Support) -> None:
    """Refuse a given loss that does not grow along an unbounded support."""
    if loss.function is None or support.is_bounded:
        return
    low, high = support.bounding_box
    base = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    for i in range(support.dimension):
        for sign, end in ((-1.0, low[i]), (1.0, high[i])):
            far = base.copy()
            far[i] = base[i] + sign * 1e6
            inside = support.contains(float(far[0]) if support.dimension == 1 else far)
            if not np.isfinite(end) and inside and not loss(far) > loss(base):
                raise IllPosedError(
                    "loss does not grow towards infinity along the support: noise of infinite variance is optimal"
                )
