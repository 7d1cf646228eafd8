"""Losses with kinks are integrated as exactly as is said: against closed forms and one-dimensional integrals."""

import itertools

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.numerical import numerical_design
from errorfloor.designer.problem import Problem
from errorfloor.noise import (
    EllipsoidPolynomial,
    LinearImage,
    Loss,
    Piecewise,
    Product,
    RaisedCosine,
    Spectral,
    Translation,
)
from errorfloor.noise.ball_polynomials import total_degrees
from errorfloor.noise.piecewise_losses import loss_moments

SQUARE = Spectral(([-1.0, 1.0], [-1.0, 0.2, 1.0]), (3, 4), np.random.default_rng(5).normal(size=(2, 7)))


def by_lines(noise, slope, start, loss):
    """∫∫ℓγ by Gauss rules, split where the kink y = slope·x + start, or an end of the pieces, is crossed."""
    nodes, weights = np.polynomial.legendre.leggauss(20)

    def pieces(ends):
        for a, b in itertools.pairwise(np.unique(np.clip(ends, -1, 1))):
            yield from zip((a + b) / 2 + (b - a) / 2 * nodes, (b - a) / 2 * weights, strict=True)

    total = 0.0
    for x, outer in pieces([-1, 1, *((end - start) / slope for end in (-1, 0.2, 1))]):
        y, inner = np.array(list(pieces([-1, 0.2, 1, slope * x + start]))).T
        total += outer * float(inner @ (noise.pdf(np.column_stack([np.full_like(y, x), y])) * loss(x, y)))
    return total


def test_an_absolute_loss_across_the_axes_is_exact():
    direction = np.array([0.7, -1.1])
    exact = by_lines(SQUARE, 0.7 / 1.1, 0.3 / 1.1, lambda x, y: np.abs(0.7 * x - 1.1 * y + 0.3))
    assert SQUARE._mean_absolute(direction, 0.3) == pytest.approx(exact, rel=1e-11)
    sheared = LinearImage(SQUARE, [[1.0, 0.4], [0.0, 1.0]])
    moved = Translation(sheared, [0.1, 0.2])
    total = sum(
        SQUARE._mean_absolute(row, shift) for row, shift in ((np.array([1.0, 0.4]), 0.1), (np.array([0.0, 1.0]), 0.2))
    )
    assert moved.expected_loss("absolute") == pytest.approx(total, rel=1e-12)
    assert moved.expected_loss(lambda w: np.abs(w).sum(axis=-1)) == pytest.approx(total, rel=1e-10)


def test_a_given_kink_in_the_plane_is_found_and_split():
    given = SQUARE.expected_loss(lambda w: np.maximum(w[..., 0] - w[..., 1], 0.5 * w[..., 1]))
    exact = by_lines(SQUARE, 1 / 1.5, 0.0, lambda x, y: np.maximum(x - y, 0.5 * y))
    assert given == pytest.approx(exact, rel=1e-10)


def test_three_coordinates_at_once_agree_with_their_marginal():
    cube = Spectral(([0.0, 1.0],) * 3, (3, 4, 3), np.random.default_rng(6).normal(size=(2, 3, 2)))
    turned = LinearImage(cube, np.linalg.qr(np.random.default_rng(7).normal(size=(3, 3)))[0])
    w = turned.sample(50_000, rng=8)
    values = np.abs(w).sum(axis=1)
    assert abs(turned.expected_loss("absolute") - values.mean()) < 7 * values.std() / np.sqrt(len(w))


def test_moments_of_a_kinked_loss_on_a_triangle():
    corners = np.array([[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]])
    moments = loss_moments(corners, 1, Loss(None, lambda w: np.abs(w[..., 0] - w[..., 1])))
    # ∫|x−y| = 1/6 over the triangle; by symmetry the moments with x and y are equal
    assert moments.sum() == pytest.approx(1 / 6, rel=1e-12)
    assert moments[0, 1] == pytest.approx(moments[0, 2], rel=1e-12)


def test_a_piecewise_noise_integrates_a_given_loss_as_the_named_one():
    triangle = ef.Polygon([[-1, -1], [1, -0.5], [0, 1]])
    bump = [0.0] * 9 + [1.0]
    noise = Piecewise(triangle, triangle.vertices, [[0, 1, 2]], 3, bump)
    given = noise.expected_loss(lambda w: np.abs(w).sum(axis=-1))
    assert given == pytest.approx(noise.expected_loss("absolute"), rel=1e-10)
    assert noise.expected_loss(lambda w: (w**2).sum(axis=-1)) == pytest.approx(noise.expected_loss(), rel=1e-12)


def test_a_kinked_loss_meets_its_bound_on_a_polygon():
    triangle = ef.Polygon([[-1, -1], [1, -0.5], [0, 1]])

    def loss(w):
        return np.abs(w).max(axis=-1)

    noise = ef.design(triangle, loss=loss, max_loss=0.25)
    assert noise.expected_loss(loss) == pytest.approx(0.25, rel=1e-10)


def greatest(w):
    return np.abs(w).max(axis=-1) + (np.asarray(w) ** 2).sum(axis=-1)


def by_pyramids(noise, loss, frame, points=40):
    """∫ℓγ over an ellipsoid frame·ball about 0, split into the six pyramids in which one |wᵢ| is the greatest."""
    nodes, weights = np.polynomial.legendre.leggauss(points)
    a, b, t = (grid.ravel() for grid in np.meshgrid(nodes, nodes, (nodes + 1) / 2, indexing="ij"))
    weight = np.einsum("i,j,k->ijk", weights, weights, weights / 2).ravel()
    total = 0.0
    for axis, sign in itertools.product(range(3), (-1, 1)):
        ray = np.insert(np.column_stack([a, b]), axis, sign, axis=1)
        reach = 1 / np.linalg.norm(ray @ np.linalg.inv(frame).T, axis=1)
        w = (t * reach)[:, None] * ray
        total += float((weight * reach**3 * t**2) @ (noise.pdf(w) * loss(w)))
    return total


@pytest.mark.parametrize("frame", [np.eye(3), np.array([[1.0, 0.0, 0.0], [0.2, 0.8, 0.0], [0.1, -0.2, 1.3]])])
def test_a_kinked_loss_in_an_ellipsoid_is_never_understated(frame):
    coefficients = np.random.default_rng(9).normal(size=len(total_degrees(3, 5))) * 0.2
    coefficients[0] = 1.0
    noise = EllipsoidPolynomial(ef.Ellipsoid(frame @ frame.T), frame, 5, coefficients)
    exact = by_pyramids(noise, greatest, frame)
    assert exact == pytest.approx(by_pyramids(noise, greatest, frame, points=32), rel=1e-7)
    stated = noise.expected_loss(greatest)
    assert exact * (1 - 1e-7) <= stated <= exact * (1 + 1e-4)


@pytest.mark.parametrize(("m", "off"), [(3, 1e-3), (4, 1e-2)])
def test_a_kinked_loss_of_many_coordinates_is_stated_from_above(m, off):
    """For independent coordinates E max|wᵢ| = ∫ 1 − P(|w₁| ≤ t)ᵐ dt, an integral on the line."""
    line = Spectral(([-1.0, 1.0],), (3,), [1.0, 0.3])
    coefficients = np.array([1.0, 0.3])
    for _ in range(m - 1):
        coefficients = np.multiply.outer(coefficients, [1.0, 0.3])
    noise = Spectral(([-1.0, 1.0],) * m, (3,) * m, coefficients)
    t, weight = np.polynomial.legendre.leggauss(60)
    t, weight = (t + 1) / 2, weight / 2
    exact = float(weight @ (1 - (line.cdf(t) - line.cdf(-t)) ** m))
    stated = noise.expected_loss(lambda w: np.abs(w).max(axis=-1))
    assert exact < stated < exact * (1 + off)


@pytest.mark.parametrize(("support", "bound"), [(ef.Ball(3, 1.0), 0.65), (ef.Ball(2, 1.0), 0.45)])
def test_a_kinked_loss_meets_its_bound_in_a_ball(support, bound):
    problem = Problem.parse(support, None, None, greatest, None, bound)
    noise, _, weight = numerical_design(problem, certify=False)
    assert weight > 0
    assert noise.expected_loss(greatest) == pytest.approx(bound, rel=1e-10)
    if support.dimension == 3:
        assert bound * (1 - 1e-4) <= by_pyramids(noise, greatest, np.eye(3)) <= bound * (1 + 1e-7)
        assert "the mean of the given loss is that of a rule" in noise.certificate.explain()


def test_a_kink_on_the_line_is_found_wherever_it_is():
    place = 1 / np.sqrt(7)
    given = ef.design(ef.Interval(-1, 2), loss=lambda w: 3 * np.abs(w - place), loss_weight=5.0)
    named = ef.design(ef.Interval(-1 - place, 2 - place), loss="absolute", loss_weight=15.0)
    assert given.certificate.value == pytest.approx(named.certificate.value, rel=1e-12)
    assert max(len(piece) for piece in given.breaks) <= 6


def test_closed_forms_in_several_coordinates_say_that_they_know_no_such_mean():
    with pytest.raises(ef.errors.NoClosedFormError, match="use samples"):
        Product((RaisedCosine(0, 1), RaisedCosine(0, 1))).expected_loss(lambda w: np.abs(w).max(axis=-1))
