"""Problems without a solution, or without a closed form, are refused in the words of the theory."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

import errorfloor as ef
from errorfloor.designer import smallest_loss
from errorfloor.errors import IllPosedError, InputError, SupportError
from errorfloor.noise import Loss

SQUARE = ef.Box([0, 0], [1, 1])


@pytest.mark.parametrize("support", [ef.Reals(2), ef.HalfLine(0.0), ef.Orthant(3)])
def test_unbounded_support_needs_a_quality_term(support):
    with pytest.raises(IllPosedError, match="noise of infinite variance is optimal: set max_loss or loss_weight"):
        ef.design(support)


def test_weight_and_bound_exclude_each_other():
    with pytest.raises(IllPosedError, match=r"both loss_weight 1 and max_loss 2 are given"):
        ef.design(ef.Reals(1), loss_weight=1, max_loss=2)


@pytest.mark.parametrize(
    ("support", "loss", "least"),
    [
        (ef.Interval(1, 2), "squared", 1.0),
        (ef.Interval(-3, -2), "squared", 4.0),
        (ef.Interval(-3, -2), "absolute", 2.0),
        (ef.HalfLine(3.0), "squared", 9.0),
        (ef.Box([1, 2], [3, 4]), "squared", 5.0),
        (ef.Box([1, -4], [3, -2]), "absolute", 3.0),
        (ef.Box([1, 2], [3, 4]), [[2.0, -1.0], [-1.0, 2.0]], 6.0),
        (ef.Ball(2, 1.0, [3.0, 4.0]), "squared", 16.0),
        (ef.Ellipsoid([[4.0, 0.0], [0.0, 1.0]], [5.0, 0.0]), "squared", 9.0),
        (ef.Polygon([[1, 1], [2, 1], [1, 2]]), "squared", 2.0),
        (ef.Polygon([[1, -1], [3, -1], [3, 2], [1, 2]]), "absolute", 1.0),
        (ef.Polytope(A=[[-1.0, -1.0], [1, 0], [0, 1]], b=[-1.0, 3, 3]), "squared", 0.5),
    ],
)
def test_a_bound_below_what_the_support_allows_states_the_smallest_possible(support, loss, least):
    parsed = Loss.parse(loss, support.dimension)
    assert smallest_loss(support, parsed) == pytest.approx(least, rel=1e-6)
    with pytest.raises(IllPosedError, match=f"every noise on this support loses more than {least:.6g}"):
        ef.design(support, loss=loss, max_loss=0.9 * least)
    with pytest.raises(IllPosedError):
        ef.design(support, loss=loss, max_loss=least)


def test_smallest_loss_agrees_with_a_general_minimiser():
    generator = np.random.default_rng(5)
    for _ in range(20):
        m = int(generator.integers(1, 4))
        root = generator.normal(size=(m, m)) + np.eye(m)
        low = generator.uniform(-1, 2, m)
        box = ef.Box(low, low + generator.uniform(0.5, 2, m))
        loss = Loss.parse(root @ root.T + 0.1 * np.eye(m), m)
        bounds = list(zip(box.low, box.high, strict=True))
        found = minimize(loss, (box.low + box.high) / 2, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-15}).fun
        assert smallest_loss(box, loss) == pytest.approx(found, rel=1e-6, abs=1e-9)


def test_a_query_that_does_not_depend_on_the_data_needs_no_noise():
    with pytest.raises(IllPosedError, match=r"does not depend on the data \(K = 0\)"):
        ef.design(ef.Interval(0, 1), jacobian=[0.0, 0.0])


@pytest.mark.parametrize("quality", [{}, {"max_loss": 0.1}])
def test_answers_that_depend_on_each_other_are_refused_with_advice(quality):
    with pytest.raises(IllPosedError, match=r"rank 1 of 2\).* ask for 1 independent answer and compute the others"):
        ef.design(SQUARE, jacobian=[[1.0], [1.0]], **quality)
    with pytest.raises(IllPosedError, match="ask for 2 independent answers and compute the others from them"):
        ef.design(ef.Box([-1] * 3, [1] * 3), jacobian=[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], **quality)


def test_units_do_not_decide_the_rank():
    noise = ef.design(SQUARE, sensitivity=np.diag([1.0, 1e-18]))
    assert noise.certificate.value == pytest.approx(4 * math.pi**2)


@pytest.mark.parametrize(
    "problem",
    [
        lambda: ef.design(SQUARE, jacobian=[[1.0, 0.5], [0.0, 1.0]]),
        lambda: ef.design(ef.Interval(-1, 1), max_loss=0.01),
        lambda: ef.design(ef.Interval(-1, 1), loss_weight=1.0),
        lambda: ef.design(ef.HalfLine(1.0), max_loss=3.0),
        lambda: ef.design(ef.HalfLine(0.0), loss="absolute", max_loss=3.0),
        lambda: ef.design(ef.Polygon([[0, 0], [1, 0], [0, 1]])),
        lambda: ef.design(ef.Ball(2, 1.0), sensitivity=np.diag([1.0, 2.0])),
        lambda: ef.design(ef.Orthant(2), sensitivity=[[1.0, 0.5], [0.5, 1.0]], max_loss=1.0),
    ],
)
def test_what_has_no_closed_form_is_computed_and_certified(problem):
    certificate = problem().certificate
    assert "closed form" not in certificate.method
    assert 0 <= certificate.gap < 1e-6


@pytest.mark.parametrize(
    ("support", "loss", "advice"),
    [
        (ef.Interval(-1, 1), np.cosh, "let a matrix R with a wᵀRw above a function stand for it"),
        (ef.Polygon([[-1, -1], [1, -1], [0, 1]]), "absolute", "or a box inside it"),
        (ef.Ball(2, 1.0), "absolute", "use 'squared' or a matrix"),
        (SQUARE.image([[1.0, 0.3], [0.0, 1.0]]), "absolute", "use 'squared' or a matrix"),
    ],
)
def test_a_loss_whose_mean_is_not_known_on_a_support_is_refused_with_advice(support, loss, advice):
    with pytest.raises(InputError, match=advice):
        ef.design(support, loss=loss, loss_weight=1.0)


def test_shapes_that_are_none_are_refused_before_anything_is_designed():
    with pytest.raises(SupportError, match="Polygon crosses itself: sides 0 and 2 meet"):
        ef.design(ef.Polygon([[0, 0], [1, 1], [1, 0], [0, 1]]))
    with pytest.raises(SupportError, match="Polytope is empty"):
        ef.design(ef.Polytope(A=[[1.0, 0.0], [-1.0, 0.0]], b=[0.0, -1.0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "privacy"}, "objective must be 'information' or 'error', got 'privacy'"),
        ({"loss": "squared"}, "loss has no effect alone"),
        ({"max_loss": -1.0}, "max_loss must be positive, got -1.0"),
        ({"loss_weight": 0.0}, "loss_weight must be positive, got 0.0"),
        ({"loss_weight": math.nan}, "loss_weight must be a finite number"),
        ({"jacobian": [[1.0], [2.0]]}, "one row for each of the 1 answers, got 2×1"),
        ({"jacobian": [[1.0]], "sensitivity": [[1.0]]}, "give one of them"),
        ({"jacobian": [[math.inf]]}, "jacobian must be finite everywhere"),
        ({"sensitivity": [[-1.0]]}, "sensitivity must be positive semi-definite"),
        (
            {"loss": "cubic", "max_loss": 1.0},
            "loss must be 'squared', 'absolute' or a positive definite matrix, got 'cubic'",
        ),
        ({"loss": [[1.0, 0.0], [0.0, 1.0]], "max_loss": 1.0}, "loss must be 1×1, got 2×2"),
    ],
)
def test_bad_arguments_are_named(options, message):
    with pytest.raises(InputError, match=message):
        ef.design(ef.Interval(-1, 1), **options)


def test_the_support_must_be_a_support():
    with pytest.raises(InputError, match="support must be a support such as"):
        ef.design((0, 1))
