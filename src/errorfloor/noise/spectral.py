"""Noise computed numerically on a product of intervals: the square of a tensor of conforming polynomials."""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from errorfloor.checks import Array, numbers, vector, whole
from errorfloor.errors import ConvergenceError, InputError
from errorfloor.noise.base import rejection
from errorfloor.noise.numerical import NumericalNoise, entropy_of, nonzero, support_of
from errorfloor.noise.sampling import Staircase
from errorfloor.noise.spectral_axis import Axis, along, gauss
from errorfloor.random import Bits
from errorfloor.support import Box, Interval, Support, product_of

MOST_NODES = 2e7
FINER = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)  # nodes of rules, in those of one
BATCH = 1 << 22  # numbers held at once while many points are evaluated


@dataclass(frozen=True, eq=False)
class Spectral(NumericalNoise):
    """Noise with density u²/∫u², u = Σ c_{ab…} φ_a(w₁)φ_b(w₂)…, φ the conforming polynomials between ``breaks``.

    ``coefficients`` has one axis a coordinate; ``degrees`` and ``breaks`` have one entry a coordinate. ``region`` is
    the set that the noise was designed for, if it is larger than the box between the outermost breaks.

    Guarantee: u is continuous and vanishes at the ends, so the information 4∫∇u∇uᵀ/∫u² is finite; it is computed for
    this very u by quadrature that is exact for polynomials, and u² itself is sampled.

    >>> parabola = Spectral(([0.0, 1.0],), (2,), [1.0])  # u ∝ w(1 − w): a little worse than the raised cosine
    >>> round(float(parabola.information[0, 0]), 12), round(float(parabola.pdf(0.5)), 12)
    (40.0, 1.875)
    """

    breaks: tuple[Array, ...]
    degrees: tuple[int, ...]
    coefficients: Array = field(repr=False)
    region: Support | None = None

    def __post_init__(self) -> None:
        breaks = tuple(vector("breaks", piece) for piece in self.breaks)
        degrees = tuple(whole("degree", degree, least=2) for degree in self.degrees)
        coefficients = np.ascontiguousarray(numbers("coefficients", self.coefficients))  # one order of summation
        if not breaks or len(breaks) != len(degrees) or coefficients.ndim != len(breaks):
            raise InputError("breaks, degrees and the axes of coefficients must be as many")
        if any(len(piece) < 2 or not (np.diff(piece) > 0).all() for piece in breaks):
            raise InputError("breaks must rise from one end of each coordinate to the other")
        self._set(breaks=breaks, degrees=degrees)
        wanted = tuple(axis.size for axis in self.axes)
        if coefficients.shape != wanted:
            raise InputError(f"coefficients must have the shape {wanted}, got {coefficients.shape}")
        self._set(coefficients=nonzero(coefficients))
        if self.region is not None:
            support_of(self.region)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The basis along each coordinate."""
        return tuple(Axis(b, n) for b, n in zip(self.breaks, self.degrees, strict=True))

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return len(self.breaks)

    @property
    def box(self) -> Box:
        """The box between the outermost breaks, beyond which the density is zero."""
        return Box([b[0] for b in self.breaks], [b[-1] for b in self.breaks])

    @cached_property
    def support(self) -> Support:
        """The set that the noise was designed for: the box, or the region that holds it."""
        sides = [Interval(float(b[0]), float(b[-1])) for b in self.breaks]
        return product_of(sides) if self.region is None else self.region

    @cached_property
    def _unit(self) -> Array:
        """The coefficients of u with ∫u² = 1."""
        return self.coefficients / math.sqrt(self._form(self.coefficients, {}))

    def _form(self, c: Array, matrices: dict[int, Array]) -> float:
        """Σ c c′ Π A_i over the axes, A_i the given matrix or the mass matrix."""
        image = c
        for i, axis in enumerate(self.axes):
            image = along(matrices.get(i, axis.mass), image, i)
        return float((c * image).sum())

    @cached_property
    def information(self) -> Array:
        """4∫∂ᵢu ∂ⱼu, exact but for rounding."""
        m, c = self.dimension, self._unit
        out = np.zeros((m, m))
        for i in range(m):
            out[i, i] = 4 * self._form(c, {i: self.axes[i].stiffness})
            for j in range(i):
                transport = {i: self.axes[i].transport.T, j: self.axes[j].transport}
                out[i, j] = out[j, i] = 4 * self._form(c, transport)
        return out

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        """Mean and covariance; both are computed about the box's centre, which keeps digits when it is far out."""
        m, c = self.dimension, self._unit
        centers = np.array([(b[0] + b[-1]) / 2 for b in self.breaks])
        first = [
            axis.weighted(lambda x, z=z: x - z)  # type: ignore[misc]
            for axis, z in zip(self.axes, centers, strict=True)
        ]
        mean = np.array([self._form(c, {i: first[i]}) for i in range(m)])
        second = np.zeros((m, m))
        for i in range(m):
            square = self.axes[i].weighted(lambda x, z=centers[i]: (x - z) ** 2)  # type: ignore[misc]
            second[i, i] = self._form(c, {i: square})
            for j in range(i):
                second[i, j] = second[j, i] = self._form(c, {i: first[i], j: first[j]})
        return np.asarray(centers + mean), np.asarray(second - np.outer(mean, mean))

    @cached_property
    def entropy(self) -> float:
        """By a Gauss rule on every piece; u² ln u² is smooth but at the ends."""
        previous, change = math.nan, math.inf
        for factor in FINER:  # until two rules agree to 1e-12, or as far as memory allows, then to 1e-8
            counts = [math.ceil(factor * (a.degree + 4)) for a in self.axes]
            if factor > 1 and math.prod(n * a.pieces for n, a in zip(counts, self.axes, strict=True)) > MOST_NODES:
                break
            values, weights = self._unit, np.ones(())
            for i, (axis, count) in enumerate(zip(self.axes, counts, strict=True)):
                _, w, basis = axis.rule_with(count)
                values = along(basis, values, i)
                weights = np.multiply.outer(weights, w)
            total = entropy_of(values**2, weights)
            previous, change = total, abs(total - previous) / (abs(total) or 1.0)
            if change <= 1e-12:
                break
        if not change <= 1e-8:
            raise ConvergenceError("the entropy of this noise was not found to a relative 1e-8: use samples")
        return previous

    @property
    def knots(self) -> tuple[float, ...]:
        """The breaks, in one dimension."""
        self._scalar_only("knots")
        return tuple(float(x) for x in self.breaks[0])

    def marginal(self, axis: int) -> "Array":
        """The matrix ϱ_ab with Σ ϱ_ab φ_a φ_b the density of one coordinate."""
        image = self._unit
        for j in range(self.dimension):
            if j != axis:
                image = along(self.axes[j].mass, image, j)
        others = [j for j in range(self.dimension) if j != axis]
        return np.asarray(np.tensordot(self._unit, image, (others, others)))

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        (moved,) = np.nonzero(direction)
        if moved.size == 0:
            return abs(offset)
        if moved.size > 1:
            return super()._mean_absolute(direction, offset)
        i = int(moved[0])
        scale, axis, share = float(direction[i]), self.axes[i], self.marginal(i)
        turn = -offset / scale
        # between neighbouring ends |scale·w + offset|·density is one polynomial, so the rule is exact
        ends = np.unique([*axis.breaks, *([turn] if axis.breaks[0] < turn < axis.breaks[-1] else [])])
        nodes, weights = gauss(axis.degree + 2)
        half = np.diff(ends)[:, None] / 2
        x, w = (ends[:-1, None] + half * (nodes + 1)).ravel(), (half * weights).ravel()
        basis = axis.values(x)
        return float((w * np.abs(scale * x + offset) * ((basis @ share) * basis).sum(axis=1)).sum())

    @cached_property
    def _local(self) -> Array:
        """Coefficients in orthonormal Legendre polynomials on each piece: axes piece₁, k₁, piece₂, k₂ and so on."""
        table = self._unit
        for i, axis in enumerate(self.axes):
            flat = axis.embedding.reshape(-1, axis.size)
            table = along(flat, table, i)
        shape = [size for axis in self.axes for size in (axis.pieces, axis.degree + 1)]
        return table.reshape(shape)

    def _groups(self, w: Array) -> Iterator[tuple[Array, tuple[int, ...], list[Array]]]:
        """Sort points by the cell of pieces that they lie in, in batches that fit in memory."""
        placed = [axis.place(w[:, i]) for i, axis in enumerate(self.axes)]
        code = np.zeros(len(w), dtype=np.intp)
        for (piece, _), axis in zip(placed, self.axes, strict=True):
            code = code * axis.pieces + piece
        # the first contraction leaves all other axes for every point
        batch = max(1, BATCH // math.prod([a.degree + 1 for a in self.axes[1:]] or [self.axes[0].degree + 1]))
        order = np.argsort(code, kind="stable")
        starts = np.flatnonzero(np.diff(code[order], prepend=-1))
        for start, stop in itertools.pairwise([*starts.tolist(), len(order)]):
            for first in range(start, stop, batch):
                chosen = order[first : min(first + batch, stop)]
                cell = tuple(int(piece[chosen[0]]) for piece, _ in placed)
                yield chosen, cell, [t[chosen] for _, t in placed]

    def _evaluate(self, w: Array, slope: int | None = None) -> Array:
        """U, or its derivative along one axis, at points of shape (count, m) inside the box."""
        out = np.zeros(len(w))
        for chosen, cell, places in self._groups(w):
            block = self._local[tuple(x for piece in cell for x in (piece, slice(None)))]
            tables = [
                axis.local(t, piece, slope=i == slope)
                for i, (axis, t, piece) in enumerate(zip(self.axes, places, cell, strict=True))
            ]
            value = tables[0] @ block.reshape(block.shape[0], -1)
            for table in tables[1:]:
                value = np.einsum("pk,pkr->pr", table, value.reshape(len(chosen), table.shape[1], -1))
            out[chosen] = value.reshape(len(chosen))
        return out

    def _root(self, w: Array, *, slope: bool) -> tuple[Array, Array, Array | None]:
        inside = np.asarray(((w >= self.box.low) & (w <= self.box.high)).all(axis=-1))
        u = self._evaluate(w[inside])
        gradient = [self._evaluate(w[inside], slope=i) for i in range(self.dimension)] if slope else None
        return inside, u, None if gradient is None else np.stack(gradient, axis=1)

    @cached_property
    def _cumulative(self) -> tuple[Array, Array]:
        """In one dimension: probability left of each piece, and ∫u² within it in Legendre polynomials."""
        axis = self.axes[0]
        n = axis.degree
        nodes, weights = gauss(2 * n + 2)
        series = np.zeros((axis.pieces, 2 * n + 2))
        below = np.zeros(axis.pieces + 1)
        table = np.polynomial.legendre.legvander(nodes, 2 * n)
        for e in range(axis.pieces):
            density = (axis.local(nodes, e) @ self._local[e]) ** 2
            coefficients = (table * weights[:, None]).T @ density * (2 * np.arange(2 * n + 1) + 1) / 2
            half = (axis.breaks[e + 1] - axis.breaks[e]) / 2
            series[e] = np.polynomial.legendre.legint(coefficients, lbnd=-1) * half
            below[e + 1] = below[e] + half * float(weights @ density)
        return below, series

    def _cdf(self, w: Array) -> Array:
        axis = self.axes[0]
        below, series = self._cumulative
        piece, t = axis.place(w.ravel())
        out = np.zeros(w.size)
        for e in np.unique(piece):
            here = piece == e
            out[here] = below[e] + np.polynomial.legendre.legval(t[here], series[e])
        out = np.clip(out / below[-1], 0, 1)
        return np.asarray(np.where(w <= axis.breaks[0], 0.0, np.where(w >= axis.breaks[-1], 1.0, out.reshape(w.shape))))

    def _icdf(self, q: Array) -> Array:
        from scipy.optimize.elementwise import find_root

        low, high = float(self.breaks[0][0]), float(self.breaks[0][-1])
        solvable = (q > 0) & (q < 1)
        target = np.where(solvable, q, 0.5)
        bracket = (np.full_like(q, low), np.full_like(q, high))
        root = find_root(lambda w, p: self._cdf(w) - p, bracket, args=(target,)).x
        return np.asarray(np.where(solvable, root, np.where(q <= 0, low, high)))

    @cached_property
    def _staircase(self) -> Staircase:
        return Staircase.over(self.axes, self._unit)

    def _sample(self, count: int, bits: Bits) -> Array:
        staircase = self._staircase

        def propose(batch: int, lanes: Bits) -> tuple[Array, Array]:
            w, above, below = staircase.draw(lanes, batch)
            mark = np.sqrt(lanes.uniform(batch)) * above
            accepted = mark < below
            unclear = np.flatnonzero(~accepted)  # only here does u itself have to be known
            accepted[unclear] = mark[unclear] < np.abs(self._evaluate(w[unclear]))
            return w, accepted

        return rejection(count, bits, propose)
