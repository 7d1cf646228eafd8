"""Plans as plain JSON types: design once, and let every server read the same plan to the last bit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.start import Start
from errorfloor.dynamics.system import LinearSystem
from errorfloor.errors import InputError
from errorfloor.noise import Certificate, from_dict
from errorfloor.noise.lattice import Lattice


def plan_to_dict(plan: Plan) -> dict[str, Any]:
    """Give a plan as plain JSON types.

    >>> plan = LinearSystem([[1.0]], [[1.0]], 2).protect(max_loss=3.0)
    >>> plan_from_dict(plan_to_dict(plan)).covariance
    array([[1.]])
    """
    system, certificate = plan.system, plan.certificate
    return {
        "type": "Plan",
        "system": {
            "A": system.A.tolist(),
            "C": system.C.tolist(),
            "horizon": system.horizon,
            "states": list(system.states),
        },
        "noise": plan.noise.to_dict(),
        "embedding": plan.start.embedding.tolist(),
        "weights": _rows(plan.start.weights),
        "free": _rows(plan.knowledge.free),
        "unseen": _rows(plan.knowledge.unseen),
        "released_exactly": _rows(plan.released_exactly),
        "certificate": certificate.to_dict(),
        "weight_roots": None if plan.weight_roots is None else plan.weight_roots.tolist(),
        "offset": None if plan.offset is None else plan.offset.tolist(),
        "step": None if plan.lattice is None else plan.lattice.step,
    }


def plan_from_dict(plain: Mapping[str, Any]) -> Plan:
    """Give a plan back from what ``plan_to_dict`` gave: the same draws, to the last bit.

    >>> plan_from_dict({"type": "Blob"})
    Traceback (most recent call last):
    errorfloor.errors.InputError: a plan is wanted, as plan_to_dict gives it
    """
    if not isinstance(plain, Mapping) or plain.get("type") != "Plan":
        raise InputError("a plan is wanted, as plan_to_dict gives it")
    try:
        given = plain["system"]
        system = LinearSystem(given["A"], given["C"], given["horizon"], states=given["states"])
        start = Start(from_dict(plain["noise"]), _array(plain["embedding"]), _from_rows(plain["weights"]))
        certificate = {name: value for name, value in plain["certificate"].items() if name != "type"}
        return Plan(
            system=system,
            start=start,
            knowledge=Knowledge(start.weights, _from_rows(plain["free"]), _from_rows(plain["unseen"])),
            certificate=Certificate(**certificate),
            weight_roots=None if plain["weight_roots"] is None else _array(plain["weight_roots"]),
            offset=None if plain["offset"] is None else _array(plain["offset"]),
            lattice=None if plain["step"] is None else Lattice(plain["step"]),
            released_exactly=_from_rows(plain["released_exactly"]),
        )
    except (KeyError, TypeError, IndexError) as problem:
        raise InputError(f"this plan is damaged: {problem}") from None


def _rows(array: Array) -> dict[str, Any]:
    """Keep the shape too: a basis of nothing has columns to lose."""
    return {"shape": list(array.shape), "values": array.reshape(-1).tolist()}


def _from_rows(plain: Mapping[str, Any]) -> Array:
    return _array(plain["values"]).reshape(plain["shape"])


def _array(plain: Any) -> Array:
    return np.asarray(plain, dtype=float)
