"""From noises and Jacobians to a floor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from errorfloor.checks import Array, as_jacobian, symmetric, vector
from errorfloor.errors import InputError
from errorfloor.floors.bounds import Floor
from errorfloor.noise import Noise
from errorfloor.support import Box, Interval


def floor(
    noise: Noise | Sequence[Noise],
    jacobian: Any,
    *,
    ranges: Any = None,
    side_information: Any = None,
    spacing: Any = None,
    evaluation_error: Any = 0.0,
) -> Floor:
    """State what nobody can learn about the entries behind one answer, or several independent ones.

    The information about the entries is Σ_k F_kᵀ I_k F_k, I_k that of the k-th noise and F_k the k-th Jacobian.

    Guarantee: each bound of the result names its hypotheses; ``distinguish`` has none.

    Parameters
    ----------
    noise
        The noise added to the answer; a list of them for several independent answers.
    jacobian
        The m×n derivatives of the answer (a list of such matrices for several). For an answer that is not linear, one
        number at a time, give the supremum of each |∂f/∂xᵢ| over the declared ranges.
    ranges
        (low, high) for all entries, or one such pair an entry; needed by ``any_estimator`` and ``owner``.
    side_information
        n×n Fisher information that the adversary has from elsewhere.
    spacing
        Step between the values an entry can take, where they are not a continuum: one for all, or one an entry.
    evaluation_error
        Bound on the error in evaluating f, in the answer's units: one for all, or one an answer.

    Examples
    --------
    >>> from errorfloor.noise import RaisedCosine
    >>> mean_of_ten = floor(RaisedCosine(-0.5, 0.5), [0.1] * 10, ranges=(0, 50))
    >>> print(mean_of_ten.explain(unit="kWh", distance=1.0))
    Two values of an entry 1 kWh apart: whatever the test, and whatever is known of the other entries, the answers name
    the right one at most 65.5 times in 100 at even odds. Any estimator of an entry, biased or not, has a
    root-mean-square error of at least 1.56 kWh in the worst case over 0 … 50 kWh (values outside are clamped; 14.4 kWh
    would mean that the answers tell nothing). It is not the error against somebody who can already guess well. An
    unbiased estimator of a continuous entry, even one that knows every other entry, has a root-mean-square error of at
    least 1.59 kWh; biased ones are not bound by this number. The answers depend on 1 of 10 directions of the data: no
    unbiased estimator of all entries exists.
    """
    noises = [noise] if isinstance(noise, Noise) else list(noise)
    jacobians = [jacobian] if isinstance(noise, Noise) else list(jacobian)
    if not noises or not all(isinstance(item, Noise) for item in noises):
        raise InputError("noise must be a noise, or a list of noises with a Jacobian each")
    if len(noises) != len(jacobians):
        raise InputError(f"each noise needs a Jacobian, got {len(noises)} noises and {len(jacobians)} Jacobians")
    errors = np.broadcast_to(np.asarray(evaluation_error, dtype=float), (len(noises),))
    if not (np.isfinite(errors) & (errors >= 0)).all():
        raise InputError(f"evaluation_error must be finite and not negative, got {evaluation_error!r}")
    parts = [_one(*answer) for answer in zip(noises, jacobians, errors, strict=True)]
    total = combine(*parts)
    if side_information is not None:
        known = symmetric("side_information", side_information, total.entries)
        total = combine(total, Floor(_root(known), np.zeros(total.entries, dtype=bool)))
    low, high = _ranges(ranges, total.entries)
    return Floor(
        total.root,
        total.exposed,
        low,
        high,
        _spacing(spacing, low, high),
        total.evaluation,
        total.why_infinite,
    )


def combine(*floors: Floor) -> Floor:
    """Give the floor when all of these independent answers about the same entries have been seen.

    >>> from errorfloor.noise import Gaussian
    >>> one = floor(Gaussian(1.0), [[1.0]])
    >>> float(combine(one, one, one, one).worst_entry)
    0.5
    """
    if not floors:
        raise InputError("combine needs at least one floor")
    first = floors[0]
    if any(item.entries != first.entries for item in floors):
        raise InputError(f"floors must be about the same entries, got {[item.entries for item in floors]}")
    root = np.vstack([item.root for item in floors])
    if root.shape[0] > root.shape[1]:
        root = np.asarray(np.linalg.qr(root, mode="r"))  # the same GᵀG in no more rows than entries
    return Floor(
        root,
        np.logical_or.reduce([item.exposed for item in floors]),
        first.low,
        first.high,
        first.spacing,
        sum(item.evaluation for item in floors),
        next((item.why_infinite for item in floors if item.why_infinite), None),
    )


def _one(noise: Noise, jacobian: Any, error: float) -> Floor:
    F = as_jacobian(jacobian, noise.dimension)
    information = noise.information
    infinite = np.isinf(np.diag(information))
    finite = np.where(infinite[:, None] | infinite[None, :], 0.0, information)
    exposed = (F[infinite] != 0).any(axis=0)
    reason = noise.why_infinite if exposed.any() else None
    evaluation = error**2 * float(np.abs(information).sum()) if error > 0 else 0.0
    return Floor(_root(finite) @ F, exposed, evaluation=evaluation, why_infinite=reason)


def _root(information: Array) -> Array:
    """Give G with GᵀG equal to a positive semi-definite matrix."""
    if np.array_equal(information, np.diag(np.diag(information))):
        return np.sqrt(information)
    values, vectors = np.linalg.eigh(information)
    return np.asarray(np.sqrt(np.clip(values, 0, None))[:, None] * vectors.T)


def _ranges(ranges: Any, entries: int) -> tuple[Array | None, Array | None]:
    if ranges is None:
        return None, None
    if isinstance(ranges, (Interval, Box)):
        ranges = np.stack(ranges.bounding_box, axis=1)
    try:
        pairs = np.broadcast_to(np.asarray(ranges, dtype=float), (entries, 2))
    except (ValueError, TypeError):
        raise InputError(
            f"ranges must be one pair (low, high), or {entries} pairs, one an entry; got {ranges!r}"
        ) from None
    low, high = vector("ranges", pairs[:, 0]), vector("ranges", pairs[:, 1])
    if not (low < high).all():
        i = int(np.argmin(low < high))
        raise InputError(f"ranges need low < high, got ({float(low[i])}, {float(high[i])}) for entry {i}")
    return low, high


def _spacing(spacing: Any, low: Array | None, high: Array | None) -> Array | None:
    if spacing is None:
        return None
    if low is None or high is None:
        raise InputError("spacing needs ranges too: floor(…, ranges=(low, high), spacing=…)")
    try:
        steps = vector("spacing", np.broadcast_to(np.asarray(spacing, dtype=float), low.shape))
    except (ValueError, TypeError):
        raise InputError(f"spacing must be one number, or one for each of the {low.size} entries") from None
    if not ((steps > 0) & (steps <= high - low)).all():
        raise InputError(f"spacing must be positive and no wider than the range, got {spacing!r}")
    return steps
