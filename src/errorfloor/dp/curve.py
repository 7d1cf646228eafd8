"""The privacy curve of a noise, δ for a given ε and ε for a given δ; and noise scaled for a wanted guarantee."""

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from errorfloor.checks import Array, points, positive, real
from errorfloor.dp.closed_forms import gaussian as gaussian_curve
from errorfloor.dp.hockey_stick import curve
from errorfloor.dp.shifts import Part, independent_parts, largest_loss, shift_rows
from errorfloor.errors import ConvergenceError, InputError, NoClosedFormError
from errorfloor.noise import Gaussian, Laplace, Noise

MOST_EPSILON = 1e6  # beyond this no guarantee is worth the name, and none is looked for


def delta(noise: Noise, sensitivity: Any, epsilon: Any) -> Any:
    """The smallest δ for which adding ``noise`` to a query of that ``sensitivity`` is (ε, δ)-private.

        δ(ε) = sup_h ∫ (γ(w) − e^ε γ(w − h))₊ dw

    over every shift h that one record can cause. Every noise of the catalogue is log-concave, so the supremum
    over a polytope of shifts is attained at one of its corners: in one dimension at h = ±s.

    Guarantee: exact up to rounding in one dimension, for Gaussian noise in any dimension, and wherever only one
    coordinate of independent noise moves; values far below one keep their digits (those below the least double
    are given as zero).

    ``sensitivity`` is a positive number s in one dimension. In m > 1 dimensions its rows are the extreme shifts,
    a k×m array (or one vector); their negatives and everything between are included. ``epsilon`` is a number ≥ 0
    or an array of them; it may be infinite. Oblivious bounded noise has δ(∞) > 0: some answers are possible
    under one record only.

    Raises InputError for arguments out of range, NoClosedFormError where several coordinates of independent noise
    move at once, in a ball, and where the noise is not known to be log-concave.

    >>> from errorfloor.noise import Gaussian, RaisedCosine
    >>> delta(Gaussian(100.0), 10.0, 1.0)
    0.12693673750664...
    >>> delta(RaisedCosine(-0.5, 0.5), 0.1, [0.0, 1.0, np.inf]).round(6)
    array([0.198363, 0.034119, 0.006451])
    >>> round(delta(Gaussian([[4.0, 0.0], [0.0, 1.0]]), [[2.0, 0.0], [0.0, 1.0]], 1.0), 6)
    0.126937
    """
    several = moves(noise, sensitivity)
    level = points("epsilon", epsilon, 1)[..., 0]
    if not (level >= 0).all():
        raise InputError(f"epsilon must be at least 0, and may be infinite, got {epsilon!r}")
    value = np.max([_curve(parts, level) for parts in several], axis=0)
    return float(value) if value.ndim == 0 else value


def epsilon(noise: Noise, sensitivity: Any, delta: float) -> float:
    """The smallest ε ≥ 0 for which adding ``noise`` to a query of that ``sensitivity`` is (ε, δ)-private.

    Guarantee: rounded up, so that ``delta(noise, sensitivity, epsilon(noise, sensitivity, d)) <= d``.

    The result is infinite where no ε will do. Noise that is bounded and does not depend on the data always has a
    δ(∞) > 0: an answer near the edge of its range rules one of two records out for certain, so below δ(∞) there
    is no ε, and pure ε-privacy (δ = 0) never holds. Laplace noise alone has a finite ε at δ = 0.

    ``sensitivity`` is what ``delta`` takes; ``delta`` is a number between 0 and 1. Raises InputError for
    arguments out of range.

    >>> from errorfloor.noise import Laplace, RaisedCosine
    >>> epsilon(Laplace(2.0), 1.0, 0.0)
    0.5
    >>> round(epsilon(RaisedCosine(-0.5, 0.5), 0.1, 0.01), 4)
    3.1765
    >>> epsilon(RaisedCosine(-0.5, 0.5), 0.1, 0.006)
    inf
    """
    several = moves(noise, sensitivity)

    def reached(level: float) -> float:
        return max(float(_curve(parts, np.array(level))) for parts in several)

    target = real("delta", delta)
    if not 0 <= target <= 1:
        raise InputError(f"delta must lie between 0 and 1, got {delta!r}")
    largest = max(largest_loss(parts) for parts in several)
    if target == 0 or reached(math.inf) > target:
        return largest
    return min(least_level(reached, target), largest)


def moves(noise: Noise, sensitivity: Any) -> list[tuple[Part, ...]]:
    """Every extreme shift of a noise, in both directions, as independent parts; no two alike."""
    rows = shift_rows(noise, sensitivity)
    return list(dict.fromkeys(independent_parts(noise, sign * row) for row in rows for sign in (1.0, -1.0)))


def _curve(parts: tuple[Part, ...], epsilon: Array) -> Array:
    if not parts:
        return np.zeros_like(epsilon)
    if len(parts) > 1:
        raise NoClosedFormError(
            f"{len(parts)} coordinates of independent noise move at once, and their curve has no formula: state each "
            f"of them and add up the ε and the δ, or use Gaussian noise, whose coordinates count together"
        )
    return curve(parts[0], epsilon)


def least_level(curve: Callable[[float], float], target: float, most: float = MOST_EPSILON) -> float:
    """The least ε ≥ 0 at which a decreasing curve is at most ``target``, rounded up by at most one part in 10¹².

    >>> least_level(lambda e: math.exp(-e), 0.5) - math.log(2) < 1e-12
    True
    """
    from scipy.optimize import brentq

    if curve(0.0) <= target:
        return 0.0
    high = 1.0
    while curve(high) > target:
        high *= 2
        if high > most:
            return math.inf

    def excess(level: float) -> float:
        return math.log(max(curve(level), 1e-320) / target)

    level = float(brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14))
    slack = 1e-15 * level
    while curve(level) > target:
        level += slack
        slack *= 2
        if slack > 1e-6 * (1 + level):
            raise ConvergenceError(f"the privacy curve is too uneven near ε = {level:.6g} to be inverted")
    return level


def laplace(*, sensitivity: Any, epsilon: Any) -> Laplace:
    """Laplace noise of scale b = s/ε.

    Guarantee: adding it to a query of that ``sensitivity`` s is ε-differentially private, with δ = 0.

    Its mean square is 2b², so that at a mean square ϑ the guarantee is ε = s√(2/ϑ), and its information
    1/b² = 2/ϑ, twice that of Gaussian noise.

    >>> laplace(sensitivity=2.0, epsilon=0.5)
    Laplace(scale=4.0)
    """
    s, level = positive("sensitivity", sensitivity), positive("epsilon", epsilon)
    scale = positive("the scale sensitivity/epsilon", s / level)
    while s / scale > level:
        scale = math.nextafter(scale, math.inf)
    return Laplace(scale)


def gaussian(
    *, sensitivity: Any, epsilon: Any, delta: Any, method: Literal["exact", "classical"] = "exact"
) -> Gaussian:
    """Gaussian noise that makes a query of that ``sensitivity`` (ε, δ)-differentially private.

    ``method`` "exact" takes the least standard deviation σ for which

        δ ≥ Φ(s/2σ − εσ/s) − e^ε Φ(−s/2σ − εσ/s),

    rounded up; "classical" the sufficient σ = s(√(2 ln(1/2δ))/ε + 1/√(2ε)), for δ ≤ ½. Both are conditions on the
    standard deviation, not on the variance.

    Guarantee: ``errorfloor.dp.delta(noise, sensitivity, epsilon) <= delta``.

    >>> noise = gaussian(sensitivity=100.0, epsilon=0.5, delta=1e-3)
    >>> round(float(noise.covariance[0, 0]) ** 0.5, 3)
    461.013
    >>> wider = gaussian(sensitivity=100.0, epsilon=0.5, delta=1e-3, method="classical")
    >>> round(float(wider.covariance[0, 0]) ** 0.5, 3)
    805.102
    """
    s, target = positive("sensitivity", sensitivity), real("delta", delta)
    level = real("epsilon", epsilon)
    if not 0 < target < 1:
        raise InputError(f"delta must lie strictly between 0 and 1 for Gaussian noise, got {delta!r}")
    if level < 0:
        raise InputError(f"epsilon must be at least 0, got {epsilon!r}")
    if method == "exact":
        # the least σ for s = 1: without noise everything is told
        deviation = s * least_level(lambda size: _reached(1 / size, level) if size else 1.0, target, math.inf)
    elif method == "classical":
        if target > 0.5 or level == 0:
            raise InputError(
                f"the classical condition needs delta ≤ 1/2 and epsilon > 0, got delta {target} and epsilon {level}: "
                f"use method 'exact'"
            )
        deviation = s * (math.sqrt(2 * math.log(1 / (2 * target))) / level + 1 / math.sqrt(2 * level))
    else:
        raise InputError(f"method must be 'exact' or 'classical', got {method!r}")
    variance = deviation**2
    while method == "exact" and _reached(s / math.sqrt(variance), level) > target:
        variance *= 1 + 1e-15
    return Gaussian(variance)


def _reached(shift: float, level: float) -> float:
    return float(gaussian_curve(shift, np.array(level)))
