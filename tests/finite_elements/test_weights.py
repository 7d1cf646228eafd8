"""Another weight of the loss is cheap, continuous and monotone; what cannot be solved is refused in words."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.errors import SupportError
from errorfloor.noise import Loss
from errorfloor.support import Ball, Polygon, Polytope

SQUARED = Loss.parse("squared", 2)
QUADRANGLE = Polygon([[-1, -1], [1, -1], [1, 2], [-1, 1]])


@pytest.mark.parametrize(
    ("support", "loss"),
    [
        (QUADRANGLE, SQUARED),
        (Ball(2, 1.0, [0.5, 0.0]), SQUARED),
    ],
)
def test_value_is_concave_and_loss_falls_with_the_weight(support, loss):
    states = [ground_state(support, np.eye(2), loss, weight, certify=False) for weight in (4.0, 5.0, 6.0)]
    values = [state.value for state in states]
    losses = [state.noise.expected_loss(loss) for state in states]
    assert values[0] < values[1] < values[2]
    assert values[1] > (values[0] + values[2]) / 2
    assert losses[0] > losses[1] > losses[2]
    assert (values[2] - values[0]) / 2 == pytest.approx(losses[1], rel=0.02)  # dΛ/dϱ = Q


@pytest.mark.parametrize("support", [QUADRANGLE, Ball(2, 1.0, [0.5, 0.0])])
def test_weight_can_be_found_for_a_loss_to_ten_digits(support):
    wanted = 0.15 if support is QUADRANGLE else 0.3

    def off(logarithm):
        state = ground_state(support, np.eye(2), SQUARED, math.exp(logarithm), certify=False)
        return state.noise.expected_loss(SQUARED) / wanted - 1

    root = brentq(off, math.log(1.0), math.log(1e4), xtol=1e-13)
    assert abs(off(root)) < 1e-10


def test_value_is_information_plus_loss_of_the_noise():
    K = np.array([[2.0, 0.3], [0.3, 1.0]])
    loss = Loss.parse([[1.0, 0.2], [0.2, 3.0]], 2)
    found = ground_state(QUADRANGLE, K, loss, 7.0)
    own = np.trace(K @ found.noise.information) + 7.0 * found.noise.expected_loss(loss)
    assert found.value == pytest.approx(own, rel=1e-14)
    assert found.gap < 1e-6


def test_an_earlier_result_carries_its_mesh_along():
    first = ground_state(QUADRANGLE, np.eye(2), SQUARED, 3.0, certify=False)
    second = ground_state(QUADRANGLE, np.eye(2), SQUARED, 3.1, certify=False, start=first)
    assert second.memory is first.memory
    assert (second.noise.cells == first.noise.cells).all()
    other = ground_state(Ball(2, 1.0), np.eye(2), certify=False, start=first)
    assert other.memory is not first.memory


def test_progress_is_told_from_nothing_to_one():
    told = []
    triangle = Polygon([[0, 0], [3, 0], [0.4, 2]])
    ground_state(triangle, np.eye(2), certify=False, progress=lambda what, share: told.append((what, share)))
    assert told[-1] == ("finite elements", 1.0)
    assert all(0 <= share <= 1 for _, share in told)


def test_supports_that_are_none_are_refused_where_they_are_made():
    with pytest.raises(SupportError, match="crosses itself"):
        Polygon([[0, 0], [1, 1], [1, 0], [0, 1]])
    with pytest.raises(SupportError, match="crosses itself"):
        Polygon([[0, 0], [4, 0], [4, 3], [2, -1], [0, 3]])
    with pytest.raises(SupportError, match="empty"):
        Polytope(A=[[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]], b=[0.0, -1.0, 1.0])
    with pytest.raises(SupportError, match="flat"):
        Polytope(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
