"""The definition of the privacy curve, integrated afresh: densities and integrals here owe nothing to the library."""

from collections.abc import Callable
from dataclasses import dataclass

import mpmath
import pytest

from errorfloor.noise import (
    Airy,
    Gaussian,
    Laplace,
    Maxwell,
    Noise,
    RaisedCosine,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)

TURN = mpmath.airyaizero(1, derivative=1)


@dataclass(frozen=True)
class Law:
    """A noise, its density written with mpmath, and an interval that holds it up to 1e-40."""

    noise: Noise
    density: Callable
    low: float
    high: float
    knots: tuple[float, ...] = ()

    def divergence(self, shift, epsilon):
        """∫(γ(w) − e^ε γ(w − h))₊ dw as it stands, between the zeros of the integrand."""
        factor = mpmath.exp(epsilon)

        def difference(w):
            return self.density(w) - factor * self.density(w - shift)

        low, high = min(self.low, self.low + shift), max(self.high, self.high + shift)
        edges = {k + d for k in (self.low, self.high, *self.knots) for d in (0, shift)}
        near = [edge + side / 10**k for edge in edges for side in (1, -1) for k in range(1, 7)]
        grid = sorted([*(low + (high - low) * mpmath.mpf(i) / 60 for i in range(61)), *near])
        signs = [difference(w) > 0 for w in grid]
        zeros = [bisected(difference, grid[i], grid[i + 1]) for i, s in enumerate(signs[1:]) if s != signs[i]]
        pieces = sorted({mpmath.mpf(p) for p in (*zeros, *edges)})
        return mpmath.quad(lambda w: max(difference(w), mpmath.mpf(0)), pieces)


def bisected(function, low, high):
    rising = function(high) > 0
    for _ in range(60):
        middle = (low + high) / 2
        if (function(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2


def inside(low, high, formula):
    return lambda w: formula(w) if low <= w <= high else mpmath.mpf(0)


LAWS = {
    "gaussian": Law(Gaussian(4.0), lambda w: mpmath.npdf(w, 0, 2), -28, 28),
    "laplace": Law(Laplace(0.5), lambda w: mpmath.exp(-2 * abs(w)), -50, 50, (0.0,)),
    "raised cosine": Law(
        RaisedCosine(-0.5, 1.0),
        inside(-0.5, 1.0, lambda w: mpmath.mpf(4) / 3 * mpmath.sin(mpmath.pi * (w + 0.5) / 1.5) ** 2),
        -0.5,
        1.0,
    ),
    "maxwell": Law(
        Maxwell(1.5),
        inside(0, 99, lambda w: mpmath.sqrt(2 / mpmath.pi) * w * w / 1.5**3 * mpmath.exp(-w * w / 4.5)),
        0,
        22,
    ),
    "airy": Law(
        Airy(1.0),
        lambda w: (mpmath.airyai(abs(w) + TURN) / mpmath.airyai(TURN)) ** 2 / (-2 * TURN),
        -18,
        18,
        (0.0,),
    ),
    "uniform": Law(Uniform(low=-1, high=1), inside(-1, 1, lambda w: mpmath.mpf(1) / 2), -1, 1),
    "truncated laplace": Law(
        TruncatedLaplace(1.0, low=-1, high=2),
        inside(-1, 2, lambda w: mpmath.exp(-abs(w)) / (2 - mpmath.exp(-1) - mpmath.exp(-2))),
        -1,
        2,
        (0.0,),
    ),
    "truncated gaussian": Law(
        TruncatedGaussian(1.0, low=-1, high=2),
        inside(-1, 2, lambda w: mpmath.npdf(w) / (mpmath.ncdf(2) - mpmath.ncdf(-1))),
        -1,
        2,
    ),
}


@pytest.fixture(params=list(LAWS))
def law(request):
    """Each one-dimensional family once."""
    with mpmath.workdps(16):
        yield LAWS[request.param]


@pytest.fixture
def laws():
    """All of them by name."""
    with mpmath.workdps(16):
        yield LAWS
