"""The least informative noise without constraints, at a given mean square (corollary 6)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from errorfloor.checks import Array, positive, positive_definite, vector
from errorfloor.errors import InputError
from errorfloor.noise.base import Noise
from errorfloor.noise.certificate import Certificate
from errorfloor.random import Bits
from errorfloor.support import Reals


@dataclass(frozen=True, eq=False)
class Gaussian(Noise):
    """Normal noise with a ``covariance`` matrix Σ (or a variance, in one dimension) and a ``mean``, zero by default.

    Guarantee: among all densities on Rᵐ with mean square wᵀRw ≤ Tr(RΣ), the one with Σ ∝ R⁻¹ # K has the least
    Tr(K I_w); its information is Σ⁻¹.

    >>> Gaussian([[4.0, 0.0], [0.0, 1.0]]).information
    array([[0.25, 0.  ],
           [0.  , 1.  ]])
    """

    covariance: Array
    mean: Array = None  # type: ignore[assignment]  # filled in below

    if TYPE_CHECKING:  # what the constructor takes, where it is wider than the field that it fills

        def __init__(
            self, covariance: ArrayLike, mean: ArrayLike | None = None, *, certificate: Certificate | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        covariance = positive_definite("covariance", self.covariance)
        mean = vector("mean", np.zeros(covariance.shape[0]) if self.mean is None else self.mean)
        if mean.size != covariance.shape[0]:
            raise InputError(f"mean must have {covariance.shape[0]} entries, got {mean.size}")
        for variance in np.diag(covariance):
            positive("a standard deviation", math.sqrt(variance))
        self._set(covariance=covariance, mean=mean)

    @property
    def dimension(self) -> int:
        """The number of coordinates."""
        return int(self.covariance.shape[0])

    @property
    def support(self) -> Reals:
        """All of Rᵐ."""
        return Reals(self.dimension)

    @property
    def information(self) -> Array:
        """Σ⁻¹."""
        unit = np.sqrt(np.diag(self.covariance))
        inverse = np.linalg.inv(self.covariance / unit / unit[:, None]) / unit / unit[:, None]
        return np.asarray((inverse + inverse.T) / 2)

    @property
    def entropy(self) -> float:
        """½ ln det(2πeΣ)."""
        return 0.5 * float(np.linalg.slogdet(2 * math.pi * math.e * self.covariance)[1])

    @property
    def knots(self) -> tuple[float, ...]:
        """The mean between the infinities: it keeps a quadrature from missing a narrow peak."""
        self._scalar_only("knots")
        return (-math.inf, float(self.mean[0]), math.inf)

    @property
    def _deviation(self) -> float:
        return math.sqrt(float(self.covariance[0, 0]))

    def _logpdf(self, w: Array) -> Array:
        root = np.linalg.cholesky(self.covariance)
        z = np.linalg.solve(root, (w - self.mean)[..., None])[..., 0]
        return np.asarray(
            -0.5 * (z * z).sum(axis=-1) - np.log(np.diag(root)).sum() - 0.5 * self.dimension * math.log(2 * math.pi)
        )

    def _score(self, w: Array) -> Array:
        return np.asarray(-(w - self.mean) @ self.information)

    def _cdf(self, w: Array) -> Array:
        from scipy.special import ndtr

        return np.asarray(ndtr((w - self.mean[0]) / self._deviation))

    def _icdf(self, q: Array) -> Array:
        from scipy.special import ndtri

        return np.asarray(self.mean[0] + self._deviation * ndtri(q))

    @property
    def repeatable(self) -> bool:
        """One number is; how a matrix is factored and multiplied is the library's affair."""
        return self.dimension == 1

    def _sample(self, count: int, bits: Bits) -> Array:
        drawn: Array = bits.normals(self.dimension, count).T @ np.linalg.cholesky(self.covariance).T + self.mean
        return drawn

    def _mean_absolute(self, direction: Array, offset: float) -> float:
        mean = float(direction @ self.mean) + offset
        deviation = math.sqrt(float(direction @ self.covariance @ direction))
        if deviation == 0:
            return abs(mean)
        z = mean / deviation
        return deviation * math.sqrt(2 / math.pi) * math.exp(-z * z / 2) + mean * math.erf(z / math.sqrt(2))
