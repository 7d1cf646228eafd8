"""At equal usefulness: the ratios of floors that the theory states, laws of the peers, and a page that is current."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest

from errorfloor import dp
from errorfloor.errors import InputError
from errorfloor.noise import Gaussian, Laplace, RaisedCosine, Uniform

SCRIPT = Path(__file__).parents[2] / "scripts" / "write_equal_usefulness.py"


@pytest.fixture(scope="module")
def script():
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.syspath_prepend(SCRIPT.parent)
    spec = importlib.util.spec_from_file_location("write_equal_usefulness", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    monkeypatch.undo()


@pytest.fixture(scope="module")
def both(script):
    return script.at_equal_mean_square(), script.at_equal_bound()


@pytest.fixture
def by_mean_square(both):
    return {name: row for (name, _), row in both[0].items()}


@pytest.fixture
def by_bound(both):
    return {name: row for (name, _), row in both[1].items()}


def test_every_row_holds_what_it_says_constant(by_mean_square, by_bound):
    assert all(row.size == pytest.approx(1, rel=1e-9) for row in by_mean_square.values())
    assert all(row.bound == pytest.approx(1, rel=1e-12) for row in by_bound.values())


def test_floors_at_one_mean_square_have_the_ratios_of_the_theory(by_mean_square):
    floors = {name: row.unbiased for name, row in by_mean_square.items()}
    assert floors["Gaussian"] == max(floors.values()) == pytest.approx(1)
    assert floors["Gaussian"] / floors["Laplace"] == pytest.approx(math.sqrt(2), rel=1e-12)
    assert floors["Gaussian"] / floors["raised cosine"] == pytest.approx(math.sqrt((math.pi**2 - 6) / 3), rel=1e-12)
    assert floors["Gaussian"] / floors["Maxwell, never negative"] == pytest.approx(3, rel=1e-12)  # I·E w² = 9
    assert floors["raised cosine"] < floors["computed for ±3"] < floors["Gaussian"]


def test_any_estimator_is_bound_in_the_same_order_and_below(by_mean_square):
    with_floor = [row for row in by_mean_square.values() if row.unbiased]
    ordered = sorted(with_floor, key=lambda row: row.unbiased)
    assert [row.any_estimator for row in ordered] == sorted(row.any_estimator for row in ordered)
    assert all(row.any_estimator < row.unbiased for row in with_floor)


@pytest.mark.parametrize("variance", [0.3, 1.0, 7.0])
def test_entropies_and_privacy_at_one_variance_have_their_formulas(script, variance):
    laplace, gaussian = script.compare(
        {"Laplace": Laplace(math.sqrt(variance / 2)), "Gaussian": Gaussian(variance)},
        distance=0.4,
        ranges=(0, 10),
        epsilons=[0.4 * math.sqrt(2 / variance)],
    )
    assert laplace.entropy == pytest.approx(math.log2(math.e * math.sqrt(2 * variance)), rel=1e-12)
    assert gaussian.entropy == pytest.approx(math.log2(math.sqrt(2 * math.pi * math.e * variance)), rel=1e-12)
    assert laplace.deltas[0] < 1e-15 < gaussian.deltas[0]  # s√(2/ϑ) is the ε of Laplace noise


def test_within_a_bound_the_raised_cosine_has_the_highest_floor_and_jumps_have_none(by_bound):
    assert by_bound["raised cosine"].unbiased == max(row.unbiased for row in by_bound.values())
    assert by_bound["raised cosine"].unbiased == pytest.approx(1 / math.pi, rel=1e-12)  # Δ/2π
    for name in ("uniform", "truncated Laplace", "truncated Gaussian", "clamped Laplace"):
        row = by_bound[name]
        assert (row.unbiased, row.any_estimator, row.promised) == (0, 0, 1)


def test_what_is_promised_is_never_less_than_what_the_best_test_attains(by_mean_square, by_bound):
    for row in (*by_mean_square.values(), *by_bound.values()):
        assert row.told_apart <= row.promised
        assert np.all(np.diff(row.deltas) <= 1e-12)


def test_bounded_noise_of_no_kind_is_purely_private(by_bound):
    assert all(row.deltas[-1] > 1e-5 for row in by_bound.values())
    share = 0.1 - math.sin(2 * math.pi * 0.1) / (2 * math.pi)  # s/Δ − sin(2πs/Δ)/2π
    assert by_bound["raised cosine"].deltas[-1] == pytest.approx(share, rel=1e-9)


def test_a_curve_found_cell_by_cell_agrees_with_the_exact_one(script):
    for noise in (RaisedCosine(-1, 1), Uniform(low=-1, high=1)):
        found = script.curve(np.diff(noise.cdf(script.cut(1.0, 0.2))), script.SHIFTS)
        assert found == pytest.approx(dp.delta(noise, 0.2, script.EPSILONS), abs=2e-5)


def test_clamped_laplace_is_the_law_of_clipped_draws(script):
    row, draws = script.clamped_laplace(3.0, 1.0, 0.5), np.random.default_rng(1).laplace(size=1_000_000)
    scales = np.array([0.70, 0.75, 0.80])
    b = np.interp(1.0, [np.mean(np.clip(scale * draws, -3, 3) ** 2) for scale in scales], scales)
    atoms = np.mean(np.abs(b * draws) >= 3)
    edge = np.mean((b * draws > -3) & (b * draws < -2.5))
    assert row.deltas[-1] == pytest.approx(atoms + edge, abs=2e-3)


def test_staircase_is_private_at_its_own_epsilon_and_not_below(script):
    row = script.staircase(1.0, 0.5)
    last = next(level for level, value in zip(row.epsilons, row.deltas, strict=True) if value < 1e-12)
    # steps of width γs and (1 − γ)s, each period e^(−ε) as high as the one before: drawn as such a mixture
    for epsilon in (last - 0.05, last):
        gamma, rng = 1 / (1 + math.exp(epsilon / 2)), np.random.default_rng(2)
        period = rng.geometric(-math.expm1(-epsilon), 1_000_000) - 1
        high = rng.random(period.size) < gamma / (gamma + (1 - gamma) * math.exp(-epsilon))
        inside = np.where(high, gamma * rng.random(period.size), gamma + (1 - gamma) * rng.random(period.size))
        size = 0.5 * math.sqrt(np.mean((period + inside) ** 2))
        assert (size > 1) == (epsilon < last)


def test_discrete_laplace_has_its_mean_square_and_its_epsilon(script):
    row = script.discrete_laplace(1.0, 0.5)
    steps = np.arange(-400, 401)
    ratio = min(np.linspace(0.3, 0.7, 400_001), key=lambda r: abs(2 * r / (1 - r) ** 2 - 4))
    law = ratio ** np.abs(steps) * (1 - ratio) / (1 + ratio)
    assert law.sum() == pytest.approx(1)
    assert (law * (0.5 * steps) ** 2).sum() == pytest.approx(1, rel=1e-4)
    assert row.told_apart == pytest.approx(0.5 + np.abs(law - np.roll(law, 1)).sum() / 4, abs=1e-4)


def test_page_is_current(script, both):
    assert script.TARGET.read_text() == script.page(*both), "run scripts/write_equal_usefulness.py"


def test_picture_has_floors_curves_and_entropies_of_every_group(script, by_mean_square, by_bound):
    groups = {"mean square": list(by_mean_square.values()), "bound": list(by_bound.values())}
    figure = script.equal_usefulness(groups)
    assert len(figure.axes) == 6
    names = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert names == list(by_mean_square)
    assert len(figure.axes[1].lines) == len(by_mean_square)


def test_picture_can_be_read_where_it_is_390_pixels_wide(script, by_mean_square):
    figure = script.equal_usefulness({"the same mean-square error, 1": list(by_mean_square.values())})
    figure.canvas.draw()
    width = figure.get_size_inches()[0]
    texts = [text for axes in figure.axes for text in (axes.xaxis.label, *axes.get_yticklabels(), *axes.texts)]
    assert min(text.get_fontsize() for text in texts if text.get_text()) * 390 / (72 * width) >= 9  # pixels
    for axes in figure.axes:
        for text in (axes.xaxis.label, axes._right_title):
            assert text.get_window_extent().x1 <= width * figure.dpi + 1
            assert text.get_window_extent().x0 >= 0


@pytest.mark.parametrize("noises", [{}, {"plane": Gaussian(np.eye(2))}, {"text": "Laplace"}, [Laplace(1.0)]])
def test_only_noises_on_the_line_are_compared(script, noises):
    with pytest.raises(InputError, match="noises"):
        script.compare(noises, distance=0.5, ranges=(0, 10), epsilons=[1.0])
