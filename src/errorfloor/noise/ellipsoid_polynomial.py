"""Noise in an ellipsoid whose root density is a polynomial that vanishes on the boundary."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from errorfloor.checks import Array, square, vector, whole
from errorfloor.errors import InputError
from errorfloor.noise.ball_polynomials import ball_rule, combination, squared_norm, total_degrees
from errorfloor.noise.information import congruence
from errorfloor.noise.numerical import NumericalNoise, entropy_of, nonzero
from errorfloor.noise.sampling import BallSampler
from errorfloor.random import Bits
from errorfloor.support import Ball, Ellipsoid, Support

MOST_DEGREE = 64
POINTS = {2: 24, 3: 24, 4: 5}  # beyond the degree, of the rule for the entropy


@dataclass(frozen=True, eq=False)
class EllipsoidPolynomial(NumericalNoise):
    """Noise w = center + A·y in an ellipsoid, y in the unit ball with root density u ∝ (1 − |y|²)·polynomial.

    ``frame`` is A, with A·Aᵀ the shape of the ``body``; ``coefficients`` are those of the orthogonal polynomials of
    ``ball_polynomials`` up to the total ``degree``.

    Guarantee: u is in H¹₀ of the ellipsoid, so the information is finite; it and the moments are exact integrals, up to
    rounding, of the very density that ``sample`` draws from.

    >>> disc = Ball(2, 1.0)
    >>> noise = EllipsoidPolynomial(disc, np.eye(2), 0, [1.0])  # density 3(1 − |w|²)²/π
    >>> abs(noise.information).round(9).tolist()
    [[12.0, 0.0], [0.0, 12.0]]
    """

    body: Ball | Ellipsoid
    frame: Array
    degree: int
    coefficients: Array

    def __post_init__(self) -> None:
        if not isinstance(self.body, (Ball, Ellipsoid)) or self.body.dimension not in POINTS:
            raise InputError("body must be a ball or an ellipsoid in 2, 3 or 4 dimensions")
        m = self.body.dimension
        frame = square("frame", self.frame, m)
        if not np.allclose(frame @ frame.T, self.body.shape, rtol=0, atol=1e-12 * np.trace(self.body.shape)):
            raise InputError("frame must be a matrix A with A·Aᵀ equal to the body's shape")
        degree = whole("degree", self.degree, least=0)
        if degree > MOST_DEGREE:
            raise InputError(f"degree must be at most {MOST_DEGREE}, got {degree}")
        coefficients = vector("coefficients", self.coefficients)
        count = len(total_degrees(m, degree))
        if coefficients.size != count:
            raise InputError(f"coefficients must have one entry for each of {count} polynomials")
        self._set(frame=frame, degree=degree, coefficients=nonzero(coefficients))

    @property
    def support(self) -> Support:
        """The body."""
        return self.body

    @property
    def dimension(self) -> int:
        """That of the body."""
        return self.body.dimension

    @cached_property
    def _inverse(self) -> Array:
        return np.linalg.inv(self.frame)

    @cached_property
    def _mass(self) -> float:
        """∫u² over the unit ball."""
        norms = [squared_norm(alpha) for alpha in total_degrees(self.dimension, self.degree)]
        return math.fsum(self.coefficients**2 * np.array(norms))

    @cached_property
    def information(self) -> Array:
        """A⁻ᵀ (4∫∇u∇uᵀ/∫u²) A⁻¹."""
        nodes, weights = ball_rule(self.dimension, self.degree + 3)
        slope = combination(self.coefficients, nodes, self.degree, 1)[1:]
        return congruence(4 * (slope * weights) @ slope.T / self._mass, self._inverse)

    @cached_property
    def _moments(self) -> tuple[Array, Array]:
        nodes, weights = ball_rule(self.dimension, self.degree + 4)
        density = weights * combination(self.coefficients, nodes, self.degree)[0] ** 2 / self._mass
        mean = nodes @ density
        centered = nodes - mean[:, None]
        covariance = (centered * density) @ centered.T
        return self.body.middle + self.frame @ mean, congruence((covariance + covariance.T) / 2, self.frame.T)

    @cached_property
    def entropy(self) -> float:
        """By Gauss quadrature of −γ log γ; good to about six digits."""
        nodes, weights = ball_rule(self.dimension, self.degree + POINTS[self.dimension])
        density = combination(self.coefficients, nodes, self.degree)[0] ** 2 / self._mass
        return float(np.linalg.slogdet(self.frame)[1]) + entropy_of(density, weights)

    @cached_property
    def _sampler(self) -> BallSampler:
        return BallSampler.of(self.coefficients, self.dimension, self.degree, self._mass)

    def _root(self, w: Array, *, slope: bool) -> tuple[Array, Array, Array | None]:
        y = ((w - self.body.middle) @ self._inverse.T).T
        inside = (y * y).sum(axis=0) < 1
        size = math.sqrt(self._mass * abs(float(np.linalg.det(self.frame))))
        jet = combination(self.coefficients, np.ascontiguousarray(y[:, inside]), self.degree, int(slope)) / size
        return inside, jet[0], jet[1:].T @ self._inverse if slope else None

    def _sample(self, count: int, bits: Bits) -> Array:
        y = self._sampler.draw(count, bits)
        columns = [y[:, k, None] * self.frame[:, k] for k in range(self.dimension)]
        return sum(columns, np.broadcast_to(self.body.middle, y.shape))
