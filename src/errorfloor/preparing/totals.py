"""Totals of groups, for ROLLUP, CUBE and GROUPING SETS: put together from the released cells, so that they add up.

Noise is on the finest groups alone, which are charged; every other row is arithmetic on released numbers and public
counts. Of cells with noise of their own, a total is within k times their bound, so that sums are released within the
bound that was asked for, divided by the most cells of a total; of cells with joint noise it is as near as each of them
(``joint_noise.py``). Whichever costs less is given. Averages keep their bound.

*Guarantee* (``totals.proof.md``): a total is the sum of its released parts, to the last digit; every number that is
shown is within the bound that was asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.errors import RefusedError
from errorfloor.preparing.ends import FINEST, cut, rounded
from errorfloor.preparing.rounding import multiples
from errorfloor.pricing import Bounds
from errorfloor.pricing.interval import quiet
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.plan import Always, Count, Formula, Quotient, Sum
from errorfloor.sql.question import Question, QuestionOutput

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import Prepared, PreparedOutput

NO_GROUP = -1  # the place of a row that is a total
MOST_STEPS = 2.0**62  # of a lattice, in whole numbers
UNIT = 2.0**-52


@dataclass(frozen=True, eq=False)
class Totals:
    """The rows of coarser groupings: for each of them which row a finest group belongs to, and the keys it shows."""

    places: tuple[Array, ...]
    kept: tuple[tuple[str, ...], ...]
    sizes: tuple[int, ...]

    @property
    def rows(self) -> int:
        """How many rows there are in all."""
        return sum(self.sizes)

    @property
    def parts(self) -> int:
        """The most finest groups of one row."""
        return max((int(np.bincount(place).max(initial=1)) for place in self.places if place.size), default=1)

    def keys(self, name: str, values: Any) -> Any:
        """Give the values of a key on these rows: null where it was not grouped by."""
        parts = []
        for place, kept, size in zip(self.places, self.kept, self.sizes, strict=True):
            first = np.full(size, -1)
            first[place[::-1]] = np.arange(len(place))[::-1]
            chosen = values.take(arrow.column(first)) if name in kept else pa.nulls(size, values.type)
            parts.append(chosen)
        return pa.concat_arrays([values, *parts])


def totals_of(question: Question, bounds: Bounds) -> Totals:
    """Give the rows of the coarser groupings of a question.

    Raises RefusedError where a total would lack rows, or could not be told from a group.
    """
    if question.sets and bounds.left_out:
        raise RefusedError(
            f"{bounds.left_out:,} groups have fewer than {question.least:,} rows and are left out, so that totals "
            f"would lack them: group by less, or ask for each grouping in a question of its own",
            reason="group",
        )
    found = [_placed(question, bounds.groups, kept) for kept in question.sets]
    return Totals(tuple(place for place, _ in found), question.sets, tuple(size for _, size in found))


def _placed(question: Question, groups: GroupKeys, kept: Sequence[str]) -> tuple[Array, int]:
    codes = np.zeros(len(groups), dtype=np.int64)
    for key, column in zip(question.keys, groups.columns, strict=True):
        if key.name not in kept:
            if column.values.null_count:
                raise RefusedError(
                    f"{key.name} is null for some rows, which could not be told from totals: leave them out with WHERE "
                    f"{key.name} IS NOT NULL",
                    reason="group",
                )
            continue
        encoded = column.values.dictionary_encode()
        each = arrow.values_of(encoded.indices.fill_null(len(encoded.dictionary)))
        codes = np.unique(codes * (len(encoded.dictionary) + 1) + each, return_inverse=True)[1]
    return codes, int(codes.max(initial=-1)) + 1


def is_summed(formula: Formula) -> bool:
    """Tell whether cells are added up to totals as they are."""
    return isinstance(formula, (Sum, Count))


def columns_of(one: "PreparedOutput", shown: Mapping[str, Any], prepared: "Prepared") -> dict[str, Any]:
    """Add the rows of totals to the columns of an output: its numbers, and the ends of their certain intervals."""
    totals, name = prepared.totals, one.output.name
    weights = counted_rows(one.output, prepared)
    parts = [
        _total(one, weights, place, size, prepared.bounds.kind)
        for place, size in zip(totals.places, totals.sizes, strict=True)
    ]
    found = {name: pa.concat_arrays([shown[name], *(numbers.cast(shown[name].type) for numbers, _ in parts)])}
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


def counted_rows(output: QuestionOutput, prepared: "Prepared") -> Array | None:
    """Give the rows of each group that an average is over; None for sums."""
    match output.formula:
        case Quotient(_, Count(Always())):
            return prepared.bounds.rows[prepared.bounds.kind].astype(float)
        case Quotient(_, Count() as count):
            counted = next(one for one in prepared.outputs if one.output.formula == count)
            return arrow.values_of(counted.kept).astype(float)
    return None


@quiet
def _possible(one: "PreparedOutput", weights: Array | None, place: Array, size: int, end: Array, sign: float) -> Array:
    """Put the ends of what cells can be together, rounded outwards: downwards where ``sign`` is -1."""
    there = ~arrow.nulls(one.kept)
    each = np.ones(len(there)) if weights is None else weights
    whole = np.bincount(place, each, size)  # rows of cells without a value count, too
    divisor = np.where(whole > 0, whole, 1.0) if weights is not None else 1.0
    total, parts = (np.bincount(place, np.where(there, of, 0.0), size) for of in (each * end, np.ones(len(there))))
    spread = np.bincount(place, np.where(there, each * np.abs(end), 0.0), size)
    return (total + sign * (parts + 8) * UNIT * spread) / divisor


def check_sums_stay_exact(prepared: "Prepared") -> None:
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


def _total(one: "PreparedOutput", weights: Array | None, place: Array, size: int, kind: Array) -> tuple[Any, Array]:
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
