"""Slices found by a search: a few of them prove how low all others can be."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.linalg import eigh_tridiagonal

import errorfloor as ef
from errorfloor.designer.convex_bound import Shadow, Slopes, least_of_convex, simplex
from errorfloor.designer.offsets import Offsets
from errorfloor.designer.problem import Problem
from errorfloor.designer.solvers import solve

ONES = np.ones((2, 2))
TRIANGLE = ef.Polytope(vertices=[[0, 0], [1, 0], [0, 1]])
WEDGE = ef.Polytope(A=[[-1.0, 0.0], [0.5, -1.0]], b=[0.5, 0.5])
BOX = ef.Box([-1, -1], [1, 2])
numbers = st.floats(-3, 3).map(lambda x: round(x, 3))


def looking(f, off=0.0, step=1e-4):
    """Tell bounds of f around a place, each off by a share of so much."""
    generator = np.random.default_rng(5)

    def slopes_at(a):
        steps = step * simplex(len(a))
        above = np.array([f(a + each) + off * generator.random() for each in steps])
        return Slopes.between(a, f(a) - off * generator.random(), steps, above)

    return slopes_at


def box_shadow(low, high):
    d = len(low)
    return Shadow(np.eye(d), np.vstack([np.eye(d), -np.eye(d)]), np.concatenate([high, -np.asarray(low)]))


@given(
    st.integers(1, 3).flatmap(
        lambda d: st.tuples(
            st.lists(st.tuples(st.lists(numbers, min_size=d, max_size=d), numbers), min_size=1, max_size=4),
            st.lists(numbers, min_size=d, max_size=d),
            st.floats(0, 2),
            st.sampled_from([0.0, 1e-5, 1e-4]),
        )
    )
)
@settings(max_examples=25)
def test_the_bound_lies_below_every_convex_function_that_it_was_told_about(drawn):
    pieces, bottom, curvature, off = drawn
    bottom = np.array(bottom)
    d = len(bottom)

    def shape(a):
        a = np.asarray(a)
        planes = np.stack([a @ np.array(p) + c for p, c in pieces])
        return planes.max(axis=0) + curvature * ((a - bottom) ** 2).sum(axis=-1)

    def f(a):
        return 1 + shape(a) - shape(np.zeros(d))  # 1 at the origin, which need not be the minimum

    bound = least_of_convex(box_shadow([-2] * d, [3] * d), looking(f, off), radius=0.1, sought=1e-3, tries=6)
    points = np.random.default_rng(1).uniform(-2, 3, (20000, d))
    kept = np.vstack([points, np.clip(bottom, -2, 3), np.zeros(d)])
    assert bound is not None
    assert bound <= f(kept).min() + 1e-12


@pytest.mark.parametrize(
    ("f", "low", "high", "least"),
    [
        (lambda a: 1 + np.abs(a).sum(), [-4.0], [7.0], 1.0),
        (lambda a: 1 + np.abs(a - 0.01).sum(), [-4.0, -4.0], [7.0, 5.0], 1.0),
        (lambda a: 1 + a[0] + 0.3 * a[0] ** 2, [0.0], [7.0], 1.0),
        (lambda a: 1 + (a @ a), [-4.0, -4.0], [7.0, 5.0], 1.0),
        (lambda a: 1.0, [-4.0, -4.0, -1.0], [7.0, 5.0, 1.0], 1.0),
        (lambda a: 1 + max(0.0, a[0]), [-4.0], [7.0], 1.0),
    ],
)
def test_the_bound_is_sharp_at_kinks_edges_and_smooth_minima(f, low, high, least):
    units = f(np.zeros(len(low)))
    look = looking(lambda a: f(a) / units, step=1e-6)
    bound = least_of_convex(box_shadow(low, high), look, radius=1e-2, sought=1e-4, tries=12)
    assert least / units - 1.5e-4 < bound <= least / units


def test_numbers_that_no_convex_function_has_give_no_slopes():
    steps = simplex(2)
    assert Slopes.between(np.zeros(2), 1.0, steps, np.array([0.5, 1.0, 1.4])) is None
    assert Slopes.between(np.zeros(2), 1.0, steps, np.array([1.5, 1.0, math.inf])) is None
    assert Slopes.between(np.zeros(2), 1.0, steps, np.array([0.5, 1.0, 1.6])) is not None
    open_line = Shadow(np.eye(1), np.array([[1.0]]), np.array([1.0]))
    assert least_of_convex(open_line, looking(lambda a: 1 + a @ a), radius=0.1, sought=1e-3, tries=3) is None


def cost_of_chord(support, offset, k, potential, points=500):
    """The least eigenvalue of −4k u″ + V u on the chord along (1, 1) at an offset, by second differences."""
    along, across = np.array([1.0, 1.0]) / math.sqrt(2), np.array([1.0, -1.0]) / math.sqrt(2)
    A, b = support.half_spaces
    depth, speed = b - A @ (offset * across), A @ along
    if (depth[np.abs(speed) < 1e-12] < 0).any():
        return math.inf
    with np.errstate(divide="ignore"):
        ends = depth / speed
    low, high = ends[speed < -1e-12].max(initial=-8.0), ends[speed > 1e-12].min(initial=8.0)
    if high - low < 1e-3:
        return math.inf
    values = []
    for n in (points, 2 * points):  # extrapolated: the error falls with the square of the step
        t, h = np.linspace(low, high, n + 1)[1:-1], (high - low) / n
        V = potential(offset * across + t[:, None] * along)
        main, off = 8 * k / h**2 + V, np.full(n - 2, -4 * k / h**2)
        values.append(eigh_tridiagonal(main, off, select="i", select_range=(0, 0))[0][0])
    return (4 * values[1] - values[0]) / 3


@pytest.mark.parametrize(
    ("support", "loss"),
    [(BOX, "squared"), (TRIANGLE, "squared"), (WEDGE, "squared"), (BOX, "absolute"), (TRIANGLE, "absolute")],
    ids=["box", "triangle", "wedge", "box-absolute", "triangle-absolute"],
)
def test_no_slice_of_a_grid_costs_less_than_the_bound(support, loss):
    noise = ef.design(support, sensitivity=ONES, loss=loss, loss_weight=2.0)
    power = 2 if loss == "squared" else 1
    grid = [
        cost_of_chord(support, offset, 2.0, lambda w: 2.0 * (np.abs(w) ** power).sum(axis=-1))
        for offset in np.linspace(-1.5, 1.5, 31)
    ]
    assert noise.certificate.gap < 5e-5
    assert "what slices cost is convex" in noise.certificate.method
    assert noise.certificate.lower_bound <= min(grid) * (1 + 1e-4 if loss == "absolute" else 1 + 1e-6)
    assert min(grid) < noise.certificate.value * 1.1  # the grid comes near the best one


def test_no_density_goes_below_the_bound():
    problem = Problem.parse(BOX, None, ONES, "squared", 2.0, None)
    bound = ef.design(BOX, sensitivity=ONES, loss="squared", loss_weight=2.0).certificate.lower_bound
    near = [
        problem.value_of(solve(BOX, K, problem.loss, 2.0, certify=False, tolerance=1e-4).noise)
        for K in (np.array([[1.0, r], [r, 1.0]]) for r in (0.9, 0.99))
    ]
    assert bound < near[1] < near[0] < 1.3 * bound


def test_a_half_plane_and_an_orthant_have_the_known_answer():
    # along (1, 1) K is 2, and the slice at offset a is a half-line that costs 2a² more, or begins at |a|
    orthant = ef.design(ef.Orthant(2), sensitivity=ONES, loss_weight=2.0).certificate
    assert orthant.lower_bound <= 12 * (1 + 1e-12) <= orthant.lower_bound * (1 + 1e-5)
    half = ef.design(ef.Polytope(A=[[1.0, 1.0]], b=[1.0]), sensitivity=ONES, loss_weight=2.0).certificate
    line = ef.design(ef.HalfLine(high=math.sqrt(0.5)), sensitivity=[[2.0]], loss_weight=2.0).certificate
    assert half.lower_bound <= line.value <= half.lower_bound * (1 + 1e-5)


@pytest.mark.parametrize("rank", [1, 2])
def test_boxes_and_balls_in_space_are_bounded(rank):
    F = np.array([[1.0, 0.0], [1.0, 0.5], [1.0, -0.5]])[:, :rank]
    supports = [ef.Ball(3, 1.0, [0.4, 0.2, 0.0])] if rank == 2 else [ef.Box([-1] * 3, [1, 2, 1])]
    for support in supports:
        noise = ef.design(support, jacobian=F, loss="squared", loss_weight=2.0)
        assert noise.certificate.gap < 1e-5


@pytest.mark.parametrize("dimension", [3, 4])
def test_simplices_are_bounded_where_their_corner_makes_a_kink(dimension):
    support = ef.Polytope(vertices=np.vstack([np.zeros(dimension), np.eye(dimension)]))
    noise = ef.design(support, jacobian=np.ones((dimension, 1)), loss="squared", loss_weight=2.0)
    # the chord from the corner to the middle of the opposite face
    line = ef.design(ef.Interval(0, dimension**-0.5), sensitivity=[[float(dimension)]], loss_weight=2.0)
    assert noise.certificate.gap < 1e-5
    assert noise.certificate.lower_bound <= line.certificate.value <= noise.certificate.value * (1 + 1e-9)


def test_a_bound_on_the_loss_keeps_a_proved_bound():
    # on the diagonal of the orthant the best noise is Maxwell's, with E t² = 3s² and 3/s² of information, twice
    binding = ef.design(ef.Orthant(2), sensitivity=ONES, max_loss=1.2).certificate
    assert binding.lower_bound <= 15 * (1 + 1e-10) <= binding.lower_bound * (1 + 1e-5)
    slack = ef.design(BOX, sensitivity=ONES, max_loss=1.2).certificate
    assert "does not bind" in slack.method
    assert slack.lower_bound <= math.pi**2 * (1 + 1e-12) <= slack.lower_bound * (1 + 1e-4)  # a chord 2√2 long, K = 2


def test_a_chosen_slice_at_the_edge_of_the_support_is_proved():
    side = ef.design(TRIANGLE, jacobian=[[1.0], [0.0]], loss_weight=2.0).certificate
    line = ef.design(ef.Interval(0, 1), loss_weight=2.0).certificate
    assert side.lower_bound <= line.value <= side.lower_bound * (1 + 1e-4)
    # a face of a tetrahedron: the right isosceles triangle of leg 1
    corner = ef.Polytope(vertices=np.vstack([np.zeros(3), np.eye(3)]))
    face = ef.design(corner, jacobian=np.eye(3)[:, :2]).certificate
    assert face.lower_bound <= 20 * math.pi**2 <= face.lower_bound * (1 + 1e-4)


def test_given_losses_are_bounded_where_one_direction_leads_away_and_not_where_more_do():
    def cosh(w):
        return np.cosh(w).sum(axis=-1)

    wedge = ef.design(WEDGE, sensitivity=ONES, loss=cosh, loss_weight=2.0).certificate
    assert wedge.gap < 1e-5
    grid = [
        cost_of_chord(WEDGE, offset, 2.0, lambda w: 2.0 * cosh(np.clip(w, -20, 20)))
        for offset in np.linspace(-1, 1, 21)
    ]
    assert wedge.lower_bound <= min(grid) * (1 + 1e-6)
    orthant = ef.design(ef.Orthant(3), jacobian=np.ones((3, 1)), loss=cosh, loss_weight=2.0).certificate
    assert orthant.lower_bound is None
    assert "no lower bound is proved" in orthant.explain()
    assert "says nothing about those far away" in orthant.method


def test_shapes_that_are_not_convex_have_no_bound_and_say_so():
    ell = ef.Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
    certificate = ef.design(ell, jacobian=[[1.0], [0.3]], loss="squared", loss_weight=2.0).certificate
    assert certificate.lower_bound is None
    assert "the support is not convex" in certificate.method


def test_the_search_reaches_slices_that_are_not_in_view():
    # a slanted strip that widens upwards: straight up from a point of a slice there is soon nothing
    corners = [[-0.1, 0.0], [0.1, 0.0], [5.35, 1.0], [4.65, 1.0]]
    noise = ef.design(ef.Polygon(corners), jacobian=[[1.0], [0.0]], loss="squared", loss_weight=10.0)
    heights = np.linspace(0.05, 0.95, 19)
    lines = [
        ef.design(ef.Interval(5 * y - 0.1 - 0.25 * y, 5 * y + 0.1 + 0.25 * y), loss_weight=10.0).certificate.value
        + 10 * y**2
        for y in heights
    ]
    assert noise.certificate.value < min(lines)
    assert noise.certificate.gap < 1e-5


def test_a_slice_is_looked_at_from_deep_inside():
    body = ef.Ellipsoid([[4.0, 1.0, 0.0], [1.0, 1.0, 0.2], [0.0, 0.2, 2.0]], [1.0, 0.0, 0.0])
    for support in (body, ef.Box([-1] * 3, [1, 2, 1])):
        slices = Offsets(support, np.array([[0.6], [0.8], [0.0]]), np.array([0.3, 0.1, 0.2]), 0.5)
        for offset in np.random.default_rng(3).uniform(-1, 1, (20, 2)):
            place, depth = slices.inside(offset)
            assert np.allclose(slices.of(place), offset)
            directions = np.random.default_rng(4).normal(size=(50, 3))
            around = place + 0.5 * depth * (1 - 1e-9) * directions / np.linalg.norm(directions, axis=1)[:, None]
            assert support.contains(around).all() == (depth > 0)


@pytest.mark.parametrize(
    "support", [ef.Box([-1, -1], [1, 1]), ef.Ball(2, 1.0), ef.Reals(2)], ids=["box", "disc", "plane"]
)
def test_a_given_loss_that_is_not_even_draws_the_slice_off_the_centre(support):
    """K counts derivatives along the first axis only; the loss is least where the second coordinate is 0.5."""

    def loss(w):
        return w[..., 0] ** 2 + (w[..., 1] - 0.5) ** 2

    certificate = ef.design(support, sensitivity=np.diag([1.0, 0.0]), loss=loss, loss_weight=100.0).certificate
    reach = {"Box": 1.0, "Ball": math.sqrt(0.75)}.get(type(support).__name__)
    line = ef.Reals(1) if reach is None else ef.Interval(-reach, reach)
    through = ef.design(line, loss_weight=100.0).certificate.value  # of the slice through the least loss
    assert certificate.lower_bound <= through * (1 + 1e-9)
    assert certificate.value <= through * (1 + 1e-6)
    assert certificate.gap < 1e-4
