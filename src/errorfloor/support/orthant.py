"""Noise that is never negative, in every coordinate."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, whole
from errorfloor.errors import SupportError
from errorfloor.support.base import AlongAxes, Support
from errorfloor.support.halfline import HalfLine
from errorfloor.support.polytope import Polytope


@dataclass(frozen=True, eq=False)
class Orthant(AlongAxes):
    """The orthant [0, ∞)ᵐ.

    >>> Orthant(2).contains([[0.0, 1.0], [-1.0, 1.0]])
    array([ True, False])
    """

    dimension: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", whole("dimension", self.dimension, SupportError))

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Zero, and infinity."""
        return np.zeros(self.dimension), np.full(self.dimension, math.inf)

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """A product of half-lines."""
        return np.eye(self.dimension), tuple(HalfLine(0.0) for _ in range(self.dimension))

    def _image(self, A: Array, b: Array) -> Support:
        if np.array_equal(A, np.diag(np.diag(A))) and (np.diag(A) > 0).all() and not b.any():
            return self
        rows, offsets = self.half_spaces
        moved = np.linalg.solve(A.T, rows.T).T
        return Polytope(A=moved, b=offsets + moved @ b)
