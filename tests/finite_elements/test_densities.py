"""What a numerical noise says about itself follows from its density, by independent routes."""

import json
import math

import numpy as np
import pytest

from errorfloor.errors import InputError, NoClosedFormError
from errorfloor.noise import BesselBall, EllipsoidPolynomial, Piecewise, from_dict
from errorfloor.support import Ball, Polygon, Polytope

TRIANGLE = Polygon([[0, 0], [1, 0], [0, 1]])
BUMP = [0.0] * 9 + [1.0]  # u ∝ x y (1 − x − y)


def triangle_noise():
    return Piecewise(TRIANGLE, TRIANGLE.vertices, [[0, 1, 2]], 3, BUMP)


def midpoint_grid(low, high, count):
    axes = [(np.arange(count) + 0.5) / count * (b - a) + a for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(low))
    return points, np.prod(np.subtract(high, low)) / count ** len(low)


@pytest.mark.parametrize(
    ("name", "count", "accuracy"), [("L-shape", 300, 3e-4), ("ellipse", 300, 3e-4), ("ball", 50, 4e-3)]
)
def test_density_integrates_to_one_and_information_is_that_of_its_score(designs, name, count, accuracy):
    noise = designs[name].noise
    points, cell = midpoint_grid(*noise.support.bounding_box, count)
    density = noise.pdf(points)
    assert density.sum() * cell == pytest.approx(1, abs=accuracy)
    assert (density[~noise.support.contains(points)] == 0).all()
    some = density > 0
    score = noise.score(points[some])
    information = (score * density[some, None]).T @ score * cell
    assert information == pytest.approx(noise.information, abs=20 * accuracy * np.trace(noise.information))
    assert points.T @ density * cell == pytest.approx(noise.mean, abs=3 * accuracy)
    logarithm = np.log(density[some])
    assert -(density[some] * logarithm).sum() * cell == pytest.approx(noise.entropy, abs=20 * accuracy)


def test_score_is_the_slope_of_the_log_density(design):
    noise = design.noise
    points = noise.sample(200, rng=21)
    step = 1e-6
    for axis in np.eye(noise.dimension):
        slope = (noise.logpdf(points + step * axis) - noise.logpdf(points - step * axis)) / (2 * step)
        assert np.median(abs(slope - noise.score(points) @ axis) / (1 + abs(slope))) < 1e-6


def test_outside_there_is_nothing(design):
    far = np.full((1, design.noise.dimension), -77.0)
    assert design.noise.pdf(far) == [0.0]
    assert np.isnan(design.noise.score(far)).all()
    assert np.isnan(design.noise.pdf(np.full((1, design.noise.dimension), math.nan))).all()


def test_single_bump_has_the_integrals_of_beta_functions():
    """∫x²y²(1−x−y)² = 2!³/8! and its like, by hand."""
    noise = triangle_noise()
    mass = 8 / math.factorial(8)
    slope = (4 - 2 * 2 + 4) / math.factorial(6)  # ∫(y(1−2x−y))² = ∫y²((1−x−y)² − 2x(1−x−y) + x²)
    assert noise.information[0, 0] == pytest.approx(4 * slope / mass)
    assert noise.mean == pytest.approx([1 / 3, 1 / 3])
    second = math.factorial(4) * 4 / math.factorial(10) / mass
    assert noise.covariance[0, 0] == pytest.approx(second - 1 / 9)
    with pytest.raises(NoClosedFormError, match="use samples"):
        noise.expected_loss("absolute")


def test_disc_polynomial_matches_the_bessel_density(designs):
    from errorfloor.designer.elements.ground_state import ground_state

    numerical = ground_state(Ball(2, 1.5), np.eye(2)).noise
    exact = BesselBall(2, 1.5)
    points = np.array([[0.0, 0.0], [0.4, -0.3], [1.2, 0.5], [1.49, 0.0]])
    assert numerical.pdf(points) == pytest.approx(exact.pdf(points), rel=1e-4)
    assert numerical.information == pytest.approx(exact.information, abs=1e-6)
    assert numerical.covariance == pytest.approx(exact.covariance, abs=1e-6)
    assert numerical.entropy == pytest.approx(exact.entropy, abs=1e-5)


def test_noises_survive_json_to_the_last_bit(design):
    noise = design.noise
    again = from_dict(json.loads(json.dumps(noise.to_dict())))
    assert again == noise
    assert (again.sample(50, rng=5) == noise.sample(50, rng=5)).all()
    assert (again.information == noise.information).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cells": [[2, 1, 0]]}, "rising order"),
        ({"cells": [[0, 1, 7]]}, "rows of vertices"),
        ({"coefficients": [1.0] * 9 + [1.0]}, "vanish on the outer boundary"),
        ({"coefficients": [0.0] * 10}, "no density"),
        ({"coefficients": [1.0]}, "control points"),
        ({"degree": 40}, "at most 12"),
        ({"region": Ball(3, 1.0)}, "dimension 3"),
        ({"region": "triangle"}, "must be a support"),
    ],
)
def test_piecewise_noise_refuses_what_is_no_density(change, message):
    fields = {
        "region": TRIANGLE,
        "vertices": TRIANGLE.vertices,
        "cells": [[0, 1, 2]],
        "degree": 3,
        "coefficients": BUMP,
    }
    with pytest.raises(InputError, match=message):
        Piecewise(**(fields | change))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Ball(5, 1.0), np.eye(5), 0, [1.0]), "2, 3 or 4 dimensions"),
        ((Ball(2, 2.0), np.eye(2), 0, [1.0]), "equal to the body's shape"),
        ((Ball(2, 1.0), np.eye(2), 1, [1.0]), "each of 3 polynomials"),
        ((Ball(2, 1.0), np.eye(2), 0, [0.0]), "no density"),
        ((Ball(2, 1.0), np.eye(2), 99, [0.0]), "at most 64"),
    ],
)
def test_polynomial_noise_refuses_what_is_no_density(arguments, message):
    with pytest.raises(InputError, match=message):
        EllipsoidPolynomial(*arguments)


def test_a_document_of_piecewise_noise_in_four_dimensions_is_refused_with_advice():
    corners = np.vstack([np.zeros(4), np.eye(4)])
    with pytest.raises(InputError, match="2 or 3 dimensions, got 4: use a box or an ellipsoid inside it"):
        Piecewise(Polytope(vertices=corners), corners, [[0, 1, 2, 3, 4]], 5, np.ones(126))
