"""Ground states on products of intervals, half-lines and lines: exponentially accurate, with a proved lower bound."""

import math
from dataclasses import dataclass

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.boxes.lower_bound import Domain, SecondLevel, proved_bound
from errorfloor.designer.boxes.scaled import Form, Scaled
from errorfloor.designer.boxes.tensor import Tensor, widened
from errorfloor.designer.ground_state import NOT_ASKED, GroundState, Progress
from errorfloor.errors import ConvergenceError
from errorfloor.noise import Loss
from errorfloor.noise.spectral_axis import Axis

DEGREES = {2: (16, 24, 36, 54, 80, 120, 160), 3: (10, 14, 20, 28, 36), 4: (6, 8, 11, 14, 18)}
MOST_UNKNOWNS = 150_000
ROUGH = 1e-2  # with a tolerance this large the first degree will do
REFERENCE = "Rayleigh and Ritz; Lehmann and Goerisch"


def ground_state(
    form: Form,
    sensitivity: Array,
    loss: Loss | None,
    loss_weight: float,
    *,
    tolerance: float = 2e-8,
    progress: Progress | None = None,
    start: GroundState | None = None,
    certify: bool = True,
    second: SecondLevel | None = None,
) -> GroundState:
    """Give the noise of least J + ϱQ on a product of intervals, half-lines and lines, in at most four dimensions.

    ``form`` is the pair (N, sides): in the coordinates N w the support is the product of the sides. ``start`` keeps the
    discretisation of an earlier state, so that nearby weights are comparable to the last digit; without ``certify`` no
    lower bound is sought. ``second`` bounds the second eigenvalue where independent coordinates do not.

    >>> from errorfloor.support import Interval
    >>> state = ground_state((np.eye(1), (Interval(-1, 1),)), np.eye(1), Loss.parse("squared", 1), 2.0)
    >>> round(state.value, 6), bool(state.gap < 1e-10)
    (10.129808, True)
    """
    problem = Scaled.of(form, sensitivity, loss, loss_weight)
    kept = start.memory if start is not None and isinstance(start.memory, _Kept) else None
    axes, c = _on_line(problem, kept) if len(form[1]) == 1 else _on_box(problem, kept, tolerance, progress)
    noise = problem.noise(axes, c)
    value = float(np.trace(sensitivity @ noise.information))
    if loss is not None:
        value += loss_weight * noise.expected_loss(loss)
    kind = "piecewise polynomials" if any(axis.pieces > 1 for axis in axes) else "polynomials"
    method = f"{kind} of degree {max(axis.degree for axis in axes)} on each axis"
    memory = _Kept(axes, c, problem.unit)
    if not certify:
        return GroundState(noise, value, None, method, NOT_ASKED, REFERENCE, memory)
    if progress is not None:
        progress("lower bound", 0.0)

    def scaled(quotient: float) -> float:
        assert second is not None, "asked only where it is given"
        return second((quotient + problem.offset) * problem.energy) / problem.energy - problem.offset

    found, proof = proved_bound(problem.domain, axes, c, None if second is None else scaled)
    if found is None:
        return GroundState(noise, value, None, method, proof, REFERENCE, memory)
    below = (found + problem.offset) * problem.energy
    if below > value + 1e-9 * abs(value):
        raise ConvergenceError(f"a lower bound {below:.12g} above the value {value:.12g}: rescale the data")
    return GroundState(noise, value, float(min(below, value)), method, proof, REFERENCE, memory)


@dataclass(frozen=True, eq=False)
class _Kept:
    """What a later solve at a nearby weight starts from."""

    axes: tuple[Axis, ...]
    c: Array
    unit: Array

    def axes_in(self, problem: Scaled) -> tuple[Axis, ...]:
        """The axes in another problem's units; ends that are the support's own stay so to the last bit."""
        if np.array_equal(problem.unit, self.unit):
            return self.axes
        scaled = zip(self.axes, self.unit / problem.unit, problem.domain.low, problem.domain.high, strict=True)
        return tuple(Axis(_snapped(axis.breaks * factor, low, high), axis.degree) for axis, factor, low, high in scaled)


def _snapped(breaks: Array, low: float, high: float) -> Array:
    near = 1e-12 * (float(np.ptp(breaks)) + np.abs(breaks[[0, -1]]))
    ends = breaks.copy()
    ends[0] = low if abs(breaks[0] - low) <= near[0] else breaks[0]
    ends[-1] = high if abs(breaks[-1] - high) <= near[1] else breaks[-1]
    return ends


def _on_line(problem: Scaled, kept: _Kept | None) -> tuple[tuple[Axis, ...], Array]:
    line = problem.domain.line(0)
    if kept is None:
        axis, _, c = line.ground_state()
    else:
        (same,) = kept.axes_in(problem)
        axis, _, c = line.ground_state(same.breaks, same.degree)
    return (axis,), c


def _on_box(
    problem: Scaled, kept: _Kept | None, tolerance: float, progress: Progress | None
) -> tuple[tuple[Axis, ...], Array]:
    domain = problem.domain
    if kept is None:
        return _refined(domain, problem.windows(), tolerance, progress)
    axes = kept.axes_in(problem)
    return axes, Tensor(axes, domain.A, domain.potential).ground_state(kept.c)[1]


def _refined(
    domain: Domain, breaks: list[Array], tolerance: float, progress: Progress | None
) -> tuple[tuple[Axis, ...], Array]:
    """Raise the degree until the value settles, or the unknowns are too many."""
    previous, c = math.inf, np.zeros(())
    axes: tuple[Axis, ...] = ()
    degrees = DEGREES[len(breaks)] if tolerance < ROUGH else DEGREES[len(breaks)][:1]
    for count, degree in enumerate(degrees):
        finer = tuple(Axis(b, max(4, degree if len(b) == 2 else -(-2 * degree // 3))) for b in breaks)
        if axes and math.prod(axis.size for axis in finer) > MOST_UNKNOWNS:
            break
        if progress is not None:
            progress("eigen-solver", count / len(degrees))
        start = widened(c, axes, finer) if axes else None
        try:
            value, found = Tensor(finer, domain.A, domain.potential).ground_state(start)
        except ConvergenceError:
            if not axes:
                raise
            break  # what was reached before is a noise all the same; its certificate says how good it is
        axes, c, settled = finer, found, previous - value <= tolerance * value
        previous = value
        if settled:
            break
    return axes, c
