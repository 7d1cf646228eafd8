"""Every well-posed problem in at most four dimensions has a noise, and its value lies above its lower bound."""

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.finite_elements import ellipsoid
from errorfloor.designer.finite_elements.problem import Isotropic
from errorfloor.designer.finite_elements.truncation import first_guess, truncating_walls
from errorfloor.designer.problem import Problem
from errorfloor.designer.regular import check_well_posed
from errorfloor.designer.solvers import solve
from errorfloor.errors import IllPosedError
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
    "cone, absolute, 4-D": (cone(4), "absolute"),
    "cone, squared, 4-D": (cone(4), "squared"),
    "simplex, squared, 4-D": (simplex(4), "squared"),
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
    assert found.lower_bound is not None
    assert 0 < found.lower_bound <= found.value


def test_an_unbounded_set_without_a_loss_is_ill_posed():
    with pytest.raises(IllPosedError, match="infinite variance"):
        ef.design(cone(4))


def test_a_given_loss_gives_the_noise_of_the_named_one_it_equals():
    support = ef.Polygon([[0, 0], [2, 0], [2, 1], [0.5, 2]])
    named = ef.design(support, loss_weight=2.0)
    given = ef.design(support, loss=lambda w: (w**2).sum(axis=-1), loss_weight=2.0)
    assert given.certificate.value == pytest.approx(named.certificate.value, rel=1e-6)
    assert given.certificate.lower_bound <= named.certificate.value
    assert given.certificate.gap < 1e-4


def test_dependent_answers_with_a_loss_on_a_polygon_that_is_not_convex():
    noise = ef.design(L_SHAPE, sensitivity=np.ones((2, 2)), loss_weight=5.0)
    assert L_SHAPE.contains(noise.sample(500, rng=2)).all()
    assert noise.certificate.lower_bound is None


def test_a_steep_loss_in_a_disc_does_not_need_its_boundary(monkeypatch):
    monkeypatch.setitem(ellipsoid.DEGREES, 2, (6, 8))  # polynomials of higher degree fail as well, but later
    disc, line = ef.Ball(2, 50.0), ef.design(ef.Reals(1), loss="absolute", loss_weight=3.0)
    found = solve(disc, np.eye(2), Loss.parse("absolute", 2), 3.0, tolerance=1e-4, certify=False)
    assert found.value == pytest.approx(2 * line.certificate.value, rel=1e-4)


SKEWED = ef.Polytope(A=0.2 * np.ones((4, 4)) - 1.2 * np.eye(4), b=[0.5] * 4)
OPENED = ef.Polytope(A=[[-1.0, 0.2, 0.0], [0.2, -1.0, 0.1], [0.0, 0.1, -1.0]], b=[0.5] * 3)


def steep(w):
    return np.abs(w).max(axis=-1) + (np.asarray(w) ** 2).sum(axis=-1)


@pytest.mark.parametrize(("support", "loss"), [(SKEWED, "absolute"), (ef.Reals(4), steep)])
@pytest.mark.parametrize("weight", [0.3, 9.0, 250.0])
def test_windows_fit_the_noise_whatever_the_weight(support, loss, weight):
    """The first guess of where the noise lives may be far too wide for the few polynomials that look for it."""
    parsed = Loss.parse(loss, 4)
    found = solve(support, np.eye(4), parsed, weight, certify=False, roughly=True)
    alone = ef.design(ef.Reals(1), loss="absolute", loss_weight=weight).certificate.value
    if loss == "absolute":  # less room than all of space leaves
        assert 4 * alone < found.value < 20 * alone
    else:  # more than a quadratic loss, less than with the sum in place of the greatest
        both = ef.design(ef.Reals(1), loss=lambda w: np.abs(w) + w**2, loss_weight=weight).certificate.value
        assert 8 * np.sqrt(weight) < found.value < 1.05 * 4 * both


def test_a_cone_that_all_axes_leave_is_cut_off_where_its_noise_ends():
    problem = Isotropic(OPENED, np.eye(3), Loss.parse(steep, 3))
    found = solve(OPENED, np.eye(3), problem.loss, 2.0, tolerance=1e-2, certify=False)
    assert OPENED.contains(found.noise.sample(500, rng=3)).all()
    assert 0.1 * found.value / 4 < first_guess(problem, 2.0) < 2 * found.value / 4
    normals, offsets = truncating_walls(problem, 2.0, found.value / 4, 6.0)
    reach = np.abs(found.noise.sample(20_000, rng=4)).max()
    assert reach < offsets.max() < 20 * reach
    assert normals.shape == (6, 3)


def test_a_box_far_wider_than_its_noise_is_not_filled_with_polynomials():
    def given(w):
        return np.abs(w - 0.05).sum(axis=-1)

    found = solve(ef.Box([-1] * 4, [1] * 4), np.eye(4), Loss.parse(given, 4), 1e3, certify=False)
    line = ef.design(ef.Interval(-1, 1), loss=lambda w: np.abs(w - 0.05), loss_weight=1e3).certificate.value
    assert 4 * line <= found.value < 1.05 * 4 * line
