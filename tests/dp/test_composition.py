"""Many answers: upper bounds that come close, against formulas, nested quadrature and convolutions made here."""

import math
import sys

import numpy as np
import pytest
from scipy.signal import fftconvolve

from errorfloor import dp
from errorfloor.errors import InputError, MissingExtraError, NoClosedFormError
from errorfloor.noise import (
    Airy,
    BesselBall,
    Gaussian,
    Laplace,
    Maxwell,
    Product,
    RaisedCosine,
    TruncatedGaussian,
    TruncatedLaplace,
    Uniform,
)
from nested_quadrature import delta_of_product

LEVELS = np.array([0.0, 0.1, 0.35137, 1.0, 2.71, 8.0, math.inf])
ROUNDING = 2e-12


@pytest.mark.parametrize(
    ("noise", "sensitivity"),
    [
        (RaisedCosine(-0.5, 0.5), 0.1),
        (RaisedCosine(-0.5, 0.5), 1e-3),
        (Airy(2.0), 0.3),
        (Maxwell(1.0), 0.2),
        (TruncatedLaplace(1.0, low=-2, high=3), 0.2),
        (TruncatedGaussian(1.0, low=-2, high=3), 0.4),
        (Uniform(low=0, high=1), 0.1),
        (Gaussian(4.0), 0.5),
        (Laplace(2.0), 0.5),
    ],
)
def test_one_answer_is_its_own_curve_from_above(noise, sensitivity):
    exact = dp.delta(noise, sensitivity, LEVELS)
    bound = dp.compose((noise, sensitivity, 1)).delta(LEVELS)
    assert (bound >= exact).all()
    assert (bound <= exact + 2e-7).all()


@pytest.mark.parametrize(("sensitivity", "count"), [(1.0, 4), (0.1, 100), (0.01, 10_000)])
def test_many_gaussian_answers_are_one_with_a_smaller_deviation(sensitivity, count):
    exact = dp.delta(Gaussian(1.0 / count), sensitivity, LEVELS)
    bound = dp.compose((Gaussian(1.0), sensitivity, count)).delta(LEVELS)
    assert (bound >= exact).all()
    assert bound == pytest.approx(exact, rel=5e-4, abs=2e-5)


def test_different_gaussian_answers_add_their_squares():
    bound = dp.compose((Gaussian(1.0), 0.3, 4), (Gaussian(4.0), 1.6, 1)).delta(LEVELS)
    exact = dp.delta(Gaussian(1.0), 1.0, LEVELS)
    assert (bound >= exact).all()
    assert bound == pytest.approx(exact, abs=1e-5)


def test_two_raised_cosine_answers_agree_with_nested_quadrature():
    pair = Product((RaisedCosine(0, 1), RaisedCosine(0, 1)))
    exact = delta_of_product(pair, [[0.1, 0.1]], LEVELS)
    bound = dp.compose((RaisedCosine(0, 1), 0.1, 2)).delta(LEVELS)
    assert (bound >= exact - ROUNDING).all()
    assert bound == pytest.approx(exact, abs=3e-7)


def losses_rounded(share, count, step, rounding):
    """δ at ``LEVELS`` from ``count`` raised cosines of width 1: losses rounded to a grid, convolved one by one."""
    cells = 200_000
    edges = np.linspace(0, 1, cells + 1)
    masses = np.diff(edges - np.sin(2 * np.pi * edges) / (2 * np.pi))
    # a cell's greatest loss is at its lower end, its least at its upper one
    ends = edges[:-1] if rounding is np.ceil else edges[1:]
    beyond = ends <= share
    with np.errstate(divide="ignore"):
        loss = 2 * np.log(np.sin(np.pi * ends) / np.abs(np.sin(np.pi * (ends - share))))
    loss = np.clip(loss, -30.0, 30.0) if rounding is np.ceil else np.clip(loss, -60.0, 30.0)
    if rounding is np.ceil:
        beyond |= loss >= 30.0
    index = rounding(loss[~beyond] / step).astype(int)
    least = index.min()
    one = np.bincount(index - least, weights=masses[~beyond])
    total = one
    for _ in range(count - 1):
        total = fftconvolve(total, one)
    grid = (np.arange(total.size) + count * least) * step
    certain = 1 - (1 - masses[beyond].sum()) ** count
    return np.array(
        [certain + float(total @ -np.expm1(np.minimum(level - grid, 0.0))) for level in LEVELS[:-1]] + [certain]
    )


def test_eight_raised_cosine_answers_lie_between_losses_rounded_down_and_up():
    bound = dp.compose((RaisedCosine(-0.5, 0.5), 0.1, 8)).delta(LEVELS)
    low = losses_rounded(0.1, 8, 1e-3, np.floor)
    high = losses_rounded(0.1, 8, 1e-3, np.ceil)
    assert (bound >= low - ROUNDING).all()
    assert (bound <= high + ROUNDING).all()
    assert (high - low < 0.01).all()


def test_noise_with_two_different_sides_is_bounded_for_every_pattern_of_signs():
    pair = Product((Maxwell(1.0), Maxwell(1.0)))
    bound = dp.compose((Maxwell(1.0), 0.3, 2)).delta(LEVELS)
    for pattern in ([0.3, 0.3], [0.3, -0.3]):
        assert (bound >= delta_of_product(pair, pattern, LEVELS) - ROUNDING).all()


def test_laplace_answers_are_purely_private_at_the_sum():
    together = dp.compose((Laplace(2.0), 1.0, 3), (Laplace(1.0), 0.25, 2))
    assert together.epsilon(0.0) == together.largest_loss == 2.0
    assert together.delta(2.0) == 0.0
    assert together.delta(1.9) > 0.0


def test_every_row_of_product_noise_is_bounded():
    noise = Product((RaisedCosine(0, 1), RaisedCosine(0, 2)))
    rows = [[0.1, 0.0], [0.0, 0.3], [0.1, 0.1]]
    exact = delta_of_product(noise, rows, LEVELS)
    bound = dp.compose((noise, rows, 1)).delta(LEVELS)
    assert (bound >= exact - ROUNDING).all()
    assert bound == pytest.approx(exact, abs=1e-6)


def test_product_noise_in_many_dimensions_is_the_composition_of_its_coordinates():
    noise = Product((RaisedCosine(0, 1),) * 5)
    with pytest.raises(NoClosedFormError, match="5 coordinates of independent noise move at once"):
        dp.delta(noise, [0.1] * 5, 1.0)
    at_once = dp.compose((noise, [0.1] * 5, 1)).delta(LEVELS)
    one_by_one = dp.compose((RaisedCosine(0, 1), 0.1, 5)).delta(LEVELS)
    assert at_once == pytest.approx(one_by_one, abs=1e-9)


def test_certain_losses_stay_certain():
    assert dp.compose((Uniform(low=0, high=1), 1.0, 3)).delta(LEVELS).tolist() == [1.0] * len(LEVELS)
    assert dp.compose((Uniform(low=0, high=1), 1.0, 3), (Laplace(1.0), 1.0, 2)).epsilon(0.5) == math.inf


def test_composed_epsilon_is_rounded_up_and_inverts_delta():
    together = dp.compose((RaisedCosine(-0.5, 0.5), 0.01, 20), (Gaussian(1.0), 0.1, 3))
    for target in (1e-3, 0.02):
        level = together.epsilon(target)
        assert together.delta(level) <= target
        assert together.delta(level * (1 - 1e-6)) > target
    assert together.epsilon(1e-6) == math.inf
    assert together.epsilon(1.0) == 0.0


def test_a_finer_step_gives_a_sharper_bound():
    coarse = dp.compose((Airy(1.0), 0.5, 4), step=0.1).delta([0.33, 1.27])
    fine = dp.compose((Airy(1.0), 0.5, 4), step=1e-3).delta([0.33, 1.27])
    assert (fine < coarse).all()
    assert fine == pytest.approx(coarse, abs=0.01)


def test_composition_without_the_accountant_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "dp_accounting.pld", None)
    with pytest.raises(MissingExtraError, match=r"needs dp-accounting.*pip install 'errorfloor\[dp\]'"):
        dp.compose((Laplace(1.0), 1.0, 1))


def test_what_cannot_be_composed_is_refused():
    with pytest.raises(InputError, match=r"at least one answer \(noise, sensitivity, count\)"):
        dp.compose()
    with pytest.raises(InputError, match=r"an answer must be a tuple \(noise, sensitivity, count\), got \(Laplace"):
        dp.compose((Laplace(1.0), 1.0))
    with pytest.raises(InputError, match="count must be a whole number of at least 1, got 0"):
        dp.compose((Laplace(1.0), 1.0, 0))
    with pytest.raises(InputError, match=r"step must be positive, got -0\.1"):
        dp.compose((Laplace(1.0), 1.0, 1), step=-0.1)
    with pytest.raises(NoClosedFormError, match="noise in a ball cannot be composed"):
        dp.compose((BesselBall(2, 1.0), [0.1, 0.0], 2))
    together = dp.compose((Laplace(1.0), 1.0, 1))
    with pytest.raises(InputError, match="epsilon must be at least 0, and may be infinite, got -1"):
        together.delta(-1)
    with pytest.raises(InputError, match=r"delta must lie between 0 and 1, got 1\.5"):
        together.epsilon(1.5)
