"""The exact curve of noise vectors: Gaussian by length, products by nesting, balls along lines."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from errorfloor import dp
from errorfloor.dp.shifts import Part, independent_parts
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Product,
    RaisedCosine,
    Translation,
    TruncatedLaplace,
    Uniform,
)
from nested_quadrature import _nested, curve_of_parts, delta_of_product

SQUARE = Product((RaisedCosine(-0.5, 0.5), RaisedCosine(-0.5, 0.5)))


def test_gaussian_vectors_depend_on_the_mahalanobis_length_alone():
    covariance = np.array([[4.0, 1.0, 0.0], [1.0, 2.0, 0.5], [0.0, 0.5, 1.0]])
    shift = np.array([0.7, -0.4, 0.3])
    length = math.sqrt(shift @ np.linalg.inv(covariance) @ shift)
    expected = dp.delta(Gaussian(1.0), length, [0.0, 0.5, 2.0])
    assert dp.delta(Gaussian(covariance), [shift], [0.0, 0.5, 2.0]) == pytest.approx(expected, rel=1e-12)


def test_images_of_gaussians_are_gaussian():
    matrix, shift = np.array([[2.0, 1.0], [0.0, 1.5]]), [0.3, -0.8]
    image = Translation(LinearImage(Gaussian(np.eye(2)), matrix), [5.0, -1.0])
    direct = Gaussian(matrix @ matrix.T)
    assert dp.delta(image, shift, 0.4) == pytest.approx(dp.delta(direct, shift, 0.4), rel=1e-12)


def test_the_worst_row_counts():
    rows = [[0.1, 0.0], [0.0, 0.3], [-0.2, 0.0]]
    assert dp.delta(SQUARE, rows, 0.5) == dp.delta(SQUARE, [0.0, 0.3], 0.5)
    assert dp.delta(SQUARE, [[0.0, 0.0], [0.0, 0.3]], 0.5) == dp.delta(RaisedCosine(0, 1), 0.3, 0.5)


def test_coordinates_that_do_not_move_do_not_count():
    noise = Product((Maxwell(1.0), RaisedCosine(0, 1), Airy(1.0), Laplace(1.0), Uniform(low=0, high=1)))
    assert dp.delta(noise, [0.0, 0.2, 0.0, 0.0, 0.0], 0.3) == dp.delta(RaisedCosine(0, 1), 0.2, 0.3)


def test_shifts_between_the_extreme_ones_cost_less(divergence_on_a_grid):
    noise = Product((RaisedCosine(-0.5, 0.5), Uniform(low=-0.5, high=0.5)))
    extreme = np.array([[0.3, 0.1], [-0.1, 0.25]])
    bound = delta_of_product(noise, extreme, 0.4)
    weights = np.random.default_rng(5).dirichlet(np.ones(4), 4)
    for inner in weights @ np.vstack([extreme, -extreme]):
        assert divergence_on_a_grid(noise, inner, 0.4, [-0.5, -0.5], [0.5, 0.5]) <= bound + 1e-6


def test_products_in_the_plane_agree_with_a_grid(divergence_on_a_grid):
    cases = [
        (3.0, SQUARE, [0.2, 0.1], [-0.5, -0.5], [0.5, 0.5]),
        (0.6, Product((RaisedCosine(-0.5, 0.5), Maxwell(0.3))), [0.1, 0.1], [-0.5, 0.0], [0.5, 2.5]),
        (0.0, Product((Laplace(0.2), Airy(0.2))), [0.1, -0.1], [-4.0, -2.0], [4.0, 2.0]),
        (0.6, Product((TruncatedLaplace(0.4, low=-1, high=1), Gaussian(0.1))), [0.2, 0.1], [-1.0, -3.0], [1.0, 3.0]),
    ]
    for epsilon, noise, shift, low, high in cases:
        on_grid = max(divergence_on_a_grid(noise, sign * np.array(shift), epsilon, low, high) for sign in (1, -1))
        assert delta_of_product(noise, shift, epsilon) == pytest.approx(on_grid, abs=1e-5)


def test_a_parallelogram_is_a_square_seen_through_its_matrix():
    matrix = np.array([[1.0, 0.6], [0.2, 0.9]])
    shift = np.array([0.1, 0.15])
    assert delta_of_product(LinearImage(SQUARE, matrix), matrix @ shift, 0.5) == pytest.approx(
        delta_of_product(SQUARE, shift, 0.5), rel=1e-9
    )


def test_nesting_gives_back_what_two_gaussians_make_together():
    parts = (Part(Gaussian(1.0), 0.6), Part(Gaussian(1.0), 0.8))
    for epsilon in (0.0, 0.5, 3.0):
        value, error = _nested(parts, np.array(epsilon))
        assert float(value) == pytest.approx(dp.delta(Gaussian(1.0), 1.0, epsilon), rel=1e-9)
        assert float(error) < 1e-9


@pytest.mark.parametrize("epsilon", [0.0, 0.7])
def test_nested_values_lie_above_the_exact_one_whatever_the_order(epsilon):
    parts = (Part(Maxwell(1.0), 0.4), Part(RaisedCosine(0, 1), 0.2), Part(Laplace(1.0), 0.3))
    values = [
        float(curve_of_parts(order, np.array(epsilon)))
        for order in (parts, parts[::-1], (parts[1], parts[2], parts[0]))
    ]
    inward = float(_nested(parts[::-1], np.array(epsilon))[0])
    assert max(values) - min(values) < 1e-8
    assert min(values) >= inward - 1e-9


def test_three_coordinates_agree_with_an_average_over_draws():
    noise = Product((RaisedCosine(-0.5, 0.5), Maxwell(0.3), Laplace(0.4)))
    shift, epsilon = np.array([0.15, 0.1, -0.1]), 0.5
    w = noise.sample(400_000, rng=11)
    for sign in (1, -1):
        loss = noise.logpdf(w) - noise.logpdf(w - sign * shift)
        gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
        spread = 5 * gain.std() / math.sqrt(gain.size)
        exact = float(curve_of_parts(independent_parts(noise, sign * shift), np.array(epsilon)))
        assert exact == pytest.approx(gain.mean(), abs=spread)


def test_independent_infinite_losses_combine_like_independent_events():
    noise = Product((RaisedCosine(0, 1), Maxwell(1.0), Uniform(low=0, high=2)))
    shift = [0.2, 0.3, 0.1]
    lost = [dp.delta(factor, h, math.inf) for factor, h in zip(noise.factors, shift, strict=True)]
    assert delta_of_product(noise, shift, math.inf) == pytest.approx(1 - math.prod(1 - p for p in lost), abs=1e-10)


def test_laplace_vectors_are_purely_private_at_the_sum_of_their_losses():
    noise = Product((Laplace(2.0), Laplace(4.0)))
    assert dp.epsilon(noise, [[1.0, 1.0]], 0.0) == 0.75
    assert delta_of_product(noise, [[1.0, 1.0]], 0.75) == 0.0
    assert 0 < delta_of_product(noise, [[1.0, 1.0]], 0.7) < 2e-2


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_discs_agree_with_a_grid(epsilon):
    noise, shift = BesselBall(2, 1.0), [0.3, 0.2]
    axis = (np.arange(600) + 0.5) / 300 - 1
    w = np.stack(np.meshgrid(axis, axis), axis=-1)
    difference = noise.pdf(w) - math.exp(epsilon) * noise.pdf(w - shift)
    on_grid = float(np.maximum(difference, 0.0).sum()) / 300**2
    assert dp.delta(noise, shift, epsilon) == pytest.approx(on_grid, abs=1e-5)


@pytest.mark.parametrize("shift", [0.2, 1.0, 1.7])
def test_share_of_a_ball_that_one_record_alone_can_reach(shift):
    def lost(radius):
        cosine = (radius**2 + shift**2 - 1) / (2 * radius * shift)
        return 2 * math.sin(math.pi * radius) ** 2 * (1 + min(max(cosine, -1.0), 1.0)) / 2

    exact = quad(lost, 0, 1, points=[abs(1 - shift)], epsabs=1e-12)[0]
    assert dp.delta(BesselBall(3, 2.0), [0.0, 2 * shift, 0.0], math.inf) == pytest.approx(exact, abs=1e-9)


def test_a_ball_shifted_by_its_radius_keeps_three_eighths():
    assert dp.delta(BesselBall(3, 1.0), [0.6, 0.8, 0.0], math.inf) == pytest.approx(0.625, abs=1e-9)


def test_balls_of_many_dimensions_agree_with_an_average_over_draws():
    noise, shift, epsilon = BesselBall(6, 1.0), np.array([0.2, 0.1, 0.0, 0.0, 0.0, -0.1]), 0.5
    w = noise.sample(200_000, rng=3)
    loss = noise.logpdf(w) - noise.logpdf(w - shift)
    gain = -np.expm1(np.minimum(epsilon - loss, 0.0))
    assert dp.delta(noise, shift, epsilon) == pytest.approx(gain.mean(), abs=5 * gain.std() / math.sqrt(gain.size))


def test_epsilon_of_vectors_is_rounded_up():
    for noise, rows, target in [
        (SQUARE, [[0.2, 0.0], [0.0, 0.2]], 0.15),
        (BesselBall(2, 1.0), [[0.3, 0.0]], 0.05),
        (Gaussian(np.eye(2)), [[0.3, 0.4]], 1e-9),
    ]:
        level = dp.epsilon(noise, rows, target)
        assert dp.delta(noise, rows, level) <= target
        assert dp.delta(noise, rows, level * (1 - 1e-6)) > target
