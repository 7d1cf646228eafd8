"""What one record can do to an answer, reduced to independent shifts of noises in standard form.

The hockey-stick integral does not change when noise and shift go through the same invertible map, and a coordinate
of independent noise that the shift leaves alone drops out of it. So a translation counts for nothing, a linear image
becomes its base under A⁻¹h, and every family is brought to scale one.
"""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from errorfloor.checks import Array, matrix, positive
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Noise,
    Product,
    RaisedCosine,
    Translation,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)


@dataclass(frozen=True)
class Part:
    """A log-concave noise in standard form and how far it is shifted.

    Bounded noise begins at zero, where doubles are dense. The shift is positive, but for ``Maxwell``, which has no
    mirror image among the families; a symmetric noise makes the same part of either sign of a shift.
    """

    noise: Noise
    shift: float


def shift_rows(noise: Noise, sensitivity: Any) -> Array:
    """Give the extreme shifts of an answer as rows; in one dimension ``sensitivity`` is the length of the only one.

    >>> shift_rows(Laplace(1.0), 2)
    array([[2.]])
    """
    if not isinstance(noise, Noise):
        raise InputError(f"noise must be a noise of errorfloor.noise, got {type(noise).__name__}")
    if noise.dimension == 1:
        return np.array([[positive("sensitivity", sensitivity)]])
    expected = f"sensitivity of noise in {noise.dimension} dimensions must be a k×{noise.dimension} array of shifts"
    if np.ndim(sensitivity) == 0:
        raise InputError(f"{expected}, got {sensitivity!r}")
    rows = matrix("sensitivity", [sensitivity] if np.ndim(sensitivity) == 1 else sensitivity)
    if rows.shape[1] != noise.dimension:
        raise InputError(f"{expected}, got shape {rows.shape[0]}×{rows.shape[1]}")
    if not rows.any():
        raise InputError(f"{expected}, at least one of them not zero")
    return rows


def independent_parts(noise: Noise, shift: Array) -> tuple[Part, ...]:
    """Split a shift of a noise into independent parts in standard form; those that do not move are left out.

    Gaussian parts are merged into one: only the length (Σ hᵢ²/σᵢ²)^½ matters.

    >>> from errorfloor.noise import Gaussian, Product
    >>> independent_parts(Product((Gaussian(4.0), Gaussian(1.0), Laplace(2.0))), np.array([6.0, 4.0, 0.0]))[0].shift
    5.0
    """
    parts = [part for part in _parts(noise, np.asarray(shift, dtype=float)) if part.shift != 0]
    gaussian = [part for part in parts if isinstance(part.noise, Gaussian)]
    others = [part for part in parts if not isinstance(part.noise, Gaussian)]
    if gaussian:
        length = float(np.linalg.norm([part.shift for part in gaussian]))
        others.append(Part(gaussian[0].noise, length))
    return tuple(others)


def largest_loss(parts: tuple[Part, ...]) -> float:
    """The greatest log-ratio of densities that parts can show, infinite unless every part is Laplace.

    >>> largest_loss((Part(Laplace(1.0), 0.5), Part(Laplace(1.0), 0.25)))
    0.75
    """
    return sum(part.shift if isinstance(part.noise, Laplace) else math.inf for part in parts)


def _parts(noise: Noise, shift: Array) -> list[Part]:
    first = float(shift[0])
    match noise:
        case Translation():
            return _parts(noise.base, shift)
        case LinearImage():
            return _parts(noise.base, np.linalg.solve(noise.matrix, shift))
        case Product():
            return [part for i, factor in enumerate(noise.factors) for part in _parts(factor, shift[i : i + 1])]
        case Gaussian():
            root = np.linalg.cholesky(noise.covariance)
            return [Part(Gaussian(1.0), float(np.linalg.norm(np.linalg.solve(root, shift))))]
        case RaisedCosine():
            return [Part(RaisedCosine(0.0, 1.0), abs(first) / noise.width)]
        case Uniform():
            return [Part(Uniform(low=0.0, high=1.0), abs(first) / noise.width)]
        case Laplace() | Airy():
            return [Part(type(noise)(1.0), abs(first) / noise.scale)]
        case Maxwell():
            return [Part(Maxwell(1.0), first / noise.scale)]
        case TruncatedLaplace() | TruncatedGaussian():
            scale = noise.scale if isinstance(noise, TruncatedLaplace) else noise.deviation
            center, width = (noise.center - noise.low) / scale, noise.width / scale
            # a shift to the left is one to the right of the mirror image
            center = center if first > 0 else width - center
            return [Part(type(noise)(1.0, low=0.0, high=width, center=center), abs(first) / scale)]
        case BesselBall():
            raise NoClosedFormError("the curve of noise in a ball has no formula: state it for noise on a box")
        case _:
            raise NoClosedFormError(
                f"the worst shift is known for log-concave noise only, and {type(noise).__name__} is not known to be "
                f"log-concave: use a noise of errorfloor.noise"
            )
