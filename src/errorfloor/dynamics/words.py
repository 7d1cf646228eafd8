"""A plan in words: what is promised, under which model, and what is not."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.floors.words import rounded_down

if TYPE_CHECKING:
    from errorfloor.dynamics.plan import Plan


REVEALED = 1e-6  # of a floor: what is left is rounding


def explain(plan: "Plan", *, unit: str | Mapping[str, str], carried_alone: bool = True) -> str:
    """Put the sentences together; not ``carried_alone`` if answers have noise of their own besides the carried one."""
    units = _units(plan, unit)
    floors = [
        _stated(plan, units, i, float(value)) for i, value in enumerate(plan.floor.per_entry) if 0 < value < np.inf
    ]
    sentences = [
        f"One draw protects all {plan.system.horizon + 1} answers: however many of them are seen, an unbiased "
        f"estimator of the initial state, even one that knows its other entries, has a root-mean-square error of at "
        f"least {', '.join(floors)}; biased ones are not bound by these numbers."
        if floors
        else "No entry of the initial state has a floor of its own."
    ]
    if plan.released_exactly.shape[1]:
        sentences.append(f"Released exactly, for it is not protected: {_directions(plan, plan.released_exactly)}.")
    if plan.never_at_risk.shape[1]:
        sentences.append(f"Never at risk, for no answer depends on it: {_directions(plan, plan.never_at_risk)}.")
    sentences.append(
        "This holds for trajectories that obey the system. Inputs that drive it do no harm unless they depend on the "
        "initial state, as roads do: somebody with a map can match the path's shape."
    )
    if floors and carried_alone:
        sentences.append(_one_known_answer(plan, units))
    return " ".join(sentences)


def _one_known_answer(plan: "Plan", units: list[str]) -> str:
    """Say what is left to somebody who learns one answer after the first without its noise, at the worst step."""
    spread = plan.knowledge.spread
    answers = np.moveaxis(plan.system.carry(spread.T), 0, -1)[1:]
    before = np.linalg.norm(spread, axis=1)
    left = plan.knowledge.left_by(answers)
    worst, last = left.min(axis=0), left[-1]
    hidden = [i for i, value in enumerate(before) if value > 0]
    kept = [i for i in hidden if worst[i] > REVEALED * before[i]]
    if not kept:
        return f"One known {_word(plan)} reveals the noise of the whole trip."
    stated = [
        f"{_stated(plan, units, i, float(worst[i]))} ({rounded_down(float(last[i]))} if it is the last; without it "
        f"{rounded_down(float(before[i]))})"
        for i in kept
    ]
    lost = [plan.system.state_name(i) for i in hidden if i not in kept]
    gone = f"; {', '.join(lost)} may be revealed" if lost else ""
    return (
        f"One known {_word(plan)} after the first, at the step where it helps most, leaves somebody who knows no entry "
        f"of the initial state an error of at least {', '.join(stated)}{gone}."
    )


def _word(plan: "Plan") -> str:
    """Call an answer by the state that it measures, if it is one."""
    rows = [row for C in plan.system.C for row in C]
    places = {int(np.flatnonzero(row)[0]) for row in rows if np.count_nonzero(row) == 1}
    single = len(places) == 1 and all(np.count_nonzero(row) == 1 for row in rows)
    return plan.system.state_name(places.pop()) if single and plan.system.states else "answer"


def _units(plan: "Plan", unit: str | Mapping[str, str]) -> list[str]:
    names = [plan.system.state_name(i) for i in range(plan.system.dimension)]
    if isinstance(unit, str):
        if unit and len(names) > 1:
            example = ", ".join(f"{name!r}: …" for name in names)
            raise InputError(
                f"unit {unit!r} cannot be that of all {len(names)} states: give each its own, {{{example}}}"
            )
        return [unit] * len(names)
    for name in unit:
        if name not in names:
            raise InputError(f"{name!r} is not a state of the system; its states are {', '.join(names)}")
    return [unit.get(name, "") for name in names]


def _stated(plan: "Plan", units: list[str], place: int, value: float) -> str:
    return f"{plan.system.state_name(place)} {rounded_down(value)}{' ' if units[place] else ''}{units[place]}"


def _directions(plan: "Plan", basis: Array) -> str:
    axes = [i for i in range(len(basis)) if np.isclose(np.linalg.norm(basis[i]), 1)]
    if len(axes) == basis.shape[1]:
        return ", ".join(plan.system.state_name(i) for i in axes)
    shown = [
        " + ".join(f"{value:.3g}·{plan.system.state_name(i)}" for i, value in enumerate(column) if abs(value) > 1e-9)
        for column in basis.T
    ]
    return "; ".join(shown)
