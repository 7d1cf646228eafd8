"""Supports: the sets where noise, or an answer, may live.

======================  ==========================================================
``Interval(low, high)``   a bounded interval
``HalfLine(low)``         a half-line; ``HalfLine(high=…)`` is the other side
``Reals(m)``              all of Rᵐ
``Box(low, high)``        a box along the axes
``Orthant(m)``            [0, ∞)ᵐ
``Ball(m, radius)``       a ball
``Ellipsoid(shape)``      wᵀ shape⁻¹ w ≤ 1
``Polygon(vertices)``     a polygon in the plane, convex or not
``Polytope(…)``           a convex hull, or an intersection of half-spaces
======================  ==========================================================

``lines`` and ``products`` have those along the axes. A new set: a subclass of ``base.Support``, its name here and in
``errorfloor.__init__``. What noise is best on it is decided in ``designer``; requests name it in ``access.supports``.
"""

from collections.abc import Mapping
from typing import Any

from errorfloor.support.base import Support
from errorfloor.support.ellipsoid import Ball, Ellipsoid
from errorfloor.support.lines import HalfLine, Interval, Reals
from errorfloor.support.polytope import Polygon, Polytope
from errorfloor.support.products import Box, Orthant, product_of
from errorfloor.values import build

__all__ = [
    "Ball",
    "Box",
    "Ellipsoid",
    "HalfLine",
    "Interval",
    "Orthant",
    "Polygon",
    "Polytope",
    "Reals",
    "Support",
    "from_dict",
    "product_of",
]

SUPPORTS: Mapping[str, type[Support]] = {
    kind.__name__: kind for kind in (Ball, Box, Ellipsoid, HalfLine, Interval, Orthant, Polygon, Polytope, Reals)
}


def from_dict(plain: Mapping[str, Any]) -> Support:
    """Rebuild a support from its ``to_dict`` form.

    >>> from_dict({"type": "Interval", "low": 0.0, "high": 1.0})
    Interval(low=0.0, high=1.0)
    """
    support: Support = build(plain, SUPPORTS, "support")
    return support
