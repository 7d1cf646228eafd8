"""Noise pushed through an affine map: by an invertible matrix, or moved by a constant."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, invertible, vector
from errorfloor.errors import InputError
from errorfloor.noise.base import Noise
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.information import congruence
from errorfloor.random import Bits
from errorfloor.support import Support


@dataclass(frozen=True, eq=False)
class AffineImage(Noise, ABC):
    """The law of A·z + b for z drawn from ``base``."""

    base: Noise

    def __post_init__(self) -> None:
        if not isinstance(self.base, Noise):
            raise InputError(f"base must be a noise, got {type(self.base).__name__}")

    @property
    @abstractmethod
    def _map(self) -> tuple[Array, Array]:
        """A and b."""

    @property
    def dimension(self) -> int:
        """That of the base."""
        return self.base.dimension

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.inv(self._map[0])

    @cached_property
    def _log_volume(self) -> float:
        return float(np.linalg.slogdet(self._map[0])[1])

    @property
    def information(self) -> Array:
        """A⁻ᵀ I A⁻¹."""
        return congruence(self.base.information, self._inverse)

    @property
    def information_root(self) -> Array:
        """The base's times A⁻¹."""
        return np.asarray(self.base.information_root @ self._inverse)

    @property
    def why_infinite(self) -> str | None:
        """The base's reason."""
        return self.base.why_infinite

    @property
    def mean(self) -> Array:
        """A times the base's mean, plus b."""
        A, b = self._map
        return np.asarray(A @ self.base.mean + b)

    @property
    def covariance(self) -> Array:
        """A Σ Aᵀ."""
        return congruence(self.base.covariance, self._map[0].T)

    @property
    def entropy(self) -> float:
        """The base's plus log|det A|."""
        return self.base.entropy + self._log_volume

    @property
    def knots(self) -> tuple[float, ...]:
        """The base's, scaled and moved."""
        self._scalar_only("knots")
        (a,), (b,) = self._map[0].tolist(), self._map[1].tolist()
        return tuple(sorted(a[0] * knot + b for knot in self.base.knots))

    def _logpdf(self, w: Array) -> Array:
        return self.base._logpdf((w - self._map[1]) @ self._inverse.T) - self._log_volume

    def _score(self, w: Array) -> Array:
        return np.asarray(self.base._score((w - self._map[1]) @ self._inverse.T) @ self._inverse)

    def _cdf(self, w: Array) -> Array:
        below = self.base._cdf((w - self._map[1][0]) * self._inverse[0, 0])
        return below if self._inverse[0, 0] > 0 else 1 - below

    def _icdf(self, q: Array) -> Array:
        A, b = self._map
        return float(A[0, 0]) * self.base._icdf(q if A[0, 0] > 0 else 1 - q) + float(b[0])

    @property
    def repeatable(self) -> bool:
        """One number is, if the base's is."""
        return self.dimension == 1 and self.base.repeatable

    def _sample(self, count: int, bits: Bits) -> Array:
        A, b = self._map
        drawn: Array = self.base._sample(count, bits).reshape(count, self.dimension) @ A.T + b
        return drawn

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        A, b = self._map
        return self.base._mean_absolute(A.T @ direction, offset + float(direction @ b))


@dataclass(frozen=True, eq=False)
class LinearImage(AffineImage):
    """The law of A·z for z drawn from ``base``, A the ``matrix``.

    Guarantee: if ``base`` is least informative on W₀ for K₀, its image is on A·W₀ for A K₀ Aᵀ, at the same cost.

    >>> from errorfloor.noise import Maxwell
    >>> LinearImage(Maxwell(1.0), [[-1.0]]).support
    HalfLine(low=None, high=0.0)
    """

    matrix: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, base: Noise, matrix: ArrayLike, *, certificate: Certificate | None = None) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        self._set(matrix=invertible("matrix", self.matrix, self.base.dimension))

    @property
    def _map(self) -> tuple[Array, Array]:
        return self.matrix, np.zeros(self.dimension)

    @cached_property
    def support(self) -> Support:
        """The image of the base's support."""
        return self.base.support.image(self.matrix)


@dataclass(frozen=True, eq=False)
class Translation(AffineImage):
    """The law of z + ``shift`` for z drawn from ``base``.

    Guarantee: without a quality term, if ``base`` is least informative on W₀, its translation is on W₀ + shift.

    >>> from errorfloor.noise import BesselBall
    >>> Translation(BesselBall(2, 1.0), [3.0, 0.0]).mean
    array([3., 0.])
    """

    shift: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, base: Noise, shift: ArrayLike, *, certificate: Certificate | None = None) -> None: ...

    def __post_init__(self) -> None:
        super().__post_init__()
        shift = vector("shift", self.shift)
        if shift.size != self.base.dimension:
            raise InputError(f"shift must have {self.base.dimension} entries, got {shift.size}")
        self._set(shift=shift)

    @property
    def _map(self) -> tuple[Array, Array]:
        return np.eye(self.dimension), self.shift

    @property
    def support(self) -> Support:
        """The base's support, moved."""
        return self.base.support.image(np.eye(self.dimension), self.shift)
