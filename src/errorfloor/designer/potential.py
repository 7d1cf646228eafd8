"""The loss in the coordinates of a product of intervals: what it costs along each axis, and what couples the axes."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.corners import corners
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss
from errorfloor.noise.spectral_axis import gauss, legendre
from errorfloor.support import Ball, Ellipsoid, Support
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
            return _larger(factor, np.asarray(given(x)))

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
    """A convex function Σᵢ Vᵢ(xᵢ) + Σ_{i<j} 2 S_ij xᵢxⱼ, or a general one of all coordinates.

    ``curves`` are the Vᵢ, ``coupling`` is S with a zero diagonal, ``general`` stands for the whole where it is no such
    sum. ``weight`` R is kept where all is xᵀRx.
    """

    curves: tuple[Curve, ...]
    coupling: Array
    general: Callable[[Array], Array] | None = None
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
        if loss.is_absolute and is_diagonal_matrix(inverse):
            return cls(tuple(Curve(absolute=abs(float(a))) for a in np.diag(inverse)), np.zeros((m, m)))
        if m == 1:
            scale = float(inverse[0, 0])
            return cls((Curve(given=lambda x: np.asarray(loss((scale * x)[..., None]))),), np.zeros((1, 1)))

        def whole(x: Array) -> Array:
            return np.asarray(loss(x @ inverse.T))

        return cls((Curve(),) * m, np.zeros((m, m)), general=whole)

    def times(self, factor: float) -> "Potential":
        """Give the potential multiplied by a weight."""
        general, weight = self.general, self.weight
        return Potential(
            tuple(curve.times(factor) for curve in self.curves),
            factor * self.coupling,
            None if general is None else lambda x: _larger(factor, general(x)),
            None if weight is None else factor * weight,
        )

    @property
    def is_separable(self) -> bool:
        """Whether no term couples two axes."""
        return self.general is None and not self.coupling.any()

    @property
    def is_polynomial(self) -> bool:
        """Whether every Vᵢ is a quadratic polynomial between its kinks."""
        return self.general is None and all(curve.given is None for curve in self.curves)

    def least_on(self, axis: int, x: Array) -> Array:
        """A lower bound of the potential where coordinate ``axis`` is x, whatever the others are."""
        if self.general is not None:
            return np.zeros_like(x)
        if self.weight is not None and self.coupling.any():
            return np.asarray(x**2 / np.linalg.inv(self.weight)[axis, axis])
        return self.curves[axis](x)


def _larger(factor: float, values: Array) -> Array:
    with np.errstate(over="ignore"):  # far out a steep loss is larger than any double
        return factor * values


def is_diagonal_matrix(matrix: Array) -> bool:
    """Tell whether every entry off the diagonal is exactly zero."""
    return bool(np.array_equal(matrix, np.diag(np.diag(matrix))))


def check_convex(loss: Loss, support: Support) -> None:
    """Refuse a given loss that is infinite, or not convex, at points of the support.

    Points are drawn from a fixed sequence, so the same loss is always judged alike; a violation between them goes
    unseen, and costs optimality, never the stated information.
    """
    if loss.function is None:
        return
    generator = np.random.default_rng(20)
    low, high = support.bounding_box
    reach = 1.0 + float(np.abs(np.concatenate([low[np.isfinite(low)], high[np.isfinite(high)], [0.0]])).max())
    for size in (1.0, 10.0, 0.1):
        bottom = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0) - size * reach)
        top = np.where(np.isfinite(high), high, np.where(np.isfinite(low), low, 0.0) + size * reach)
        points = bottom + (top - bottom) * generator.random((4000, support.dimension))
        points = points[np.atleast_1d(support.contains(points[..., 0] if support.dimension == 1 else points))]
        points = np.concatenate([points, _extremes(support)])
        values = loss(points)
        if not np.isfinite(values).all():
            raise InputError(
                f"loss must be finite on the support, but is {values[~np.isfinite(values)][0]} at "
                f"{np.array2string(points[~np.isfinite(values)][0], precision=6)}"
            )
        half = len(points) // 2
        first, second = points[:half], points[half : 2 * half]
        middle = loss((first + second) / 2)
        excess = middle - (loss(first) + loss(second)) / 2
        scale = np.maximum(np.abs(loss(first)), np.abs(loss(second))) + 1e-300
        if (excess > 1e-9 * scale).any():
            k = int(np.argmax(excess / scale))
            raise InputError(
                f"loss must be convex, but half-way between {np.array2string(first[k], precision=4)} and "
                f"{np.array2string(second[k], precision=4)} it lies above the mean of its values there"
            )


def least_on_box(function: Callable[[Array], Array], low: Array, high: Array, cells: int = 20) -> float:
    """A number that a convex function is nowhere below on a box: on a cell around c it is at least 2f(c) − max f.

    >>> least_on_box(lambda x: np.abs(x - 0.3).sum(axis=-1), np.zeros(2), np.ones(2)) <= 0
    True
    """
    edges = [np.linspace(a, b, cells + 1) for a, b in zip(low, high, strict=True)]
    most = function(np.stack(np.meshgrid(*edges, indexing="ij"), axis=-1))
    for i in range(len(edges)):
        most = np.maximum(np.delete(most, -1, axis=i), np.delete(most, 0, axis=i))
    middles = [(edge[:-1] + edge[1:]) / 2 for edge in edges]
    return float((2 * function(np.stack(np.meshgrid(*middles, indexing="ij"), axis=-1)) - most).min())


def is_smooth(loss: Loss, support: Support) -> bool:
    """Tell whether polynomials of degree 24 resolve a loss along segments through the support, from a fixed sequence.

    >>> from errorfloor.support import Box
    >>> square = Box([-1, -1], [1, 1])
    >>> is_smooth(Loss(None, lambda w: np.exp(w).sum(axis=-1)), square)
    True
    >>> is_smooth(Loss(None, lambda w: np.abs(w).max(axis=-1)), square)
    False
    """
    generator = np.random.default_rng(21)
    low, high = (np.clip(end, -3.0, 3.0) if not support.is_bounded else end for end in support.bounding_box)
    points = low + (high - low) * generator.random((2000, support.dimension))
    points = points[np.atleast_1d(support.contains(points))]
    nodes, weights = gauss(25)
    ends = points[: 2 * (len(points) // 2)].reshape(2, -1, support.dimension)[:, :60]
    places = ends[0][:, None] + (ends[1] - ends[0])[:, None] * ((nodes + 1) / 2)[:, None]
    values = np.asarray(loss(places))
    coefficients = np.abs((values * weights) @ legendre(nodes, 24))
    return bool((coefficients[:, -3:].max(axis=1) <= 1e-7 * np.abs(values).max(axis=1)).all())


def _extremes(support: Support) -> Array:
    """Points of the boundary of a bounded support: where a loss is infinite, it often is so first."""
    if not support.is_bounded:
        return np.zeros((0, support.dimension))
    if isinstance(support, (Ball, Ellipsoid)):
        reach = np.linalg.cholesky(support.shape)
        return np.concatenate([support.middle + reach.T, support.middle - reach.T]) * (1 - 1e-15)
    return corners(support)


def check_coercive(loss: Loss, support: Support) -> None:
    """Refuse a given loss that does not grow along an unbounded support."""
    if loss.function is None or support.is_bounded:
        return
    low, high = support.bounding_box
    base = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high, 0.0))
    for i in range(support.dimension):
        for sign, end in ((-1.0, low[i]), (1.0, high[i])):
            far = base.copy()
            far[i] = base[i] + sign * 1e6
            inside = support.contains(float(far[0]) if support.dimension == 1 else far)
            if not np.isfinite(end) and inside and not loss(far) > loss(base):
                raise IllPosedError(
                    "loss does not grow towards infinity along the support: noise of infinite variance is optimal"
                )
