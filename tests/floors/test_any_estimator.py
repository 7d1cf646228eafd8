"""Floors under every estimator: worst case over a range, lattices, and exact errors under a prior."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import norm

import errorfloor as ef
from errorfloor.floors import bayes_error, minimax, van_trees, ziv_zakai, ziv_zakai_lattice
from errorfloor.noise import Airy, Gaussian, Laplace, Maxwell, RaisedCosine, Uniform


def information(width):
    return 4 * math.pi**2 / width**2


@pytest.mark.parametrize(("width", "smooth", "testing"), [(0.5, 0.0712, 0.0515), (3.0, 0.1510, 0.2069)])
def test_check_figures_for_one_answer_on_a_unit_range(width, smooth, testing):
    """The game's figure is between that of the sine and what total ignorance, or the exact Bayes error, leaves."""
    assert math.sqrt(van_trees(information(width), 1.0)) == pytest.approx(smooth, abs=5e-5)
    assert math.sqrt(ziv_zakai(information(width), 1.0)) == pytest.approx(testing, abs=5e-5)
    floor = ef.floor(RaisedCosine(0, width), [[1.0]], ranges=(0, 1))
    assert max(smooth, testing) - 5e-5 < floor.any_estimator[0] < {0.5: 0.0735, 3.0: 0.2545}[width]
    assert floor.any_estimator[0] == pytest.approx(math.sqrt(minimax(0.0, 1.0, raised_cosine=information(width))))


def test_exact_bayes_under_the_uniform_prior_for_width_three():
    exact = bayes_error(RaisedCosine(0, 3), slope=1.0, prior=Uniform(low=0, high=1))
    assert exact.with_answer == pytest.approx(0.2545, abs=5e-5)
    assert exact.without_answer == pytest.approx(1 / math.sqrt(12))


def test_the_unbiased_figure_exceeds_total_ignorance_and_says_it_is_for_unbiased_estimators():
    floor = ef.floor(RaisedCosine(0, 3), [[1.0]], ranges=(0, 1))
    assert floor.worst_entry == pytest.approx(0.477, abs=5e-4)
    assert floor.worst_entry > 1 / math.sqrt(12)
    text = floor.explain()
    assert "An unbiased estimator of a continuous entry" in text
    assert "biased ones are not bound by this number" in text
    assert "worst case over 0 … 1" in text


def test_van_trees_does_not_bound_the_average_under_a_uniform_prior():
    sigma = 0.02
    average = bayes_error(Gaussian(sigma**2), slope=1.0, prior=Uniform(low=0, high=1)).with_answer ** 2
    assert van_trees(1 / sigma**2, 1.0) > 1.01 * average
    # Ziv and Zakai's does, always
    for s in (0.01, 0.05, 0.2, 1.0):
        average = bayes_error(Gaussian(s**2), slope=1.0, prior=Uniform(low=0, high=1)).with_answer ** 2
        assert ziv_zakai(1 / s**2, 1.0) <= average


@pytest.mark.parametrize("value", [0.0, 0.3, 10.0, 1e4])
def test_ziv_zakai_agrees_with_adaptive_quadrature(value):
    def integrand(h):
        return h * (1 - h / 2.0) * 0.5 * (1 - math.sin(min(h * math.sqrt(value) / 2, math.pi / 2)))

    end = min(2.0, math.pi / math.sqrt(value)) if value else 2.0
    assert ziv_zakai(value, 2.0) == pytest.approx(quad(integrand, 0, end, epsabs=0, epsrel=1e-12)[0], rel=1e-11)


def test_limits_are_total_ignorance_and_cramer_rao():
    assert ziv_zakai(0.0, 3.0) == pytest.approx(9 / 12, rel=1e-13)
    assert van_trees(1e12, 1.0) == pytest.approx(1e-12, rel=1e-9)
    assert ziv_zakai(math.inf, 1.0) == ziv_zakai_lattice(math.inf, 1.0, 3) == 0.0


def test_floor_sinks_with_information_and_rises_with_the_range():
    values = [minimax(i, 1.0) for i in np.geomspace(1e-3, 1e6, 60)]
    assert all(a > b for a, b in pairwise(values))
    assert minimax(50.0, 2.0) > minimax(50.0, 1.0)


def test_lattice_bound_tends_to_the_continuum_and_never_exceeds_it_by_much():
    for value in (0.5, 20.0):
        fine = ziv_zakai_lattice(value, 1e-4, 10_001)
        assert fine == pytest.approx(ziv_zakai(value, 1.0), rel=1e-3)


def test_thinning_a_huge_lattice_keeps_a_valid_bound():
    coarse = ziv_zakai_lattice(5.0, 1e-7, 10_000_001)
    assert 0.99 * ziv_zakai(5.0, 1.0) < coarse <= 1.001 * ziv_zakai(5.0, 1.0)


@pytest.mark.parametrize("count", [2, 3, 7])
@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0])
def test_lattice_bound_holds_for_the_exact_posterior_mean(count, sigma):
    values = np.arange(count, dtype=float)
    y = np.linspace(-10 * sigma, count + 10 * sigma, 40_001)
    densities = norm.pdf(y[:, None], values, sigma)
    total = densities.sum(axis=1)
    mean = (densities * values).sum(axis=1) / np.maximum(total, 1e-300)
    error = float((densities * (values - mean[:, None]) ** 2).sum() * (y[1] - y[0]) / count)
    assert ziv_zakai_lattice(1 / sigma**2, 1.0, count) <= error + 1e-9


def test_integers_break_every_continuum_row_and_the_lattice_row_stands():
    sigma = 0.1
    # rounding to the nearest integer errs only beyond half a step
    true_error = math.sqrt(2 * sum((2 * k - 1) * norm.sf((k - 0.5) / sigma) for k in range(1, 4)))
    assert true_error == pytest.approx(0.0008, abs=5e-5)
    assert math.sqrt(van_trees(100.0, 10.0)) == pytest.approx(0.0998, abs=5e-5)
    floor = ef.floor(Gaussian(sigma**2), [[1.0]], ranges=(0, 10), spacing=1.0)
    assert floor.any_estimator[0] <= true_error
    assert "An unbiased estimator" not in floor.explain()


def test_evaluation_errors_rule_out_van_trees():
    smooth = ef.floor(RaisedCosine(0, 0.5), [[1.0]], ranges=(0, 1))
    rough = ef.floor(RaisedCosine(0, 0.5), [[1.0]], ranges=(0, 1), evaluation_error=1e-9)
    assert smooth.any_estimator[0] == pytest.approx(0.0712, abs=5e-5)
    assert rough.any_estimator[0] == pytest.approx(math.sqrt(ziv_zakai(0.0, 1.0, 1e-17, information(0.5))), rel=1e-6)


@pytest.mark.parametrize("width", [0.5, 1.0, 3.0, 10.0])
def test_worst_case_floor_holds_for_the_posterior_mean_under_the_van_trees_prior(width):
    # any estimator's worst case is at least the Bayes error of the best estimator under the raised-cosine prior
    exact = bayes_error(RaisedCosine(0, width), slope=1.0, prior=RaisedCosine(0, 1)).with_answer
    assert math.sqrt(van_trees(information(width), 1.0)) <= exact


def test_exact_bayes_agrees_with_the_closed_form_for_gaussians():
    for slope, noise_variance, prior_variance in ((1.0, 1.0, 1.0), (-3.0, 0.2, 5.0), (0.01, 2.0, 7.0)):
        exact = bayes_error(Gaussian(noise_variance), slope=slope, prior=Gaussian(prior_variance, [4.0]))
        expected = 1 / (1 / prior_variance + slope**2 / noise_variance)
        assert exact.with_answer**2 == pytest.approx(expected, rel=1e-10)
        assert exact.without_answer**2 == pytest.approx(prior_variance)


@pytest.mark.parametrize("noise", [Maxwell(0.4), Laplace(0.3), Airy(0.5)], ids=lambda n: type(n).__name__)
def test_exact_bayes_agrees_with_brute_force(noise):
    prior = RaisedCosine(0, 2)
    x = np.linspace(0, 2, 2001)
    y = np.linspace(-6, 8, 7001)
    density = noise.pdf(-9 + 0.0005 * np.arange(34_001))  # every y − 1.5x is a multiple of this step
    joint = prior.pdf(x) * density[6000 + 4 * np.arange(y.size)[:, None] - 3 * np.arange(x.size)]
    total = joint.sum(axis=1)
    mean = (joint * x).sum(axis=1) / np.maximum(total, 1e-300)
    error = float((joint * (x - mean[:, None]) ** 2).sum() * (x[1] - x[0]) * (y[1] - y[0]))
    assert bayes_error(noise, slope=1.5, prior=prior).with_answer ** 2 == pytest.approx(error, rel=1e-5)


def test_exact_bayes_with_a_useless_answer():
    exact = bayes_error(Gaussian(1.0), slope=0.0, prior=Uniform(low=0, high=50))
    assert exact.with_answer == exact.without_answer == pytest.approx(14.43, abs=5e-3)
    assert "averaged under the stated prior" in exact.explain("kWh")


def test_explanations_round_floors_down_and_probabilities_up():
    floor = ef.floor(RaisedCosine(0, 3), [[1.0]], ranges=(0, 1))
    text = floor.explain(unit="kWh", distance=0.1)
    assert "at least 0.223 kWh in the worst case" in text
    assert 0.2232 < floor.any_estimator[0] < 0.224
    probability = floor.distinguish(0.1)
    stated = float(text.split("at most ")[1].split(" times")[0]) / 100
    assert probability <= stated < probability + 0.0011
    assert "values lie there or are clamped" in text


def test_joint_density_check_of_the_quadrature_itself():
    noise, prior = RaisedCosine(-1, 1), RaisedCosine(0, 1)
    mass = dblquad(lambda x, y: prior.pdf(x) * noise.pdf(y - x), -1, 2, 0, 1, epsabs=1e-8)[0]
    assert mass == pytest.approx(1.0, abs=1e-6)
