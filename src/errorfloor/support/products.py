"""Boxes, orthants, and other products of sets on the line."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, vector, whole
from errorfloor.errors import SupportError
from errorfloor.support.base import Support
from errorfloor.support.lines import AlongAxes, HalfLine, Interval, Reals
from errorfloor.support.polytope import Polytope, image_of


@dataclass(frozen=True, eq=False)
class Box(AlongAxes):
    """The box [low₁, high₁] × … × [lowₘ, highₘ].

    >>> Box([0, 0], [1, 2]).volume
    2.0
    >>> Box([0, 3], [1, 2])
    Traceback (most recent call last):
    errorfloor.errors.SupportError: Box needs low < high in every coordinate, got low 3.0 and high 2.0 in coordinate 1
    """

    low: Array
    high: Array

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(self, low: ArrayLike, high: ArrayLike) -> None: ...

    def __post_init__(self) -> None:
        low, high = vector("low", self.low, SupportError), vector("high", self.high, SupportError)
        if low.shape != high.shape:
            raise SupportError(f"low and high must have equally many entries, got {low.size} and {high.size}")
        if not (low < high).all():
            i = int(np.argmin(low < high))
            raise SupportError(
                f"Box needs low < high in every coordinate, "
                f"got low {float(low[i])} and high {float(high[i])} in coordinate {i}"
            )
        self._set(low=low, high=high)

    @property
    def dimension(self) -> int:
        """The number of sides."""
        return int(self.low.size)

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Itself."""
        return self.low, self.high

    def _image(self, A: Array, b: Array) -> Support:
        if np.array_equal(A, np.diag(np.diag(A))):
            return Box(*np.sort([np.diag(A) * self.low + b, np.diag(A) * self.high + b], axis=0))
        return image_of(self.half_spaces, A, b)


@dataclass(frozen=True, eq=False)
class Orthant(AlongAxes):
    """The orthant [0, ∞)ᵐ.

    >>> Orthant(2).contains([[0.0, 1.0], [-1.0, 1.0]])
    array([ True, False])
    """

    dimension: int

    def __post_init__(self) -> None:
        self._set(dimension=whole("dimension", self.dimension, SupportError))

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Zero, and infinity."""
        return np.zeros(self.dimension), np.full(self.dimension, math.inf)

    def _image(self, A: Array, b: Array) -> Support:
        if np.array_equal(A, np.diag(np.diag(A))) and (np.diag(A) > 0).all() and not b.any():
            return self
        return image_of(self.half_spaces, A, b)


def product_of(sides: Sequence[Support]) -> Support:
    """Give the product of one-dimensional sets, as a box, an orthant or Rᵐ where it is one.

    >>> product_of([Interval(0, 1), Interval(0, 2)])
    Box(low=array([0., 0.]), high=array([1., 2.]))
    """
    if len(sides) == 1:
        return sides[0]
    low, high = (np.concatenate(ends) for ends in zip(*(side.bounding_box for side in sides), strict=True))
    if all(isinstance(side, Interval) for side in sides):
        return Box(low, high)
    if all(isinstance(side, Reals) for side in sides):
        return Reals(len(sides))
    if all(isinstance(side, HalfLine) and side.low == 0 for side in sides):
        return Orthant(len(sides))
    axes = np.eye(len(sides))
    return Polytope(
        A=np.vstack([-axes[np.isfinite(low)], axes[np.isfinite(high)]]),
        b=np.concatenate([-low[np.isfinite(low)], high[np.isfinite(high)]]),
    )
