"""The whole space."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, whole
from errorfloor.errors import SupportError
from errorfloor.support.base import AlongAxes, Support


@dataclass(frozen=True, eq=False)
class Reals(AlongAxes):
    """The space Rᵐ: noise without any constraint.

    >>> Reals(3).is_bounded
    False
    """

    dimension: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, SupportError))

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Infinite everywhere."""
        return np.full(self.dimension, -math.inf), np.full(self.dimension, math.inf)

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """A product of lines."""
        return np.eye(self.dimension), tuple(Reals(1) for _ in range(self.dimension))

    def _image(self, A: Array, b: Array) -> Support:
        return self
