"""From a question as it is read to its bounds, noises, labels and charges.

How exact each cell may be for a share of the allowance, or for what is left of it, follows from public facts alone.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from errorfloor.accounts import share as part_of
from errorfloor.arithmetic.polynomial import Monomial
from errorfloor.catalogue import Catalogue
from errorfloor.charging.standing import allowances_of
from errorfloor.checks import Array
from errorfloor.engines import Engine
from errorfloor.errors import InputError, RefusedError
from errorfloor.floors.words import rounded_up
from errorfloor.identity import Label
from errorfloor.identity.labels import Encoded
from errorfloor.preparing.cell_noise import CellNoise, affording
from errorfloor.preparing.joint_noise import JointAdded, joint_noise
from errorfloor.preparing.noises import QuestionWish, constant_of, empty
from errorfloor.preparing.preparation import (
    VERSIONS,
    PlannedQuestion,
    Prepared,
    PreparedOutput,
    ReadQuestion,
    least_share,
    most_of,
)
from errorfloor.preparing.record_noise import cutting_of, record_noise
from errorfloor.preparing.spelling import Absent, check_spelling
from errorfloor.preparing.totals import chains_of, check_sums_stay_exact, totals_of
from errorfloor.pricing import Bounds, FactsCache, Noised, bounds, charges
from errorfloor.pricing.interval import largest_at, quiet
from errorfloor.pricing.records import record_bounds
from errorfloor.sql import needed, parse, scan
from errorfloor.sql.plan import Among, Call, Compare, Condition, Sum
from errorfloor.sql.question import Question, QuestionOutput, is_private, walk
from errorfloor.sql.sums import ROWS
from errorfloor.vault import Snapshot

MARGINS = tuple(1e-6 * 8.0**k for k in range(6))  # of a share, at each attempt to find bounds that take no more
ATTEMPTS, STRIDE, STALLED = 16, 16.0, 1.01  # to meet a share with joint noise; steps where a bound changes nothing
NEARLY_ALL, AIM = 0.998, 0.9995  # of a share: what takes less of it could be nearer; and what is aimed at


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


def plan(read: ReadQuestion, catalogue: Catalogue, engine: Engine, known: FactsCache) -> PlannedQuestion:
    """Bound a question, and compile its scan; public columns only are read."""
    question, snapshots = read.question, read.snapshots
    absent: tuple[Absent, ...] = ()
    if read.table.hides_records:
        bounded = record_bounds(question, catalogue, snapshots, engine, known)
    else:
        bounded = bounds(question, catalogue, snapshots, engine, known)
        if any(isinstance(node, Compare | Among) for node in walk(question)):  # else there is nothing to misspell
            absent = check_spelling(question, snapshots, bounded, engine, known)
    sums = _sums(question.outputs)
    statement = scan(question, snapshots, sums, bounded.layout, engine.dialect) if sums else ""
    functions = tuple(function_of(question, output, bounded, snapshots) for output in question.outputs)
    private, table = read.private, read.table
    valued = [index for index in private if bounded.outputs[index].defined.any()]
    charged = [account for index in valued for account in charges(bounded, [Noised(index, 1.0)])]
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


def affordable(plan: PlannedQuestion, share: float) -> dict[int, Array]:
    """Give the information of noise on each output, by kind of group, with which they all take this share together.

    Alone, each cell would take the same part of what is scarcest for it: a cell has the bound that its size affords,
    and none sets the price of another. All bounds are then scaled alike.
    """
    bounded, limits = plan.bounds, plan.allowances
    alone = {index: _alone(plan, index) for index in plan.private if bounded.outputs[index].defined.any()}
    if not alone:
        return {}
    each = least_share(plan.table)
    if share < (least := each * len(alone)):
        raise InputError(
            f"spend {share:g} is too little: every output takes at least {each:g} of the allowance: ask with a "
            f"spend of at least {least:g}"
        )
    firsts = {plan.question.outputs[index].formula: index for index in reversed(alone)}  # the same are charged once
    together = charges(bounded, [Noised(index, alone[index], apart=plan.table.exact) for index in firsts.values()])
    taken = max(part_of(charge, limits[account]) for account, charge in together.items())
    return {index: share * most / taken for index, most in alone.items()}


@quiet
def _alone(plan: PlannedQuestion, index: int) -> Array:
    """Give, for each kind of group, the information of noise with which its cell would take a whole allowance."""
    bounded, output = plan.bounds, plan.bounds.outputs[index]
    smallest = sorted(plan.allowances.items(), key=lambda one: -most_of(one[1]))
    limits = {account.column: limit for account, limit in smallest}
    taken = np.zeros(len(bounded.rows))
    for column, slopes in output.slopes.items():
        if column in limits:
            taken = np.maximum(taken, slopes.by_group(len(taken)) ** 2 / most_of(limits[column]))
            taken = np.maximum(taken, output.error**2 / limits[column].evaluation)
    if bounded.owners is not None and output.is_moved:
        kind, count, _ = bounded.pairs
        moved = (count * output.owner[kind] + 2 * output.error[kind]) ** 2
        taken = np.maximum(taken, largest_at(kind, moved, len(taken)) / most_of(limits[""]))
    live = output.defined & (taken > 0)
    if not live.any():
        raise RefusedError(
            "no private value moves this answer, so nothing would be spent: ask with max_error", reason="constant"
        )
    return np.where(live, 1 / taken, 1 / taken[live].min())


def evaluation_error(bounded: Bounds, index: int) -> float:
    """Give the largest evaluation error of an output over the groups."""
    output = bounded.outputs[index]
    return float(output.error[output.defined].max())


def joint_for(plan: PlannedQuestion, index: int, wish: QuestionWish) -> JointAdded | None:
    """Give the joint noise of a sum of which totals are shown; None where there is none."""
    output, bounded = plan.question.outputs[index], plan.bounds
    if not isinstance(output.formula, Sum):
        return None
    owners = [most_of(limit) for account, limit in plan.allowances.items() if not account.column]
    if plan.question.running and not plan.question.sharing(output):
        return None
    return joint_noise(
        plan.chains if plan.question.running else plan.totals,
        bounded.outputs[index].defined[bounded.kind],
        wish.bound_of(output.asked_as),
        evaluation_error=evaluation_error(bounded, index),
        together=max(owners, default=0.0) ** 0.5,
    )


def taken_by(prepared: Prepared) -> float:
    """Give the share of the scarcest allowance that a question takes."""
    shares = (part_of(charge, prepared.plan.allowances[a]) for a, charge in prepared.charges.items())
    return max(shares, default=0.0)


def jointly(own: Prepared, share: float, attempt: Callable[[dict[str, float]], Prepared]) -> Prepared:
    """Give joint noise that takes a share, where every number is then nearer than totals of ``own`` cells; else those.

    ``attempt`` gives the question with joint noise of some bounds; they are scaled until the share is met.
    """
    noised = [one for one in own.outputs if one.added is not None]
    if own.table.hides_records or not all(isinstance(one.output.formula, Sum) for one in noised):
        return own
    reach = {one.output.asked_as: own.scale(one) * one.added.widest.high for one in noised if one.added is not None}
    names = {one.output.asked_as: own.question.sharing(one.output) or (one.output.asked_as,) for one in noised}
    widest = {name: max(reach[other] for other in shared) for name, shared in names.items()}
    inverse, before = 1.0, 0.0  # what is taken is proportional to 1/b², or what bounds take at least
    for _ in range(ATTEMPTS):
        found = attempt({name: float(rounded_up(bound / math.sqrt(inverse), 5)) for name, bound in widest.items()})
        if not all(one.added.widest.keeps_sums for one in found.outputs if one.added is not None):
            break
        met = taken_by(found) / share
        if inverse > 1 and NEARLY_ALL <= met <= 1:
            return replace(found, spend=share)
        inverse *= STRIDE if met < min(1.0, STALLED * before) or not met else AIM / met
        before = met
        if not inverse > 1:
            break
    return own
