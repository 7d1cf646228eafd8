"""Where a quantile over records certainly lies, from released counts: arithmetic on what anybody may know.

*Guarantee* (``derived.proof.md``, part 2): if there are rows, every quantile at the share q, whether taken at one of
the rows or between two that are neighbours in order, is between the two ends.
"""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.derived import released
from errorfloor.preparing.rounding import multiples
from errorfloor.pricing.words import number
from errorfloor.sql.question import CountedQuantile

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

SLACK = 1e-9  # rows: far more than products of counts and shares are rounded by


def counted_columns(quantile: CountedQuantile, prepared: "Prepared") -> dict[str, Any]:
    """Give the columns of a quantile: a number in the middle, and the ends of where it certainly lies."""
    parts = [released(one, prepared) for one in prepared.outputs if one.output.part_of == quantile]
    shape = (len(parts), len(prepared.bounds.groups))
    low, high = (
        np.array([np.broadcast_to(getattr(one.around, end), shape[1:]) for one in parts]).reshape(shape)
        for end in ("low", "high")
    )
    first, last = counted_ends(quantile, low, high)
    step, there = quantile.step, np.ones(shape[1], dtype=bool)
    lattice = Lattice(str(Decimal(step.numerator) / Decimal(step.denominator)))
    steps = {"": (first + last) // 2, "_low": first, "_high": last}
    return {f"{quantile.name}{end}": arrow.column(multiples(at, lattice), there) for end, at in steps.items()}


def counted_ends(quantile: CountedQuantile, low: Array, high: Array) -> tuple[Array, Array]:
    """Give the ends in whole steps, from bounds on the counts up to each threshold and, in the last row, of all.

    >>> from fractions import Fraction
    >>> age = CountedQuantile("m", "", "age", Fraction(1, 2), Fraction(0), Fraction(3), Fraction(1))
    >>> counts = np.array([[10.0], [20.0], [90.0], [100.0]])  # up to 0, 1, 2, and all
    >>> [end.tolist() for end in counted_ends(age, counts - 5, counts + 5)]
    [[2], [2]]
    """
    share = float(quantile.share)
    least = np.maximum.accumulate(low)
    most = np.minimum.accumulate(high[::-1])[::-1]
    below, above = share * (least[-1] - 1), share * most[-1] + 2
    at = np.array([int(one / quantile.step) for one in quantile.thresholds])[:, None]
    bottom, top = int(quantile.low / quantile.step), int(quantile.high / quantile.step)
    first = np.where(most[:-1] <= below - SLACK, at + 1, bottom).max(axis=0, initial=bottom)
    last = np.where(least[:-1] >= above + SLACK, at, top).min(axis=0, initial=top)
    return first.astype(np.int64), np.maximum(first, last).astype(np.int64)


def counted_where(quantile: CountedQuantile, one: "PreparedOutput") -> str:
    """Say what is certain of a quantile, from one of its counts."""
    unit = f" {quantile.unit}" if quantile.unit else ""
    rows = rounded_up(0.0 if one.added is None else one.added.widest.high, 6)
    return (
        f"{quantile.name} is certainly between {quantile.name}_low and {quantile.name}_high, if there are rows at all: "
        f"it is located by released counts, within ±{rows} rows each, up to {len(quantile.thresholds)} thresholds of "
        f"{quantile.column} between {number(quantile.low)} and {number(quantile.high)}{unit}."
    )
