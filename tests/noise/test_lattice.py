"""Answers leave on a lattice: exact decimals, within half a step, and without low digits to read."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.errors import InputError
from errorfloor.noise import RaisedCosine
from errorfloor.noise.lattice import Lattice

STEPS = ["0.001", "0.1", "0.05", "0.25", "1", "2.5", "100", "1e-6", "0.3"]


@given(st.floats(-1e3, 1e3), st.sampled_from(STEPS))
def test_rounding_is_to_the_nearest_decimal_multiple(value, step):
    lattice = Lattice(step)
    rounded = float(lattice.round(value))
    exact = Fraction(step)
    nearest = Fraction(round(Fraction(value) / exact)) * exact
    # the double nearest to a decimal multiple; a tie, or nearly one, may go either way
    assert abs(Fraction(value) - Fraction(rounded)) <= exact / 2 * (1 + Fraction(1, 10**6)) + Fraction(1, 10**9)
    if abs(abs(Fraction(value) / exact % 1) - Fraction(1, 2)) > Fraction(1, 10**6):
        assert rounded == float(nearest)


@given(st.floats(-1e3, 1e3), st.sampled_from(STEPS))
def test_rounding_twice_changes_nothing(value, step):
    lattice = Lattice(step)
    once = lattice.round(value)
    assert lattice.round(once) == once


def test_rounding_leaves_the_given_array_alone_unless_told():
    values = np.array([0.123, 4.567])
    assert Lattice("0.1").round(values).tolist() == [0.1, 4.6]
    assert values.tolist() == [0.123, 4.567]
    assert Lattice("0.1").round_in_place(values) is values


def test_steps_are_written_one_way():
    assert Lattice("0.10") == Lattice("1e-1") == Lattice(0.1)
    assert Lattice("100").step == "100"
    assert math.copysign(1.0, float(Lattice("0.1").round(-0.01))) == 1.0


@pytest.mark.parametrize("width", [1e-9, 0.02, 0.5, 3.0, 1e7])
def test_the_default_step_has_two_hundred_to_two_thousand_in_a_width(width):
    steps = width / Lattice.for_width(width).size
    assert 199.99 < steps < 2000.01


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Lattice("wide"), "step must be a decimal number"),
        (lambda: Lattice("0"), "step must be positive"),
        (lambda: Lattice("-1"), "step must be positive"),
        (lambda: Lattice("nan"), "step must be positive"),
        (lambda: Lattice("1e-9").round(1e12), "too large to be rounded"),
        (lambda: Lattice("1").inside(0.0, 0.5), "leaves no room for noise"),
    ],
)
def test_bad_lattices_are_named(call, message):
    with pytest.raises(InputError, match=message):
        call()


def counts_of(noise, value, lattice, count, seed):
    """How often each lattice point is released for a value."""
    chunks = [np.rint(lattice.round(value + noise.sample(count // 10, rng=seed + i)) / lattice.size) for i in range(10)]
    return np.unique(np.concatenate(chunks).astype(np.int64), return_counts=True)


@pytest.mark.parametrize("h", [0.01, 0.1])
def test_two_neighbours_are_told_apart_as_often_as_theory_says_and_no_more(h):
    noise, lattice, count = RaisedCosine(-0.5, 0.5), Lattice("0.001"), 10_000_000
    (places, one), (others, two) = (counts_of(noise, value, lattice, count, seed) for value, seed in ((0, 0), (h, 100)))
    # the best test splits where the densities cross, at h/2: its advantage on fresh draws is the total variation
    split = h / 2 / lattice.size
    advantage = (two[others > split].sum() - one[places > split].sum()) / count
    slack = 2 * math.sqrt(math.log(2 / 1e-9) / (2 * count))
    # rounding blurs the split by one cell, whose two densities differ by about h times their slope
    assert abs(advantage - noise.total_variation(h)) < slack + 2e-5


def test_low_digits_give_nothing_away():
    # a test that looks at the parity of the lattice point instead of its place learns nothing about the value
    noise, lattice, count = RaisedCosine(-0.5, 0.5), Lattice("0.001"), 10_000_000
    shares = []
    for value, seed in ((0.0, 300), (0.0005, 400), (1 / 3, 500)):
        places, counts = counts_of(noise, value, lattice, count, seed)
        shares.append(counts[places % 2 == 0].sum() / count)
    slack = math.sqrt(math.log(2 / 1e-9) / (2 * count))
    assert max(abs(share - 0.5) for share in shares) < slack


def reachable(y, x):
    """Which numbers could be x plus Laplace noise made from a 53-bit uniform on the left half of its range."""
    found = np.zeros(len(y), dtype=bool)
    guess = np.rint(np.exp(y - x) / 2 * 2.0**53)
    for step in range(-4, 5):
        with np.errstate(divide="ignore", invalid="ignore"):
            found |= x + np.log(2 * (guess + step) * 2.0**-53) == y
    return found


def test_naive_floating_point_noise_gives_its_value_away():
    # x + Laplace in doubles: the least digits of an answer tell whether it can be reached from x at all
    uniform = np.random.default_rng(1).integers(1, 2**52, 200_000) * 2.0**-53  # the left half: negative noise
    noise = np.log(2 * uniform)
    noise = noise[(noise > -0.9) & (noise < -0.1)]
    value, neighbour = 1.0, 1.0 + 1e-4
    assert reachable(value + noise, value).all()
    advantage = 1 - reachable(value + noise, neighbour).mean()
    assert advantage > 0.2  # where the densities themselves differ by less than one part in ten thousand
    # on the lattice the same draws are numbers that both can reach
    lattice = Lattice("0.001")
    here, there = (set(lattice.round(x + noise).tolist()) for x in (value, neighbour))
    assert len(here ^ there) <= 2


def test_a_hundred_million_draws_fit():
    noise, count, bins = RaisedCosine(-0.5, 0.5), 100_000_000, 4096
    edges = np.linspace(-0.5, 0.5, bins + 1)
    total, least, most, tail = np.zeros(bins, dtype=np.int64), 0.5, -0.5, 0
    for seed in range(100):
        drawn = noise.sample(count // 100, rng=np.random.default_rng(seed))
        total += np.bincount(((drawn + 0.5) * bins).astype(np.int64).clip(0, bins - 1), minlength=bins)
        least, most = min(least, drawn.min()), max(most, drawn.max())
        tail += int((np.abs(drawn) > 0.49).sum())
    # Dvoretzky, Kiefer and Wolfowitz at every edge, with probability 1 − 1e-9
    reached = np.abs(np.cumsum(total) / count - noise.cdf(edges[1:])).max()
    assert reached < math.sqrt(math.log(2 / 1e-9) / (2 * count))
    # the tails: a Poisson count within six and a half standard deviations, twice as rare as 1e-9
    expected = 2 * float(noise.cdf(-0.49)) * count
    assert abs(tail - expected) < 6.5 * math.sqrt(expected)
    assert -0.5 <= least < -0.498
    assert 0.498 < most <= 0.5
