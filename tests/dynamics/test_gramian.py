"""The Gramian of long horizons and of systems that grow, to the digits that double precision has."""

import mpmath
import numpy as np
import pytest

from errorfloor.dynamics import LinearSystem
from errorfloor.dynamics.gramian import graded_svd
from errorfloor.errors import InputError
from trajectory_systems import random_system, stacked


def singular_values(A, C, horizon):
    """Roots of the Gramian's eigenvalues with many digits."""
    with mpmath.workdps(150):
        step, row = mpmath.matrix(A.tolist()), mpmath.matrix(C.tolist())
        gramian = mpmath.zeros(len(A))
        for _ in range(horizon + 1):
            gramian += row.T * row
            row = row * step
        return [float(mpmath.sqrt(value)) for value in mpmath.eigsy(gramian, eigvals_only=True)]


def turned(values, seed):
    axes = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    return axes @ np.diag(values) @ axes.T


def test_gramian_of_random_systems_is_that_of_the_stacked_matrix():
    for seed in range(40):
        system = random_system(np.random.default_rng([7, seed]), varying=seed % 2 == 1)
        psi = stacked(system)
        assert system.gramian == pytest.approx(psi.T @ psi, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("values", "horizon"),
    [([2.0, 1.2, 0.9, 0.5], 100), ([1.5, 0.3], 250), ([1.1, 1.05, 0.99], 1000), ([3.0, 1.0, 0.1], 60)],
)
def test_unstable_systems_keep_the_digits_of_what_fades(values, horizon):
    A = turned(values, 1)
    C = np.random.default_rng(2).normal(size=(1, len(values)))
    exact = singular_values(A, C, horizon)
    system = LinearSystem(A, C, horizon)
    found, _ = graded_svd(system.gramian_root)
    assert np.sort(found) == pytest.approx(exact, rel=1e-11)
    plan = system.protect(loss_weight=1.0)
    assert np.trace(plan.covariance) == pytest.approx(sum(1 / value for value in exact), rel=1e-10)
    assert plan.expected_loss == pytest.approx(sum(exact), rel=1e-10)


def test_a_hundred_thousand_steps_agree_with_plain_least_squares():
    rng = np.random.default_rng(3)
    A = rng.normal(size=(10, 10))
    A /= np.abs(np.linalg.eigvals(A)).max()
    C = rng.normal(size=(2, 10))
    system = LinearSystem(A, C, 100_000)
    rows, now = np.empty((100_001, 2, 10)), C
    for k in range(100_001):
        rows[k] = now
        now = now @ A
    exact = np.linalg.svd(rows.reshape(-1, 10), compute_uv=False)
    assert graded_svd(system.gramian_root)[0] == pytest.approx(exact, rel=1e-9)
    assert system.protect(max_loss=1.0).covariance.shape == (10, 10)


def test_a_hundred_thousand_varying_steps_agree_with_sums_of_products():
    rng = np.random.default_rng(4)
    horizon, n = 100_000, 4
    turns = np.linalg.qr(rng.normal(size=(horizon, n, n)))[0] * rng.uniform(0.999, 1.001, size=(horizon, 1, 1))
    C = rng.normal(size=(1, n))
    system = LinearSystem(turns, C, horizon)
    total, carried = np.zeros((n, n)), np.eye(n)
    for k in range(horizon + 1):
        row = C @ carried
        total += row.T @ row
        carried = turns[k] @ carried if k < horizon else carried
    assert system.gramian == pytest.approx(total, rel=1e-9, abs=1e-9 * total.max())


def test_a_system_that_overflows_says_so():
    system = LinearSystem([[10.0]], [[1.0]], 200)
    with pytest.raises(InputError, match=r"the system overflows: .* more than 1e\+75 .* shorten the horizon"):
        system.protect(loss_weight=1.0)
    with pytest.raises(InputError, match="the trajectory overflows double precision"):
        LinearSystem([[1e10]], [[1.0]], 100).carry([1.0])


def test_a_start_that_cannot_be_carried_in_double_precision_is_refused():
    plan = LinearSystem(turned([2.0, 0.5], 3), [[1.0, 0.3]], 75).protect(max_loss=1.0)
    with pytest.raises(InputError, match="cannot be carried along in double precision; shorten the horizon"):
        plan.draw(rng=1)
    plan = LinearSystem(turned([2.0, 0.5], 3), [[1.0, 0.3]], 60).protect(max_loss=1.0)
    lost = (plan.draws(4000, rng=1) ** 2).sum(axis=(1, 2)).mean()
    assert lost == pytest.approx(1.0, rel=0.1)


def test_what_no_answer_depends_on_is_found_and_never_at_risk():
    axes = np.linalg.qr(np.random.default_rng(5).normal(size=(4, 4)))[0]
    A = axes @ np.array([[0.9, 0.2, 0, 0], [0, 1.1, 0, 0], [0.3, 0.1, 1.5, 0.4], [0, 0.2, 0.1, 0.5]]) @ axes.T
    C = np.array([[1.0, 0, 0, 0]]) @ axes.T
    for horizon in (5, 80):
        system = LinearSystem(A, C, horizon)
        assert system.observable.shape == (4, 2)
        hidden = axes[:, 2:] @ axes[:, 2:].T
        assert system.never_at_risk @ system.never_at_risk.T == pytest.approx(hidden, abs=1e-12)
        plan = system.protect(loss_weight=1.0)
        assert np.linalg.matrix_rank(plan.covariance) == 2
        assert np.abs(plan.covariance @ plan.never_at_risk).max() < 1e-12
        assert "Never at risk" in plan.explain()
        alone = LinearSystem([[0.9, 0.2], [0.0, 1.1]], [[1.0, 0.0]], horizon).protect(loss_weight=1.0)
        assert plan.covariance == pytest.approx(axes[:, :2] @ alone.covariance @ axes[:, :2].T, abs=1e-9)


def test_states_that_are_lost_before_they_are_seen_are_never_at_risk():
    C = np.zeros((4, 1, 3))
    C[2] = [[0.0, 1.0, 0.0]]
    A = np.array([[[1.0, 0, 0], [0, 1, 0], [0, 0, 0]], [[0, 0, 1.0], [1, 1, 0], [0, 0, 1]], np.eye(3)])
    system = LinearSystem(A, C, 3)
    assert np.abs(system.never_at_risk.T @ [1.0, 1.0, 0.0]).max() < 1e-12
    assert system.never_at_risk.shape == (3, 2)


def test_directions_that_grow_apart_are_not_mistaken_for_unobserved():
    A = np.array([np.diag([100.0, 0.01])] * 6)
    C = np.zeros((7, 2, 2))
    C[6] = np.eye(2)
    assert LinearSystem(A, C, 6).observable.shape == (2, 2)
