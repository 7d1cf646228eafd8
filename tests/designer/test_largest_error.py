"""P1: the largest Tr I⁻¹ under a cap."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import errorfloor as ef
from errorfloor.designer.numerical import solve
from errorfloor.errors import IllPosedError, InputError
from paper.chord import SIDES

SQUARE = ef.Box([0, 0], [1, 1])
RHOMBUS = SQUARE.image(SIDES)
CHORD = 3.2 / (4 * math.pi**2)


def about_the_data(noise, C):
    return C.T @ noise.information @ C


def test_without_a_cap_it_is_refused_with_the_supremum():
    with pytest.raises(IllPosedError, match=r"diam\(C⁻¹W\)²/4π² = 0.08106 .* set information_cap") as refusal:
        ef.design(RHOMBUS, objective="error")
    assert refusal.value.fields["supremum"] == pytest.approx(CHORD)
    with pytest.raises(IllPosedError, match=r"= 0\.1013 "):
        ef.design(ef.Ball(2, 1.0), objective="error")


@pytest.mark.parametrize("width", [1.0, 3.0])
def test_the_square_attains_its_supremum(width):
    square = ef.Box([0, 0], [width, width])
    noise = ef.design(square, objective="error", information_cap=80 / width**2)
    assert noise.certificate.value == pytest.approx(0.0506606 * width**2, rel=1e-6)
    assert not noise.certificate.cap_binds
    assert noise.certificate.supremum == pytest.approx(0.0506606 * width**2, rel=1e-6)


def test_looser_caps_rise_towards_the_chord_of_the_rhombus():
    least = float(np.diag(ef.design(RHOMBUS).information).max())
    reports = [ef.design(RHOMBUS, objective="error", information_cap=f * least).certificate for f in (2, 5, 20)]
    values = [report.value for report in reports]
    assert values == sorted(values)
    assert values[-1] < CHORD
    gaps = [CHORD - value for value in values]
    assert gaps[0] > 1.5 * gaps[1] > 2.5 * gaps[2]
    for report, factor in zip(reports, (2, 5, 20), strict=True):
        assert report.cap_binds
        assert report.stationarity < 1e-6
        assert report.per_entry.min() == pytest.approx(1 / math.sqrt(factor * least), rel=1e-6)
        assert report.supremum == pytest.approx(CHORD)


@pytest.mark.parametrize("seed", range(4))
def test_random_queries_gain_over_least_information(seed):
    C = 0.6 * np.random.default_rng(seed).normal(size=(2, 2)) + np.eye(2)
    plain = solve(SQUARE, C @ C.T, certify=False, tolerance=1e-6).noise
    cap = 3 * float(np.diag(about_the_data(plain, C)).max())
    noise = ef.design(SQUARE, jacobian=C, objective="error", information_cap=cap)
    found = about_the_data(noise, C)
    report = noise.certificate
    assert (np.diag(found) <= cap * (1 + 1e-7)).all()
    assert report.value == pytest.approx(float(np.trace(np.linalg.inv(found))), rel=1e-9)
    assert report.value >= float(np.trace(np.linalg.inv(about_the_data(plain, C)))) * (1 - 1e-6)
    assert report.value <= report.supremum * (1 + 1e-6) or not report.cap_binds
    assert report.stationarity < 1e-6


@pytest.mark.parametrize("seed", [0])
def test_the_result_is_stationary_by_a_search_over_multipliers(seed):
    """Theorem 1 asked of P2's solver: the noise is the ground state for K = C(I⁻² + diag μ)Cᵀ with some μ ≥ 0."""
    C = 0.6 * np.random.default_rng(seed).normal(size=(2, 2)) + np.eye(2)
    cap = 3 * float(np.diag(about_the_data(ef.design(SQUARE, jacobian=C), C)).max())
    noise = ef.design(SQUARE, jacobian=C, objective="error", information_cap=cap)
    found = about_the_data(noise, C)
    M = np.linalg.inv(found @ found)
    slack = cap - np.diag(found) > 1e-5 * cap
    scale = np.diag(1 / np.diag(found)) * np.trace(M @ found)

    def cost(mu):
        K = C @ (M + scale * np.diag(mu * ~slack)) @ C.T
        least = solve(SQUARE, K, certify=False, tolerance=1e-5).value
        return float(np.trace(K @ noise.information)) / least - 1

    # the noise is the ground state for one of the weights on the binding entries, and for none it costs less
    best = minimize(lambda mu: cost(np.abs(mu)), np.full(2, 0.3), method="Nelder-Mead", options={"maxfev": 40})
    assert -1e-5 < best.fun < 1e-3


def test_the_condition_number_can_be_capped_instead():
    noise = ef.design(RHOMBUS, objective="error", condition_cap=10.0)
    assert np.linalg.cond(noise.information) == pytest.approx(10.0, rel=1e-6)
    assert noise.certificate.cap_binds
    assert noise.certificate.value > 0.06
    assert "no proof that it is the greatest" in noise.certificate.explain()


def test_a_disc_gains_nothing_and_says_so():
    noise = ef.design(ef.Ball(2, 1.0), objective="error", information_cap=100.0)
    # spreading out beats the chord of a disc: 1/j² against 1/π²
    assert noise.certificate.value == pytest.approx(1 / 2.404825557695773**2, rel=1e-6)
    assert noise.certificate.value > noise.certificate.supremum
    assert not noise.certificate.cap_binds
    assert ef.Ball(2, 1.0).contains(noise.sample(1000, rng=1)).all()


@pytest.mark.parametrize(
    ("support", "options", "error", "message"),
    [
        (
            SQUARE,
            {"information_cap": 1.0},
            IllPosedError,
            "no noise was found that keeps every I_ii at or below the cap of 1",
        ),
        (SQUARE, {"information_cap": -1.0}, InputError, "information_cap must be positive, got -1.0"),
        (SQUARE, {"condition_cap": 0.5}, InputError, "condition_cap must be at least 1, got 0.5"),
        (SQUARE, {"information_cap": 90.0, "condition_cap": 2.0}, InputError, "not both"),
        (SQUARE, {"information_cap": 90.0, "max_loss": 1.0}, InputError, "max_loss do not apply"),
        (SQUARE, {"information_cap": 90.0, "jacobian": [[1.0], [1.0]]}, IllPosedError, "as many independent answers"),
        (ef.Orthant(2), {"information_cap": 90.0}, IllPosedError, "needs a bounded support"),
        ((0, 1), {"information_cap": 90.0}, InputError, "support must be a support such as"),
    ],
)
def test_bad_problems_are_named(support, options, error, message):
    with pytest.raises(error, match=message):
        ef.design(support, objective="error", **options)


def test_caps_belong_to_the_error():
    with pytest.raises(InputError, match="belong to objective='error'"):
        ef.design(SQUARE, information_cap=90.0)
