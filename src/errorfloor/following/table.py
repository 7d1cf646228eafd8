"""The figures of a standing question as a table: each period, the totals up to there, and totals of the last periods.

All of it is arithmetic of what was released, which is public to those who may ask; so are the numbers of rows.

*Guarantee*: every interval contains the truth about the snapshots that were read. A sum of neighbouring periods is the
difference of two running totals of its block, each within the bound; where it begins with the block it is one of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.answering.releasing import tags_of
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.following.block import Block, same_groups
from errorfloor.following.period import ReleasedPeriod
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.cost import drawing_cost
from errorfloor.preparing.rounding import cut, multiples, rounded

FINER = 100  # parts of a step: the ends of intervals of averages are multiples of one
ROUNDED = 2.0**-50  # relative: what a few operations on doubles are off by


@dataclass(frozen=True)
class FollowedShape:
    """How the table looks: what a period is called, the keys, the number, and of averages the least rows."""

    part: str
    keys: tuple[str, ...]
    output: str
    least_rows: int | None = None
    possible: tuple[float, float] | None = None


@dataclass(frozen=True, eq=False)
class Figures:
    """What was released of some periods in a row, from the first; each is of a block.

    ``of`` says for each period its block. All groups that any period has are in all of them: where a group has no rows
    noise alone was added, else running totals would not be within their bound.
    """

    shape: FollowedShape
    of: Sequence[tuple[Block, str]]
    periods: Mapping[str, ReleasedPeriod]

    def table(self, moving: int | None = None) -> pa.Table:
        """Give the table: for each group its periods in order; with ``moving``, totals of so many periods come along.

        They are there from where there are so many.
        """
        size, count = self._size, len(self.of)
        order = np.repeat(self._order, count)
        found: dict[str, Any] = {self.shape.part: pa.array([name for _, name in self.of] * size, pa.string())}
        for key, shown in zip(self.shape.keys, self._shown, strict=True):
            found[key] = shown.take(pa.array(order))
        starts = [0] * count
        found |= self._columns(self.shape.output, list(range(count)))
        found |= self._columns(f"{self.shape.output}_total", starts)
        if self._rows is not None:
            found[f"{self.shape.output}_rows"] = self._flat(self._rows)
        if moving is not None:
            there = np.tile(np.arange(count) >= moving - 1, size)
            firsts = [max(0, place - moving + 1) for place in range(count)]
            for name, column in self._columns(f"{self.shape.output}_moving", firsts).items():
                found[name] = pa.array(_values(column), mask=~there | _missing(column))
        return pa.table(found)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self._size * len(self.of)

    def wider(self) -> list[str]:
        """Say where averages are over fewer rows than their bound was asked for."""
        if self._rows is None or self.shape.least_rows is None:
            return []
        said = []
        for place, (block, name) in enumerate(self.of):
            rows = self._rows[:, place]
            few = rows[(rows > 0) & (rows < self.shape.least_rows)]
            if few.size:
                bound = rounded_up(block.added.high / int(few.min()))
                groups = f"{few.size:,} of {len(rows):,} groups have" if len(rows) > 1 else "the group has"
                said.append(
                    f"{name}: {groups} fewer than {self.shape.least_rows:,} rows; averages there are within up to "
                    f"±{bound} instead of ±{rounded_up(block.bound)}."
                )
        return said

    @cached_property
    def _places(self) -> tuple[Any, list[Array]]:
        """The first group of each kind among all periods, and for each period which group is which."""
        key = self.of[0][0].key
        tags = [tags_of(self.periods[name].groups, key) for _, name in self.of]
        return same_groups(tags)

    @property
    def _size(self) -> int:
        return len(self._places[0])

    @cached_property
    def _shown(self) -> list[Any]:
        """The keys of all groups, each once."""
        chosen = pa.array(self._places[0])
        groups = [self.periods[name].groups for _, name in self.of]
        return [
            pa.concat_arrays([one.columns[place].shown for one in groups]).take(chosen)
            for place in range(len(self.shape.keys))
        ]

    @cached_property
    def _order(self) -> Array:
        """In which order groups are shown."""
        places = np.arange(self._size)
        for shown in reversed(self._shown):
            column = shown.take(pa.array(places))
            places = places[arrow.values_of(pc.array_sort_indices(column, null_placement="at_start"))]
        return places

    @cached_property
    def _lattice(self) -> Lattice:
        """The multiples that all released sums are of."""
        steps = [Fraction(block.added.lattice.step) for block in self._blocks]
        whole = math.lcm(*(one.denominator for one in steps))
        common = math.gcd(*(int(one * whole) for one in steps))
        return Lattice(str(Decimal(common) / Decimal(whole)))

    @cached_property
    def _blocks(self) -> list[Block]:
        return list({id(block): block for block, _ in self.of}.values())

    @property
    def seconds(self) -> float:
        """A bound on the seconds that drawing takes, for groups that lack rows in a period."""
        return sum(drawing_cost(len(groups), len(block.horizon.names)) for block, (_, groups) in self._lacking.items())

    @cached_property
    def _lacking(self) -> dict[Block, tuple[list[int], Array]]:
        """The periods of each block, and the groups that lack rows in one of them: these have noise alone there."""
        found = {}
        for block in self._blocks:
            columns = [place for place, (of, _) in enumerate(self.of) if of is block]
            times = np.zeros(self._size, dtype=np.int64)
            for place in columns:
                times[self._places[1][place]] += 1
            found[block] = columns, np.flatnonzero(times < len(columns))
        return found

    @cached_property
    def _steps(self) -> Array:
        """The released sums: groups × periods, in steps of the common lattice."""
        found = np.zeros((self._size, len(self.of)), dtype=np.int64)
        for block, (columns, groups) in self._lacking.items():
            names = [self.of[place][1] for place in columns]
            if groups.size:
                every = [tags_of(self.periods[name].groups, block.key) for _, name in self.of]
                noise = block.noise(np.concatenate(every)[self._places[0][groups]], names)
                found[groups[:, None], columns] = block.empty(noise)
            for place, name in zip(columns, names, strict=True):
                found[self._places[1][place], place] = self.periods[name].steps
            found[:, columns] *= int(Fraction(block.added.lattice.step) / Fraction(self._lattice.step))
        return found

    @cached_property
    def _rows(self) -> Array | None:
        """Over how many rows averages are: groups × periods; None of sums."""
        if self.shape.least_rows is None:
            return None
        found = np.zeros((self._size, len(self.of)), dtype=np.int64)
        for place, (_, name) in enumerate(self.of):
            rows = self.periods[name].rows
            assert rows is not None
            found[self._places[1][place], place] = rows
        return found

    def _flat(self, values: Array) -> Array:
        """Give the numbers of groups, one after the other as they are shown."""
        return np.asarray(values[self._order].ravel())

    def _columns(self, name: str, firsts: Sequence[int]) -> dict[str, Any]:
        """Give sums, or averages, from a first period to each, and the ends of their certain intervals."""
        sums = _since(self._steps, firsts)
        bounds = np.array([self._off(first, last) for last, first in enumerate(firsts)])
        exact = multiples(self._flat(sums), self._lattice)
        off = np.tile(bounds, self._size)
        nowhere = np.full(len(off), math.inf)
        if self._rows is None:
            low, high = cut(exact, (-off, off), (-nowhere, nowhere), self._lattice.step)
            return {name: exact, f"{name}_low": low, f"{name}_high": high}
        rows = self._flat(_since(self._rows, firsts))
        there = rows > 0
        over = np.where(there, rows, 1)
        low, high = self._ends(exact, off, over)
        numbers = {name: rounded(exact / over, self._averages), f"{name}_low": low, f"{name}_high": high}
        return {one: pa.array(column, mask=~there) for one, column in numbers.items()}

    @cached_property
    def _averages(self) -> Lattice:
        """What averages are rounded to parts of."""
        return Lattice.for_width(2 * min(block.bound for block in self._blocks))

    def _ends(self, sums: Array, off: Array, rows: Array) -> tuple[Array, Array]:
        """Give where averages lie, rounded outwards to a hundredth of a step, and cut to what is possible."""
        assert self.shape.possible is not None
        part = Lattice(str(Decimal(self._averages.step) / FINER))
        off = off + ROUNDED * (np.abs(sums) + off)
        first, last = (sums - off) / rows, (sums + off) / rows
        low = np.minimum(first, multiples(np.floor(first / part.size).astype(np.int64), part))
        high = np.maximum(last, multiples(np.ceil(last / part.size).astype(np.int64), part))
        least, most = self.shape.possible
        return np.maximum(low, least), np.minimum(high, most)

    def _off(self, first: int, last: int) -> float:
        """Bound how far the sum of some periods in a row is off: block by block."""
        total, place = 0.0, first
        while place <= last:
            block = self.of[place][0]
            end = place
            while end < last and self.of[end + 1][0] is block:
                end += 1
            begins = self.of[place][1] == block.horizon.names[0]
            total += block.added.high * (1 if begins or place == end else 2)
            place = end + 1
        return total


def _since(values: Array, firsts: Sequence[int]) -> Array:
    """Give sums along rows, from a first place to each place."""
    total = np.concatenate([np.zeros((len(values), 1), dtype=np.int64), np.cumsum(values, axis=1)], axis=1)
    return np.asarray(total[:, 1:] - total[:, list(firsts)])


def _values(column: Any) -> Array:
    return column if isinstance(column, np.ndarray) else np.asarray(column.fill_null(0.0).to_numpy())


def _missing(column: Any) -> Array:
    if isinstance(column, np.ndarray):
        return np.zeros(len(column), dtype=bool)
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False))
