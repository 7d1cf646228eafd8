"""Dependent answers: the best slice, and what it promises about the data."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.solvers import solve
from errorfloor.errors import InputError
from errorfloor.noise import Flat

PI2 = math.pi**2


def test_one_number_asked_twice_costs_the_diagonal_of_the_square():
    noise = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=np.ones((2, 2)))
    assert isinstance(noise, Flat)
    assert noise.certificate.value == pytest.approx(4 * PI2, rel=1e-8)
    assert noise.certificate.gap < 1e-11
    assert "no density is optimal" in noise.certificate.method
    assert noise.information_about([[1.0], [1.0]])[0, 0] == pytest.approx(4 * PI2, rel=1e-12)
    assert ef.floor(noise, [[1.0], [1.0]]).information[0, 0] == pytest.approx(4 * PI2, rel=1e-12)
    drawn = noise.sample(1000, rng=1)
    assert np.allclose(drawn[:, 0], drawn[:, 1], atol=1e-14)
    assert noise.support.contains(drawn).all()


def test_densities_approach_the_slice_from_above_and_do_not_reach_it():
    values = [
        solve(ef.Box([0, 0], [1, 1]), np.array([[1.0, r], [r, 1.0]]), certify=False, tolerance=1e-4).value / (1 + r) * 2
        for r in (0.9, 0.99, 0.999)
    ]
    assert values == sorted(values, reverse=True)
    assert 4 * PI2 < values[-1] < 4 * PI2 * 1.12


def test_information_is_infinite_for_whoever_leaves_the_slice():
    noise = ef.design(ef.Box([0, 0], [1, 1]), jacobian=[[1.0], [1.0]])
    assert np.isinf(np.diag(noise.information)).all()
    assert "slice of 1 dimension" in noise.why_infinite
    floor = ef.floor(noise, np.eye(2), ranges=(0, 1))
    assert (floor.per_entry == 0).all()
    assert floor.distinguish(0.1) == 1.0
    half = ef.floor(noise, [[1.0, 1.0], [1.0, 0.0]])
    assert half.per_entry[0] > 0.1
    assert half.per_entry[1] == 0
    wrong = ef.floor(noise, [[1.0], [1.0]], evaluation_error=1e-9)  # rounding moves the answers off the slice
    assert wrong.per_entry[0] == 0


@pytest.mark.parametrize(
    ("support", "direction", "chord"),
    [
        (ef.Box([0, 0], [1, 2]), [1.0, 1.0], math.sqrt(2)),
        (ef.Box([0, 0], [1, 2]), [1.0, 0.0], 1.0),
        (ef.Ball(2, 1.5, [1.0, 1.0]), [1.0, 2.0], 3.0),
        (ef.Ellipsoid([[4.0, 0.0], [0.0, 1.0]]), [0.0, 1.0], 2.0),
        (ef.Polygon([[0, 0], [1, 0], [0, 1]]), [1.0, -1.0], math.sqrt(2)),
        (ef.Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]), [1.0, 0.0], 2.0),
        (ef.Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]), [1.0, 1.0], math.sqrt(2)),
        (ef.Polytope(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), [1.0, -1.0, 0.0], math.sqrt(2)),
    ],
)
def test_a_single_query_repeated_uses_the_longest_chord(support, direction, chord):
    v = np.array(direction) / np.linalg.norm(direction)
    noise = ef.design(support, sensitivity=np.outer(v, v))
    assert noise.certificate.value == pytest.approx(4 * PI2 / chord**2, rel=1e-8)
    assert noise.certificate.gap < 1e-11
    assert support.contains(noise.sample(500, rng=1)).all()


def test_three_answers_about_two_numbers_use_the_central_plane():
    C = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    noise = ef.design(ef.Box([0] * 3, [1] * 3), jacobian=C)
    assert noise.base.dimension == 2
    assert noise.certificate.gap < 1e-6
    assert noise.support.contains(noise.sample(1000, rng=1)).all()
    information = noise.information_about(C)
    assert np.trace(information) == pytest.approx(noise.certificate.value, rel=1e-9)
    # the same slice as a polygon in the first two coordinates: |w₁| ≤ ½, |w₂| ≤ ½, |w₁ + w₂| ≤ ½
    hexagon = ef.Polytope(A=np.vstack([np.eye(2), -np.eye(2), [[1, 1], [-1, -1]]]), b=np.full(6, 0.5))
    assert noise.certificate.value == pytest.approx(ef.design(hexagon).certificate.value, rel=1e-6)


def test_quality_on_a_slice():
    free = ef.design(ef.Reals(2), sensitivity=[[1.0, 0.0], [0.0, 0.0]], max_loss=2.0)
    assert free.certificate.value == pytest.approx(0.5)
    assert free.expected_loss() == pytest.approx(2.0)
    box = ef.Box([-1, -1], [1, 1])
    noise = ef.design(box, sensitivity=np.ones((2, 2)), max_loss=0.1)
    line = ef.design(ef.Interval(-math.sqrt(2), math.sqrt(2)), max_loss=0.1)
    assert noise.certificate.value == pytest.approx(2 * line.certificate.value, rel=1e-9)
    assert noise.expected_loss() == pytest.approx(0.1, rel=1e-10)
    assert noise.expected_loss(lambda w: (w**2).sum(axis=-1)) == pytest.approx(0.1, rel=1e-9)


def test_a_slice_has_no_bounds_on_derivatives():
    noise = ef.design(ef.Box([0, 0], [1, 1]), jacobian=[[1.0], [1.0]])
    with pytest.raises(InputError, match="whether an answer stays on the slice"):
        ef.floor(noise, [[1.0], [1.0]], linear=False)


@pytest.mark.parametrize("support", [ef.Box([-1, -1], [1, 1]), ef.Reals(2)])
def test_an_absolute_loss_along_a_slice_is_one_of_a_line(support):
    """Along (1, 1)/√2 the loss |w₁| + |w₂| is √2|z|, and K is 2."""
    noise = ef.design(support, sensitivity=np.ones((2, 2)), loss="absolute", loss_weight=3.0).certificate
    line = ef.Interval(-math.sqrt(2), math.sqrt(2)) if support.is_bounded else ef.Reals(1)
    alone = ef.design(line, sensitivity=[[2.0]], loss="absolute", loss_weight=3 * math.sqrt(2)).certificate
    assert noise.value == pytest.approx(alone.value, rel=1e-9)
    assert noise.lower_bound <= alone.value


@pytest.mark.parametrize(
    ("support", "rank", "quality"),
    [
        (ef.Polytope(vertices=[[0, 0], [1, 0], [0, 1]]), 1, {"loss_weight": 2.0}),
        (ef.Orthant(2), 1, {"loss_weight": 2.0}),
        (ef.Ball(3, 1.0, [0.4, 0.2, 0.0]), 2, {"loss_weight": 2.0}),
        (ef.Polytope(vertices=np.vstack([np.zeros(3), np.eye(3)])), 2, {}),
    ],
)
def test_a_slice_that_no_theorem_names_is_refused_with_advice(support, rank, quality):
    F = np.array([[1.0, 0.0], [1.0, 0.5], [1.0, -0.5]])[: support.dimension, :rank]
    with pytest.raises(InputError, match=f"ask for {rank} independent answers and compute the others from them"):
        ef.design(support, jacobian=F, **quality)
