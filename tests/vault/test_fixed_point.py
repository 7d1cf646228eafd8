"""Rounding and clamping, against exact fractions and against the plain formula."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.catalogue import PrivateColumn, stored_distance
from errorfloor.errors import CatalogueError
from errorfloor.vault.fixed_point import StoredGrid

MOST = 2**40
STEPS = st.one_of(
    st.sampled_from(
        [Fraction(1), Fraction(1, 1000), Fraction(10), Fraction(7, 3), Fraction(1, 10**30), Fraction(10**60)]
    ),
    st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
)


@st.composite
def grids(draw):
    low = draw(st.integers(-MOST, MOST - 1))
    return StoredGrid(draw(STEPS), low, draw(st.integers(low + 1, MOST)))


@st.composite
def grids_and_numbers(draw):
    """A grid, and a double that is anything, or near a multiple of half a step, or near an end."""
    grid = draw(grids())
    halves = draw(
        st.one_of(st.integers(2 * grid.low - 3, 2 * grid.high + 3), st.sampled_from([2 * grid.low, 2 * grid.high]))
    )
    near = float(halves * grid.step / 2)
    x = draw(
        st.one_of(
            st.floats(allow_nan=False), st.sampled_from([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])
        )
    )
    return grid, float(x)


@given(grids_and_numbers())
def test_steps_are_the_clamped_rounding_of_every_double(pair):
    grid, x = pair
    with np.errstate(over="ignore", under="ignore"):
        scaled = np.float64(x) * np.float64(grid.step.denominator) / np.float64(grid.step.numerator)
    assert grid.steps(x) == int(min(max(np.floor(scaled + 0.5), grid.low), grid.high))


@given(grids(), st.data())
def test_steps_are_monotone_and_keep_grid_points(grid, data):
    k = data.draw(st.integers(grid.low, grid.high))
    x = float(k * grid.step)
    assert grid.steps(x) == k
    y = data.draw(st.floats(min_value=x, allow_nan=False))
    assert grid.steps(y) >= k


def clamped(grid, x):
    return min(max(Fraction(x), grid.low * grid.step), grid.high * grid.step)


@given(grids_and_numbers())
def test_stored_number_is_within_half_a_step_of_the_clamped_source(pair):
    grid, x = pair
    if np.isfinite(x):
        slack = grid.step * (Fraction(1, 2) + Fraction(1, 2**9))
        assert abs(grid.steps(x) * grid.step - clamped(grid, x)) <= slack
    else:
        assert grid.steps(x) == (grid.high if x > 0 else grid.low)


@given(grids_and_numbers(), st.floats(allow_nan=False, allow_infinity=False))
def test_estimate_of_the_source_is_one_of_the_stored_number(pair, estimate):
    grid, x = pair
    if np.isfinite(x):
        slack = grid.step * (Fraction(1, 2) + Fraction(1, 2**9))
        assert abs(clamped(grid, estimate) - grid.steps(x) * grid.step) <= abs(Fraction(estimate) - Fraction(x)) + slack


@pytest.mark.parametrize(("resolution", "distance"), [("0.01", 0.01), ("0.01", 0.03), ("0.1", 0.25), ("0.003", 0.009)])
def test_source_values_are_stored_no_farther_apart_than_is_stated(resolution, distance):
    """Every multiple of half a tenth of a step in a range, in decimals: rounding ties are among them."""
    column = PrivateColumn(range=(0, 6), resolution=resolution, floor=1.0, distance=distance)
    grid, unit = StoredGrid(column.resolution, *column.steps), column.resolution / 20
    moved = round(Fraction(str(distance)) / unit)
    stored = [grid.steps(float(k * unit)) for k in range(int(6 / unit) + 1)]
    apart = max(one - two for one, two in zip(stored[moved:], stored, strict=False))
    assert apart == round(Fraction(stored_distance(column)) / column.resolution)  # never farther, and reached


def test_ties_are_stored_one_step_farther_apart_than_they_are():
    grid = StoredGrid(Fraction(1, 100), 0, 5000)
    assert grid.steps(1.285) - grid.steps(1.275) == 2
    assert stored_distance(PrivateColumn(range=(0, 50), resolution="0.01", floor=2.0, distance=0.01)) == 0.02


def test_a_stored_distance_is_no_wider_than_the_range():
    assert stored_distance(PrivateColumn(range=(0, 1), resolution=1, floor=0.1, distance=1)) == 1.0


@pytest.mark.parametrize("step", [Fraction(10**101), Fraction(1, 10**101)])
def test_step_beyond_the_reach_of_doubles_is_refused(step):
    with pytest.raises(CatalogueError, match="at most 100 digits"):
        StoredGrid(step, 0, 10)
