"""Boxes with correlated queries: two discretisations that share no code, rates of convergence, quality, sampling."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.boxes import solver as spectral
from errorfloor.designer.boxes.line import Potential
from errorfloor.designer.boxes.tensor import Tensor
from errorfloor.designer.elements.ground_state import ground_state as by_elements
from errorfloor.errors import InputError
from errorfloor.noise import LinearImage, Loss, Spectral
from errorfloor.noise.spectral_axis import Axis

UNIT_SQUARE = ef.Polygon([[0, 0], [1, 0], [1, 1], [0, 1]])


def correlated(r, m=2):
    return (1 - r) * np.eye(m) + r * np.ones((m, m))


def prefix_sums(m):
    return np.tril(np.ones((m, m)))


def value_at(degree, K):
    """The Ritz value on the unit cube in polynomials of a degree."""
    axes = (Axis(np.array([0.0, 1.0]), degree),) * len(K)
    return Tensor(axes, 4 * K, Potential.of(None, np.eye(len(K)))).ground_state(tolerance=1e-9)[0]


@pytest.mark.parametrize(
    ("r", "ratio", "digits"), [(0.3, 1.0188, 4), (0.6, 1.0882, 4), (0.9, 1.3134, 4), (0.99, 1.632, 3)]
)
def test_the_optimum_on_the_square_agrees_with_finite_elements(r, ratio, digits):
    certificate = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=correlated(r)).certificate
    elements = by_elements(UNIT_SQUARE, correlated(r), tolerance=1e-9)
    assert certificate.value == pytest.approx(elements.value, rel=1e-7)
    assert certificate.lower_bound <= elements.value
    assert elements.lower_bound <= certificate.value
    assert certificate.gap < 1e-5
    assert round(8 * math.pi**2 / certificate.value, digits) == ratio


def test_a_parallelogram_agrees_with_finite_elements_and_with_its_square():
    shear = np.array([[1.0, 0.5], [0.0, 1.0]])
    corners = np.array([[0, 0], [1, 0], [1, 1], [0, 1.0]]) @ shear.T
    noise = ef.design(ef.Polygon(corners), sensitivity=correlated(0.4))
    assert isinstance(noise, LinearImage)
    assert noise.certificate.value == pytest.approx(by_elements(ef.Polygon(corners), correlated(0.4)).value, rel=1e-7)
    inverse = np.linalg.inv(shear)
    same = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=inverse @ correlated(0.4) @ inverse.T)
    assert noise.certificate.value == pytest.approx(same.certificate.value, rel=1e-8)
    assert ef.Polygon(corners).contains(noise.sample(5000, rng=1)).all()


@pytest.mark.parametrize(("m", "degrees"), [(3, (8, 12, 18)), (4, (4, 6, 8))])
def test_cubes_converge_at_the_rate_of_their_edges(m, degrees):
    # the faces of two answers correlated by r meet at an edge at the angle π − arccos r: there u ~ distance^(π/angle),
    # and the value in polynomials converges like degree^(−4π/angle)
    K = prefix_sums(m) @ prefix_sums(m).T
    scale = np.sqrt(np.diag(K))
    correlation = K / scale / scale[:, None] - np.eye(m)
    widest = math.pi - math.acos(float(np.abs(correlation).max()))
    values = [value_at(degree, K) for degree in degrees]
    errors = np.array(values) - value_at({3: 30, 4: 12}[m], K)
    assert (np.diff(errors) < 0).all() and errors[-1] > 0
    rate = -np.polyfit(np.log(degrees), np.log(errors), 1)[0]
    assert 4 * math.pi / widest - 0.5 < rate < 4 * math.pi / widest + 3


def test_cubes_with_prefix_sums_beat_product_noise():
    three = ef.design(ef.Box([0] * 3, [1] * 3), jacobian=prefix_sums(3)).certificate
    assert 4 * math.pi**2 * 6 / three.value == pytest.approx(1.242, abs=5e-4)
    assert three.gap < 1e-4
    mild = ef.design(ef.Box([0] * 4, [1] * 4), sensitivity=correlated(0.3, 4)).certificate
    assert mild.gap < 1e-5
    assert mild.value < 16 * math.pi**2


@pytest.mark.parametrize("m", [2, 3])
def test_all_of_space_reproduces_the_gaussian(m):
    K, R = correlated(0.5, m) * 2, correlated(-0.2, m)
    found = spectral.ground_state((np.eye(m), (ef.Reals(1),) * m), K, Loss(R), 3.0, tolerance=1e-7)
    gaussian = ef.design(ef.Reals(m), sensitivity=K, loss=R, loss_weight=3.0)
    assert found.value == pytest.approx(gaussian.certificate.value, rel=1e-6 if m == 3 else 1e-9)
    assert found.lower_bound <= gaussian.certificate.value * (1 + 1e-12)
    assert found.gap < 1e-4
    assert np.allclose(found.noise.covariance, gaussian.covariance, rtol=1e-3)


def test_half_spaces_and_wedges_are_products_in_their_own_coordinates():
    K = correlated(0.6)
    half_plane = ef.Polytope(A=[[1.0, 1.0]], b=[0.0])
    noise = ef.design(half_plane, sensitivity=K, loss_weight=2.0)
    # K and the loss are diagonal along and across the edge: a Maxwell and a normal noise
    assert noise.certificate.value == pytest.approx(math.sqrt(2) * (6 * math.sqrt(1.6) + 2 * math.sqrt(0.4)), rel=1e-10)
    assert noise.certificate.gap < 1e-9
    assert half_plane.contains(noise.sample(2000, rng=1)).all()
    slab = ef.design(ef.Polytope(A=[[1.0, 0, 0], [-1.0, 0, 0]], b=[1.0, 1.0]), loss_weight=2.0)
    line = ef.design(ef.Interval(-1, 1), loss_weight=2.0)
    assert slab.certificate.value == pytest.approx(line.certificate.value + 4 * math.sqrt(2), rel=1e-7)


def test_the_orthant_with_a_correlated_query_agrees_with_finite_elements():
    K = correlated(0.5)
    noise = ef.design(ef.Orthant(2), sensitivity=K, loss_weight=3.0)
    elements = by_elements(ef.Box([0, 0], [7, 7]), K, Loss.parse("squared", 2), 3.0)  # beyond, nothing is left
    assert noise.certificate.value == pytest.approx(elements.value, rel=1e-6)
    assert noise.certificate.gap < 1e-6
    assert noise.support == ef.Orthant(2)
    assert (noise.sample(2000, rng=1) >= 0).all()


@pytest.mark.parametrize("loss", ["squared", [[2.0, 0.5], [0.5, 1.0]]])
def test_quality_on_the_square_agrees_with_finite_elements(loss):
    square = ef.Box([-0.5, -0.3], [0.5, 0.7])
    corners = ef.Polygon([[-0.5, -0.3], [0.5, -0.3], [0.5, 0.7], [-0.5, 0.7]])
    noise = ef.design(square, sensitivity=correlated(0.6), loss=loss, loss_weight=200.0)
    elements = by_elements(corners, correlated(0.6), Loss.parse(loss, 2), 200.0)
    assert noise.certificate.value == pytest.approx(elements.value, rel=1e-6)
    assert noise.certificate.lower_bound <= elements.value
    assert noise.certificate.gap < 1e-6


@pytest.mark.parametrize("loss", ["squared", "absolute"])
def test_the_loss_of_a_box_meets_its_bound(loss):
    noise = ef.design(ef.Box([-0.5, -0.5], [0.5, 0.5]), sensitivity=correlated(0.6), loss=loss, max_loss=0.05)
    assert noise.expected_loss(loss) == pytest.approx(0.05, rel=1e-10)
    assert 0 <= noise.certificate.gap < 1e-4
    free = ef.design(ef.Box([-0.5, -0.5], [0.5, 0.5]), sensitivity=correlated(0.6), loss=loss, max_loss=1.0)
    assert free.certificate.loss_weight == 0
    assert "does not bind" in free.certificate.method
    assert free.certificate.gap < 1e-6


def test_five_dimensions_are_refused_unless_the_query_is_diagonal():
    five = ef.Box(np.zeros(5), np.ones(5))
    with pytest.raises(InputError, match="a general problem in 5 dimensions is beyond the numerical designer"):
        ef.design(five, sensitivity=correlated(0.2, 5))
    assert ef.design(five).certificate.gap == 0


def test_units_of_the_coordinates_change_nothing():
    K, scale = correlated(0.7), np.array([1e-12, 1e9])
    plain = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=K).certificate
    scaled = ef.design(ef.Box([0, 0], scale), sensitivity=K * np.outer(scale, scale)).certificate
    assert scaled.value == pytest.approx(plain.value, rel=1e-11)
    assert scaled.gap == pytest.approx(plain.gap, rel=1e-3)


def test_an_ellipsoid_in_four_dimensions_is_bracketed():
    support, K = ef.Ellipsoid(np.diag([1.0, 2, 3, 4])), np.diag([1.0, 2.0, 1.0, 1.0])
    noise = ef.design(support, sensitivity=K, loss_weight=5.0)
    assert 0 < noise.certificate.lower_bound < noise.certificate.value
    value = float(np.trace(K @ noise.information)) + 5 * noise.expected_loss()
    assert noise.certificate.value == pytest.approx(value, rel=1e-9)


def test_a_box_solution_is_a_single_tensor_of_polynomials():
    noise = ef.design(ef.Box([0, 0], [1, 2]), sensitivity=correlated(0.5))
    assert isinstance(noise, Spectral)
    assert noise.coefficients.ndim == 2
    assert noise.support == ef.Box([0, 0], [1, 2])
