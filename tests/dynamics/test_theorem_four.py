"""The best draw on the initial state: Theorem 4, corrected, and the traffic example."""

import math

import cvxpy
import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem
from trajectory_systems import VEHICLE, random_system, random_weight, stacked

SYSTEMS = [random_system(np.random.default_rng([6, seed])) for seed in range(100)]


def closed_form(T, weight=1.0):
    D = 4 * T**4 + 4 * T**3 + 13 * T**2 - 12 * T + 36
    plus = math.sqrt((T + 1) * (2 * T**2 + T + 6 + math.sqrt(D)))
    minus = (T + 1) * math.sqrt(12 * T * (T + 2)) / plus
    return (plus + minus) / (2 * math.sqrt(3 * weight)), 2 * math.sqrt(3 / weight) * (1 / plus + 1 / minus)


def test_traffic_example_agrees_with_its_closed_form():
    for T in range(1, 201):
        weight = 0.5 + T / 100
        plan = LinearSystem(*VEHICLE, T).protect(loss_weight=weight)
        loss, floor = closed_form(T, weight)
        assert plan.expected_loss == pytest.approx(loss, rel=1e-10)
        assert plan.floor.total**2 == pytest.approx(floor, rel=1e-10)
        assert np.trace(plan.covariance) == pytest.approx(floor, rel=1e-10)
        gramian = np.array([[T + 1, T * (T + 1) / 2], [T * (T + 1) / 2, T * (T + 1) * (2 * T + 1) / 6]])
        product = plan.covariance @ gramian @ plan.covariance * weight
        assert product == pytest.approx(np.eye(2), abs=1e-10)


def test_floor_falls_as_the_root_of_the_horizon_and_the_loss_grows_as_its_power_three_halves():
    near, far = (LinearSystem(*VEHICLE, T).protect(loss_weight=1.0) for T in (50_000, 100_000))
    assert math.log2(far.floor.total**2 / near.floor.total**2) == pytest.approx(-0.5, abs=1e-4)
    assert math.log2(far.expected_loss / near.expected_loss) == pytest.approx(1.5, abs=1e-4)


def test_weight_of_one_over_t_keeps_the_floor_constant():
    floors = [LinearSystem(*VEHICLE, T).protect(loss_weight=4 / T).floor.total ** 2 for T in (1000, 10_000, 100_000)]
    assert floors == pytest.approx([1, 1, 1], rel=2e-3)
    assert floors[-1] == pytest.approx(1, rel=2e-5)


def test_loss_is_that_of_the_path_and_its_bound_is_met():
    rng = np.random.default_rng(1)
    for system in SYSTEMS[:30]:
        M = random_weight(rng, system.dimension)
        plan = system.protect(max_loss=2.5, protect=M)
        psi = stacked(system)
        assert np.trace(psi @ plan.covariance @ psi.T) == pytest.approx(2.5, rel=1e-9)
        assert plan.expected_loss == pytest.approx(2.5, rel=1e-9)
        weighted = system.protect(loss_weight=plan.certificate.loss_weight, protect=M)
        assert weighted.covariance == pytest.approx(plan.covariance, rel=1e-7, abs=1e-12)
        assert np.trace(M @ plan.information) == pytest.approx(plan.certificate.value, rel=1e-8)


def other_covariances(rng, system, plan):
    """A thousand covariances of the stacked noise, of many kinds, each with the plan's loss."""
    psi = stacked(system)
    size = len(psi)
    found = np.empty((1000, size, size))
    found[0] = np.eye(size)
    found[1:200] = np.exp(rng.normal(size=(199, size)))[:, :, None] * np.eye(size)
    decay = rng.uniform(-0.99, 0.99, size=200)
    lag = np.abs(np.arange(size)[:, None] - np.arange(size))
    found[200:400] = decay[:, None, None] ** lag
    loose = rng.normal(size=(300, size, size)) * np.exp(rng.normal(size=(300, 1, size)))
    found[400:700] = loose @ loose.transpose(0, 2, 1)
    near = np.linalg.cholesky(plan.covariance) @ (
        np.eye(system.dimension)
        + rng.normal(size=(300, system.dimension, system.dimension)) * rng.uniform(0, 0.5, (300, 1, 1))
    )
    carried = psi @ near
    found[700:] = carried @ carried.transpose(0, 2, 1) + 1e-4 * plan.expected_loss / size * np.eye(size)
    found[1:] += 1e-9 * np.trace(found[1:], axis1=1, axis2=2)[:, None, None] / size * np.eye(size)
    return found * (plan.expected_loss / np.trace(found, axis1=1, axis2=2))[:, None, None]


def test_no_gaussian_of_equal_quality_tells_less():
    rng = np.random.default_rng(2)
    higher = total = 0
    for system in SYSTEMS:
        M = random_weight(rng, system.dimension)
        plan = system.protect(max_loss=1.0, protect=M)
        least = float(np.trace(M @ plan.information))
        psi = stacked(system)
        information = psi.T @ np.linalg.solve(other_covariances(rng, system, plan), psi[None])
        told = np.einsum("ij,kji->k", M, information)
        assert told.min() >= least * (1 - 1e-7)
        # the floor that follows from Tr(M I) is the larger for it; Tr I⁻¹ itself need not be, so it is counted
        assert (np.trace(M) ** 2 / told).max() <= np.trace(M) ** 2 / least * (1 + 1e-7)
        totals = np.trace(np.linalg.inv(information), axis1=1, axis2=2)
        higher += int((totals > np.trace(plan.covariance) * (1 + 1e-9)).sum())
        total += len(totals)
    assert 0 < higher < total  # some others have a higher Tr I⁻¹: only the weighted information is claimed


def test_no_covariance_that_a_conic_solver_finds_tells_less():
    rng = np.random.default_rng(3)
    for system in SYSTEMS:
        psi = stacked(system)
        M = random_weight(rng, system.dimension)
        plan = system.protect(loss_weight=1.0, protect=M)
        scale = plan.expected_loss
        covariance = cvxpy.Variable((len(psi), len(psi)), PSD=True)
        told = cvxpy.matrix_frac(psi @ np.linalg.cholesky(M), covariance * scale)
        problem = cvxpy.Problem(cvxpy.Minimize(told / scale + cvxpy.trace(covariance)))
        problem.solve(solver="CLARABEL")
        assert problem.value * scale == pytest.approx(plan.certificate.value, rel=2e-4)
        values, axes = np.linalg.eigh(covariance.value * scale)  # the solver's matrix is on the cone but for rounding
        found = (axes * np.maximum(values, 1e-8 * values[-1])) @ axes.T
        cost = np.trace(M @ psi.T @ np.linalg.solve(found, psi)) + np.trace(found)
        assert cost >= plan.certificate.value * (1 - 1e-9)


def test_independent_noise_is_ever_worse_on_longer_trips():
    times = []
    for horizon in (3, 10, 30, 100, 300):
        system = LinearSystem(*VEHICLE, horizon)
        one, psi = system.protect(max_loss=3.0), stacked(system)
        each = psi.T @ psi * (horizon + 1) / 3.0  # a variance of 3/(T + 1) on every number
        times.append(np.trace(each) / np.trace(one.information))
        spread = np.sqrt(np.linalg.eigvalsh(system.gramian))
        assert times[-1] == pytest.approx((horizon + 1) * (spread**2).sum() / spread.sum() ** 2, rel=1e-9)
    assert times == sorted(times)
    assert times[-1] == pytest.approx(300, rel=0.05)  # the loss of one draw is nearly all along one direction


def test_quality_weights_price_each_step():
    rng = np.random.default_rng(4)
    for system in SYSTEMS[:20]:
        weights = rng.uniform(0.1, 5, size=system.horizon + 1)
        plan = system.protect(loss_weight=2.0, weights=weights)
        psi = stacked(system)
        priced = psi.T @ np.diag(np.repeat(weights, system.outputs)) @ psi
        assert plan.covariance @ priced @ plan.covariance * 2.0 == pytest.approx(np.eye(system.dimension), abs=1e-7)
        assert np.trace(priced @ plan.covariance) == pytest.approx(plan.expected_loss, rel=1e-8)
        matrices = np.array([random_weight(rng, system.outputs) for _ in weights])
        plan = system.protect(max_loss=2.0, weights=matrices)
        size = system.outputs
        lost = sum(
            np.trace(matrices[k] @ (rows := psi[k * size : (k + 1) * size]) @ plan.covariance @ rows.T)
            for k in range(len(weights))
        )
        assert lost == pytest.approx(2.0, rel=1e-8)


def test_drawn_paths_have_the_covariance_and_loss_of_the_plan():
    system = random_system(np.random.default_rng([6, 7]))
    plan = system.protect(max_loss=4.0)
    paths = plan.draws(40_000, rng=5).reshape(40_000, -1)
    psi = stacked(system)
    assert np.cov(paths.T) == pytest.approx(psi @ plan.covariance @ psi.T, abs=0.1)
    assert (paths**2).sum(axis=1).mean() == pytest.approx(4.0, rel=0.03)
    assert np.linalg.norm(paths - paths @ np.linalg.pinv(psi.T) @ psi.T) < 1e-9 * np.linalg.norm(paths)


def test_draws_without_a_seed_differ():
    plan = LinearSystem(*VEHICLE, 5).protect(max_loss=1.0)
    assert not np.array_equal(plan.draw(), plan.draw())
    assert np.array_equal(plan.draw(rng=3), plan.draw(rng=3))
