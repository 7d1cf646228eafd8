"""Units, offsets and extreme shapes: the certified optimum is right, or the problem is refused."""

import math
import re

import numpy as np
import pytest
from scipy.sparse import diags, identity

import errorfloor as ef
from errorfloor.designer.elements.solver import least_pair
from errorfloor.designer.feasibility import check_stretch
from errorfloor.designer.problem import Problem
from errorfloor.errors import InputError, SupportError

MIXED = (np.ones((3, 3)) + np.eye(3)) / 2


@pytest.mark.parametrize("units", [(1, 1e6, 1e-6), (1e6, 1, 1e-6), (1, 1e5, 1e-5), (1e-9, 1e9, 1)])
def test_units_change_nothing_for_gaussians(units):
    scale = np.outer(units, units)
    noise = ef.design(ef.Reals(3), sensitivity=MIXED * scale, loss=MIXED / scale, max_loss=1.0)
    plain = ef.design(ef.Reals(3), sensitivity=MIXED, loss=MIXED, max_loss=1.0)
    assert noise.certificate.value == pytest.approx(plain.certificate.value, rel=1e-9)
    assert noise.expected_loss(MIXED / scale) == pytest.approx(1.0, rel=1e-9)


def test_what_double_precision_cannot_certify_is_refused():
    K = [[1.46762e-09, 4.5151], [4.5151, 2.2649e10]]
    R = [[1.9941e-06, -1.9974e-08], [-1.9974e-08, 2.0354e-10]]
    with pytest.raises(InputError, match="too ill-conditioned"):
        ef.design(ef.Reals(2), sensitivity=K, loss=R, max_loss=1.0)
    shear = np.array([[1, 1e6], [0, 1]])
    with pytest.raises(InputError, match="too ill-conditioned"):
        ef.design(ef.Box([-1, -1], [1, 1]).image(shear), jacobian=shear)


def test_a_huge_correlated_query_is_not_taken_for_a_diagonal_one():
    C = 1e74 * np.linalg.cholesky(np.array([[1, 0.9], [0.9, 1]]))
    noise = ef.design(ef.Box([0, 0], [1, 1]), jacobian=C)
    plain = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1, 0.9], [0.9, 1]])
    assert noise.certificate.value == pytest.approx(1e148 * plain.certificate.value, rel=1e-9)


def test_nearly_dependent_answers_are_still_independent():
    assert ef.design(ef.Box([0, 0], [1, 1]), jacobian=[[1, 1], [1, 1.2]]).certificate.gap < 1e-3
    assert ef.design(ef.Reals(2), jacobian=[[1, 1], [1, 1 + 1e-5]], max_loss=1.0).certificate.gap == 0


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6, 3e8])
def test_a_cut_corner_is_seen_however_far_out(offset):
    b = [-offset, -offset, offset + 1, offset + 1, 2 * offset + 1.5]
    cut = ef.Polytope(A=[[-1, 0], [0, -1], [1, 0], [0, 1], [1, 1]], b=b)
    assert cut.product_form is None
    assert cut.volume == pytest.approx(0.875, rel=1e-6)
    assert not cut.contains([offset + 0.9, offset + 0.9])


def test_a_small_cut_is_seen_too():
    cut = ef.Polytope(A=[[-1, 0], [0, -1], [1, 0], [0, 1], [1, 1]], b=[0, 0, 1, 1, 2 - 1e-6])
    assert cut.half_spaces[0].shape == (5, 2)
    assert cut.product_form is None


def test_faces_that_are_parallel_but_for_rounding_are_refused():
    trapezium = [[0, 0], [1, 0], [1, 1], [0, 1 + 5e-10]]
    with pytest.raises(SupportError, match="parallel but for rounding"):
        ef.Polytope(vertices=trapezium)


@pytest.mark.parametrize("size", [1e-40, 1e-13, 1.0, 1e13, 1e40])
def test_polytopes_of_every_size_know_their_inside(size):
    square = ef.Polytope(vertices=size * np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]))
    assert square.contains([0.5 * size, 0.5 * size])
    assert not square.contains([1.01 * size, 0.5 * size])
    assert ef.design(square).certificate.value == pytest.approx(8 * math.pi**2 / size**2)


def test_images_are_exact_about_small_entries():
    _, high = ef.Box([0, 0], [1, 1e6]).image([[1, 1e-6], [0, 1]]).bounding_box
    assert high[0] == pytest.approx(2.0)
    assert isinstance(ef.Orthant(2).image([[1, 0], [-1e-9, 1]]), ef.Polytope)


@pytest.mark.parametrize("scale", [1e-20, 1e-3, 1e9, 1e30])
def test_smallest_loss_is_found_at_every_scale(scale):
    box = ef.Box([scale, 2 * scale], [3 * scale, 4 * scale])
    with pytest.raises(InputError, match=re.escape(f"{5 * scale**2:.6g}")):
        ef.design(box, max_loss=scale**2)
    with pytest.raises(InputError, match=re.escape(f"{3 * scale:.6g}")):
        ef.design(box, max_loss=scale, loss="absolute")
    with pytest.raises(InputError, match=re.escape(f"{4 * scale**2:.6g}")):
        ef.design(ef.Ball(2, scale, [3 * scale, 0]), max_loss=scale**2)


def test_noise_lost_in_rounding_is_refused():
    with pytest.raises(InputError, match="would be lost in the rounding"):
        ef.design(ef.Interval(1e16, 1e16 + 4))


@pytest.mark.parametrize(
    "problem",
    [
        lambda: ef.design(ef.Interval(0, 1), jacobian=[[1e-170]]),
        lambda: ef.design(ef.Interval(0, 1), jacobian=[[1e160]]),
        lambda: ef.design(ef.Interval(0, 1), sensitivity=[[1e308]]),
        lambda: ef.design(ef.Interval(-1e160, 1e160)),
        lambda: ef.design(ef.Interval(-1e-170, 1e-170)),
        lambda: ef.design(ef.Ball(2, 1e-170)),
        lambda: ef.design(ef.Ball(2, 1e160)),
        lambda: ef.design(ef.Reals(1), max_loss=1e-160),
        lambda: ef.noise.Maxwell(1e-170),
        lambda: ef.noise.Gaussian(1e-300),
    ],
)
def test_sizes_beyond_double_precision_ask_to_be_rescaled(problem):
    with pytest.raises(InputError, match="rescale the data"):
        problem()


def test_volumes_beyond_double_precision_are_infinite():
    assert ef.Ball(10, 1e40).volume == math.inf


L = ef.Polygon([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])
PYRAMID = ef.Polytope(vertices=[[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])


@pytest.mark.parametrize("off", [1e-2, 1e-4, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("support", [ef.Box([0, 0], [1, 1]), ef.Ball(2, 1.0), L], ids=["box", "ball", "L"])
def test_answers_that_nearly_depend_on_one_another_are_refused_with_advice(support, off):
    C = np.array([[1.0, 1.0], [1.0, 1.0 + off]])
    with pytest.raises(InputError, match=r"answers nearly depend on one another: .* Leave out an answer") as refused:
        ef.design(support, jacobian=C)
    share = float(re.search(r"sensitivity=K \+ ([\d.e-]+)·diag", str(refused.value))[1])
    K = C @ C.T
    check_stretch(Problem.parse(support, None, K + share * np.diag(np.diag(K)), None, None, None))
    assert share < 1e-3


def test_nearly_dependent_answers_are_refused_in_space_too():
    near = np.ones((3, 3)) + 1e-5 * np.diag([1.0, 2.0, 3.0])
    with pytest.raises(InputError, match="answers nearly depend on one another"):
        ef.design(PYRAMID, sensitivity=near)


def test_units_and_supports_made_for_the_query_are_not_taken_for_dependence():
    check_stretch(Problem.parse(L, None, np.diag([1.0, 1e12]), None, None, None))
    K = np.array([[1.0, 1 - 1e-8], [1 - 1e-8, 1.0]])
    check_stretch(Problem.parse(ef.Ellipsoid(K), None, K, None, None, None))
    thin = ef.Polygon([[0, 0], [1, 0], [1, 1e-4], [1e-4, 1e-4], [1e-4, 1], [0, 1]])
    check_stretch(Problem.parse(thin, None, np.eye(2), None, None, None))


def test_a_crowd_of_levels_does_not_hold_up_the_least_one():
    """As in a thin L, whose arms have many close levels: in a narrow Krylov space the second never settles."""
    levels = 1 + 1e-3 * np.random.default_rng(1).random(3000)
    value, vector = least_pair(diags(levels, format="csc"), identity(3000, format="csc"))
    assert value == pytest.approx(levels.min(), rel=1e-12)
    assert abs(vector).argmax() == levels.argmin()
