"""Draws have the density that is stated, and never leave the support."""

import math

import numpy as np
import pytest
from scipy.stats import chi2

from errorfloor.noise.ball_polynomials import combination
from errorfloor.noise.sampling import BallSampler, Sampler, curvature_bound
from errorfloor.random import RowBits

FALSE_ALARM = 1e-9


def test_a_million_draws_stay_strictly_inside_an_l_shape(designs):
    w = designs["L-shape"].noise.sample(1_000_000, rng=11)
    x, y = w.T
    assert ((x > 0) & (y > 0) & (x < 2) & (y < 2)).all()
    assert ((x < 1) | (y < 1)).all()


def test_a_million_draws_stay_strictly_inside_an_ellipse(designs):
    w = designs["ellipse"].noise.sample(1_000_000, rng=12)
    a, b = (w - [1.0, 2.0]).T
    assert (a**2 - 2 * a * b + 4 * b**2 < 3).all()  # (w − c)ᵀ shape⁻¹ (w − c) < 1


def test_draws_stay_in_the_support(design):
    drawn = design.noise.sample(50_000, rng=13)
    assert design.noise.support.contains(drawn).all()
    assert (design.noise.pdf(drawn) > 0).all()


def test_draws_next_to_the_edge_are_thrown_away_not_moved(designs):
    """A sampler whose every proposal is on a side of the support keeps none of them."""
    noise = designs["L-shape"].noise
    sampler = Sampler.of(noise.vertices, noise.cells, noise.degree, noise._local)
    cell, opposite = np.argwhere(sampler.keep_off > 0)[0]
    part = int(np.flatnonzero(sampler.cell == cell)[0])
    flat = np.linalg.solve(sampler.part[part].T, np.where(np.arange(3) == opposite, 0.0, 0.5))
    assert not sampler._judge(np.array([part]), flat[:, None], np.array([0.0]))[1].any()
    inside = np.linalg.solve(sampler.part[part].T, np.full(3, 1 / 3))
    assert sampler._judge(np.array([part]), inside[:, None], np.array([0.0]))[1].all()


def chi_square(counts, expected):
    """A false alarm happens with the stated chance."""
    statistic = ((counts - expected) ** 2 / expected).sum()
    return statistic < chi2.isf(FALSE_ALARM, len(counts) - 1)


@pytest.mark.parametrize("name", ["L-shape", "tetrahedron"])
def test_cells_are_hit_as_often_as_their_mass_says(designs, name):
    noise = designs[name].noise
    drawn = noise.sample(200_000, rng=14)
    cell, _ = noise._locator.find(drawn)
    from errorfloor.noise.simplices import mass_matrix

    form = np.einsum("ci,ij,cj->c", noise._local, mass_matrix(noise.dimension, noise.degree), noise._local)
    share = noise._volumes * form / noise._mass
    big = share > 1e-4
    counts = np.bincount(cell, minlength=len(share))
    groups = np.append(counts[big], counts[~big].sum())
    expected = 200_000 * np.append(share[big], share[~big].sum())
    assert share.sum() == pytest.approx(1, abs=1e-12)
    assert chi_square(groups[expected > 5], expected[expected > 5])


def test_the_inside_of_a_single_cell_is_hit_as_the_polynomial_says(designs):
    """The largest cell of the L-shape, cut into sixteen by its barycentric coordinates."""
    noise = designs["L-shape"].noise
    drawn = noise.sample(400_000, rng=15)
    cell, barycentric = noise._locator.find(drawn)
    largest = int(np.bincount(cell).argmax())
    inside = barycentric[cell == largest]
    bins = np.floor(inside * 4).astype(int).clip(0, 3) @ [16, 4, 1]
    from errorfloor.noise.simplices import evaluate

    fine = 400
    i, j = np.meshgrid(np.arange(fine), np.arange(fine))
    a, b = (i + 0.5)[i + j < fine - 1] / fine, (j + 0.5)[i + j < fine - 1] / fine
    grid = np.column_stack([a, b, 1 - a - b])
    value = evaluate(2, noise.degree, noise._local[largest], grid) ** 2
    masses = np.bincount(np.floor(grid * 4).astype(int).clip(0, 3) @ [16, 4, 1], value, minlength=64)
    counts = np.bincount(bins, minlength=64)
    used = masses > 0.01 * masses.sum()
    expected = masses[used] / masses[used].sum() * counts[used].sum()
    # the grid's own error in the masses, about one in fine, is far below the scatter of the counts
    assert abs(counts[used] - expected).max() < 8 * math.sqrt(expected.max()) + 0.01 * expected.max()


@pytest.mark.parametrize("name", ["ellipse", "ball"])
def test_shells_of_an_ellipsoid_are_hit_as_the_polynomial_says(designs, name):
    noise = designs[name].noise
    drawn = (noise.sample(200_000, rng=16) - noise.body.middle) @ noise._inverse.T
    radius = np.linalg.norm(drawn, axis=1)
    octant = (drawn > 0) @ (2 ** np.arange(noise.dimension))
    generator = np.random.default_rng(5)
    # masses by a second, unrelated integration: points uniform in the ball
    points = generator.normal(size=(400_000, noise.dimension))
    points *= (generator.random(400_000) ** (1 / noise.dimension) / np.linalg.norm(points, axis=1))[:, None]
    value = combination(noise.coefficients, np.ascontiguousarray(points.T), noise.degree)[0] ** 2
    shell = lambda r: np.floor(r * 5).astype(int)  # noqa: E731
    label = shell(np.linalg.norm(points, axis=1)) * 8 + (points > 0) @ (2 ** np.arange(noise.dimension))
    mass = np.bincount(label, value, minlength=48) / value.sum()
    spread = np.sqrt(np.bincount(label, value**2, minlength=48)) / value.sum()
    seen = np.bincount(shell(radius) * 8 + octant, minlength=48) / 200_000
    assert (abs(seen - mass) <= 6.5 * np.sqrt(spread**2 + mass / 200_000) + 1e-4).all()


def test_moments_of_draws_are_the_stated_ones(design):
    noise = design.noise
    n = 200_000
    drawn = noise.sample(n, rng=17)
    deviation = np.sqrt(np.diag(noise.covariance))
    assert (abs(drawn.mean(axis=0) - noise.mean) < 6.5 * deviation / math.sqrt(n)).all()
    assert np.cov(drawn.T) == pytest.approx(noise.covariance, abs=0.03 * deviation.max() ** 2)
    assert (drawn**2).sum(axis=1).mean() == pytest.approx(noise.expected_loss("squared"), rel=0.03)


def test_bounds_of_the_samplers_hold_everywhere(designs):
    noise = designs["L-shape"].noise
    sampler = noise._sampler
    generator = np.random.default_rng(8)
    weights = generator.dirichlet([0.5] * 3, size=(len(sampler.cell), 20))
    from errorfloor.noise.simplices import evaluate

    inner = np.einsum("pqi,pij->pqj", weights, sampler.part)
    value = evaluate(2, noise.degree, sampler.coefficients[sampler.cell][:, None], inner) ** 2
    assert (value <= sampler.upper[:, None]).all()
    assert (value >= sampler.lower[:, None]).all()
    ball = designs["ball"].noise
    boxes = BallSampler.of(ball.coefficients, 3, ball.degree, ball._mass)
    offset = generator.uniform(-1, 1, size=(len(boxes.center), 4, 3))
    points = (boxes.center[:, None] + offset * boxes.half[:, None]).reshape(-1, 3)
    value = combination(ball.coefficients, np.ascontiguousarray(points.T), ball.degree)[0] ** 2
    inside = np.linalg.norm(points, axis=1) <= 1
    assert (value[inside] <= np.repeat(boxes.upper, 4)[inside]).all()
    bound = curvature_bound(ball.coefficients, 3, ball.degree)
    jet = combination(ball.coefficients, np.ascontiguousarray(points[inside].T), ball.degree, 2)
    assert np.abs(jet[4:]).max() <= bound


def test_each_row_of_a_table_keeps_its_own_draw(design):
    tags = np.random.default_rng(4).integers(0, 2**63, size=(40, 2), dtype=np.uint64)
    together = design.noise._sample(40, RowBits(bytes(32), tags))
    apart = np.concatenate(
        [
            design.noise._sample(13, RowBits(bytes(32), tags[:13])),
            design.noise._sample(27, RowBits(bytes(32), tags[13:])),
        ]
    )
    assert (together == apart).all()
