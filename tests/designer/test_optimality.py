"""No admissible perturbation of a design costs less: the Rayleigh quotient of the ground state is the least.

Each case gives quadrature nodes in the support, the root density u with its gradient, and random smooth functions that
vanish at the boundary with theirs; all integrals are exact to rounding, or nearly so.
"""

import math

import numpy as np
import pytest

import errorfloor as ef

NODES, WEIGHTS = np.polynomial.legendre.leggauss(80)
TRIALS = 66


def line(low, high):
    half = (high - low) / 2
    return low + half * (NODES + 1), half * WEIGHTS


def plane(low, high):
    (x, wx), (y, wy) = line(low[0], high[0]), line(low[1], high[1])
    grid = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    return grid, np.outer(wx, wy).ravel()


def disc():
    """The unit disc in polar coordinates."""
    r, wr = line(0.0, 1.0)
    angle = 2 * math.pi * np.arange(80) / 80
    points = np.stack([np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle))], axis=-1).reshape(-1, 2)
    return points, np.repeat(wr * r * 2 * math.pi / 80, 80)


def ground(noise, points):
    """The root density and its gradient, from the noise's own pdf and score."""
    w = points[:, 0] if noise.dimension == 1 else points
    u = np.sqrt(noise.pdf(w))
    slope = np.asarray(noise.score(w)).reshape(len(points), -1)
    return u, np.where(u[:, None] > 0, 0.5 * u[:, None] * slope, 0.0)


def rough_polynomial(generator, points, scale):
    """A random polynomial of degree five in every coordinate, and its gradient."""
    m = points.shape[1]
    z = points / scale
    powers = np.stack([z**k for k in range(6)], axis=-1)
    slopes = np.stack([k * z ** max(k - 1, 0) for k in range(6)], axis=-1) / scale
    c = generator.normal(size=(6,) * m)
    if m == 1:
        return powers[:, 0] @ c, (slopes[:, 0] @ c)[:, None]
    value = np.einsum("pi,pj,ij->p", powers[:, 0], powers[:, 1], c)
    gradient = np.stack(
        [
            np.einsum("pi,pj,ij->p", slopes[:, 0], powers[:, 1], c),
            np.einsum("pi,pj,ij->p", powers[:, 0], slopes[:, 1], c),
        ],
        axis=-1,
    )
    return value, gradient


def box_bubble(points, low, high):
    """Π(w − low)(high − w), and its gradient."""
    a, b = points - low, high - points
    factors = a * b
    value = factors.prod(axis=1)
    others = np.stack([np.delete(factors, i, axis=1).prod(axis=1) for i in range(points.shape[1])], axis=1)
    return value, (b - a) * others


def disc_bubble(points):
    return 1 - (points**2).sum(axis=1), -2 * points


def edge_bubble(points):
    """The product of the coordinates: vanishes on the faces of the orthant."""
    others = np.stack([np.delete(points, i, axis=1).prod(axis=1) for i in range(points.shape[1])], axis=1)
    return points.prod(axis=1), others


def decay(points, scale):
    value = np.exp(-(points**2).sum(axis=1) / (4 * scale**2))
    return value, -points / (2 * scale**2) * value[:, None]


def times(*pairs):
    """Product rule for any number of (value, gradient) pairs."""
    value, gradient = pairs[0]
    for other_value, other_gradient in pairs[1:]:
        gradient = gradient * other_value[:, None] + other_gradient * value[:, None]
        value = value * other_value
    return value, gradient


SHEAR = np.array([[1.0, 0.5], [0.0, 1.0]])
FULL = np.array([[2.0, 0.7], [0.7, 1.0]])


def interval_case():
    points, weights = line(-1.0, 2.0)
    points = points[:, None]
    return ef.design(ef.Interval(-1, 2)), np.eye(1), points, weights, box_bubble(points, [-1.0], [2.0]), 1.5


def box_case():
    low, high, K = np.array([0.0, -1.0]), np.array([1.0, 1.0]), np.diag([1.0, 3.0])
    points, weights = plane(low, high)
    noise = ef.design(ef.Box(low, high), sensitivity=K)
    return noise, K, points, weights, box_bubble(points, low, high), 1.0


def parallelogram_case():
    low, high = -np.ones(2), np.ones(2)
    inner, weights = plane(low, high)
    noise = ef.design(ef.Box(low, high).image(SHEAR), jacobian=SHEAR)
    value, gradient = box_bubble(inner, low, high)
    return noise, SHEAR @ SHEAR.T, inner @ SHEAR.T, weights, (value, gradient @ np.linalg.inv(SHEAR)), 1.0


def disc_case():
    points, weights = disc()
    return ef.design(ef.Ball(2, 1.0)), np.eye(2), points, weights, disc_bubble(points), 1.0


def ellipse_case():
    inner, weights = disc()
    noise = ef.design(ef.Ellipsoid(SHEAR @ SHEAR.T), jacobian=SHEAR)
    value, gradient = disc_bubble(inner)
    return noise, SHEAR @ SHEAR.T, inner @ SHEAR.T, weights, (value, gradient @ np.linalg.inv(SHEAR)), 1.0


def half_line_case():
    points, weights = line(0.0, 14.0)
    points = points[:, None]
    bubble = times(edge_bubble(points), decay(points, 1.1))
    return ef.design(ef.HalfLine(0.0), loss_weight=1.0), np.eye(1), points, weights, bubble, 1.5


def orthant_case():
    K = np.diag([1.0, 2.0])
    points, weights = plane([0.0, 0.0], [14.0, 14.0])
    bubble = times(edge_bubble(points), decay(points, 1.1))
    return ef.design(ef.Orthant(2), sensitivity=K, loss_weight=1.0), K, points, weights, bubble, 1.5


def line_case():
    points, weights = line(-14.0, 14.0)
    points = points[:, None]
    return ef.design(ef.Reals(1), loss_weight=1.0), np.eye(1), points, weights, decay(points, 1.0), 1.5


def plane_case():
    points, weights = plane([-16.0, -16.0], [16.0, 16.0])
    return ef.design(ef.Reals(2), sensitivity=FULL, loss_weight=1.0), FULL, points, weights, decay(points, 1.2), 2.0


def airy_case():
    left, right = line(-20.0, 0.0), line(0.0, 20.0)
    points = np.concatenate([left[0], right[0]])[:, None]
    weights = np.concatenate([left[1], right[1]])
    noise = ef.design(ef.Reals(1), loss="absolute", loss_weight=1.0)
    return noise, np.eye(1), points, weights, decay(points, 1.5), 2.0


CASES = {
    "interval": (interval_case, None),
    "box": (box_case, None),
    "parallelogram": (parallelogram_case, None),
    "disc": (disc_case, None),
    "ellipse": (ellipse_case, None),
    "half-line": (half_line_case, "squared"),
    "orthant": (orthant_case, "squared"),
    "line": (line_case, "squared"),
    "plane": (plane_case, "squared"),
    "airy": (airy_case, "absolute"),
}


@pytest.mark.parametrize("case", CASES)
def test_no_admissible_perturbation_costs_less(case):
    make, loss = CASES[case]
    noise, K, points, weights, bubble, scale = make()
    potential = 0.0 if loss is None else (np.abs(points).sum(1) if loss == "absolute" else (points**2).sum(1))

    def quotient(value, gradient):
        energy = 4 * np.einsum("pi,ij,pj->p", gradient, K, gradient) + potential * value**2
        return float((weights * energy).sum() / (weights * value**2).sum())

    u, slope = ground(noise, points)
    least = quotient(u, slope)
    assert least == pytest.approx(noise.certificate.value, rel=1e-9)
    generator = np.random.default_rng(2024)
    raised = []
    for trial in range(TRIALS):
        value, gradient = times(bubble, rough_polynomial(generator, points, scale))
        size = math.sqrt(float((weights * value**2).sum() / (weights * u**2).sum()))
        step = 10.0 ** generator.uniform(-3, 1) / size
        raised.append(quotient(u + step * value, slope + step * gradient) / least - 1)
        assert raised[-1] > -1e-10, f"trial {trial} costs less"
    # the perturbations are real ones: most of them cost visibly more
    assert np.median(raised) > 1e-4
