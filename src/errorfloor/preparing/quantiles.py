"""Where a quantile certainly lies, from released shares: arithmetic on what anybody may know, so it costs nothing.

*Guarantee* (``quantiles.proof.md``): every value that at most a share p of the rows lies below, and at most 1 − p
above, is between the two ends; so is ``percentile_cont``, which lies between neighbours in order.
"""

import math
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.derived import derived_columns, derived_facts, derived_where, released
from errorfloor.preparing.distributions import bin_columns, bin_facts, bins_where, bounds_of
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.preparing.rounding import multiples
from errorfloor.pricing.words import number
from errorfloor.sql.question import Bin, CountedQuantile, Derived, Located, LocatedQuantile, Quantile

ANYWHERE = 0.5  # a share that is off by so much may be any
SLACK = 1e-9  # of the range: more than the roundings of a few operations
ROWS_SLACK = 1e-9  # rows: far more than products of counts and shares are rounded by


def located(quantile: Located, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of a quantile: a number in the middle, and the ends of where it certainly lies."""
    if isinstance(quantile, Derived):
        return derived_columns(quantile, prepared)
    if isinstance(quantile, Bin):
        return bin_columns(quantile, prepared)
    if isinstance(quantile, CountedQuantile):
        return counted_columns(quantile, prepared)
    parts = [one for one in prepared.outputs if one.output.part_of == quantile]
    off = [[each[prepared.bounds.kind] for each in off_by(one, len(prepared.bounds.rows))] for one in parts]
    there = ~arrow.nulls(parts[0].kept)
    released = np.array([np.where(there, arrow.values_of(arrow.without_nulls(one.kept)), 0.0) for one in parts])
    low, high = (released - np.array([each[end] for each in off]) for end in (1, 0))
    first, last = ends(quantile, np.maximum(low, 0.0), np.minimum(high, 1.0), _shares(quantile, prepared))
    return _columns(quantile, first, last, there)


def _columns(quantile: LocatedQuantile, first: Array, last: Array, there: Array) -> dict[str, Any]:
    steps, lattice = {"": (first + last) // 2, "_low": first, "_high": last}, lattice_of(quantile)
    return {f"{quantile.name}{end}": arrow.column(multiples(at, lattice), there) for end, at in steps.items()}


def off_by(one: PreparedOutput, kinds: int) -> tuple[Array, Array]:
    """Give by how much a released share can be below and above the true one, for each kind of group."""
    if one.added is not None:
        return one.added.of_kind("low"), one.added.of_kind("high")
    error = np.full(kinds, 0.0 if one.constant is None else one.constant.error)
    return -error, error


def _shares(quantile: Quantile, prepared: Prepared) -> tuple[Array, Array] | None:
    """Give the shares at which the neighbours in order are, below and above, in each group."""
    if not quantile.interpolated:
        return None
    rows = next(one for one in prepared.outputs if one.output.name == f"{quantile.name}/rows").kept
    counts, place = np.unique(arrow.values_of(arrow.without_nulls(rows)), return_inverse=True)
    each = np.array([neighbours(quantile.share, n) for n in counts.tolist()]).reshape(-1, 2)[place]
    return each[:, 0], each[:, 1]


def neighbours(share: Fraction, rows: int) -> tuple[float, float]:
    """Give shares between which, of so many rows, ``percentile_cont`` is: rounded outwards.

    >>> neighbours(Fraction(1, 4), 3)  # halfway between the first and the second of three
    (0.333..., 0.333...)
    """
    rows = max(rows, 1)
    at = share * (rows - 1)
    below, above = math.floor(at) + 1, math.ceil(at)
    return math.nextafter(below / rows, 0.0), math.nextafter(above / rows, 1.0)


def ends(quantile: Quantile, low: Array, high: Array, shares: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Give the ends in whole steps, from bounds on the share of each ramp (rows) in each group (columns).

    ``shares`` are those of the neighbours between which the quantile is, if it is not at one share.
    """
    step = float(quantile.step)
    below, above = (float(quantile.share),) * 2 if shares is None else shares
    start, end = (np.array([float(ramp[side] - quantile.low) for ramp in quantile.ramps])[:, None] for side in (0, 1))
    width = end - start
    before = np.vstack([np.zeros_like(low[:1]), low[:-1]])
    after = np.vstack([high[1:], np.ones_like(high[:1])])
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(high < below, start + width * (below - high) / (below - before), -math.inf)
        most = np.where(low > above, start + width * (after - low) / (after - above), math.inf)
    whole = float(quantile.high - quantile.low)
    bottom, top = int(quantile.low / quantile.step), int(quantile.high / quantile.step)
    first = np.ceil(np.clip(least.max(axis=0) - SLACK * whole, 0.0, whole) / step * (1 - SLACK))
    last = np.floor(np.clip(most.min(axis=0) + SLACK * whole, 0.0, whole) / step * (1 + SLACK))
    first, last = (np.clip(each, 0, top - bottom).astype(np.int64) + bottom for each in (first, last))
    return first, last


def lattice_of(quantile: LocatedQuantile) -> Lattice:
    """Give the multiples of the column's resolution."""
    step = quantile.step
    return Lattice(str(Decimal(step.numerator) / Decimal(step.denominator)))


def located_where(family: Sequence[Located], one: PreparedOutput, prepared: Prepared) -> str:
    """Say what is certain of a quantile, from one of its shares; of bins that were asked for together, all at once."""
    quantile = family[0]
    if isinstance(quantile, Bin):
        return bins_where([each for each in family if isinstance(each, Bin)], one, prepared)
    if isinstance(quantile, Derived):
        return derived_where(quantile, one, prepared)
    if isinstance(quantile, CountedQuantile):
        return counted_where(quantile, one)
    unit = f" {quantile.unit}" if quantile.unit else ""
    if one.constant is not None and one.constant.is_empty:
        return f"{quantile.name} has no value: there are no rows to compute it from."
    start, end = quantile.ramps[0]
    least, most = bounds_of(one)
    within = (
        f"±{rounded_up(most, 3)}" if least == most else f"±{rounded_up(least, 3)} to ±{rounded_up(most, 3)}, by group"
    )
    return (
        f"{quantile.name} is certainly between {quantile.name}_low and {quantile.name}_high: it is located between "
        f"{len(quantile.ramps)} shares of rows below thresholds of {quantile.column}, clamped to "
        f"{number(quantile.low)} … {number(quantile.high)}{unit}, each softened over {float(end - start):.3g}{unit} "
        f"and certainly within {within}.{_useless(quantile, one)}"
    )


def tells_nothing(one: PreparedOutput) -> bool:
    """Tell whether a share that a quantile is located by may be any, in every group."""
    return bounds_of(one)[0] >= ANYWHERE


def _useless(quantile: Quantile, one: PreparedOutput) -> str:
    if not tells_nothing(one):
        return ""
    whole = quantile.high - quantile.low
    return f" That tells nothing: it may lie anywhere in the range. Ask for a max_error far below {number(whole / 2)}."


def described(quantile: Located, one: PreparedOutput) -> dict[str, Any]:
    """Give what is stated of a quantile beforehand, as plain JSON types."""
    if isinstance(quantile, Bin):
        return bin_facts(quantile, one)
    if isinstance(quantile, Derived | CountedQuantile):
        return derived_facts(quantile, one)
    start, end = quantile.ramps[0]
    shares = {"count": len(quantile.ramps), "softness": float(end - start), "max_error": bounds_of(one)[1]}
    return {
        "name": quantile.name,
        "unit": quantile.unit,
        "exact": False,
        "quantile": float(quantile.share),
        "shares": shares,
        "step": lattice_of(quantile).step,
        "low": None,
        "high": None,
    }


def counted_columns(quantile: CountedQuantile, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of a quantile: a number in the middle, and the ends of where it certainly lies."""
    parts = [released(one, prepared) for one in prepared.outputs if one.output.part_of == quantile]
    shape = (len(parts), len(prepared.bounds.groups))
    low, high = (
        np.array([np.broadcast_to(getattr(one.around, end), shape[1:]) for one in parts]).reshape(shape)
        for end in ("low", "high")
    )
    first, last = counted_ends(quantile, low, high)
    return _columns(quantile, first, last, np.ones(shape[1], dtype=bool))


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
    first = np.where(most[:-1] <= below - ROWS_SLACK, at + 1, bottom).max(axis=0, initial=bottom)
    last = np.where(least[:-1] >= above + ROWS_SLACK, at, top).min(axis=0, initial=top)
    return first.astype(np.int64), np.maximum(first, last).astype(np.int64)


def counted_where(quantile: CountedQuantile, one: PreparedOutput) -> str:
    """Say what is certain of a quantile, from one of its counts."""
    unit = f" {quantile.unit}" if quantile.unit else ""
    rows = rounded_up(0.0 if one.added is None else one.added.widest.high, 6)
    return (
        f"{quantile.name} is certainly between {quantile.name}_low and {quantile.name}_high, if there are rows at all: "
        f"it is located by released counts, within ±{rows} rows each, up to {len(quantile.thresholds)} thresholds of "
        f"{quantile.column} between {number(quantile.low)} and {number(quantile.high)}{unit}."
    )
