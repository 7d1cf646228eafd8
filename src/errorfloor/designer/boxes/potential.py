"""The loss in the coordinates of a product of intervals: what it costs along each axis, and what couples the axes."""

from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise import Loss
from errorfloor.support.base import is_diagonal


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
    def none(cls, dimension: int) -> "Potential":
        """No loss at all."""
        return cls((Curve(),) * dimension, np.zeros((dimension, dimension)))

    @classmethod
    def of(cls, loss: Loss | None, inverse: Array) -> "Potential":
        """The loss ℓ(inverse·x) as a function of coordinates x.

        >>> Potential.of(Loss.parse("squared", 1), np.array([[2.0]])).curves[0](np.array([3.0]))
        array([36.])
        """
        m = len(inverse)
        if loss is None:
            return cls.none(m)
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
