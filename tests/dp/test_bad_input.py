"""What is refused, and in which words."""

import math

import numpy as np
import pytest

from errorfloor import dp
from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise import BesselBall, Gaussian, Laplace, Product, RaisedCosine
from errorfloor.noise.base import ScalarNoise

PLANE = Gaussian(np.eye(2))


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_sensitivity_on_the_line_is_positive(bad):
    with pytest.raises(InputError, match=f"sensitivity must be positive, got {bad}"):
        dp.delta(Laplace(1.0), bad, 1.0)


@pytest.mark.parametrize("bad", [math.inf, math.nan, [1.0, 2.0], "wide"])
def test_sensitivity_on_the_line_is_one_finite_number(bad):
    with pytest.raises(InputError, match="sensitivity must be"):
        dp.delta(Laplace(1.0), bad, 1.0)


def test_sensitivity_of_vectors_is_an_array_of_shifts():
    with pytest.raises(InputError, match=r"in 2 dimensions must be a k×2 array of shifts, got 1\.0"):
        dp.delta(PLANE, 1.0, 1.0)
    with pytest.raises(InputError, match="must be a k×2 array of shifts, got shape 1×3"):
        dp.delta(PLANE, [1.0, 2.0, 3.0], 1.0)
    with pytest.raises(InputError, match="at least one of them not zero"):
        dp.delta(PLANE, [[0.0, 0.0]], 1.0)
    with pytest.raises(InputError, match="sensitivity must be finite everywhere, got nan"):
        dp.delta(PLANE, [[0.0, math.nan]], 1.0)


@pytest.mark.parametrize("bad", [-0.1, math.nan, [0.0, -1.0]])
def test_epsilon_is_not_negative(bad):
    with pytest.raises(InputError, match="epsilon must be at least 0, and may be infinite, got"):
        dp.delta(Laplace(1.0), 1.0, bad)


@pytest.mark.parametrize("bad", [-0.1, 1.1])
def test_delta_is_a_probability(bad):
    with pytest.raises(InputError, match=f"delta must lie between 0 and 1, got {bad}"):
        dp.epsilon(Laplace(1.0), 1.0, bad)


def test_only_noises_have_a_curve():
    with pytest.raises(InputError, match=r"noise must be a noise of errorfloor\.noise, got str"):
        dp.delta("laplace", 1.0, 1.0)


def test_families_not_known_to_be_log_concave_are_refused():
    class TwoHumps(ScalarNoise):
        """A family of one's own."""

    TwoHumps.__abstractmethods__ = frozenset()
    with pytest.raises(NoClosedFormError, match="TwoHumps is not known to be log-concave: use a noise of"):
        dp.delta(TwoHumps(), 1.0, 1.0)


def test_coordinates_that_move_together_and_balls_are_refused_with_advice():
    noise = Product((RaisedCosine(0, 1),) * 2)
    with pytest.raises(NoClosedFormError, match=r"2 coordinates of independent noise move at once.*add up the ε"):
        dp.delta(noise, [0.1, 0.1], 1.0)
    assert dp.delta(noise, [0.1, 0.0], 1.0) < 0.1
    with pytest.raises(NoClosedFormError, match="noise in a ball has no formula: state it for noise on a box"):
        dp.delta(BesselBall(2, 1.0), [0.3, 0.0], 1.0)
