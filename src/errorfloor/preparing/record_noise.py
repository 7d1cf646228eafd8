"""Which noise a sum over records is given: whole numbers for a whole number, and the same noise for every group."""

import math
from functools import lru_cache

from errorfloor.catalogue import Table, allowed
from errorfloor.errors import InputError
from errorfloor.floors.tapered import Cutting
from errorfloor.noise import RaisedCosine
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.noises import Added, QuestionWish, bound_for, within
from errorfloor.preparing.rounding import grain
from errorfloor.preparing.tapered_noise import Moved, tapered, tapered_for
from errorfloor.pricing import Bounds
from errorfloor.pricing.records import possible
from errorfloor.sql.question import QuestionOutput
from errorfloor.sql.record_ranges import Domains, row_range

MOST_WHOLE = 10**12  # grains of it are integers of 63 bits
MOST_GRAINS = 2.0**62
ROUNDED_APART = 0.7072  # of a grain, half of which values are off by: an owner may be in two groups, more than √½


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
        added = _tapered(output, wish, error, afforded, scale, whole, moved)
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


def _tapered(
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
