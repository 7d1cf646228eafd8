"""One coordinate: where the ground state of −k u″ + V u lives, and polynomials that resolve it to rounding.

Polynomials of high order on few pieces converge exponentially; pieces are halved where the potential or the state is
not resolved, so a kink costs a few short pieces and no accuracy. Where V grows large the state decays like
exp(−∫√((V − E)/k)); the window ends where that is below exp(−26) ≈ 5·10⁻¹², so that what is cut off changes the value
by less than rounding. The density on the window, zero at its ends, is the one that is sampled.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from errorfloor.checks import Array
from errorfloor.designer.boxes.potential import Curve
from errorfloor.errors import ConvergenceError, IllPosedError
from errorfloor.noise.spectral_axis import Axis, gauss, legendre

DECAY = 26.0
OFF_CENTRE = math.sqrt(2) - 1  # where pieces are cut in the search for kinks
ENDS = 1e-2  # what an interpolant may be off by at the ends of a piece counts so much: rounding is larger there
RESOLVED = 1e-14  # relative size of the last coefficients of a resolved function
LOCATED = 1e-10  # of the window: how closely kinks are found
MOST_PIECES = 160
DEGREE = 20
OUT_OF_RANGE = "lengths or energies are too far apart for double precision: rescale the data"


@dataclass(frozen=True)
class Line:
    """The operator −k u″ + V u on (low, high), ends possibly infinite, zero at finite ends.

    >>> round(Line(1.0, Curve(), 0.0, 1.0).ground_state()[1] / math.pi**2, 12)
    1.0
    """

    k: float
    curve: Curve
    low: float
    high: float

    def bottom(self) -> float:
        """The place in the closed interval where V is least."""
        if self.curve.place is not None:
            return self.curve.place
        if self.curve.given is None:
            return min(max(0.0, self.low), self.high)
        return _least_place(self.curve, self.low, self.high)

    def scale(self) -> tuple[float, float]:
        """A length and an energy: those of the best raised cosine around the bottom, an upper bound of the ground."""
        place = self.bottom()
        reach = self._lengths(place)
        a, b = np.maximum(self.low, place - reach), np.minimum(self.high, place + reach)
        with np.errstate(over="ignore", divide="ignore"):
            energies = self.k * math.pi**2 / (b - a) ** 2 + np.maximum(self.curve(a), self.curve(b))
        best = int(np.argmin(np.where(np.isnan(energies) | (b <= a), math.inf, energies)))
        energy, length = float(energies[best]), float(b[best] - a[best])
        if not (math.isfinite(energy) and length > 0):
            raise ConvergenceError("the loss is too steep for double precision at every length: rescale the data")
        return length, energy

    def _lengths(self, place: float) -> Array:
        """Lengths to try, over as many orders of magnitude as double precision leaves sensible."""
        bounded = math.isfinite(self.low) and math.isfinite(self.high)
        across = (self.high - self.low) * np.geomspace(1e-12, 1.0, 241) if bounded else np.zeros(0)
        if self.curve.given is not None:
            return across if bounded else min(1.0 + abs(place), 1e290) * np.geomspace(1e-12, 1e12, 481)
        natural = [(self.k / a) ** p for a, p in ((self.curve.square, 0.25), (self.curve.absolute, 1 / 3)) if a > 0]
        if not natural:
            return across
        own = min(min(natural) + (0.0 if bounded else abs(place)), 1e290) * np.geomspace(1e-9, 1e9, 361)
        return np.concatenate([across, own[own < across[-1]]]) if bounded else own

    def window(self, energy: float, length: float, decay: float = DECAY) -> tuple[float, float]:
        """Ends inside (low, high) beyond which a state of at most that energy has decayed by exp(−decay)."""
        place = self.bottom()
        return self._edge(place, -1.0, energy, length, decay), self._edge(place, 1.0, energy, length, decay)

    def _edge(self, place: float, sign: float, energy: float, length: float, wanted: float) -> float:
        end = self.high if sign > 0 else self.low
        step, distance, decay = length / 32, 0.0, 0.0
        for _ in range(200_000):
            distance += step
            if sign * (place + sign * distance - end) >= 0:
                return end
            excess = float(self.curve(np.array([place + sign * distance]))[0]) - energy
            if excess > 0:
                decay += step * math.sqrt(excess / self.k)
            if decay >= wanted:
                return place + sign * distance
        raise IllPosedError("loss grows too slowly towards infinity for a best noise to be found: use a steeper one")

    def pieces(self, energy: float, length: float) -> Array:
        """Breaks: the window's ends, kinks, and halves of whatever does not resolve the potential."""
        low, high = self.window(energy, length)
        inner = [x for x in self.curve.kinks if low < x < high]
        if self.curve.given is None:
            return np.unique([low, high, *inner])
        inner = self._found_kinks(low, high, energy)
        breaks, shortest = np.unique([low, high, *inner]), 1e-4 * (high - low)
        while len(breaks) <= MOST_PIECES:
            a, b = breaks[:-1], breaks[1:]
            split = (b - a > shortest) & ~self._resolves(a, b, energy)
            if not split.any():
                break
            breaks = _halved(breaks, split)
        return breaks

    def _found_kinks(self, low: float, high: float, energy: float) -> list[float]:
        """Places where a given function is not smooth: what is left when pieces that are not resolved are cut.

        A kink that is missed by d costs the value about d².
        """
        a, b = np.array([low]), np.array([high])
        while a.size and 2 * a.size <= MOST_PIECES:
            rough = np.maximum(self._roughness(a, b, energy), self._bent_at_ends(a, b, energy)) > 10 * RESOLVED
            a, b = a[rough], b[rough]
            if not a.size:
                break
            if (b - a).max() < LOCATED * (high - low):
                found = (a + b) / 2
                apart = np.append(True, np.diff(found) > 4 * LOCATED * (high - low))
                return [float(k) for k in found[apart]]
            cut = a + OFF_CENTRE * (b - a)  # a kink in the very middle, as of even losses, would be lost between halves
            a, b = np.column_stack([a, cut]).reshape(-1), np.column_stack([cut, b]).reshape(-1)
        return []

    def _resolves(self, a: Array, b: Array, energy: float) -> Array:
        """Whether polynomials resolve the potential on each of some pieces."""
        # a long piece matters more: the error of an integral of V is what counts
        share = (b - a) / np.maximum(b - a, math.sqrt(self.k / energy))
        return np.asarray(self._roughness(a, b, energy) * share <= RESOLVED)

    def _at_nodes(self, a: Array, b: Array) -> Array:
        """The potential at the nodes of a Gauss rule on each of some pieces."""
        nodes, _ = gauss(DEGREE)
        x = a[:, None] + (b - a)[:, None] * ((nodes + 1) / 2)
        return self.curve(x.reshape(-1)).reshape(x.shape)

    def _roughness(self, a: Array, b: Array, energy: float) -> Array:
        """The size of the last coefficients of the potential on each of some pieces, beside its own."""
        values = self._at_nodes(a, b)
        last = np.abs(values @ _coefficients()[:, -3:]).max(axis=1)
        size = np.maximum(energy, np.abs(values).max(axis=1))
        return np.asarray(np.maximum(last - self.curve.grain, 0.0) / size)

    def _bent_at_ends(self, a: Array, b: Array, energy: float) -> Array:
        """How far an interpolant is from the potential at the ends: a kink before the first node is only seen there."""
        values = self._at_nodes(a, b)
        ends = self.curve(np.stack([a, b], axis=1).reshape(-1)).reshape(-1, 2)
        off = np.abs(values @ _towards_ends() - ends).max(axis=1)
        size = np.maximum(energy, np.abs(values).max(axis=1))
        return np.asarray(ENDS * np.maximum(np.where(np.isfinite(off), off, 0.0) - self.curve.grain, 0.0) / size)

    def ground_state(self, breaks: Array | None = None, degree: int = DEGREE) -> tuple[Axis, float, Array]:
        """Give a basis that resolves the ground state, its value, and its coefficients."""
        fixed = breaks is not None
        if breaks is None:
            length, energy = self.scale()
            breaks = self.pieces(energy, length)
        for _ in range(40):
            axis = Axis(np.asarray(breaks), degree)
            value, c = least_eigenpair(self.matrix(axis), axis.mass)
            if fixed:
                return axis, value, c
            local = np.abs(np.einsum("eks,s->ek", axis.embedding, c))
            rough = local[:, -2:].max(axis=1) > max(RESOLVED, self.curve.grain / abs(value)) * local.max()
            if not rough.any():
                return axis, value, c
            if axis.pieces > MOST_PIECES:
                break
            breaks = _halved(axis.breaks, rough)
        raise ConvergenceError(f"{len(axis.breaks) - 1} pieces do not resolve the density: use a smoother loss")

    def matrix(self, axis: Axis) -> Array:
        """k∫φ_a′φ_b′ + ∫Vφ_aφ_b."""
        matrix = self.k * axis.stiffness
        if self.curve != Curve():
            matrix = matrix + axis.weighted(self.curve)
        return np.asarray((matrix + matrix.T) / 2)


def least_eigenpair(A: Array, M: Array) -> tuple[float, Array]:
    """The least λ with A v = λ M v, to rounding relative to itself: the greatest 1/λ, refined by inverse steps.

    >>> least_eigenpair(np.diag([2.0, 8.0]), np.diag([1.0, 2.0]))
    (2.0, array([1., 0.]))
    """
    last = len(A) - 1
    try:
        _, vectors = eigh(M, A, subset_by_index=[last, last])
        v, factor = vectors[:, 0], cho_factor(A)
    except (np.linalg.LinAlgError, ValueError):
        raise ConvergenceError(OUT_OF_RANGE) from None
    for _ in range(2):
        v = cho_solve(factor, M @ v)
        size = math.sqrt(float(v @ M @ v))
        if not 0 < size < math.inf:
            raise ConvergenceError(OUT_OF_RANGE)
        v = v / size
    v = v * (1.0 if float(M.sum(axis=0) @ v) >= 0 else -1.0)
    return float(v @ A @ v) / float(v @ M @ v), v


@lru_cache(maxsize=1)
def _coefficients() -> Array:
    """From values at Gauss nodes to Legendre coefficients."""
    nodes, weights = gauss(DEGREE)
    return np.asarray(legendre(nodes, DEGREE - 1) * weights[:, None] * (2 * np.arange(DEGREE) + 1) / 2)


def _towards_ends() -> Array:
    """From values at Gauss nodes to those of their interpolant at both ends."""
    return np.asarray(_coefficients() @ np.stack([(-1.0) ** np.arange(DEGREE), np.ones(DEGREE)], axis=1))


def _halved(breaks: Array, chosen: Array) -> Array:
    middle = (breaks[:-1] + breaks[1:]) / 2
    return np.unique(np.concatenate([breaks, middle[chosen]]))


def _least_place(curve: Curve, low: float, high: float) -> float:
    """Where a convex function is least on a closed interval, by golden section."""
    a, b = low, high
    if not (math.isfinite(a) and math.isfinite(b)):
        start = a if math.isfinite(a) else b if math.isfinite(b) else 0.0
        grid = start + np.concatenate([-np.geomspace(1e-9, 1e9, 181)[::-1], [0.0], np.geomspace(1e-9, 1e9, 181)])
        grid = grid[(grid >= low) & (grid <= high)]
        values = curve(grid)
        k = int(np.argmin(np.where(np.isfinite(values), values, math.inf)))
        a, b = float(grid[max(k - 1, 0)]), float(grid[min(k + 1, len(grid) - 1)])
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(100):
        c, d = b - ratio * (b - a), a + ratio * (b - a)
        fc, fd = curve(np.array([c, d]))
        a, b = (a, d) if fc <= fd else (c, b)
    return (a + b) / 2
