"""Estimators that exploit jumps and atoms, and the picture of how fast they find the truth."""

import numpy as np
import pytest
from benchmarks.repeated_draws import average, midrange
from benchmarks.slope_pictures import Decline, late, slopes, told
from benchmarks.slopes import COUNTS, decline, floor, from_atoms, within

from errorfloor.noise import Laplace, RaisedCosine, TruncatedLaplace, Uniform


def test_a_guess_is_moved_to_where_no_draw_lies_beyond_the_bound():
    draws = np.array([[-0.9, 0.95, 0.8], [-0.2, 0.1, 0.3]])
    assert within(draws, np.array([0.8, 0.1])).tolist() == pytest.approx([0.1, 0.1])
    assert within(draws, np.array([-0.8, -0.9])).tolist() == pytest.approx([-0.05, -0.7])


def test_likelihood_of_truncated_laplace_is_greatest_where_the_estimator_says():
    noise = TruncatedLaplace(0.6, low=-1.0, high=1.0)
    draws = 0.3 + noise.sample((20, 31), rng=1)
    places = np.linspace(-0.7, 1.3, 20_001)
    found = within(draws, np.median(draws, axis=1))
    for row, place in zip(draws, found, strict=True):
        likelihood = noise.logpdf(row[:, None] - places).sum(axis=0)
        assert noise.logpdf(row - place + 1e-12 * np.sign(place - row)).sum() >= likelihood.max() - 1e-9


def test_an_end_that_is_hit_twice_gives_the_truth_exactly():
    draws = 0.25 + np.clip(Laplace(0.7).sample((2000, 60), rng=2), -1, 1)
    assert np.mean(from_atoms(draws) == 0.25) > 0.99


def test_errors_fall_at_the_rates_of_extremes_and_of_means():
    uniform = Uniform(low=-1.0, high=1.0).sample(600_000, rng=3)
    assert late(decline("uniform", uniform, midrange)).slope == pytest.approx(-1, abs=0.15)
    assert late(decline("uniform", uniform, average)).slope == pytest.approx(-0.5, abs=0.15)
    assert floor(RaisedCosine(-1, 1), 100) == pytest.approx(1 / (10 * np.pi))


def test_picture_names_the_slope_of_every_line():
    fast = Decline("uniform", COUNTS, tuple(1.0 / k for k in COUNTS))
    exact = Decline("clamped", COUNTS, (0.1,) + (0.0,) * (len(COUNTS) - 1))
    figure = slopes({"midrange": [fast, exact]}, floor=0.3)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert labels == ["uniform: −1.00", "clamped: exact from 30 on", "floor, raised cosine: −0.50"]
    assert told(late(fast)) == "−1.00"
