"""Mistakes are named with what was given, what is allowed and what to do."""

import json

import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem, plan_from_dict, plan_to_dict, smooth
from errorfloor.errors import IllPosedError, InputError
from trajectory_systems import VEHICLE


@pytest.mark.parametrize(
    ("A", "C", "horizon", "words"),
    [
        ([[1.0, 1.0], [0.0, 1.0]], [[1.0, 0.0, 0.0]], 3, "C must have one column for each of the 2 states, got 3"),
        ([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0]], [[1.0, 0.0]], 3, "A must be square, got 2×3"),
        ([[1.0]], [[1.0]], 0, "horizon must be a whole number of at least 1, got 0"),
        ([[1.0]], [[1.0]], 2.5, "horizon must be a whole number"),
        ([[float("nan")]], [[1.0]], 3, "A must be finite everywhere, got nan"),
        ([[1.0]], [[float("inf")]], 3, "C must be finite everywhere, got inf"),
        (np.ones((2, 1, 1)), [[1.0]], 3, "A must be a matrix, or 3 matrices"),
        ([[1.0]], np.ones((3, 1, 1)), 3, "C must be a matrix, or 4 matrices"),
        ([["a"]], [[1.0]], 3, "A must be numbers"),
        ([[1.0], [1.0, 2.0]], [[1.0]], 3, "A must be numbers in a regular grid"),
        ([[1e80]], [[1.0]], 3, "A must not exceed"),
    ],
)
def test_systems_that_are_none(A, C, horizon, words):
    with pytest.raises(InputError, match=words):
        LinearSystem(A, C, horizon)


def test_names_of_states_must_fit():
    with pytest.raises(InputError, match="states must be 2 different names"):
        LinearSystem(*VEHICLE, 3, states=("a", "a"))
    with pytest.raises(InputError, match="states must be 2 different names"):
        LinearSystem(*VEHICLE, 3, states=("a",))


def test_what_is_asked_of_a_plan_must_make_sense():
    vehicle = LinearSystem(*VEHICLE, 3, states=("position", "speed"))
    with pytest.raises(IllPosedError, match="noise of infinite variance is optimal: set max_loss or loss_weight"):
        vehicle.protect()
    with pytest.raises(IllPosedError, match="give one of them"):
        vehicle.protect(loss_weight=1.0, max_loss=1.0)
    with pytest.raises(InputError, match="max_loss must be positive, got -1"):
        vehicle.protect(max_loss=-1)
    with pytest.raises(InputError, match="names 'height', which is no state; states are position, speed"):
        vehicle.protect(max_loss=1.0, protect="height")
    with pytest.raises(InputError, match="states 0 … 1, got 2"):
        vehicle.protect(max_loss=1.0, protect=[2])
    with pytest.raises(InputError, match="protect must be 2×2"):
        vehicle.protect(max_loss=1.0, protect=np.eye(3))
    with pytest.raises(InputError, match="protect must be symmetric"):
        vehicle.protect(max_loss=1.0, protect=[[1.0, 2.0], [0.0, 1.0]])
    with pytest.raises(InputError, match="protect is zero"):
        vehicle.protect(max_loss=1.0, protect=np.zeros((2, 2)))
    with pytest.raises(InputError, match="method must be"):
        vehicle.protect(bound=1.0, method="worst")


def test_a_target_that_no_answer_depends_on_is_an_error_that_says_it_is_safe():
    system = LinearSystem(np.eye(2), [[1.0, 0.0]], 4, states=("seen", "hidden"))
    with pytest.raises(InputError, match="no answer depends on hidden: it is never at risk"):
        system.protect(max_loss=1.0, protect=["seen", "hidden"])
    with pytest.raises(InputError, match="never at risk, so there is nothing to protect"):
        system.protect(max_loss=1.0, protect=np.diag([0.0, 1.0]))
    with pytest.raises(InputError, match="C vanishes"):
        LinearSystem(np.eye(2), [[0.0, 0.0]], 4).protect(max_loss=1.0)
    assert system.protect(max_loss=1.0).never_at_risk.T.tolist() == [[0.0, 1.0]]


def test_weights_must_price_what_is_shown():
    vehicle = LinearSystem(*VEHICLE, 3)
    with pytest.raises(IllPosedError, match="weights are zero on every answer"):
        vehicle.protect(max_loss=1.0, weights=[1.0, 0.0, 0.0, 0.0])
    with pytest.raises(InputError, match="weights must be 4 numbers"):
        vehicle.protect(max_loss=1.0, weights=[1.0, 1.0])
    with pytest.raises(InputError, match="not negative"):
        vehicle.protect(max_loss=1.0, weights=[1.0, -1.0, 1.0, 1.0])


def test_functions_states_steps_and_answers_must_have_the_right_shape():
    vehicle = LinearSystem(*VEHICLE, 3)
    plan = vehicle.protect(max_loss=1.0)
    with pytest.raises(InputError, match="step must be one of 0 … 3, got 4"):
        vehicle.transition(4)
    with pytest.raises(InputError, match="state must"):
        plan.answers([1.0])
    with pytest.raises(InputError, match=r"answers must have shape \(…, 4, 1\)"):
        smooth(plan, np.ones(4), prior_mean=[0, 0], prior_covariance=np.eye(2))
    with pytest.raises(InputError, match="side_information must be 2×2"):
        plan.knowledge.floor(side_information=[[1.0]])


@pytest.mark.parametrize("bound", [None, 2.0])
def test_plans_come_back_from_json_to_the_last_bit(bound):
    vehicle = LinearSystem(*VEHICLE, 7, states=("position", "speed"))
    quality = {"max_loss": 3.0, "weights": np.arange(1.0, 9.0)} if bound is None else {"method": "product"}
    plan = vehicle.protect(bound=bound, step="0.01", **quality)
    again = plan_from_dict(json.loads(json.dumps(plan_to_dict(plan))))
    assert np.array_equal(again.draws(50, rng=1), plan.draws(50, rng=1))
    assert np.array_equal(again.floor.per_entry, plan.floor.per_entry)
    assert again.expected_loss == plan.expected_loss
    assert again.explain() == plan.explain()
    with pytest.raises(InputError, match="this plan is damaged"):
        plan_from_dict({"type": "Plan"})
