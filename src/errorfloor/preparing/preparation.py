"""Everything about a question that follows from public facts: bounds, noises, labels and charges."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.arithmetic.polynomial import Monomial
from errorfloor.catalogue import Catalogue, Table
from errorfloor.charging.settling import Terms, terms_of
from errorfloor.charging.standing import allowances_of
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import InputError
from errorfloor.floors.adversary import counted_as
from errorfloor.identity import Label
from errorfloor.identity.labels import Encoded
from errorfloor.preparing.cell_noise import CellNoise, affording
from errorfloor.preparing.cost import public_cost
from errorfloor.preparing.derived import scales
from errorfloor.preparing.noises import PublicNumbers, QuestionWish, constant_of, empty
from errorfloor.preparing.reading import VERSIONS, ReadQuestion
from errorfloor.preparing.record_noise import ROUNDED_APART, cutting_of, record_noise
from errorfloor.preparing.running import Chains, chains_of
from errorfloor.preparing.setting import Setting, setting
from errorfloor.preparing.spelling import check_spelling
from errorfloor.preparing.spending import (
    affordable,
    at_least,
    evaluation_error,
    joint_for,
    jointly,
    least_share,
    taken_by,
)
from errorfloor.preparing.totals import Totals, check_sums_stay_exact, totals_of
from errorfloor.pricing import Account, Bounds, Charge, FactsCache, Noised, OutputBounds, bounds, charges
from errorfloor.pricing.records import record_bounds
from errorfloor.sql import needed, scan
from errorfloor.sql.evaluate import ROWS
from errorfloor.sql.plan import Call, Condition, Formula, Sum
from errorfloor.sql.question import Derived, Question, QuestionOutput, walk
from errorfloor.sql.record_ranges import Domains
from errorfloor.vault import Snapshot

if TYPE_CHECKING:
    from errorfloor.preparing.absent import Absent

MARGINS = tuple(1e-6 * 8.0**k for k in range(6))  # of a share, at each attempt to find bounds that take no more


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
    absent: "tuple[Absent, ...]" = ()  # values that public columns are compared with and that no row has

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

    ``statement`` is what the engine will be asked for once the charge is made: the exact ``sums`` of each group. It is
    empty where public facts suffice. Of what was released before, ``shown`` is the table with the group of each row,
    and ``recorded`` what was charged.
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
        return one.output.span if alike else self.plan.scale(one.output)

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
    def setting(self) -> Setting | None:
        """The group that sets the price."""
        return setting(self)

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
    def cost(self) -> float:
        """A bound on the seconds between the charge and the answer, from public facts."""
        return public_cost(self)

    @cached_property
    def terms(self) -> Terms:
        """What the accounts of the table and of its columns mean, which must never change."""
        return terms_of(self.question.table, self.table, self.charges, self.plan.snapshots)


def plan(read: ReadQuestion, catalogue: Catalogue, engine: Engine, known: FactsCache) -> PlannedQuestion:
    """Bound a question, and compile its scan; public columns only are read."""
    question, snapshots = read.question, read.snapshots
    absent: tuple[Absent, ...] = ()
    if read.table.hides_records:
        bounded = record_bounds(question, catalogue, snapshots, engine, known)
    else:
        bounded = bounds(question, catalogue, snapshots, engine, known)
        absent = check_spelling(question, snapshots, bounded, engine, known)
    sums = _sums(question.outputs)
    statement = scan(question, snapshots, sums, bounded.layout, engine.dialect) if sums else ""
    functions = tuple(function_of(question, output, bounded, snapshots) for output in question.outputs)
    private, table = read.private, read.table
    charged = [account for index in private for account in _unit_charges(bounded, index)]
    limits = allowances_of(table, charged + bounded.owner_accounts)
    if question.sets:
        totals_of(question, bounded)  # or it is refused
    if question.running:
        chains_of(question, bounded)
    return PlannedQuestion(question, table, snapshots, bounded, sums, statement, functions, private, limits, absent)


def prepare(plan: PlannedQuestion, wish: QuestionWish, engine: Engine) -> Prepared:
    """Choose noises, and price."""
    summed = bool(plan.question.sets or plan.question.running)
    if summed and wish.support is not None:
        raise InputError("totals are made of several numbers: give max_error or spend, not a support")
    if wish.spend is None:
        kinds = (False, True) if summed else (False,)
        return min((_with_noise(plan, wish, engine, None, jointly=each) for each in kinds), key=taken_by)
    shares = affordable(plan, wish.spend)
    for margin in MARGINS:  # grains may add a little to what was worked out without them
        found = _with_noise(plan, wish, engine, shares)
        taken = taken_by(found)
        if taken <= wish.spend:
            break
        shares = {index: information * (wish.spend / taken * (1 - margin)) for index, information in shares.items()}
    if not summed:
        return found
    return jointly(
        found, wish.spend, lambda bounds: _with_noise(plan, QuestionWish(max_error=bounds), engine, None, jointly=True)
    )


def _with_noise(
    plan: PlannedQuestion,
    wish: QuestionWish,
    engine: Engine,
    shares: Mapping[int, Array] | None,
    *,
    jointly: bool = False,
) -> Prepared:
    count = len(plan.question.outputs)
    outputs = tuple(_prepared_output(index, wish, plan, shares, jointly=jointly) for index in range(count))
    found = replace(prepared_for(plan, outputs, engine), spend=wish.spend)
    if plan.question.sets or plan.question.running:
        check_sums_stay_exact(found)
    return found


def prepared_for(plan: PlannedQuestion, outputs: tuple[PreparedOutput, ...], engine: Engine) -> Prepared:
    """Give a question with its outputs; those that are not looked up are left out of the scan."""
    prepared = Prepared(plan, outputs, plan.sums, plan.statement, engine.name)
    if len(prepared.looked_up) == len(outputs):
        return prepared
    sums = _sums(one.output for one in prepared.looked_up)
    statement = scan(plan.question, plan.snapshots, sums, plan.bounds.layout, engine.dialect) if sums else ""
    return replace(prepared, sums=sums, statement=statement)


def _prepared_output(
    index: int, wish: QuestionWish, plan: PlannedQuestion, shares: Mapping[int, Array] | None, *, jointly: bool
) -> PreparedOutput:
    output, bounded = plan.question.outputs[index], plan.bounds
    if index not in plan.private:
        return PreparedOutput(output, None)
    if not bounded.outputs[index].defined.any():
        return PreparedOutput(output, None, constant=empty(bounded.outputs[index]))
    if plan.table.hides_records:
        afforded = None if shares is None else float(shares[index].min())
        cutting = cutting_of(plan.table, bounded, index)
        error = evaluation_error(bounded, index)
        one = record_noise(output, plan.domains, wish, error, afforded, plan.scale(output), cutting)
        added = CellNoise.same(one, len(bounded.rows))
    elif shares is None:
        wish = wish.shared(plan.question.sharing(output))
        one = wish.added(output, evaluation_error(bounded, index), plan.scale(output))
        joint = joint_for(plan, index, wish) if jointly else None
        added = CellNoise.same(joint or one, len(bounded.rows))
    else:
        defined = bounded.outputs[index].defined
        added = affording(shares[index], np.where(defined, bounded.outputs[index].error, 0.0), bounded.kind)
    constant = constant_of(bounded.outputs[index], added.narrowest)
    if constant is not None:
        return PreparedOutput(output, None, constant=constant)
    return PreparedOutput(output, added, label_of(plan.functions[index], added))


def _sums(outputs: Iterable[QuestionOutput]) -> tuple[tuple[Monomial, Condition], ...]:
    """Give the sums that have to be scanned for; the rows of each group are known from public facts."""
    wanted = dict.fromkeys(pair for output in outputs for pair in needed(output.formula))
    return tuple(pair for pair in wanted if pair != ROWS)


def _unit_charges(bounded: Bounds, index: int) -> dict[Account, Charge]:
    """Give what an output would cost with noise of information 1; nothing if it has no value anywhere."""
    return charges(bounded, [Noised(index, 1.0)]) if bounded.outputs[index].defined.any() else {}


def function_of(question: Question, output: QuestionOutput, bounded: Bounds, snapshots: Sequence[Snapshot]) -> Encoded:
    """Give what decides the exact value of one output, as parts of a label.

    How the columns are named, ordered and cut off afterwards is no part of it. Nor are the other outputs, except that
    they may decide with how many bits a function of a row is stored, which is. The identity of every snapshot that is
    read is a part of it: other rows under the same names are another function. So is which groups are left out, by the
    size of the smallest that is not: else a question that leaves the dear ones out would pay for one that does not.
    """
    calls = {node.encoded: bounded.layout.bits[node] for node in walk(output.formula) if isinstance(node, Call)}
    bits = tuple(bits for _, bits in sorted(calls.items()))
    read = tuple(one.whose for one in snapshots)
    left = ("rows", int(bounded.rows.min())) if bounded.left_out and len(bounded.groups) else ()
    return Encoded.of((VERSIONS, read, *question.function_of(output), bits, *left))


def label_of(function: Encoded, added: CellNoise) -> Label:
    """Give the label of one output: equal labels are the same function of the same snapshots, with the same noise."""
    return Label("answer", (function, added.law))
