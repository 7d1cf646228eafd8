"""Sets along the axes, and those of them on the line: intervals, half-lines, and all of space."""

import math
from abc import ABC
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import LEAST, Array, real, whole
from errorfloor.errors import SupportError
from errorfloor.support.base import Support


class AlongAxes(Support, ABC):
    """A product of intervals, half-lines and lines along the axes: its bounding box is all of it."""

    @property
    def volume(self) -> float:
        """The product of the widths."""
        low, high = self.bounding_box
        return float(np.prod(high - low))

    @property
    def half_spaces(self) -> tuple[Array, Array]:
        """−w ≤ −low and w ≤ high, where these are finite."""
        low, high = self.bounding_box
        axes, below, above = np.eye(self.dimension), np.isfinite(low), np.isfinite(high)
        return np.vstack([-axes[below], axes[above]]), np.concatenate([0.0 - low[below], high[above]])

    @property
    def sides(self) -> "tuple[Interval | HalfLine | Reals, ...]":
        """The parts of the line whose product it is."""
        return tuple(map(line_between, *self.bounding_box))

    @property
    def product_form(self) -> tuple[Array, tuple[Support, ...]]:
        """The product of its sides."""
        return np.eye(self.dimension), self.sides

    def _contains(self, w: Array) -> Array:
        low, high = self.bounding_box
        return np.asarray(((w >= low) & (w <= high)).all(axis=-1))


class _OnLine(AlongAxes, ABC):
    @property
    def dimension(self) -> int:
        """Always 1."""
        return 1


@dataclass(frozen=True, eq=False)
class Interval(_OnLine):
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
            self._set(**{name: real(name, value, SupportError)})
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
    def bounding_box(self) -> tuple[Array, Array]:
        """The ends."""
        return np.array([self.low]), np.array([self.high])

    def _image(self, A: Array, b: Array) -> Support:
        return Interval(*sorted(float(A[0, 0]) * end + float(b[0]) for end in (self.low, self.high)))


@dataclass(frozen=True, eq=False)
class HalfLine(_OnLine):
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
        self._set(**{name: real(name, getattr(self, name), SupportError)})

    @property
    def end(self) -> float:
        """The only end."""
        return self.low if self.low is not None else self.high  # type: ignore[return-value]

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """The end, and infinity."""
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        return np.array([low]), np.array([high])

    def _image(self, A: Array, b: Array) -> Support:
        end = float(A[0, 0]) * self.end + float(b[0])  # an end beyond all doubles is refused, not left out
        return HalfLine(end) if (self.high is None) == (A[0, 0] > 0) else HalfLine(high=end)


@dataclass(frozen=True, eq=False)
class Reals(AlongAxes):
    """The space Rᵐ: noise without any constraint.

    >>> Reals(3).is_bounded
    False
    """

    dimension: int = 1

    def __post_init__(self) -> None:
        self._set(dimension=whole("dimension", self.dimension, SupportError))

    @property
    def bounding_box(self) -> tuple[Array, Array]:
        """Infinite everywhere."""
        return np.full(self.dimension, -math.inf), np.full(self.dimension, math.inf)

    def _image(self, A: Array, b: Array) -> Support:
        return self


def line_between(low: float, high: float) -> Interval | HalfLine | Reals:
    """Give the part of the line between two ends, which may be infinite.

    >>> line_between(-math.inf, 2.0)
    HalfLine(low=None, high=2.0)
    """
    if math.isfinite(low) and math.isfinite(high):
        return Interval(float(low), float(high))
    if math.isfinite(low):
        return HalfLine(float(low))
    return HalfLine(high=float(high)) if math.isfinite(high) else Reals(1)
