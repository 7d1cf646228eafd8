"""Lower bounds of the ground state on a product of intervals: independent coordinates first, then what couples them.

On the line a count of zeros places the second eigenvalue, and a flux does the rest. In several dimensions the bound
for independent coordinates, a sum, is carried to the coupled problem in steps. The least eigenvalue is a concave
function of what couples the coordinates, so it lies above the chord from a point where a bound is known to the end
where A ceases to be positive; whenever the bound so carried over reaches within the gap λ₂ − λ₁ of the Rayleigh
quotient, the flux sharpens it to that quotient.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import eigh

from errorfloor.checks import Array
from errorfloor.designer.flux import Flux, bound, bound_by_gap
from errorfloor.designer.ground_state import Progress
from errorfloor.designer.one_axis import Line
from errorfloor.designer.potential import Potential
from errorfloor.designer.second_level import CLOSE, convex_gap, line_of, second_level
from errorfloor.designer.tensor import Tensor, widened
from errorfloor.errors import ConvergenceError
from errorfloor.noise.spectral_axis import Axis

ROUNDING = 1e-12  # relative: what the arithmetic of a bound may be off by, at degree 20; it grows with the cube
UNRESOLVED = 1e-9  # relative: what a kink of a given function may cost, inside the shortest piece that is cut
MOST_STEPS = 60
APART = 1e-3  # relative: by how much a second level is to lie above the quotient
TIGHT = 1e-6  # relative: a bound this near to the value is not worth another
LESS_CORRELATED = "comparison with less correlated answers"
COARSE = {2: (14, 24, 40, 60), 3: (8, 12, 18), 4: (6, 9, 13)}


@dataclass(frozen=True, eq=False)
class Domain:
    """The operator −div(A∇u) + V u on the box from ``low`` to ``high``, ends possibly infinite."""

    A: Array
    potential: Potential
    low: Array
    high: Array

    def opens(self, axes: tuple[Axis, ...]) -> tuple[tuple[bool, bool], ...]:
        """Which ends of the axes' windows lie inside the box."""
        ends = zip(axes, self.low, self.high, strict=True)
        return tuple((bool(axis.breaks[0] > low), bool(axis.breaks[-1] < high)) for axis, low, high in ends)

    def at(self, share: float) -> "Domain":
        """The same with what couples the axes multiplied by ``share``."""
        diagonal = np.diag(np.diag(self.A))
        potential = self.potential
        if potential.general is not None:
            potential = potential.times(share) if share > 0 else Potential.none(len(self.A))
        elif potential.weight is not None:
            own = np.diag(np.diag(potential.weight))
            weight = own + share * (potential.weight - own)
            potential = replace(potential, coupling=share * potential.coupling, weight=weight)
        return replace(self, A=diagonal + share * (self.A - diagonal), potential=potential)

    def last_share(self) -> tuple[float, float]:
        """The share at which A or V ceases to be positive, and a lower bound of the least eigenvalue there."""
        last = _positive_until(self.A)
        if self.potential.weight is not None and self.potential.coupling.any():
            last = min(last, _positive_until(self.potential.weight))
        if not math.isfinite(last):
            return last, 0.0
        values, vectors = np.linalg.eigh(self.at(last).A)
        width = self.high - self.low
        # A ⪰ κvvᵀ for each eigenpair: the least eigenvalue on the longest chord along v
        with np.errstate(divide="ignore"):
            chords = [float(np.min(width / np.abs(v))) for v in vectors.T]
        return last, max(max(0.0, float(k)) * math.pi**2 / chord**2 for k, chord in zip(values, chords, strict=True))


def on_the_line(line: Line, axis: Axis, c: Array) -> float | None:
    """A lower bound for one coordinate, from the state found there."""
    potential = Potential((line.curve,), np.zeros((1, 1)))
    domain = Domain(np.array([[line.k]]), potential, np.array([line.low]), np.array([line.high]))
    numbers = Flux((axis,), domain.A, potential, domain.opens((axis,))).quotients(c)
    if numbers is None:
        return None
    R, beta, shift = numbers
    # the two least levels are the two greatest inverse ones, which short pieces do not spoil
    inverse = eigh(axis.mass, line.matrix(axis), subset_by_index=[axis.size - 2, axis.size - 1], eigvals_only=True)
    level = second_level(line, float(axis.breaks[0]), float(axis.breaks[-1]), R - shift, 1 / float(inverse[0]))
    if level is None or (level + shift) * beta <= 1:
        return None
    pieces = np.diff(axis.breaks)
    kinked = line.curve.given is not None and pieces.min() < 1e-3 * pieces.sum()
    return _rounded_down(bound(R, beta, level + shift), R, axis.degree) - UNRESOLVED * R * kinked - shift


def on_the_box(
    domain: Domain, axes: tuple[Axis, ...], c: Array, progress: Progress | None = None
) -> tuple[float | None, str]:
    """A lower bound for coupled coordinates, from the state found on ``axes``, and the words for how it was found."""
    independent = _independent(domain)
    if independent is None:
        return None, "no lower bound is proved for this loss on an unbounded support"
    if progress is not None:
        progress("lower bound", 0.0)
    found: list[tuple[float, str]] = []
    compared = _levels_below(domain)
    if compared is not None:
        found.append((compared[0], LESS_CORRELATED))
        direct = _above_level(domain, axes, c, compared[1])
        if direct is not None:
            found.append((direct[0], "flux of Lehmann and Goerisch above the second level of independent coordinates"))
            if direct[0] >= (1 - TIGHT) * direct[1]:
                return found[-1]
    return max([*found, _in_steps(domain, axes, c, independent, progress)])


def _in_steps(
    domain: Domain, axes: tuple[Axis, ...], c: Array, independent: float, progress: Progress | None
) -> tuple[float, str]:
    """Carry the bound for independent coordinates over to the coupled ones."""
    current = independent
    last, floor = domain.last_share()
    reached, slope, part = 0.0, 0.0, 1.0

    def carried(share: float) -> float:
        return current + (share - reached) / (last - reached) * (floor - current)

    for step in range(MOST_STEPS):
        if progress is not None:
            progress("lower bound", reached)
        share = 1.0
        for _ in range(40):
            there = domain.at(share)
            gap = convex_gap(there.A, there.potential, there.low, there.high)
            if current + slope * (share - reached) - carried(share) <= 0.8 * gap:
                break
            share = reached + (share - reached) * 0.8
        if (1 - reached) / (share - reached) > 2 * (MOST_STEPS - step):
            break  # the gap is too narrow for this path to end
        if share < 1.0 or part < 1.0:
            share = reached + part * (share - reached)
        finest = share == 1.0
        sharpened = _sharpened(domain.at(share), carried(share), axes, c if finest else None)
        if sharpened is None:
            part *= 0.5
            if part < 0.1:
                break
            continue
        slope = min(0.0, (sharpened - current) / (share - reached))  # concave: it falls at least as fast from here on
        reached, current, part = share, sharpened, 1.0
        if finest:
            return current, f"flux of Lehmann and Goerisch, {step + 1} steps from independent coordinates"
    return max(carried(1.0), 0.0), LESS_CORRELATED


def _levels_below(domain: Domain) -> tuple[float, float] | None:
    """Lower bounds of the two least eigenvalues, from A ⪰ κ·diag A, for which they are sums over the axes.

    κ is the least eigenvalue of A in units in which its diagonal is one.
    """
    unit = np.sqrt(np.diag(domain.A))
    share = float(np.linalg.eigvalsh(domain.A / unit / unit[:, None])[0]) * (1 - 1e-9)
    if share <= 1e-6 or not domain.potential.is_separable:
        return None
    ground, above = 0.0, math.inf
    for i in range(len(domain.A)):
        line = line_of(share * domain.A, domain.potential, domain.low, domain.high, i)
        axis, value, c = line.ground_state()
        first = on_the_line(line, axis, c)
        inverse = eigh(axis.mass, line.matrix(axis), subset_by_index=[axis.size - 2, axis.size - 1], eigvals_only=True)
        ends = float(axis.breaks[0]), float(axis.breaks[-1])
        second = second_level(line, *ends, value, 1 / float(inverse[0]), CLOSE)
        if first is None or second is None:
            return None
        ground, above = ground + first, min(above, second - first)
    return ground, ground + above


def _above_level(domain: Domain, axes: tuple[Axis, ...], c: Array, level: float) -> tuple[float, float] | None:
    """The flux's bound and the quotient, where the second eigenvalue is at least ``level`` and that is high enough."""
    numbers = Flux(axes, domain.A, domain.potential, domain.opens(axes)).quotients(c)
    if numbers is None:
        return None
    R, beta, shift = numbers
    if level - (R - shift) <= APART * R or (level + shift) * beta <= 1:
        return None  # so near to the quotient rounding would be magnified
    return _rounded_down(bound(R, beta, level + shift), R, max(axis.degree for axis in axes)) - shift, R - shift


def _sharpened(domain: Domain, below: float, axes: tuple[Axis, ...], c: Array | None) -> float | None:
    """The flux's bound for this problem, on coarser axes if no state is given."""
    gap = convex_gap(domain.A, domain.potential, domain.low, domain.high)
    if gap <= 0:
        return None
    degrees = (axes[0].degree,) if c is not None else COARSE.get(len(axes), (6,))
    state, before = c, axes
    for degree in degrees:
        if c is None:
            narrow = tuple(Axis(axis.breaks, min(degree, axis.degree)) for axis in axes)
            start = None if state is None else widened(state, before, narrow)
            try:
                _, state = Tensor(narrow, domain.A, domain.potential).ground_state(start, tolerance=1e-7)
            except ConvergenceError:
                return None
            before = narrow
        assert state is not None, "either given or just computed"
        numbers = Flux(before, domain.A, domain.potential, domain.opens(before)).quotients(state)
        if numbers is None:
            return None
        R, beta, shift = numbers
        found = bound_by_gap(R, beta, gap, below + shift)
        if found is not None and (c is not None or R - found < 0.1 * gap):
            return max(_rounded_down(found, R, before[0].degree) - shift, below)
    return None


def _independent(domain: Domain) -> float | None:
    """The bound without coupling: a sum over the axes."""
    start = domain.at(0.0)
    total = 0.0
    for i in range(len(start.A)):
        line = line_of(start.A, start.potential, start.low, start.high, i)
        if not (math.isfinite(line.low) and math.isfinite(line.high)) and domain.potential.general is not None:
            return None
        axis, _, c = line.ground_state()
        found = on_the_line(line, axis, c)
        if found is None:
            return None
        total += found
    return total


def _positive_until(matrix: Array) -> float:
    """The greatest t for which diagonal + t·rest is positive semi-definite."""
    unit = np.sqrt(np.diag(matrix))
    correlation = matrix / unit / unit[:, None]
    least = float(np.linalg.eigvalsh(correlation - np.eye(len(matrix)))[0])
    return math.inf if least >= 0 else -1 / least


def _rounded_down(found: float, R: float, degree: int) -> float:
    return found - ROUNDING * max(1.0, 2 * (degree / 20) ** 3) * R
