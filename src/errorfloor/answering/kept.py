"""A kept answer that was opened, and one of its outputs: what was released, and what is stated of it."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.answering.packing import PackedCells, bounds_of, unpack
from errorfloor.arithmetic import arrow
from errorfloor.ledger import Kept
from errorfloor.ledger.shelf import damaged
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.joint_noise import added_of
from errorfloor.preparing.noises import Added, PublicNumbers
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.pricing import Bounds
from errorfloor.sql.question import QuestionOutput


@dataclass(frozen=True, eq=False)
class KeptAnswer:
    """A kept answer whose seal is whole."""

    kept: Kept

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is said of it."""
        return self.kept.facts

    @cached_property
    def content(self) -> bytes:
        """The bytes of what was released, as they were written."""
        content = self.kept.content
        assert content is not None
        if hashlib.sha256(content).hexdigest() != self.facts["content"]:
            raise damaged(self.kept.number)
        return content

    @cached_property
    def cells(self) -> PackedCells:
        """What was released, and what is stated of it."""
        said = self.facts
        return unpack(self.content, said["units"], [one["columns"] for one in said["outputs"]])


@dataclass(frozen=True, eq=False)
class KeptColumn:
    """One output of a kept answer."""

    answer: KeptAnswer
    place: int

    @property
    def facts(self) -> Mapping[str, Any]:
        """What is said of it."""
        found: Mapping[str, Any] = self.answer.facts["outputs"][self.place]
        return found

    @property
    def label(self) -> str | None:
        """The label that it was charged under; None for public facts."""
        label: str | None = self.facts["label"]
        return label

    @cached_property
    def added(self) -> Added | None:
        """What was added to all its cells; None for a public one, and where cells have noises of their own."""
        is_one = self.facts["added"] is not None and self.answer.cells.levels[self.place] is None
        return added_of(self.facts["added"]) if is_one else None

    @property
    def noises(self) -> CellNoise | None:
        """What was added to its cells; None for a public one."""
        return self._added(bounds_of("", [(self.answer.cells, self.place)]))

    @property
    def numbers(self) -> Any:
        """What was released for each group."""
        return self.answer.cells.numbers[self.place]

    def fits(self, prepared: Prepared) -> bool:
        """Whether it has the groups of a question, in the same order."""
        return self.answer.cells.groups.are(prepared.bounds.groups)

    def prepared(self, output: QuestionOutput, bounds: Bounds) -> PreparedOutput:
        """Give the output as it was prepared when it was released, under its name in a question with these bounds."""
        defined, constant = self.answer.cells.bounds[self.place].defined, self.facts["constant"]
        numbers = None if constant is None else PublicNumbers(np.zeros(len(defined)), defined, constant)
        drawn: str | None = self.facts["drawn"]
        return PreparedOutput(output, self._added(bounds), None, numbers, self.numbers, self.label, drawn)

    def _added(self, bounds: Bounds) -> CellNoise | None:
        kind, kinds, levels = bounds.kind, len(bounds.rows), self.answer.cells.levels[self.place]
        if levels is None:
            return None if self.added is None else CellNoise.same(self.added, kinds)
        each = [added_of(json.loads(one)) for one in levels.dictionary.to_pylist()]
        of_group = arrow.values_of(levels.indices)
        level = np.zeros(kinds, dtype=np.int64)
        level[kind] = of_group
        if not (level[kind] == of_group).all():
            raise damaged(self.answer.kept.number)
        return CellNoise.differing(each, level, kind)
