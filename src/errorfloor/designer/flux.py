"""A lower bound of the ground state from a flux: the inequality of Lehmann and Goerisch on a product of intervals.

For u with ∫u² = 1 and Rayleigh quotient R, and any pair (s, q) with −div s + V q = u, put
β = ∫ sᵀA⁻¹s + ∫ V q². If the second eigenvalue is at least ρ > R, then λ₁ ≥ (ρ − R)/(ρβ − 1). A good flux is close to
A∇u/R; here it is the best one in a space of continuous polynomials, found by conjugate gradients, and what is left of
the equation is put right exactly by integrating it along the first axis.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.designer.potential import Potential
from errorfloor.noise.spectral_axis import Axis, along, gauss

MORE = 3  # degrees that the flux has beyond the state: two for a quadratic potential, one for the derivative


@dataclass(frozen=True, eq=False)
class FluxAxis:
    """Continuous piecewise polynomials along one axis, free at both ends, in an orthonormal basis.

    ``inclusion`` and ``derivative`` map it into all polynomials on each piece.
    """

    axis: Axis

    @cached_property
    def wide(self) -> Axis:
        """The pieces, with the flux's degree."""
        return Axis(self.axis.breaks, self.axis.degree + MORE)

    @cached_property
    def _free(self) -> Array:
        """All continuous functions, with two half hats at the ends, in Legendre polynomials on each piece."""
        wide = self.wide
        width = np.diff(wide.breaks)
        ends = np.zeros((wide.pieces, wide.degree + 1, 2))
        for column, e, sign in ((0, 0, -1.0), (1, wide.pieces - 1, 1.0)):
            ends[e, 0, column] = math.sqrt(width[e]) / 2
            ends[e, 1, column] = sign * math.sqrt(width[e] / 3) / 2
        return np.concatenate([wide.embedding, ends], axis=2).reshape(-1, wide.size + 2)

    @cached_property
    def inclusion(self) -> Array:
        """The orthonormal basis itself; the identity on a single piece."""
        if self.wide.pieces == 1:
            return np.eye(self.wide.degree + 1)
        return np.asarray(np.linalg.qr(self._free / np.linalg.norm(self._free, axis=0))[0])

    @cached_property
    def differentiation(self) -> Array:
        """The derivative on each piece."""
        wide = self.wide
        k = wide.degree + 1
        out = np.zeros((wide.pieces * k, wide.pieces * k))
        for e, width in enumerate(np.diff(wide.breaks)):
            out[e * k : (e + 1) * k, e * k : (e + 1) * k] = wide.differentiation * (2 / width)
        return out

    @cached_property
    def derivative(self) -> Array:
        """The derivative of the orthonormal basis."""
        return np.asarray(self.differentiation @ self.inclusion)

    @cached_property
    def spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and vectors of derivative·derivativeᵀ, the kernel raised to the least of the others."""
        values, vectors = np.linalg.eigh(self.derivative @ self.derivative.T)
        return np.maximum(values, values[values > 1e-12 * values[-1]].min()), vectors

    @cached_property
    def antiderivative(self) -> Array:
        """A right inverse of the derivative on polynomials of a degree less, continuous and zero at the left end."""
        wide = self.wide
        k = wide.degree + 1
        lower = np.linalg.pinv(wide.differentiation)  # exact on degrees below the highest
        out = np.zeros((wide.pieces * k, wide.pieces * k))
        for e, width in enumerate(np.diff(wide.breaks)):
            here = slice(e * k, (e + 1) * k)
            out[here, here] = lower * (width / 2)
        left = self._end_values(-1.0)
        right = self._end_values(1.0)
        for e in range(wide.pieces):
            here = slice(e * k, (e + 1) * k)
            before = np.zeros(wide.pieces * k) if e == 0 else right[e - 1] @ out
            jump = before - left[e] @ out
            out[here.start] += jump * math.sqrt(wide.breaks[e + 1] - wide.breaks[e])  # a constant on this piece
        return out

    def _end_values(self, t: float) -> Array:
        """The value at an end of each piece of a function given by its Legendre coefficients: (pieces, all)."""
        wide = self.wide
        k = wide.degree + 1
        out = np.zeros((wide.pieces, wide.pieces * k))
        for e in range(wide.pieces):
            out[e, e * k : (e + 1) * k] = wide.local(np.array([t]), e)[0]
        return out

    @cached_property
    def constant(self) -> Array:
        """The constant function of unit norm."""
        out = np.zeros((self.wide.pieces, self.wide.degree + 1))
        out[:, 0] = np.sqrt(np.diff(self.wide.breaks) / (self.wide.breaks[-1] - self.wide.breaks[0]))
        return out.ravel()

    def at_end(self, last: bool) -> Array:
        """Values of the Legendre polynomials on all pieces at the first or the last break."""
        return np.asarray(self._end_values(1.0)[-1] if last else self._end_values(-1.0)[0])

    @cached_property
    def lift(self) -> Array:
        """The state's basis in the Legendre polynomials of the flux's degree: (all, size)."""
        narrow = self.axis.embedding
        out = np.zeros((self.wide.pieces, self.wide.degree + 1, self.axis.size))
        out[:, : self.axis.degree + 1] = narrow
        return out.reshape(-1, self.axis.size)


@dataclass(frozen=True, eq=False)
class Flux:
    """The numbers R and β of a state, with what the state adds where a window cut it off.

    ``opens`` tells for each axis whether the window ends before the support does, at its first and its last break.
    """

    axes: tuple[Axis, ...]
    A: Array
    potential: Potential
    opens: tuple[tuple[bool, bool], ...]

    def quotients(self, c: Array) -> tuple[float, float, float] | None:
        """Give (R, β, shift) for coefficients c of a state, all of the operator plus ``shift``; None without a proof.

        The shift makes the potential positive, so that what a projection of the source leaves over can be put into q.
        """
        flux = [FluxAxis(axis) for axis in self.axes]
        u = c
        for i, line in enumerate(flux):
            u = along(line.lift, u, i)
        u = u / np.linalg.norm(u)
        product = _Potential(self.potential, flux, 2 if self.potential.is_polynomial else 12)
        energy = self._energy(u, flux)
        bare = energy + product.mean(u)
        if self.potential.general is not None:
            # a function that a user gave is integrated by a rule: without agreement of two there is no proof
            finer = energy + _Potential(self.potential, flux, 40).mean(u)
            if abs(finer - bare) > 1e-11 * bare:
                return None
        shift = 0.0 if self.potential.is_polynomial else bare
        R = bare + shift
        f, mean_square, leftover = product.source(u, R, shift)
        if not math.isfinite(leftover):
            return None
        s = self._solve(f, flux)
        inverse = np.linalg.inv(self.A)
        beta = sum(float(inverse[i, j]) * float((s[i] * s[j]).sum()) for i in range(len(s)) for j in range(len(s)))
        beta += mean_square / R**2 + leftover
        outside = self._outside(s, flux, inverse, shift)
        return None if outside is None else (R, beta + outside, shift)

    def _energy(self, u: Array, flux: list[FluxAxis]) -> float:
        slopes = [along(line.differentiation, u, i) for i, line in enumerate(flux)]
        m = len(flux)
        return sum(float(self.A[i, j]) * float((slopes[i] * slopes[j]).sum()) for i in range(m) for j in range(m))

    def _solve(self, f: Array, flux: list[FluxAxis]) -> list[Array]:
        """The least s, in the norm of A⁻¹, with −div s = f: in Legendre polynomials on all pieces."""
        m = len(flux)
        if m == 1:
            sole = -flux[0].antiderivative @ f
            return [sole - flux[0].constant * float(flux[0].constant @ sole)]  # the constant that leaves least
        single = [line.wide.pieces == 1 for line in flux]

        def gradient(phi: Array) -> list[Array]:
            narrowed = [phi] * m
            for j in range(m):
                for i, line in enumerate(flux):
                    if i == j:
                        narrowed[j] = along(line.derivative.T, narrowed[j], i)
                    elif not single[i]:
                        narrowed[j] = along(line.inclusion.T, narrowed[j], i)
            return [sum((float(self.A[i, j]) * narrowed[j] for j in range(m)), np.zeros(())) for i in range(m)]

        def divergence(s: list[Array]) -> Array:
            total = np.zeros(f.shape)
            for j in range(m):
                part = s[j]
                for i, line in enumerate(flux):
                    if i == j:
                        part = along(line.derivative, part, i)
                    elif not single[i]:
                        part = along(line.inclusion, part, i)
                total += part
            return total

        scale = np.zeros(())
        for i, line in enumerate(flux):
            scale = np.add.outer(scale, float(self.A[i, i]) * line.spectrum[0])

        def precondition(r: Array) -> Array:
            for i, line in enumerate(flux):
                r = along(line.spectrum[1].T, r, i)
            r = r / scale
            for i, line in enumerate(flux):
                r = along(line.spectrum[1], r, i)
            return r

        phi = conjugate_gradients(lambda x: divergence(gradient(x)), precondition, -f)
        s = gradient(phi)
        s = [_included(part, flux) for part in s]
        rest = -f - sum(
            (along(line.differentiation, part, i) for i, (line, part) in enumerate(zip(flux, s, strict=True))),
            np.zeros(()),
        )
        s[0] = s[0] + along(flux[0].antiderivative, rest, 0)
        return s

    def _outside(self, s: list[Array], flux: list[FluxAxis], inverse: Array, shift: float) -> float | None:
        """What β gains when the flux through an open end dies out exponentially beyond it."""
        total = 0.0
        for i, line in enumerate(flux):
            for last in (False, True):
                if not self.opens[i][last]:
                    continue
                end = float(line.wide.breaks[-1 if last else 0])
                V = float(self.potential.least_on(i, np.array([end]))[0]) + shift
                if V <= 0:
                    return None
                through = np.tensordot(line.at_end(last), s[i], (0, i))
                total += float((through**2).sum()) * math.sqrt(float(inverse[i, i]) / V)
        return total


def bound(R: float, beta: float, second: float) -> float:
    """λ₁ ≥ (ρ − R)/(ρβ − 1), for a second eigenvalue of at least ρ > R.

    >>> bound(2.0, 0.5, 5.0)  # β = 1/R: nothing is lost
    2.0
    """
    return (second - R) / (second * beta - 1)


def bound_by_gap(R: float, beta: float, gap: float, below: float) -> float | None:
    """The same when λ₂ ≥ λ₁ + gap is known, and λ₁ ≥ below: the root of βx² + (gap·β − 2)x + R − gap = 0 above it.

    Where the quadratic is negative no λ₁ can lie; None if ``below`` does not exclude what lies beneath that stretch.

    >>> round(bound_by_gap(2.0, 0.5001, 3.0, 0.0), 6)
    1.999333
    """
    half = (gap * beta - 2) / (2 * beta)
    inner = half * half - (R - gap) / beta
    if inner <= 0:
        return None
    low, high = -half - math.sqrt(inner), -half + math.sqrt(inner)
    return high if below > max(low, R - gap) else None


def conjugate_gradients(
    apply: Callable[[Array], Array],
    precondition: Callable[[Array], Array],
    target: Array,
    *,
    tolerance: float = 1e-8,
    most: int = 2000,
) -> Array:
    """Solve for a symmetric positive operator from zero; a residual of that size is left, or what rounding allows."""
    x = np.zeros_like(target)
    r = target.copy()
    z = precondition(r)
    p, rz = z, float((r * z).sum())
    goal = tolerance**2 * rz
    for _ in range(most):
        if rz <= goal:
            break
        image = apply(p)
        step = rz / float((p * image).sum())
        x, r = x + step * p, r - step * image
        z = precondition(r)
        rz, previous = float((r * z).sum()), rz
        p = z + rz / previous * p
    return x


def _included(part: Array, flux: list[FluxAxis]) -> Array:
    for i, line in enumerate(flux):
        if line.wide.pieces > 1:
            part = along(line.inclusion, part, i)
    return part


class _Potential:
    """The potential acting on functions given by Legendre polynomials on all pieces, by a Gauss rule."""

    def __init__(self, potential: Potential, flux: list[FluxAxis], more: int) -> None:
        self.potential, self.flux = potential, flux
        self.rules = [_rule(line, more) for line in flux]

    def _values(self, u: Array) -> tuple[Array, Array, Array]:
        """The function, the potential and the weights at the nodes."""
        for i, (_, _, table) in enumerate(self.rules):
            u = along(table, u, i)
        weights = np.ones(())
        V = np.zeros(())
        for i, (x, w, _) in enumerate(self.rules):
            weights = np.multiply.outer(weights, w)
            V = np.add.outer(V, self.potential.curves[i](x))
        points = [x for x, _, _ in self.rules]
        for i in range(len(points)):
            for j in range(i):
                if self.potential.coupling[i, j]:
                    shape_i, shape_j = ([-1 if a == b else 1 for a in range(len(points))] for b in (i, j))
                    V = V + 2 * self.potential.coupling[i, j] * points[i].reshape(shape_i) * points[j].reshape(shape_j)
        if self.potential.general is not None:
            V = V + self.potential.general(np.stack(np.meshgrid(*points, indexing="ij"), axis=-1))
        return u, V, weights

    def mean(self, u: Array) -> float:
        values, V, weights = self._values(u)
        return float((V * values**2 * weights).sum())

    def source(self, u: Array, R: float, shift: float) -> tuple[Array, float, float]:
        """Give f ≈ u − (V + shift)u/R in continuous polynomials, ∫(V + shift)u², and what q takes up of the rest."""
        values, V, weights = self._values(u)
        V = V + shift
        exact = values * (1 - V / R)
        f = exact * weights
        for i, (_, _, table) in enumerate(self.rules):
            f = along(table.T, f, i)
        for i, line in enumerate(self.flux):
            f = along(_projection(line), f, i)
        mean_square = float((V * values**2 * weights).sum())
        if self.potential.is_polynomial:
            return f, mean_square, 0.0
        approximate = f
        for i, (_, _, table) in enumerate(self.rules):
            approximate = along(table, approximate, i)
        if (V <= 0).any():  # q would have to be infinite
            return f, mean_square, math.inf
        rest = exact - approximate
        leftover = 2 * float((values * rest * weights).sum()) / R + float((rest**2 / V * weights).sum())
        return f, mean_square, leftover


def _rule(line: FluxAxis, more: int) -> tuple[Array, Array, Array]:
    """A Gauss rule on all pieces, and the Legendre polynomials at its nodes."""
    wide = line.wide
    nodes, weights = gauss(wide.degree + 1 + more)
    width = np.diff(wide.breaks)
    k = wide.degree + 1
    table = np.zeros((wide.pieces * len(nodes), wide.pieces * k))
    for e in range(wide.pieces):
        table[e * len(nodes) : (e + 1) * len(nodes), e * k : (e + 1) * k] = wide.local(nodes, e)
    x = (wide.breaks[:-1, None] + width[:, None] * (nodes + 1) / 2).ravel()
    return x, (width[:, None] / 2 * weights).ravel(), table


def _projection(line: FluxAxis) -> Array:
    """The orthogonal projection onto continuous polynomials of one degree less than the flux's."""
    inner = Axis(line.axis.breaks, line.wide.degree - 1)
    lower = FluxAxis(Axis(line.axis.breaks, line.axis.degree - 1))
    basis = lower.inclusion if inner.pieces > 1 else np.eye(inner.degree + 1)
    k = line.wide.degree + 1
    padded = np.zeros((line.wide.pieces, k, basis.shape[1]))
    padded[:, : k - 1] = basis.reshape(line.wide.pieces, k - 1, -1)
    flat = padded.reshape(-1, basis.shape[1])
    return np.asarray(flat @ flat.T)
