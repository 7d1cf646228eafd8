"""The lattice on which answers leave."""

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive
from errorfloor.errors import InputError
from errorfloor.values import Value

MOST = 2.0**30  # steps from zero, at most: then three roundings of a double move it by less than the margin
MARGIN = 1e-6  # of half a step
FINENESS = 200  # steps across a noise's width, at least, when nobody asks for a step


@dataclass(frozen=True, eq=False)
class Lattice(Value):
    """The multiples of a decimal ``step``, such as "0.01".

    Guarantee: the rounded number is a function of the answer alone, so it tells nothing that the answer does not; it is
    the double nearest to a decimal multiple of the step, at most half a step from the answer.

    >>> Lattice("0.05").round([0.12, 0.13, -7.0]).tolist()
    [0.1, 0.15, -7.0]
    """

    step: str

    def __post_init__(self) -> None:
        try:
            step = Decimal(str(self.step))
        except InvalidOperation:
            raise InputError(f"step must be a decimal number such as 0.01, got {self.step!r}") from None
        if not step.is_finite() or step <= 0:
            raise InputError(f"step must be positive, got {self.step!r}")
        positive("step", float(step))
        self._set(step=f"{step.normalize():f}")

    @classmethod
    def for_width(cls, width: float) -> "Lattice":
        """Give the coarsest power of ten that cuts a width into at least two hundred steps.

        >>> Lattice.for_width(0.5).step, Lattice.for_width(40.0).step
        ('0.001', '0.1')
        """
        return cls(f"1e{math.floor(math.log10(width / FINENESS) + 1e-12)}")

    @property
    def size(self) -> float:
        """The step as a double."""
        return float(self.step)

    @property
    def ratio(self) -> tuple[float, float]:
        """Numerator and denominator of the step; both are exact in double precision for any sensible step."""
        exact = Fraction(self.step)
        return float(exact.numerator), float(exact.denominator)

    def round(self, values: Any) -> Array:
        """Round to the nearest multiple."""
        return self.round_in_place(np.array(values, dtype=float))

    def round_in_place(self, steps: Array) -> Array:
        """Round an array of doubles to the nearest multiples where it is, and give it back."""
        above, below = self.ratio
        steps *= below
        if above != 1:
            steps /= above
        np.rint(steps, out=steps)
        if not (np.abs(steps) < MOST).all():
            raise InputError(
                f"a number is too large to be rounded to steps of {self.step}: beyond {MOST * self.size:g} the bound "
                f"could not be kept in double precision; choose a wider step"
            )
        if above != 1:
            steps *= above
        steps /= below
        steps += 0.0  # no negative zero
        return steps

    def inside(self, low: float, high: float) -> tuple[float, float]:
        """Shrink an interval by half a step at both ends, and a little more than rounding can add.

        Noise designed on the result keeps within [low, high] after its answer is rounded.

        >>> low, high = Lattice("0.1").inside(-0.5, 0.5)
        >>> round(low, 6), round(high, 6)
        (-0.45, 0.45)
        """
        margin = self.size / 2 * (1 + MARGIN)
        if not low + margin < high - margin:
            raise InputError(f"a step of {self.step} leaves no room for noise between {low:g} and {high:g}")
        return low + margin, high - margin

    def outside(self, low: float, high: float) -> tuple[float, float]:
        """Widen an interval by as much: noise on it keeps within the result after its answer is rounded.

        >>> Lattice("0.1").outside(-math.inf, 0.4)[0]
        -inf
        """
        margin = self.size / 2 * (1 + MARGIN)
        return low - margin, high + margin
