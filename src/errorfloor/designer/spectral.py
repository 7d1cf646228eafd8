"""Ground states on products of intervals, half-lines and lines: exponentially accurate, with a proved lower bound."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.ground_state import GroundState, Progress
from errorfloor.designer.lower_bound import Domain, on_the_box, on_the_line
from errorfloor.designer.one_axis import OUT_OF_RANGE, Line
from errorfloor.designer.potential import Curve, Potential, least_on_box
from errorfloor.designer.tensor import Tensor, widened
from errorfloor.errors import ConvergenceError
from errorfloor.noise import LinearImage, Loss, Noise, Spectral
from errorfloor.noise.spectral_axis import Axis
from errorfloor.support import Support, product_of

Form = tuple[Array, tuple[Support, ...]]
DEGREES = {2: (16, 24, 36, 54, 80, 120, 160), 3: (10, 14, 20, 28, 36), 4: (6, 8, 11, 14, 18)}
MOST_UNKNOWNS = 150_000
ROUGH = 1e-2  # with a tolerance this large the first degree will do
DECAYS = {
    2: 18.0,
    3: 13.0,
    4: 10.0,
}  # the value is off by the square of exp(−decay), which polynomials can then resolve
SEEN = 1e-3  # of the mean density: what may be left near the open ends of windows that are only sought
UNSEEN = {2: 1e-12, 3: 1e-10, 4: 1e-7}  # and of those that are used
SEARCHES = 20  # of windows, each wider or narrower than the last
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
            raw = Potential.of(loss, inverse)
            for i in np.flatnonzero(~np.isfinite(high - low)).tolist():
                unit[i] = _natural_length(float(A[i, i]) / weight, raw, i)
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
            curves = []
            for i, curve in enumerate(potential.curves):
                lowered, value = curve.lowered(_line(domain, i).bottom())
                curves.append(lowered)
                offset += value
            domain = replace(domain, potential=replace(potential, curves=tuple(curves)))
        if potential.general is not None:
            lowered_general, offset = _lowered(potential.general, domain)
            domain = replace(domain, potential=replace(potential, general=lowered_general))
        return cls(N, sides, unit, energy, domain, offset)

    def noise(self, axes: tuple[Axis, ...], c: Array) -> Noise:
        """The noise with these coefficients, in the answers' own coordinates."""
        breaks = tuple(self._breaks(axis, i) for i, axis in enumerate(axes))
        ends = [(float(side.bounding_box[0][0]), float(side.bounding_box[1][0])) for side in self.sides]
        cut = any(b[0] > low or b[-1] < high for b, (low, high) in zip(breaks, ends, strict=True))
        region = product_of(self.sides) if cut else None
        noise: Noise = Spectral(breaks, tuple(axis.degree for axis in axes), c, region)
        return noise if np.array_equal(self.N, np.eye(len(axes))) else LinearImage(noise, np.linalg.inv(self.N))

    def _breaks(self, axis: Axis, i: int) -> Array:
        """Breaks in the answers' units; ends that are the support's own are given back to the last bit."""
        breaks = axis.breaks * self.unit[i]
        low, high = (float(end[0]) for end in self.sides[i].bounding_box)
        breaks[0] = low if axis.breaks[0] <= self.domain.low[i] else max(breaks[0], low)
        breaks[-1] = high if axis.breaks[-1] >= self.domain.high[i] else min(breaks[-1], high)
        return np.asarray(breaks)


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
) -> GroundState:
    """Give the noise of least J + ϱQ on a product of intervals, half-lines and lines, in at most four dimensions.

    ``form`` is the pair (N, sides): in the coordinates N w the support is the product of the sides. ``start`` keeps the
    discretisation of an earlier state, so that nearby weights are comparable to the last digit; without ``certify`` no
    lower bound is sought.

    >>> from errorfloor.support import Interval
    >>> state = ground_state((np.eye(1), (Interval(-1, 1),)), np.eye(1), Loss.parse("squared", 1), 2.0)
    >>> round(state.value, 6), bool(state.gap < 1e-10)
    (10.129808, True)
    """
    m = len(form[1])
    problem = Scaled.of(form, sensitivity, loss, loss_weight)
    kept = start.memory if start is not None and isinstance(start.memory, _Kept) else None
    axes, c = _on_line(problem, kept) if m == 1 else _on_box(problem, kept, tolerance, progress)
    noise = problem.noise(axes, c)
    value = float(np.trace(sensitivity @ noise.information))
    if loss is not None:
        value += loss_weight * noise.expected_loss(loss)
    lower, how = _bounded(problem, axes, c, progress) if certify else (None, "no lower bound was asked for")
    kind = "piecewise polynomials" if any(axis.pieces > 1 for axis in axes) else "polynomials"
    method = f"{kind} of degree {max(axis.degree for axis in axes)} on each axis; {how}"
    below = None if lower is None else (lower + problem.offset) * problem.energy
    if below is not None and loss is not None and loss.function is not None and below > value + 1e-12 * abs(value):
        below, method = None, f"{kind}; no lower bound: the rules do not resolve the given loss well enough"
    if below is not None and below > value + 1e-9 * abs(value):
        raise ConvergenceError(f"a lower bound {below:.12g} above the value {value:.12g}: rescale the data")
    below = None if below is None else float(min(below, value))
    return GroundState(noise, value, below, method, REFERENCE, _Kept(axes, c, problem.unit))


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


def _bounded(problem: Scaled, axes: tuple[Axis, ...], c: Array, progress: Progress | None) -> tuple[float | None, str]:
    if len(axes) == 1:
        found = on_the_line(_line(problem.domain, 0), axes[0], c)
        words = "flux of Lehmann and Goerisch above a count of zeros"
        return found, words if found is not None else "no lower bound is proved for this loss"
    return on_the_box(problem.domain, axes, c, progress)


def _line(domain: Domain, i: int, curve: Curve | None = None) -> Line:
    own = domain.potential.curves[i] if curve is None else curve
    return Line(float(domain.A[i, i]), own, float(domain.low[i]), float(domain.high[i]))


def _on_line(problem: Scaled, kept: _Kept | None) -> tuple[tuple[Axis, ...], Array]:
    line = _line(problem.domain, 0)
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
    if kept is not None:
        axes = kept.axes_in(problem)
        return axes, Tensor(axes, domain.A, domain.potential).ground_state(kept.c)[1]
    breaks = [_window(domain, i) for i in range(len(domain.A))]
    if domain.potential.general is None:
        return _refined(domain, breaks, tolerance, progress)[1:]
    # windows are guesses: every one gives an upper bound, so the least value says which serves its polynomials best
    best = _refined(domain, breaks, ROUGH, progress)
    for _ in range(SEARCHES):
        tried = _refined(domain, _narrowed_windows(*best[1:]), ROUGH, progress)
        if not tried[0] < best[0]:
            break
        best = tried
    best = _while_wider_is_better(domain, best, ROUGH, SEEN, progress)
    if tolerance < ROUGH:
        best = _refined(domain, [axis.breaks for axis in best[1]], tolerance, progress)
        best = _while_wider_is_better(domain, best, tolerance, UNSEEN[len(breaks)], progress)
    return best[1:]


State = tuple[float, tuple[Axis, ...], Array]  # a value in scaled energies, and the function that has it


def _while_wider_is_better(
    domain: Domain, best: State, tolerance: float, small: float, progress: Progress | None
) -> State:
    """Widen windows at whose open ends the density has not died out, until wider ones have no less a value.

    What is then left at the ends is due to polynomials that do not resolve the loss.
    """
    for _ in range(SEARCHES):
        wider = _widened_windows(domain, *best[1:], small)
        if wider is None:
            return best
        tried = _refined(domain, wider, tolerance, progress)
        if not tried[0] < best[0]:
            return best
        best = tried
    raise ConvergenceError("the density does not fit in any window: the loss grows too slowly towards infinity")


def _refined(domain: Domain, breaks: list[Array], tolerance: float, progress: Progress | None) -> State:
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
    return previous, axes, c


def _window(domain: Domain, i: int) -> Array:
    """Where the state lives along an axis, with its kinks."""
    potential = domain.potential
    curve = potential.curves[i]
    if potential.general is not None:
        return _guess(domain, i)
    if potential.weight is not None and potential.coupling.any():
        curve = Curve(square=1 / float(np.linalg.inv(potential.weight)[i, i]))
    line = _line(domain, i, curve)
    length, energy = line.scale()
    low, high = line.window(energy, length, DECAYS[len(domain.A)])
    return np.unique([low, high, *(x for x in curve.kinks if low < x < high)])


def _guess(domain: Domain, i: int) -> Array:
    """For a general loss: the whole side, or a window through its least place that is widened later if need be."""
    low, high = float(domain.low[i]), float(domain.high[i])
    if math.isfinite(low) and math.isfinite(high):
        return np.array([low, high])
    general = domain.potential.general
    base = np.where(np.isfinite(domain.low), domain.low, np.where(np.isfinite(domain.high), domain.high, 0.0))

    def along_axis(x: Array) -> Array:
        points = np.broadcast_to(base, (*x.shape, len(base))).copy()
        points[..., i] = x
        assert general is not None, "asked only of a general loss"
        return general(points)

    line = _line(domain, i, Curve(given=along_axis))
    length, energy = line.scale()
    return np.array(line.window(energy, length, DECAYS[len(domain.A)]))


def _widened_windows(domain: Domain, axes: tuple[Axis, ...], c: Array, small: float) -> list[Array] | None:
    """Windows half as wide again at open ends where the density has not died out; None where all have."""
    noise = Spectral(tuple(axis.breaks for axis in axes), tuple(axis.degree for axis in axes), c)
    breaks, changed = [axis.breaks for axis in axes], False
    for i, (axis, ends) in enumerate(zip(axes, domain.opens(axes), strict=True)):
        share = noise.marginal(i)
        width = float(axis.breaks[-1] - axis.breaks[0])
        for last in (False, True):
            if not ends[last]:
                continue
            end = float(axis.breaks[-1 if last else 0])
            near = axis.values(np.array([end + (-0.08 if last else 0.08) * width]))[0]
            if float(near @ share @ near) * width > small:
                moved = breaks[i].copy()
                moved[-1 if last else 0] = end + (0.5 if last else -0.5) * width
                moved[0], moved[-1] = max(moved[0], domain.low[i]), min(moved[-1], domain.high[i])
                breaks[i], changed = moved, True
    return breaks if changed else None


def _narrowed_windows(axes: tuple[Axis, ...], c: Array) -> list[Array]:
    """Windows whose ends are nearer to the density's mean by a third, also the support's own: it may be far wider."""
    noise = Spectral(tuple(axis.breaks for axis in axes), tuple(axis.degree for axis in axes), c)
    breaks = []
    for axis, mean in zip(axes, noise.mean.tolist(), strict=True):
        low, high = ((2 * float(axis.breaks[k]) + mean) / 3 for k in (0, -1))
        breaks.append(np.unique([low, high, *(x for x in axis.breaks[1:-1] if low < x < high)]))
    return breaks


def _lowered(general: Callable[[Array], Array], domain: Domain) -> tuple[Callable[[Array], Array], float]:
    """A general potential less what it is nowhere below on a bounded box, or about so, and what was taken off."""
    if np.isfinite(domain.low).all() and np.isfinite(domain.high).all():
        least = least_on_box(general, domain.low, domain.high)
        return lambda x: general(x) - least, least
    low = np.where(np.isfinite(domain.low), domain.low, np.where(np.isfinite(domain.high), domain.high, 0.0) - 3.0)
    high = np.where(np.isfinite(domain.high), domain.high, low + 6.0)
    axes = [np.linspace(a, b, 21) for a, b in zip(low, high, strict=True)]
    values = general(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1))
    off = float(values.min()) - 0.02 * float(np.median(values) - values.min())
    return lambda x: general(x) - off, off


def _natural_length(k: float, potential: Potential, i: int) -> float:
    """The length over which −k u″ + V u has its ground state along an axis, for units."""
    curve = potential.curves[i]
    if potential.general is not None:
        return 1.0
    if curve.given is None:
        return float((k / curve.square) ** 0.25 if curve.square else (k / curve.absolute) ** (1 / 3))
    return Line(k, curve, -math.inf, math.inf).scale()[0]
