"""A bound holds at a cap that was fixed beforehand; somebody who stops when lucky beats it at what was spent."""

import math

import numpy as np
import pytest

from errorfloor.attacks.repetition import CAP, ODDS, SLICE
from errorfloor.floors.two_point import angle, success
from errorfloor.noise import RaisedCosine
from errorfloor.random import ReproducibleBits

NOISE = RaisedCosine(-1.0, 1.0)
RUNS = 8_000


def stopped(cap):
    """Play with answers that are moved by d, I·d² = 1/16: how often right, and what was spent each time."""
    moved, answers = math.sqrt(SLICE / float(NOISE.information[0, 0])), math.floor(cap / SLICE)
    noise = np.asarray(NOISE.sample(RUNS * answers, rng=ReproducibleBits(7))).reshape(RUNS, answers)
    with np.errstate(divide="ignore"):  # beyond the bounds of the other hypothesis the odds are infinite
        odds = np.cumsum(NOISE.logpdf(noise) - NOISE.logpdf(noise + moved), axis=1)  # for the truth
    done = np.abs(odds) >= math.log(ODDS)
    last = np.where(done.any(axis=1), done.argmax(axis=1), answers - 1)
    final = odds[np.arange(RUNS), last]
    return (final > 0).mean() + 0.5 * (final == 0).mean(), (last + 1) * SLICE


def test_stopping_when_lucky_beats_the_figure_at_the_amount_spent():
    """Right 91.4 times in 100, where the sentence at the amount then spent says 88.8 on average."""
    right, spent = stopped(CAP)
    stated = float(np.mean(success(angle(1.0, 1.0) * np.sqrt(spent))))
    assert right == pytest.approx(0.914, abs=0.01)
    assert stated == pytest.approx(0.888, abs=0.01)
    assert right > stated + 0.012


@pytest.mark.parametrize("cap", [0.49, 1.0, 1.656, 3.0])
def test_stopping_when_lucky_never_beats_the_figure_at_the_cap(cap):
    right, spent = stopped(cap)
    assert spent.max() <= cap
    assert right <= float(success(angle(1.0, cap)))
