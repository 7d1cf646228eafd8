"""The corners of bounded sets with flat faces."""

import itertools

import numpy as np

from errorfloor.checks import Array
from errorfloor.support import Polygon, Polytope, Support


def corners(support: Support) -> Array:
    """Give the corners of a bounded interval, box, polygon or polytope.

    >>> from errorfloor.support import Interval
    >>> corners(Interval(0, 1))
    array([[0.],
           [1.]])
    """
    if isinstance(support, Polygon):
        return support.vertices
    if isinstance(support, Polytope) and support.dimension > 1:
        return np.asarray(support.facets.center + support.facets.size * support.facets.corners)
    return np.array(list(itertools.product(*zip(*support.bounding_box, strict=True))))
