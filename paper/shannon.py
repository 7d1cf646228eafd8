"""Entropy and mutual information, in bits: what an answer tells on average under a stated prior."""

import math
from typing import Any

import numpy as np

from errorfloor.checks import Array, real
from errorfloor.errors import InputError
from errorfloor.noise import Noise
from errorfloor.noise.quadrature import integrate

# panels of the inner integral, in standard deviations from the mean: short where densities vary, long in the tails
PANELS = np.array([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 34.0])
NODES, WEIGHTS = np.polynomial.legendre.leggauss(12)


def entropy_bits(noise: Noise) -> float:
    """The differential entropy −E log₂ γ(w), in bits.

    At a variance ϑ it is log₂√(2πeϑ) for Gaussian noise, the most that any noise has, and log₂(e√(2ϑ)) for
    Laplace noise.

    >>> from errorfloor.noise import Uniform
    >>> entropy_bits(Uniform(low=0, high=8))
    3.0
    """
    return _one_noise("noise", noise, any_dimension=True).entropy / math.log(2)


def mutual_information(noise: Noise, *, slope: Any, prior: Noise) -> float:
    """The mutual information, in bits, of x drawn from ``prior`` and y = slope·x + w, w drawn from ``noise``.

        I(x; y) = h(y) − h(w),   p(y) = ∫ prior(x) γ(y − slope·x) dx

    Both laws are one-dimensional noises. The value is computed by quadrature, to about 1e-9 bits.

    It depends on the prior. Gaussian noise has the least among noises of its variance if the prior is Gaussian;
    for other priors there can be a better noise.

    >>> from errorfloor.noise import Gaussian
    >>> round(mutual_information(Gaussian(1.0), slope=1.0, prior=Gaussian(3.0)), 9)  # ½ log₂(1 + 3)
    1.0
    """
    _one_noise("noise", noise), _one_noise("prior", prior)
    gain = real("slope", slope)
    if gain == 0:
        return 0.0
    mean = gain * float(prior.mean[0]) + float(noise.mean[0])
    deviation = math.sqrt(gain**2 * float(prior.covariance[0, 0]) + float(noise.covariance[0, 0]))
    sums = [gain * k + j for k in prior.knots for j in noise.knots if math.isfinite(k) and math.isfinite(j)]
    low, high = sorted([gain * prior.knots[0], gain * prior.knots[-1]])
    ends = (low + noise.knots[0], high + noise.knots[-1])
    middle = (t for t in (-4.0, 4.0) if ends[0] < mean + deviation * t < ends[1])
    knots = [*((y - mean) / deviation for y in (*sums, *ends)), *middle]

    def surprise(t: Array) -> Array:
        density = _answer_density(noise, gain, prior, mean + deviation * t)
        with np.errstate(divide="ignore", invalid="ignore"):
            return -density * np.log(density)

    answer_entropy = deviation * integrate(surprise, knots)
    return max((answer_entropy - noise.entropy) / math.log(2), 0.0)


def _one_noise(name: str, noise: Noise, any_dimension: bool = False) -> Noise:
    if not isinstance(noise, Noise):
        raise InputError(f"{name} must be a noise of errorfloor.noise, got {type(noise).__name__}")
    if noise.dimension != 1 and not any_dimension:
        raise InputError(f"{name} must have one dimension, got {noise.dimension}")
    return noise


def _answer_density(noise: Noise, slope: float, prior: Noise, y: Array) -> Array:
    """Density of slope·x + w at each y, by Gauss's rule between the points where either factor changes fast."""
    from_prior = _panels(prior)
    from_noise = (y[..., None] - _panels(noise)) / slope
    edges = np.concatenate([np.broadcast_to(from_prior, (*y.shape, from_prior.size)), from_noise], axis=-1)
    lows = np.maximum(from_prior.min(), from_noise.min(axis=-1))
    highs = np.maximum(lows, np.minimum(from_prior.max(), from_noise.max(axis=-1)))
    edges = np.sort(np.clip(edges, lows[..., None], highs[..., None]), axis=-1)
    half = np.diff(edges, axis=-1)[..., None] / 2
    x = (edges[..., :-1, None] + half) + half * NODES
    product = prior.pdf(x) * noise.pdf(y[..., None, None] - slope * x)
    return np.asarray((product * half * WEIGHTS).sum(axis=(-2, -1)))


def _panels(noise: Noise) -> Array:
    """Break points for a law: its knots, and steps away from its mean as far as the support goes."""
    mean, deviation = float(noise.mean[0]), math.sqrt(float(noise.covariance[0, 0]))
    steps = mean + deviation * np.concatenate([-PANELS[::-1], PANELS])
    finite = [knot for knot in noise.knots if math.isfinite(knot)]
    return np.unique(np.clip([*steps, *finite], noise.knots[0], noise.knots[-1]))
