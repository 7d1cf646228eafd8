"""Promises at the edges: bounds instead of derivatives, rough queries, mixed units, extreme sizes."""

import math

import numpy as np
import pytest
from scipy.stats import norm

import errorfloor as ef
from errorfloor.errors import InputError
from errorfloor.floors import bayes_error, combine, pair, van_trees, ziv_zakai, ziv_zakai_lattice
from errorfloor.floors.words import rounded_down, times_in_hundred
from errorfloor.noise import Airy, Gaussian, LinearImage, Product, RaisedCosine, Uniform


def best_test(shift):
    """How often the best test of a shift is right, in standard deviations of Gaussian noise."""
    return float(norm.cdf(np.linalg.norm(shift) / 2))


def test_bounds_on_derivatives_never_cancel_between_answers():
    # both answers may be x₁ − x₂, whose derivatives are bounded by [1, 1] in either
    floor = ef.floor([Gaussian(1.0)] * 2, [[1, -1], [1, 1]], ranges=(0, 0.5), linear=False)
    assert floor.owner() >= best_test([1.0, 1.0])
    signed = ef.floor([Gaussian(1.0)] * 2, [[1, -1], [1, 1]], ranges=(0, 0.5))
    assert signed.owner() < best_test([1.0, 1.0])  # as derivatives of linear answers they do cancel


def test_bounds_on_derivatives_do_not_say_what_cannot_be_estimated():
    floor = ef.floor([Gaussian(1.0)] * 2, [[1, 1], [1, 1]], ranges=(0, 1), linear=False)
    truth = ef.floor(Gaussian(np.eye(2)), [[1, 1], [1, -1]])
    assert floor.total <= truth.total == pytest.approx(1.0)
    assert floor.bayes(1.0) <= truth.bayes(1.0)
    assert "directions of the data" not in floor.explain()
    for attempt in (lambda: floor.identifiable, lambda: floor.biased(np.eye(2)), lambda: floor.information):
        with pytest.raises(InputError, match="needs the derivatives of a linear query"):
            attempt()


def test_bounds_on_derivatives_need_uncorrelated_noise():
    with pytest.raises(InputError, match="uncorrelated coordinates"):
        ef.floor(Gaussian([[1, 0.9], [0.9, 1]]), [[1.0], [1.0]], linear=False)


def test_errors_of_evaluation_void_every_bound_for_a_smooth_query():
    floor = ef.floor(Gaussian(1.0), [[1.0]], ranges=(-1, 1), evaluation_error=1.0)
    # the computed value may be 2x: then y/2 is unbiased with error ½
    assert floor.per_entry[0] == floor.total == floor.bayes(1.0) == floor.biased([[1.0]]) == 0.0
    assert 0 < floor.any_estimator[0] <= 0.5
    assert "unbiased estimator" not in floor.explain()


def test_a_lattice_voids_every_bound_for_a_continuum_on_its_own_entries():
    floor = ef.floor(Gaussian(0.01), [[1.0, 1.0]], ranges=(0, 10), spacing=[1.0, 0.0])
    assert floor.per_entry.tolist() == [0.0, pytest.approx(0.1)]
    assert floor.any_estimator[0] < 0.001
    assert floor.any_estimator[1] > 0.09


def test_vector_answers_carry_their_evaluation_errors():
    covariance = np.array([[1.0, -0.8], [-0.8, 1.0]])
    floor = ef.floor(Gaussian(covariance), [[0.0], [0.0]], evaluation_error=0.1)
    worst = max(math.sqrt(np.array(e) @ np.linalg.inv(covariance) @ e) for e in ([0.2, 0.2], [0.2, -0.2]))
    assert floor.distinguish(0.0) >= best_test(worst)


def test_floors_with_other_declarations_do_not_combine():
    plain = ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 10))
    for other in (
        ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 10), spacing=1.0),
        ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 1)),
        ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 10), side_information=[[1.0]]),
    ):
        with pytest.raises(InputError, match="must declare the same"):
            combine(plain, other)


def test_side_information_is_not_repeated_with_the_answers():
    floor = ef.floor(Gaussian(1.0), [[1.0]], side_information=[[3.0]])
    assert floor.after(5).entry_information[0] == pytest.approx(8.0)
    assert combine(floor, floor).entry_information[0] == pytest.approx(5.0)


@pytest.mark.parametrize("order", [[0, 1, 2], [1, 0, 2], [2, 1, 0], [0, 2, 1]])
def test_mixed_units_do_not_hurt(order):
    units = np.array([1.0, 1e9, 1e-9])[order]
    covariance = np.outer(units, units) * (np.ones((3, 3)) + np.eye(3)) / 2
    floor = ef.floor(Gaussian(covariance), np.eye(3))
    assert np.allclose(floor.per_entry, units / math.sqrt(1.5), rtol=1e-9)
    assert floor.total**2 == pytest.approx(np.trace(covariance), rel=1e-9)
    assert floor.identifiable.shape == (3, 3)


def test_nearly_singular_is_not_singular():
    assert ef.floor(Gaussian(np.eye(2)), np.diag([1, 1e-13])).total == pytest.approx(1e13)
    assert ef.floor(Gaussian(np.eye(2)), np.diag([1, 1e-7])).bayes(1e-14) == pytest.approx(7.0710678e6)
    assert ef.floor(Gaussian(np.eye(2)), [[1, 1], [1, 1 + 1e-10]]).total == pytest.approx(2e10, rel=1e-4)
    assert ef.floor(Gaussian(np.eye(2)), [[1, 1], [1, 1]]).total == math.inf


def test_entries_with_infinite_information_are_identifiable():
    floor = ef.floor(Uniform(low=-1, high=1), [[1.0, 0.0]])
    assert np.allclose(np.abs(floor.identifiable), [[1.0], [0.0]])
    mixed = LinearImage(Product((Uniform(low=0, high=1),) * 2), [[1.0, 1.0], [-1.0, 1.0]])
    assert ef.floor(mixed, np.eye(2), evaluation_error=1e-9).distinguish(0.1) == 1.0


@pytest.mark.parametrize("gap", [1e-12, 1e-6, 1.0, 20.0, 60.0])
def test_pair_bounds_keep_their_digits_at_every_gap(gap):
    found = pair(Gaussian(1.0), slope=1.0, gap=gap)
    assert found.affinity == pytest.approx(math.exp(-(gap**2) / 8), abs=1e-12)
    assert found.divergence + 8 * found.overlap == pytest.approx(4.0, rel=1e-9)
    assert found.any_estimator <= gap / 2
    if gap >= 20:
        # p p′/(p + p′) ≤ min(p, p′), so the overlap is at most twice the tail beyond the middle
        assert found.overlap <= 2 * norm.sf(gap / 2)
        assert found.overlap >= 0.1 * norm.sf(gap / 2)


def test_many_answers_about_a_tiny_gap():
    gap, count = 3e-8, 11_111_111_111_111_114
    exact = norm.sf(gap * math.sqrt(count) / 2)
    assert 0.1 * exact < pair(Gaussian(1.0), slope=1.0, gap=gap).testing_error_after(count) <= exact
    assert pair(Airy(1.0), slope=1.0, gap=1e8).any_estimator == 0.0


@pytest.mark.parametrize("sigma", [1e-10, 1e-8, 1e-4])
def test_exact_bayes_keeps_its_digits_when_the_answer_is_sharp(sigma):
    assert bayes_error(Gaussian(sigma**2), slope=1.0, prior=Gaussian(1.0)).with_answer == pytest.approx(sigma, rel=1e-6)


def test_headline_is_about_the_distance_that_it_states():
    text = ef.floor(Gaussian(1.0), [[1.0]]).explain(distance=1.2351)
    assert "1.24 apart" in text
    assert f"at most {times_in_hundred(ef.floor(Gaussian(1.0), [[1.0]]).distinguish(1.24))} times" in text


def test_words_about_a_lattice_speak_of_values_that_exist():
    text = ef.floor(Gaussian(1e6), [[1.0]], ranges=(0, 1), spacing=1.0).explain()
    assert "Two values of an entry 1 apart" in text
    assert "0.353 would mean that the answers tell nothing" in text


def test_rounding_is_always_to_the_safe_side():
    for value in (0.9999999999999, 0.206, 1999.9, 1e-307, 12.0, 0.1 + 0.2):
        assert float(rounded_down(value)) <= value
        assert float(rounded_down(value)) >= value * 0.98
    for probability in (0.5, 0.5080000000009, 0.50801, 1.0):
        assert float(times_in_hundred(probability)) >= 100 * probability - 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ef.floor(None, 1), "noise must be a noise"),
        (lambda: ef.floor([Gaussian(1.0)], 1.0), "each noise needs a Jacobian"),
        (lambda: ef.floor(Gaussian(1.0), [[1, 2], [1]]), "rows of different lengths"),
        (lambda: ef.floor(Gaussian(1.0), [[1e-165]]), "rescale the data"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], evaluation_error="x"), "evaluation_error must be numbers"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 10**400)), "double precision can hold"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 1e160)), "must not exceed 1e"),
        (lambda: ef.floor(Gaussian(1.0), [1.0, 1.0], side_information=np.diag([1.0, -1e-10])), "semi-definite"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).distinguish("x"), "distance must be numbers"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0, 2.0]]).bayes([1, 2, 3]), "one number, or 2 of them, got 3"),
        (lambda: ef.floor(Gaussian(1.0), np.ones((1, 6000))).bayes(1.0), "for at most 5000 entries"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).biased([[1.0]], [1, 2]), "bias must be one number"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).after(10**400), "at most 10³⁰"),
        (lambda: van_trees(1.0, 0.0), "must be positive"),
        (lambda: ziv_zakai(-1.0, 1.0), "information must not be negative"),
        (lambda: ziv_zakai_lattice(1.0, 1.0, 1), "count must be a whole number of at least 2"),
        (lambda: combine("x"), "one or more floors"),
        (lambda: pair("x", slope=1, gap=1), "one-dimensional noise"),
        (lambda: pair(Gaussian(1.0), slope=1e200, gap=1e60), "rescale the data"),
        (lambda: bayes_error("x", slope=1, prior=RaisedCosine(0, 1)), "one-dimensional"),
    ],
)
def test_nothing_that_a_user_gives_ends_in_a_traceback(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_huge_lattices_are_cheap():
    assert ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 1e70), spacing=1e-70).any_estimator.shape == (1,)


@pytest.mark.parametrize("thin", [1e-3, 1e-7, 1e-9])
def test_a_thin_noise_keeps_the_floor_along_its_long_side(thin):
    turn = np.array([[1.0, -1.0], [1.0, 1.0]]) / math.sqrt(2)
    half = math.sqrt(2) / 2
    noise = LinearImage(Product((RaisedCosine(-half, half), RaisedCosine(-thin / 2, thin / 2))), turn)
    along = ef.floor(noise, [[1.0], [1.0]])
    assert along.entry_information[0] == pytest.approx(4 * math.pi**2, rel=1e-6)
