"""Noise pushed through an invertible matrix."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, invertible
from errorfloor.errors import InputError
from errorfloor.noise.base import Noise
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.information import congruence
from errorfloor.noise.loss import Loss
from errorfloor.random import Bits
from errorfloor.support import Support


@dataclass(frozen=True, eq=False)
class LinearImage(Noise):
    """The law of A·z for z drawn from ``base``, A the ``matrix``.

    Guarantee: if ``base`` is least informative on W₀ for K₀, its image is on A·W₀ for A K₀ Aᵀ, at the same cost.

    >>> from errorfloor.noise import Maxwell
    >>> LinearImage(Maxwell(1.0), [[-1.0]]).support
    HalfLine(low=None, high=0.0)
    """

    base: Noise
    matrix: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, base: Noise, matrix: ArrayLike, *, certificate: Certificate | None = None) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.base, Noise):
            raise InputError(f"base must be a noise, got {type(self.base).__name__}")
        object.__setattr__(self, "matrix", invertible("matrix", self.matrix, self.base.dimension))

    @property
    def dimension(self) -> int:
        """That of the base."""
        return self.base.dimension

    @cached_property
    def support(self) -> Support:
        """The image of the base's support."""
        return self.base.support.image(self.matrix)

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.inv(self.matrix)

    @cached_property
    def _log_volume(self) -> float:
        return float(np.linalg.slogdet(self.matrix)[1])

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
        """A times the base's mean."""
        return self.matrix @ self.base.mean

    @property
    def covariance(self) -> Array:
        """A Σ Aᵀ."""
        return congruence(self.base.covariance, self.matrix.T)

    @property
    def entropy(self) -> float:
        """The base's plus log|det A|."""
        return self.base.entropy + self._log_volume

    @property
    def knots(self) -> tuple[float, ...]:
        """The base's, scaled."""
        self._scalar_only("knots")
        return tuple(sorted(float(self.matrix[0, 0]) * knot for knot in self.base.knots))

    def _logpdf(self, w: Array) -> Array:
        return self.base._logpdf(w @ self._inverse.T) - self._log_volume

    def _score(self, w: Array) -> Array:
        return np.asarray(self.base._score(w @ self._inverse.T) @ self._inverse)

    def _cdf(self, w: Array) -> Array:
        below = self.base._cdf(w * self._inverse[0, 0])
        return below if self.matrix[0, 0] > 0 else 1 - below

    def _icdf(self, q: Array) -> Array:
        return float(self.matrix[0, 0]) * self.base._icdf(q if self.matrix[0, 0] > 0 else 1 - q)

    @property
    def repeatable(self) -> bool:
        """One number is, if the base's is."""
        return self.dimension == 1 and self.base.repeatable

    def _sample(self, count: int, bits: Bits) -> Array:
        drawn: Array = self.base._sample(count, bits).reshape(count, self.dimension) @ self.matrix.T
        return drawn

    def _expectation(self, loss: Loss) -> float:
        def moved(z: Array) -> Any:
            return loss((z[..., None] if self.dimension == 1 else z) @ self.matrix.T)

        return self.base._expectation(Loss(None, moved))

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        return self.base._mean_absolute(self.matrix.T @ direction, offset)
