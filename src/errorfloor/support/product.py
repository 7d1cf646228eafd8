"""Products of one-dimensional supports."""

from collections.abc import Sequence

import numpy as np

from errorfloor.support.base import Support
from errorfloor.support.box import Box
from errorfloor.support.halfline import HalfLine
from errorfloor.support.interval import Interval
from errorfloor.support.orthant import Orthant
from errorfloor.support.polytope import Polytope
from errorfloor.support.reals import Reals


def product_of(sides: Sequence[Support]) -> Support:
    """Give the product of one-dimensional sets, as a box, an orthant or Rᵐ where it is one.

    >>> product_of([Interval(0, 1), Interval(0, 2)])
    Box(low=array([0., 0.]), high=array([1., 2.]))
    """
    if len(sides) == 1:
        return sides[0]
    low, high = (np.concatenate(ends) for ends in zip(*(side.bounding_box for side in sides), strict=True))
    if all(isinstance(side, Interval) for side in sides):
        return Box(low, high)
    if all(isinstance(side, Reals) for side in sides):
        return Reals(len(sides))
    if all(isinstance(side, HalfLine) and side.low == 0 for side in sides):
        return Orthant(len(sides))
    axes = np.eye(len(sides))
    return Polytope(
        A=np.vstack([-axes[np.isfinite(low)], axes[np.isfinite(high)]]),
        b=np.concatenate([-low[np.isfinite(low)], high[np.isfinite(high)]]),
    )
