"""The exact curve of noise vectors: Gaussian by length, products where one coordinate moves."""

import math

import numpy as np
import pytest

from errorfloor import dp
from errorfloor.noise import (
    Airy,
    Gaussian,
    Laplace,
    LinearImage,
    Maxwell,
    Product,
    RaisedCosine,
    Translation,
    Uniform,
)

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


def test_laplace_vectors_are_purely_private_at_the_sum_of_their_losses():
    noise = Product((Laplace(2.0), Laplace(4.0)))
    assert dp.epsilon(noise, [[1.0, 1.0]], 0.0) == 0.75


def test_epsilon_of_vectors_is_rounded_up():
    for noise, rows, target in [
        (SQUARE, [[0.2, 0.0], [0.0, 0.2]], 0.15),
        (Gaussian(np.eye(2)), [[0.3, 0.4]], 1e-9),
    ]:
        level = dp.epsilon(noise, rows, target)
        assert dp.delta(noise, rows, level) <= target
        assert dp.delta(noise, rows, level * (1 - 1e-6)) > target
