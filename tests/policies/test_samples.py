"""Draws fit the law, never leave it, take a fixed number of words, and are the same from the same bits."""

import math

import numpy as np
import pytest

from errorfloor.errors import InputError
from errorfloor.policies import Cells, Policy
from errorfloor.random import ReproducibleBits, RowBits, StickyBits
from policies.conftest import WISHES

VALUES = 20
DRAWS = 50_000  # at each of the values: a million in all
PINNED = [
    "0x1.c4a1a322147cep-2",
    "0x1.3290482d8fa72p-2",
    "0x1.0516a08264d85p-3",
    "0x1.b0d15ffe4314ap-1",
    "0x1.d4f62f9603a72p+0",
]


class CountedBits(ReproducibleBits):
    """Bits that know how many words were taken."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.taken = 0

    def words(self, count: int) -> np.ndarray:
        self.taken += count
        return super().words(count)


def frequencies(policy: Policy, s: np.ndarray, count: int, seed: int) -> np.ndarray:
    y = policy.sample(np.repeat(s, count), rng=seed).reshape(len(s), count)
    cell = np.searchsorted(policy.cells.low, y, side="right") - 1
    return np.stack([np.bincount(row, minlength=policy.cells.low.size) for row in cell])


@pytest.mark.parametrize("name", ["share", "count", "shifted"])
def test_a_million_draws_fit(name, policies):
    """Pearson's statistic over cells that expect 10 or more draws; beyond 7 deviations with chance below 1e-9."""
    policy = policies[name]
    s = np.random.default_rng(1).uniform(policy.values.low, policy.values.high, VALUES)
    seen = frequencies(policy, s, DRAWS, seed=11)
    expected = policy.law(s) * DRAWS
    large = expected >= 10
    rest_seen, rest = np.where(large, 0, seen).sum(axis=1), np.where(large, 0.0, expected).sum(axis=1)
    statistic = ((seen - expected) ** 2 / np.where(large, expected, 1.0))[large].sum()
    freedom = large.sum()
    # Laurent and Massart: a χ² with k degrees of freedom exceeds k + 2√(kx) + 2x with chance below e^{−x}
    x = 25.0
    assert statistic < freedom + 2 * math.sqrt(freedom * x) + 2 * x
    assert (np.abs(rest_seen - rest) < 8 * np.sqrt(rest) + 30).all()


def test_draws_never_leave(named):
    name, policy = named
    s = np.random.default_rng(2).uniform(policy.values.low, policy.values.high, 200_000)
    s[:4] = policy.nodes[[0, 1, -2, -1]]
    y = policy.sample(s, rng=12)
    wish = WISHES[name]
    if name == "count":
        assert (y % 1 == 0).all() and y.min() >= 0
    else:
        assert wish["outputs"].contains(y).all()
    if "noise" in wish:
        assert (np.abs(y - s) <= 0.5 + 1e-12).all()


@pytest.mark.parametrize("name", ["share", "count"])
def test_frequencies_confirm_the_information_at_ten_values(name, policies):
    """√p turns at a constant speed within a step: the angle between s − δ and s + δ is δ√I, δ just below half a step.

    Squared distances of frequencies' roots are raised by a quarter over n for each cell and sample in the mean; their
    deviation is about the distance times √(2/n).
    """
    policy = policies[name]
    middle, h = (policy.nodes[:-1] + policy.nodes[1:]) / 2, np.diff(policy.nodes)
    chosen = np.random.default_rng(3).choice(len(h), VALUES // 2, replace=True)
    s, offset = middle[chosen], 0.499 * h[chosen]
    count = 100_000
    before, after = (frequencies(policy, s + side * offset, count, seed=20 + side) for side in (-1, 1))
    p, q = policy.law(s - offset), policy.law(s + offset)
    excess = ((1 - p) * (p * count > 1) + (1 - q) * (q * count > 1)).sum(axis=1) / (4 * count)
    squared = ((np.sqrt(after / count) - np.sqrt(before / count)) ** 2).sum(axis=1)
    exact = 4 * np.sin(offset * np.sqrt(policy.information(s)) / 2) ** 2
    deviation = np.sqrt(2 * exact / count) + 10 / count
    assert (np.abs(squared - excess - exact) < 7 * deviation).all()
    assert (7 * deviation < 0.4 * exact).all()  # what the test would notice, at each value …
    together = 7 * math.sqrt((deviation**2).sum())  # … and in all
    assert abs((squared - excess - exact).sum()) < together < 0.1 * exact.sum()


@pytest.mark.parametrize("name", ["share", "count"])
def test_each_draw_takes_its_words_and_no_more(name, policies):
    policy = policies[name]
    bits = CountedBits(1)
    policy.sample(np.linspace(*policy.nodes[[0, -1]], 1000), rng=bits)
    assert bits.taken == 1000 * (2 if name == "count" else 3)


@pytest.mark.parametrize("name", ["reading", "count"])
def test_rows_keep_their_draws_in_any_batch_and_order(name, policies):
    policy = policies[name]
    rng = np.random.default_rng(4)
    tags = rng.integers(0, 2**63, (500, 2), dtype=np.uint64)
    s = rng.uniform(*policy.nodes[[0, -1]], 500)
    together = policy.sample(s, rng=RowBits(bytes(32), tags))
    order = rng.permutation(500)
    assert (policy.sample(s[order], rng=RowBits(bytes(32), tags[order])) == together[order]).all()
    parts = [policy.sample(s[i : i + 7], rng=RowBits(bytes(32), tags[i : i + 7])) for i in range(0, 500, 7)]
    assert (np.concatenate(parts) == together).all()


def test_sticky_bits_give_the_same_answer_again(policies):
    policy = policies["reading"]
    s = np.linspace(0, 50, 100)
    assert (policy.sample(s, rng=StickyBits(bytes(32))) == policy.sample(s, rng=StickyBits(bytes(32)))).all()
    assert (policy.sample(s) != policy.sample(s)).any()


def test_draws_are_these_on_every_machine():
    """A change of these numbers is a change of every sticky answer."""
    policy = Policy(
        [0.0, 1.0, 2.0], Cells.of_interval(0.0, 2.0, 4), [[0.7, 0.3, 0, 0], [0.1, 0.4, 0.4, 0.1], [0, 0, 0.3, 0.7]]
    )
    drawn = policy.sample(np.array([0.0, 0.3, 0.9, 1.4, 2.0]), rng=StickyBits(bytes(range(32))))
    assert [float(number).hex() for number in drawn] == PINNED


def test_cells_without_probability_are_never_drawn():
    policy = Policy([0.0, 1.0], Cells.of_points([0, 1, 2, 3]), [[0, 0.5, 0.5, 0], [0, 0.25, 0.75, 0]])
    assert set(policy.sample(np.linspace(0, 1, 20_000), rng=5)) == {1.0, 2.0}


def test_laws_without_overlap_are_joined_too():
    policy = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[1.0, 0.0], [0.0, 1.0]])
    assert policy.information(0.5) == pytest.approx(math.pi**2)
    assert policy.sample(np.full(40_000, 0.5), rng=6).mean() == pytest.approx(0.5, abs=0.02)
    assert policy.sample([0.0, 1.0], rng=7).tolist() == [0.0, 1.0]


def test_single_values_are_drawn_as_numbers(policies):
    assert np.ndim(policies["reading"].sample(3.0, rng=1)) == 0
    with pytest.raises(InputError, match="rng must be None"):
        policies["reading"].sample(3.0, rng="seed")
