"""Every well-posed problem in at most three dimensions has a noise; what is refused beyond is refused with advice."""

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.elements import ellipsoid
from errorfloor.designer.meshes.isotropic import Isotropic
from errorfloor.designer.meshes.truncation import first_guess, truncating_walls
from errorfloor.designer.problem import Problem
from errorfloor.designer.solvers import solve
from errorfloor.designer.well_posed import check_well_posed
from errorfloor.errors import IllPosedError, InputError
from errorfloor.noise import Loss


def kinked(w):
    return np.maximum((w**2).sum(axis=-1), np.abs(w).sum(axis=-1))


def smooth(w):
    return (w**2).sum(axis=-1) + 0.3 * (w[..., 0] - 0.1) ** 4


def cone(m):
    """An unbounded set with m + 1 faces: no product of lines and half-lines."""
    return ef.Polytope(A=np.vstack([-np.eye(m), np.r_[1.0, -np.ones(m - 1)]]), b=np.r_[np.full(m, 0.5), 1.0])


def simplex(m):
    return ef.Polytope(vertices=np.vstack([np.zeros(m), 2 * np.eye(m)]) - 0.3)


L_SHAPE = ef.Polygon([[-1, -1], [1, -1], [1, 0], [0, 0], [0, 1], [-1, 1]])
HALF_PLANE = ef.Polytope(A=[[1.0, 1.0]], b=[1.0])

PROBLEMS = {
    "cone, squared, plane": (cone(2), "squared"),
    "cone, kinked, plane": (cone(2), kinked),
    "L-shape, kinked": (L_SHAPE, kinked),
    "L-shape, smooth": (L_SHAPE, smooth),
    "half-plane, kinked": (HALF_PLANE, kinked),
    "disc, smooth": (ef.Ball(2, 1.5, [0.2, 0.2]), smooth),
    "disc, kinked": (ef.Ball(2, 1.5, [0.2, 0.2]), kinked),
    "parallelogram, smooth": (ef.Box([-1, -1], [1, 1]).image([[1.0, 0.3], [0.0, 1.0]]), smooth),
    "plane, kinked": (ef.Reals(2), kinked),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_well_posed_problem_is_not_refused(name):
    support, loss = PROBLEMS[name]
    m = support.dimension
    K = 0.7 * np.eye(m) + 0.3
    check_well_posed(Problem.parse(support, None, K, loss, 2.0, None))
    found = solve(support, K, Loss.parse(loss, m), 2.0, tolerance=1e-3)
    assert np.atleast_1d(support.contains(found.noise.sample(200, rng=1))).all()
    own = float(np.trace(K @ found.noise.information)) + 2.0 * found.noise.expected_loss(loss)
    assert found.value == pytest.approx(own, rel=1e-9)
    assert found.proof
    if callable(loss):
        assert found.lower_bound is None
    else:
        assert 0 < found.lower_bound <= found.value


@pytest.mark.parametrize(
    ("support", "loss", "advice"),
    [
        (simplex(4), None, "a box or an ellipsoid inside it"),
        (cone(4), "squared", "a box or an ellipsoid inside it"),
        (ef.Ball(4, 1.0), kinked, "use a smooth loss"),
        (ef.Reals(4), kinked, "use a smooth loss"),
        (ef.Box([-1] * 4, [1] * 4).image(np.eye(4) + 0.1), "absolute", "use a smooth loss"),
    ],
)
def test_shapes_and_kinks_in_four_dimensions_are_refused_with_advice(support, loss, advice):
    quality = {} if loss is None else {"loss": loss, "loss_weight": 2.0}
    with pytest.raises(InputError, match=advice):
        ef.design(support, **quality)


def test_a_steep_loss_in_four_dimensions_is_refused_with_advice():
    with pytest.raises(ef.errors.ConvergenceError, match="box inside it"):
        ef.design(ef.Ball(4, 1.0), sensitivity=np.eye(4) + 0.2, loss_weight=1e6)


def test_an_unbounded_set_without_a_loss_is_ill_posed():
    with pytest.raises(IllPosedError, match="infinite variance"):
        ef.design(cone(4))


def test_a_given_loss_gives_the_noise_of_the_named_one_it_equals():
    support = ef.Polygon([[0, 0], [2, 0], [2, 1], [0.5, 2]])
    named = ef.design(support, loss_weight=2.0)
    given = ef.design(support, loss=lambda w: (w**2).sum(axis=-1), loss_weight=2.0)
    assert given.certificate.value == pytest.approx(named.certificate.value, rel=1e-6)


def test_dependent_answers_with_a_loss_on_a_polygon_that_is_not_convex():
    noise = ef.design(L_SHAPE, sensitivity=np.ones((2, 2)), loss_weight=5.0)
    assert L_SHAPE.contains(noise.sample(500, rng=2)).all()
    assert noise.certificate.lower_bound is None


def test_a_steep_loss_in_a_disc_does_not_need_its_boundary(monkeypatch):
    monkeypatch.setitem(ellipsoid.DEGREES, 2, (6, 8))  # polynomials of higher degree fail as well, but later
    disc, line = ef.Ball(2, 50.0), ef.design(ef.Reals(1), loss="absolute", loss_weight=3.0)
    found = solve(disc, np.eye(2), Loss.parse("absolute", 2), 3.0, tolerance=1e-4, certify=False)
    assert found.value == pytest.approx(2 * line.certificate.value, rel=1e-4)


OPENED = ef.Polytope(A=[[-1.0, 0.2, 0.0], [0.2, -1.0, 0.1], [0.0, 0.1, -1.0]], b=[0.5] * 3)


def steep(w):
    return np.abs(w).max(axis=-1) + (np.asarray(w) ** 2).sum(axis=-1)


@pytest.mark.parametrize("weight", [0.3, 250.0])
def test_windows_fit_the_noise_whatever_the_weight(weight):
    """Rays tell how far the noise of a given loss reaches."""
    found = solve(ef.Reals(3), np.eye(3), Loss.parse(smooth, 3), weight, certify=False, tolerance=1e-4)
    plain = 6 * np.sqrt(weight)  # of the quadratic part alone, whose noise is normal with the variance 1/√weight
    fourth = 3 / weight + 6 * 0.1**2 / np.sqrt(weight) + 0.1**4
    assert plain < found.value < plain + 0.3 * weight * fourth


def test_a_cone_that_all_axes_leave_is_cut_off_where_its_noise_ends():
    problem = Isotropic(OPENED, np.eye(3), Loss.parse(steep, 3))
    found = solve(OPENED, np.eye(3), problem.loss, 2.0, tolerance=1e-2, certify=False)
    assert OPENED.contains(found.noise.sample(500, rng=3)).all()
    assert 0.1 * found.value / 4 < first_guess(problem, 2.0) < 2 * found.value / 4
    normals, offsets = truncating_walls(problem, 2.0, found.value / 4)
    reach = np.abs(found.noise.sample(20_000, rng=4)).max()
    assert reach < offsets.max() < 20 * reach
    assert normals.shape == (6, 3)


def test_a_box_far_wider_than_its_noise_is_not_filled_with_polynomials():
    def given(w):
        return np.cosh(w - 0.05).sum(axis=-1)

    found = solve(ef.Box([-9] * 3, [9] * 3), np.eye(3), Loss.parse(given, 3), 1e4, certify=False)
    line = ef.design(ef.Interval(-9, 9), loss=lambda w: np.cosh(w - 0.05), loss_weight=1e4).certificate.value
    assert found.value == pytest.approx(3 * line, rel=1e-6)
