"""Computed noise is a law like any other: its density, information, moments and draws belong to each other."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import kstest

import errorfloor as ef
import errorfloor.noise
from errorfloor.errors import InputError
from errorfloor.noise import Spectral
from errorfloor.noise.sampling import Alias, Staircase, chebyshev_grid, scaled
from errorfloor.random import ReproducibleBits, RowBits

FALSE_ALARM = 1e-10


def rough(seed=3, breaks=(0.0, 1.0, 1.5), degree=6):
    """A density that nobody designed: coefficients drawn at random around a bump."""
    size = (len(breaks) - 1) * degree - 1
    c = 0.3 * np.random.default_rng(seed).normal(size=size)
    c[0] += 2.0
    return Spectral((breaks,), (degree,), c)


def rough_box(seed=4, m=2):
    sizes = (9, 4, 3)[:m]
    c = 0.1 * np.random.default_rng(seed).normal(size=tuple(n - 1 for n in sizes))
    c.flat[0] += 1.0
    return Spectral(([0.0, 1.0], [-1.0, 2.0], [0.0, 0.5])[:m], sizes, c)


@pytest.mark.parametrize("noise", [rough(), rough(5, (-2.0, 1.0), 12)])
def test_one_coordinate_agrees_with_quadrature_of_its_density(noise):
    cuts = list(noise.breaks[0])

    def integral(function):
        pieces = itertools.pairwise(cuts)
        return sum(quad(lambda w: float(function(w)), a, b, epsabs=1e-13, limit=200)[0] for a, b in pieces)

    assert integral(noise.pdf) == pytest.approx(1, abs=1e-10)
    assert noise.mean[0] == pytest.approx(integral(lambda w: w * noise.pdf(w)), abs=1e-9)
    mean = float(noise.mean[0])
    assert noise.covariance[0, 0] == pytest.approx(integral(lambda w: (w - mean) ** 2 * noise.pdf(w)), rel=1e-8)
    information = integral(lambda w: noise.score(w) ** 2 * noise.pdf(w) if noise.pdf(w) > 1e-14 else 0.0)
    assert noise.information[0, 0] == pytest.approx(information, rel=1e-6)
    assert noise.expected_loss("absolute") == pytest.approx(integral(lambda w: abs(w) * noise.pdf(w)), rel=1e-7)
    entropy = -integral(lambda w: noise.pdf(w) * noise.logpdf(w) if noise.pdf(w) > 0 else 0.0)
    assert noise.entropy == pytest.approx(entropy, rel=1e-5)
    middle = cuts[0] + 0.4 * (cuts[-1] - cuts[0])
    assert noise.cdf(middle) == pytest.approx(
        quad(noise.pdf, cuts[0], middle, points=[c for c in cuts[1:-1] if c < middle])[0], abs=1e-9
    )
    q = np.array([0.0, 0.01, 0.5, 0.99, 1.0])
    assert np.allclose(noise.cdf(noise.icdf(q)), q, atol=1e-12)


def test_two_coordinates_agree_with_quadrature_of_their_density():
    noise = rough_box()

    def integral(function):
        return dblquad(lambda y, x: float(function(np.array([x, y]))), 0, 1, -1, 2, epsabs=1e-9)[0]

    assert integral(noise.pdf) == pytest.approx(1, abs=1e-7)
    assert noise.covariance[0, 1] == pytest.approx(
        integral(lambda w: (w[0] - noise.mean[0]) * (w[1] - noise.mean[1]) * noise.pdf(w)), abs=1e-7
    )
    assert noise.expected_loss("absolute") == pytest.approx(
        integral(lambda w: np.abs(w).sum() * noise.pdf(w)), rel=1e-5
    )


def test_information_of_a_vector_is_the_mean_square_of_its_score():
    noise = rough_box(m=3)
    nodes = [0.5 * (np.polynomial.legendre.leggauss(24)[0] + 1) * (b[-1] - b[0]) + b[0] for b in noise.breaks]
    weights = [0.5 * np.polynomial.legendre.leggauss(24)[1] * (b[-1] - b[0]) for b in noise.breaks]
    points = np.stack(np.meshgrid(*nodes, indexing="ij"), axis=-1).reshape(-1, 3)
    w = np.einsum("i,j,k->ijk", *weights).ravel()
    # 4∇u∇uᵀ = (score·u)(score·u)ᵀ is a polynomial, which the rule integrates exactly
    slope = noise.score(points) * np.sqrt(noise.pdf(points))[:, None]
    assert np.allclose(noise.information, np.einsum("p,pi,pj->ij", w, slope, slope), rtol=1e-9)


@pytest.mark.parametrize("noise", [rough(), rough(5, (-2.0, 1.0), 12), rough(6, (0.0, 1e-3, 5.0), 4)])
def test_draws_follow_the_cdf(noise):
    assert kstest(noise.sample(40_000, rng=2), noise.cdf).pvalue > FALSE_ALARM
    drawn = noise.sample(100_000, rng=3)
    assert noise.support.contains(drawn).all()


def test_draws_of_a_vector_follow_every_marginal():
    noise = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.9], [0.9, 1.0]])
    drawn = noise.sample(40_000, rng=5)
    assert noise.support.contains(drawn).all()
    for i in range(2):
        share, axis = noise.marginal(i), noise.axes[i]
        nodes, weights = np.polynomial.legendre.leggauss(200)

        def cdf(x, axis=axis, share=share, nodes=nodes, weights=weights):
            values = axis.values(np.outer(x, (nodes + 1) / 2).ravel())
            return ((values @ share) * values).sum(axis=1).reshape(len(x), -1) @ weights * x / 2

        grid = np.linspace(0, 1, 400)
        assert kstest(drawn[:, i], lambda x, cdf=cdf, grid=grid: np.interp(x, grid, cdf(grid))).pvalue > FALSE_ALARM
    # five standard errors of a product of two bounded numbers, and then some
    spread = 8 * 0.25 / math.sqrt(len(drawn))
    assert abs(np.cov(drawn.T)[0, 1] - noise.covariance[0, 1]) < spread


def test_the_staircase_lies_above_the_density_everywhere_and_below_it_below():
    noise = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.95], [0.95, 1.0]])
    staircase = Staircase.over(noise.axes, noise._unit)
    w, above, below = staircase.draw(ReproducibleBits(8), 20_000)
    u = np.sqrt(noise.pdf(w))
    assert (u <= above).all()
    assert (u >= below * (1 - 1e-12)).all()
    assert (below > 0).mean() > 0.5  # most draws are decided without evaluating u


def test_a_polynomial_is_bounded_by_its_values_on_the_grid():
    generator = np.random.default_rng(1)
    x = np.linspace(-1, 1, 20_001)
    for degree in (3, 10, 31):
        nodes, excess = chebyshev_grid(degree, 2)
        for _ in range(20):
            p = np.polynomial.Chebyshev(generator.normal(size=degree + 1))
            assert np.abs(p(x)).max() <= excess * np.abs(p(nodes)).max()


def test_the_alias_table_gives_every_index_its_share():
    weights = np.array([0.5, 3.0, 0.0, 1.5, 5.0])
    table = Alias.of(weights)
    own = table.threshold / len(weights)
    total = own + np.bincount(table.other, (1 - table.threshold) / len(weights), minlength=len(weights))
    assert np.allclose(total, weights / weights.sum(), atol=1e-15)
    assert scaled(np.array([2**64 - 1], dtype=np.uint64), 1000)[0] == 999


def test_rows_of_a_table_keep_their_draws_whatever_the_batch():
    noise = ef.design(ef.Interval(-1, 1), max_loss=0.05)
    tags = np.arange(400, dtype="<u8").reshape(-1, 2)
    together = noise.sample(200, rng=RowBits(bytes(32), tags))
    apart = np.concatenate([noise.sample(50, rng=RowBits(bytes(32), part)) for part in np.split(tags, 4)])
    assert np.array_equal(together, apart)


@pytest.mark.parametrize(
    "problem",
    [
        lambda: ef.design(ef.Interval(-1, 1), max_loss=0.05),
        lambda: ef.design(ef.HalfLine(1.0), max_loss=3.0),
        lambda: ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.5], [0.5, 1.0]]),
        lambda: rough(),
    ],
)
def test_computed_noise_survives_json(problem):
    noise = problem()
    again = errorfloor.noise.from_dict(json.loads(json.dumps(noise.to_dict())))
    assert again == noise
    assert again.support == noise.support
    assert again.certificate == noise.certificate
    assert np.array_equal(again.sample(100, rng=1), noise.sample(100, rng=1))
    assert np.array_equal(again.covariance, noise.covariance)


def test_floors_and_privacy_curves_take_computed_noise():
    noise = ef.design(ef.Interval(-1, 1), max_loss=0.05)
    assert ef.floor(noise, [[1.0]], ranges=(0, 5)).any_estimator[0] > 0.1
    box = ef.design(ef.Box([0, 0], [1, 1]), sensitivity=[[1.0, 0.5], [0.5, 1.0]])
    assert ef.floor(box, np.eye(2)).total ** 2 == pytest.approx(np.trace(np.linalg.inv(box.information)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Spectral(([0.0, 1.0],), (1,), [1.0]), "degree must be a whole number of at least 2"),
        (lambda: Spectral(([1.0, 0.0],), (3,), [1.0, 1.0]), "breaks must rise"),
        (lambda: Spectral(([0.0, 1.0],), (3,), [1.0]), r"coefficients must have the shape \(2,\), got \(1,\)"),
        (lambda: Spectral(([0.0, 1.0],), (3,), [0.0, 0.0]), "not all zero"),
        (lambda: Spectral(([0.0, 1.0],), (3, 3), [1.0, 1.0]), "must be as many"),
        (lambda: Spectral(([0.0, 1.0],), (2,), [1.0], "box"), "region must be a support, got str"),
    ],
)
def test_what_is_no_noise_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
