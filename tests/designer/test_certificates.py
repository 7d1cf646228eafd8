"""Lower bounds are lower bounds: against exact values, finer values, and eigenvalues known in closed form."""

import math

import mpmath
import numpy as np
import pytest

import errorfloor as ef
from errorfloor.designer.finite_elements import ground_state as elements
from errorfloor.designer.flux import Flux, bound, bound_by_gap
from errorfloor.designer.lower_bound import Domain, _above_level, _levels_below, on_the_box, on_the_line
from errorfloor.designer.one_axis import Line
from errorfloor.designer.potential import Curve, Potential, least_on_box
from errorfloor.designer.second_level import convex_gap, second_level
from errorfloor.designer.solvers import solve
from errorfloor.designer.tensor import Tensor
from errorfloor.noise import Loss, RaisedCosine
from errorfloor.noise.spectral_axis import Axis


def square(r):
    return np.array([[1.0, r], [r, 1.0]])


@pytest.mark.parametrize("degree", [4, 6, 8, 12])
def test_a_coarse_state_has_a_lower_bound_below_the_exact_value(degree):
    """A poor state gives a poor bound, never a wrong one."""
    line = Line(4.0, Curve(square=200.0), -1.0, 0.7)
    exact = line.ground_state()[1]
    axis, value, c = line.ground_state(np.array([-1.0, 0.7]), degree)
    found = on_the_line(line, axis, c)
    assert value > exact
    assert found is None or found < exact


@pytest.mark.parametrize("r", [0.3, 0.8])
@pytest.mark.parametrize("degree", [8, 14, 24])
def test_bounds_on_the_square_bracket_the_optimum(r, degree):
    optimum = solve(ef.Box([0, 0], [1, 1]), square(r), certify=False).value
    axes = (Axis(np.array([0.0, 1.0]), degree),) * 2
    domain = Domain(4 * square(r), Potential.none(2), np.zeros(2), np.ones(2))
    value, c = Tensor(axes, domain.A, domain.potential).ground_state()
    found, words = on_the_box(domain, axes, c)
    assert found < optimum <= value * (1 + 1e-12)
    assert found > 0.9 * optimum
    assert words


def test_any_trial_function_gives_a_valid_bound():
    """Lehmann and Goerisch hold for states that are nowhere near the ground, if the second level is known."""
    axes = (Axis(np.array([0.0, 1.0]), 10),) * 2
    A, exact, second = 4 * np.eye(2), 8 * math.pi**2, 20 * math.pi**2
    generator = np.random.default_rng(2)
    _, ground = Tensor(axes, A, Potential.none(2)).ground_state()
    flux = Flux(axes, A, Potential.none(2), ((False, False),) * 2)
    for size in (0.0, 0.01, 0.1, 0.3):
        c = ground / np.abs(ground).max() + size * generator.normal(size=ground.shape) * 0.1
        quotient, beta, _ = flux.quotients(c)
        assert quotient >= exact * (1 - 1e-12)
        if quotient < second:
            assert bound(quotient, beta, second) <= exact * (1 + 1e-11)
            sharpened = bound_by_gap(quotient, beta, 12 * math.pi**2, 0.5 * exact)
            assert sharpened is None or sharpened <= exact * (1 + 1e-11)


def test_the_flux_is_exact_for_an_exact_state():
    axes = (Axis(np.array([0.0, 1.0]), 20),) * 2
    A = np.diag([4.0, 8.0])
    _, c = Tensor(axes, A, Potential.none(2)).ground_state()
    quotient, beta, _ = Flux(axes, A, Potential.none(2), ((False, False),) * 2).quotients(c)
    assert quotient == pytest.approx(12 * math.pi**2, rel=1e-12)
    assert quotient * beta == pytest.approx(1, abs=1e-11)


def test_counting_zeros_places_the_second_level():
    for k, curve, low, high, exact in [
        (1.0, Curve(), 0.0, 1.0, 4 * math.pi**2),
        (4.0, Curve(square=1.0), -math.inf, math.inf, 6.0),
        (4.0, Curve(square=1.0), 0.0, math.inf, 14.0),
    ]:
        line = Line(k, curve, low, high)
        axis, first, _ = line.ground_state()
        ends = float(axis.breaks[0]), float(axis.breaks[-1])
        level = second_level(line, *ends, first, exact)
        assert first < level <= exact
        # asked to prove more than is true, it proves something true or nothing
        bold = second_level(line, *ends, first, 3 * exact)
        assert bold is None or bold <= exact


def test_the_gap_of_convex_problems_is_never_overstated():
    assert convex_gap(np.eye(1), Potential.none(1), np.zeros(1), np.ones(1)) == pytest.approx(3 * math.pi**2)
    flat = convex_gap(np.diag([4.0, 4.0]), Potential.none(2), np.zeros(2), np.array([1.0, 2.0]))
    assert flat < 4 * math.pi**2 * (4 / 4 - 1 / 4) + 1e-9  # the true gap along the longer side
    weight = np.array([[2.0, 0.5], [0.5, 1.0]])
    oscillator = Potential.of(ef.noise.Loss(weight), np.eye(2))
    free = convex_gap(np.eye(2), oscillator, np.full(2, -math.inf), np.full(2, math.inf))
    assert free == pytest.approx(2 * math.sqrt(np.linalg.eigvalsh(weight)[0]))


def test_no_lower_bound_is_said_not_to_be_proved():
    noise = ef.design(ef.Reals(4), loss=lambda w: (w**4).sum(axis=-1), loss_weight=1.0)
    assert noise.certificate.lower_bound is None
    assert noise.certificate.gap is None
    assert "no lower bound is proved" in noise.certificate.explain()


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


@pytest.mark.parametrize("support", [ef.Reals(2), ef.Orthant(2), ef.Reals(3), ef.Orthant(3), ef.Reals(4)])
def test_absolute_losses_of_correlated_answers_are_certified_closely(support):
    m = support.dimension
    K = np.eye(m) / 2 + 0.5
    certificate = ef.design(support, sensitivity=K, loss="absolute", loss_weight=2.0).certificate
    assert certificate.gap < {2: 1e-6, 3: 1e-4, 4: 5e-3}[m]
    # independent noise is one of those that the bound is for
    alone = ef.design(support, loss="absolute", loss_weight=2.0)
    cost = float(np.trace(K @ alone.information)) + 2 * alone.expected_loss("absolute")
    assert certificate.lower_bound < cost
    if m == 2:
        other = elements(support, K, Loss.parse("absolute", 2), 2.0, tolerance=1e-6, certify=False).value
        assert certificate.lower_bound <= other == pytest.approx(certificate.value, rel=1e-5)


def test_levels_of_independent_coordinates_lie_below_those_of_correlated_ones():
    """On the line −u″ + |x|u has its levels at the zeros of Ai′ and Ai, so on R² with κ = ½ those times ½^⅓ add up."""
    potential = Potential((Curve(absolute=1.0),) * 2, np.zeros((2, 2)))
    A = np.array([[1.0, 0.5], [0.5, 1.0]])
    domain = Domain(A, potential, np.full(2, -np.inf), np.full(2, np.inf))
    first, second = _levels_below(domain)
    slope, zero = 1.0187929716, 2.3381074104
    assert first == pytest.approx(0.5 ** (1 / 3) * 2 * slope, rel=1e-7)
    assert 0.98 * 0.5 ** (1 / 3) * (slope + zero) < second <= 0.5 ** (1 / 3) * (slope + zero)
    axes = tuple(Axis(np.array([-9.0, 0.0, 9.0]), 16) for _ in range(2))
    lowest, c = Tensor(axes, A, potential).ground_state()
    assert first < lowest < second
    found, quotient = _above_level(domain, axes, c, second)
    assert quotient == pytest.approx(lowest, rel=1e-9)
    assert lowest * (1 - 1e-3) < found <= lowest
    assert _above_level(domain, axes, c, lowest * 0.9) is None


def test_answers_too_closely_correlated_fall_back_on_what_holds():
    K = np.full((4, 4), 0.9) + 0.1 * np.eye(4)
    certificate = ef.design(ef.Orthant(4), sensitivity=K, loss="absolute", loss_weight=2.0).certificate
    alone = ef.design(ef.Orthant(4), sensitivity=0.1 * np.eye(4), loss="absolute", loss_weight=2.0).certificate
    assert alone.value * (1 - 1e-6) <= certificate.lower_bound < certificate.value


def test_a_given_loss_with_a_narrow_valley_is_not_bounded_above_what_a_noise_costs():
    """Its least place falls between the nodes of a coarse grid."""

    def valley(w):
        return np.sqrt(0.05**2 + (w - 0.05) ** 2).sum(axis=-1)

    K, weight = 0.7 * np.eye(4) + 0.3, 1e6
    found = ef.design(ef.Box([-1] * 4, [1] * 4), sensitivity=K, loss=valley, loss_weight=weight).certificate
    side = RaisedCosine(0.015, 0.085)  # four independent coordinates with a noise that fits the valley
    mean = side.expected_loss(lambda w: np.sqrt(0.05**2 + (w - 0.05) ** 2))
    assert found.lower_bound <= 4 * float(side.information[0, 0]) + weight * 4 * mean


@pytest.mark.parametrize("support", [ef.Interval(-1, 1), ef.Box([-1, -1], [1, 1]), ef.Ball(4, 1.0)])
def test_a_loss_below_zero_only_moves_value_and_bound(support):
    m = support.dimension
    plain = ef.design(support, loss_weight=20.0).certificate
    moved = ef.design(
        support, loss=lambda w: np.asarray(w) ** 2 - 10 if m == 1 else (w**2).sum(axis=-1) - 10, loss_weight=20.0
    )
    certificate = moved.certificate
    assert certificate.value == pytest.approx(plain.value - 200, rel=1e-3)
    assert certificate.lower_bound <= (plain.value - 200) + 1e-6
    assert certificate.lower_bound < certificate.value + 1e-9


def test_convex_functions_are_nowhere_below_what_is_proved_of_them():
    generator = np.random.default_rng(3)
    for _ in range(20):
        slopes, heights = generator.normal(size=(6, 3)), generator.normal(size=6)
        low, high = np.full(3, -1.0), generator.uniform(0.5, 2.0, 3)

        def function(x, slopes=slopes, heights=heights):
            return (x @ slopes.T + heights).max(axis=-1)

        points = generator.uniform(low, high, size=(4000, 3))
        least = least_on_box(function, low, high)
        assert least <= function(points).min()
        assert function(points).min() - least < 2.0


def test_a_kink_beside_the_end_of_a_piece_is_seen():
    """The window's middle is a break, and a kink lies just beside it."""

    def flat(w):
        return np.maximum(np.abs(w - 0.3), 1e-3)

    found = ef.design(ef.Reals(1), loss=flat, loss_weight=1.0)
    fine = np.linspace(-12, 12.6, 400_001)
    density = found.pdf(fine)
    mean = float(np.trapezoid(flat(fine) * density, fine))
    assert found.certificate.loss == pytest.approx(mean, rel=1e-9)


def test_bounds_of_nearly_dependent_answers_allow_for_rounding():
    r, s = 1 - 1e-11, 7.0
    K = np.array([[1.0, r * s], [r * s, s**2]])
    R = np.array([[s**2, -r * s], [-r * s, 1.0]]) / (1 - r)
    with mpmath.workdps(50):
        product = mpmath.matrix(K.tolist()) * mpmath.matrix(R.tolist())
        truth = float(2 * mpmath.sqrt(product[0, 0] + product[1, 1] + 2 * mpmath.sqrt(mpmath.det(product))))
    found = elements(ef.Reals(2), K, Loss.parse(R, 2), 1.0, tolerance=1e-6)
    assert found.lower_bound <= truth
