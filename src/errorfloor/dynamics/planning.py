"""From a system and what is asked of its noise to a plan."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array, symmetric
from errorfloor.dynamics.bounded import BoundedWish, bounded_start
from errorfloor.dynamics.gramian import complement, observable_subspace
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.optimum import best_gaussian
from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.start import Start
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Certificate, Gaussian
from errorfloor.noise.lattice import Lattice

if TYPE_CHECKING:
    from errorfloor.dynamics.system import LinearSystem

FLAT = 1e-12  # an eigenvalue of M this small beside the largest protects nothing


def make_plan(
    system: "LinearSystem",
    *,
    loss_weight: float | None,
    max_loss: float | None,
    protect: Any,
    bound: Any,
    weights: Any,
    step: Any,
    method: str,
) -> Plan:
    """Check what is asked, find the part of the state that is both seen and protected, and design its noise."""
    if method not in ("best", "product"):
        raise InputError(f"method must be 'best' or 'product', got {method!r}")
    if loss_weight is not None and max_loss is not None:
        raise IllPosedError(
            f"both loss_weight {loss_weight} and max_loss {max_loss} are given: the weight decides the loss, so give "
            f"one of them"
        )
    lattice = None if step is None else Lattice(step)
    basis, sensitivity = protected_part(system, protect)
    roots = None if weights is None else system.weight_roots(weights)
    judged = system if roots is None else system.weighted(roots)
    if bound is not None:
        wish = BoundedWish(sensitivity, judged.gramian_root @ basis, loss_weight, max_loss, method)
        start, certificate, offset = bounded_start(system, basis, bound, lattice, wish)
    else:
        if weights is not None:
            _check_quality(system, judged)
        best = best_gaussian(judged.gramian_root @ basis, sensitivity, loss_weight=loss_weight, max_loss=max_loss)
        noise = Gaussian(np.eye(basis.shape[1]))
        start = Start(noise, basis @ best.factor, best.inverse @ basis.T)
        value = best.information if loss_weight is None else 2 * best.information
        certificate = Certificate(
            value=value,
            lower_bound=value,
            method="closed form: one Gaussian draw, carried along",
            reference="theorem 4, corrected",
            loss=best.loss,
            loss_weight=best.loss_weight,
        )
        offset = None
    return Plan(
        system=system,
        start=start,
        knowledge=Knowledge(start.weights, basis, system.never_at_risk),
        certificate=certificate,
        weight_roots=roots,
        offset=offset,
        lattice=lattice,
        released_exactly=complement(basis, within=system.observable),
    )


def protected_part(system: "LinearSystem", protect: Any) -> tuple[Array, Array]:
    """Give a basis of the directions that are seen and protected, and M in its coordinates, positive definite."""
    M, named = _weight_of(system, protect)
    seen = system.observable
    if not seen.shape[1]:
        raise InputError("no answer depends on the initial state (C vanishes): there is nothing to protect")
    for state in named:
        if np.linalg.norm(seen[state]) <= 1e-9:
            raise InputError(
                f"no answer depends on {system.state_name(state)}: it is never at risk, so there is nothing to "
                f"protect; leave it out of protect"
            )
    values, axes = np.linalg.eigh(seen.T @ M @ seen)
    live = values > FLAT * max(values[-1], float(np.linalg.norm(M)) * 1e-6)
    if not live.any():
        raise InputError("no answer depends on what protect names: it is never at risk, so there is nothing to protect")
    basis = seen if live.all() else complement(complement(seen @ axes[:, live], within=seen), within=seen)
    return basis, symmetric("protect", basis.T @ M @ basis)


def _weight_of(system: "LinearSystem", protect: Any) -> tuple[Array, list[int]]:
    n = system.dimension
    if protect is None:
        return np.eye(n), []
    if isinstance(protect, (str, int)) and not isinstance(protect, bool):
        protect = [protect]
    if isinstance(protect, Sequence) and protect and all(isinstance(one, (str, int)) for one in protect):
        chosen = [_state(system, one) for one in protect]
        return np.diag(np.isin(np.arange(n), chosen).astype(float)), chosen
    M = symmetric("protect", protect, n)
    if not M.any():
        raise InputError("protect is zero: nothing would be protected; leave protect out to protect all states")
    return M, []


def _state(system: "LinearSystem", given: Any) -> int:
    names = system.states
    if isinstance(given, str):
        if given not in names:
            known = ", ".join(names) if names else "none: give LinearSystem(…, states=…)"
            raise InputError(f"protect names {given!r}, which is no state; states are {known}")
        return names.index(given)
    if isinstance(given, bool) or not 0 <= given < system.dimension:
        raise InputError(f"protect must name states 0 … {system.dimension - 1}, got {given!r}")
    return int(given)


def _check_quality(system: "LinearSystem", judged: "LinearSystem") -> None:
    """Refuse weights that leave a direction without a price though some answer shows it."""
    if observable_subspace(judged.A, judged.C, judged.horizon).shape[1] < system.observable.shape[1]:
        raise IllPosedError(
            "weights are zero on every answer that depends on some direction of the initial state: noise of infinite "
            "variance is optimal along it; give those answers a weight"
        )
