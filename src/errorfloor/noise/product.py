"""Independent noise in every coordinate."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise.base import Noise
from errorfloor.random import Bits
from errorfloor.support import Support, product_of


@dataclass(frozen=True, eq=False)
class Product(Noise):
    """Independent one-dimensional noises, one a coordinate.

    Guarantee: if the factors are least informative on their own supports, the product is on the product of them, for
    every diagonal K.

    >>> from errorfloor.noise import RaisedCosine
    >>> Product((RaisedCosine(0, 1), RaisedCosine(0, 2))).information.round(4)
    array([[39.4784,  0.    ],
           [ 0.    ,  9.8696]])
    """

    factors: tuple[Noise, ...]

    def __post_init__(self) -> None:
        factors = tuple(self.factors)
        if not factors or any(not isinstance(f, Noise) or f.dimension != 1 for f in factors):
            raise InputError("factors must be one or more one-dimensional noises")
        self._set(factors=factors)

    @property
    def dimension(self) -> int:
        """The number of factors."""
        return len(self.factors)

    @cached_property
    def support(self) -> Support:
        """The product of the factors' supports."""
        return product_of([factor.support for factor in self.factors])

    @property
    def information(self) -> Array:
        """Diagonal."""
        return np.diag([float(factor.information[0, 0]) for factor in self.factors])

    @property
    def why_infinite(self) -> str | None:
        """The first factor's reason, if any has one."""
        return next((f.why_infinite for f in self.factors if f.why_infinite), None)

    @property
    def mean(self) -> Array:
        """The factors' means."""
        return np.concatenate([factor.mean for factor in self.factors])

    @property
    def covariance(self) -> Array:
        """Diagonal."""
        return np.diag([float(factor.covariance[0, 0]) for factor in self.factors])

    @property
    def entropy(self) -> float:
        """The sum of the factors' entropies."""
        return float(sum(factor.entropy for factor in self.factors))

    @property
    def knots(self) -> tuple[float, ...]:
        """Those of the only factor."""
        self._scalar_only("knots")
        return self.factors[0].knots

    def _columns(self, w: Array) -> list[tuple[Noise, Array]]:
        return [(factor, w[..., i : i + 1]) for i, factor in enumerate(self.factors)]

    def _logpdf(self, w: Array) -> Array:
        return np.asarray(sum(factor._logpdf(column) for factor, column in self._columns(w)))

    def _score(self, w: Array) -> Array:
        gradient = np.concatenate([factor._score(column) for factor, column in self._columns(w)], axis=-1)
        inside = self._logpdf(w) > -np.inf
        return np.where(inside[..., None], gradient, np.nan)

    def _cdf(self, w: Array) -> Array:
        return self.factors[0]._cdf(w)

    def _icdf(self, q: Array) -> Array:
        return self.factors[0]._icdf(q)

    @property
    def repeatable(self) -> bool:
        """As its factors."""
        return all(factor.repeatable for factor in self.factors)

    def _sample(self, count: int, bits: Bits) -> Array:
        return np.stack([factor._sample(count, bits).reshape(count) for factor in self.factors], axis=1)

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        (moved,) = np.nonzero(direction)
        if moved.size == 0:
            return abs(offset)
        if moved.size > 1:
            raise NoClosedFormError(
                "E|a·w| of product noise has no closed form when a mixes several coordinates: use samples"
            )
        return self.factors[int(moved[0])]._mean_absolute(direction[moved], offset)
