"""Which answers there are: cells of an interval, points of a grid, or integers."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive, vector
from errorfloor.errors import InputError, SupportError
from errorfloor.noise import Loss
from errorfloor.support import HalfLine, Interval
from errorfloor.values import Value

BEYOND = 0.25  # of the values' width


@dataclass(frozen=True, eq=False)
class Integers(Value):
    """The whole numbers from ``low`` to ``high``, or from ``low`` on.

    >>> Integers(0).points(-2.5, 3.2).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    >>> Integers(5, 2)
    Traceback (most recent call last):
    errorfloor.errors.SupportError: Integers needs low ≤ high, got low 5 and high 2
    """

    low: int
    high: int | None = None

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if (value is None and name == "high") or (
                isinstance(value, (int, np.integer)) and not isinstance(value, bool)
            ):
                continue
            raise SupportError(f"Integers takes whole numbers, got {name} {value!r}")
        if self.high is not None and self.high < self.low:
            raise SupportError(f"Integers needs low ≤ high, got low {self.low} and high {self.high}")

    def points(self, low: float, high: float) -> Array:
        """Those that a policy for values in [low, high] can need: the next ones beyond are as good as any further."""
        first = max(self.low, math.floor(low))
        last = math.ceil(high) if self.high is None else min(self.high, math.ceil(high))
        return np.arange(min(first, last if self.high is None else self.high), max(first, last) + 1, dtype=float)


@dataclass(frozen=True, eq=False)
class Cells(Value):
    """Answers cut into cells: [``low``, ``high``] each, with a constant density; single points where both are equal.

    >>> Cells.of_interval(0.0, 1.0, 4).middle.tolist()
    [0.125, 0.375, 0.625, 0.875]
    """

    low: Array
    high: Array

    def __post_init__(self) -> None:
        low, high = vector("low", self.low), vector("high", self.high)
        if low.shape != high.shape or not (low <= high).all() or not (high[:-1] <= low[1:]).all():
            raise InputError("cells must be given by ends in increasing order that do not overlap")
        if (low == high).any() and not (low == high).all():
            raise InputError("cells must all be points, or all have a width")
        self._set(low=low, high=high)

    @classmethod
    def of_interval(cls, low: float, high: float, count: int) -> "Cells":
        """Equal cells."""
        edges = low + (high - low) * (np.arange(count + 1) / count)
        edges[-1] = high
        return cls(edges[:-1], edges[1:])

    @classmethod
    def of_points(cls, points: Any) -> "Cells":
        """Single points."""
        given = np.unique(vector("outputs", points, SupportError))
        return cls(given, given)

    @property
    def are_points(self) -> bool:
        """Whether the answers are a finite set."""
        return bool((self.low == self.high).all())

    @property
    def middle(self) -> Array:
        """The cells' middles."""
        return self.low + (self.high - self.low) / 2

    @property
    def width(self) -> Array:
        """The cells' widths."""
        return self.high - self.low

    def chosen(self, which: Array) -> "Cells":
        """Some of the cells."""
        return Cells(self.low[which], self.high[which])

    def mean_loss(self, loss: Loss, s: Any) -> Array:
        """The average over each cell of ℓ(y − s), (values, cells); it is convex in s.

        >>> Cells.of_interval(0.0, 1.0, 1).mean_loss(Loss.parse("absolute", 1), [0.0, 0.5]).ravel().tolist()
        [0.5, 0.25]
        """
        s = np.asarray(s, dtype=float)[..., None]
        if loss.weight is not None:
            return np.asarray(float(loss.weight[0, 0]) * ((self.middle - s) ** 2 + self.width**2 / 12))
        if self.are_points:
            return np.asarray(np.abs(self.middle - s))
        before, after = np.clip(s - self.low, 0, self.width), np.clip(self.high - s, 0, self.width)
        outside = np.abs(self.middle - s) * self.width
        inside = (before**2 + after**2) / 2
        return np.asarray(np.where((s > self.low) & (s < self.high), inside, outside) / self.width)

    def allowed(self, noise: Interval | HalfLine | None, nodes: Array) -> Array:
        """Which cells node i may use so that y − s stays in ``noise`` for all s from s_{i−1} to s_{i+1}."""
        if noise is None:
            return np.ones((len(nodes), len(self.low)), dtype=bool)
        (low,), (high,) = noise.bounding_box
        before, after = np.append(nodes[0], nodes[:-1]), np.append(nodes[1:], nodes[-1])
        slack = 1e-12 * max(float(np.abs(self.low).max()), float(np.abs(nodes).max()), 1e-300)  # rounding of a grid
        return np.asarray(
            (self.low >= (after + low)[:, None] - slack) & (self.high <= (before + high)[:, None] + slack)
        )


def loss_of(loss: Any) -> Loss:
    """Give the loss meant by "squared", "absolute" or a factor of the squared loss.

    >>> loss_of(2.0)([3.0])
    18.0
    >>> loss_of("median")
    Traceback (most recent call last):
    errorfloor.errors.InputError: loss must be 'squared', 'absolute' or a factor for the squared loss, got 'median'
    """
    if isinstance(loss, str) and loss in ("squared", "absolute"):
        return Loss.parse(loss, 1)
    if isinstance(loss, (str, Loss)) or callable(loss) or np.ndim(loss):
        raise InputError(f"loss must be 'squared', 'absolute' or a factor for the squared loss, got {loss!r}")
    return Loss.parse([[positive("loss", loss)]], 1)


def reach(outputs: Any, values: Interval, noise: Interval | HalfLine | None) -> tuple[float, float]:
    """The stretch of answers that an optimal policy can need.

    Moving an answer into the hull of the values brings it closer to every value and tells nothing more; where the
    noise is confined, the answer follows it.

    >>> reach(HalfLine(0.0), Interval(0, 50), None)
    (0.0, 50.0)
    """
    low, high = values.low, values.high
    if noise is not None:
        (a,), (b,) = noise.bounding_box
        # where the noise has no end of its own, the last value still needs a cell beyond it
        low = values.low + (a if math.isfinite(a) else min(b, 0.0) - BEYOND * values.width)
        high = values.high + (b if math.isfinite(b) else max(a, 0.0) + BEYOND * values.width)
    if isinstance(outputs, (Interval, HalfLine)):
        (least,), (most,) = outputs.bounding_box
        low, high = max(low, float(least)), min(high, float(most))
        if not low < high:
            raise SupportError(
                f"outputs {outputs!r} hold no answer that values in [{values.low:g}, {values.high:g}] could need"
                + ("" if noise is None else f" with noise in {noise!r}")
                + ": every answer would be the same end point, or none is allowed"
            )
    return low, high
