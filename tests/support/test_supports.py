"""Supports know their own geometry."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import errorfloor as ef
from errorfloor.random import ReproducibleBits

L_SHAPE = [[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]]
BOUNDED = [
    ef.Interval(-1.0, 2.0),
    ef.Box([0, -1], [1, 2]),
    ef.Box([0, 0, 0], [1, 2, 3]),
    ef.Ball(2, 1.5, [1.0, 0.0]),
    ef.Ball(5, 1.0),
    ef.Ellipsoid([[2.0, 0.5], [0.5, 1.0]], [0.0, 1.0]),
    ef.Polygon(L_SHAPE),
    ef.Polygon([[0, 0], [0, 1], [1, 0]]),
    ef.Polytope(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.1, 0.1, 0.1]]),
    ef.Polytope(A=[[1, 1], [-1, 0], [0, -1], [1, 1]], b=[1, 0, 0, 5]),
    ef.Polytope(vertices=[[0.0], [3.0], [1.0]]),
]
UNBOUNDED = [
    ef.HalfLine(-1.0),
    ef.HalfLine(high=2.0),
    ef.Orthant(3),
    ef.Reals(2),
    ef.Polytope(A=[[-1.0, 0.0], [0.0, -1.0], [1.0, 0.0]], b=[0.0, 0.0, 1.0]),
]
EVERY = BOUNDED + UNBOUNDED


def name(support):
    return f"{type(support).__name__}-{support.dimension}"


def points_around(support, count, seed):
    """Uniform points in a box somewhat larger than the support's bounding box."""
    low, high = support.bounding_box
    low = np.where(np.isfinite(low), low, np.where(np.isfinite(high), high - 5, -5))
    high = np.where(np.isfinite(high), high, low + 10)
    margin = 0.1 * (high - low)
    uniform = ReproducibleBits(seed).uniform(count * support.dimension).reshape(count, support.dimension)
    points = low - margin + uniform * (high - low + 2 * margin)
    box_volume = float(np.prod(high - low + 2 * margin))
    return (points[:, 0] if support.dimension == 1 else points), box_volume


@pytest.mark.parametrize("support", BOUNDED, ids=name)
def test_volume_agrees_with_the_share_of_random_points_inside(support):
    points, box_volume = points_around(support, 400_000, seed=1)
    inside = support.contains(points)
    # Hoeffding: the share is off by more than this with probability below 1e-9
    slack = math.sqrt(math.log(2 / 1e-9) / (2 * len(points)))
    assert abs(inside.mean() - support.volume / box_volume) < slack
    assert support.is_bounded


@pytest.mark.parametrize("support", UNBOUNDED, ids=name)
def test_unbounded_sets_have_infinite_volume(support):
    assert not support.is_bounded
    assert support.volume == math.inf


@pytest.mark.parametrize("support", EVERY, ids=name)
def test_bounding_box_holds_every_member_and_touches_the_set(support):
    points, _ = points_around(support, 50_000, seed=2)
    members = np.reshape(points[support.contains(points)], (-1, support.dimension))
    low, high = support.bounding_box
    assert ((members >= low) & (members <= high)).all()
    reach = np.where(np.isfinite(low) & np.isfinite(high), high - low, np.inf)
    near = 0.35 if support.dimension > 2 else 0.15
    assert ((members.min(axis=0) - low < near * reach) | ~np.isfinite(low)).all()


@pytest.mark.parametrize("support", EVERY, ids=name)
@given(seed=st.integers(0, 10**6))
def test_affine_image_has_exactly_the_images_of_members(support, seed):
    generator = np.random.default_rng(seed)
    m = support.dimension
    matrix = generator.normal(size=(m, m)) + 2 * np.eye(m)
    shift = generator.normal(size=m)
    if np.linalg.cond(matrix) > 50:
        matrix = np.eye(m)
    image = support.image(matrix, shift)
    points, _ = points_around(support, 300, seed=3)
    flat = np.reshape(points, (-1, m))
    moved = flat @ matrix.T + shift
    # stay off the boundary, where rounding decides
    low, high = (support.contains(np.squeeze(flat * factor)) for factor in (1 - 1e-7, 1 + 1e-7))
    clear = np.atleast_1d(low == high) & np.atleast_1d(support.contains(points) == low)
    assert (np.atleast_1d(image.contains(np.squeeze(moved)))[clear] == support.contains(points)[clear]).all()
    if support.is_bounded:
        assert image.volume == pytest.approx(support.volume * abs(np.linalg.det(matrix)), rel=1e-9)


@pytest.mark.parametrize("support", EVERY, ids=name)
def test_serialisation_round_trips_through_json(support):
    again = ef.support.from_dict(json.loads(json.dumps(support.to_dict())))
    assert again == support
    assert hash(again) == hash(support)
    assert again.to_dict() == support.to_dict()


@pytest.mark.parametrize(
    "support",
    [
        ef.Box([0, -1], [1, 2]),
        ef.Box([-1, -1], [1, 1]).image([[1.0, 0.4], [0.2, 1.0]], [3.0, 1.0]),
        ef.Polygon([[0, 0], [2, 1], [3, 3], [1, 2]]),
        ef.Orthant(2).image([[1.0, 1.0], [0.0, 1.0]]),
        ef.Box([0, 0, 0], [1, 2, 3]).image(np.eye(3)[[2, 0, 1]]),
    ],
)
def test_product_form_describes_the_same_set(support):
    N, sides = support.product_form
    points, _ = points_around(support, 20_000, seed=4)
    coordinates = points @ N.T
    in_product = np.all([side.contains(coordinates[:, i]) for i, side in enumerate(sides)], axis=0)
    assert (in_product == support.contains(points)).mean() > 0.9999
    assert 0.05 < in_product.mean() < 0.99


@pytest.mark.parametrize(
    "support", [ef.Polygon(L_SHAPE), ef.Polygon([[0, 0], [1, 0], [0, 1]]), ef.Ball(2, 1.0), ef.Ball(3, 1.0)]
)
def test_what_is_no_product_has_no_product_form(support):
    assert support.product_form is None


def test_an_axis_parallel_polygon_is_recognised_as_its_box():
    N, sides = ef.Polygon([[0, 0], [2, 0], [2, 1], [0, 1]]).product_form
    assert np.array_equal(N, np.eye(2))
    assert sides == (ef.Interval(0, 2), ef.Interval(0, 1))


def test_redundant_half_spaces_leave_no_facet():
    A, _ = ef.Polytope(A=[[1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [1, 0]], b=[1, 1, 1, 1, 9, 7]).half_spaces
    assert A.shape == (4, 2)


def test_images_stay_in_the_family_where_they_can():
    assert ef.Interval(0, 1).image([[-2.0]], [1.0]) == ef.Interval(-1, 1)
    assert ef.HalfLine(1.0).image([[-1.0]]) == ef.HalfLine(high=-1.0)
    assert ef.Box([0, 0], [1, 2]).image(np.diag([2.0, -1.0])) == ef.Box([0, -2], [2, 0])
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    assert isinstance(ef.Ball(2, 1.0).image(3 * turn), ef.Ball)
    assert ef.Ball(2, 1.0).image(3 * turn).radius == pytest.approx(3)
    assert isinstance(ef.Ball(2, 1.0).image([[1.0, 1.0], [0.0, 1.0]]), ef.Ellipsoid)
    assert ef.Orthant(2).image(np.diag([2.0, 3.0])) == ef.Orthant(2)


def test_polygon_orientation_does_not_matter():
    assert ef.Polygon(L_SHAPE[::-1]).volume == ef.Polygon(L_SHAPE).volume == 3
    assert not ef.Polygon(L_SHAPE).is_convex
    assert ef.Polygon(L_SHAPE).contains([[0.5, 1.9], [1.5, 1.5], [1.0, 1.0], [2.0, 0.5]]).tolist() == [
        True,
        False,
        True,
        True,
    ]


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ef.Interval(1, 0), "Interval needs low < high, got low 1.0 and high 0.0"),
        (lambda: ef.Interval(1, 1), "Interval needs low < high"),
        (lambda: ef.Interval(NAN, 1), "low must be a finite number, got nan"),
        (lambda: ef.Interval(0, INF), r"use HalfLine\(low\)"),
        (lambda: ef.Interval("a", 1), "low must be numbers, got 'a'"),
        (lambda: ef.Interval(-1e308, 1e308), "rescale the data"),
        (lambda: ef.Box([0, 3], [1, 2]), "got low 3.0 and high 2.0 in coordinate 1"),
        (lambda: ef.Box([0], [1, 2]), "low and high must have equally many entries, got 1 and 2"),
        (lambda: ef.Box([], []), "low must be a list of numbers"),
        (lambda: ef.Box([0, NAN], [1, 1]), "low must be finite everywhere, got nan"),
        (lambda: ef.Box([[0, 1], [2]], [1, 1]), "rows of different lengths"),
        (lambda: ef.Ball(0, 1.0), "dimension must be a whole number of at least 1, got 0"),
        (lambda: ef.Ball(2, 0.0), "radius must be positive, got 0.0"),
        (lambda: ef.Ball(2, 1.0, [0, 0, 0]), "center must have 2 entries, got 3"),
        (lambda: ef.Ellipsoid([[1, 2], [0, 1]]), "shape must be symmetric"),
        (lambda: ef.Ellipsoid([[1, 0], [0, -1]]), "shape must be positive semi-definite"),
        (lambda: ef.Ellipsoid([[1, 1], [1, 1]]), "shape must be positive definite, but has rank 1 of 2"),
        (lambda: ef.HalfLine(), "HalfLine needs its end"),
        (lambda: ef.HalfLine(0, 1), r"use Interval\(0, 1\)"),
        (lambda: ef.HalfLine(NAN), "low must be a finite number, got nan"),
        (lambda: ef.Orthant(-1), "dimension must be a whole number"),
        (lambda: ef.Reals(1.5), "dimension must be a whole number"),
        (lambda: ef.Polygon([[0, 0], [1, 1]]), "Polygon needs at least 3 corners"),
        (lambda: ef.Polygon([[0, 0], [1, 1], [2, 2]]), "Polygon (is flat|folds back|crosses itself)"),
        (lambda: ef.Polygon([[0, 0], [1, 1], [1, 0], [0, 1]]), "Polygon crosses itself: sides 0 and 2 meet"),
        (lambda: ef.Polygon([[0, 0], [1, 0], [1, 1], [0, 0]]), "Polygon repeats a corner"),
        (lambda: ef.Polygon([[0, 0], [2, 0], [1, 0], [1, 1]]), "Polygon (folds back|crosses)"),
        (lambda: ef.Polytope(), "either vertices"),
        (lambda: ef.Polytope(A=[[1.0]]), "either vertices"),
        (lambda: ef.Polytope(A=[[1.0, 0], [-1, 0]], b=[0, -1]), "Polytope is empty"),
        (lambda: ef.Polytope(A=[[1.0, 0], [-1, 0]], b=[1, -1]), "Polytope is flat"),
        (lambda: ef.Polytope(A=[[0.0, 0]], b=[1]), "row 0 of A is zero"),
        (lambda: ef.Polytope(A=[[1.0, 0]], b=[1, 2]), "A and b must have equally many rows"),
        (lambda: ef.Polytope(vertices=[[0, 0], [1, 1], [2, 2]]), "Polytope is flat"),
        (lambda: ef.Polytope(vertices=[[0, 0], [1, 1]]), "Polytope is flat"),
        (lambda: ef.HalfLine(1e300).image([[1e20]]), "low must be a finite number, got inf"),
        (lambda: ef.HalfLine(high=1e300).image([[1e20]]), "high must be a finite number, got inf"),
        (lambda: ef.Interval(0, 1).image([[0.0]]), "matrix must be invertible"),
        (lambda: ef.Box([0, 0], [1, 1]).image([[1, 2], [2, 4]]), "maps a whole direction to zero"),
        (lambda: ef.Box([0, 0], [1, 1]).image(np.eye(2), [1]), "shift must have 2 entries, got 1"),
        (lambda: ef.Box([0, 0], [1, 1]).image(np.eye(3)), "matrix must be 2×2, got 3×3"),
    ],
)
def test_nonsense_is_refused_with_its_reason(make, message):
    with pytest.raises(ef.errors.SupportError, match=message):
        make()


def test_points_of_the_wrong_dimension_are_refused():
    with pytest.raises(ef.errors.InputError, match="points of dimension 2 along the last axis"):
        ef.Box([0, 0], [1, 1]).contains([1.0, 2.0, 3.0])


def test_unknown_types_and_fields_are_refused():
    with pytest.raises(ef.errors.InputError, match="unknown support type 'Blob'"):
        ef.support.from_dict({"type": "Blob"})
    with pytest.raises(ef.errors.InputError, match="Interval cannot be built from its fields"):
        ef.support.from_dict({"type": "Interval", "depth": 1})
    with pytest.raises(ef.errors.InputError, match="must be a mapping with a 'type'"):
        ef.support.from_dict([1, 2])
