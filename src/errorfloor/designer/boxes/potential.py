"""The loss in the coordinates of a product of intervals: what it costs along each axis, and what couples the axes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise import Loss
from errorfloor.support.base import is_diagonal


@dataclass(frozen=True)
class Curve:
    """The convex function square·x² + absolute·|x|, or a given one, of one coordinate, less its value at ``place``.

    >>> Curve(square=2.0)(np.array([3.0]))
    array([18.])
    """

    square: float = 0.0
    absolute: float = 0.0
    given: Callable[[Array], Array] | None = None
    place: float | None = None

    def __call__(self, x: Array) -> Array:
        """Evaluate it; differences from the value at the place keep their digits however far out that is."""
        with np.errstate(over="ignore", invalid="ignore"):  # far out it is larger than any double
            return self._evaluated(x)

    def _evaluated(self, x: Array) -> Array:
        p = 0.0 if self.place is None else self.place
        if self.given is not None:
            value = np.asarray(self.given(x))
            return value if self.place is None else value - self.given(np.array([p]))
        far = self.absolute * np.where(p * x > 0, np.sign(p) * (x - p), np.abs(x) - abs(p)) if self.absolute else 0.0
        return np.asarray(self.square * (x - p) * (x + p) + far)

    def times(self, factor: float) -> "Curve":
        """Give the curve multiplied by a number."""
        given = self.given

        def scaled(x: Array) -> Array:
            assert given is not None, "asked only of a given curve"
            with np.errstate(over="ignore"):  # far out a steep loss is larger than any double
                return factor * np.asarray(given(x))

        product = None if given is None else scaled
        return Curve(factor * self.square, factor * self.absolute, product, self.place)

    def lowered(self, place: float) -> tuple["Curve", float]:
        """Give the curve less its value at a place, and that value."""
        moved = replace(self, place=place)
        return moved, float(self(np.array([place]))[0])

    @property
    def grain(self) -> float:
        """What rounding may leave in differences from a given value at the place."""
        if self.given is None or self.place is None:
            return 0.0
        return 8 * float(np.finfo(float).eps) * abs(float(self.given(np.array([self.place]))[0]))

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
        if loss.is_absolute:
            return cls(tuple(Curve(absolute=abs(float(a))) for a in np.diag(inverse)), np.zeros((m, m)))
        scale = float(inverse[0, 0])
        return cls((Curve(given=lambda x: np.asarray(loss((scale * x)[..., None]))),), np.zeros((1, 1)))

    def times(self, factor: float) -> "Potential":
        """Give the potential multiplied by a weight."""
        weight = None if self.weight is None else factor * self.weight
        return Potential(tuple(curve.times(factor) for curve in self.curves), factor * self.coupling, weight)

    @property
    def is_separable(self) -> bool:
        """Whether no term couples two axes."""
        return not self.coupling.any()

    @property
    def is_polynomial(self) -> bool:
        """Whether every Vᵢ is a quadratic polynomial between its kinks."""
        return all(curve.given is None for curve in self.curves)

    def least_on(self, axis: int, x: Array) -> Array:
        """A lower bound of the potential where coordinate ``axis`` is x, whatever the others are."""
        if self.weight is not None and self.coupling.any():
            return np.asarray(x**2 / np.linalg.inv(self.weight)[axis, axis])
        return self.curves[axis](x)
