"""A plan in words: what is promised, under which model, and what is not."""

from typing import TYPE_CHECKING

import numpy as np

from errorfloor.checks import Array
from errorfloor.dynamics.planning import state_name
from errorfloor.floors.words import rounded_down

if TYPE_CHECKING:
    from errorfloor.dynamics.plan import Plan


def explain(plan: "Plan", *, unit: str) -> str:
    """Put the sentences together."""
    suffix = f" {unit}" if unit else ""
    floors = [
        f"{state_name(plan.system, i)} {rounded_down(float(value))}{suffix}"
        for i, value in enumerate(plan.floor.per_entry)
        if 0 < value < np.inf
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
        "initial state, as roads do: somebody with a map can match the path's shape, and one known position reveals "
        "the noise of the whole trip."
    )
    return " ".join(sentences)


def _directions(plan: "Plan", basis: Array) -> str:
    axes = [i for i in range(len(basis)) if np.isclose(np.linalg.norm(basis[i]), 1)]
    if len(axes) == basis.shape[1]:
        return ", ".join(state_name(plan.system, i) for i in axes)
    shown = [
        " + ".join(f"{value:.3g}·{state_name(plan.system, i)}" for i, value in enumerate(column) if abs(value) > 1e-9)
        for column in basis.T
    ]
    return "; ".join(shown)
