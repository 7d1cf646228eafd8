"""The polynomials of a flux along one axis, and what maps them into all polynomials on each piece."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array
from errorfloor.noise.spectral_axis import Axis

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
