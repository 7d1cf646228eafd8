"""What follows from kept answers by arithmetic: sums and averages over groups whose parts were released.

*Guarantee* (``unions.proof.md``): a number that is given from parts is certainly within the bound that was asked for;
it is charged nothing, and what is stated of it is no less than anybody learns from it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow.compute as pc

from errorfloor.answering.keeping import Keeper, KeptColumn, is_seen
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.choosing import prepared_for
from errorfloor.preparing.noises import Added
from errorfloor.preparing.preparation import Prepared, PreparedOutput, ReadQuestion
from errorfloor.preparing.rounding import FINEST, rounded
from errorfloor.pricing import OutputBounds
from errorfloor.pricing.bounding import RowSlopes
from errorfloor.pricing.keys import GroupKeys
from errorfloor.sql.plan import Always, Count, Different, Quotient, Sum
from errorfloor.sql.question import QuestionOutput

UNIT = 2.0**-52


@dataclass(frozen=True)
class FromParts(Added):
    """What is certain of a number made of released parts: ``low`` and ``high`` are those asked for.

    ``noise`` is that of each part, so that its information bounds what the number tells; ``deviation`` is the largest
    standard deviation of a number.
    """

    deviation: float = 0.0
    parts: int = 0
    answer: int = 0
    time: str = ""
    booked: tuple[float, float] | None = None
    analyst: str | None = None
    shared: bool = False

    @property
    def spare(self) -> float:
        """Nothing: the bound is compared with all that rounding does."""
        return 0.0

    @cached_property
    def standard_error(self) -> float:
        """The largest standard deviation of a number."""
        return self.deviation

    @property
    def beside(self) -> tuple[float, float] | None:
        """What was booked beside the noise of the parts."""
        return self.booked

    def source(self, analyst: str | None) -> dict[str, Any]:
        """Where the number is from, as plain JSON types; of which answer only for those who see what that asked.

        Others would find a hidden question by guessing: theirs follows from it, and that number would confirm it.
        """
        seen = is_seen({"analyst": self.analyst, "shared": self.shared}, analyst)
        return {"answer": self.answer if seen else None, "time": self.time if seen else None, "cells": self.parts}


def parts_of(one: PreparedOutput) -> FromParts | None:
    """Give what an output was put together from; None for one that has noise of its own, or none."""
    added = None if one.added is None else one.added.widest
    return added if isinstance(added, FromParts) else None


def from_parts(prepared: Prepared, read: ReadQuestion, keeper: Keeper, engine: Any) -> Prepared:
    """Take the outputs of a question from released parts, if nothing is left to charge then; else give it as it is.

    An output whose own charge was made already is never replaced.
    """
    charged = keeper.charged(one.label for one in prepared.outputs if one.label is not None)
    outputs, bounds = list(prepared.outputs), list(prepared.bounds.outputs)
    for place, one in enumerate(prepared.outputs):
        if one.label is None or one.kept is not None or one.label.encoded in charged:
            continue
        over = read.found_over[place]
        found = next(filter(None, (_joined(one, column, prepared, read) for column in keeper.over(over, read))), None)
        if found is None:
            return prepared
        outputs[place], bounds[place] = found
    if outputs == list(prepared.outputs):
        return prepared
    plan = replace(prepared.plan, bounds=replace(prepared.bounds, outputs=tuple(bounds)))
    return replace(prepared_for(plan, tuple(outputs), engine), recorded=prepared.charges)


def _joined(
    one: PreparedOutput, column: KeptColumn, prepared: Prepared, read: ReadQuestion
) -> tuple[PreparedOutput, OutputBounds] | None:
    """Put parts together; None if they are no parts of these groups, or the bound is not met."""
    cells, coarse, added = column.answer.cells, prepared.bounds, column.added
    if added is None or one.added is None or one.added.varies:
        return None
    asked = one.added.widest
    if asked.keeps_sums:  # parts do not: each must be as near as totals of all of them need it
        bound = asked.high / prepared.plan.scale(one.output)
        asked = replace(asked, low=-bound, high=bound)
    if not (added.low == -added.high and asked.low == -asked.high):
        return None
    place = _places(cells.groups, column.answer.facts["keys"], coarse.groups, read)
    rows = cells.rows[cells.kind]
    if place is None or (np.bincount(place, rows, len(coarse.groups)) != coarse.rows[coarse.kind]).any():
        return None  # rows are missing
    weights = weights_of(one.output, column, rows, read)
    if weights is None:
        return None
    fine = cells.bounds[column.place]
    defined = fine.defined[cells.kind]
    numbers = np.where(defined, arrow.values_of(column.numbers), 0.0)
    size = len(coarse.groups)

    def total(values: Array) -> Array:
        return np.bincount(place, np.where(defined, values, 0.0), size)

    parts, whole = total(np.ones(len(place))), total(weights)
    is_mean = isinstance(one.output.formula, Quotient)
    divisor = np.where(whole > 0, whole, 1.0) if is_mean else np.ones(size)
    value = rounded(total(weights * numbers) / divisor, added.lattice)
    off = (parts + 8) * UNIT * total(weights * np.abs(numbers)) / divisor + added.lattice.size / FINEST
    most = total(weights) / divisor * (added.high - added.spare) * (1 + (parts + 8) * UNIT) + off
    there = prepared.bounds_of(one).defined[coarse.kind]
    if (there != (parts > 0)).any() or (most[there] > asked.high).any():
        return None
    spread = np.sqrt(total(weights**2)) if added.beside is None else total(weights)  # noises of parts may be dependent
    deviation = added.standard_error * spread / divisor
    said = column.answer
    lattice = asked.lattice if is_mean else added.lattice  # a sum of parts is a multiple of their step
    together = FromParts(
        added.noise, lattice, asked.low, asked.high, 0.0,
        float(deviation.max()), int(parts.max()), said.kept.number, said.facts["time"], added.beside,
        said.facts["analyst"], said.facts["shared"],
    )  # fmt: skip
    output = replace(
        one,
        added=CellNoise.same(together, len(coarse.rows)),
        label=None,
        kept=arrow.column(value, there),
        paid=column.label,
        drawn=column.facts["drawn"],
    )
    off_by = replace(fine, error=(fine.error + added.grain / 2) * int(parts.max()))
    return output, _bounds(off_by, coarse.kind[place], cells.kind, prepared.bounds_of(one))


def _bounds(fine: OutputBounds, kind: Array, fine_kind: Array, own: OutputBounds) -> OutputBounds:
    """Bound what a number tells by what its parts tell: the largest of each."""
    kinds = len(own.error)

    def largest(values: Array) -> Array:
        found = np.zeros(kinds)
        np.maximum.at(found, kind, values[fine_kind])
        return found

    place = np.arange(kinds)
    slopes = {
        name: RowSlopes(largest(each.values), place, np.zeros_like(place), (kinds, 1))
        for name, each in fine.slopes.items()
    }
    return replace(own, slopes=slopes, owner=largest(fine.owner), error=largest(fine.error))


def weights_of(output: QuestionOutput, column: KeptColumn, rows: Array, read: ReadQuestion) -> Array | None:
    """Give what the parts are multiplied by: 1 for sums, the rows that are counted for averages; None for all else."""
    match output.formula:
        case Sum(of=of):  # a value in two groups is one of their union: such counts do not add up
            return None if any(isinstance(atom, Different) for atom in of.atoms) else np.ones(len(rows))
        case Quotient(Sum(where=summed), Count(counted)) if summed == counted:
            if counted == Always():
                return rows.astype(float)
            name = read.over(replace(output, formula=Count(counted)))
            for place, one in enumerate(column.answer.facts["outputs"]):
                if one["over"] == name and one["added"] is None and one["constant"] is None:
                    return arrow.values_of(column.answer.cells.numbers[place]).astype(float)
    return None


def _places(fine: GroupKeys, keys: Sequence[str], coarse: GroupKeys, read: ReadQuestion) -> Array | None:
    """Give the group that each part belongs to; None if a part has no such key, or belongs to none."""
    here, there = np.zeros(len(coarse), dtype=np.int64), np.zeros(len(fine), dtype=np.int64)
    for key, column in zip(read.question.keys, coarse.columns, strict=True):
        if key.value.encoded.hex() not in keys:
            return None
        part = fine.columns[keys.index(key.value.encoded.hex())]
        values = column.values.unique()
        ours, theirs = (pc.index_in(each.values, value_set=values) for each in (column, part))
        if part.unit != column.unit or theirs.null_count:
            return None
        here = here * len(values) + arrow.values_of(ours)
        there = there * len(values) + arrow.values_of(theirs)
        _, codes = np.unique(np.concatenate([here, there]), return_inverse=True)
        here, there = codes[: len(here)], codes[len(here) :]
    order = np.argsort(here)
    place = order[np.minimum(np.searchsorted(here[order], there), len(order) - 1)]
    return place if (here[place] == there).all() else None
