"""How exact each cell may be for a share of the allowance, or what is left of it; from public facts alone."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from errorfloor.accounts import share as part_of
from errorfloor.catalogue import Table
from errorfloor.checks import Array
from errorfloor.errors import InputError, RefusedError
from errorfloor.floors.tapered import OUTPUTS
from errorfloor.floors.words import rounded_up
from errorfloor.preparing.joint_noise import JointAdded, joint_noise
from errorfloor.preparing.noises import QuestionWish
from errorfloor.pricing import Bounds, Charge, Noised, charges
from errorfloor.pricing.bounding import largest_at
from errorfloor.pricing.interval import quiet
from errorfloor.sql.plan import Sum

if TYPE_CHECKING:
    from errorfloor.preparing.preparation import PlannedQuestion, Prepared

ATTEMPTS, STRIDE, STALLED = 16, 16.0, 1.01  # to meet a share with joint noise; steps where a bound changes nothing
NEARLY_ALL, AIM = 0.998, 0.9995  # of a share: what takes less of it could be nearer; and what is aimed at
LEAST_SHARE = 1e-6  # of the allowance: what every fresh output costs, unless ε is stated of all of them


def affordable(plan: "PlannedQuestion", share: float) -> dict[int, Array]:
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
def _alone(plan: "PlannedQuestion", index: int) -> Array:
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


def most_of(limit: Charge) -> float:
    """Give what answers with raised-cosine noise may spend, which is the noise that a share is turned into."""
    return limit.raised_cosine or limit.information


def least_share(table: Table) -> float:
    """Give the share of the allowance that every fresh output costs at least."""
    return 1 / OUTPUTS if table.owner is not None and table.owner.stated is not None else LEAST_SHARE


def at_least(charge: Charge, allowance: Charge, share: float) -> Charge:
    """Raise a charge to a share of the allowance."""
    kind = "raised_cosine" if charge.raised_cosine else "information"
    return charge.at_least(kind, share * allowance.amounts()[kind])


def evaluation_error(bounded: Bounds, index: int) -> float:
    """Give the largest evaluation error of an output over the groups."""
    output = bounded.outputs[index]
    return float(output.error[output.defined].max())


def joint_for(plan: "PlannedQuestion", index: int, wish: QuestionWish) -> JointAdded | None:
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


def taken_by(prepared: "Prepared") -> float:
    """Give the share of the scarcest allowance that a question takes."""
    shares = (part_of(charge, prepared.plan.allowances[a]) for a, charge in prepared.charges.items())
    return max(shares, default=0.0)


def jointly(own: "Prepared", share: float, attempt: Callable[[dict[str, float]], "Prepared"]) -> "Prepared":
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
