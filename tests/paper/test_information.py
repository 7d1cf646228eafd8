"""Section 2: the Cramér–Rao bound and its kin."""

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from errorfloor.floors import bayes_error, floor, van_trees
from errorfloor.noise import Gaussian, RaisedCosine, Uniform

G = np.array([[1.0, 2.0], [0.0, 1.0]])


def test_biased_bound_is_46_where_the_printed_one_says_14():
    S = np.diag([1.0, 9.0])
    assert floor(Gaussian(S), np.eye(2)).biased(G) ** 2 == pytest.approx(46, rel=1e-12)
    assert np.trace(G @ S @ G.T) == 46  # the variance of the estimator Gy itself
    assert np.trace(G.T @ S @ G) == 14


def test_printed_biased_bound_can_also_promise_too_much():
    S = np.diag([9.0, 1.0])
    attained = np.trace(G @ S @ G.T)
    assert (attained, np.trace(G.T @ S @ G)) == (14, 46)
    assert floor(Gaussian(S), np.eye(2)).biased(G) ** 2 == pytest.approx(14, rel=1e-12)


@pytest.mark.parametrize("slope", [-1.0, -0.5, 0.3, 1.0])
def test_information_of_data_dependent_noise_has_a_minus_sign(slope):
    """y = x + w with w ~ N(slope·x, 1) is (1 + slope)x plus unit noise."""

    def by(sign: float) -> float:
        return quad(lambda w: (sign * -w + slope * w) ** 2 * norm.pdf(w), -12, 12, epsabs=1e-13)[0]

    true = floor(Gaussian(1.0), [[1 + slope]]).information[0, 0]
    assert by(-1.0) == pytest.approx(true, abs=1e-10)
    assert by(+1.0) == pytest.approx((1 - slope) ** 2, abs=1e-10)


def test_raised_cosine_exceeds_the_cramer_rao_bound_by_the_stated_factor():
    noise = RaisedCosine(-2.0, 5.0)
    assert float(noise.information[0, 0] * noise.covariance[0, 0]) == pytest.approx((math.pi**2 - 6) / 3, rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_trace_of_the_inverse_is_at_least_n_squared_over_the_trace(seed):
    C = np.random.default_rng(seed).normal(size=(4, 3))
    found = floor(Gaussian(np.eye(4)), C)
    assert found.total**2 >= 9 / np.trace(found.information)
    assert floor(Gaussian(np.eye(3)), 2 * np.eye(3)).total ** 2 == pytest.approx(9 / 12)


@pytest.mark.parametrize("cell", [0.05, 0.25, 0.4])
def test_rounding_an_answer_never_adds_information(cell):
    noise = RaisedCosine(-0.5, 0.5)
    for x in np.linspace(0, cell, 7):
        edges = cell * np.arange(-40, 41)
        share, slope = np.diff(noise.cdf(edges - x)), np.diff(noise.pdf(edges - x))
        live = share > 0
        assert (slope[live] ** 2 / share[live]).sum() <= float(noise.information[0, 0]) * (1 + 1e-12)


def test_van_trees_does_not_bound_the_average_under_a_uniform_prior():
    """Clipping y = x + σz to [0, 1] has average error σ² − (8/3)σ³/√(2π) over uniform x, below 1/(σ⁻² + 4π²)."""
    deviation = 0.01
    promised = van_trees(1 / deviation**2, 1.0)

    def error_at(x: float) -> float:
        below, above = -x / deviation, (1 - x) / deviation
        inside = quad(lambda z: z * z * norm.pdf(z), max(below, -12), min(above, 12), epsabs=1e-14)[0]
        return deviation**2 * inside + x**2 * norm.cdf(below) + (1 - x) ** 2 * norm.sf(above)

    # both edges alike, and nothing changes further than 12σ from them
    edges = 2 * quad(error_at, 0, 0.12, epsabs=1e-14, limit=200)[0]
    average = edges + (1 - 0.24) * error_at(0.5)
    assert average == pytest.approx(deviation**2 - 8 / 3 * deviation**3 / math.sqrt(2 * math.pi), rel=1e-8)
    assert average < promised
    exact = bayes_error(Gaussian(deviation**2), slope=1.0, prior=Uniform(low=0, high=1)).with_answer ** 2
    assert exact < average < promised
    worst = max(error_at(x) for x in np.linspace(0, 1, 101))
    assert worst > promised  # the worst case over the range is what it does bound
