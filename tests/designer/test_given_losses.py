"""Losses that are functions: their noise is that of the named loss which they equal, or of other methods."""

import math

import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.elements.ground_state import ground_state
from errorfloor.designer.rays import Rays
from errorfloor.noise import Loss

K = np.array([[1.0, 0.4], [0.4, 0.8]])


def kinked(w):
    return np.abs(w).max(axis=-1) + (np.asarray(w) ** 2).sum(axis=-1)


def absolute(w):
    return np.abs(w).sum(axis=-1)


def square(w):
    return (np.asarray(w) ** 2).sum(axis=-1)


def least_by_hermite_functions(sensitivity, loss, weight, count=26):
    """The least J + ϱQ among products of Hermite functions, in the plane: a value of other noises, by a fine grid."""
    x, step = np.linspace(-9, 9, 901, retstep=True)
    basis = [math.pi**-0.25 * np.exp(-(x**2) / 2)]
    basis.append(math.sqrt(2) * x * basis[0])
    for n in range(1, count):
        basis.append(math.sqrt(2 / (n + 1)) * x * basis[n] - math.sqrt(n / (n + 1)) * basis[n - 1])
    up = np.sqrt(np.arange(1, count + 1) / 2)
    slope = np.array([(up[n - 1] * basis[n - 1] if n else 0) - up[n] * basis[n + 1] for n in range(count)])
    values = np.array(basis[:count])
    first, second = slope @ values.T * step, slope @ slope.T * step
    form = 4 * (sensitivity[0, 0] * np.kron(second, np.eye(count)) + sensitivity[1, 1] * np.kron(np.eye(count), second))
    form += 4 * sensitivity[0, 1] * (np.kron(first, first.T) + np.kron(first.T, first))
    height = weight * loss(np.stack(np.meshgrid(x, x, indexing="ij"), axis=-1))
    pairs = np.einsum("ix,jx->ijx", values, values).reshape(count**2, -1) * step
    potential = (pairs @ height @ pairs.T).reshape(count, count, count, count)
    form += potential.transpose(0, 2, 1, 3).reshape(count**2, count**2)
    return float(np.linalg.eigvalsh((form + form.T) / 2)[0])


@pytest.mark.parametrize("sensitivity", [np.eye(2), K])
def test_a_kinked_loss_on_the_plane_costs_what_hermite_functions_say(sensitivity):
    found = ground_state(ef.Reals(2), sensitivity, Loss(None, kinked), 2.0, tolerance=1e-5)
    assert found.value == pytest.approx(least_by_hermite_functions(sensitivity, kinked, 2.0), rel=1e-3)
    assert found.lower_bound is None


@pytest.mark.parametrize(
    ("support", "given", "named"),
    [
        (ef.Reals(2), square, "squared"),
        (ef.Reals(2), absolute, "absolute"),
        (ef.Orthant(2), square, "squared"),
        (ef.Polytope(A=[[-1.0, 0.3], [0.2, -1.0], [1.0, 1.0]], b=[0.5, 0.2, 9.0]), absolute, "absolute"),
    ],
)
def test_a_given_loss_gives_the_noise_of_the_named_one_it_equals(support, given, named):
    exact = ef.design(support, sensitivity=K, loss=named, loss_weight=2.0).certificate.value
    found = ef.design(support, sensitivity=K, loss=given, loss_weight=2.0)
    assert found.certificate.value == pytest.approx(exact, rel=1e-4)


def test_a_smooth_loss_on_a_product_of_lines_costs_what_the_lines_do():
    exact = 2 * ef.design(ef.Reals(1), loss=np.cosh, loss_weight=2.0).certificate.value
    certificate = ef.design(ef.Reals(2), loss=lambda w: np.cosh(w).sum(axis=-1), loss_weight=2.0).certificate
    assert certificate.value == pytest.approx(exact, rel=1e-8)


def test_a_least_place_on_the_boundary_and_a_loss_unknown_beyond_it():
    def known_inside(w):
        return np.where((w < 0).any(axis=-1), np.nan, kinked(w + np.array([1.0, 0.5])))

    found = ground_state(ef.Orthant(2), K, Loss(None, known_inside), 2.0, tolerance=1e-5)
    # noise in a bounded part of the quadrant is noise in the quadrant
    inside = ground_state(
        ef.Polygon([[0, 0], [4, 0], [4, 4], [0, 4]]), K, Loss(None, lambda w: kinked(w + np.array([1.0, 0.5]))), 2.0
    )
    assert found.value == pytest.approx(inside.value, rel=1e-4)


def test_a_bound_on_a_given_loss_is_met():
    certificate = ef.design(ef.Orthant(2), loss=kinked, max_loss=2.5).certificate
    assert certificate.loss == pytest.approx(2.5, rel=1e-10)
    # two independent coordinates with E w² = 0.52, and so E w ≤ 0.722, meet the bound
    assert certificate.value < 2 * ef.design(ef.HalfLine(0), max_loss=0.52).certificate.value


def test_rays_tell_how_far_a_ground_state_reaches():
    """Of −Δ + |x|², exp(−|x|²/2): it has fallen by exp(−8) at a distance of about 4 or a little more."""
    rays = Rays.of(lambda x: (x**2).sum(axis=-1), np.zeros(2), np.zeros(2))
    assert 2 < rays.energy() < 8
    low, high = rays.reach(2.0, 8.0)
    assert (np.abs([low, high]) > 4).all()
    assert (np.abs([low, high]) < 6).all()
