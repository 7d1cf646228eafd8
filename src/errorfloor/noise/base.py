"""What every noise knows about itself."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array, points, positive, whole
from errorfloor.errors import InputError
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.information import matrix_root
from errorfloor.noise.loss import Loss
from errorfloor.noise.quadrature import integrate
from errorfloor.random import Bits, bits_from
from errorfloor.support import Interval, Reals, Support
from errorfloor.values import Value


@dataclass(frozen=True, eq=False)
class Noise(Value, ABC):
    """The law of a random vector w with a density on a support.

    In one dimension points are plain numbers; otherwise they lie along the last axis of an array. ``mean`` has shape
    (m,), ``covariance`` and ``information`` have shape (m, m), in one dimension too.
    """

    certificate: Certificate | None = field(default=None, compare=False, repr=False, kw_only=True)

    if TYPE_CHECKING:  # fields in some families, properties in others

        @property
        def dimension(self) -> int:
            """The number m of coordinates."""

        @property
        def mean(self) -> Array:
            """The mean of w."""

        @property
        def covariance(self) -> Array:
            """The covariance matrix of w."""

    @property
    @abstractmethod
    def support(self) -> Support:
        """The set that w never leaves."""

    @property
    @abstractmethod
    def information(self) -> Array:
        """The Fisher information I_w = 4∫∇u∇uᵀ of a shift of w, with u the root of the density."""

    @property
    def information_root(self) -> Array:
        """A matrix G with GᵀG the information, where that is finite; it keeps digits that the product loses."""
        return matrix_root(self.information)

    @property
    @abstractmethod
    def entropy(self) -> float:
        """The differential entropy −E log γ(w), in nats."""

    @property
    def knots(self) -> tuple[float, ...]:
        """In one dimension: the ends of the support and the points where the density is not smooth."""
        self._scalar_only("knots")
        raise AssertionError("every one-dimensional noise has knots")

    @property
    def unit(self) -> float:
        """In one dimension: the root-mean-square size of w, the natural length for a quadrature."""
        self._scalar_only("unit")
        return math.sqrt(float(self.covariance[0, 0]) + float(self.mean[0]) ** 2)

    @property
    def repeatable(self) -> bool:
        """Whether the same bits give the same draws on every machine; only such noise may be sticky."""
        return False

    @property
    def law(self) -> dict[str, Any]:
        """What decides the density, as plain JSON types: ``to_dict`` without certificates."""
        plain: dict[str, Any] = _without_certificates(self.to_dict())
        return plain

    @property
    def why_infinite(self) -> str | None:
        """Why the information is infinite, or None where it is finite."""
        return None

    def pdf(self, w: Any) -> Any:
        """Density at w; zero outside the support."""
        return np.exp(self.logpdf(w))

    def logpdf(self, w: Any) -> Any:
        """Logarithm of the density at w; −inf outside the support."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._logpdf(points("w", w, self.dimension))[()]

    def score(self, w: Any) -> Any:
        """Gradient of the log-density at w; nan outside the support."""
        with np.errstate(divide="ignore", invalid="ignore"):
            gradient = self._score(points("w", w, self.dimension))
        return gradient[..., 0][()] if self.dimension == 1 else gradient

    def cdf(self, w: Any) -> Any:
        """Probability of a draw ≤ w, in one dimension."""
        self._scalar_only("cdf")
        return self._cdf(points("w", w, 1)[..., 0])[()]

    def icdf(self, q: Any) -> Any:
        """The number below which a draw falls with probability q, in one dimension."""
        self._scalar_only("icdf")
        quantile = points("q", q, 1)[..., 0]
        if not ((quantile >= 0) & (quantile <= 1)).all():
            raise InputError("q must be probabilities between 0 and 1")
        return self._icdf(quantile)[()]

    def sample(self, size: int | tuple[int, ...] = 1, rng: Any = None) -> Array:
        """Draw from the density: shape ``size`` in one dimension, else ``size`` + (m,).

        With ``rng`` None the bits are secure. Pass a seed, a NumPy generator or ``ReproducibleBits`` only for tests
        and studies: whoever knows the seed can take the noise away.
        """
        shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        shape = tuple(whole("size", n, least=0) for n in shape)
        drawn = self._sample(math.prod(shape), bits_from(rng))
        return drawn.reshape(shape) if self.dimension == 1 else drawn.reshape(*shape, self.dimension)

    def expected_loss(self, loss: Any = "squared") -> float:
        """E ℓ(w) for ℓ = wᵀw ("squared"), Σ|wᵢ| ("absolute") or wᵀRw (a matrix R)."""
        parsed = Loss.parse(loss, self.dimension)
        if parsed.weight is None:
            return sum(self._mean_absolute(axis, 0.0) for axis in np.eye(self.dimension))
        second_moment = self.covariance + np.outer(self.mean, self.mean)
        return float(np.trace(parsed.weight @ second_moment))

    def plot(self, **options: Any) -> Any:
        """Draw the density (needs the extra ``plots``); options are those of ``errorfloor.plots.density``."""
        from errorfloor import plots

        return plots.density(self, **options)

    @abstractmethod
    def _logpdf(self, w: Array) -> Array: ...

    @abstractmethod
    def _score(self, w: Array) -> Array: ...

    @abstractmethod
    def _sample(self, count: int, bits: Bits) -> Array:
        """Draw ``count`` points: an array that can be reshaped to (count, m)."""

    @abstractmethod
    def _mean_absolute(self, direction: Array, offset: float) -> float:
        """Give E|direction·w + offset|."""

    def _cdf(self, w: Array) -> Array:
        raise AssertionError("every one-dimensional noise has a cdf")

    def _icdf(self, q: Array) -> Array:
        raise AssertionError("every one-dimensional noise has an icdf")

    def _scalar_only(self, name: str) -> None:
        if self.dimension != 1:
            raise InputError(f"{name} is defined in one dimension; this noise has {self.dimension}")


@dataclass(frozen=True, eq=False)
class ScalarNoise(Noise, ABC):
    """Noise on the line, given by functions of plain numbers."""

    @property
    def dimension(self) -> int:
        """Always 1."""
        return 1

    def _logpdf(self, w: Array) -> Array:
        return self._log_density(w[..., 0])

    def _score(self, w: Array) -> Array:
        return self._slope(w[..., 0])[..., None]

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        scale = float(direction[0])
        if scale == 0:
            return abs(offset)
        turn = -offset / scale
        inside = (turn,) if self.knots[0] < turn < self.knots[-1] else ()
        return integrate(lambda w: np.abs(scale * w + offset) * self.pdf(w), (*self.knots, *inside), self.unit)

    @abstractmethod
    def _log_density(self, w: Array) -> Array: ...

    @abstractmethod
    def _slope(self, w: Array) -> Array:
        """Give the derivative of the log-density."""


@dataclass(frozen=True, eq=False)
class ScaledNoise(ScalarNoise, ABC):
    """Noise of a ``scale``: on the line and symmetric about zero, where its family does not say otherwise."""

    scale: float

    def __post_init__(self) -> None:
        self._set(scale=positive("scale", self.scale))

    @property
    def support(self) -> Support:
        """The line."""
        return Reals(1)

    @property
    def mean(self) -> Array:
        """Zero."""
        return np.zeros(1)

    @property
    def knots(self) -> tuple[float, ...]:
        """Zero, where the density is not smooth, between the infinities."""
        return (-math.inf, 0.0, math.inf)


@dataclass(frozen=True, eq=False)
class NoiseOnInterval(ScalarNoise, ABC):
    """Noise on the interval [low, high]."""

    low: float
    high: float

    def __post_init__(self) -> None:
        interval = Interval(self.low, self.high)
        self._set(low=interval.low, high=interval.high)

    @property
    def support(self) -> Interval:
        """The interval [low, high]."""
        return Interval(self.low, self.high)

    @property
    def width(self) -> float:
        """Δ."""
        return self.high - self.low

    @property
    def knots(self) -> tuple[float, ...]:
        """The ends."""
        return (self.low, self.high)


def where_inside(noise: Noise, w: Array, inside: Array, outside: float) -> Array:
    """Keep values of a formula inside the support of a one-dimensional noise and put ``outside`` elsewhere."""
    low, high = noise.knots[0], noise.knots[-1]
    return np.where((w >= low) & (w <= high), inside, np.where(np.isnan(w), np.nan, outside))


def rejection(count: int, bits: Bits, propose: Callable[[int, Bits], tuple[Array, Array]]) -> Array:
    """Collect ``count`` accepted proposals; ``propose(k, bits)`` gives k points and which of them to keep.

    Each draw proposes until it is accepted, all of those that are left at once, so no loop runs per draw and a draw's
    bits are its own.
    """
    drawn, accepted = propose(count, bits)
    left = np.flatnonzero(~accepted)
    while left.size:
        candidates, accepted = propose(left.size, bits.lanes(left))
        drawn[left[accepted]] = candidates[accepted]
        left = left[~accepted]
    return drawn


def _without_certificates(plain: Any) -> Any:
    if isinstance(plain, dict):
        return {name: _without_certificates(value) for name, value in plain.items() if name != "certificate"}
    return [_without_certificates(value) for value in plain] if isinstance(plain, list) else plain
