"""Several noises by every measure at once: what they cost, what they promise, what they reveal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.checks import positive
from errorfloor.dp.curve import delta
from errorfloor.dp.shannon import entropy_bits
from errorfloor.errors import InputError
from errorfloor.floors import floor
from errorfloor.noise import Noise


@dataclass(frozen=True)
class Compared:
    """One noise on the line, measured; lengths are in the units of the answer.

    ``bound`` is the farthest that it goes from zero and ``size`` its root mean square. ``unbiased`` is the floor
    1/√I under the error of an unbiased estimator and ``any_estimator`` that under any, in the worst case over the
    range; both are 0 where the information is infinite. Two values a ``distance`` apart are named rightly, at even
    odds, with probability at most ``promised`` by the floor and exactly ``told_apart`` by the best test of one
    answer. ``deltas`` are δ(ε) at the ``epsilons``, for a sensitivity of that distance, and ``entropy`` is in bits.

    >>> from errorfloor.noise import Uniform
    >>> one = compare({"uniform": Uniform(low=-1, high=1)}, distance=0.5, ranges=(0, 10), epsilons=[0.0, 1.0])[0]
    >>> one.unbiased, one.promised, one.told_apart, one.deltas, one.entropy
    (0.0, 1.0, 0.625, (0.25, 0.25), 1.0)
    """

    name: str
    bound: float
    size: float
    unbiased: float
    any_estimator: float
    promised: float
    told_apart: float
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    entropy: float


def compare(
    noises: Mapping[str, Noise], *, distance: Any, ranges: tuple[float, float], epsilons: Sequence[float]
) -> tuple[Compared, ...]:
    """Measure noises on the line side by side, each added to an answer that one entry moves one to one.

    ``distance`` is that between the two values to be told apart, and the sensitivity of the curve δ(ε); ``ranges``
    the declared range of the entry. Choose the noises of one mean square, or of one bound, or the comparison
    says nothing. Raises InputError for anything but noises on the line, NoClosedFormError for noises that are not
    known to be log-concave.

    >>> from errorfloor.noise import Gaussian, Laplace
    >>> both = compare(
    ...     {"Laplace": Laplace(0.5**0.5), "Gaussian": Gaussian(1.0)}, distance=0.5, ranges=(0, 10), epsilons=[0.5]
    ... )
    >>> [(one.name, round(one.size, 9), round(one.unbiased, 4), round(one.deltas[0], 4)) for one in both]
    [('Laplace', 1.0, 0.7071, 0.0984), ('Gaussian', 1.0, 1.0, 0.0524)]
    """
    if not isinstance(noises, Mapping) or not noises:
        raise InputError('noises must be a mapping from names to noises, such as {"Gaussian": Gaussian(1.0)}')
    gap = positive("distance", distance)
    return tuple(_measured(name, noise, gap, ranges, epsilons) for name, noise in noises.items())


def _measured(
    name: str, noise: Noise, distance: float, ranges: tuple[float, float], epsilons: Sequence[float]
) -> Compared:
    if not isinstance(noise, Noise) or noise.dimension != 1:
        raise InputError(f"noises are compared on the line; {name!r} is not a noise in one dimension")
    promise = floor(noise, [[1.0]], ranges=ranges)
    at_zero, *deltas = (float(value) for value in delta(noise, distance, [0.0, *epsilons]))
    return Compared(
        name,
        bound=max(abs(noise.knots[0]), abs(noise.knots[-1])),
        size=noise.unit,
        unbiased=float(promise.worst_entry),
        any_estimator=float(promise.any_estimator[0]),
        promised=float(promise.distinguish(distance)),
        told_apart=(1 + at_zero) / 2,
        epsilons=tuple(float(level) for level in epsilons),
        deltas=tuple(deltas),
        entropy=entropy_bits(noise),
    )
