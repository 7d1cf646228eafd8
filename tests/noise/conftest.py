"""The noises under test, each beside its definition written again from the theory and never taken from the library."""

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ai_zeros, airy, jv

from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Noise,
    Product,
    RaisedCosine,
    Translation,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)
from errorfloor.random import ReproducibleBits

FALSE_ALARM = 1e-11  # chance that one comparison fails although the sampler is right; no test makes a hundred
Function = Callable[[Any], Any]


def graded(low: float, high: float, count: int) -> tuple[np.ndarray, np.ndarray]:
    """A Gauss–Legendre rule whose nodes crowd at the ends, so that a logarithm there is no obstacle."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    step = np.polynomial.Polynomial([0, 15, 0, -10, 0, 3]) / 8
    return low + (high - low) * (step(nodes) + 1) / 2, weights * step.deriv()(nodes) * (high - low) / 2


def tensor(rules: Sequence[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The product of rules on the line: points along the last axis, and weights."""
    points = np.stack(np.meshgrid(*(nodes for nodes, _ in rules), indexing="ij"), axis=-1)
    weights = math.prod(np.meshgrid(*(weights for _, weights in rules), indexing="ij"))
    return points.reshape(-1, len(rules)), np.ravel(weights)


def cumulated(density: Function, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The integral of a density up to each end, by Gauss–Legendre rules between neighbours."""
    nodes, weights = np.polynomial.legendre.leggauss(8)
    half = np.diff(ends)[:, None] / 2
    cells = (density(ends[:-1, None] + half * (nodes + 1)) * half * weights).sum(axis=1)
    return ends, np.concatenate([[0.0], np.cumsum(cells)])


@dataclass(frozen=True)
class ScalarCase:
    """A noise on the line and its root density u, up to a factor, with u′ and, where u is C¹, the quotient u″/u."""

    name: str
    noise: Noise
    cuts: tuple[float, ...]  # the support, or all of it but a share below 1e-20, in pieces on which u is smooth
    root: Function
    slope: Function | None = None  # None where the density jumps
    curvature: Function | None = None  # None where u′ jumps

    def integral(self, function: Function, *between: float) -> float:
        """∫ function over the pieces, cut also at ``between``, by adaptive quadrature."""
        ends = sorted({*self.cuts, *(x for x in between if self.cuts[0] < x < self.cuts[-1])})
        pieces = pairwise(ends)
        return sum(quad(function, a, b, epsabs=1e-16, epsrel=1e-12, limit=400)[0] for a, b in pieces)

    @cached_property
    def mass(self) -> float:
        return self.integral(lambda w: self.root(w) ** 2)

    def density(self, w: Any) -> Any:
        return self.root(w) ** 2 / self.mass

    def expect(self, function: Function, *between: float) -> float:
        return self.integral(lambda w: function(w) * self.density(w), *between)

    @cached_property
    def mean(self) -> float:
        return self.expect(lambda w: w)

    @cached_property
    def variance(self) -> float:
        return self.expect(lambda w: (w - self.mean) ** 2)

    @cached_property
    def information(self) -> float:
        slope = self.slope
        return math.inf if slope is None else 4 * self.integral(lambda w: slope(w) ** 2) / self.mass

    @cached_property
    def entropy(self) -> float:
        return -self.expect(lambda w: math.log(self.density(w)) if self.density(w) > 0 else 0.0)

    @cached_property
    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Points and the cdf there."""
        pieces = pairwise(self.cuts)
        return cumulated(self.density, np.unique(np.concatenate([np.linspace(a, b, 2001) for a, b in pieces])))

    def rule(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Nodes and weights, ``count`` a piece."""
        rules = [graded(a, b, count) for a, b in pairwise(self.cuts)]
        nodes, weights = zip(*rules, strict=True)
        return np.concatenate(nodes), np.concatenate(weights)

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())


def cosine(name: str, noise: Noise, low: float, high: float) -> ScalarCase:
    k, c = math.pi / (high - low), (low + high) / 2
    cuts = tuple(sorted({low, c, high, *([0.0] if low < 0 < high else [])}))
    return ScalarCase(
        name,
        noise,
        cuts,
        lambda w: np.cos(k * (w - c)),
        lambda w: -k * np.sin(k * (w - c)),
        lambda w: -(k**2) + 0 * w,
    )


def maxwell(name: str, noise: Noise, s: float) -> ScalarCase:
    """``s`` is negative for a law on the negative half-line."""
    return ScalarCase(
        name,
        noise,
        tuple(sorted((0.0, 2 * s, 13 * s))),
        lambda w: np.abs(w) * np.exp(-((w / s) ** 2) / 4),
        lambda w: np.sign(s) * (1 - (w / s) ** 2 / 2) * np.exp(-((w / s) ** 2) / 4),
        lambda w: -1.5 / s**2 + w**2 / (4 * s**4),
    )


def normal(name: str, noise: Noise, mean: float, variance: float) -> ScalarCase:
    reach = 13 * math.sqrt(variance)
    return ScalarCase(
        name,
        noise,
        tuple(sorted({mean - reach, 0.0, mean, mean + reach})),
        lambda w: np.exp(-((w - mean) ** 2) / (4 * variance)),
        lambda w: -(w - mean) / (2 * variance) * np.exp(-((w - mean) ** 2) / (4 * variance)),
        lambda w: -0.5 / variance + (w - mean) ** 2 / (4 * variance**2),
    )


def airy_case(name: str, noise: Noise, scale: float) -> ScalarCase:
    turn = float(ai_zeros(1)[1][0])
    return ScalarCase(
        name,
        noise,
        (-16 * scale, 0.0, 16 * scale),
        lambda w: airy(np.abs(w) / scale + turn)[0],
        lambda w: np.sign(w) * airy(np.abs(w) / scale + turn)[1] / scale,
        lambda w: (np.abs(w) / scale + turn) / scale**2,
    )


def laplace(name: str, noise: Noise, b: float) -> ScalarCase:
    return ScalarCase(
        name,
        noise,
        (-60 * b, 0.0, 60 * b),
        lambda w: np.exp(-np.abs(w) / (2 * b)),
        lambda w: -np.sign(w) / (2 * b) * np.exp(-np.abs(w) / (2 * b)),
    )


JUMPING = [
    ScalarCase("uniform", Uniform(low=-1, high=2), (-1.0, 0.0, 2.0), lambda w: 1.0 + 0 * w),
    ScalarCase(
        "truncated laplace",
        TruncatedLaplace(0.5, center=0.2, low=-1, high=2),
        (-1.0, 0.0, 0.2, 2.0),
        lambda w: np.exp(-np.abs(w - 0.2)),
    ),
    ScalarCase(
        "truncated laplace right of its centre",
        TruncatedLaplace(0.4, center=-1.5, low=-1, high=2),
        (-1.0, 0.0, 2.0),
        lambda w: np.exp(-w / 0.8),
    ),
    ScalarCase(
        "truncated laplace left of its centre",
        TruncatedLaplace(0.4, center=2.5, low=-1, high=2),
        (-1.0, 0.0, 2.0),
        lambda w: np.exp(w / 0.8),
    ),
    ScalarCase(
        "truncated gaussian",
        TruncatedGaussian(0.8, center=0.1, low=-1, high=2),
        (-1.0, 0.0, 0.1, 2.0),
        lambda w: np.exp(-((w - 0.1) ** 2) / 2.56),
    ),
    ScalarCase(
        "truncated gaussian right of its centre",
        TruncatedGaussian(0.5, low=1, high=2.5),
        (1.0, 1.5, 2.5),
        lambda w: np.exp(-(w**2)),
    ),
]
SMOOTH = [
    cosine("raised cosine", RaisedCosine(-0.5, 0.5), -0.5, 0.5),
    cosine("raised cosine off centre", RaisedCosine(-7.25, 1.5), -7.25, 1.5),
    cosine("raised cosine above zero", RaisedCosine(0, 3), 0.0, 3.0),
    cosine("translation", Translation(RaisedCosine(0, 1), -3), -3.0, -2.0),
    maxwell("maxwell", Maxwell(0.7), 0.7),
    maxwell("mirrored maxwell", LinearImage(Maxwell(0.7), -2), -1.4),
    normal("gaussian", Gaussian(2.5, 0.3), 0.3, 2.5),
    airy_case("airy", Airy(1.3), 1.3),
    airy_case("product of one", Product((Airy(0.5),)), 0.5),
]
KINKED = [laplace("laplace", Laplace(0.8), 0.8)]
BY_NAME = {case.name: case for case in [*SMOOTH, *KINKED, *JUMPING]}
STANDARD_NORMAL = normal("standard normal", Gaussian(1.0), 0.0, 1.0)


@dataclass(frozen=True)
class VectorCase:
    """The law of w = A·z + shift, for a law of z that is known."""

    name: str
    noise: Noise
    matrix: np.ndarray
    shift: np.ndarray

    @property
    def dimension(self) -> int:
        return len(self.shift)

    @property
    def seed(self) -> int:
        return zlib.crc32(self.name.encode())

    def standard(self, w: np.ndarray) -> np.ndarray:
        """z, with points along the last of two axes even on the line."""
        return np.linalg.solve(self.matrix, (w.reshape(-1, self.dimension) - self.shift).T).T

    @property
    def rule(self) -> tuple[np.ndarray, np.ndarray]:
        """Points w and weights of a quadrature rule, in at most three dimensions."""
        z, weights = self.standard_rule
        return z @ self.matrix.T + self.shift, weights * abs(np.linalg.det(self.matrix))


@dataclass(frozen=True)
class AffineCase(VectorCase):
    """z has independent coordinates with the laws ``factors``."""

    factors: tuple[ScalarCase, ...]

    @property
    def standard_rule(self) -> tuple[np.ndarray, np.ndarray]:
        if self.name == "gaussian 3":  # the trapezoidal rule converges fastest for a law like this one
            line = np.linspace(-9, 9, 46)
            return tensor([(line, np.full(46, line[1] - line[0]))] * 3)
        return tensor([factor.rule({1: 80, 2: 60, 3: 20}[self.dimension]) for factor in self.factors])


@dataclass(frozen=True)
class BallCase(VectorCase):
    """z lives in the ball of radius R and has the root density r^{−ν}J_ν(jr/R), ν = m/2 − 1."""

    radius: float

    @property
    def standard_rule(self) -> tuple[np.ndarray, np.ndarray]:
        """In polar coordinates, exact in the angles for polynomials of low degree."""
        angles = 2 * np.pi * np.arange(12) / 12, np.full(12, 2 * np.pi / 12)
        if self.dimension == 2:
            polar, weights = tensor([graded(0, self.radius, 60), angles])
            directions = np.stack([np.cos(polar[:, 1]), np.sin(polar[:, 1])], axis=1)
        else:
            polar, weights = tensor([graded(0, self.radius, 60), angles, np.polynomial.legendre.leggauss(8)])
            flat, height = np.sqrt(1 - polar[:, 2] ** 2), polar[:, 2]
            directions = np.stack([flat * np.cos(polar[:, 1]), flat * np.sin(polar[:, 1]), height], axis=1)
        return polar[:, :1] * directions, weights * polar[:, 0] ** (self.dimension - 1)

    @cached_property
    def zero(self) -> float:
        """j; on the line the function is a cosine."""
        return float(mpmath.besseljzero(self.dimension / 2 - 1, 1)) if self.dimension > 1 else math.pi / 2

    def _weight(self, x: Any) -> Any:
        """x^{m−1}u² at r = xR, up to a factor."""
        return x * jv(self.dimension / 2 - 1, self.zero * x) ** 2

    @cached_property
    def mass(self) -> float:
        return quad(self._weight, 0, 1, epsabs=0, epsrel=1e-12)[0]

    def radial_density(self, x: Any) -> Any:
        """The density of r/R."""
        return self._weight(x) / self.mass

    def expect_radial(self, function: Function) -> float:
        """E function(r/R)."""
        return quad(lambda x: function(x) * self.radial_density(x), 0, 1, epsabs=0, epsrel=1e-12, limit=400)[0]

    @cached_property
    def table(self) -> tuple[np.ndarray, np.ndarray]:
        """Values of r/R and its cdf there."""
        return cumulated(self.radial_density, np.linspace(0, 1, 4001))


def mixing(dimension: int) -> np.ndarray:
    """A matrix with all entries at work, well away from singular."""
    entries = ReproducibleBits(dimension).normal(dimension**2).reshape(dimension, dimension)
    return entries / (2 * math.sqrt(dimension)) + np.diag(np.linspace(1.0, 2.0, dimension))


def product_cases() -> list[AffineCase]:
    names = {
        1: ["raised cosine above zero"],
        2: ["raised cosine off centre", "maxwell"],
        3: ["raised cosine", "raised cosine above zero", "raised cosine off centre"],
        5: ["raised cosine", "maxwell", "gaussian", "airy", "laplace"],
        8: [
            "raised cosine",
            "airy",
            "translation",
            "mirrored maxwell",
            "maxwell",
            "gaussian",
            "laplace",
            "raised cosine",
        ],
    }
    cases = []
    for m, chosen in names.items():
        factors = tuple(BY_NAME[name] for name in chosen)
        noise, A = Product(tuple(f.noise for f in factors)), mixing(m)
        cases += [
            AffineCase(f"product {m}", noise, np.eye(m), np.zeros(m), factors),
            AffineCase(f"image of product {m}", LinearImage(noise, A), A, np.zeros(m), factors),
        ]
    A, shift = mixing(2), np.array([-1.0, 2.0])
    factors = (BY_NAME["airy"], BY_NAME["raised cosine"])
    image = LinearImage(Product(tuple(f.noise for f in factors)), A)
    return [*cases, AffineCase("moved image of product 2", Translation(image, shift), A, shift, factors)]


def gaussian_cases() -> list[AffineCase]:
    cases = []
    for m in (1, 2, 3, 5, 8):
        covariance, mean = mixing(m) @ mixing(m).T, np.linspace(-1, 2, m)
        values, axes = np.linalg.eigh(covariance)
        noise = Gaussian(covariance, mean)
        cases.append(AffineCase(f"gaussian {m}", noise, axes * np.sqrt(values), mean, (STANDARD_NORMAL,) * m))
    return cases


def ball_cases() -> list[BallCase]:
    balls = [BallCase(f"ball {m}", BesselBall(m, 1.7), np.eye(m), np.zeros(m), 1.7) for m in (2, 3, 5, 8)]
    for m in (2, 3):
        A, shift, base = mixing(m), np.linspace(-1, 2, m), BesselBall(m, 0.6)
        balls.append(BallCase(f"ellipsoid {m}", LinearImage(base, A), A, np.zeros(m), 0.6))
        balls.append(BallCase(f"moved ball {m}", Translation(base, shift), np.eye(m), shift, 0.6))
    return balls


def over(cases: Sequence[Any]) -> Any:
    """A fixture that runs through cases."""

    @pytest.fixture(scope="session", params=cases, ids=lambda case: case.name.replace(" ", "-"))
    def case(request: pytest.FixtureRequest) -> Any:
        return request.param

    return case


AFFINE, BALLS = [*product_cases(), *gaussian_cases()], ball_cases()
scalar_case = over([*SMOOTH, *KINKED, *JUMPING])
finite_case = over([*SMOOTH, *KINKED])
smooth_case = over(SMOOTH)
jumping_case = over(JUMPING)
edged_case = over([case for case in BY_NAME.values() if np.isfinite(case.noise.support.bounding_box).any()])
affine_case = over(AFFINE)
small_affine_case = over([case for case in AFFINE if case.dimension <= 3])
product_case = over([case for case in AFFINE if case.name.startswith("product")])
gaussian_case = over([case for case in AFFINE if case.name.startswith("gaussian")])
mixed_case = over([case for case in AFFINE if "image" in case.name and case.dimension > 1])
ball_case = over(BALLS)
centred_ball_case = over([case for case in BALLS if not case.shift.any()])
small_ball_case = over([case for case in BALLS if case.dimension in (2, 3)])
vector_case = over([case for case in AFFINE + BALLS if case.dimension > 1])


@pytest.fixture(scope="session")
def assert_fits() -> Callable[[np.ndarray, np.ndarray, np.ndarray], None]:
    """Compare draws with a cdf given at some points.

    By the Dvoretzky–Kiefer–Wolfowitz inequality P(sup|F_n − F| > t) ≤ 2exp(−2nt²), so a right sampler fails with a
    probability of at most FALSE_ALARM; the supremum over some points is at most that over all.
    """

    def compare(draws: np.ndarray, points: np.ndarray, cdf: np.ndarray) -> None:
        share = np.searchsorted(np.sort(draws), points, side="right") / draws.size
        assert np.abs(share - cdf).max() <= math.sqrt(math.log(2 / FALSE_ALARM) / (2 * draws.size))

    return compare
