"""Non-linear systems."""

import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem, NonlinearSystem
from errorfloor.errors import IllPosedError, InputError
from trajectory_systems import VEHICLE


def pendulum(horizon=40):
    def step(x):
        return np.stack([x[..., 0] + 0.1 * x[..., 1], x[..., 1] - 0.1 * np.sin(x[..., 0])], axis=-1)

    return NonlinearSystem(step, lambda x: x[..., 0], horizon)


def weight(count=50, spread=0.3):
    return np.random.default_rng(1).normal([1.0, 0.0], spread, size=(count, 2))


def test_a_linear_system_gives_the_plan_of_theorem_four():
    A, C = np.array(VEHICLE[0]), np.array(VEHICLE[1])
    bent = NonlinearSystem(lambda x: x @ A.T, lambda x: x @ C.T, 12).protect(weight=weight(), max_loss=3.0)
    straight = LinearSystem(A, C, 12).protect(max_loss=3.0)
    assert bent.covariance == pytest.approx(straight.covariance, rel=1e-6)
    assert bent.information == pytest.approx(straight.information, rel=1e-6)
    mean, error = bent.measured_loss(weight(5), rng=2)
    assert abs(mean - 3.0) < 6 * error


def test_measured_quality_agrees_with_the_linearisation_where_noise_is_small_and_is_told_apart_where_it_is_not():
    plan = pendulum().protect(weight=weight(), max_loss=0.01)
    mean, error = plan.measured_loss(weight(200), draws=200, rng=3)
    assert abs(mean - 0.01) < 6 * error + 0.02 * 0.01
    rough = pendulum().protect(weight=weight(), max_loss=500.0)
    mean, error = rough.measured_loss(weight(200), draws=200, rng=3)
    assert abs(mean - 500.0) > 6 * error


def test_answers_tell_no_more_than_the_shifted_start():
    # the information of all answers about the start, by differences of the exact likelihood of a 1-D system
    cubic = NonlinearSystem(lambda x: x - 0.1 * x**3, lambda x: np.tanh(x), 3)
    plan = cubic.protect(weight=np.linspace(-1, 1, 9)[:, None], max_loss=0.1)
    variance = float(plan.covariance[0, 0])
    assert plan.information[0, 0] == pytest.approx(1 / variance)
    # the first answer determines x₀ + z, and the others are functions of it: equality here, never more
    x = np.linspace(-9, 9, 4001) * np.sqrt(variance)
    density = np.exp(-(x**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    cells = np.tanh(0.3 + x)  # seen in coarse cells: information can only fall
    edges = np.linspace(-1, 1, 15)
    place = np.digitize(cells, edges)
    shift = 1e-4
    moved = np.exp(-((x - shift) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    step = x[1] - x[0]
    p = np.bincount(place, density * step, minlength=16)
    q = np.bincount(place, moved * step, minlength=16)
    seen = p > 1e-12
    told = ((q - p)[seen] ** 2 / p[seen]).sum() / shift**2
    assert told <= plan.information[0, 0]


def test_answers_start_at_the_shifted_start_and_obey_the_system():
    plan = pendulum().protect(weight=weight(), max_loss=0.5)
    z = plan.start.draw(1, 7)[0]
    assert plan.answers([1.0, 0.2], rng=7) == pytest.approx(pendulum().carry(np.array([1.0, 0.2]) + z))


def test_mistakes_are_named():
    with pytest.raises(InputError, match="horizon must be a whole number of at least 1, got 0"):
        pendulum(0)
    with pytest.raises(InputError, match="must be functions"):
        NonlinearSystem("step", lambda x: x, 3)
    with pytest.raises(InputError, match="step must keep the leading shape"):
        NonlinearSystem(lambda x: x[..., :1], lambda x: x, 3).protect(weight=weight(), max_loss=1.0)
    with pytest.raises(InputError, match="step gave a number that is not finite"):
        NonlinearSystem(lambda x: x * 1e200, lambda x: x, 9).protect(weight=weight(), max_loss=1.0)
    with pytest.raises(InputError, match="weight must be finite states"):
        pendulum().protect(weight=[[np.nan, 0.0]], max_loss=1.0)
    with pytest.raises(IllPosedError, match="hardly depend on some direction"):
        NonlinearSystem(lambda x: x, lambda x: x[..., 0], 5).protect(weight=weight(), max_loss=1.0)
    with pytest.raises(IllPosedError, match="set max_loss or loss_weight"):
        pendulum().protect(weight=weight())
    with pytest.raises(InputError, match="positive definite here"):
        pendulum().protect(weight=weight(), max_loss=1.0, protect=[[1.0, 0.0], [0.0, 0.0]])
    with pytest.raises(InputError, match="state must have 2 entries"):
        pendulum().protect(weight=weight(), max_loss=1.0).answers([1.0])
