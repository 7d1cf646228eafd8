"""The hockey-stick curve of the least informative noise in a ball."""

import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.dp.hockey_stick import gain
from errorfloor.errors import ConvergenceError
from errorfloor.noise import BesselBall

TOLERANCE = 1e-6
ROUNDING = 1e-12  # added on top


def curve_in_ball(ball: BesselBall, shift: float, epsilon: Array) -> Array:
    """H(ε) of noise in the unit ball shifted by ``shift``, in any dimension m ≥ 2, for ε ≥ 0, rounded up.

    The density depends on the position v along the shift and the distance ρ from its axis only, so that

        H(ε) = |S^{m−2}| ∫₀¹ ρ^{m−2} ∫ (γ(v, ρ) − e^ε γ(v − h, ρ))₊ dv dρ,

    and on each line the inner integrand is positive below one crossing point.

    Guarantee: the value lies above the exact one, by less than 1e-6, if the error of the finer of two Gauss
    rules is below their difference. Raises ConvergenceError where the tolerance is not reached.

    >>> curve_in_ball(BesselBall(2, 1.0), 0.2, np.array([0.0, np.inf])).round(6)
    array([0.221241, 0.006916])
    """
    if shift >= 2:
        return np.ones_like(epsilon)
    values = []
    for level in epsilon.flat:
        coarse, fine = (_double_integral(ball, shift, float(level), nodes) for nodes in (48, 80))
        error = abs(fine - coarse)
        if not error <= TOLERANCE / 2:
            raise ConvergenceError(f"quadrature in the ball reached an error of {error:.2g}, above {TOLERANCE / 2:g}")
        values.append(min(fine + error + ROUNDING, 1.0))
    return np.array(values).reshape(epsilon.shape)


def _double_integral(ball: BesselBall, shift: float, epsilon: float, count: int) -> float:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    nodes, weights = (nodes + 1) / 2, weights / 2
    # beyond the distance where the two balls stop overlapping, whole lines count
    rim = math.asin(math.sqrt(1 - shift**2 / 4))
    total = 0.0
    for start, stop in ((0.0, rim), (rim, math.pi / 2)):
        angle = start + (stop - start) * nodes  # ρ = sin(angle): lines near the rim have length 2 cos(angle)
        distance, half = np.sin(angle), np.cos(angle)
        entry = np.minimum(shift - half, half)
        point = _crossing(ball, shift, epsilon, distance, entry, np.minimum(half, shift / 2))
        line = _line(ball, shift, epsilon, distance, (-half, entry), nodes) @ weights * (entry + half)
        line = line + _line(ball, shift, epsilon, distance, (entry, point), nodes) @ weights * (point - entry)
        total += (stop - start) * float((weights * np.cos(angle) * distance ** (ball.dimension - 2)) @ line)
    rest = (ball.dimension - 1) / 2
    return math.exp(math.log(2) + rest * math.log(math.pi) - math.lgamma(rest)) * total


def _points(ball: BesselBall, along: Array, distance: Array) -> Array:
    points = np.zeros((*along.shape, ball.dimension))
    points[..., 0], points[..., 1] = along, distance
    return points


def _loss(ball: BesselBall, shift: float, along: Array, distance: Array) -> Array:
    here = ball.logpdf(_points(ball, along, distance))
    there = ball.logpdf(_points(ball, along - shift, distance))
    with np.errstate(invalid="ignore"):
        return np.where(there == -math.inf, math.inf, here - there)


def _crossing(ball: BesselBall, shift: float, epsilon: float, distance: Array, low: Array, high: Array) -> Array:
    """Where the loss on each line falls to ε ≥ 0, between the overlap's lower end and the symmetric point."""
    low, high = low.copy(), np.maximum(low, high)
    for _ in range(60):
        middle = (low + high) / 2
        above = _loss(ball, shift, middle, distance) > epsilon
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray((low + high) / 2)


def _line(
    ball: BesselBall, shift: float, epsilon: float, distance: Array, ends: tuple[Array, Array], nodes: Array
) -> Array:
    along = ends[0][:, None] + (ends[1] - ends[0])[:, None] * nodes
    across = np.broadcast_to(distance[:, None], along.shape)
    density = ball.pdf(_points(ball, along, across))
    return np.asarray(density * gain(epsilon, _loss(ball, shift, along, across)))
