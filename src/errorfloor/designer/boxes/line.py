"""One coordinate: its loss, where the ground state of −k u″ + V u lives, and polynomials that resolve it to rounding.

Polynomials of high order on few pieces, cut at kinks, converge exponentially; pieces are halved where the state is not
resolved. Where V grows large the state decays like
exp(−∫√((V − E)/k)); the window ends where that is below exp(−26) ≈ 5·10⁻¹², so that what is cut off changes the value
by less than rounding. The density on the window, zero at its ends, is the one that is sampled.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve, eigh

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError, IllPosedError
from errorfloor.noise import Loss
from errorfloor.noise.spectral_axis import Axis
from errorfloor.support.base import is_diagonal

DECAY = 26.0
RESOLVED = 1e-14  # relative size of the last coefficients of a resolved function
MOST_PIECES = 160
DEGREE = 20
OUT_OF_RANGE = "lengths or energies are too far apart for double precision: rescale the data"


@dataclass(frozen=True)
class Curve:
    """The convex function square·x² + absolute·|x| of one coordinate, less its value at ``place``.

    >>> Curve(square=2.0)(np.array([3.0]))
    array([18.])
    """

    square: float = 0.0
    absolute: float = 0.0
    place: float | None = None

    def __call__(self, x: Array) -> Array:
        """Evaluate it; differences from the value at the place keep their digits however far out that is."""
        p = 0.0 if self.place is None else self.place
        with np.errstate(over="ignore", invalid="ignore"):  # far out it is larger than any double
            far = self.absolute * np.where(p * x > 0, np.sign(p) * (x - p), np.abs(x) - abs(p))
            return np.asarray(self.square * (x - p) * (x + p) + (far if self.absolute else 0.0))

    def times(self, factor: float) -> "Curve":
        """Give the curve multiplied by a number."""
        return Curve(factor * self.square, factor * self.absolute, self.place)

    def lowered(self, place: float) -> tuple["Curve", float]:
        """Give the curve less its value at a place, and that value."""
        moved = replace(self, place=place)
        return moved, float(self(np.array([place]))[0])

    @property
    def kinks(self) -> tuple[float, ...]:
        """Where it is known not to be smooth."""
        return (0.0,) if self.absolute else ()


@dataclass(frozen=True)
class Potential:
    """A convex function Σᵢ Vᵢ(xᵢ) + Σ_{i<j} 2 S_ij xᵢxⱼ.

    ``curves`` are the Vᵢ, ``coupling`` is S with a zero diagonal. ``weight`` R is kept where all is xᵀRx.
    """

    curves: tuple[Curve, ...]
    coupling: Array
    weight: Array | None = None

    @classmethod
    def of(cls, loss: Loss | None, inverse: Array) -> "Potential":
        """The loss ℓ(inverse·x) as a function of coordinates x.

        >>> Potential.of(Loss.parse("squared", 1), np.array([[2.0]])).curves[0](np.array([3.0]))
        array([36.])
        """
        m = len(inverse)
        if loss is None:
            return cls((Curve(),) * m, np.zeros((m, m)))
        if loss.weight is not None:
            R = inverse.T @ loss.weight @ inverse
            R = (R + R.T) / 2
            curves = tuple(Curve(square=float(r)) for r in np.diag(R))
            off = np.zeros((m, m)) if is_diagonal(R) else R - np.diag(np.diag(R))
            return cls(curves, off, weight=R)
        return cls(tuple(Curve(absolute=abs(float(a))) for a in np.diag(inverse)), np.zeros((m, m)))

    def times(self, factor: float) -> "Potential":
        """Give the potential multiplied by a weight."""
        weight = None if self.weight is None else factor * self.weight
        return Potential(tuple(curve.times(factor) for curve in self.curves), factor * self.coupling, weight)

    @property
    def is_separable(self) -> bool:
        """Whether no term couples two axes."""
        return not self.coupling.any()

    def least_on(self, axis: int, x: Array) -> Array:
        """A lower bound of the potential where coordinate ``axis`` is x, whatever the others are."""
        if self.weight is not None and self.coupling.any():
            return np.asarray(x**2 / np.linalg.inv(self.weight)[axis, axis])
        return self.curves[axis](x)


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
        return min(max(0.0, self.low), self.high)

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

    def pieces(self, energy: float, length: float, decay: float = DECAY) -> Array:
        """Breaks: the window's ends, and kinks."""
        low, high = self.window(energy, length, decay)
        return np.unique([low, high, *(x for x in self.curve.kinks if low < x < high)])

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
            rough = local[:, -2:].max(axis=1) > RESOLVED * local.max()
            if not rough.any():
                return axis, value, c
            if axis.pieces > MOST_PIECES:
                break
            middle = (axis.breaks[:-1] + axis.breaks[1:]) / 2
            breaks = np.unique(np.concatenate([axis.breaks, middle[rough]]))
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
