"""The designer picks the right closed form, and its value is the formula of the theory."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ai_zeros, jn_zeros

import errorfloor as ef
from errorfloor.noise import Airy, BesselBall, Gaussian, LinearImage, Maxwell, Product, RaisedCosine, Translation

PI2 = math.pi**2


def symmetric(seed, m):
    root = np.random.default_rng(seed).normal(size=(m, m + 1))
    return root @ root.T


def power(matrix, exponent):
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * values**exponent) @ vectors.T


def test_interval_gives_the_raised_cosine_whatever_the_weights():
    for jacobian in (None, [[1.0]], [0.2, 0.3, 0.5], [[7.0, 0.0]]):
        assert ef.design(ef.Interval(-0.5, 0.5), jacobian=jacobian) == RaisedCosine(-0.5, 0.5)
    assert ef.design(ef.Interval(0, 2), jacobian=[1.0, 2.0]).certificate.value == pytest.approx(5 * PI2)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_box_with_diagonal_sensitivity_costs_the_sum_over_its_sides(m):
    width, k = np.arange(1.0, m + 1), np.linspace(0.5, 2.0, m)
    noise = ef.design(ef.Box(np.zeros(m), width), sensitivity=np.diag(k))
    assert noise.certificate.value == pytest.approx(float((k * 4 * PI2 / width**2).sum()), rel=1e-13)
    identity = ef.floor(ef.design(ef.Box(np.zeros(m), width)), np.eye(m))
    assert identity.total**2 == pytest.approx(float((width**2).sum() / (4 * PI2)), rel=1e-12)


@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_ball_costs_four_squared_bessel_zeros(m):
    radius, level = 1.7, 2.5
    noise = ef.design(ef.Ball(m, radius), sensitivity=level * np.eye(m))
    assert noise == BesselBall(m, radius)
    zero = {2: jn_zeros(0, 1)[0], 3: math.pi, 5: 4.493409457909064, 8: jn_zeros(3, 1)[0]}[m]
    assert noise.certificate.value == pytest.approx(4 * level * zero**2 / radius**2, rel=1e-12)
    assert np.allclose(noise.information, 4 * zero**2 / (m * radius**2) * np.eye(m), rtol=1e-12)


def test_a_ball_off_the_origin_is_translated():
    noise = ef.design(ef.Ball(3, 2.0, [1.0, 0.0, -1.0]))
    assert noise == Translation(BesselBall(3, 2.0), [1.0, 0.0, -1.0])
    assert noise.support == ef.Ball(3, 2.0, [1.0, 0.0, -1.0])


@pytest.mark.parametrize("m", [2, 3, 5])
def test_ellipsoid_aligned_with_the_query_costs_what_the_ball_does(m):
    C = np.random.default_rng(m).normal(size=(m, m))
    noise = ef.design(ef.Ellipsoid(C @ C.T, np.ones(m)), jacobian=C)
    assert noise.certificate.value == pytest.approx(ef.design(ef.Ball(m, 1.0)).certificate.value, rel=1e-11)
    assert noise.support.contains(noise.sample(10_000, rng=1)).all()


@pytest.mark.parametrize("m", [2, 3, 5])
def test_parallelepiped_of_the_query_costs_what_its_box_does(m):
    C = np.random.default_rng(m).normal(size=(m, m))
    box = ef.Box(-np.ones(m), np.arange(1.0, m + 1))
    noise = ef.design(box.image(C), jacobian=C)
    assert isinstance(noise, LinearImage)
    assert noise.certificate.value == pytest.approx(ef.design(box).certificate.value, rel=1e-9)
    assert box.image(C).contains(noise.sample(10_000, rng=1)).all()
    # per-entry floors about x are those of the box: the query is undone by the shape of its support
    assert np.allclose(ef.floor(noise, C).per_entry, ef.floor(ef.design(box), np.eye(m)).per_entry, rtol=1e-9)


def test_a_rectangle_given_as_polygon_or_polytope_is_a_box():
    corners = [[0, 0], [2, 0], [2, 1], [0, 1]]
    for support in (ef.Polygon(corners), ef.Polytope(vertices=corners), ef.Box([0, 0], [2, 1])):
        noise = ef.design(support)
        assert isinstance(noise, Product)
        assert noise.certificate.value == pytest.approx(4 * PI2 * (1 / 4 + 1), rel=1e-12)


def test_one_dimensional_balls_and_polytopes_are_intervals():
    assert ef.design(ef.Ball(1, 2.0, [1.0])) == RaisedCosine(-1, 3)
    assert ef.design(ef.Ellipsoid([[4.0]])) == RaisedCosine(-2, 2)
    assert ef.design(ef.Polytope(vertices=[[0.0], [1.0]])) == RaisedCosine(0, 1)


@pytest.mark.parametrize("weight", [0.1, 1.0, 30.0])
def test_half_line_gives_maxwell(weight):
    noise = ef.design(ef.HalfLine(0.0), sensitivity=[[2.0]], loss_weight=weight)
    assert noise.scale**2 == pytest.approx(math.sqrt(2 / weight), rel=1e-13)
    assert noise.certificate.value == pytest.approx(6 * math.sqrt(2 * weight), rel=1e-13)
    mirrored = ef.design(ef.HalfLine(high=0.0), sensitivity=[[2.0]], loss_weight=weight)
    assert mirrored.certificate.value == pytest.approx(noise.certificate.value, rel=1e-13)
    assert (mirrored.sample(1000, rng=1) <= 0).all()


def test_half_line_with_a_bound_on_its_loss_meets_it():
    noise = ef.design(ef.HalfLine(0.0), max_loss=0.3)
    assert noise == Maxwell(math.sqrt(0.1))
    assert noise.expected_loss() == pytest.approx(0.3, rel=1e-14)
    assert noise.certificate.value == pytest.approx(30.0, rel=1e-13)


def test_orthant_shares_its_loss_by_the_roots_of_the_sensitivity():
    k, bound = np.array([1.0, 4.0, 9.0]), 0.7
    noise = ef.design(ef.Orthant(3), sensitivity=np.diag(k), max_loss=bound)
    scales = np.array([factor.scale for factor in noise.factors])
    assert np.allclose(scales**2, bound * np.sqrt(k) / (3 * np.sqrt(k).sum()), rtol=1e-13)
    weighted = ef.design(ef.Orthant(3), sensitivity=np.diag(k), loss_weight=2.0)
    assert np.allclose([f.scale**2 for f in weighted.factors], np.sqrt(k / 2.0), rtol=1e-13)
    unequal = ef.design(ef.Orthant(2), loss=np.diag([1.0, 5.0]), max_loss=bound)
    assert unequal.expected_loss(np.diag([1.0, 5.0])) == pytest.approx(bound, rel=1e-13)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_unconstrained_noise_is_gaussian_without_the_printed_factor_two(m):
    K, weight, bound = symmetric(m, m), 3.0, 0.8
    noise = ef.design(ef.Reals(m), sensitivity=K, loss_weight=weight)
    assert np.allclose(noise.covariance, power(K, 0.5) / math.sqrt(weight), rtol=1e-9)
    bounded = ef.design(ef.Reals(m), sensitivity=K, max_loss=bound)
    assert np.allclose(bounded.covariance, bound * power(K, 0.5) / np.trace(power(K, 0.5)), rtol=1e-9)
    assert bounded.certificate.value == pytest.approx(np.trace(power(K, 0.5)) ** 2 / bound, rel=1e-10)


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8])
def test_gaussian_stationarity_residual_vanishes(m):
    K, R, weight = symmetric(m, m), symmetric(m + 50, m), 1.7
    noise = ef.design(ef.Reals(m), sensitivity=K, loss=R, loss_weight=weight)
    inverse = np.linalg.inv(noise.covariance)
    # −4 div(K∇u) + ϱ wᵀRw u = Λu for u = exp(−wᵀΣ⁻¹w/4) says Σ⁻¹KΣ⁻¹ = ϱR and Λ = 2 Tr(KΣ⁻¹)
    residual = inverse @ K @ inverse - weight * R
    assert np.abs(residual).max() < 1e-10 * np.abs(weight * R).max()
    ground = 2 * math.sqrt(weight) * np.trace(power(power(R, 0.5) @ K @ power(R, 0.5), 0.5))
    assert noise.certificate.value == pytest.approx(ground, rel=1e-10)
    assert 2 * np.trace(K @ inverse) == pytest.approx(ground, rel=1e-10)


def test_gaussian_with_weighted_loss_beats_every_other_covariance():
    K, R, bound = symmetric(3, 3), symmetric(60, 3), 2.0
    best = ef.design(ef.Reals(3), sensitivity=K, loss=R, max_loss=bound)

    def cost(flat):
        root = flat.reshape(3, 3)
        covariance = root @ root.T + 1e-12 * np.eye(3)
        covariance *= bound / np.trace(R @ covariance)
        return np.trace(K @ np.linalg.inv(covariance))

    found = minimize(cost, np.eye(3).ravel(), method="BFGS", options={"gtol": 1e-9})
    assert found.fun == pytest.approx(best.certificate.value, rel=1e-7)


def test_line_with_absolute_loss_gives_airy():
    a = -ai_zeros(1)[1][0]
    noise = ef.design(ef.Reals(1), sensitivity=[[2.0]], loss="absolute", loss_weight=3.0)
    assert noise.certificate.value == pytest.approx(4 * 2 ** (1 / 3) * 0.75 ** (2 / 3) * a, rel=1e-12)
    assert noise.scale == pytest.approx((3 / 8) ** (-1 / 3), rel=1e-13)
    bounded = ef.design(ef.Reals(1), loss="absolute", max_loss=0.5)
    assert isinstance(bounded, Airy)
    assert bounded.expected_loss("absolute") == pytest.approx(0.5, rel=1e-11)
    assert bounded.certificate.value * 0.25 == pytest.approx(16 * a**3 / 27, rel=1e-11)


def test_plane_with_absolute_loss_is_a_product_of_airy_noises():
    noise = ef.design(ef.Reals(2), sensitivity=np.diag([1.0, 8.0]), loss="absolute", max_loss=1.0)
    assert [type(factor) for factor in noise.factors] == [Airy, Airy]
    assert noise.expected_loss("absolute") == pytest.approx(1.0, rel=1e-11)
    assert noise.factors[1].scale / noise.factors[0].scale == pytest.approx(2.0, rel=1e-12)


def test_a_strip_times_lines_and_half_lines_separates():
    half_plane = ef.Polytope(A=[[-1.0, 0.0]], b=[0.0])  # w₁ ≥ 0, w₂ free
    assert half_plane.product_form[1] == (ef.HalfLine(0.0), ef.Reals(1))
    assert ef.design(half_plane, loss_weight=2.0).certificate.gap == 0
    cone = ef.Orthant(2).image([[1.0, 1.0], [0.0, 1.0]])
    C = np.array([[1.0, 1.0], [0.0, 1.0]])
    R = np.linalg.inv(C @ C.T)
    noise = ef.design(cone, jacobian=C, loss=R, max_loss=1.0)
    assert noise.certificate.value == pytest.approx(ef.design(ef.Orthant(2), max_loss=1.0).certificate.value, rel=1e-9)
    assert cone.contains(noise.sample(10_000, rng=3)).all()


def test_a_bound_that_does_not_bind_changes_nothing():
    free = ef.design(ef.Interval(1, 2))
    loose = ef.design(ef.Interval(1, 2), max_loss=2.4)
    assert loose == free
    assert "does not bind" in loose.certificate.method
    assert loose.certificate.loss == pytest.approx(float(free.covariance[0, 0]) + 2.25)


def test_certificates_say_how_the_optimum_is_known():
    certificate = ef.design(ef.Interval(-0.5, 0.5)).certificate
    assert certificate.gap == 0
    assert certificate.value == certificate.lower_bound == pytest.approx(4 * PI2)
    assert "proved to be the least" in certificate.explain()
    assert certificate.method == "closed form: raised cosine"


def test_designs_survive_serialisation_with_their_certificates():
    noise = ef.design(ef.Box([0, 0], [1, 2]).image([[1.0, 0.5], [0.0, 1.0]]), jacobian=[[1.0, 0.5], [0.0, 1.0]])
    again = ef.noise.from_dict(noise.to_dict())
    assert again == noise
    assert again.certificate == noise.certificate


def test_scaling_the_query_scales_the_cost_and_not_the_noise():
    one = ef.design(ef.Ball(2, 1.0), jacobian=np.eye(2))
    ten = ef.design(ef.Ball(2, 1.0), jacobian=10 * np.eye(2))
    assert one == ten
    assert ten.certificate.value == pytest.approx(100 * one.certificate.value)


def test_gaussian_on_the_line_is_returned_for_one_answer():
    assert ef.design(ef.Reals(1), jacobian=[0.3, 0.4], max_loss=2.0) == Gaussian(2.0)
