"""Floors for the start, functions of it and later states, and the smoothers that attain them."""

import re

import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem, Robust, smooth
from errorfloor.errors import InputError
from trajectory_systems import VEHICLE, random_system, random_weight, stacked

PATHS = 20_000


def root_mean_square(errors):
    return np.sqrt((errors**2).mean(axis=0))


def test_unprotected_directions_are_released_exactly_and_said_so():
    vehicle = LinearSystem(*VEHICLE, 10, states=("position", "speed"))
    plan = vehicle.protect(max_loss=11.0, protect="position")
    assert plan.covariance == pytest.approx(np.diag([1.0, 0.0]), abs=1e-12)
    assert plan.released_exactly == pytest.approx(np.array([[0.0], [1.0]]))
    assert plan.floor.per_entry == pytest.approx([1.0, 0.0])
    assert np.isinf(plan.information[1, 1])
    assert plan.information[0, 0] == pytest.approx(1.0)
    assert "Released exactly, for it is not protected: speed" in plan.explain()
    speeds = np.diff(plan.answers([3.0, 2.0], rng=1)[:, 0])
    assert speeds == pytest.approx(np.full(10, 2.0))


def test_a_singular_weight_on_slanted_directions_gives_the_geometric_mean():
    rng = np.random.default_rng(1)
    for seed in range(20):
        system = random_system(np.random.default_rng([8, seed]))
        n = system.dimension
        if n < 2:
            continue
        direction = rng.normal(size=(n, 1))
        M = direction @ direction.T
        plan = system.protect(loss_weight=1.0, protect=M)
        G = system.gramian
        assert plan.covariance @ G @ plan.covariance == pytest.approx(M, rel=1e-6, abs=1e-8 * np.abs(M).max())
        assert plan.released_exactly.shape == (n, n - 1)
        assert np.abs(plan.released_exactly.T @ plan.covariance).max() < 1e-7
        assert (plan.floor.per_entry == 0).all()  # no axis avoids what is released


def test_floors_of_later_states_and_with_side_information_are_those_of_the_covariance():
    rng = np.random.default_rng(2)
    for seed in range(30):
        system = random_system(np.random.default_rng([9, seed]))
        n = system.dimension
        plan = system.protect(loss_weight=1.0, protect=random_weight(rng, n))
        carried = system.transition(system.horizon)
        later = np.trace(carried @ plan.covariance @ carried.T)
        assert plan.floor.biased(carried) ** 2 == pytest.approx(later, rel=1e-6)
        side = random_weight(rng, n)
        known = np.linalg.inv(np.linalg.inv(plan.covariance) + side)
        assert plan.knowledge.floor(side_information=side).total ** 2 == pytest.approx(np.trace(known), rel=1e-6)


def test_least_squares_on_all_answers_attains_the_floor_of_every_entry():
    for seed in range(3):
        system = random_system(np.random.default_rng([10, seed]), most=4)
        plan = system.protect(max_loss=3.0)
        x = np.arange(1.0, system.dimension + 1)
        answers = system.carry(x) + plan.draws(PATHS, rng=seed)
        errors = np.linalg.lstsq(stacked(system), answers.reshape(PATHS, -1).T, rcond=None)[0].T - x
        assert np.abs(errors.mean(axis=0)).max() < 6 * np.sqrt(np.trace(plan.covariance) / PATHS)
        assert (errors**2).sum(axis=1).mean() ** 0.5 == pytest.approx(plan.floor.total, rel=0.02)
        rows = np.eye(system.dimension)
        assert root_mean_square(errors) == pytest.approx([plan.floor.biased([row]) for row in rows], rel=0.02)


def test_smoother_attains_the_floor_with_side_information_at_every_step():
    vehicle = LinearSystem(*VEHICLE, 12)
    plan = vehicle.protect(max_loss=30.0)
    prior = np.array([[9.0, 0.5], [0.5, 0.04]])
    rng = np.random.default_rng(3)
    starts = rng.multivariate_normal([1.0, 0.5], prior, size=PATHS)
    answers = vehicle.carry(starts) + plan.draws(PATHS, rng=4)
    found = smooth(plan, answers, prior_mean=[1.0, 0.5], prior_covariance=prior)
    side = np.linalg.inv(prior)
    for k in (0, 5, 12):
        floor = plan.knowledge.floor(side_information=side).biased(vehicle.transition(k))
        errors = found.states[:, k] - starts @ vehicle.transition(k).T
        assert (errors**2).sum(axis=1).mean() ** 0.5 == pytest.approx(floor, rel=0.02)
        assert np.trace(found.covariances[k]) ** 0.5 == pytest.approx(floor, rel=1e-6)


def test_smoother_agrees_with_conditioning_the_joint_normal_law():
    rng = np.random.default_rng(5)
    for seed in range(8):
        system = random_system(np.random.default_rng([11, seed]), most=3)
        n = system.dimension
        plan = system.protect(max_loss=2.0)
        prior, variance, inputs = random_weight(rng, n), 0.3, 0.1 * random_weight(rng, n)
        found = smooth(
            plan,
            rng.normal(size=(system.horizon + 1, system.outputs)),
            prior_mean=np.zeros(n),
            prior_covariance=prior,
            step_variance=variance,
            input_covariance=inputs,
        )
        steps = system.horizon + 1
        C = system.output_matrix(0)
        carried = [system.transition(k) for k in range(steps)]
        source = np.zeros((steps * n, n * steps))  # states from the start and the inputs
        for k in range(steps):
            source[k * n : (k + 1) * n, :n] = carried[k]
            for j in range(k):
                source[k * n : (k + 1) * n, (j + 1) * n : (j + 2) * n] = carried[k - 1 - j]
        law = np.zeros((n * steps, n * steps))
        law[:n, :n] = prior
        for j in range(1, steps):
            law[j * n : (j + 1) * n, j * n : (j + 1) * n] = inputs
        states = source @ law @ source.T
        seen = np.kron(np.eye(steps), C)
        noise = np.vstack([C @ one for one in carried])
        total = seen @ states @ seen.T + noise @ plan.covariance @ noise.T + variance * np.eye(len(seen))
        left = states - states @ seen.T @ np.linalg.solve(total, seen @ states)
        assert found.covariances[0] == pytest.approx(left[:n, :n], rel=1e-6, abs=1e-9)
        assert found.covariances[-1] == pytest.approx(left[-n:, -n:], rel=1e-6, abs=1e-9)


def test_noise_of_the_steps_adds_to_the_floor_as_stated_and_bounds_any_path():
    vehicle = LinearSystem(*VEHICLE, 8)
    plan = vehicle.protect(max_loss=5.0)
    robust = Robust(plan, 0.7)
    psi = np.column_stack([np.ones(9), np.arange(9.0)])
    law = psi @ plan.covariance @ psi.T + 0.49 * np.eye(9)
    assert robust.floor.information == pytest.approx(psi.T @ np.linalg.solve(law, psi), rel=1e-9)
    assert robust.expected_loss == pytest.approx(5.0 + 9 * 0.49)
    drawn = np.stack([robust.draw(rng=seed)[:, 0] for seed in range(1500)])
    assert np.cov(drawn.T) == pytest.approx(law, abs=0.2 * law.max())
    # whatever the paths of two starts are, no test tells them apart better than the shift of the means allows
    rng = np.random.default_rng(6)
    for _ in range(200):
        shift = rng.uniform(-1, 1, size=9)
        best = np.sqrt(shift @ np.linalg.solve(law, shift))
        assert best <= 1 / robust.any_path().worst_entry + 1e-12


def test_growing_noise_keeps_the_floor_of_any_path_however_long_it_is():
    floors = []
    for horizon in (10, 100, 1000):
        plan = LinearSystem(*VEHICLE, horizon).protect(max_loss=1.0)
        k = np.arange(horizon + 1)
        floors.append(float(Robust(plan, 3 * np.sqrt((k + 1) * (k + 2))).any_path(stretch=2.0).worst_entry))
    assert floors == sorted(floors, reverse=True)
    assert floors[-1] >= 1.5


def test_robust_noise_needs_a_plan_without_a_bound():
    plan = LinearSystem(*VEHICLE, 4).protect(bound=1.0)
    with pytest.raises(InputError, match="add it to a plan without one"):
        Robust(plan, 1.0)


def test_two_starts_are_told_apart_no_better_than_stated():
    vehicle = LinearSystem(*VEHICLE, 6)
    plan = vehicle.protect(max_loss=4.0)
    from scipy.stats import norm

    for i, entry in enumerate(np.eye(2)):
        for h in (0.1, 0.5, 2.0):
            apart = h * np.sqrt(entry @ np.linalg.solve(plan.covariance, entry))
            assert norm.cdf(apart / 2) <= plan.floor.distinguish(h, entry=i) + 1e-12


UNITS = {"position": "m", "speed": "m/s"}
CAR = LinearSystem(*VEHICLE, 20, states=("position", "speed"))


def test_every_state_is_stated_in_a_unit_of_its_own():
    plan = CAR.protect(max_loss=1e4)
    words = plan.explain(unit=UNITS)
    position, speed = plan.floor.per_entry
    stated = re.search(r"at least position ([\d.]+) m, speed ([\d.]+) m/s;", words)
    assert [float(value) for value in stated.groups()] == pytest.approx([position, speed], rel=0.01)
    with pytest.raises(
        InputError, match=r"unit 'm' cannot be that of all 2 states: give each its own, \{'position': …, 'speed': …\}"
    ):
        plan.explain(unit="m")
    with pytest.raises(InputError, match="'height' is not a state of the system; its states are position, speed"):
        plan.explain(unit={"height": "m"})
    assert "at least level 1 m;" in LinearSystem([[1.0]], [[1.0]], 3, states=("level",)).protect(max_loss=4.0).explain(
        unit="m"
    )


def test_one_known_position_leaves_what_conditioning_a_gaussian_leaves():
    plan = CAR.protect(max_loss=1e4)
    joint, steps = plan.covariance, range(1, CAR.horizon + 1)
    rows = [CAR.output_matrix(k) @ CAR.transition(k) for k in steps]
    left = [joint - joint @ h.T @ np.linalg.inv(h @ joint @ h.T) @ h @ joint for h in rows]
    expected = np.sqrt(np.array([np.diag(one) for one in left]))
    answers = np.array([h @ plan.knowledge.spread for h in rows])
    assert plan.knowledge.left_by(answers) == pytest.approx(expected, rel=1e-6)
    words = plan.explain(unit=UNITS)
    assert "reveals the noise of the whole trip" not in words
    stated = re.search(
        r"an error of at least position ([\d.]+) m \(([\d.]+) if it is the last; without it ([\d.]+)\)", words
    )
    wanted = [expected[:, 0].min(), expected[-1, 0], np.sqrt(joint[0, 0])]
    assert [float(value) for value in stated.groups()] == pytest.approx(wanted, rel=0.01)


def test_one_known_position_reveals_the_noise_of_a_plan_for_the_position_alone():
    words = CAR.protect(max_loss=1e4, protect="position").explain(unit=UNITS)
    assert "One known position reveals the noise of the whole trip." in words


def test_a_known_answer_may_reveal_one_state_and_not_another():
    both = np.kron(np.eye(2), CAR.A[0])
    system = LinearSystem(both, [[1.0, 0, 0, 0], [0, 0, 1.0, 0]], 20, states=("east", "pace", "north", "climb"))
    words = system.protect(max_loss=100.0, protect=["east", "north", "climb"]).explain()
    assert re.search(r"at least north [\d.]+ \(.*\), climb [\d.]+ \(.*\); east may be revealed\.", words)
