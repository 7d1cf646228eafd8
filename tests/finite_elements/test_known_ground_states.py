"""Shapes whose least eigenvalue is known, each to 1e-6 with a certified gap of at most 1e-3."""

import math

import numpy as np
import pytest
from scipy.special import jn_zeros

from errorfloor.designer.elements.ellipsoid import EllipsoidSolver, _ground_vector
from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.noise import Loss
from errorfloor.support import Ball, Ellipsoid, Orthant, Polygon, Polytope, Reals

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


def test_half_plane_and_quadrant_with_squared_loss_are_harmonic_oscillators():
    squared = Loss.parse("squared", 2)
    turn = np.array([[math.cos(0.4), -math.sin(0.4)], [math.sin(0.4), math.cos(0.4)]])
    half_plane = Polytope(A=[turn @ [-1.0, 0.0]], b=[0.0])
    for support, sum_of_levels in ((half_plane, 4), (Orthant(2), 6), (Reals(2), 2)):
        found = ground_state(support, np.eye(2), squared, 2.5)
        exact = 2 * math.sqrt(2.5) * sum_of_levels
        assert exact * (1 - 1e-12) <= found.value <= exact * (1 + 1e-6)
        assert found.lower_bound <= exact
        assert found.gap <= 1e-5


def test_plane_with_absolute_loss_is_two_airy_functions():
    found = ground_state(Reals(2), np.eye(2), Loss.parse("absolute", 2), 1.7)
    exact = 2 * 4 * (1.7 / 4) ** (2 / 3) * 1.018792971647471
    assert exact * (1 - 1e-10) <= found.value <= exact * (1 + 1e-6)
    assert found.lower_bound <= exact
    assert found.gap <= 1e-5


def test_steep_loss_in_a_disc_is_an_oscillator():
    support, _ = KNOWN["disc"]
    found = ground_state(support, np.eye(2), Loss.parse("squared", 2), 3600.0)
    exact = 4 * math.sqrt(3600.0)  # the boundary is fifteen deviations away
    assert exact * (1 - 1e-12) <= found.value <= exact * (1 + 1e-6)
    assert found.gap <= 1e-3


def test_a_loss_that_goes_below_zero_in_an_ellipsoid_is_solved_as_closely_as_one_that_does_not():
    """ℓ − c costs ϱc less than ℓ, whatever the noise, so refinement ends at the same degree."""
    body, weight, shift = Ellipsoid([[1.0, 0.3], [0.3, 0.5]]), 300.0, 9.0

    def solved(least):
        loss = Loss.parse(lambda w: (w**2).sum(axis=-1) + (w[..., 0] - 0.3) ** 4 - least, 2)
        return EllipsoidSolver(Isotropic(body, np.eye(2), loss)).solve(weight, 1e-9, lambda *_: None)

    above, below = solved(0.0), solved(shift)
    assert below.quotient < 0 < above.quotient
    assert below.degree == above.degree
    assert 4 * below.quotient + weight * shift == pytest.approx(4 * above.quotient, rel=1e-10)


def test_the_ground_vector_of_a_large_form_may_have_a_negative_level():
    form = np.random.default_rng(1).normal(size=(400, 400))
    form = form + form.T
    vector = _ground_vector(form)
    assert vector @ form @ vector == pytest.approx(np.linalg.eigvalsh(form)[0], rel=1e-10)
