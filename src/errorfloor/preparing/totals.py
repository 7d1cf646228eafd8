"""Totals of groups, and running totals: put together from the released cells, so that they add up.

Noise is on the finest groups alone, which are charged; every other row is arithmetic on released numbers and public
counts. Of cells with noise of their own, a total is within k times their bound, so that sums are released within the
bound that was asked for, divided by the most cells of a total; of cells with joint noise it is as near as each of them
(``joint_noise.py``). Whichever costs less is given. Averages keep their bound.

*Guarantee* (``totals.proof.md``): a total, running or not, is the sum of its released parts, to the last digit; every
number that is shown is within the bound that was asked for.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.errors import RefusedError
from errorfloor.preparing.joint_noise import too_many
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.preparing.rounding import FINEST, cut, multiples, rounded
from errorfloor.pricing.interval import quiet
from errorfloor.sql.plan import Always, Count, Quotient, Sum
from errorfloor.sql.question import QuestionOutput

NO_GROUP = -1  # the place of a row that is a total
MOST_STEPS = 2.0**62  # of a lattice, in whole numbers
UNIT = 2.0**-52
ROUNDING = 1 + 2.0**-40  # more than what sums of doubles are off by


def apart_since(one: PreparedOutput, prepared: Prepared) -> str:
    """Say why cells of a sum with totals cannot have joint noise; nothing where they can, or it has no totals."""
    question = prepared.question
    if prepared.table.hides_records or not isinstance(one.output.formula, Sum):
        return ""
    defined = prepared.bounds_of(one).defined[prepared.bounds.kind]
    if question.sets:
        return too_many(prepared.totals, defined)
    return too_many(prepared.plan.chains, defined) if question.sharing(one.output) else ""


def columns_of(one: PreparedOutput, shown: Mapping[str, Any], prepared: Prepared) -> dict[str, Any]:
    """Add the rows of totals to the columns of an output: its numbers, and the ends of their certain intervals."""
    totals, name = prepared.totals, one.output.name
    weights = counted_rows(one.output, prepared)
    parts = [
        _total(one, weights, place, size, prepared.bounds.kind)
        for place, size in zip(totals.places, totals.sizes, strict=True)
    ]
    found = {name: _alike([shown[name], *(numbers for numbers, _ in parts)])}
    if one.added is None:
        return found
    bounds, step = prepared.bounds_of(one), one.added.narrowest.lattice.step
    ends = []
    for (numbers, half), place, size in zip(parts, totals.places, totals.sizes, strict=True):
        possible = [
            _possible(one, weights, place, size, each[prepared.bounds.kind], sign)
            for each, sign in ((bounds.low, -1.0), (bounds.high, 1.0))
        ]
        there = ~arrow.nulls(numbers)
        each = cut(arrow.values_of(arrow.without_nulls(numbers)), (-half, half), (possible[0], possible[1]), step)
        ends.append([arrow.column(side, there) for side in each])
    for index, end in enumerate(("_low", "_high")):
        found[f"{name}{end}"] = pa.concat_arrays([shown[f"{name}{end}"], *(each[index] for each in ends)])
    return found


def _alike(columns: Sequence[Any]) -> Any:
    """Put numbers one after the other: as integers only where all are whole, for averages of whole ones need not be."""
    first, *others = columns
    numbers = [arrow.values_of(arrow.without_nulls(one)) for one in others]
    if pa.types.is_integer(first.type) and not all((np.rint(one) == one).all() for one in numbers):
        first = first.cast(pa.float64(), safe=False)
    return pa.concat_arrays([first, *(one.cast(first.type) for one in others)])


def counted_rows(output: QuestionOutput, prepared: Prepared) -> Array | None:
    """Give the rows of each group that an average is over; None for sums."""
    match output.formula:
        case Quotient(_, Count(Always())):
            return prepared.bounds.rows[prepared.bounds.kind].astype(float)
        case Quotient(_, Count() as count):
            counted = next(one for one in prepared.outputs if one.output.formula == count)
            return arrow.values_of(counted.kept).astype(float)
    return None


def running_columns(one: PreparedOutput, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of a running total, or of a mean: its numbers, and the ends of their certain intervals."""
    name, chains = one.output.name, prepared.plan.chains
    there = ~arrow.nulls(one.kept)
    reached = chains.summed(there.astype(np.int64)) > 0
    cells = np.where(there, arrow.values_of(one.kept.fill_null(0)), 0)
    if one.added is None:
        return {name: arrow.column(chains.summed(cells), reached)}
    lattice = one.added.narrowest.lattice
    numbers = multiples(chains.summed(np.rint(cells / lattice.size).astype(np.int64)), lattice)
    kind, bounds = prepared.bounds.kind, prepared.bounds_of(one)
    if one.added.widest.keeps_sums:
        half = np.full(len(cells), one.added.widest.high)
    else:
        half = chains.summed(np.where(there, one.added.of_kind("high")[kind], 0.0)) * ROUNDING
    least, most = (np.where(there, end[kind], 0.0) for end in (bounds.low, bounds.high))
    spread = (ROUNDING - 1) * chains.summed(np.maximum(np.abs(least), np.abs(most)))
    possible = chains.summed(least) - spread, chains.summed(most) + spread
    low, high = cut(numbers, (-half, half), possible, lattice.step)
    if any(window.mean for window in prepared.question.running if window.name == name):
        count = np.maximum(chains.summed(there.astype(np.int64)), 1)
        numbers, nowhere = rounded(numbers / count, lattice), np.zeros(1)
        low, high = (
            cut(end / count, (nowhere, nowhere), (nowhere - np.inf, nowhere + np.inf), lattice.step)[side]
            for side, end in enumerate((low, high))
        )
    columns = {name: numbers, f"{name}_low": low, f"{name}_high": high}
    return {each: arrow.column(values, reached) for each, values in columns.items()}


@quiet
def _possible(one: PreparedOutput, weights: Array | None, place: Array, size: int, end: Array, sign: float) -> Array:
    """Put the ends of what cells can be together, rounded outwards: downwards where ``sign`` is -1."""
    there = ~arrow.nulls(one.kept)
    each = np.ones(len(there)) if weights is None else weights
    whole = np.bincount(place, each, size)  # rows of cells without a value count, too
    divisor = np.where(whole > 0, whole, 1.0) if weights is not None else 1.0
    total, parts = (np.bincount(place, np.where(there, of, 0.0), size) for of in (each * end, np.ones(len(there))))
    spread = np.bincount(place, np.where(there, each * np.abs(end), 0.0), size)
    return (total + sign * (parts + 8) * UNIT * spread) / divisor


def check_sums_stay_exact(prepared: Prepared) -> None:
    """Refuse, by public bounds, sums that might have more steps of the finest lattice than an integer holds."""
    kind = prepared.bounds.kind
    for one in prepared.outputs:
        if one.added is None:
            continue
        bounds = prepared.bounds_of(one)
        largest = np.where(bounds.defined, np.maximum(np.abs(bounds.low), np.abs(bounds.high)), 0.0)
        reach = float((largest + one.added.of_kind("high"))[kind].sum())
        if not reach < MOST_STEPS * one.added.narrowest.lattice.size:
            raise RefusedError(
                f"{one.output.name} may reach {reach:.2g} in all, and its finest group is released in steps of "
                f"{one.added.narrowest.lattice.size:.2g}: sums stay exact up to {MOST_STEPS:.1g} steps. Ask for wider "
                "bounds, give max_error in place of spend, or ask for groups of such different sizes one by one",
                reason="too-large",
            )


def _total(one: PreparedOutput, weights: Array | None, place: Array, size: int, kind: Array) -> tuple[Any, Array]:
    """Put the cells of an output together: the numbers, and how far off they can be."""
    there = ~arrow.nulls(one.kept)
    cells = np.where(there, arrow.values_of(one.kept.fill_null(0)), 0)

    def total(values: Array) -> Array:
        return np.bincount(place, np.where(there, values, 0.0), size)

    parts = total(np.ones(len(cells)))
    bound = np.zeros(len(cells)) if one.added is None else one.added.of_kind("high")[kind]
    alike = one.added is not None and one.added.widest.keeps_sums
    if weights is None:
        found = np.zeros(size, dtype=cells.dtype if one.added is None else np.int64)
        if one.added is None:
            np.add.at(found, place, cells)
            return arrow.column(found, parts > 0), np.zeros(size)
        lattice = one.added.narrowest.lattice  # steps are powers of ten: the smallest divides all
        np.add.at(found, place, np.rint(cells / lattice.size).astype(np.int64))
        half = np.full(size, one.added.widest.high) if alike else total(bound)
        return arrow.column(multiples(found, lattice), parts > 0), half
    whole = np.bincount(place, weights, size)  # rows of cells without a value count, too
    whole = np.where(whole > 0, whole, 1.0)
    off = (parts + 8) * UNIT * total(weights * np.abs(cells)) / whole
    mean, spare = total(weights * cells) / whole, 0.0
    if one.added is not None:
        lattice = one.added.narrowest.lattice
        mean, spare, off = rounded(mean, lattice), one.added.narrowest.spare, off + lattice.size / FINEST
    half = total(weights * bound) / whole
    half = np.where(off + (parts + 8) * UNIT * half <= spare, half, half + off)
    return arrow.column(mean, parts > 0), half
