"""A half-line, either side."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array, real
from errorfloor.errors import SupportError
from errorfloor.support.base import AlongAxes, Support


@dataclass(frozen=True, eq=False)
class HalfLine(AlongAxes):
    """The half-line [low, ∞), or (−∞, high] when ``high`` is given instead.

    >>> HalfLine(0.0).contains([-1.0, 0.0, 5.0])
    array([False,  True,  True])
    >>> HalfLine(high=2.0).bounding_box
    (array([-inf]), array([2.]))
    >>> HalfLine(0, high=1)
    Traceback (most recent call last):
    errorfloor.errors.SupportError: HalfLine takes either low or high, got both: use Interval(0, 1)
    """

    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        if self.low is not None and self.high is not None:
            raise SupportError(f"HalfLine takes either low or high, got both: use Interval({self.low}, {self.high})")
        if self.low is None and self.high is None:
            raise SupportError("HalfLine needs its end: HalfLine(low) or HalfLine(high=…); for the line use Reals(1)")
        name = "low" if self.high is None else "high"
        object.__setattr__(self, name, real(name, getattr(self, name), SupportError))

    @property
    def end(self) -> float:
        """The only end."""
        return self.low if self.low is not None else self.high  # type: ignore[return-value]

    @property
    def dimension(self) -> int:
        """Always 1."""
        return 1

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The end, and infinity."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return np.array([low]), np.array([high])

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """Itself."""
        return np.eye(1), (self,)

    def _image(self, A: Array, b: Array) -> Support:
        end = float(A[0, 0]) * self.end + float(b[0])
        points_up = (self.high is None) == (A[0, 0] > 0)
        return HalfLine(end) if points_up else HalfLine(high=end)
