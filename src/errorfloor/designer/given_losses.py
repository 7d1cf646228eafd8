"""Losses that are functions of one number: whether they are finite, convex and growing."""

import numpy as np

from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss
from errorfloor.support import Support

FAR = 1e6


def check_convex(loss: Loss, support: Support) -> None:
    """Refuse a given loss that is infinite, or not convex, at points of a support on the line.

    Points are drawn from a fixed sequence, so the same loss is always judged alike; a violation between them goes
    unseen, and costs optimality, never the stated information.
    """
    generator = np.random.default_rng(20)
    (low,), (high,) = support.bounding_box
    ends = np.array([end for end in (low, high) if np.isfinite(end)])
    reach = 1.0 + float(np.abs(ends).max(initial=0.0))
    for size in (1.0, 10.0, 0.1):
        bottom = low if np.isfinite(low) else (high if np.isfinite(high) else 0.0) - size * reach
        top = high if np.isfinite(high) else (low if np.isfinite(low) else 0.0) + size * reach
        points = np.concatenate([bottom + (top - bottom) * generator.random(4000), ends])
        values = loss(points[:, None])
        if not np.isfinite(values).all():
            lost = ~np.isfinite(values)
            raise InputError(f"loss must be finite on the support, but is {values[lost][0]} at {points[lost][0]:.6g}")
        half = len(points) // 2
        first, second = points[:half], points[half : 2 * half]
        excess = loss((first + second)[:, None] / 2) - (values[:half] + values[half : 2 * half]) / 2
        scale = np.maximum(np.abs(values[:half]), np.abs(values[half : 2 * half])) + 1e-300
        if (excess > 1e-9 * scale).any():
            k = int(np.argmax(excess / scale))
            raise InputError(
                f"loss must be convex, but half-way between {first[k]:.4g} and {second[k]:.4g} it lies above the mean "
                f"of its values there"
            )


def check_coercive(loss: Loss, support: Support) -> None:
    """Refuse a given loss that does not grow along an unbounded support on the line."""
    (low,), (high,) = support.bounding_box
    base = low if np.isfinite(low) else high if np.isfinite(high) else 0.0
    for far, end in ((base - FAR, low), (base + FAR, high)):
        if not np.isfinite(end) and not loss(np.array([far])) > loss(np.array([base])):
            raise IllPosedError(
                "loss does not grow towards infinity along the support: noise of infinite variance is optimal"
            )
