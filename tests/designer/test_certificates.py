"""Lower bounds are lower bounds: against exact values, finer values, and eigenvalues known in closed form."""

import math

import mpmath
import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.bounds.enclosure import levels_on_line, steps_below
from errorfloor.designer.bounds.residual import from_residual
from errorfloor.designer.boxes.flux import Flux
from errorfloor.designer.boxes.line import Curve, Line, Potential
from errorfloor.designer.boxes.lower_bound import Domain, proved_bound
from errorfloor.designer.boxes.tensor import Tensor
from errorfloor.designer.elements.ground_state import ground_state as elements
from errorfloor.designer.elements.ground_state import second_level
from errorfloor.designer.numerical import solve
from errorfloor.noise import Loss
from errorfloor.noise.spectral_axis import Axis


def square(r):
    return np.array([[1.0, r], [r, 1.0]])


@pytest.mark.parametrize("degree", [4, 6, 8, 12])
def test_a_coarse_state_has_a_lower_bound_below_the_exact_value(degree):
    """A poor state gives a poor bound, never a wrong one."""
    line = Line(4.0, Curve(square=200.0), -1.0, 0.7)
    exact = line.ground_state()[1]
    axis, value, c = line.ground_state(np.array([-1.0, 0.7]), degree)
    potential = Potential((line.curve,), np.zeros((1, 1)))
    domain = Domain(np.array([[line.k]]), potential, np.array([line.low]), np.array([line.high]))
    found, proof = proved_bound(domain, (axis,), c)
    assert value > exact
    assert 0 < found < exact
    assert proof


@pytest.mark.parametrize("r", [0.3, 0.8])
@pytest.mark.parametrize("degree", [8, 14, 24])
def test_bounds_on_the_square_bracket_the_optimum(r, degree):
    optimum = solve(ef.Box([0, 0], [1, 1]), square(r), certify=False).value
    axes = (Axis(np.array([0.0, 1.0]), degree),) * 2
    domain = Domain(4 * square(r), Potential.of(None, np.eye(2)), np.zeros(2), np.ones(2))
    value, c = Tensor(axes, domain.A, domain.potential).ground_state()
    found, proof = proved_bound(
        domain, axes, c, lambda quotient: second_level(ef.Box([0, 0], [1, 1]), square(r), None, 0.0, quotient)
    )
    assert found < optimum <= value * (1 + 1e-12)
    assert found > 0.9 * optimum
    assert ("Crouzeix–Raviart" in proof) == (r == 0.8)


def test_any_trial_function_gives_a_valid_bound():
    """Lehmann and Goerisch hold for states that are nowhere near the ground, if the second level is known."""
    axes = (Axis(np.array([0.0, 1.0]), 10),) * 2
    A, exact, second = 4 * np.eye(2), 8 * math.pi**2, 20 * math.pi**2
    generator = np.random.default_rng(2)
    _, ground = Tensor(axes, A, Potential.of(None, np.eye(2))).ground_state()
    flux = Flux(axes, A, Potential.of(None, np.eye(2)), ((False, False),) * 2)
    for size in (0.0, 0.01, 0.1, 0.3):
        c = ground / np.abs(ground).max() + size * generator.normal(size=ground.shape) * 0.1
        quotient, beta = flux.quotients(c)
        assert quotient >= exact * (1 - 1e-12)
        if quotient < second:
            assert from_residual(quotient, (beta * quotient - 1) * quotient, second) <= exact * (1 + 1e-11)


def test_the_flux_is_exact_for_an_exact_state():
    axes = (Axis(np.array([0.0, 1.0]), 20),) * 2
    A = np.diag([4.0, 8.0])
    _, c = Tensor(axes, A, Potential.of(None, np.eye(2))).ground_state()
    quotient, beta = Flux(axes, A, Potential.of(None, np.eye(2)), ((False, False),) * 2).quotients(c)
    assert quotient == pytest.approx(12 * math.pi**2, rel=1e-12)
    assert quotient * beta == pytest.approx(1, abs=1e-11)


def test_the_value_is_that_of_the_sampled_density():
    for noise, K, weight in [
        (ef.design(ef.Interval(-1, 1), loss_weight=9.0), np.eye(1), 9.0),
        (ef.design(ef.Box([0, 0], [1, 1]), sensitivity=square(0.5), loss_weight=9.0), square(0.5), 9.0),
    ]:
        # the density's own score and loss at Gauss nodes, nothing of the solver
        nodes, weights = np.polynomial.legendre.leggauss(120)
        low, high = noise.support.bounding_box
        grids = [a + (b - a) * (nodes + 1) / 2 for a, b in zip(low, high, strict=True)]
        points = np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
        w = np.ones(1)
        for a, b in zip(low, high, strict=True):
            w = np.multiply.outer(w, weights * (b - a) / 2).ravel()
        plain = points[:, 0] if len(grids) == 1 else points
        score = np.reshape(noise.score(plain), (-1, len(grids)))
        J = float(np.einsum("p,pi,ij,pj->", w * noise.pdf(plain), score, K, score))
        Q = float((w * noise.pdf(plain) * (points**2).sum(axis=1)).sum())
        assert noise.certificate.value == pytest.approx(J + weight * Q, rel=1e-8)


@pytest.mark.parametrize("support", [ef.Reals(2), ef.Orthant(2), ef.Reals(3)])
def test_absolute_losses_of_correlated_answers_are_certified_closely(support):
    m = support.dimension
    K = np.eye(m) / 2 + 0.5
    certificate = ef.design(support, sensitivity=K, loss="absolute", loss_weight=2.0).certificate
    assert certificate.gap < {2: 1e-6, 3: 1e-4}[m]
    # independent noise is one of those that the bound is for
    alone = ef.design(support, loss="absolute", loss_weight=2.0)
    cost = float(np.trace(K @ alone.information)) + 2 * alone.expected_loss("absolute")
    assert certificate.lower_bound < cost


def test_bounds_of_nearly_dependent_answers_allow_for_rounding():
    r, s = 1 - 1e-11, 7.0
    K = np.array([[1.0, r * s], [r * s, s**2]])
    R = np.array([[s**2, -r * s], [-r * s, 1.0]]) / (1 - r)
    with mpmath.workdps(50):
        product = mpmath.matrix(K.tolist()) * mpmath.matrix(R.tolist())
        truth = float(2 * mpmath.sqrt(product[0, 0] + product[1, 1] + 2 * mpmath.sqrt(mpmath.det(product))))
    root = np.linalg.cholesky(K)
    far = (
        7 * float(np.linalg.eigvalsh(root.T @ R @ root / 4)[0]) ** -0.25
    )  # beyond, nothing is left of the ground state
    square = far * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    found = elements(ef.Polygon(square @ root.T), K, Loss.parse(R, 2), 1.0, tolerance=1e-6)
    assert truth * (1 - 1e-2) < found.lower_bound <= truth


@pytest.mark.parametrize(
    ("k", "potential", "ends", "exact"),
    [
        (4.0, lambda x: x**2, (-math.inf, math.inf), (2.0, 6.0, 10.0)),
        (4.0, lambda x: x**2, (0.0, math.inf), (6.0, 14.0, 22.0)),
        (1.0, np.abs, (-math.inf, math.inf), (1.0187929716, 2.3381074104, 3.2481975822)),
        (1.0, np.abs, (0.0, math.inf), (2.3381074104, 4.0879494441, 5.5205598281)),
        (1.0, np.zeros_like, (0.0, math.pi), (1.0, 4.0, 9.0)),
    ],
)
def test_levels_on_the_line_lie_below_the_known_ones_and_near(k, potential, ends, exact):
    place = ends[0] if math.isfinite(ends[0]) else 0.0
    found = levels_on_line(k, potential, ends, place, 3 * exact[2], 3)
    assert (found <= exact).all()
    assert (found > 0.98 * np.array(exact)).all()


def test_a_step_function_lies_below_every_convex_function_with_the_same_values():
    generator = np.random.default_rng(3)
    for _ in range(20):
        slopes, heights = generator.normal(size=6), generator.normal(size=6)

        def function(x, slopes=slopes, heights=heights):
            return (np.multiply.outer(x, slopes) + heights).max(axis=-1)

        grid = np.sort(generator.uniform(-2, 2, 12))
        x = np.linspace(grid[0], grid[-1], 2000)[1:-1]
        steps = steps_below(function(grid), grid)[np.searchsorted(grid, x) - 1]
        assert (steps <= function(x) + 1e-12).all()


def test_levels_of_independent_coordinates_lie_below_those_of_correlated_ones():
    """On the line −u″ + |x|u has its levels at the zeros of Ai′ and Ai, so on R² with κ = ½ those times ½^⅓ add up."""
    potential = Potential((Curve(absolute=1.0),) * 2, np.zeros((2, 2)))
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    domain = Domain(A, potential, np.full(2, -np.inf), np.full(2, np.inf))
    assert [line.k for line in domain.independent()] == pytest.approx([0.5, 0.5])
    axes = tuple(Axis(np.array([-9.0, 0.0, 9.0]), 16) for _ in range(2))
    lowest, c = Tensor(axes, A, potential).ground_state()
    found, proof = proved_bound(domain, axes, c)
    assert lowest * (1 - 1e-3) < found <= lowest
    assert "independent coordinates" in proof


def test_a_coupled_loss_is_compared_with_its_diagonal():
    weight = np.array([[2.0, 0.5], [0.5, 1.0]])
    domain = Domain(np.eye(2), Potential.of(Loss(weight), np.eye(2)), np.full(2, -np.inf), np.full(2, np.inf))
    share = domain.independent()[0].curve.square / 2.0
    assert np.linalg.eigvalsh(weight - share * np.diag([2.0, 1.0]))[0] == pytest.approx(0, abs=1e-8)


def test_four_closely_correlated_answers_have_a_wide_gap_and_say_how_it_is_known():
    K = np.full((4, 4), 0.6) + 0.4 * np.eye(4)
    certificate = ef.design(ef.Box([0] * 4, [1] * 4), sensitivity=K).certificate
    assert certificate.lower_bound == pytest.approx(0.4 * 16 * math.pi**2, rel=1e-6)
    assert certificate.method.endswith("lower bound by independent coordinates")
