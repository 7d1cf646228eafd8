"""Dependent answers: the best slice, and what it promises about the data."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh_tridiagonal

import errorfloor as ef
from errorfloor.designer.problem import Problem
from errorfloor.designer.slices.search import Costs
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


WEDGE = ef.Polytope(A=[[-1.0, 0.0], [0.5, -1.0]], b=[0.5, 0.5])


def test_a_quadratic_loss_on_a_slice_off_the_origin_is_still_quadratic():
    K = np.ones((2, 2))
    named = ef.design(WEDGE, sensitivity=K, loss="squared", loss_weight=2.0)
    given = ef.design(WEDGE, sensitivity=K, loss=lambda w: (w**2).sum(axis=-1), loss_weight=2.0)
    assert named.certificate.value == pytest.approx(given.certificate.value, rel=1e-7)
    assert named.certificate.loss == pytest.approx(named.expected_loss("squared"), rel=1e-12)
    assert WEDGE.contains(named.sample(500, rng=2)).all()


def test_the_best_slice_with_a_bound_is_the_best_one_at_its_weight():
    K = np.ones((2, 2))
    bounded = ef.design(WEDGE, sensitivity=K, max_loss=1.2)
    assert bounded.expected_loss("squared") == pytest.approx(1.2, rel=1e-10)
    weight = bounded.certificate.loss_weight
    weighted = ef.design(WEDGE, sensitivity=K, loss_weight=weight)
    assert bounded.certificate.value + weight * 1.2 == pytest.approx(weighted.certificate.value, rel=1e-7)


@pytest.mark.parametrize(
    ("support", "rank"),
    [
        (ef.Polytope(A=[[-1.0, 0.0, 0.0], [0.5, -1.0, 0.0]], b=[0.5, 0.5]), 1),
        (ef.Ball(3, 1.0, [0.4, 0.2, 0.0]), 2),
        (ef.Polytope(vertices=np.vstack([np.zeros(3), np.eye(3)])), 1),
    ],
)
def test_no_slice_near_the_chosen_one_costs_less(support, rank):
    F = np.array([[1.0, 0.0], [1.0, 0.5], [1.0, -0.5]])[:, :rank]
    problem = Problem.parse(support, F, None, "squared", 2.0, None)
    noise = ef.design(support, jacobian=F, loss="squared", loss_weight=2.0)
    costs = Costs(problem, noise.matrix)
    best = costs(noise.mean)
    assert best == pytest.approx(noise.certificate.value, rel=1e-6)
    for across in np.linalg.svd(noise.matrix.T)[2][rank:]:
        for step in (-0.02, 0.02):
            assert costs(noise.mean + step * across) > best * (1 - 1e-7)


def test_a_slice_has_no_bounds_on_derivatives():
    noise = ef.design(ef.Box([0, 0], [1, 1]), jacobian=[[1.0], [1.0]])
    with pytest.raises(InputError, match="whether an answer stays on the slice"):
        ef.floor(noise, [[1.0], [1.0]], linear=False)


ONES = np.ones((2, 2))
TRIANGLE = ef.Polytope(vertices=[[0, 0], [1, 0], [0, 1]])


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


@pytest.mark.parametrize(("support", "loss"), [(TRIANGLE, "squared"), (WEDGE, "squared"), (TRIANGLE, "absolute")])
def test_a_searched_slice_costs_no_more_than_any_of_a_grid_and_has_no_bound(support, loss):
    noise = ef.design(support, sensitivity=ONES, loss=loss, loss_weight=2.0)
    power = 2 if loss == "squared" else 1
    grid = [
        cost_of_chord(support, offset, 2.0, lambda w: 2.0 * (np.abs(w) ** power).sum(axis=-1))
        for offset in np.linspace(-1.5, 1.5, 31)
    ]
    assert min(grid) * 0.9 < noise.certificate.value <= min(grid) * (1 + 1e-4)
    assert noise.certificate.lower_bound is None
    assert "no other is better" in noise.certificate.explain()


def test_a_half_plane_and_an_orthant_have_the_known_answer():
    # along (1, 1) K is 2, and the slice at offset a is a half-line that costs 2a² more, or begins at |a|
    orthant = ef.design(ef.Orthant(2), sensitivity=ONES, loss_weight=2.0).certificate
    assert orthant.value == pytest.approx(12, rel=1e-6)
    half = ef.design(ef.Polytope(A=[[1.0, 1.0]], b=[1.0]), sensitivity=ONES, loss_weight=2.0).certificate
    line = ef.design(ef.HalfLine(high=math.sqrt(0.5)), sensitivity=[[2.0]], loss_weight=2.0).certificate
    assert half.value == pytest.approx(line.value, rel=1e-6)


def test_a_chosen_slice_may_lie_at_the_edge_of_the_support():
    side = ef.design(TRIANGLE, jacobian=[[1.0], [0.0]], loss_weight=2.0).certificate
    line = ef.design(ef.Interval(0, 1), loss_weight=2.0).certificate
    assert side.value == pytest.approx(line.value, rel=1e-3)


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
    assert certificate.value <= through * (1 + 1e-6)
    if not isinstance(support, ef.Ball):  # in a disc a longer chord may be worth a little more loss
        assert certificate.value >= through * (1 - 1e-9)
