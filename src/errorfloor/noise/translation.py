"""Noise moved by a constant."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, vector
from errorfloor.errors import InputError
from errorfloor.noise.base import Noise
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.loss import Loss
from errorfloor.random import Bits
from errorfloor.support import Support


@dataclass(frozen=True, eq=False)
class Translation(Noise):
    """The law of z + ``shift`` for z drawn from ``base``.

    Guarantee: without a quality term, if ``base`` is least informative on W₀, its translation is on W₀ + shift.

    >>> from errorfloor.noise import BesselBall
    >>> Translation(BesselBall(2, 1.0), [3.0, 0.0]).mean
    array([3., 0.])
    """

    base: Noise
    shift: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, base: Noise, shift: ArrayLike, *, certificate: Certificate | None = None) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.base, Noise):
            raise InputError(f"base must be a noise, got {type(self.base).__name__}")
        shift = vector("shift", self.shift)
        if shift.size != self.base.dimension:
            raise InputError(f"shift must have {self.base.dimension} entries, got {shift.size}")
        object.__setattr__(self, "shift", shift)

    @property
    def dimension(self) -> int:
        """That of the base."""
        return self.base.dimension

    @property
    def support(self) -> Support:
        """The base's support, moved."""
        return self.base.support.image(np.eye(self.dimension), self.shift)

    @property
    def information(self) -> Array:
        """The base's."""
        return self.base.information

    @property
    def information_root(self) -> Array:
        """The base's."""
        return self.base.information_root

    @property
    def why_infinite(self) -> str | None:
        """The base's reason."""
        return self.base.why_infinite

    @property
    def mean(self) -> Array:
        """The base's, moved."""
        return self.base.mean + self.shift

    @property
    def covariance(self) -> Array:
        """The base's."""
        return self.base.covariance

    @property
    def entropy(self) -> float:
        """The base's."""
        return self.base.entropy

    @property
    def knots(self) -> tuple[float, ...]:
        """The base's, moved."""
        self._scalar_only("knots")
        return tuple(knot + float(self.shift[0]) for knot in self.base.knots)

    def _logpdf(self, w: Array) -> Array:
        return self.base._logpdf(w - self.shift)

    def _score(self, w: Array) -> Array:
        return self.base._score(w - self.shift)

    def _cdf(self, w: Array) -> Array:
        return self.base._cdf(w - self.shift[0])

    def _icdf(self, q: Array) -> Array:
        return self.base._icdf(q) + float(self.shift[0])

    @property
    def repeatable(self) -> bool:
        """One number is, if the base's is."""
        return self.dimension == 1 and self.base.repeatable

    def _sample(self, count: int, bits: Bits) -> Array:
        drawn: Array = self.base._sample(count, bits).reshape(count, self.dimension) + self.shift
        return drawn

    def _expectation(self, loss: Loss) -> float:
        def moved(z: Array) -> Any:
            return loss((z[..., None] if self.dimension == 1 else z) + self.shift)

        return self.base._expectation(Loss(None, moved))

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        return self.base._mean_absolute(direction, offset + float(direction @ self.shift))
