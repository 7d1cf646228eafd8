"""The usual noises at the same standard error, to stand beside the best one."""

import math
from collections.abc import Iterator

import numpy as np

from errorfloor.noise import Gaussian, Laplace, Noise, Product, TruncatedLaplace
from errorfloor.support import Interval

FAR_INSIDE = 1 / 500  # a scale, in half widths, at which the ends are 500 scales away
NEARLY_UNIFORM = (
    0.577  # of half the width: the deviation beyond which no truncated Laplace noise can go, just below 1/√3
)


def peers(noise: Noise) -> Iterator[tuple[str, Noise]]:
    """Give Gaussian and Laplace noise of the same covariance, and on an interval also truncated Laplace noise.

    >>> from errorfloor.noise import RaisedCosine
    >>> [(name, round(float(one.covariance[0, 0]), 6)) for name, one in peers(RaisedCosine(-0.5, 0.5))]
    [('Gaussian', 0.032673), ('Laplace', 0.032673), ('TruncatedLaplace', 0.032673)]
    """
    yield "Gaussian", Gaussian(noise.covariance)
    scales = np.sqrt(np.diag(noise.covariance) / 2)
    if noise.dimension > 1:
        yield "Laplace", Product(tuple(Laplace(scale) for scale in scales))
        return
    yield "Laplace", Laplace(scales[0])
    deviation = math.sqrt(float(noise.covariance[0, 0]))
    if isinstance(noise.support, Interval) and deviation < NEARLY_UNIFORM * noise.support.width / 2:
        yield "TruncatedLaplace", truncated(noise.support, deviation)


def truncated(interval: Interval, deviation: float) -> TruncatedLaplace:
    """Give truncated Laplace noise around the middle of an interval, with this standard deviation.

    Uniform noise has the largest, width/√12. Where the wanted one is so small that the ends are never reached, it is
    √2 times the scale.

    >>> [round(float(truncated(Interval(-1, 1), d).covariance[0, 0]) ** 0.5, 9) for d in (0.5, 0.1, 1e-6)]
    [0.5, 0.1, 1e-06]
    """
    from scipy.optimize import brentq

    half = interval.width / 2
    wanted = (deviation / half) ** 2

    def excess(scale: float) -> float:
        """The mean square on [−1, 1], less the one wanted: 2s² − (1 + 2s)/(e^{1/s} − 1)."""
        return 2 * scale**2 - (1 + 2 * scale) / math.expm1(1 / scale) - wanted

    scale = deviation / math.sqrt(2) if excess(FAR_INSIDE) >= 0 else half * float(brentq(excess, FAR_INSIDE, 50.0))
    return TruncatedLaplace(scale, interval.center, low=interval.low, high=interval.high)
