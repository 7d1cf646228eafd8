"""Noises: densities that can be evaluated and sampled, and that know their own information.

Least informative, each on its own kind of support:

=====================  ==================================================
``RaisedCosine``         an interval
``Product``              a box, an orthant; one noise a coordinate
``BesselBall``           a ball, in any dimension
``Maxwell``              a half-line, at a given mean square
``Gaussian``             all of Rᵐ, at a given mean square
``Airy``                 the line, at a given mean absolute error
``LinearImage``          whatever is a matrix times one of these
``Translation``          … or one of these, moved
=====================  ==================================================

For comparison only: ``Laplace``, ``Uniform``, ``TruncatedLaplace``, ``TruncatedGaussian``.
"""

from collections.abc import Mapping
from typing import Any

from errorfloor.errors import InputError
from errorfloor.noise.airy import Airy
from errorfloor.noise.base import Noise
from errorfloor.noise.bessel_ball import BesselBall
from errorfloor.noise.certificate import Certificate
from errorfloor.noise.gaussian import Gaussian
from errorfloor.noise.jumps import TruncatedGaussian, TruncatedLaplace, Uniform
from errorfloor.noise.laplace import Laplace
from errorfloor.noise.linear_image import LinearImage
from errorfloor.noise.loss import Loss
from errorfloor.noise.maxwell import Maxwell
from errorfloor.noise.product import Product
from errorfloor.noise.raised_cosine import RaisedCosine
from errorfloor.noise.translation import Translation
from errorfloor.values import build

__all__ = [
    "Airy",
    "BesselBall",
    "Certificate",
    "Gaussian",
    "Laplace",
    "LinearImage",
    "Loss",
    "Maxwell",
    "Noise",
    "Product",
    "RaisedCosine",
    "Translation",
    "TruncatedGaussian",
    "TruncatedLaplace",
    "Uniform",
    "from_dict",
]

_KINDS: Mapping[str, type] = {
    kind.__name__: kind
    for kind in (
        Airy,
        BesselBall,
        Certificate,
        Gaussian,
        Laplace,
        LinearImage,
        Maxwell,
        Product,
        RaisedCosine,
        Translation,
        TruncatedGaussian,
        TruncatedLaplace,
        Uniform,
    )
}


def from_dict(plain: Mapping[str, Any]) -> Noise:
    """Rebuild a noise from its ``to_dict`` form: the same density, to the last bit.

    >>> from_dict({"type": "RaisedCosine", "low": 0.0, "high": 1.0})
    RaisedCosine(low=0.0, high=1.0)
    """
    noise = build(plain, _KINDS, "noise")
    if not isinstance(noise, Noise):
        raise InputError(f"a noise is wanted, not a {type(noise).__name__}")
    return noise
