"""Noise on a slice: for answers that depend on each other no noise with a density is best."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, as_jacobian, matrix, vector
from errorfloor.errors import InputError
from errorfloor.noise.base import Noise
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.loss import Loss
from errorfloor.random import Bits
from errorfloor.support import Support

ACROSS = 1e-9  # a direction this far from the slice, relative to its length, leaves it


@dataclass(frozen=True, eq=False)
class Flat(Noise):
    """The law of shift + A·z for z drawn from ``base``: A the ``matrix``, with more rows than columns.

    It has no density on Rᵐ, and a shift across the slice is seen at once: I_w does not exist. What an answer tells
    about the data is finite for queries that only ever move along the slice; ``information_about`` gives it.

    Guarantee: for a query whose range is that of A, ``information_about`` is FᵀA⁺ᵀ I_z A⁺F, the information of z.

    >>> from errorfloor.noise import RaisedCosine
    >>> from errorfloor.support import Box
    >>> twice = Flat(RaisedCosine(0, 1), [[1.0], [1.0]], [0.0, 0.0], Box([0, 0], [1, 1]))
    >>> twice.information_about([[1.0], [1.0]]).round(4), twice.sample(3).shape
    (array([[39.4784]]), (3, 2))
    """

    base: Noise
    matrix: Array
    shift: Array
    region: Support

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(
            self,
            base: Noise,
            matrix: ArrayLike,
            shift: ArrayLike,
            region: Support,
            *,
            certificate: Certificate | None = None,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.base, Noise) or not isinstance(self.region, Support):
            raise InputError("base must be a noise and region a support")
        A, shift = matrix("matrix", self.matrix), vector("shift", self.shift)
        m, r = A.shape
        if r != self.base.dimension or shift.size != m or self.region.dimension != m or r >= m:
            raise InputError(
                f"matrix must have {self.base.dimension} columns and more rows, as many as shift and region have "
                f"coordinates, got {m}×{r}"
            )
        object.__setattr__(self, "matrix", A)
        object.__setattr__(self, "shift", shift)

    @property
    def dimension(self) -> int:
        """The number of answers."""
        return int(self.matrix.shape[0])

    @property
    def support(self) -> Support:
        """The set that the slice lies in."""
        return self.region

    @property
    def information(self) -> Array:
        """Infinite in every coordinate that the slice does not hold alone."""
        return self.information_about(np.eye(self.dimension))

    @property
    def why_infinite(self) -> str | None:
        """The slice."""
        size = f"{self.base.dimension} dimension{'s' if self.base.dimension > 1 else ''}"
        return f"the noise lives on a slice of {size}, and whatever moves the answers off it is seen"

    def along(self, jacobian: Any) -> tuple[Array, Array]:
        """Split a query: its derivatives in the slice's own coordinates, and which entries leave the slice."""
        F = as_jacobian(jacobian, self.dimension)
        inner = np.linalg.lstsq(self.matrix, F, rcond=None)[0]
        across = np.linalg.norm(F - self.matrix @ inner, axis=0) > ACROSS * np.linalg.norm(F, axis=0)
        return np.where(across, 0.0, inner), across

    def information_about(self, jacobian: Any) -> Array:
        """I(x) = FᵀA⁺ᵀ I_z A⁺F for a query with Jacobian F; infinite for entries that move answers off the slice."""
        inner, across = self.along(jacobian)
        total = inner.T @ self.base.information @ inner
        total[np.ix_(across, across)] = math.inf
        return np.asarray(total)

    @property
    def mean(self) -> Array:
        """Shift + A·mean(z)."""
        return np.asarray(self.shift + self.matrix @ self.base.mean)

    @property
    def covariance(self) -> Array:
        """A Σ Aᵀ, singular."""
        return np.asarray(self.matrix @ self.base.covariance @ self.matrix.T)

    @property
    def entropy(self) -> float:
        """−∞: there is no density."""
        return -math.inf

    @property
    def knots(self) -> tuple[float, ...]:
        """None: it is defined in one dimension only."""
        self._scalar_only("knots")
        raise AssertionError("a slice has at least two coordinates around it")

    def _expectation(self, loss: Loss) -> float:
        return self.base.expected_loss(lambda z: loss(self._placed(z)))

    def _placed(self, z: Any) -> Array:
        points = np.asarray(z)[..., None] if self.base.dimension == 1 else np.asarray(z)
        return np.asarray(self.shift + points @ self.matrix.T)

    def _logpdf(self, w: Array) -> Array:
        raise InputError("noise on a slice has no density on the whole space: ask its base")

    def _score(self, w: Array) -> Array:
        raise InputError("noise on a slice has no density on the whole space: ask its base")

    def _sample(self, count: int, bits: Bits) -> Array:
        drawn = self.base._sample(count, bits).reshape(count, self.base.dimension) @ self.matrix.T + self.shift
        return np.asarray(np.clip(drawn, *self.region.bounding_box))

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        return self.base._mean_absolute(self.matrix.T @ direction, offset + float(direction @ self.shift))
