"""Assumption 2, Problems 3 and 4, Theorem 3 and Corollary 6."""

import math

import numpy as np
import pytest

from errorfloor.designer import design
from errorfloor.errors import IllPosedError
from errorfloor.floors import floor
from errorfloor.noise import Gaussian, Maxwell, RaisedCosine, TruncatedLaplace, Uniform
from errorfloor.support import HalfLine, Interval, Reals
from paper.unbounded import JACOBIAN, assumption_two, theorem_three


def test_exponential_noise_lets_an_unbiased_estimator_beat_one_over_k():
    answers, runs = 50, 20_000
    draws = TruncatedLaplace(1.0, low=0.0, high=60.0).sample((runs, answers), rng=6)
    estimate = draws.min(axis=1) - 1 / answers
    assert estimate.mean() == pytest.approx(0, abs=5 / answers / math.sqrt(runs))
    assert estimate.var() == pytest.approx(1 / answers**2, rel=0.1)
    assert estimate.var() < 0.1 / answers  # what ∫γ′²/γ = 1 would promise


@pytest.mark.parametrize("noise", [Uniform(low=-0.5, high=0.5), TruncatedLaplace(0.25, low=-0.5, high=0.5)])
def test_extremes_of_jumping_noise_pin_the_truth_at_rate_one_over_k(noise):
    errors = []
    for answers in (100, 400):
        draws = noise.sample((3000, answers), rng=7)
        errors.append(np.sqrt(((draws.min(axis=1) + draws.max(axis=1)) ** 2 / 4).mean()))
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.15)
    assert math.isinf(noise.information[0, 0])


def test_raised_cosine_keeps_its_floor_against_repetition():
    noise, answers = RaisedCosine(-0.5, 0.5), 400
    draws = noise.sample((3000, answers), rng=8)
    least = float(floor(noise, [[1.0]]).after(answers).worst_entry)
    for estimate in (draws.mean(axis=1), (draws.min(axis=1) + draws.max(axis=1)) / 2):
        assert np.sqrt((estimate**2).mean()) > least


def test_confined_answers_need_not_vanish_at_the_edge():
    """p(y|x) = 1 + x(2y − 1) on [0, 1]: at x = 0 the unbiased 3(2y − 1) attains 1/I although p(0|0) = p(1|0) = 1."""
    y = (np.arange(100_000) + 0.5) / 100_000
    information = ((2 * y - 1) ** 2).mean()
    variance = ((3 * (2 * y - 1)) ** 2).mean()
    assert information * variance == pytest.approx(1, rel=1e-8)


def test_tapering_a_jump_costs_information_without_bound():
    shown = assumption_two().shown[2]
    assert shown.library == pytest.approx(math.pi**2 / (0.01 * 0.99), rel=1e-9)
    assert math.pi**2 / (0.5 * 0.5) == pytest.approx(float(RaisedCosine(0, 1).information[0, 0]))  # taper t = ½


def test_inactive_bound_has_no_weight_and_an_infeasible_one_no_noise():
    free = design(Interval(-0.5, 0.5))
    for bound in (0.0327, 0.1, 10.0):
        assert design(Interval(-0.5, 0.5), max_loss=bound) == free
    with pytest.raises(
        IllPosedError, match=r"max_loss 0.9 cannot be met: every noise on this support loses more than 1"
    ):
        design(Interval(1.0, 2.0), max_loss=0.9)


def test_every_weight_has_a_bound_with_the_same_solution():
    for weight in (0.2, 3.0):
        by_weight = design(HalfLine(0.0), loss_weight=weight)
        by_bound = design(HalfLine(0.0), max_loss=by_weight.expected_loss())
        assert isinstance(by_bound, Maxwell) and by_bound.scale == pytest.approx(by_weight.scale, rel=1e-12)


def test_printed_covariance_costs_five_quarters():
    K = JACOBIAN @ JACOBIAN.T
    for weight in (0.3, 3.0):
        best = design(Reals(2), jacobian=JACOBIAN, loss_weight=weight)

        def cost(S, weight=weight):
            return np.trace(K @ np.linalg.inv(S)) + weight * np.trace(S)

        assert cost(2 * best.covariance) / cost(best.covariance) == pytest.approx(1.25, rel=1e-12)
        root = np.linalg.cholesky(best.covariance)
        rng = np.random.default_rng(9)
        for _ in range(50):
            bent = root @ (np.eye(2) + 0.1 * rng.normal(size=(2, 2)))
            assert cost(bent @ bent.T) >= cost(best.covariance) * (1 - 1e-12)


def test_covariance_squared_is_k_over_the_weight():
    weight = 3.0
    best = design(Reals(2), jacobian=JACOBIAN, loss_weight=weight).covariance
    assert best @ best == pytest.approx(JACOBIAN @ JACOBIAN.T / weight, rel=1e-10)


def test_bounded_loss_gives_the_squared_trace_of_the_root_over_the_bound():
    noise = design(Reals(2), jacobian=JACOBIAN, max_loss=1.5)
    trace = np.sqrt(np.linalg.eigvalsh(JACOBIAN @ JACOBIAN.T)).sum()
    assert noise.certificate.value == pytest.approx(trace**2 / 1.5, rel=1e-12)
    assert noise.expected_loss() == pytest.approx(1.5, rel=1e-12)


def test_root_of_a_gaussian_needs_the_power_one_quarter():
    S = np.array([[2.0, 0.3], [0.3, 1.0]])
    u = np.sqrt(Gaussian(S).pdf(np.zeros(2)))
    assert u == pytest.approx(((2 * math.pi) ** 2 * np.linalg.det(S)) ** -0.25, rel=1e-12)


def test_upper_right_block_has_a_row_for_every_answer():
    shown = theorem_three().shown[0]
    assert (shown.library, shown.printed) == (2, 3)
    blocks = np.block([[JACOBIAN @ JACOBIAN.T, -JACOBIAN], [-JACOBIAN.T, np.eye(3)]])
    assert np.linalg.matrix_rank(blocks) == 3  # it is the square of [−F; Id]
    with pytest.raises(ValueError, match="must match exactly"):
        np.block([[JACOBIAN @ JACOBIAN.T, JACOBIAN.T], [JACOBIAN, np.eye(3)]])
