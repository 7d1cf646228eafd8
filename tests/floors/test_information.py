"""Floors that follow from the information matrix: per entry, total, biased, Bayes, side information."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.errors import InputError
from errorfloor.noise import Gaussian, Product, RaisedCosine, Uniform


def jacobian(seed, m, n):
    return np.random.default_rng(seed).normal(size=(m, n))


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 4), (3, 3), (5, 3), (2, 6)])
def test_information_is_the_congruence_of_the_noises(m, n):
    F = jacobian(m, m, n)
    noise = Gaussian(np.diag(np.arange(1.0, m + 1)))
    floor = ef.floor(noise, F)
    assert np.allclose(floor.information, F.T @ noise.information @ F)
    assert np.allclose(floor.per_entry, 1 / np.sqrt(np.diag(floor.information)))
    assert floor.worst_entry == floor.per_entry.min()
    assert floor.worst_entry >= 1 / math.sqrt(np.trace(floor.information))


def test_correlated_noise_keeps_its_full_information():
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    F = jacobian(1, 2, 3)
    assert np.allclose(ef.floor(Gaussian(covariance), F).information, F.T @ np.linalg.inv(covariance) @ F)


def test_total_is_the_trace_of_the_inverse_and_exceeds_its_bound():
    F = jacobian(3, 4, 4)
    floor = ef.floor(Gaussian(np.eye(4)), F)
    assert floor.total**2 == pytest.approx(np.trace(np.linalg.inv(F.T @ F)), rel=1e-9)
    assert floor.total**2 >= 16 / np.trace(floor.information)


def test_fewer_answers_than_entries_identify_a_subspace_and_are_never_inverted():
    F = np.full((1, 4), 0.25)
    floor = ef.floor(RaisedCosine(-0.5, 0.5), F)
    assert floor.total == math.inf
    assert floor.identifiable.shape == (4, 1)
    assert np.allclose(np.abs(floor.identifiable), 0.5)
    assert "1 of 4 directions" in floor.explain()


def test_identifiable_basis_is_orthonormal_and_spans_the_rows():
    F = jacobian(7, 2, 5)
    basis = ef.floor(Gaussian(np.eye(2)), F).identifiable
    assert np.allclose(basis.T @ basis, np.eye(2))
    assert np.allclose(F @ basis @ basis.T, F)


def test_biased_bound_has_the_jacobian_on_the_outside():
    floor = ef.floor(Gaussian(np.diag([1.0, 9.0])), np.eye(2))
    G = np.array([[1.0, 2.0], [0.0, 1.0]])
    assert floor.biased(G) ** 2 == pytest.approx(46.0)
    assert np.trace(G.T @ np.diag([1.0, 9.0]) @ G) == pytest.approx(14.0)  # what the source prints
    # an estimator that attains it: x̂ = G y
    drawn = Gaussian(np.diag([1.0, 9.0])).sample(400_000, rng=5) @ G.T
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(46.0, rel=0.01)


def test_biased_bound_adds_the_bias_and_covers_least_squares_from_an_average():
    C, variance = np.array([[0.2, 0.3, 0.5]]), 2.0
    x = np.array([1.0, 5.0, 2.0])
    pseudo = C.T / (C @ C.T)
    shrink = pseudo @ C
    floor = ef.floor(Gaussian(variance), C)
    bound = floor.biased(shrink, shrink @ x - x)
    exact = np.sum((x - shrink @ x) ** 2) + variance / (C @ C.T).item()
    assert bound**2 == pytest.approx(exact, rel=1e-12)


def test_a_bias_that_no_estimator_can_have_is_rejected():
    floor = ef.floor(Gaussian(1.0), [[1.0, 1.0]])
    with pytest.raises(InputError, match="G is not the bias of any estimator of finite variance"):
        floor.biased(np.eye(2))
    with pytest.raises(InputError, match="G must have 2 columns"):
        floor.biased(np.eye(3))


def test_side_information_adds():
    floor = ef.floor(Gaussian(1.0), [[1.0, 1.0]], side_information=np.diag([3.0, 0.0]))
    assert np.allclose(floor.information, [[4.0, 1.0], [1.0, 1.0]])
    assert floor.identifiable.shape == (2, 2)
    assert floor.total**2 == pytest.approx(np.trace(np.linalg.inv([[4.0, 1.0], [1.0, 1.0]])))
    with pytest.raises(InputError, match="side_information must be 2×2"):
        ef.floor(Gaussian(1.0), [[1.0, 1.0]], side_information=np.eye(3))


def test_bayes_bound_is_attained_by_gaussians():
    F, prior = jacobian(9, 2, 3), np.diag([1.0, 2.0, 0.5])
    floor = ef.floor(Gaussian(np.eye(2)), F)
    posterior = np.linalg.inv(F.T @ F + np.linalg.inv(prior))  # exact for a Gaussian prior with this covariance
    assert floor.bayes(np.linalg.inv(prior)) ** 2 == pytest.approx(np.trace(posterior), rel=1e-10)
    assert floor.bayes(2.0) == pytest.approx(floor.bayes(2.0 * np.eye(3)))
    assert floor.bayes([1.0, 2.0, 3.0]) == pytest.approx(floor.bayes(np.diag([1.0, 2.0, 3.0])))


def test_correlated_entries_enter_through_the_prior():
    floor = ef.floor(Gaussian(1.0), [[1.0, 0.0]])
    independent = np.linalg.inv(np.eye(2))
    correlated = np.linalg.inv(np.array([[1.0, 0.9], [0.9, 1.0]]))
    assert floor.bayes(correlated) < floor.bayes(independent)


def test_independent_answers_add():
    noises = [RaisedCosine(-1, 1), Gaussian(2.0), Gaussian(np.eye(2))]
    jacobians = [[1.0, 2.0, 0.0], [0.0, 1.0, 1.0], jacobian(2, 2, 3)]
    together = ef.floor(noises, jacobians)
    apart = [ef.floor(noise, F) for noise, F in zip(noises, jacobians, strict=True)]
    assert np.allclose(together.information, sum(f.information for f in apart))
    assert np.allclose(ef.floors.combine(*apart).information, together.information)
    assert np.allclose(apart[0].after(7).information, 7 * apart[0].information)


def test_a_million_entries_cost_no_square_matrix():
    n = 1_000_000
    floor = ef.floor(RaisedCosine(-0.5, 0.5), np.full((1, n), 1 / n), ranges=(0, 50))
    assert floor.per_entry.shape == (n,)
    assert floor.any_estimator.shape == (n,)
    assert floor.identifiable.shape == (n, 1)
    assert floor.total == math.inf


def test_jumping_noise_promises_nothing_and_says_why():
    floor = ef.floor(Uniform(low=-1, high=1), [[1.0, 0.0]], ranges=(0, 10))
    assert floor.per_entry[0] == 0
    assert floor.per_entry[1] == math.inf
    assert floor.any_estimator[0] == 0
    assert floor.distinguish(0.001) == 1.0
    assert floor.distinguish(0.0) == 0.5
    assert floor.total == floor.bayes(1.0) == 0.0
    assert floor.owner() == 1.0
    assert "infinite information: the density jumps" in floor.explain()


def test_a_jump_in_one_coordinate_exposes_only_what_it_touches():
    noise = Product((Uniform(low=0, high=1), RaisedCosine(0, 1)))
    floor = ef.floor(noise, np.eye(2))
    assert floor.per_entry[0] == 0
    assert floor.per_entry[1] == pytest.approx(1 / (2 * math.pi))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ef.floor("noise", [[1.0]]), "noise must be a noise"),
        (lambda: ef.floor([], []), "noise must be a noise"),
        (lambda: ef.floor([Gaussian(1.0)], []), "each noise needs a Jacobian, got 1 noises and 0"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0], [2.0]]), "one row for each of the 1 answers"),
        (lambda: ef.floor(Gaussian(1.0), [[math.nan]]), "jacobian must be finite everywhere"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=(1, 0)), r"ranges need low < high, got \(1.0, 0.0\)"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, math.inf)), "ranges must be finite"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=[(0, 1), (0, 2)]), "or 1 pairs, one per entry"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], ranges=(0, 1), spacing=2), "no wider than the range"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], spacing=1), "spacing needs ranges too"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]], evaluation_error=-1), "evaluation_error must be finite"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).any_estimator, "any_estimator needs the entries' declared ranges"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).distinguish(-1), "distance must be finite and not negative"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).distinguish(1, entry=3), "entry must be one of 0 … 0, got 3"),
        (lambda: ef.floor(Gaussian(1.0), [[1.0]]).after(0), "answers must be a whole number"),
        (
            lambda: ef.floors.combine(ef.floor(Gaussian(1.0), [[1.0]]), ef.floor(Gaussian(1.0), [[1.0, 2.0]])),
            "about the same entries",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()
