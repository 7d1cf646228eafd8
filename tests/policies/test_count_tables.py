"""Tables for counts with wide noise: found, or given as far as the solver came with an honest gap."""

import numpy as np
import pytest

from errorfloor.errors import ConvergenceError, InputError
from errorfloor.policies import conic
from errorfloor.policies.counts import design_counts, from_text

WIDE = {"max_noise": 16, "variance": 40.0, "keep_zero": True, "unbiased": False, "objective": "worst"}
NARROW = {"max_noise": 4, "variance": 3.0, "keep_zero": False, "objective": "worst"}


def test_wide_noise_has_its_least_supremum():
    table = design_counts(**WIDE)
    assert table.certificate.gap < 1e-4
    energies = 8 * (1 - np.cos(table.angles))
    assert table.certificate.lower_bound <= energies.max() == pytest.approx(table.certificate.value, rel=1e-12)
    assert max(table.mean_square_at(i) for i in range(table.last + 1)) <= 40 + 1e-10


@pytest.fixture
def blunt(monkeypatch):
    """Let the solver stop early, and let what it finds pass."""
    solve = conic._Program.solve

    def until(tolerance: float, close: float = 10.0) -> None:
        monkeypatch.setattr(conic, "CLOSE", close)
        monkeypatch.setattr(conic._Program, "solve", lambda program, _: solve(program, tolerance))

    return until


def test_a_solver_that_stops_early_gives_what_it_has_and_says_how_good_it_is(blunt):
    best = design_counts(**NARROW).certificate
    gaps = []
    for tolerance in (1e-3, 1e-4, 1e-6):
        blunt(tolerance)
        early = design_counts(**NARROW).certificate  # a table is checked against its rules when it is made
        assert early.lower_bound <= best.value and best.lower_bound <= early.value
        gaps.append(early.gap)
    assert 0.05 > gaps[0] > gaps[1] > gaps[2] > best.gap


def test_no_table_is_given_with_a_large_gap(blunt):
    blunt(0.1)
    with pytest.raises(ConvergenceError, match=r"found to a gap of [\d.]+ only, more than 0\.05"):
        design_counts(**NARROW)
    blunt(0.1, close=1e-4)
    with pytest.raises(ConvergenceError, match=r"of 9 nodes and 13 cells was not solved: a relative gap of"):
        design_counts(**NARROW)


def test_lines_that_contradict_themselves_are_refused():
    lines = design_counts(max_noise=3, variance=2.0, keep_zero=True).to_text().splitlines()
    first = lines[5].split(",")
    changed = "\n".join([*lines[:5], ",".join([*first[:2], "0.125", *first[3:]]), *lines[6:]])
    with pytest.raises(InputError, match=r"true count 1 published as 0 contradicts itself: its probability 0\.125"):
        from_text(changed)
