"""Hockey-stick curves of two or three independent shifts at once, by nested quadrature: a referee of composition.

Losses of independent parts add, so with one part drawn and the others left as a curve

    H(ε) = ∫ γ₁(w) H₂(ε − L₁(w)) dw = ∫₀¹ H₂(ε − L₁(F₁⁻¹(q))) dq.

The inner curve is smooth but for known losses where a density has a kink or a jump; the range of q is split where
those are met, and every piece is integrated by the tanh–sinh rule.
"""

import math
from itertools import product

import numpy as np

from errorfloor.checks import Array
from errorfloor.dp.hockey_stick import FORMULAS, crossing, curve, side_of
from errorfloor.dp.shifts import Part, independent_parts, largest_loss
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Airy, Gaussian

TOLERANCE = 1e-6
STEEP = np.array([0.5, 1.0])  # fractions of ε at which the outer integral is split
ROUNDING = 1e-12  # what differences of distribution functions may hide, added on top


def _tanh_sinh(step: float) -> tuple[Array, Array]:
    """Nodes and weights of the tanh–sinh rule on (0, 1); every other node is the rule of twice the step."""
    t = step * np.arange(-round(3.25 / step), round(3.25 / step) + 1)
    nodes = 1 / (1 + np.exp(-math.pi * np.sinh(t)))
    return nodes, step * math.pi * np.cosh(t) * nodes * (1 - nodes)


def curve_of_parts(parts: tuple[Part, ...], epsilon: Array) -> Array:
    """H(ε) of independent parts for ε ≥ 0, rounded up."""
    ordered = tuple(sorted(parts, key=lambda part: type(part.noise) in FORMULAS))
    value, error = _nested(ordered, epsilon)
    if not (error <= TOLERANCE / 2).all():
        value, error = _nested(ordered, epsilon, finer=2)
    if not (error <= TOLERANCE / 2).all():
        raise ConvergenceError(
            f"nested quadrature reached an error of {float(error.max()):.2g}, above {TOLERANCE / 2:g}"
        )
    largest = largest_loss(parts)
    pure = (epsilon >= largest) & (largest < math.inf)
    return np.where(pure, 0.0, np.minimum(value + error + ROUNDING, 1.0))


def _nested(parts: tuple[Part, ...], epsilon: Array, finer: int = 1) -> tuple[Array, Array]:
    if len(parts) == 1:
        return curve(parts[0], epsilon), np.zeros_like(epsilon)
    first, rest = parts[0], parts[1:]
    side, shift = side_of(first)
    fixed = np.unique(side.cdf(np.array([-math.inf, math.inf, *side.breaks(shift)])))
    # where the inner curve is not smooth, and where it falls from one to zero
    level = epsilon[..., None]
    levels = np.concatenate([_less(level, np.array(_kinks(rest))), level * STEEP], axis=-1)
    turns = side.cdf(crossing(side, shift, levels))
    fixed = np.broadcast_to(fixed, (*epsilon.shape, fixed.size))
    splits = np.sort(np.concatenate([fixed, turns], axis=-1), axis=-1)
    start, width = splits[..., :-1, None], np.diff(splits, axis=-1)[..., None]
    nodes, weights = _tanh_sinh((1 / 16 if len(parts) == 2 else 1 / 8) / finer)
    quantile = np.clip(start + width * nodes, 2.0**-53, 1 - 2.0**-53)
    loss = side.loss(side.icdf(quantile), shift)
    inner, inner_error = _nested(rest, _less(epsilon[..., None, None], loss), finer)
    fine = (width * weights * inner).sum(axis=(-2, -1))
    coarse = 2 * (width * weights[::2] * inner[..., ::2]).sum(axis=(-2, -1))
    return fine, np.abs(fine - coarse) + inner_error.max(axis=(-2, -1))


def _less(epsilon: Array, loss: Array) -> Array:
    """ε − loss, where an infinite loss outweighs an infinite ε."""
    with np.errstate(invalid="ignore"):
        return np.where(loss == math.inf, -math.inf, np.where(np.isinf(epsilon), epsilon, epsilon - loss))


def _kinks(parts: tuple[Part, ...]) -> list[float]:
    """Losses where the curve of some parts is not smooth: sums of the losses at each part's own breaks.

    A smooth part counts as a break at zero: if its losses are small, it hardly softens the kinks of the others.
    """
    own = []
    for part in parts:
        side, shift = side_of(part)
        low, high = side.knots[0] + shift, side.knots[-1]
        rough = not isinstance(part.noise, (Airy, Gaussian))  # their knots hardly show in the curve
        breaks = [b for b in side.breaks(shift) if rough and low <= b <= high and math.isfinite(b)]
        finite = [loss for loss in side.loss(np.array(breaks), shift).tolist() if math.isfinite(loss)]
        own.append(finite or [0.0])
    return sorted({sum(combination) for combination in product(*own)})


def delta_of_product(noise, rows, epsilon):
    """δ(ε) of product noise whose coordinates move together, the worst of some shifts and their negatives."""
    level = np.asarray(epsilon, dtype=float)
    shifts = [sign * np.asarray(row, dtype=float) for row in np.atleast_2d(rows) for sign in (1, -1)]
    return np.max([curve_of_parts(independent_parts(noise, shift), level) for shift in shifts], axis=0)
