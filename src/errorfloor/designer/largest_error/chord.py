"""The longest chord of C⁻¹W: what Tr I⁻¹ can approach, and at which price."""

import itertools
import math

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.support import Ball, Ellipsoid, Polygon, Polytope, Support


def chord_supremum(support: Support, C: Array) -> float:
    """diam(C⁻¹W)²/4π².

    >>> from errorfloor.support import Box
    >>> round(chord_supremum(Box([0, 0], [1, 1]), np.eye(2)), 7)
    0.0506606
    """
    return diameter(support, C) ** 2 / (4 * math.pi**2)


def diameter(support: Support, C: Array) -> float:
    """The diameter of C⁻¹W."""
    return float(np.linalg.norm(_longest(support, C)))


def longest_direction(support: Support, C: Array) -> Array:
    """The unit vector along the longest chord of C⁻¹W.

    >>> from errorfloor.support import Box
    >>> np.abs(longest_direction(Box([0, 0], [4, 3]), np.eye(2)))
    array([0.8, 0.6])
    """
    chord = _longest(support, C)
    return np.asarray(chord / np.linalg.norm(chord))


def _longest(support: Support, C: Array) -> Array:
    if not support.is_bounded:
        raise InputError("the diameter of an unbounded support is infinite")
    inverse = np.linalg.inv(C)
    if isinstance(support, (Ball, Ellipsoid)):
        values, vectors = np.linalg.eigh(inverse @ support.shape @ inverse.T)
        return np.asarray(2 * math.sqrt(float(values[-1])) * vectors[:, -1])
    points = _corners(support) @ inverse.T
    between = points[:, None, :] - points[None, :, :]
    length = np.linalg.norm(between, axis=-1)
    return np.asarray(between[np.unravel_index(int(np.argmax(length)), length.shape)])


def _corners(support: Support) -> Array:
    """Give the corners of a bounded interval, box, polygon or polytope."""
    if isinstance(support, Polygon):
        return support.vertices
    if isinstance(support, Polytope) and support.dimension > 1:
        return np.asarray(support.facets.center + support.facets.size * support.facets.corners)
    return np.array(list(itertools.product(*zip(*support.bounding_box, strict=True))))
