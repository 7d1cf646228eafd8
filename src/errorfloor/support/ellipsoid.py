"""Balls and ellipsoids."""

import math
from abc import ABC
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, positive, positive_definite, vector, whole
from errorfloor.errors import SupportError
from errorfloor.support.base import ROUNDING, Support
from errorfloor.support.lines import Interval


def _center(center: object, dimension: int) -> Array:
    value = vector("center", np.zeros(dimension) if center is None else center, SupportError)
    if value.size != dimension:
        raise SupportError(f"center must have {dimension} entries, got {value.size}")
    return value


def _ball_volume(dimension: int, log_radii: float) -> float:
    """Volume of an ellipsoid from the sum of the logarithms of its half-axes; infinite if no double can hold it."""
    logarithm = dimension / 2 * math.log(math.pi) - math.lgamma(dimension / 2 + 1) + log_radii
    return math.exp(logarithm) if logarithm < 709 else math.inf


class _Round(Support, ABC):
    center: Array | None

    @property
    def middle(self) -> Array:
        """The center, as an array."""
        return np.asarray(self.center)

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]] | None:
        """In one dimension an interval."""
        if self.dimension > 1:
            return None
        (low,), (high,) = self.bounding_box
        return np.eye(1), (Interval(float(low), float(high)),)


@dataclass(frozen=True, eq=False)
class Ball(_Round):
    """The ball {w : |w − center| ≤ radius}.

    >>> round(Ball(2, 1.0).volume, 9)
    3.141592654
    >>> Ball(2, -1.0)
    Traceback (most recent call last):
    errorfloor.errors.SupportError: radius must be positive, got -1.0
    """

    dimension: int
    radius: float
    center: Array | None = None

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, dimension: int, radius: float, center: ArrayLike | None = None) -> None: ...

    def __post_init__(self) -> None:
        dimension = whole("dimension", self.dimension, SupportError)
        radius = positive("radius", self.radius, SupportError)
        self._set(dimension=dimension, radius=radius, center=_center(self.center, dimension))

    @property
    def shape(self) -> Array:
        """The matrix S of the form (w − center)ᵀ S⁻¹ (w − center) ≤ 1."""
        return self.radius**2 * np.eye(self.dimension)

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The cube around the ball."""
        return self.middle - self.radius, self.middle + self.radius

    @property
    def volume(self) -> float:
        """The unit ball's volume times radiusᵐ."""
        return _ball_volume(self.dimension, self.dimension * math.log(self.radius))

    def _contains(self, w: Array) -> Array:
        return np.asarray(np.linalg.norm(w - self.middle, axis=-1) <= self.radius)

    def _image(self, A: Array, b: Array) -> Support:
        gram = A @ A.T
        factor = math.sqrt(float(np.trace(gram)) / self.dimension)
        if np.allclose(gram, factor**2 * np.eye(self.dimension), rtol=0, atol=ROUNDING * factor**2):
            return Ball(self.dimension, self.radius * factor, A @ self.middle + b)
        return Ellipsoid(self.shape, self.middle)._image(A, b)


@dataclass(frozen=True, eq=False)
class Ellipsoid(_Round):
    """The ellipsoid {w : (w − center)ᵀ shape⁻¹ (w − center) ≤ 1}; half-axes are roots of eigenvalues of ``shape``.

    >>> Ellipsoid([[4.0, 0.0], [0.0, 1.0]]).bounding_box
    (array([-2., -1.]), array([2., 1.]))
    """

    shape: Array
    center: Array | None = None

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, shape: ArrayLike, center: ArrayLike | None = None) -> None: ...

    def __post_init__(self) -> None:
        shape = positive_definite("shape", self.shape, None, SupportError)
        self._set(shape=shape, center=_center(self.center, shape.shape[0]))

    @property
    def dimension(self) -> int:
        """The number of axes."""
        return int(self.shape.shape[0])

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The box whose faces touch the ellipsoid."""
        reach = np.sqrt(np.diag(self.shape))
        return self.middle - reach, self.middle + reach

    @property
    def volume(self) -> float:
        """The unit ball's volume times the root of det(shape)."""
        return _ball_volume(self.dimension, float(np.linalg.slogdet(self.shape)[1]) / 2)

    def _contains(self, w: Array) -> Array:
        whitened = np.linalg.solve(np.linalg.cholesky(self.shape), (w - self.middle)[..., None])[..., 0]
        return np.asarray(np.linalg.norm(whitened, axis=-1) <= 1 + ROUNDING)

    def _image(self, A: Array, b: Array) -> Support:
        return Ellipsoid(A @ self.shape @ A.T, A @ self.middle + b)
