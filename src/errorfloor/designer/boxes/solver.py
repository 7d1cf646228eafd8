"""Ground states on products of intervals, half-lines and lines: exponentially accurate, with a proved lower bound."""

import math
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.boxes.line import OUT_OF_RANGE, Curve, Potential
from errorfloor.designer.boxes.lower_bound import Domain, SecondLevel, proved_bound
from errorfloor.designer.boxes.tensor import Tensor, widened
from errorfloor.designer.problem import NOT_ASKED, GroundState, Progress
from errorfloor.errors import ConvergenceError
from errorfloor.noise import LinearImage, Loss, Noise, Spectral
from errorfloor.noise.spectral_axis import Axis
from errorfloor.support import Support, product_of

Form = tuple[Array, tuple[Support, ...]]
# what is cut off changes the value by the square of exp(−decay); polynomials can then resolve what is left
DECAYS = {2: 18.0, 3: 13.0, 4: 10.0}
DEGREES = {2: (16, 24, 36, 54, 80, 120, 160), 3: (10, 14, 20, 28, 36), 4: (6, 8, 11, 14, 18)}
MOST_UNKNOWNS = 150_000
ROUGH = 1e-2  # with a tolerance this large the first degree will do
REFERENCE = "Rayleigh and Ritz; Lehmann and Goerisch"


@dataclass(frozen=True, eq=False)
class Scaled:
    """A problem in coordinates t of about unit size and energies of about one: x = unit·t, N w = x."""

    N: Array
    sides: tuple[Support, ...]
    unit: Array
    energy: float
    domain: Domain
    offset: float  # of the potential, in the scaled energy: it is left out of the domain

    @classmethod
    def of(cls, form: Form, sensitivity: Array, loss: Loss | None, weight: float) -> "Scaled":
        """Put a problem on a product of one-dimensional sets into its own units."""
        N, sides = form
        inverse = np.linalg.inv(N)
        A = 4 * (N @ sensitivity @ N.T)
        low, high = (np.array([float(side.bounding_box[k][0]) for side in sides]) for k in (0, 1))
        unit = np.where(np.isfinite(high - low), high - low, 1.0)
        if not np.isfinite(high - low).all():
            curves = Potential.of(loss, inverse).curves
            for i in np.flatnonzero(~np.isfinite(high - low)).tolist():  # the length over which the ground state lives
                k, curve = float(A[i, i]) / weight, curves[i]
                unit[i] = (k / curve.square) ** 0.25 if curve.square else (k / curve.absolute) ** (1 / 3)
        with np.errstate(over="ignore"):
            A, low_end, high_end = A / unit / unit[:, None], low / unit, high / unit
        energy = float(np.diag(A).max())
        ends = np.concatenate([low_end[np.isfinite(low)], high_end[np.isfinite(high)], [energy]])
        if not (np.isfinite(ends).all() and energy > 0):
            raise ConvergenceError(OUT_OF_RANGE)
        potential = Potential.of(loss, inverse * unit).times(weight / energy if loss is not None else 1.0)
        domain = Domain((A + A.T) / (2 * energy), potential, low_end, high_end)
        offset = 0.0
        if potential.is_separable and loss is not None:
            lowered = [curve.lowered(domain.line(i).bottom()) for i, curve in enumerate(potential.curves)]
            offset = sum(value for _, value in lowered)
            domain = replace(domain, potential=replace(potential, curves=tuple(moved for moved, _ in lowered)))
        return cls(N, sides, unit, energy, domain, offset)

    def noise(self, axes: tuple[Axis, ...], breaks: tuple[Array, ...], c: Array) -> Noise:
        """The noise with these coefficients, in the answers' own coordinates."""
        ends = [(float(side.bounding_box[0][0]), float(side.bounding_box[1][0])) for side in self.sides]
        cut = any(b[0] > low or b[-1] < high for b, (low, high) in zip(breaks, ends, strict=True))
        region = product_of(self.sides) if cut else None
        noise: Noise = Spectral(breaks, tuple(axis.degree for axis in axes), c, region)
        return noise if np.array_equal(self.N, np.eye(len(axes))) else LinearImage(noise, np.linalg.inv(self.N))

    def breaks(self, axis: Axis, i: int) -> Array:
        """Breaks in the answers' units; ends that are the support's own are given back to the last bit."""
        breaks = axis.breaks * self.unit[i]
        low, high = (float(end[0]) for end in self.sides[i].bounding_box)
        breaks[0] = low if axis.breaks[0] <= self.domain.low[i] else max(breaks[0], low)
        breaks[-1] = high if axis.breaks[-1] >= self.domain.high[i] else min(breaks[-1], high)
        return np.asarray(breaks)

    def windows(self) -> list[Array]:
        """Where the state lives along each axis, with its kinks."""
        potential, m = self.domain.potential, len(self.domain.A)
        found = []
        for i, own in enumerate(potential.curves):
            curve = own
            if potential.weight is not None and potential.coupling.any():
                curve = Curve(square=1 / float(np.linalg.inv(potential.weight)[i, i]))
            line = self.domain.line(i, curve)
            length, energy = line.scale()
            found.append(line.pieces(energy, length, DECAYS[m]))
        return found


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
    axes = None if kept is None else kept.axes_in(problem)
    if len(form[1]) == 1:
        axis, _, c = problem.domain.line(0).ground_state(*((axes[0].breaks, axes[0].degree) if axes else ()))
        axes = (axis,)
    elif kept is None or axes is None:
        axes, c = _refined(problem.domain, problem.windows(), tolerance, progress)
    else:
        c = Tensor(axes, problem.domain.A, problem.domain.potential).ground_state(kept.c)[1]
    breaks = tuple(problem.breaks(axis, i) for i, axis in enumerate(axes))
    noise = problem.noise(axes, breaks, c)
    value = float(np.trace(sensitivity @ noise.information))
    if loss is not None:
        value += loss_weight * noise.expected_loss(loss)
    kind = "piecewise polynomials" if any(axis.pieces > 1 for axis in axes) else "polynomials"
    method = f"{kind} of degree {max(axis.degree for axis in axes)} on each axis"
    memory = _Kept(axes, c, problem.unit, breaks)
    if not certify:
        return GroundState(noise, value, None, method, NOT_ASKED, REFERENCE, memory)
    if progress is not None:
        progress("lower bound", 0.0)

    def scaled(quotient: float) -> float:
        assert second is not None, "asked only where it is given"
        return second((quotient + problem.offset) * problem.energy) / problem.energy - problem.offset

    found, proof = proved_bound(problem.domain, axes, c, None if second is None else scaled)
    if found is not None and found + problem.offset <= 0:
        found, proof = None, "no lower bound: independent coordinates do not put the levels above zero"
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
    breaks: tuple[Array, ...]  # in the answers' units

    def axes_in(self, problem: Scaled) -> tuple[Axis, ...]:
        """The axes in another problem's units; ends that are the support's own stay so to the last bit."""
        if np.array_equal(problem.unit, self.unit):
            return self.axes
        scaled = zip(self.axes, self.breaks, problem.unit, strict=True)
        return tuple(Axis(breaks / unit, axis.degree) for axis, breaks, unit in scaled)


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
