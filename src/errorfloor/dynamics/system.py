"""Linear systems, and from what is asked of their noise to a plan; and plans as plain JSON types.

Design once, and let every server read the same plan to the last bit.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from errorfloor.checks import Array, symmetric
from errorfloor.dynamics.bounded import BoundedWish, bounded_start
from errorfloor.dynamics.gramian import complement, observable_subspace
from errorfloor.dynamics.knowledge import Knowledge
from errorfloor.dynamics.optimum import best_gaussian
from errorfloor.dynamics.plan import Plan
from errorfloor.dynamics.state_space import Start, StateSpace
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Certificate, Gaussian, from_dict
from errorfloor.noise.lattice import Lattice

FLAT = 1e-12  # an eigenvalue of M this small beside the largest protects nothing


class LinearSystem(StateSpace):
    """The system x[k+1] = A_k x[k] with the outputs C_k x[k], k = 0 … T, T the ``horizon``; see ``StateSpace``.

    >>> vehicle = LinearSystem([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0]], 20, states=("position", "speed"))
    >>> plan = vehicle.protect(loss_weight=1.0)
    >>> round(plan.expected_loss, 6), round(plan.floor.total**2, 6)
    (56.083176, 0.44104)
    """

    def protect(
        self,
        *,
        loss_weight: float | None = None,
        max_loss: float | None = None,
        protect: Any = None,
        bound: Any = None,
        weights: Any = None,
        step: Any = None,
        method: str = "best",
    ) -> Plan:
        """Plan the noise that hides the initial state: one draw z, carried along as w[k] = C_k Φ_k z.

        Minimises Tr(M I) + ϱ E Σ_k |w[k]|² (Theorem 4, corrected), I the information of all answers about the initial
        state, or Tr(M I) subject to E Σ_k |w[k]|² ≤ ϑ, or Tr(M I) subject to a bound on every w[k].

        Parameters
        ----------
        loss_weight, max_loss
            ϱ or ϑ: one of them, unless ``bound`` is given.
        protect
            Which part of the initial state matters: the n×n matrix M, or names or numbers of states; all by default.
            What is not protected is released exactly.
        bound
            Bounds that no w[k] ever leaves: a number b for |w[k]| ≤ b in every coordinate; m of them; or a bounded
            support for every step, or T + 1 supports, one a step.
        weights
            Quality weights for the steps; see ``weight_roots``.
        step
            The step of the lattice on which answers will leave: a bound then holds after they are rounded.
        method
            With a bound: "best", or "product" for independent raised cosines along fixed axes, which cost more but
            are the same draws on every machine; streams need that.

        Raises
        ------
        InputError
            Shapes that do not match, a target that no answer depends on, a system that overflows.
        IllPosedError
            Neither quality nor bound is given, or quality does not count where an answer tells something.
        """
        if method not in ("best", "product"):
            raise InputError(f"method must be 'best' or 'product', got {method!r}")
        if loss_weight is not None and max_loss is not None:
            raise IllPosedError(
                f"both loss_weight {loss_weight} and max_loss {max_loss} are given: the weight decides the loss, so "
                f"give one of them"
            )
        lattice = None if step is None else Lattice(step)
        basis, sensitivity = protected_part(self, protect)
        roots = None if weights is None else self.weight_roots(weights)
        judged = self if roots is None else self.weighted(roots)
        if bound is not None:
            wish = BoundedWish(sensitivity, judged.gramian_root @ basis, loss_weight, max_loss, method)
            start, certificate, offset = bounded_start(self, basis, bound, lattice, wish)
        else:
            seen = observable_subspace(judged.A, judged.C, judged.horizon) if weights is not None else self.observable
            if seen.shape[1] < self.observable.shape[1]:
                raise IllPosedError(
                    "weights are zero on every answer that depends on some direction of the initial state: noise of "
                    "infinite variance is optimal along it; give those answers a weight"
                )
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
            system=self,
            start=start,
            knowledge=Knowledge(start.weights, basis, self.never_at_risk),
            certificate=certificate,
            weight_roots=roots,
            offset=offset,
            lattice=lattice,
            released_exactly=complement(basis, within=self.observable),
        )


def protected_part(system: StateSpace, protect: Any) -> tuple[Array, Array]:
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


def _weight_of(system: StateSpace, protect: Any) -> tuple[Array, list[int]]:
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


def _state(system: StateSpace, given: Any) -> int:
    names = system.states
    if isinstance(given, str):
        if given not in names:
            known = ", ".join(names) if names else "none: give LinearSystem(…, states=…)"
            raise InputError(f"protect names {given!r}, which is no state; states are {known}")
        return names.index(given)
    if isinstance(given, bool) or not 0 <= given < system.dimension:
        raise InputError(f"protect must name states 0 … {system.dimension - 1}, got {given!r}")
    return int(given)


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
