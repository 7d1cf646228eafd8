"""The noises that differential privacy is usually had with, scaled for a wanted guarantee."""

import math
from typing import Any, Literal

import numpy as np

from errorfloor.checks import positive, real
from errorfloor.dp.closed_forms import gaussian as gaussian_curve
from errorfloor.dp.curve import least_level
from errorfloor.errors import InputError
from errorfloor.noise import Gaussian, Laplace


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
