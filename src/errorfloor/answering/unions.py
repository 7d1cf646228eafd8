"""What follows from kept answers by arithmetic: sums and averages over groups whose parts were released.

*Guarantee* (``unions.proof.md``): a number that is given from parts is certainly within the bound that is stated, which
is no wider than the one asked for; it is charged nothing, and what is stated of it is no less than anybody learns.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from errorfloor.answering.keeping import Keeper, is_seen
from errorfloor.answering.kept import KeptColumn
from errorfloor.answering.origins import Origin, hexes, shown_of
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.floors.words import rounded_up
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.choosing import prepared_for
from errorfloor.preparing.joint_noise import JointAdded
from errorfloor.preparing.noises import Added
from errorfloor.preparing.preparation import Prepared, PreparedOutput, ReadQuestion
from errorfloor.preparing.rounding import FINEST, multiples, rounded
from errorfloor.pricing import OutputBounds
from errorfloor.pricing.bounding import RowSlopes
from errorfloor.sql.plan import Always, Count, Different, Quotient, Sum
from errorfloor.sql.question import QuestionOutput

UNIT = 2.0**-52
WHOLE = 2.0**53  # below, sums of whole numbers are exact in doubles
ROUNDED = 1 + 2.0**-50  # more than a root and a product are off by
DIGITS = 6  # of the bound that is stated
Looked = Callable[[int, float], Iterable[tuple[Origin, ...]]]  # for an output, within a bound: where it may follow from


class EarlierAnswer(NamedTuple):
    """A released answer that a number follows from, and who may see what it asked."""

    answer: int
    time: str
    analyst: str | None
    shared: bool


@dataclass(frozen=True)
class FromParts(Added):
    """What is certain of a number made of released parts.

    ``noise`` is that of the parts which tell most, so that its information bounds what the number tells; ``deviation``
    is the largest standard deviation of a number. ``parts`` are the most cells that one is made of, ``answers``
    those that they were released in, oldest first.
    """

    deviation: float = 0.0
    parts: int = 0
    answers: tuple[EarlierAnswer, ...] = ()
    booked: tuple[float, float] | None = None
    with_sums: bool = False

    @property
    def spare(self) -> float:
        """Nothing: the bound is compared with all that rounding does."""
        return 0.0

    @cached_property
    def standard_error(self) -> float:
        """The largest standard deviation of a number."""
        return self.deviation

    @property
    def keeps_sums(self) -> bool:
        """Whether the parts had joint noise, so that sums that are shown are as near as each number."""
        return self.with_sums

    @property
    def beside(self) -> tuple[float, float] | None:
        """What was booked beside the noise of the parts."""
        return self.booked

    @cached_property
    def law(self) -> str:
        """What tells it from others: also how far off it is, which does not follow from the noise of a part."""
        return json.dumps([super().law, self.high, self.deviation, self.parts])

    def seen_by(self, analyst: str | None) -> tuple[EarlierAnswer, ...]:
        """Give the answers, oldest first, to those who see what all of them asked; to others none.

        They would find a hidden question by guessing: theirs follows from it, and its answer would confirm that.
        """
        return self.answers if all(is_seen(one._asdict(), analyst) for one in self.answers) else ()

    def source(self, analyst: str | None) -> dict[str, Any]:
        """Where the number is from, as plain JSON types: the newest answer, and all of them if there are several."""
        seen = self.seen_by(analyst)
        newest = {"answer": seen[-1].answer, "time": seen[-1].time} if seen else {"answer": None, "time": None}
        several = {"answers": [one.answer for one in seen]} if len(seen) > 1 else {}
        return newest | {"cells": self.parts} | several


def parts_of(one: PreparedOutput) -> FromParts | None:
    """Give what an output was put together from; None for one that has noise of its own, or none."""
    added = None if one.added is None else one.added.widest
    return added if isinstance(added, FromParts) else None


def from_parts(
    prepared: Prepared, read: ReadQuestion, keeper: Keeper, engine: Engine, origins: Looked, *, apart: bool = False
) -> Prepared:
    """Take the outputs of a question from released parts, if nothing is left to charge then; else give it as it is.

    An output whose own charge was made already is never replaced; where the question is asked part by part, ``apart``,
    it has no charge of its own.
    """
    labels = [] if apart else [one.label for one in prepared.outputs if one.label is not None]
    charged = keeper.charged(labels)
    outputs, bounds = list(prepared.outputs), list(prepared.bounds.outputs)
    for place, one in enumerate(prepared.outputs):
        if one.label is None or one.kept is not None or one.label.encoded in charged:
            continue
        limit = np.inf if one.added is None or one.added.varies else _most(one, prepared)
        found = next(filter(None, (_joined(one, each, prepared, read) for each in origins(place, limit))), None)
        if found is None:
            return prepared
        outputs[place], bounds[place] = found
    if outputs == list(prepared.outputs):
        return prepared
    plan = replace(prepared.plan, bounds=replace(prepared.bounds, outputs=tuple(bounds)))
    return replace(prepared_for(plan, tuple(outputs), engine), recorded=prepared.charges)


def _most(one: PreparedOutput, prepared: Prepared) -> float:
    """Give the bound that was asked for on what is shown: where there are totals, also on these."""
    assert one.added is not None
    added, question = one.added.widest, prepared.question
    summed = isinstance(one.output.formula, Sum) and (question.sets or question.sharing(one.output))
    return added.high * (prepared.plan.scale(one.output) / one.output.span if summed and not added.keeps_sums else 1.0)


def _nearest(one: PreparedOutput, prepared: Prepared) -> float:
    """Give the bound on a cell that is asked for where totals are as far off as all their cells together."""
    assert one.added is not None
    added = one.added.widest
    return added.high / (prepared.plan.scale(one.output) if added.keeps_sums else 1.0)


@dataclass(frozen=True, eq=False)
class _Parts:
    """The cells of one released answer that groups are made of: by cell, but for ``origin`` and ``noises``."""

    origin: Origin
    noises: CellNoise
    place: Array
    rows: Array
    weights: Array
    numbers: Array
    kind: Array

    @property
    def fine(self) -> OutputBounds:
        """What bounds the cells."""
        column = self.origin.column
        return column.answer.cells.bounds[column.place]

    def of_cell(self, name: str) -> Array:
        """Give one number of the noise of each cell."""
        return self.noises.of_kind(name)[self.kind]

    def steps(self, lattice: Lattice) -> Array:
        """Give what each cell adds, in whole steps of its lattice."""
        return np.rint(self.weights * self.numbers / float(lattice.size))

    def total(self, values: Array, size: int) -> Array:
        """Add the numbers of cells up, by group; of those that are defined."""
        return np.bincount(self.place, values, size)


def _parts(one: PreparedOutput, origin: Origin, prepared: Prepared, read: ReadQuestion) -> _Parts | None:
    """Find the groups of the cells of an answer; None if they are no parts of these groups."""
    column, coarse = origin.column, prepared.bounds
    noises, cells = column.noises, column.answer.cells
    if noises is None or noises.varies or noises.widest.low != -noises.widest.high:
        return None
    place = origin.places(coarse.groups, hexes(read.question.keys))
    if place is None:
        return None
    chosen = place >= 0
    rows = cells.rows[cells.kind]
    weights = weights_of(one.output, column, rows, origin.read)
    if weights is None:  # but a group that is one cell is that cell, whatever is computed
        weights = np.full(len(rows), np.nan)
    defined = cells.bounds[column.place].defined[cells.kind]
    numbers = np.where(defined, arrow.values_of(column.numbers), 0.0).astype(float)
    weights = np.where(defined, weights, 0.0)
    return _Parts(origin, noises, *(each[chosen] for each in (place, rows, weights, numbers, cells.kind)))


def _joined(
    one: PreparedOutput, origins: Sequence[Origin], prepared: Prepared, read: ReadQuestion
) -> tuple[PreparedOutput, OutputBounds] | None:
    """Put parts together; None if they are no parts of these groups, or the bound is not met."""
    if one.added is None or one.added.varies or one.added.widest.low != -one.added.widest.high:
        return None
    found = [_parts(one, origin, prepared, read) for origin in origins]
    sources = [each for each in found if each is not None]
    if len(sources) < len(found):
        return None
    coarse, size = prepared.bounds, len(prepared.bounds.groups)
    each_kind = [noise for source in sources for noise in source.noises.each]
    if len({type(noise.noise) for noise in each_kind}) > 1:
        return None  # they are counted in different ways
    beside = each_kind[0].beside
    if len(each_kind) > 1 and any(noise.beside is not None for noise in each_kind):
        return None
    added = max(each_kind, key=lambda noise: noise.information)
    lattice = min((noise.lattice for noise in each_kind), key=lambda lattice: lattice.size)

    def total(values: Callable[[_Parts], Array]) -> Array:
        return np.asarray(sum(each.total(values(each), size) for each in sources))

    if (total(lambda each: each.rows) != coarse.rows[coarse.kind]).any():
        return None  # rows are missing
    defined = [each.fine.defined[each.kind] for each in sources]
    there = prepared.bounds_of(one).defined[coarse.kind]
    parts = np.asarray(sum(each.total(live, size) for each, live in zip(sources, defined, strict=True)))
    if (there != (parts > 0)).any():
        return None
    single = total(lambda each: np.ones(len(each.rows))).max(initial=0) <= 1  # also of those that are NULL
    if single:
        sources = [replace(each, weights=live * 1.0) for each, live in zip(sources, defined, strict=True)]
    elif any(np.isnan(each.weights).any() for each in sources):
        return None
    whole = total(lambda each: each.weights)
    is_mean = isinstance(one.output.formula, Quotient) and not single
    divisor = np.where(whole > 0, whole, 1.0) if is_mean else np.ones(size)
    value = rounded(total(lambda each: each.weights * each.numbers) / divisor, lattice)
    slack = (parts + 8) * UNIT
    off = slack * total(lambda each: each.weights * np.abs(each.numbers)) / divisor + lattice.size / FINEST
    is_whole = len(origins) == 1 and not origins[0].is_wider  # a condition may leave out some cells of a total
    sums = shown_of(origins[0].column) if is_whole and added.keeps_sums else frozenset()
    if frozenset(hexes(read.question.keys)) in sums:  # a total of joint noise is as near as a cell
        reach, deviation = np.full(size, added.high - added.spare), added.standard_error
        steps = total(lambda each: each.steps(lattice))
        if (
            isinstance(one.output.formula, Sum)
            and total(lambda each: np.abs(each.steps(lattice))).max(initial=0) < WHOLE
        ):
            value, off, slack = multiples(steps.astype(np.int64), lattice), np.zeros(size), np.zeros(size)
    else:
        reach = total(lambda each: each.weights * (each.of_cell("high") - each.of_cell("spare"))) / divisor
        spread = total(lambda each: (each.weights * each.of_cell("standard_error")) ** 2) ** 0.5
        if beside is not None:  # noises of parts may be dependent
            spread = total(lambda each: each.weights * each.of_cell("standard_error"))
        deviation = float((spread / divisor).max(initial=0.0))
    farthest = float((reach * (1 + slack) + off)[there].max(initial=0.0))
    with_sums = added.keeps_sums and _sums_are_kept(one, origins[0], added, sums, prepared, read)
    limit = _most(one, prepared) if with_sums else _nearest(one, prepared)
    if farthest > limit:
        return None
    if one.output.part_of is None:  # of what is computed from several, what is stated of one is stated of all
        limit = min(limit, float(rounded_up(farthest, DIGITS)))
    released = [each.origin.column.answer for each in sources]
    answers = {(kept.kept.number, *(kept.facts[name] for name in ("time", "analyst", "shared"))) for kept in released}
    together = FromParts(
        added.noise, lattice, -limit, limit, 0.0, deviation, int(parts.max(initial=0)),
        tuple(EarlierAnswer(*one) for one in sorted(answers)), beside, with_sums,
    )  # fmt: skip
    column = origins[0].column
    output = replace(
        one,
        added=CellNoise.same(together, len(coarse.rows)),
        label=None,
        kept=arrow.column(value, there),
        paid=column.label,
        drawn=column.facts["drawn"],
    )
    return output, _bounds(sources, together, coarse.kind, prepared.bounds_of(one))


def _sums_are_kept(
    one: PreparedOutput,
    origin: Origin,
    added: Added,
    sums: frozenset[frozenset[str]],
    prepared: Prepared,
    read: ReadQuestion,
) -> bool:
    """Whether the parts' joint noise keeps the totals, or the running totals, that the question shows."""
    question = read.question
    if question.sets:
        values = {key.name: code for key, code in zip(question.keys, hexes(question.keys), strict=True)}
        asked = [frozenset(hexes(question.keys)), *(frozenset(values[name] for name in kept) for kept in question.sets)]
        return sums >= set(asked)
    own, column = one.added.widest if one.added is not None else None, origin.column
    alike = isinstance(own, JointAdded) and isinstance(added, JointAdded) and own.sums == added.sums
    return alike and column.answer.facts["keys"] == hexes(question.keys) and column.fits(prepared)


def _bounds(sources: Sequence[_Parts], together: FromParts, kind: Array, own: OutputBounds) -> OutputBounds:
    """Bound what a number tells by what its parts tell: the largest of each.

    Where parts have less information than what is stated, they move it by so much less.
    """
    kinds = len(own.error)

    def largest(values: Callable[[_Parts], Array]) -> Array:
        found = np.zeros(kinds)
        for each in sources:
            share = np.minimum(np.sqrt(each.of_cell("information") / together.information) * ROUNDED, 1.0)
            np.maximum.at(found, kind[each.place], values(each)[each.kind] * share)
        return found

    place = np.arange(kinds)
    slopes = {
        name: RowSlopes(
            largest(lambda each, name=name: _slopes(each.fine, name)),  # type: ignore[misc]
            place,
            np.zeros_like(place),
            (kinds, 1),
        )
        for name in dict.fromkeys(name for each in sources for name in each.fine.slopes)
    }
    error = largest(lambda each: each.fine.error + each.noises.grain / 2)
    return replace(own, slopes=slopes, owner=largest(lambda each: each.fine.owner), error=error * together.parts)


def _slopes(fine: OutputBounds, name: str) -> Array:
    return fine.slopes[name].values if name in fine.slopes else np.zeros(len(fine.error))


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
