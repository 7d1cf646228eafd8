"""A bounded interval of the line."""

from dataclasses import dataclass

import numpy as np

from errorfloor.checks import LEAST, Array, real
from errorfloor.errors import SupportError
from errorfloor.support.base import AlongAxes, Support


@dataclass(frozen=True, eq=False)
class Interval(AlongAxes):
    """The interval [low, high].

    >>> interval = Interval(-0.5, 1.5)
    >>> interval.width, interval.center, interval.contains([0.0, 2.0])
    (2.0, 0.5, array([ True, False]))
    >>> Interval(1, 0)
    Traceback (most recent call last):
    errorfloor.errors.SupportError: Interval needs low < high, got low 1.0 and high 0.0
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, (float, np.floating)) and np.isinf(value):
                raise SupportError(
                    f"Interval is bounded, got {name} {value}: use HalfLine(low), HalfLine(high=…) or Reals(1)"
                )
            object.__setattr__(self, name, real(name, value, SupportError))
        if not self.low < self.high:
            raise SupportError(f"Interval needs low < high, got low {self.low} and high {self.high}")
        if not LEAST <= self.width <= 1 / LEAST:
            raise SupportError(f"Interval's width {self.width} does not fit double precision: rescale the data")

    @property
    def width(self) -> float:
        """The length high − low."""
        return self.high - self.low

    @property
    def center(self) -> float:
        """The mid-point."""
        return self.low + self.width / 2

    @property
    def dimension(self) -> int:
        """Always 1."""
        return 1

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The ends."""
        return np.array([self.low]), np.array([self.high])

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """Itself."""
        return np.eye(1), (self,)

    def _image(self, A: Array, b: Array) -> Support:
        ends = sorted(float(A[0, 0]) * end + float(b[0]) for end in (self.low, self.high))
        return Interval(*ends)
