"""Which noise a sum over records is given: whole numbers for a whole number, and the same noise for every group.

A table that states (ε, δ) needs answers with a small δ: their noise is normal and cut off at a bound. The cut lies
where all that is beyond it takes the same share of δ as the answer takes of the allowance, or less
(``floors/tapered.py``).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from errorfloor.catalogue import Table, allowed
from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors.tapered import START, Cutting
from errorfloor.floors.words import rounded_up
from errorfloor.noise import Gaussian, RaisedCosine
from errorfloor.noise.base import rejection
from errorfloor.noise.lattice import MARGIN, Lattice
from errorfloor.preparing.noises import MOST_ERROR, Added, QuestionWish, bound_for, within
from errorfloor.preparing.rounding import grain
from errorfloor.pricing import Bounds
from errorfloor.pricing.records import possible
from errorfloor.random import Bits, RowBits
from errorfloor.random.elementary import circle
from errorfloor.sql.question import QuestionOutput
from errorfloor.sql.record_ranges import Domains, row_range

NAME = "TaperedNormal"
MOST_STEPS = 1000  # to a bound: draws are that much finer than what is released
INSIDE = 1 - 1e-9  # of a bound: what is drawn is rounded
WIDER = 1.002
MOST_WHOLE = 10**12  # grains of it are integers of 63 bits
MOST_GRAINS = 2.0**62
ROUNDED_APART = 0.7072  # of a grain, half of which values are off by: an owner may be in two groups, more than √½


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

    ``noise`` is the normal law: inside the flat part the odds are its odds, and what is cut off only lowers its
    deviation, which is the standard error.

    >>> added = tapered(10, True, Moved(1.0, 2.0, Cutting(0.25, 5e-7, 1)), evaluation_error=0.0)
    >>> added.high, added.lattice.step, round(added.standard_error, 2)
    (10.0, '1', 1.92)
    """

    bound: float = 0.0
    whole: bool = False
    moved: Moved | None = field(default=None, compare=False, repr=False)

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


def cutting_of(table: Table, bounded: Bounds, index: int) -> Moved | None:
    """Give how far an owner moves an output as it is charged, and where its noise is cut off, if (ε, δ) is stated."""
    assert table.owner is not None
    if (stated := table.owner.stated) is None:
        return None
    rows, output = table.owner.most_rows, bounded.outputs[index]
    distance = rows * float(output.owner.max()) + 2 * float(output.error.max())
    cells = min(len(bounded.groups), 2 * rows)
    return Moved(distance, 2 * ROUNDED_APART, Cutting(allowed(table, "").raised_cosine, stated.cut, cells))


def record_noise(
    output: QuestionOutput,
    domains: Domains,
    wish: QuestionWish,
    error: float,
    afforded: float | None,
    scale: float,
    moved: Moved | None = None,
) -> Added:
    """Give the noise of an output: as wished, or the narrowest whose information is at most what is ``afforded``.

    What is wished for is ``scale`` times wider than the output's own bound. Where (ε, δ) is stated, ``moved`` says how
    far an owner moves the output, and the noise is normal and cut off.
    """
    if wish.support is not None:
        raise InputError("of a table that protects records, give max_error or spend, not a support")
    whole = row_range(output.formula, domains).whole
    if moved is not None:
        added = _normal(output, wish, error, afforded, scale, whole, moved)
    elif afforded is None and whole:
        added = within_whole(_whole_bound(output, wish, scale))
    elif afforded is None:
        added = wish.added(output, error, scale)
    elif whole:
        added = within_whole(whole_bound_for(afforded))
    else:
        bound = bound_for(afforded, error)
        added = within(-bound, bound, evaluation_error=error)
    reach = max(map(abs, possible(output.formula, domains))) + added.high
    if reach >= MOST_GRAINS * added.grain:
        raise InputError(
            f"{output.asked_as} may reach {reach:.3g}, too much for steps of {added.lattice.step}: ask for a larger "
            f"max_error, or declare a smaller most_rows"
        )
    return added


def _normal(
    output: QuestionOutput,
    wish: QuestionWish,
    error: float,
    afforded: float | None,
    scale: float,
    whole: bool,
    by: Moved,
) -> Added:
    if afforded is not None:
        if not afforded > 0:
            raise InputError("nothing is left to spend")
        return tapered_for(afforded, whole, by, evaluation_error=error)
    bound = wish.bound_of(output.asked_as) / scale
    if whole:
        bound = float(within_whole(_whole_bound(output, wish, scale)).high)  # or it is refused
    else:
        within(-bound, bound, evaluation_error=error)
    return tapered(bound, whole, by, evaluation_error=error)


def _whole_bound(output: QuestionOutput, wish: QuestionWish, scale: float) -> int:
    """Give the bound of a whole number, of which what is wished for may be a total."""
    wanted = wish.bound_of(output.asked_as)
    if wanted < scale and output.part_of is None:
        raise InputError(
            f"{output.asked_as} is a total of {scale:,.0f} whole numbers, each within ±1 at least: ask for a max_error "
            f"of {scale:.0f} or more"
            if scale > 1
            else f"{output.asked_as} is a whole number, and is answered within ±1 at least, got {wanted:g}: ask for a "
            f"max_error of 1 or more"
        )
    return min(math.floor(wanted / scale), MOST_WHOLE + 1)


class WholeAdded(Added):
    """Noise for a whole number: so are its bounds.

    >>> within_whole(3).bound_at(0.5, 0.0), within_whole(3).information_at(3.7, 0.0) == within_whole(3).information
    (5, True)
    """

    def bound_at(self, share: float, evaluation_error: float) -> float:
        """Give the least whole bound of which noise has at most a share of this information."""
        return whole_bound_for(self.information * share)

    def information_at(self, bound: float, evaluation_error: float) -> float:
        """Give the information of noise with another bound."""
        return within_whole(math.floor(bound)).information


@lru_cache(maxsize=4096)
def within_whole(bound: int) -> Added:
    """Give the least informative noise for a whole number, released as a whole number within ±``bound`` of it.

    The truth lies on the lattice, so that half a step is gained on either side: noise within ±(bound + ½), less two
    grains, is rounded to at most ``bound``.

    >>> added = within_whole(3)
    >>> added.low, added.high, round(added.noise.support.width, 5)
    (-3.0, 3.0, 7.0)
    """
    if not 1 <= bound <= MOST_WHOLE:
        raise InputError(
            f"a whole number is answered within ±1 to ±{MOST_WHOLE:.0e}, got a bound of {bound:g}: ask for such a "
            f"max_error"
        )
    lattice = Lattice("1")
    half = bound + 0.5 - 2 * grain(lattice)
    return WholeAdded(RaisedCosine(-half, half), lattice, -float(bound), float(bound))


def whole_bound_for(information: float) -> int:
    """Give the smallest whole bound whose noise has at most this information.

    >>> whole_bound_for(within_whole(3).information)
    3
    """
    if not information > 0:
        raise InputError("nothing is left to spend")
    bound = max(1, math.floor(math.pi / math.sqrt(information) - 1))
    while within_whole(bound).information > information:
        bound += 1
    return bound
