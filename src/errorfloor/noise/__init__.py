"""Noises: densities that can be evaluated and sampled, and that know their own information.

Least informative, each on its own kind of support:

=====================  ==================================================
``RaisedCosine``         an interval
``Product``              a box, an orthant; one noise a coordinate
``BesselBall``           a ball, in two dimensions or more
``Maxwell``              a half-line, at a given mean square
``Gaussian``             all of Rᵐ, at a given mean square
``Airy``                 the line, at a given mean absolute error
``LinearImage``          whatever is a matrix times one of these
``Translation``          … or one of these, moved
``Spectral``             a product of intervals, computed numerically
=====================  ==================================================

Numerical, from a design without a closed form: ``Piecewise`` (polygons and polytopes), ``EllipsoidPolynomial``.

For comparison only: ``Laplace``, ``Uniform``, ``TruncatedLaplace``, ``TruncatedGaussian``.

A new family needs a subclass of ``base.NoiseOnInterval``, ``ScaledNoise``, ``ScalarNoise`` or, in several dimensions,
``Noise``, with its proof beside it, a line in this table, its name in ``__all__``, and a case in
``tests/noise/conftest.py``. Models: ``raised_cosine`` on an interval, ``maxwell`` with a scale, ``jumps`` for densities
that jump at their edge (``why_infinite`` says so). Only a noise that is ``repeatable`` can be sticky. The rest is for
those who use it: ``design`` learns of a family in ``designer.closed_forms``, questions choose theirs in
``preparing.noises``, how accounts charge each is decided in ``floors.adversary.noises``, and ``dp.shifts`` brings it to
the form in which (ε, δ) are computed.

Each family is a module. The computed ones share ``numerical``, and what they draw with, ``sampling``; they are made of
polynomials on ``simplices``, on a ``spectral_axis`` and in a ball (``ball_polynomials``). ``lattice`` rounds answers,
``loss`` measures quality, ``certificate`` says how good a design is.
"""

from collections.abc import Mapping
from typing import Any

from errorfloor.errors import InputError
from errorfloor.noise.affine_image import LinearImage, Translation
from errorfloor.noise.airy import Airy
from errorfloor.noise.base import Noise
from errorfloor.noise.bessel_ball import BesselBall
from errorfloor.noise.certificate import Certificate, ErrorCertificate
from errorfloor.noise.ellipsoid_polynomial import EllipsoidPolynomial
from errorfloor.noise.gaussian import Gaussian
from errorfloor.noise.jumps import TruncatedGaussian, TruncatedLaplace, Uniform
from errorfloor.noise.laplace import Laplace
from errorfloor.noise.loss import Loss
from errorfloor.noise.maxwell import Maxwell
from errorfloor.noise.piecewise import Piecewise
from errorfloor.noise.product import Product
from errorfloor.noise.raised_cosine import RaisedCosine
from errorfloor.noise.spectral import Spectral
from errorfloor.support import SUPPORTS
from errorfloor.values import build

__all__ = [
    "Airy",
    "BesselBall",
    "Certificate",
    "EllipsoidPolynomial",
    "ErrorCertificate",
    "Gaussian",
    "Laplace",
    "LinearImage",
    "Loss",
    "Maxwell",
    "Noise",
    "Piecewise",
    "Product",
    "RaisedCosine",
    "Spectral",
    "Translation",
    "TruncatedGaussian",
    "TruncatedLaplace",
    "Uniform",
    "from_dict",
]

_KINDS: Mapping[str, type] = {
    name: kind
    for name in __all__
    if isinstance(kind := globals().get(name), type) and issubclass(kind, Noise) and kind is not Noise
}
# what a noise may hold beside other noises: certificates, and where numerical noises live
_PARTS: Mapping[str, type] = {"Certificate": Certificate, "ErrorCertificate": ErrorCertificate, **SUPPORTS}


def from_dict(plain: Mapping[str, Any]) -> Noise:
    """Rebuild a noise from its ``to_dict`` form: the same density, to the last bit.

    >>> from_dict({"type": "RaisedCosine", "low": 0.0, "high": 1.0})
    RaisedCosine(low=0.0, high=1.0)
    """
    name = plain.get("type") if isinstance(plain, Mapping) else None
    if isinstance(name, str) and name in _PARTS:
        raise InputError(f"a noise is wanted, not a {name}")
    known = isinstance(name, str) and name in _KINDS
    noise: Noise = build(plain, {**_KINDS, **_PARTS} if known else _KINDS, "noise")
    return noise
