"""The error of the best estimator under a stated prior, computed exactly for one entry and one answer."""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from errorfloor.checks import Array, real
from errorfloor.errors import InputError
from errorfloor.floors.words import rounded_down
from errorfloor.floors.worst_case import rule
from errorfloor.noise import Noise

NODES = 64  # of each quadrature


@dataclass(frozen=True)
class BayesError:
    """Root-mean-square error of the best estimator, averaged under the prior, without and with the answer.

    >>> BayesError(without_answer=1.0, with_answer=0.5).explain("kWh")
    'averaged under the stated prior, the best guess is off by 1 kWh without the answer and by 0.5 kWh with it'
    """

    without_answer: float
    with_answer: float

    def explain(self, unit: str = "") -> str:
        """Say it in a sentence."""
        suffix = f" {unit}" if unit else ""
        return (
            f"averaged under the stated prior, the best guess is off by {rounded_down(self.without_answer, 4)}{suffix} "
            f"without the answer and by {rounded_down(self.with_answer, 4)}{suffix} with it"
        )


def bayes_error(noise: Noise, *, slope: float, prior: Noise) -> BayesError:
    """Give the error of the posterior mean of x from slope·x + noise, x drawn from ``prior``.

    The mean square is ∫∫(x − x̄(y))² p(x)γ(y − slope·x)dx dy, x̄(y) the posterior mean, by Gauss–Legendre quadrature on
    pieces where everything is smooth. The prior is itself a law on the line, such as ``noise.Uniform(low=0, high=50)``.

    Guarantee: no estimator does better on average under that prior.

    >>> from errorfloor.noise import RaisedCosine, Uniform
    >>> exact = bayes_error(RaisedCosine(0, 3), slope=1.0, prior=Uniform(low=0, high=1))
    >>> round(exact.with_answer, 4), round(exact.without_answer, 4)
    (0.2545, 0.2887)
    """
    if not all(isinstance(law, Noise) and law.dimension == 1 for law in (noise, prior)):
        raise InputError("bayes_error needs one-dimensional noise and a one-dimensional prior")
    without = math.sqrt(float(prior.covariance[0, 0]))
    slope = real("slope", slope)
    if slope == 0:
        return BayesError(without, without)
    noise_knots, prior_knots = _effective(noise), _effective(prior)
    turns = sorted({a + slope * x for a in noise_knots for x in prior_knots})
    square = 0.0
    nodes, weights = rule(NODES)
    for low, high in pairwise(turns):
        edges = np.linspace(low, high, 5)
        half = (edges[1:] - edges[:-1])[:, None] / 2
        y, y_weight = ((edges[1:] + edges[:-1])[:, None] / 2 + half * nodes).ravel(), (half * weights).ravel()
        square += float((y_weight * _posterior_spread(y, noise, prior, slope, noise_knots, prior_knots)).sum())
    return BayesError(without, math.sqrt(max(0.0, square)))


def _posterior_spread(
    y: Array,
    noise: Noise,
    prior: Noise,
    slope: float,
    noise_knots: list[float],
    prior_knots: list[float],
) -> Array:
    """Give ∫(x − x̄)² p(x)γ(y − slope·x)dx at each y, x̄ the posterior mean there."""
    fixed = np.broadcast_to(np.array(prior_knots), (y.size, len(prior_knots)))
    turns = (y[:, None] - np.array(noise_knots)) / slope
    low = np.maximum(turns.min(axis=1), prior_knots[0])
    high = np.minimum(turns.max(axis=1), prior_knots[-1])
    cuts = np.sort(np.clip(np.concatenate([turns, fixed], axis=1), low[:, None], high[:, None]), axis=1)
    half = (cuts[:, 1:] - cuts[:, :-1]) / 2
    nodes, weights = rule(NODES)
    x = (cuts[:, 1:] + cuts[:, :-1])[..., None] / 2 + half[..., None] * nodes
    weight = half[..., None] * weights * prior.pdf(x) * noise.pdf(y[:, None, None] - slope * x)
    mass = weight.sum(axis=(1, 2))
    with np.errstate(invalid="ignore", divide="ignore"):
        middle = (low + high) / 2
        mean = middle + np.where(mass > 0, (weight * (x - middle[:, None, None])).sum(axis=(1, 2)) / mass, 0.0)
    return np.asarray((weight * (x - mean[:, None, None]) ** 2).sum(axis=(1, 2)))


def _effective(law: Noise) -> list[float]:
    """The knots, with infinite ends replaced by points beyond which nothing is left in double precision."""
    center, spread = float(law.mean[0]), 30 * math.sqrt(float(law.covariance[0, 0]))  # Laplace's tail is 4e-19 there
    return [min(max(knot, center - spread), center + spread) for knot in law.knots]
