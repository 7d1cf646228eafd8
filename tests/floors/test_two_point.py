"""Nobody tells two values apart more often than stated."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

import errorfloor as ef
from errorfloor.floors import pair
from errorfloor.floors.adversary import best_success
from errorfloor.noise import Airy, Gaussian, Laplace, Maxwell, RaisedCosine, Uniform

FAMILIES = [RaisedCosine(-0.5, 0.5), Maxwell(0.7), Gaussian(0.3), Airy(0.4), Laplace(0.5)]


@pytest.mark.parametrize("noise", FAMILIES, ids=lambda n: type(n).__name__)
@settings(max_examples=30, deadline=None)
@given(h=st.floats(0.01, 3.0))
def test_best_test_never_beats_the_bound(noise, h):
    exact = (1 + pair(noise, slope=1.0, gap=h).total_variation) / 2
    assert ef.floor(noise, [[1.0]]).distinguish(h) >= exact - 1e-12


@pytest.mark.parametrize("noise", FAMILIES, ids=lambda n: type(n).__name__)
def test_bound_on_the_angle_is_sharp_for_small_shifts(noise):
    h = 1e-3
    exact = math.acos(pair(noise, slope=1.0, gap=h).affinity)
    bound = h / 2 * math.sqrt(float(noise.information[0, 0]))
    assert exact <= bound * (1 + 1e-6)
    assert exact >= bound * 0.98


def test_several_answers_stay_below_the_bound_by_simulation():
    noise, h, answers, runs = RaisedCosine(-0.5, 0.5), 0.05, 20, 40_000
    draws = noise.sample((runs, answers), rng=11)
    zero, one = (noise.logpdf(draws - s).sum(axis=1) for s in (0.0, h))
    right_at_zero = (zero >= one).mean()
    moved = noise.sample((runs, answers), rng=12) + h
    right_at_h = (noise.logpdf(moved - h).sum(axis=1) > noise.logpdf(moved).sum(axis=1)).mean()
    attained = (right_at_zero + right_at_h) / 2
    bound = ef.floor(noise, [[1.0]]).after(answers).distinguish(h)
    slack = math.sqrt(math.log(1 / 1e-9) / (2 * runs))
    assert attained <= bound + slack
    assert attained > 0.5 + 0.5 * (bound - 0.5)  # the likelihood ratio comes close: the bound says something


def test_headline_of_the_grid_operator():
    floor = ef.floor(ef.design(ef.Interval(-0.5, 0.5)), np.full((1, 1000), 1e-3), ranges=(0, 50))
    assert floor.distinguish(5.0) == pytest.approx(0.5 * (1 + math.sin(math.pi * 5 / 1000)))
    text = floor.explain(unit="kWh", distance=5.0)
    assert "Two values of an entry 5 kWh apart" in text
    assert "at most 50.8 times in 100 at even odds" in text


def test_evaluation_errors_add_to_the_angle():
    noise, eta, h = Gaussian(4.0), 0.01, 0.5
    floor = ef.floor(noise, [[2.0]], evaluation_error=eta)
    moved = h * 2 / 2 + 2 * eta / 2
    assert floor.distinguish(h) == pytest.approx(best_success(moved**2))
    policy = replace(floor, counted_apart=False, raised_cosine=None)  # of whatever noise
    assert policy.distinguish(h) == pytest.approx(0.5 * (1 + math.sin(moved / 2)))
    # a query off by up to η either way moves the law at most like a shift of h·L + 2η
    worst = pair(noise, slope=1.0, gap=h * 2 + 2 * eta).total_variation
    assert floor.distinguish(h) >= (1 + worst) / 2


def test_owner_sums_before_it_squares():
    noise = RaisedCosine(-100, 100)
    floor = ef.floor(noise, [[1.0, -2.0, 0.5]], ranges=[(0, 1), (0, 2), (0, 4)])
    total = 1 * 1 + 2 * 2 + 0.5 * 4
    moved = total * 2 * math.pi / 200
    assert floor.owner() == pytest.approx(best_success(moved**2))
    assert replace(floor, counted_apart=False).owner() == pytest.approx(0.5 * (1 + math.sin(moved / 2)))
    assert floor.owner([1]) == pytest.approx(floor.distinguish(2.0, entry=1))
    assert floor.owner([0, 1]) > floor.owner([1])


def test_owner_bound_covers_every_pair_of_histories():
    generator = np.random.default_rng(3)
    F = generator.normal(size=(3, 4)) * 0.05
    widths = np.array([1.0, 2.0, 0.5, 3.0])
    floor = ef.floor(Gaussian(np.eye(3)), F, ranges=np.stack([np.zeros(4), widths], axis=1))
    moves = generator.uniform(-widths, widths, size=(2000, 4))
    # Gaussian noise: the best test of a shift d is right with probability Φ(|d|/2)
    best = max(0.5 * (1 + math.erf(np.linalg.norm(F @ move) / 2 / math.sqrt(2))) for move in moves)
    assert best <= floor.owner()


@pytest.mark.parametrize("gap", [0.05, 0.3, 0.99, 1.0, 1.7])
def test_total_variation_of_the_raised_cosine_has_its_closed_form(gap):
    noise = RaisedCosine(0, 1)
    expected = min(gap, 1.0) + math.sin(math.pi * min(gap, 1.0)) / math.pi
    assert pair(noise, slope=1.0, gap=gap).total_variation == pytest.approx(expected, rel=1e-12)
    assert noise.total_variation(gap) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("noise", [*FAMILIES, Uniform(low=0, high=1)], ids=lambda n: type(n).__name__)
def test_pair_distances_agree_with_quadrature(noise):
    h = 0.4
    found = pair(noise, slope=2.0, gap=h / 2)
    low = max(noise.knots[0], -12.0)
    high = min(noise.knots[-1], 12.0) + h
    cuts = sorted(
        {low, high, *(k for k in noise.knots if low < k < high), *(k + h for k in noise.knots if k + h < high)}
    )

    def integral(function):
        pieces = pairwise(cuts)
        return sum(quad(function, a, b, limit=400, epsabs=1e-12, epsrel=1e-11)[0] for a, b in pieces)

    def divergence(y):
        p, q = noise.pdf(y), noise.pdf(y - h)
        return 2 * (q - p) ** 2 / (q + p) if p + q > 0 else 0.0

    assert found.divergence == pytest.approx(integral(divergence), rel=1e-8)
    assert found.affinity == pytest.approx(integral(lambda y: math.sqrt(noise.pdf(y) * noise.pdf(y - h))), rel=1e-8)
    distance = integral(lambda y: abs(noise.pdf(y) - noise.pdf(y - h)) / 2)
    assert found.total_variation == pytest.approx(distance, rel=1e-6)
    assert 0 < found.divergence <= 4


def test_pair_bounds_are_ordered_and_hold_for_the_posterior_mean():
    noise, h = RaisedCosine(-0.5, 0.5), 0.2
    found = pair(noise, slope=1.0, gap=h)
    y = np.concatenate([noise.sample(500_000, rng=1), noise.sample(500_000, rng=2) + h])
    truth = np.repeat([0.0, h], 500_000)
    zero, one = noise.pdf(y), noise.pdf(y - h)
    estimate = h * one / (zero + one)
    attained = math.sqrt(np.mean((estimate - truth) ** 2))
    assert attained == pytest.approx(found.any_estimator, rel=0.005)  # the posterior mean attains it
    assert found.unbiased > found.any_estimator
    assert found.testing_error == pytest.approx((1 - noise.total_variation(h)) / 2)


def test_disjoint_laws_protect_nothing():
    found = pair(RaisedCosine(0, 1), slope=2.0, gap=1.0)
    assert (found.divergence, found.total_variation, found.affinity) == (4.0, 1.0, 0.0)
    assert found.any_estimator == found.unbiased == found.testing_error == 0.0


def test_several_answers_about_a_pair():
    found = pair(Gaussian(1.0), slope=1.0, gap=0.5)
    for count in (1, 4, 16):
        exact = 0.5 * math.erfc(0.25 * math.sqrt(count) / math.sqrt(2))
        assert found.testing_error_after(count) <= exact
        assert found.testing_error_after(count) >= 0.6 * exact
