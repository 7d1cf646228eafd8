"""Values and noise meet in whole grains: exactly, within the bound, and in the same steps whatever they are."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.arithmetic.double_words import DoubleWord
from errorfloor.noise.lattice import Lattice
from errorfloor.preparing.noises import above_the_truth, within
from errorfloor.preparing.rounding import GRAINS, grain, in_grains, multiples, released

STEPS = ["0.001", "0.1", "1", "1000", "1e-30", "1e25"]


def words(values):
    exact = [Fraction(value) for value in values]
    high = np.array([float(value) for value in exact])
    low = np.array([float(value - Fraction(float(value))) for value in exact])
    return DoubleWord(high, low)


@given(
    st.fractions(-(10**9), 10**9, max_denominator=10**12),
    st.floats(-600, 600),
    st.floats(-1000, 1000),
    st.sampled_from(STEPS),
)
def test_released_numbers_are_a_function_of_value_in_grains_plus_noise(value, noise, offset, step):
    """The noise is rounded before the sum or after it: it is the same, since the value is on the grid."""
    lattice = Lattice(step)
    unit = Fraction(lattice.step)
    value, noise, offset = value * unit, noise * float(unit), offset * float(unit)
    whole = int(in_grains(words([value]), lattice)[0])
    assert abs(whole * unit / GRAINS - value) <= unit / GRAINS * Fraction(1, 2) * (1 + Fraction(1, 10**9))
    found = Fraction(float(released(words([value]), np.array([noise]), offset, lattice)[0]))
    after = whole * unit / GRAINS + Fraction(noise) + Fraction(offset)
    again = float(released(words([whole * unit / GRAINS]), np.array([noise]), offset, lattice)[0])
    assert found == Fraction(again), "what the value was before it was rounded to grains does not matter"
    reach = unit / 2 + unit / GRAINS
    assert abs(found - after) <= reach * (1 + Fraction(1, 10**6)) + abs(after) / 2**52


@pytest.mark.parametrize("step", STEPS)
def test_multiples_are_the_nearest_doubles(step):
    lattice = Lattice(step)
    counts = np.array([0, 1, -1, 3, 7, 123456789, -(2**40) - 1, 2**42 + 3])
    exact = [float(int(count) * Fraction(lattice.step)) for count in counts]
    assert multiples(counts, lattice).tolist() == exact
    assert not np.signbit(multiples(np.array([0]), lattice)).any()


@pytest.mark.parametrize("bound", [0.5, 2.0, 37.0, 1e-6, 4e5])
@pytest.mark.parametrize("centre", [0.0, 3.0])
def test_the_released_number_keeps_its_bound_at_the_ends_of_the_noise(bound, centre):
    low, high = (centre - 1) * bound, (centre + 1) * bound
    error = bound * 1e-7
    added = within(low, high, evaluation_error=error)
    chance = np.random.default_rng(5)
    truth = [Fraction(float(value)) for value in chance.uniform(-1e4, 1e4, 500) * bound]
    off = [Fraction(float(value)) for value in chance.choice([-1, 1], 500) * error * 0.99]
    ends = added.noise.support
    drawn = chance.choice([ends.low, ends.high], 500)
    values = words([one + two for one, two in zip(truth, off, strict=True)])
    found = released(values, drawn, added.offset, added.lattice)
    for number, true in zip(found.tolist(), truth, strict=True):
        assert Fraction(low) <= Fraction(number) - true <= Fraction(high)


def test_noise_above_the_truth_stays_above_it():
    added = above_the_truth(1.0, evaluation_error=1e-7)
    truth = [Fraction(k, 977) for k in range(-500, 500)]
    computed = words([value - Fraction(99, 10**9) for value in truth])
    least = np.full(len(truth), float(added.noise.shift[0]))  # the end of the noise
    kept, broken = (released(computed, noise, 0.0, added.lattice).tolist() for noise in (least, 0 * least))
    assert all(Fraction(number) >= true for number, true in zip(kept, truth, strict=True))
    assert not all(Fraction(number) >= true for number, true in zip(broken, truth, strict=True))


def test_a_grain_is_a_millionth_of_a_step():
    assert grain(Lattice("0.5")) == 2.0**-21
