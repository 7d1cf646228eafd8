"""The least information is not the least told by one answer: uniform noise tells less once, and more from six on."""

import math

import numpy as np
import pytest

MOVED = 1 / 200  # of the noise's width
CELLS, STEP, MOST = 100_000, 1e-4, 4.0  # of the noise; of log-odds, and how far they go


def told_apart_by_uniform(answers):
    """In closed form: an answer beyond the other one's bounds gives it away, and nothing else tells anything."""
    return 0.5 * (1 + 1 - (1 - MOVED) ** answers)


def told_apart_by_raised_cosine(answers):
    """The best test of independent answers, between log-odds rounded down and up: their law convolved with itself."""
    edges = np.linspace(-0.5, 0.5, CELLS + 1)
    here, there = (
        np.diff(np.clip(w + 0.5, 0, 1) + np.sin(2 * np.pi * np.clip(w, -0.5, 0.5)) / (2 * np.pi))
        for w in (edges, edges - MOVED)
    )
    open_, reach = there > 0, round(MOST / STEP)
    odds, revealed = np.log(here[open_] / there[open_]) / STEP, 1 - here[open_].sum()
    size = 1 << math.ceil(math.log2(2 * reach * answers + 1))
    total = (np.arange(2 * reach * answers + 1) - reach * answers) * STEP
    found = []
    for rounded in (np.floor, np.ceil):
        place = np.clip(rounded(odds).astype(int), -reach, reach) + reach
        law = np.bincount(place, weights=here[open_], minlength=2 * reach + 1)
        summed = np.fft.irfft(np.fft.rfft(law, size) ** answers, size)[: len(total)]
        apart = float(summed @ np.clip(1 - np.exp(-total), 0, None)) + 1 - (1 - revealed) ** answers
        found.append(0.5 * (1 + apart))
    return found


@pytest.mark.parametrize(("answers", "uniform", "cosine"), [(1, 0.5025, 0.5050), (8, 0.5197, 0.5162)])
def test_the_figures_of_the_readme(answers, uniform, cosine):
    low, high = told_apart_by_raised_cosine(answers)
    assert high - low < 3e-4
    assert told_apart_by_uniform(answers) == pytest.approx(uniform, abs=5e-5)
    assert (low + high) / 2 == pytest.approx(cosine, abs=5e-5)


def test_uniform_noise_tells_less_for_up_to_five_answers_and_more_from_six_on():
    for answers in (1, 2, 3, 4, 5):
        assert told_apart_by_uniform(answers) < told_apart_by_raised_cosine(answers)[0]
    for answers in (6, 8, 12):
        assert told_apart_by_uniform(answers) > told_apart_by_raised_cosine(answers)[1]


def test_one_answer_agrees_with_the_closed_form():
    low, high = told_apart_by_raised_cosine(1)
    assert low <= 0.5 * (1 + MOVED + math.sin(math.pi * MOVED) / math.pi) <= high
