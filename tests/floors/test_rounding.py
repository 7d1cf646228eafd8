"""Printed bounds are rounded outwards: floors down, bounds and probabilities up."""

import math

from hypothesis import given
from hypothesis import strategies as st

from errorfloor.floors.words import rounded_down, rounded_up, times_in_hundred

SIZES = st.floats(1e-12, 1e12).flatmap(lambda size: st.sampled_from([size, -size]))


@given(SIZES, st.integers(1, 6))
def test_a_number_is_written_on_the_side_that_promises_less(value, digits):
    low, high = float(rounded_down(value, digits)), float(rounded_up(value, digits))
    assert low <= value <= high
    assert high - low <= 10 ** (math.floor(math.log10(abs(value))) - digits + 1) * (1 + 1e-9)


@given(st.floats(0.5, 1.0))
def test_times_in_hundred_are_never_fewer(probability):
    assert 100 * probability <= float(times_in_hundred(probability)) * (1 + 1e-15) <= 100 * probability + 0.1 + 1e-9


def test_short_numbers_are_written_as_they_are():
    assert [rounded_down(x) for x in (0.3, 2.0, 2000.0, 0.7)] == ["0.3", "2", "2000", "0.7"]
    assert [rounded_up(x) for x in (0.3, -0.5, 0.0, 1.005)] == ["0.3", "-0.5", "0", "1.01"]
