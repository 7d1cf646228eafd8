"""What all computed noises share: their density is the square of a function u that is known by its coefficients."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise.base import Noise
from errorfloor.noise.simplices import sealed
from errorfloor.support import Support


@dataclass(frozen=True, eq=False)
class NumericalNoise(Noise, ABC):
    """Noise with the density u², ∫u² = 1, u continuous and zero on the boundary of its support.

    Guarantee: information and moments are exact integrals, up to rounding, of the very u² that is sampled.
    """

    @property
    @abstractmethod
    def _moments(self) -> tuple[Array, Array]:
        """The mean, and the covariance about it."""

    @abstractmethod
    def _root(self, w: Array, *, slope: bool) -> tuple[Array, Array, Array | None]:
        """Which of some points (count, m) lie inside, u at these, and its gradient there if it is asked for."""

    @property
    def mean(self) -> Array:
        """The mean of w."""
        return self._moments[0]

    @property
    def covariance(self) -> Array:
        """The covariance matrix of w."""
        return self._moments[1]

    def _logpdf(self, w: Array) -> Array:
        flat = w.reshape(-1, self.dimension)
        inside, u, _ = self._root(flat, slope=False)
        value = np.where(np.isnan(flat).any(axis=1), math.nan, -math.inf)
        value[inside] = 2 * np.log(np.abs(u))
        return value.reshape(w.shape[:-1])

    def _score(self, w: Array) -> Array:
        flat = w.reshape(-1, self.dimension)
        inside, u, gradient = self._root(flat, slope=True)
        assert gradient is not None, "it was asked for"
        value = np.full(flat.shape, math.nan)
        value[inside] = 2 * gradient / u[:, None]
        return value.reshape(w.shape)

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        raise NoClosedFormError("E|a·w + c| of computed noise has no formula when a mixes coordinates: use samples")


def nonzero(coefficients: Array) -> Array:
    """Refuse coefficients that are not finite, or all zero; make the others read-only."""
    if not np.isfinite(coefficients).all() or not coefficients.any():
        raise InputError("coefficients must be finite, and not all zero: that is no density")
    return sealed(coefficients)


def support_of(region: Any) -> Support:
    """Refuse a region that is no support."""
    if not isinstance(region, Support):
        raise InputError(f"region must be a support, got {type(region).__name__}")
    return region


def entropy_of(density: Array, weights: Array) -> float:
    """−Σ weight·γ log γ over the nodes of a rule."""
    return -float((weights * density * np.log(np.where(density > 0, density, 1.0))).sum())
