"""A stream as a catalogue declares it: planned once, refused where a single trip would break a floor."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from errorfloor.catalogue import PrivateColumn, Trajectories, entry_promise
from errorfloor.catalogue.trajectories import LONGEST, mistakes_in_states
from errorfloor.dynamics import LinearSystem, Plan, Robust, plan_from_dict
from errorfloor.errors import CatalogueError, InputError
from errorfloor.floors.words import rounded_up
from errorfloor.identity import Key
from errorfloor.ledger import Ledger
from errorfloor.streams.stream import Stream

MOST_BYTES = 1 << 26  # of a plan's file


def declared_stream(
    name: str, declared: Trajectories, folder: Path, ledger: Ledger, keys: Sequence[Key], identity: str | None
) -> Stream:
    """Plan a stream; raises CatalogueError if that cannot be, or a trip would take more than an entity's allowance."""
    try:
        plan = _plan(declared, folder)
        noise = plan if declared.deviation is None else Robust(plan, np.asarray(declared.deviation))
        stream = Stream(
            noise,
            name=name,
            states=declared.private,
            keys=keys,
            ledger=ledger,
            step=_decimal(declared.step),
            identity=identity,
        )
        plan.check_carriable()
    except CatalogueError:
        raise
    except InputError as problem:
        raise CatalogueError(f"streams.{name}: {problem}", stream=name, **problem.fields) from None
    state, share = max(stream.share.items(), key=lambda pair: pair[1])
    if share > 1:
        raise CatalogueError(
            f"streams.{name}: one trip would reveal {rounded_up(share)} times what the floor declared for {state} "
            f"allows: give its noise that many times the variance (max_loss), or declare a smaller floor",
            stream=name,
            state=state,
            share=share,
        )
    return stream


def _plan(declared: Trajectories, folder: Path) -> Plan:
    if declared.plan is not None:
        return _plan_of_file(declared, folder / declared.plan)
    assert declared.A is not None and declared.C is not None and declared.horizon is not None
    system = LinearSystem(declared.A, declared.C, declared.horizon, states=declared.states)
    return system.protect(
        max_loss=declared.max_loss,
        loss_weight=declared.loss_weight,
        protect=list(declared.private),
        bound=declared.bound,
        step=_decimal(declared.step),
        method="best" if declared.bound is None else declared.method,
    )


def _plan_of_file(declared: Trajectories, path: Path) -> Plan:
    try:
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"{path} is larger than {MOST_BYTES >> 20} MB: is it a plan?")
        plan = plan_from_dict(json.loads(path.read_text(encoding="utf-8")))
    except OSError as problem:
        raise InputError(f"cannot read the plan {path}: {problem.strerror}") from None
    except InputError:
        raise
    except ValueError:
        raise InputError(f"{path} is not a plan, or is damaged: write json.dumps(plan_to_dict(plan)) into it") from None
    if plan.system.horizon > LONGEST:
        raise InputError(f"the plan's horizon is {plan.system.horizon}, and a served stream has at most {LONGEST}")
    found = list(mistakes_in_states(plan.system.states, tuple(declared.private), declared.public))
    if found:
        raise InputError("; ".join(f"{word} {text}" for word, text in found))
    return plan


def _decimal(step: float | None) -> str | None:
    return None if step is None else str(step)


def facts_of(name: str, stream: Stream) -> dict[str, Any]:
    """Give what is declared and promised of a stream as plain JSON types; nothing private is in it."""
    system, charges, shares = stream.plan.system, stream.charge, stream.share
    return {
        "name": name,
        "horizon": system.horizon,
        "outputs": system.outputs,
        "step": stream.lattice.size,
        "private": [
            {
                "name": state,
                "unit": column.unit,
                "range": [float(column.low), float(column.high)],
                "resolution": float(column.resolution),
                "floor": column.floor,
                "distance": column.example,
                "promised_in_100": float(entry_promise(column).times),
                "charge": [charges[state].information, charges[state].evaluation],
                "share": shares[state],
                "explain": _promise(state, column),
            }
            for state, column in stream.states.items()
        ],
        "public": [state for state in system.states if state not in stream.states],
        "trips": math.floor(1 / max(shares.values())),
        "explain": stream.explain(),
    }


def _promise(state: str, column: PrivateColumn) -> str:
    unit = f" {column.unit}" if column.unit else ""
    promised = entry_promise(column)
    return (
        f"Whatever is asked, nobody who sees all trips of an entity can tell which of two starts, whose {state} is "
        f"{column.example:g}{unit} apart, is the true one more than {promised.times} times in 100; any estimate of it "
        f"is off by at least {promised.least}{unit} (root mean square, worst case over {float(column.low):g} … "
        f"{float(column.high):g}{unit})"
    )
