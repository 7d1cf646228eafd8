"""A question as it is read: what follows from its text and the catalogue, before any row is looked at.

By this much what was released for it before is found again, without a scan.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from errorfloor.catalogue import Catalogue, Table
from errorfloor.errors import RefusedError
from errorfloor.identity import Label, Part
from errorfloor.ledger.shelf import KeptOutput
from errorfloor.preparing.noises import QuestionWish
from errorfloor.random import SAMPLER
from errorfloor.sql import parse
from errorfloor.sql.plan import Sum
from errorfloor.sql.question import Derived, Question, QuestionOutput, is_private
from errorfloor.support import HalfLine
from errorfloor.vault import Snapshot

ARITHMETIC = 2  # the version of how values are computed and rounded; a change of it is a change of every answer
TAGS = 2  # the version of how a cell's bits follow from its keys; a change of it is other noise
VERSIONS: tuple[Part, ...] = ("arithmetic", ARITHMETIC, "sampler", SAMPLER, "tags", TAGS)
KEPT = 1  # the version of how answers are kept


@dataclass(frozen=True, eq=False)
class ReadQuestion:
    """A question, the table that it is asked of, and the snapshots that it reads.

    *Guarantee*: two outputs that are found by the same name are the same function of the same snapshots, asked for with
    the same bounds; whatever was released for one is an answer to the other.
    """

    text: str
    question: Question
    table: Table
    snapshots: tuple[Snapshot, ...]

    @property
    def private(self) -> tuple[int, ...]:
        """Which outputs private values are used in."""
        return tuple(place for place, one in enumerate(self.question.outputs) if is_private(one.formula))

    def found_by(self, wish: QuestionWish) -> tuple[KeptOutput, ...]:
        """Give how each of its outputs is found if it was released for such a wish."""
        keys = tuple(key.value.canonical for key in self.question.keys)
        return tuple(
            KeptOutput(_name("asked", (self._over(one), keys, self._wished(one, wish))), over)
            for one, over in zip(self.question.outputs, self.found_over, strict=True)
        )

    @cached_property
    def found_over(self) -> tuple[str, ...]:
        """How each of its outputs is found, whatever its groups and its noise."""
        return tuple(map(self.over, self.question.outputs))

    def over(self, output: QuestionOutput) -> str:
        """Give how an output of the same rows is found, whatever its groups and its noise."""
        return _name("over", (self._over(output),))

    def _over(self, output: QuestionOutput) -> Part:
        """Give what decides an output but its groups and its noise: snapshots, rows and formula.

        Whatever a question may come to have besides groups, outputs and layout is in it.
        """
        return (*self._rows, output.formula.canonical)

    @cached_property
    def _rows(self) -> tuple[Part, ...]:
        read = tuple(one.whose for one in self.snapshots)
        rows = replace(
            self.question, keys=(), outputs=(), selected=(), order=(), limit=None, sets=(), running=()
        ).canonical
        assert isinstance(rows, tuple)
        return KEPT, VERSIONS, read, rows[:-2]  # without the coarser groupings and running totals, which are layout

    def _wished(self, output: QuestionOutput, wish: QuestionWish) -> Part:
        if not is_private(output.formula):
            return "public"
        if wish.spend is not None:  # bounds follow from all outputs and from what is declared
            formulas = tuple(one.formula.canonical for one in self.question.outputs)
            return "spend by cell", wish.spend, formulas, self.table.model_dump_json(), *self._summed
        if isinstance(wish.support, HalfLine):
            return "above", wish.max_loss
        if wish.support is not None:
            return "within", wish.support.low, wish.support.high
        if wish.max_error is None or (isinstance(wish.max_error, Mapping) and output.asked_as not in wish.max_error):
            return "nothing"
        if isinstance(output.part_of, Derived) and not output.part_of.in_rows:  # its bound follows from the whole
            return "part of", output.part_of.formula.canonical, wish.bound_of(output.asked_as)
        if shared := self.question.sharing(output):
            return "within running", self._chains, min(wish.bound_of(name) for name in shared)
        bound = wish.bound_of(output.asked_as) / output.span
        if self.question.sets and isinstance(output.formula, Sum):  # the bound of a cell follows from the totals
            return "within all", self._totals, bound
        return "within", -bound, bound

    @property
    def _summed(self) -> tuple[Part, ...]:
        """Give what totals and running totals there are, which decide the noise of every output that shares a spend."""
        shared = [one.formula.canonical for one in self.question.outputs if self.question.sharing(one)]
        running: tuple[Part, ...] = ("running", self._chains, tuple(shared)) if self.question.running else ()
        return (*(("totals", self._totals) if self.question.sets else ()), *running)

    @property
    def _totals(self) -> Part:
        values = {key.name: key.value.canonical for key in self.question.keys}  # names are layout
        return tuple(tuple(values[name] for name in kept) for kept in self.question.sets)

    @property
    def _chains(self) -> Part:
        values = {key.name: key.value.canonical for key in self.question.keys}
        window = self.question.running[0]
        return tuple(values[name] for name in window.partition), tuple((values[n], f) for n, f in window.order)


def read_question(text: str, catalogue: Catalogue) -> Question:
    """Read a question; raises RefusedError if it is none that is answered."""
    question = parse(text, catalogue)
    taken = {name.lower() for name in question.selected}
    for name in dict.fromkeys(one.asked_as for one in question.outputs if is_private(one.formula)):
        for end in ("_low", "_high"):
            if f"{name}{end}".lower() in taken:
                raise RefusedError(
                    f"a column {name}{end} is asked for, but {name} has its certain interval in columns of that name: "
                    f"rename one of the two",
                    reason="column",
                )
    return question


def _name(purpose: str, parts: tuple[Part, ...]) -> str:
    return hashlib.sha256(Label(f"kept {purpose}", parts).encoded).hexdigest()
