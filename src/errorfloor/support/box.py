"""A box with sides along the axes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, vector
from errorfloor.errors import SupportError
from errorfloor.support.base import AlongAxes, Support
from errorfloor.support.interval import Interval
from errorfloor.support.polytope import Polytope


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
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def sides(self) -> tuple[Interval, ...]:
        """The intervals whose product the box is."""
        return tuple(Interval(float(a), float(b)) for a, b in zip(self.low, self.high, strict=True))

    @property
    def dimension(self) -> int:
        """The number of sides."""
        return int(self.low.size)

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Itself."""
        return self.low, self.high

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """The product of its sides."""
        return np.eye(self.dimension), self.sides

    def _image(self, A: Array, b: Array) -> Support:
        if np.array_equal(A, np.diag(np.diag(A))):
            ends = np.sort([np.diag(A) * self.low + b, np.diag(A) * self.high + b], axis=0)
            return Box(*ends)
        rows, offsets = self.half_spaces
        moved = np.linalg.solve(A.T, rows.T).T
        return Polytope(A=moved, b=offsets + moved @ b)
