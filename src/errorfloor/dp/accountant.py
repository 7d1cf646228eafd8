"""Many answers about the same record: composition through the privacy-loss distributions of dp-accounting.

Every answer becomes a privacy-loss distribution that dominates it, and the accountant convolves them. Why the
result is an upper bound: ``accountant.proof.md``.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, positive, whole
from errorfloor.dp.curve import delta_on, epsilon_on
from errorfloor.dp.hockey_stick import curve
from errorfloor.dp.shifts import Part, independent_parts, largest_loss, shift_rows
from errorfloor.errors import InputError, MissingExtraError, NoClosedFormError
from errorfloor.noise import BesselBall, Gaussian, Laplace, Noise

COARSEST = 1e-3  # step of the grid of losses, unless losses are so small that they need a finer one
PER_SCALE = 50  # grid points within the typical loss of the quietest answer
MOST_POINTS = 2**17  # of the grid of one answer
TAIL = 1e-12  # probability of losses beyond the grid, which are counted as infinite
ROUNDING, EACH = 1e-12, 1e-15  # what Fourier transforms may lose, and every answer on top; added to δ


@dataclass(frozen=True)
class Composition:
    """What a number of answers reveal together, as an upper bound.

    ``step`` is the spacing of the grid of losses. ``largest_loss`` is the sum of the answers' greatest losses,
    finite for Laplace noise only: from that ε on, δ is zero.

    >>> from errorfloor.noise import Laplace
    >>> compose((Laplace(8.0), 1.0, 4), (Laplace(4.0), 1.0, 1)).largest_loss
    0.75
    """

    step: float
    largest_loss: float
    _distribution: Any
    _rounding: float

    def delta(self, epsilon: Any) -> Any:
        """An upper bound on δ at ε ≥ 0, a number or an array; ε may be infinite.

        >>> from errorfloor.noise import Laplace
        >>> compose((Laplace(10.0), 1.0, 4)).delta([0.1, 0.4]).round(4)
        array([0.044, 0.   ])
        """
        return delta_on(lambda at: np.array([self._delta(float(e)) for e in at.flat]).reshape(at.shape), epsilon)

    def epsilon(self, delta: Any) -> float:
        """An upper bound on the smallest ε at δ: ``composition.delta(composition.epsilon(d)) <= d``.

        >>> from errorfloor.noise import Gaussian
        >>> round(compose((Gaussian(100.0), 1.0, 25)).epsilon(1e-5), 3)  # one answer of deviation 2
        1.993
        """
        return epsilon_on(self._delta, delta, self.largest_loss)

    def _delta(self, level: float) -> float:
        if self.largest_loss < math.inf and level >= self.largest_loss:
            return 0.0
        return min(float(self._distribution.get_delta_for_epsilon(level)) + self._rounding, 1.0)


def compose(*answers: tuple[Noise, Any, int], step: float | None = None) -> Composition:
    """Bound what answers reveal together about one record; each is (noise, sensitivity, count).

    ``sensitivity`` is what ``errorfloor.dp.delta`` takes, and ``count`` how many such answers are given, each
    with noise of its own. They may be chosen one after another, with the earlier answers in view.

    Guarantee: δ(ε) and ε(δ) of the result are upper bounds. Gaussian and Laplace answers go through
    dp-accounting's own constructors; any other one-dimensional noise, and every coordinate of product noise, is
    put in as its exact curve, joined by chords from above on a grid of losses with spacing ``step`` (chosen if
    None), with the probability of an infinite loss. Values of δ below 1e-12, and 1e-15 an answer, are not
    resolved.

    Raises MissingExtraError without dp-accounting, NoClosedFormError for noise in a ball.

    >>> from errorfloor.noise import RaisedCosine
    >>> week = compose((RaisedCosine(-0.5, 0.5), 0.01, 7))
    >>> round(week.delta(1.0), 6), round(week.epsilon(1e-3), 3)
    (0.000319, 0.552)
    """
    try:
        import dp_accounting.pld  # noqa: F401  # the functions below use it
    except ImportError:
        raise MissingExtraError("dp", "dp-accounting") from None

    if not answers:
        raise InputError("compose needs at least one answer (noise, sensitivity, count)")
    several = [_parse(answer) for answer in answers]
    parts = {part for rows, _ in several for row in rows for part in row}
    spacing = _step(parts) if step is None else positive("step", step)
    distributions = []
    for rows, count in several:
        one = _above_all(rows, spacing)
        distributions.append(one if count == 1 or _is_certain(one) else one.self_compose(count))
    largest = sum(count * max(largest_loss(row) for row in rows) for rows, count in several)
    rounding = ROUNDING + EACH * sum(count for _, count in several)
    return Composition(spacing, largest, _together(distributions), rounding)


def _parse(answer: Any) -> tuple[list[tuple[Part, ...]], int]:
    if not isinstance(answer, tuple) or len(answer) != 3:
        raise InputError(f"an answer must be a tuple (noise, sensitivity, count), got {answer!r}")
    noise, sensitivity, count = answer
    moving = [row for row in shift_rows(noise, sensitivity) if row.any()]
    rows = list(dict.fromkeys(independent_parts(noise, row) for row in moving))
    if any(isinstance(part.noise, BesselBall) for row in rows for part in row):
        raise NoClosedFormError(
            "noise in a ball cannot be composed: Gaussian noise, one-dimensional noise and products of it can"
        )
    return rows, whole("count", count)


def _step(parts: set[Part]) -> float:
    """A grid fine enough for the smallest losses, and not too long for the greatest."""
    typical = min(2.5 * float(curve(part, np.zeros(()))) for part in parts)
    reach = max(_reach(part) for part in parts)
    return max(min(COARSEST, typical / PER_SCALE), reach / MOST_POINTS)


def _reach(part: Part) -> float:
    """The loss beyond which nothing but ``TAIL`` and the infinite losses is left."""
    if isinstance(part.noise, Laplace):
        return part.shift
    if isinstance(part.noise, Gaussian):
        return part.shift * (part.shift / 2 + 10)
    ladder = np.arange(0.25, 80.0, 0.25)
    excess = _profile(part, ladder) - _profile(part, np.array([math.inf]))
    return float(ladder[min(int((excess > TAIL).sum()), ladder.size - 1)])


def _profile(part: Part, epsilon: Array) -> Array:
    """The larger of the curves of both directions of a shift."""
    return np.maximum(curve(part, epsilon), curve(part.reversed(), epsilon))


def _above(part: Part, step: float) -> Any:
    """A privacy-loss distribution that dominates a part shifted either way."""
    from dp_accounting.pld import privacy_loss_distribution as known

    if isinstance(part.noise, Gaussian):
        return known.from_gaussian_mechanism(1.0, sensitivity=part.shift, value_discretization_interval=step)
    if isinstance(part.noise, Laplace):
        return known.from_laplace_mechanism(1.0, sensitivity=part.shift, value_discretization_interval=step)
    return _by_chords(lambda grid: _profile(part, grid), _reach(part), step)


def _above_all(rows: list[tuple[Part, ...]], step: float) -> Any:
    """One that dominates every row: the envelope of their curves is again the curve of some pair of laws."""
    each = [_together([_above(part, step) for part in row]) for row in rows]
    if len(each) == 1:
        return each[0]
    reach = max(sum(_reach(part) for part in row) for row in rows)
    return _by_chords(lambda grid: np.max([one.get_delta_for_epsilon(grid) for one in each], axis=0), reach, step)


def _by_chords(profile: Callable[[Array], Array], reach: float, step: float) -> Any:
    """The distribution whose curve joins a profile's points on a grid; rounding is taken out of it upwards."""
    from dp_accounting.pld import pld_pmf, privacy_loss_distribution

    count = math.ceil(reach / step)
    deltas = np.maximum.accumulate(profile(step * np.arange(-count, count + 1))[::-1])[::-1]
    return privacy_loss_distribution.PrivacyLossDistribution(
        pld_pmf.create_pmf_pessimistic_connect_dots_fixed_gap(step, -count, count, np.clip(deltas, 0.0, 1.0))
    )


def _together(distributions: list[Any]) -> Any:
    lost = next((distribution for distribution in distributions if _is_certain(distribution)), None)
    if lost is not None:
        return lost
    total = distributions[0]
    for distribution in distributions[1:]:
        total = total.compose(distribution)
    return total


def _is_certain(distribution: Any) -> bool:
    """Whether the loss is infinite for certain; the accountant cannot convolve an empty grid, and need not."""
    return bool(distribution.get_delta_for_epsilon(math.inf) >= 1)
