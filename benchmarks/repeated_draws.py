"""What K fresh draws of a noise around one number give away, by the best simple estimators.

A density that jumps at the ends of its support (uniform, truncated Laplace, truncated Gaussian) is pinned by its
extremes at the rate 1/K. One of finite information I allows 1/√(K·I) and no better.
"""

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.slope_pictures import Decline
from errorfloor.checks import Array, whole
from errorfloor.errors import InputError
from errorfloor.noise import Noise, RaisedCosine
from errorfloor.random import ReproducibleBits

Estimator = Callable[[Array], Array]
AT_ONCE = 2_000_000  # draws held in memory


def decline(name: str, noise: Noise, estimator: Estimator, draws: Sequence[int], *, runs: int, seed: int) -> Decline:
    """Measure an estimator of the place of a noise from K draws, for each K.

    >>> from errorfloor.noise import Uniform
    >>> found = decline("uniform", Uniform(low=-1.0, high=1.0), midrange, (30, 300), runs=2000, seed=1)
    >>> -1.05 < found.slope < -0.95
    True
    """
    errors = [float(np.sqrt(mean_square(noise, estimator, count, runs=runs, seed=seed + count))) for count in draws]
    return Decline(name, tuple(draws), tuple(errors))


def mean_square(noise: Noise, estimator: Estimator, count: int, *, runs: int, seed: int) -> float:
    """Give the mean square of an estimator's error over many runs, each with ``count`` fresh draws around zero."""
    if noise.dimension != 1:
        raise InputError(f"repeated draws are of one number, got noise in {noise.dimension} dimensions")
    whole("count", count, least=2)
    bits, total, left = ReproducibleBits(seed), 0.0, whole("runs", runs, least=1)
    while left:
        batch = min(left, max(1, AT_ONCE // count))
        total += float((estimator(noise.sample((batch, count), rng=bits)) ** 2).sum())
        left -= batch
    return total / runs


def midrange(draws: Array) -> Array:
    """Give the middle between the extremes, for noise that is as likely on one side as on the other."""
    middle: Array = (draws.min(axis=1) + draws.max(axis=1)) / 2
    return middle


def average(draws: Array) -> Array:
    """Give the mean."""
    mean: Array = draws.mean(axis=1)
    return mean


def maximum_likelihood(noise: RaisedCosine) -> Estimator:
    """Give the estimator that maximises Σ log cos²(π(y_k − θ)/Δ), which is concave in θ between the extremes.

    Newton's steps are kept inside the bracket that the sign of the slope leaves.

    >>> estimate = maximum_likelihood(RaisedCosine(-1.0, 1.0))
    >>> estimate(np.array([[-0.25, 0.0, 0.25]])).round(12).tolist()
    [0.0]
    """
    width, centre = noise.width, (noise.low + noise.high) / 2

    def estimate(draws: Array) -> Array:
        y = draws - centre
        low, high = y.max(axis=1) - width / 2, y.min(axis=1) + width / 2
        place: Array = np.clip(y.mean(axis=1), low + 1e-9 * width, high - 1e-9 * width)
        for _ in range(60):
            slope = np.tan(np.pi * (y - place[:, None]) / width)
            rise, bend = slope.sum(axis=1), (1 + slope * slope).sum(axis=1) * np.pi / width
            low, high = np.where(rise > 0, place, low), np.where(rise > 0, high, place)
            step = place + rise / bend
            moved = np.where((step >= low) & (step <= high), step, (low + high) / 2)
            done = np.abs(moved - place).max() <= 1e-7 * width
            place = moved
            if done:
                break
        return place

    return estimate
