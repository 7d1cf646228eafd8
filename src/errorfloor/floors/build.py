"""From noises and Jacobians to a floor."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from errorfloor.checks import Array, as_jacobian, broadcast, numbers, positive, symmetric, vector
from errorfloor.errors import InputError
from errorfloor.floors.adversary import counted_apart
from errorfloor.floors.bounds import Floor
from errorfloor.floors.privacy_loss import Shifted, shifted
from errorfloor.noise import Gaussian, Noise
from errorfloor.noise.information import matrix_root
from errorfloor.support import Box, Interval


@runtime_checkable
class Answering(Protocol):
    """What knows its own floor by the largest information that an answer of it has: a policy."""

    @property
    def largest_information(self) -> float:
        """The supremum of the information over all true values."""

    def floor(self, jacobian: Any, **options: Any) -> Floor:
        """The floor for one Jacobian."""


def floor(
    noise: Noise | Answering | Sequence[Noise | Answering],
    jacobian: Any = None,
    *,
    ranges: Any = None,
    side_information: Any = None,
    spacing: Any = None,
    evaluation_error: Any = 0.0,
    linear: bool = True,
) -> Floor:
    """State what nobody can learn about the entries behind one answer, or several independent ones.

    The information about the entries is Σ_k F_kᵀ I_k F_k, I_k that of the k-th noise and F_k the k-th Jacobian.

    Guarantee: each bound of the result names its hypotheses; ``distinguish`` has none.

    Parameters
    ----------
    noise
        The noise added to the answer, or the policy that gives it; a list of them for several independent answers.
    jacobian
        The m×n derivatives of the answer, or of the value that a policy answers (a list of such matrices for several).
        A single policy without one is about the value itself.
    ranges
        (low, high) for all entries, or one such pair an entry; needed by ``any_estimator`` and ``owner``.
    side_information
        n×n Fisher information that the adversary has from elsewhere, everywhere on the ranges.
    spacing
        Step between the values an entry can take, from the low end of its range: one for all, or one per entry, 0 for
        a continuum.
    evaluation_error
        Bound on the error in evaluating f, in the answer's units: one for all, or one an answer.
    linear
        False if ``jacobian`` holds suprema of |∂f/∂xᵢ| over the declared ranges, as it must for an answer that is not
        linear; the coordinates of a noise must then be uncorrelated.

    Examples
    --------
    >>> from errorfloor.noise import RaisedCosine
    >>> mean_of_ten = floor(RaisedCosine(-0.5, 0.5), [0.1] * 10, ranges=(0, 50))
    >>> print(mean_of_ten.explain(unit="kWh", distance=1.0))
    Two values of an entry 1 kWh apart: whatever the test, and whatever is known about the other entries, the answers
    name the right one at most 62.8 times in 100 at even odds. Any estimator of an entry, biased or not, has a
    root-mean-square error of at least 1.56 kWh in the worst case over 0 … 50 kWh (values lie there or are clamped; 14.4
    kWh would mean that the answers tell nothing). It is not the error against somebody who can already guess well. An
    unbiased estimator of a continuous entry, even one that knows every other entry, has a root-mean-square error of at
    least 1.59 kWh; biased ones are not bound by this number. The answers depend on 1 of 10 directions of the data: no
    unbiased estimator of all entries exists.
    """
    if jacobian is None and isinstance(noise, Answering):
        jacobian = 1.0
    noises, jacobians = ([noise], [jacobian]) if isinstance(noise, (Noise, Answering)) else (noise, jacobian)
    known = isinstance(noises, (list, tuple)) and all(isinstance(item, (Noise, Answering)) for item in noises)
    if not known or not noises:
        raise InputError(
            "noise must be a noise or a policy, or a list of them with a Jacobian each; a table for counts has its "
            "own floor()"
        )
    if jacobian is None:
        raise InputError("jacobian is missing: give the derivatives of the answer, 1.0 if it is the entry itself")
    if not isinstance(jacobians, (list, tuple)) or len(noises) != len(jacobians):
        given = len(jacobians) if isinstance(jacobians, (list, tuple)) else 1
        raise InputError(f"each noise needs a Jacobian, got {len(noises)} noises and {given} Jacobians")
    errors = broadcast("evaluation_error", evaluation_error, len(noises))
    if (errors < 0).any():
        raise InputError(f"evaluation_error must be finite and not negative, got {evaluation_error!r}")
    total = combine(*(_one(*answer, linear) for answer in zip(noises, jacobians, errors, strict=True)))
    low, high = parsed_ranges(ranges, total.entries)
    if side_information is not None:
        total = replace(total, known=matrix_root(symmetric("side_information", side_information, total.entries)))
    return replace(total, low=low, high=high, spacing=_spacing(spacing, low, high))


def floor_of_any_noise(information: float, jacobian: Any, **options: Any) -> Floor:
    """State the same of an answer of which only the largest information is known, whatever its law.

    ``jacobian`` and ``options`` are those of ``floor``.

    >>> round(float(floor_of_any_noise(1.0, 1.0).distinguish(1.0)), 4)
    0.7397
    >>> round(float(floor(Gaussian(1.0), 1.0).distinguish(1.0)), 4)
    0.6966
    """
    found = floor(Gaussian(1 / information), jacobian, **options)
    return replace(found, counted_apart=False, raised_cosine=None, answers=None)


def combine(*floors: Floor) -> Floor:
    """Give the floor when all of these independent answers about the same entries have been seen.

    All must declare the same ranges and spacing; side information is taken to be the same in all, and counted once.

    >>> from errorfloor.noise import Gaussian
    >>> one = floor(Gaussian(1.0), [[1.0]])
    >>> float(combine(one, one, one, one).worst_entry)
    0.5
    """
    if not floors or not all(isinstance(item, Floor) for item in floors):
        raise InputError("combine needs one or more floors")
    first = floors[0]
    if any(item.entries != first.entries for item in floors):
        raise InputError(f"floors must be about the same entries, got {[item.entries for item in floors]}")
    for name in ("low", "high", "spacing", "known"):
        if not all(_same(getattr(item, name), getattr(first, name)) for item in floors):
            what = {"low": "ranges", "high": "ranges", "known": "side information"}.get(name, name)
            raise InputError(f"floors must declare the same {what} for the same entries")
    root = np.vstack([item.root for item in floors])
    told: list[tuple[Shifted, ...]] = [item.answers for item in floors if item.answers is not None]
    linear = all(item.linear for item in floors)
    if linear and root.shape[0] > root.shape[1]:
        root = np.asarray(np.linalg.qr(root, mode="r"))  # the same GᵀG in no more rows than entries
    return replace(
        first,
        root=root,
        exposed=np.logical_or.reduce([item.exposed for item in floors]),
        evaluation=sum(item.evaluation for item in floors),
        linear=linear,
        raised_cosine=sum((item.counted[0] for item in floors), np.zeros(first.entries)),
        counted_apart=all(item.counted_apart for item in floors),
        why_infinite=next((item.why_infinite for item in floors if item.why_infinite), None),
        answers=sum(told, ()) if len(told) == len(floors) else None,
    )


def _same(one: Array | None, other: Array | None) -> bool:
    return (one is None and other is None) or (one is not None and other is not None and np.array_equal(one, other))


def _one(noise: Noise | Answering, jacobian: Any, error: float, linear: bool) -> Floor:
    if not isinstance(noise, Noise):
        return noise.floor(jacobian, evaluation_error=error, linear=linear)
    F = as_jacobian(jacobian, noise.dimension)
    information = noise.information
    infinite = np.isinf(np.diag(information))
    if infinite.any():
        root = matrix_root(np.where(infinite[:, None] | infinite[None, :], 0.0, information))
    else:
        root = noise.information_root
    if not linear and not np.array_equal(root, np.diag(np.diag(root))):
        raise InputError("bounds on derivatives need noise with uncorrelated coordinates: state one answer at a time")
    exposed = (F[infinite] != 0).any(axis=0)
    return Floor(
        root=root @ (F if linear else np.abs(F)),
        exposed=exposed,
        known=np.zeros((0, F.shape[1])),
        evaluation=error**2 * float(np.abs(information).sum()) if error > 0 else 0.0,
        linear=linear,
        why_infinite=noise.why_infinite if exposed.any() else None,
        counted_apart=counted_apart(noise),
        answers=shifted(noise, F, error),
    )


def parsed_ranges(ranges: Any, entries: int) -> tuple[Array | None, Array | None]:
    """Give the ends of every entry's range: one pair for all of them, or a pair for each; None without ranges."""
    if ranges is None:
        return None, None
    if isinstance(ranges, (Interval, Box)):
        ranges = np.stack(ranges.bounding_box, axis=1)
    given = numbers("ranges", ranges)
    if given.shape not in ((2,), (entries, 2)):
        raise InputError(f"ranges must be one pair (low, high), or {entries} pairs, one per entry; got {ranges!r}")
    pairs = np.broadcast_to(given, (entries, 2))
    low, high = vector("ranges", pairs[:, 0]), vector("ranges", pairs[:, 1])
    if not (low < high).all():
        i = int(np.argmin(low < high))
        raise InputError(f"ranges need low < high, got ({float(low[i])}, {float(high[i])}) for entry {i}")
    positive("the width of a range", float((high - low).min()))
    return low, high


def _spacing(spacing: Any, low: Array | None, high: Array | None) -> Array | None:
    if spacing is None:
        return None
    if low is None or high is None:
        raise InputError("spacing needs ranges too: floor(…, ranges=(low, high), spacing=…)")
    steps = broadcast("spacing", spacing, low.size)
    if not ((steps >= 0) & (steps <= high - low)).all():
        raise InputError(f"spacing must be positive (0 for a continuum) and no wider than the range, got {spacing!r}")
    return steps
