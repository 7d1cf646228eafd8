"""Section 4: trajectories and the traffic example."""

import math

import mpmath
import numpy as np
import pytest

from paper.dynamic import best_covariance, by_matrices, loss_and_floor, stacked


def test_closed_forms_of_the_traffic_example_agree_with_matrices():
    for horizon in range(1, 201):
        gramian = stacked(horizon).T @ stacked(horizon)
        values = np.linalg.eigvalsh(gramian)
        loss, error = loss_and_floor(horizon)
        assert loss == pytest.approx(np.sqrt(values).sum(), rel=1e-10)
        assert error == pytest.approx((1 / np.sqrt(values)).sum(), rel=1e-10)
        assert (loss, error) == pytest.approx(by_matrices(horizon), rel=1e-10)


@pytest.mark.parametrize("horizon", [1, 7, 50, 200])
def test_covariance_of_the_path_has_the_stated_quality(horizon):
    psi, weight = stacked(horizon), 0.3
    S = best_covariance(horizon, weight)
    loss, error = loss_and_floor(horizon, weight)
    assert np.trace(psi @ S @ psi.T) == pytest.approx(loss, rel=1e-10)
    assert np.trace(S) == pytest.approx(error, rel=1e-10)
    T = horizon
    assert psi.T @ psi == pytest.approx(
        np.array([[T + 1, T * (T + 1) / 2], [T * (T + 1) / 2, T * (T + 1) * (2 * T + 1) / 6]])
    )


def test_stated_form_of_the_smaller_root_does_not_cancel():
    with mpmath.workdps(50):
        T = mpmath.mpf(10) ** 6
        D = 4 * T**4 + 4 * T**3 + 13 * T**2 - 12 * T + 36
        minus = mpmath.sqrt((T + 1) * (2 * T**2 + T + 6 - mpmath.sqrt(D)))
        plus = mpmath.sqrt((T + 1) * (2 * T**2 + T + 6 + mpmath.sqrt(D)))
        assert loss_and_floor(10**6)[1] == pytest.approx(float(2 * mpmath.sqrt(3) * (1 / plus + 1 / minus)), rel=1e-14)


def test_quality_and_floor_are_printed_twice_too_large():
    for horizon in (1, 10):
        T = float(horizon)
        root = math.sqrt(4 * T**4 + 4 * T**3 + 13 * T**2 - 12 * T + 36)
        both = [math.sqrt((T + 1) * (2 * T**2 + T + 6 + sign * root)) for sign in (-1, 1)]
        printed_loss, printed_floor = sum(both) / math.sqrt(3), 4 * math.sqrt(3) * (1 / both[0] + 1 / both[1])
        assert (printed_loss, printed_floor) == pytest.approx([2 * v for v in by_matrices(horizon)], rel=1e-10)


def test_floor_falls_as_the_root_of_the_horizon_and_quality_grows_as_its_power_three_halves():
    for weight in (1.0, 0.01):
        loss, error = loss_and_floor(10**6, weight)
        assert error * math.sqrt(weight * 10**6) == pytest.approx(2, rel=1e-5)
        assert loss * math.sqrt(3 * weight) / 10**9 == pytest.approx(1, rel=1e-5)


def test_constant_floor_needs_a_weight_of_one_over_t_and_costs_t_squared():
    first, second = (loss_and_floor(T, 4 / T) for T in (10_000, 40_000))
    assert first[1] == pytest.approx(1, rel=1e-4) and second[1] == pytest.approx(1, rel=1e-4)
    assert second[0] / first[0] == pytest.approx(16, rel=1e-3)


def test_printed_rule_keeps_neither_its_own_floor_nor_the_true_one():
    rule = [loss_and_floor(T, T**-1.5) for T in (10_000, 160_000)]
    assert rule[1][1] / rule[0][1] == pytest.approx(2, rel=1e-3)  # 16^¼
    assert rule[1][0] / rule[0][0] == pytest.approx(16**2.25, rel=1e-3)
    claimed = [T**-1.5 / math.sqrt(T**-1.5) for T in (10_000, 160_000)]  # the printed rate of the floor at that weight
    assert claimed[1] / claimed[0] == pytest.approx(16**-0.75)


def test_dynamic_bound_overpromises_by_the_square_of_the_number_of_answers():
    for horizon in (1, 5, 20):
        information = np.linalg.inv(best_covariance(horizon))
        honest = 4 / np.trace(information)
        attained = np.trace(best_covariance(horizon))  # the variance of the unbiased estimate x₀ + z
        assert honest <= attained * (1 + 1e-12)
        assert (horizon + 1) ** 2 * honest > attained


def test_theorem_four_without_the_two_is_optimal():
    for horizon, weight in ((1, 1.0), (6, 0.2)):
        gramian = stacked(horizon).T @ stacked(horizon)
        best = best_covariance(horizon, weight)

        def cost(S, gramian=gramian, weight=weight):
            return np.trace(np.linalg.inv(S)) + weight * np.trace(gramian @ S)

        assert np.linalg.inv(best) @ np.linalg.inv(best) == pytest.approx(weight * gramian, rel=1e-9)
        assert cost(2 * best) / cost(best) == pytest.approx(1.25, rel=1e-12)
        rng = np.random.default_rng(10)
        root = np.linalg.cholesky(best)
        for _ in range(30):
            bent = root @ (np.eye(2) + 0.1 * rng.normal(size=(2, 2)))
            assert cost(bent @ bent.T) >= cost(best) * (1 - 1e-12)


def test_gramian_is_invertible_from_horizon_n_minus_one():
    assert np.linalg.matrix_rank(stacked(0)) == 1
    assert np.linalg.matrix_rank(stacked(1)) == 2
