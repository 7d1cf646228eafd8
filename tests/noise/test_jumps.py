"""Noise that jumps at its edge gives the truth away at rate 1/K; the raised cosine does not."""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from errorfloor.noise import LinearImage, Product, RaisedCosine, Translation, Uniform
from errorfloor.random import ReproducibleBits

REPEATS = 4000
ANSWERS = np.array([10, 30, 100, 300, 1000])


def midrange_errors(noise, answers, seed):
    """Errors of (least + greatest)/2 less the mid-point of the support, the truth being 0."""
    drawn = noise.sample((REPEATS, int(answers)), rng=ReproducibleBits(seed))
    return (drawn.min(axis=1) + drawn.max(axis=1)) / 2 - noise.support.center


def rate(errors_by_answers, answers=ANSWERS):
    """The slope of the logarithm of the root-mean-square error against the logarithm of K."""
    size = [math.sqrt((errors**2).mean()) for errors in errors_by_answers]
    return np.polyfit(np.log(answers), np.log(size), 1)[0]


def test_jumping_noise_has_infinite_information_and_says_why(jumping_case):
    noise = jumping_case.noise
    assert noise.information.tolist() == [[math.inf]]
    height = f"{jumping_case.density(noise.low):.4g}"
    assert noise.why_infinite == (
        f"the density jumps from 0 to {height} at {noise.low:g}: its root is not in H¹, and the extremes of K repeated "
        f"answers pin the truth at rate 1/K"
    )


def test_finite_information_needs_no_excuse(finite_case):
    assert math.isfinite(finite_case.noise.information[0, 0])
    assert finite_case.noise.why_infinite is None


def test_a_jump_is_passed_on_by_products_images_and_translations():
    jump = Uniform(low=0, high=1)
    product = Product((RaisedCosine(0, 1), jump))
    assert np.array_equal(product.information, [[4 * math.pi**2, 0], [0, math.inf]])
    image = LinearImage(product, [[1, 0], [0, 2]])
    for noise in (product, image, Translation(image, [1, 1]), Translation(product, [3, 4])):
        assert noise.information[1, 1] == math.inf
        assert noise.why_infinite == jump.why_infinite


def test_tents_at_a_jump_show_unbounded_information(jumping_case):
    # (E ψ′)²/E ψ² is at most the information; for a tent of half-width ε at the edge it is 3γ(edge)/ε as ε → 0
    edge, height = jumping_case.noise.low, float(jumping_case.density(jumping_case.noise.low))
    for width in (1e-1, 1e-2, 1e-3, 1e-4):
        slope = quad(lambda w, e=width: -jumping_case.density(w) / e, edge, edge + width)[0]
        square = quad(lambda w, e=width: (1 - (w - edge) / e) ** 2 * jumping_case.density(w), edge, edge + width)[0]
        assert slope**2 / square == pytest.approx(3 * height / width, rel=4 * width)


def test_tents_at_the_edge_of_a_raised_cosine_stay_below_its_information():
    noise = RaisedCosine(0, 1)
    for width in (0.5, 1e-1, 1e-2, 1e-3):
        slope = quad(lambda w, e=width: -noise.pdf(w) / e, 0, width)[0]
        square = quad(lambda w, e=width: (1 - w / e) ** 2 * noise.pdf(w), 0, width)[0]
        assert slope**2 / square < noise.information[0, 0]


def test_hellinger_distance_of_a_small_shift_is_linear_for_a_jump(jumping_case):
    # without a jump it is h²I/4, quadratic
    low, high, root = jumping_case.noise.low, jumping_case.noise.high, jumping_case.root
    edges = float(jumping_case.density(low) + jumping_case.density(high))
    for shift in (1e-2, 1e-3, 1e-4):
        cuts = sorted(
            {low, low + shift, high, high + shift, *(c + s for c in jumping_case.cuts[1:-1] for s in (0, shift))}
        )
        squared = sum(
            quad(lambda w, h=shift: ((w <= high) * root(w) - (w - h >= low) * root(w - h)) ** 2, a, b)[0]
            for a, b in pairwise(cuts)
        )
        assert squared / jumping_case.mass / shift == pytest.approx(edges, rel=20 * shift)


def test_midrange_of_uniform_answers_converges_at_rate_one_over_k():
    noise = Uniform(low=-1, high=2)
    errors = [midrange_errors(noise, k, seed) for seed, k in enumerate(ANSWERS)]
    assert rate(errors) == pytest.approx(-1, abs=0.1)
    for k, error in zip(ANSWERS, errors, strict=True):  # Var = Δ²/(2(K+1)(K+2))
        assert (error**2).mean() == pytest.approx(9 / (2 * (k + 1) * (k + 2)), rel=0.15)


def test_midrange_error_of_jumping_answers_is_at_most_one_over_k_times_the_lesser_jump(jumping_case):
    least = min(jumping_case.density(jumping_case.noise.low), jumping_case.density(jumping_case.noise.high))
    for seed, k in enumerate(ANSWERS):
        errors = midrange_errors(jumping_case.noise, k, seed)
        assert math.sqrt((errors**2).mean()) <= 1 / (least * k)


def test_extreme_at_the_greater_jump_converges_at_rate_one_over_k(jumping_case):
    noise, answers = jumping_case.noise, np.array([300, 1000, 3000])
    at_low, at_high = float(jumping_case.density(noise.low)), float(jumping_case.density(noise.high))
    errors = []
    for seed, k in enumerate(answers):
        drawn = noise.sample((REPEATS // 4, int(k)), rng=ReproducibleBits(seed))
        errors.append(drawn.min(axis=1) - noise.low if at_low >= at_high else noise.high - drawn.max(axis=1))
    assert rate(errors, answers) == pytest.approx(-1, abs=0.1)
    # K times the error tends to an exponential law with mean 1/γ(edge)
    assert answers[-1] * errors[-1].mean() == pytest.approx(1 / max(at_low, at_high), rel=0.15)


def most_likely(answers, width):
    """The shift that makes centred raised-cosine answers most likely: a root of the falling sum of tangents."""
    low, high = answers.max(axis=1) - width / 2, answers.min(axis=1) + width / 2
    for _ in range(50):
        middle = (low + high) / 2
        rising = np.tan(math.pi * (answers - middle[:, None]) / width).sum(axis=1) > 0
        low, high = np.where(rising, middle, low), np.where(rising, high, middle)
    return (low + high) / 2


def test_best_estimators_of_raised_cosine_answers_reach_only_one_over_root_k():
    noise, answers = RaisedCosine(-0.5, 0.5), ANSWERS[:4]
    information = float(noise.information[0, 0])
    likely, middle = [], []
    for seed, k in enumerate(answers):
        drawn = noise.sample((REPEATS // 2, int(k)), rng=ReproducibleBits(seed))
        likely.append(most_likely(drawn, 1.0))
        middle.append(midrange_errors(noise, k, seed))
    assert rate(likely, answers) == pytest.approx(-0.5, abs=0.05)
    assert rate(middle, answers) == pytest.approx(-1 / 3, abs=0.05)
    # both are unbiased by symmetry, so K·I·Var ≥ 1; 4 standard errors of a mean square are 4√(2/REPEATS) ≈ 0.09
    for k, *errors in zip(answers, likely, middle, strict=True):
        assert all(k * information * (error**2).mean() > 0.9 for error in errors)
    assert answers[-1] * information * (likely[-1] ** 2).mean() == pytest.approx(1, abs=0.15)
