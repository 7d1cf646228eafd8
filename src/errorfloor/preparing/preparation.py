"""A question on its way to a charge, from public facts alone: as it is read, as it is planned, and as it is prepared.

What is read follows from its text and the catalogue, before any row is looked at: by this much what was released for it
before is found again, without a scan. A plan adds bounds, and what is prepared adds noises, labels and charges.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from errorfloor.arithmetic.polynomial import Monomial
from errorfloor.catalogue import Table
from errorfloor.charging.settling import Terms, terms_of
from errorfloor.checks import Array
from errorfloor.floors.adversary import counted_as
from errorfloor.floors.tapered import OUTPUTS
from errorfloor.identity import Label, Part
from errorfloor.identity.labels import Encoded
from errorfloor.ledger.shelf import KeptOutput
from errorfloor.preparing.cell_noise import CellNoise
from errorfloor.preparing.derived import scales
from errorfloor.preparing.noises import PublicNumbers, QuestionWish
from errorfloor.preparing.record_noise import ROUNDED_APART
from errorfloor.preparing.spelling import Absent
from errorfloor.preparing.totals import Chains, Totals, chains_of, totals_of
from errorfloor.pricing import Account, Bounds, Charge, Noised, OutputBounds, charges
from errorfloor.random import SAMPLER
from errorfloor.sql.plan import Condition, Formula, Sum
from errorfloor.sql.question import Derived, Question, QuestionOutput, is_private
from errorfloor.sql.record_ranges import Domains
from errorfloor.support import HalfLine
from errorfloor.vault import Snapshot

ARITHMETIC = 2  # the version of how values are computed and rounded; a change of it is a change of every answer
TAGS = 2  # the version of how a cell's bits follow from its keys; a change of it is other noise
VERSIONS: tuple[Part, ...] = ("arithmetic", ARITHMETIC, "sampler", SAMPLER, "tags", TAGS)
KEPT = 1  # the version of how answers are kept
LEAST_SHARE = 1e-6  # of the allowance: what every fresh output costs, unless ε is stated of all of them


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
        """Give what decides an output but its groups and noise: whatever a question comes to have besides layout."""
        return self._rows, output.formula.canonical

    @cached_property
    def _rows(self) -> Encoded:
        read = tuple(one.whose for one in self.snapshots)
        bare = replace(self.question, keys=(), outputs=(), selected=(), order=(), limit=None, sets=(), running=())
        rows = bare.canonical
        assert isinstance(rows, tuple)
        return Encoded.of((KEPT, VERSIONS, read, rows[:-2]))  # without coarser groupings and running totals: layout

    @cached_property
    def _declared(self) -> Encoded:
        return Encoded.of((tuple(one.formula.canonical for one in self.question.outputs), self.table.model_dump_json()))

    def _wished(self, output: QuestionOutput, wish: QuestionWish) -> Part:
        if not is_private(output.formula):
            return "public"
        if wish.spend is not None:  # bounds follow from all outputs and from what is declared
            return "spend by cell", wish.spend, self._declared, *self._summed
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


def _name(purpose: str, parts: tuple[Part, ...]) -> str:
    return hashlib.sha256(Label(f"kept {purpose}", parts).encoded).hexdigest()


@dataclass(frozen=True, eq=False)
class PreparedOutput:
    """One output: what is added to it; nothing to a public one.

    Nor to a constant: one that no private value moves by a grain, or that is NULL everywhere. It is answered from
    public facts and never looked up. Nor is one that was released before: ``kept`` has its numbers, one for each group,
    ``paid`` is the name under which the ledger knows its charge, and ``drawn`` the id of the key that drew its noise.
    """

    output: QuestionOutput
    added: CellNoise | None
    label: Label | None = None
    constant: PublicNumbers | None = None
    kept: Any = None
    paid: str | None = None
    drawn: str | None = None


@dataclass(frozen=True)
class PlannedQuestion:
    """What follows from a question alone, whatever noise is wanted: its rows, bounds and scan."""

    question: Question
    table: Table
    snapshots: tuple[Snapshot, ...]
    bounds: Bounds
    sums: tuple[tuple[Monomial, Condition], ...]
    statement: str
    functions: tuple[Encoded, ...]
    private: tuple[int, ...]  # which outputs private values are used in
    allowances: Mapping[Account, Charge]  # of every account that it may be charged to
    absent: tuple[Absent, ...] = ()  # values that public columns are compared with and that no row has

    @cached_property
    def totals(self) -> Totals:
        """The rows of coarser groupings."""
        return totals_of(self.question, self.bounds)

    @property
    def domains(self) -> Domains:
        """What the columns of a row can hold, where records are protected."""
        return Domains.of(self.table, self.snapshots)

    def scale(self, output: QuestionOutput) -> float:
        """Give by what a bound that is asked for is divided: shares of a range, cells of a total."""
        if isinstance(output.part_of, Derived) and not output.part_of.in_rows:
            return self._scales[output.part_of].get(output.formula, 1.0)
        if not isinstance(output.formula, Sum):
            return output.span
        if self.question.sharing(output):
            return float(self.chains.parts)
        return output.span * (self.totals.parts if self.question.sets else 1)

    @cached_property
    def _scales(self) -> dict[Derived, dict[Formula, float]]:
        """By how much what is derived is farther off than each of its parts."""
        found: dict[Derived, dict[Formula, tuple[float, bool]]] = {}
        for place, (one, bounded) in enumerate(zip(self.question.outputs, self.bounds.outputs, strict=True)):
            if isinstance(one.part_of, Derived):
                found.setdefault(one.part_of, {})[one.formula] = bounded.farthest, place in self.private
        return {derived: scales(derived, parts, self.domains) for derived, parts in found.items()}

    @cached_property
    def chains(self) -> Chains:
        """The order of running totals."""
        return chains_of(self.question, self.bounds)

    @property
    def size(self) -> int:
        """How many numbers it holds, about."""
        bounds = self.bounds
        kinds = len(bounds.group) * (2 + sum(5 + len(one.slopes) for one in bounds.outputs))
        owners = 0 if bounds.owners is None else len(bounds.owners.count)
        return kinds + len(bounds.groups) * (1 + len(bounds.groups.columns)) + 3 * owners + len(self.statement)


@dataclass(frozen=True)
class Prepared:
    """A question, ready to be charged and answered; nothing private has been read.

    ``statement`` asks the engine for the exact ``sums`` of each group once the charge is made; it is empty where public
    facts suffice. Of what was released, ``shown`` is the table, with the group of each row; ``recorded`` was charged.
    """

    plan: PlannedQuestion
    outputs: tuple[PreparedOutput, ...]
    sums: tuple[tuple[Monomial, Condition], ...]
    statement: str
    engine: str
    recorded: Mapping[Account, Charge] | None = None
    shown: tuple[Any, Array] | None = None
    packed: bytes | None = None  # what is kept of the answer, where it was written while the table was laid out
    spend: float | None = None  # the share that was asked for, which the bounds follow
    pieces: int = 1  # how many questions of parts it is put together from
    scales: Mapping[str, float] = field(default_factory=dict)  # of outputs whose bounds differ from part to part
    empty: tuple[tuple[str, str, str], ...] = ()  # parts beside the one that is read in which no row is asked for

    @property
    def question(self) -> Question:
        """What is asked."""
        return self.plan.question

    @property
    def table(self) -> Table:
        """The table that it is asked of, as declared."""
        return self.plan.table

    @property
    def bounds(self) -> Bounds:
        """How far private values move each output."""
        return self.plan.bounds

    @property
    def totals(self) -> Totals:
        """The rows of coarser groupings."""
        return self.plan.totals

    @property
    def rows(self) -> int:
        """How many rows the answer has, if they are not limited."""
        return len(self.bounds.groups) + (self.totals.rows if self.question.sets else 0)

    def scale(self, one: PreparedOutput) -> float:
        """Give how many times wider the bound of what is shown is than that of the output."""
        alike = one.added is not None and one.added.widest.keeps_sums
        return one.output.span if alike else self.scales.get(one.output.name) or self.plan.scale(one.output)

    @property
    def units(self) -> dict[str, str]:
        """The unit of each column that is asked for."""
        whole = ((one.output, one.output.part_of) for one in self.outputs)
        return {own.asked_as: own.unit if quantile is None else quantile.unit for own, quantile in whole}

    @property
    def looked_up(self) -> tuple[PreparedOutput, ...]:
        """The outputs whose values are read once the charge is made: all but constants and what was released."""
        return tuple(one for one in self.outputs if one.constant is None and one.kept is None)

    @property
    def is_kept(self) -> bool:
        """Whether all of it was released before."""
        return all(one.kept is not None for one in self.outputs)

    def bounds_of(self, one: PreparedOutput) -> OutputBounds:
        """Give the bounds of one of the outputs."""
        return next(bounds for bounds, other in zip(self.bounds.outputs, self.outputs, strict=True) if other is one)

    @cached_property
    def charges(self) -> Mapping[Account, Charge]:
        """What all its outputs together are, or were, charged to whom."""
        return self.charges_of(self.charged) if self.recorded is None else self.recorded

    @cached_property
    def charged(self) -> tuple[PreparedOutput, ...]:
        """The outputs that noise is added to; of those that are the same, the first."""
        found: dict[bytes | str, PreparedOutput] = {}
        for one in self.outputs:
            if one.label is not None or one.paid is not None:
                found.setdefault(one.paid or one.label.encoded, one)  # type: ignore[union-attr]  # it has one of them
        return tuple(found.values())

    def charges_of(self, chosen: Sequence[PreparedOutput], least: int = 1) -> dict[Account, Charge]:
        """Give what some of the outputs are charged together: the most that one entry or owner can do to all of them.

        No less than a millionth of the allowance for each: no question is free to ask in a thousand variants. Groups of
        fewer than ``least`` rows are left out.
        """
        noised = self.noised(chosen, least)
        return {
            account: at_least(charge, self.plan.allowances[account], len(noised) * least_share(self.table))
            for account, charge in charges(self.bounds, noised).items()
        }

    def noised(self, chosen: Sequence[PreparedOutput], least: int = 1) -> list[Noised]:
        """Give the noise of some of the outputs as it is priced; none where every group is left out."""
        kept = self.bounds.rows >= least if least > 1 else np.ones(len(self.bounds.rows), dtype=bool)
        return [
            noised
            for one in chosen
            if one.added is not None and (kept & self.bounds_of(one).defined).any()
            for noised in self._booked(self.outputs.index(one), one.added, kept)
        ]

    def _booked(self, place: int, added: CellNoise, kept: Array) -> Iterator[Noised]:
        """Give a noise as it is booked, its information ``counted`` so many times as that of raised-cosine noise."""
        counted, beside = counted_as(added.widest.noise) if self.table.exact else None, added.widest.beside
        rounding = added.grain * (ROUNDED_APART if self.table.hides_records else 0.5)
        information = added.information * kept * (counted or 1.0)
        yield Noised(place, information, rounding, counted is not None, beside is not None)
        if beside is not None:
            yield Noised(place, beside[0] * kept, rounding + beside[1], False, True)

    @cached_property
    def terms(self) -> Terms:
        """What the accounts of the table and of its columns mean, which must never change."""
        return terms_of(self.question.table, self.table, self.charges, self.plan.snapshots)


def least_share(table: Table) -> float:
    """Give the share of the allowance that every fresh output costs at least."""
    return 1 / OUTPUTS if table.owner is not None and table.owner.stated is not None else LEAST_SHARE


def at_least(charge: Charge, allowance: Charge, share: float) -> Charge:
    """Raise a charge to a share of the allowance."""
    kind = "raised_cosine" if charge.raised_cosine else "information"
    return charge.at_least(kind, share * allowance.amounts()[kind])


def most_of(limit: Charge) -> float:
    """Give what answers with raised-cosine noise may spend, which is the noise that a share is turned into."""
    return limit.raised_cosine or limit.information
