"""A lower bound of the ground state from a flux: the inequality of Lehmann and Goerisch on a product of intervals.

For u with ∫u² = 1 and Rayleigh quotient R, and any pair (s, q) with −div s + V q = u, put
β = ∫ sᵀA⁻¹s + ∫ V q². If the second eigenvalue is at least ρ > R, then λ₁ ≥ (ρ − R)/(ρβ − 1). A good flux is close to
A∇u/R; here it is the best one in a space of continuous polynomials, found by conjugate gradients, and what is left of
the equation is put right exactly by integrating it along the first axis.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.linalg import LinearOperator, cg

from errorfloor.checks import Array
from errorfloor.designer.boxes.line import Potential
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
        return np.asarray(block_diag(*(self.wide.differentiation * (2 / width) for width in np.diff(self.wide.breaks))))

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
        out = np.asarray(block_diag(*(lower * (width / 2) for width in np.diff(wide.breaks))))
        left, right = self._end_values(-1.0), self._end_values(1.0)
        for e in range(wide.pieces):
            before = np.zeros(wide.pieces * k) if e == 0 else right[e - 1] @ out
            jump = before - left[e] @ out
            out[e * k] += jump * math.sqrt(wide.breaks[e + 1] - wide.breaks[e])  # a constant on this piece
        return out

    def _end_values(self, t: float) -> Array:
        """The value at an end of each piece of a function given by its Legendre coefficients: (pieces, all)."""
        return np.asarray(block_diag(*(self.wide.local(np.array([t]), e) for e in range(self.wide.pieces))))

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

    def quotients(self, c: Array) -> tuple[float, float] | None:
        """Give (R, β) for coefficients c of a state; None where the potential is not positive at an open end."""
        flux = [FluxAxis(axis) for axis in self.axes]
        u = c
        for i, line in enumerate(flux):
            u = along(line.lift, u, i)
        u = u / np.linalg.norm(u)
        f, mean = _source(self.potential, flux, u, self._energy(u, flux))
        R = self._energy(u, flux) + mean
        s = self._solve(f, flux)
        inverse = np.linalg.inv(self.A)
        beta = sum(float(inverse[i, j]) * float((s[i] * s[j]).sum()) for i in range(len(s)) for j in range(len(s)))
        outside = self._outside(s, flux, inverse)
        return None if outside is None else (R, beta + mean / R**2 + outside)

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

        shape, size = f.shape, f.size
        applied = LinearOperator((size, size), lambda x: divergence(gradient(x.reshape(shape))).ravel(), dtype=float)
        eased = LinearOperator((size, size), lambda r: precondition(r.reshape(shape)).ravel(), dtype=float)
        phi = cg(applied, -f.ravel(), rtol=1e-8, maxiter=2000, M=eased)[0].reshape(shape)
        s = gradient(phi)
        for i in (i for i in range(m) if not single[i]):
            s = [along(flux[i].inclusion, part, i) for part in s]
        rest = -f - sum(
            (along(line.differentiation, part, i) for i, (line, part) in enumerate(zip(flux, s, strict=True))),
            np.zeros(()),
        )
        s[0] = s[0] + along(flux[0].antiderivative, rest, 0)
        return s

    def _outside(self, s: list[Array], flux: list[FluxAxis], inverse: Array) -> float | None:
        """What β gains when the flux through an open end dies out exponentially beyond it."""
        total = 0.0
        for i, line in enumerate(flux):
            for last in (False, True):
                if not self.opens[i][last]:
                    continue
                end = float(line.wide.breaks[-1 if last else 0])
                V = float(self.potential.least_on(i, np.array([end]))[0])
                if V <= 0:
                    return None
                through = np.tensordot(line.at_end(last), s[i], (0, i))
                total += float((through**2).sum()) * math.sqrt(float(inverse[i, i]) / V)
        return total


def _source(potential: Potential, flux: list[FluxAxis], u: Array, energy: float) -> tuple[Array, float]:
    """Give f = u − Vu/R, R = energy + ∫Vu², in continuous polynomials, and ∫Vu²: both exact by a Gauss rule."""
    rules = [_rule(line) for line in flux]
    values, weights, V = u, np.ones(()), np.zeros(())
    for i, (x, w, table) in enumerate(rules):
        values = along(table, values, i)
        weights = np.multiply.outer(weights, w)
        V = np.add.outer(V, potential.curves[i](x))
    for i, j in zip(*np.nonzero(np.tril(potential.coupling)), strict=True):
        shapes = [[-1 if a == b else 1 for a in range(len(rules))] for b in (i, j)]
        V = V + 2 * potential.coupling[i, j] * rules[i][0].reshape(shapes[0]) * rules[j][0].reshape(shapes[1])
    mean = float((V * values**2 * weights).sum())
    f = values * (1 - V / (energy + mean)) * weights
    for i, (_, _, table) in enumerate(rules):
        f = along(table.T, f, i)
    for i, line in enumerate(flux):
        f = along(_projection(line), f, i)
    return f, mean


def _rule(line: FluxAxis) -> tuple[Array, Array, Array]:
    """A Gauss rule on all pieces, and the Legendre polynomials at its nodes."""
    wide = line.wide
    nodes, weights = gauss(wide.degree + 3)
    width = np.diff(wide.breaks)
    table = block_diag(*(wide.local(nodes, e) for e in range(wide.pieces)))
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
