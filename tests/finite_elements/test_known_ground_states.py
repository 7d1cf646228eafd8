"""Shapes whose least eigenvalue is known, each to 1e-6 with a certified gap of at most 1e-3."""

import math

import numpy as np
import pytest
from scipy.special import jn_zeros

from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Polygon

KNOWN = {
    "equilateral triangle": (Polygon([[0, 0], [1, 0], [0.5, math.sqrt(3) / 2]]), 16 * math.pi**2 / 3),
    "right isosceles triangle": (Polygon([[0, 0], [1, 0], [0, 1]]), 5 * math.pi**2),
    "L-shape": (Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]), 9.63972384402194),
    "disc": (Ellipsoid(np.eye(2)), float(jn_zeros(0, 1)[0]) ** 2),
    "ball": (Ball(3, 1.0), math.pi**2),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_ground_state(name):
    support, exact = KNOWN[name]
    found = ground_state(support, np.eye(support.dimension))
    assert exact * (1 - 1e-12) <= found.value / 4 <= exact * (1 + 1e-6)
    assert found.lower_bound / 4 <= exact
    assert found.gap <= 1e-3


def test_images_of_known_ground_states_have_the_same_value():
    matrix = np.array([[2.0, 0.7], [-0.3, 0.5]])
    for name in ("equilateral triangle", "disc"):
        support, exact = KNOWN[name]
        found = ground_state(support.image(matrix, [3.0, -1.0]), matrix @ matrix.T)
        assert found.value / 4 == pytest.approx(exact, rel=1e-6)
        assert found.lower_bound / 4 <= exact


def test_steep_loss_in_a_disc_is_an_oscillator():
    support, _ = KNOWN["disc"]
    found = ground_state(support, np.eye(2), Loss.parse("squared", 2), 3600.0)
    exact = 4 * math.sqrt(3600.0)  # the boundary is fifteen deviations away
    assert exact * (1 - 1e-12) <= found.value <= exact * (1 + 1e-6)
    assert found.gap <= 1e-3
