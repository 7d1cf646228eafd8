"""Normal noise that is cut off at a bound: for tables that state (ε, δ), whose answers need a small δ.

The cut lies where all that is beyond it takes the same share of δ as the answer takes of the allowance, or less
(``floors/tapered.py``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.floors.tapered import START, Cutting
from errorfloor.floors.words import rounded_up
from errorfloor.noise import Gaussian
from errorfloor.noise.base import rejection
from errorfloor.noise.lattice import MARGIN, Lattice
from errorfloor.preparing.noises import MOST_ERROR, Added
from errorfloor.preparing.rounding import grain
from errorfloor.random import Bits, RowBits
from errorfloor.random.elementary import circle

NAME = "TaperedNormal"
MOST_STEPS = 1000  # to a bound: draws are that much finer than what is released
INSIDE = 1 - 1e-9  # of a bound: what is drawn is rounded
WIDER = 1.002


@dataclass(frozen=True)
class Moved:
    """How far an owner moves an output: a ``distance`` in all cells together; and where noise is then cut off.

    ``rounded`` times a grain is added to the distance, since values are rounded to grains.
    """

    distance: float
    rounded: float
    cutting: Cutting

    def by(self, lattice: Lattice) -> float:
        """Give the distance of what is rounded."""
        return self.distance + self.rounded * grain(lattice)


@dataclass(frozen=True)
class TaperedAdded(Added):
    """Normal noise of density N(w; 0, σ²)·c(w)²/Z: c is 1 up to 127/128 of the ``bound`` and 0 beyond it.

    ``noise`` is the normal law: inside the flat part the odds are its odds.

    >>> added = tapered(10, True, Moved(1.0, 2.0, Cutting(0.25, 5e-7, 1)), evaluation_error=0.0)
    >>> added.high, added.lattice.step, round(added.standard_error, 2)
    (10.0, '1', 1.92)
    """

    bound: float = 0.0
    whole: bool = False
    moved: Moved | None = field(default=None, compare=False, repr=False)

    @cached_property
    def standard_error(self) -> float:
        """The deviation of the normal law, which what is cut off only lowers."""
        return math.sqrt(float(self.noise.covariance[0, 0]))

    @cached_property
    def described(self) -> dict[str, Any]:
        """The noise's law, as plain JSON types."""
        return {"type": NAME, "deviation": self.standard_error, "bound": self.bound}

    def draws(self, derived: bytes, tags: Array) -> Array:
        """Draw the noise of all groups from a derived key, each from the group's own tag."""
        return drawn(self.standard_error, self.bound, RowBits(derived, tags), len(tags))

    def bound_at(self, share: float, evaluation_error: float) -> float:
        """Give the least round bound of which noise of this kind has at most a share of this information."""
        if self.moved is None:
            return float(rounded_up(self.high / math.sqrt(share) * 1.2))
        return tapered_for(self.information * share, self.whole, self.moved, evaluation_error=evaluation_error).high

    def information_at(self, bound: float, evaluation_error: float) -> float:
        """Give the information of noise of this kind with another bound."""
        if self.moved is None:
            return self.information * (self.high / bound) ** 2
        return tapered(bound, self.whole, self.moved, evaluation_error=evaluation_error).information

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {**super().to_dict(), "whole": self.whole}


def tapered(bound: float, whole: bool, moved: Moved, *, evaluation_error: float) -> TaperedAdded:
    """Give the noise for a bound on |released − true|; a ``whole`` truth leaves half a step more for it.

    >>> wide = tapered(100, True, Moved(1.0, 2.0, Cutting(0.25, 5e-7, 1)), evaluation_error=0.0)
    >>> round(wide.standard_error, 2)
    16.97
    """
    is_fine = whole and bound <= MOST_STEPS
    lattice = Lattice("1") if is_fine else Lattice.for_width(2 * bound)
    if is_fine:
        half = bound + 0.5 - 2 * grain(lattice)
    else:
        half = bound - lattice.size / 2 * (1 + MARGIN) - grain(lattice) - evaluation_error
    half *= INSIDE
    flat = half * START
    cut = moved.cutting.cut_within(moved.by(lattice) / flat)
    return TaperedAdded(Gaussian([[(flat / cut) ** 2]]), lattice, -float(bound), float(bound), 0.0, half, whole, moved)


def tapered_for(information: float, whole: bool, moved: Moved, *, evaluation_error: float) -> TaperedAdded:
    """Give the noise with the smallest round bound that has at most this information.

    >>> found = tapered_for(0.01, True, Moved(1.0, 2.0, Cutting(0.25, 5e-7, 1)), evaluation_error=0.0)
    >>> found.high, found.information <= 0.01
    (57.0, True)
    """
    cut = moved.cutting.cut_at(moved.distance * math.sqrt(information))
    least = max(cut / math.sqrt(information) / START, evaluation_error / (2 * MOST_ERROR))

    def rounded(bound: float) -> float:
        return float(max(1, math.ceil(bound))) if whole and bound <= MOST_STEPS else float(rounded_up(bound))

    bound = rounded(least - 0.5 if whole and least <= MOST_STEPS else least)
    while (found := tapered(bound, whole, moved, evaluation_error=evaluation_error)).information > information:
        bound = rounded(max(bound * WIDER, bound + (whole and bound < MOST_STEPS)))
    return found


def drawn(deviation: float, bound: float, bits: Bits, count: int) -> Array:
    """Draw tapered numbers: normal ones, each accepted with the probability c²."""

    def propose(size: int, lanes: Bits) -> tuple[Array, Array]:
        numbers = lanes.normal(size) * deviation
        turns = np.minimum(np.maximum(np.abs(numbers) / bound - START, 0.0) / (4.0 * (1.0 - START)), 0.25)
        across = circle(turns)[0]
        return numbers, lanes.uniform(size) < across * across

    return rejection(count, bits, propose)


def tapered_of(plain: Mapping[str, Any]) -> TaperedAdded:
    """Read what ``to_dict`` gave."""
    own, lattice = Gaussian([[plain["noise"]["deviation"] ** 2]]), Lattice(plain["step"])
    return TaperedAdded(own, lattice, plain["low"], plain["high"], 0.0, plain["noise"]["bound"], plain["whole"])
