"""The allowance against high-precision quadrature, and the floor on all of the rectangle that it spans."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from errorfloor.catalogue import Owner, PrivateColumn, allowance, owner_allowance
from errorfloor.catalogue.allowance import COARSE, EVALUATION, FEW, _allowance, exact_allowance, least_error
from errorfloor.floors import worst_case
from errorfloor.floors.two_point import success
from errorfloor.floors.worst_case import minimax


def doubt(h, information, evaluation):
    angle = (h * mpmath.sqrt(information) + 2 * mpmath.sqrt(evaluation)) / 2
    return (1 - mpmath.sin(min(angle, mpmath.pi / 2))) / 2


def integral(information, evaluation, width, spacing):
    """∫ (h − d)(1 − h/L) q(h) dh with 30 digits; with d = 0 it is the Ziv–Zakai integral itself."""
    with mpmath.workdps(30):
        A, E, L, d = map(mpmath.mpf, (information, evaluation, width, spacing))
        end = min(L, (mpmath.pi - 2 * mpmath.sqrt(E)) / mpmath.sqrt(A)) if A > 0 else L
        return mpmath.quad(lambda h: (h - d) * (1 - h / L) * doubt(h, A, E), mpmath.linspace(0, end, 4))


def lattice(information, evaluation, spacing, count, terms=None):
    """Σ d²(k − ½)(1 − k/N) q(kd) with 30 digits, over all differences, or the first ``terms`` of them."""
    with mpmath.workdps(30):
        A, E, d, half = *map(mpmath.mpf, (information, evaluation, spacing)), mpmath.mpf(1) / 2
        last = count - 1 if terms is None else min(count - 1, terms)
        return mpmath.fsum(
            d**2 * (k - half) * (1 - mpmath.mpf(k) / count) * doubt(k * d, A, E) for k in range(1, last + 1)
        )


@st.composite
def columns(draw):
    """Columns of two to ten million values, with floors from a tenth of a step to all but ignorance."""
    steps = draw(st.integers(1, 1500) | st.integers(1500, 10**7))
    step = draw(st.sampled_from([Fraction(1), Fraction(1, 1000), Fraction(1, 3), Fraction(1, 10**9), Fraction(5000)]))
    start = draw(st.integers(-5, 5))
    most = 0.9899 * steps / math.sqrt(12)
    floor = 0.1 * (most / 0.1) ** draw(st.floats(0, 1))
    return PrivateColumn(range=(start * step, (start + steps) * step), resolution=step, floor=floor * float(step))


def exact_error(column, information, evaluation):
    """The proved bound by the route that the column calls for."""
    width, step = float(column.width), float(column.resolution)
    count = int(column.width / column.resolution) + 1
    if count > FEW and step * COARSE <= column.floor:
        return integral(information, evaluation, width, step)
    reach = (math.pi - 2 * math.sqrt(evaluation)) / math.sqrt(information) / step
    return lattice(information, evaluation, step, count, terms=int(reach) + 2)


@given(columns())
def test_allowance_is_the_largest_that_keeps_the_floor(column):
    information, evaluation = allowance(column)
    wanted = mpmath.mpf(column.floor) ** 2
    assert evaluation == EVALUATION == 1e-6
    assert exact_error(column, information, evaluation) >= wanted
    larger = information * (1 + 1e-5)
    proved = exact_error(column, larger, evaluation)
    stated = integral(larger, evaluation, float(column.width), 0.0)
    assert proved < wanted or (column.resolution * 10 <= column.floor and stated < wanted)


@given(columns(), st.floats(0, 1), st.floats(0, 1))
def test_floor_holds_on_the_whole_rectangle_below_the_allowance(column, part, other):
    information, evaluation = allowance(column)
    width, step = float(column.width), float(column.resolution)
    corner = least_error(information, evaluation, width, step, column.floor)
    inside = least_error(part * information, other * evaluation, width, step, column.floor)
    assert inside >= corner * (1 - 1e-14)
    assert corner >= column.floor**2


@given(columns())
def test_stated_floor_never_falls_below_the_declared_one(column):
    information, evaluation = allowance(column)
    spacing = float(column.resolution) if column.resolution * 10 > column.floor else None
    if spacing is None or column.width / column.resolution <= 100_000:  # beyond, the library thins coarse lattices
        assert minimax(information, float(column.width), evaluation, spacing) >= column.floor**2


@pytest.mark.parametrize("information", [0.0, 1e-6, 0.01, 3.0])
@pytest.mark.parametrize("count", [2, 7, 200, 1001])
def test_integral_is_below_the_sum_over_the_lattice(information, count):
    width = 10.0
    spacing = width / (count - 1)
    below = integral(information, 1e-6, width, spacing)
    assert below <= lattice(information, 1e-6, spacing, count)
    if count > 1000:
        assert float(below) == pytest.approx(least_error(information, 1e-6, width, spacing, floor=2.0), rel=1e-12)
        assert float(below) == pytest.approx(float(lattice(information, 1e-6, spacing, count)), rel=0.02)


@pytest.mark.parametrize("information", [0.0, 1e-4, 0.02, 1.5])
@pytest.mark.parametrize(("count", "spacing"), [(2, 1.0), (121, 1.0), (1000, 0.25), (3000, 1.0)])
def test_sum_over_the_lattice_agrees_with_high_precision(information, count, spacing):
    floor = 5.0 * spacing
    computed = least_error(information, 1e-6, (count - 1) * spacing, spacing, floor)
    assert computed == pytest.approx(float(lattice(information, 1e-6, spacing, count)), rel=1e-11)


@pytest.mark.parametrize("steps", [1, 2, 3, 10, 100, FEW - 1, FEW, 10 * FEW, 2**40])
def test_every_declarable_floor_leaves_something_to_spend(steps):
    for share in (0.9899, 0.5, 0.03):
        column = PrivateColumn(range=(0, steps), resolution=1, floor=max(0.01, share * steps / math.sqrt(12)))
        information, _ = allowance(column)
        assert information > 0
        assert information * float(column.width) ** 2 > 1e-5


def test_a_coin_that_is_0_or_1_has_the_allowance_of_its_two_point_test():
    column = PrivateColumn(range=(0, 1), resolution=1, floor=0.25)
    information, evaluation = allowance(column)
    # one pair: ½·½·½(1 − sin a) = floor², a = ½√A + √E
    angle = math.asin(1 - 8 * 0.25**2)
    assert information == pytest.approx((2 * (angle - math.sqrt(evaluation))) ** 2, rel=1e-8)
    assert information <= (2 * (angle - math.sqrt(evaluation))) ** 2


def test_allowance_does_not_depend_on_the_unit():
    small, _ = allowance(PrivateColumn(range=(0, 50), resolution="0.001", floor=2.0))
    large, _ = allowance(PrivateColumn(range=(0, 50_000), resolution=1, floor=2000.0))
    assert small == pytest.approx(large * 1e6, rel=1e-9)


def test_a_higher_floor_leaves_less_to_spend():
    spent = [allowance(PrivateColumn(range=(0, 50), resolution="0.001", floor=f))[0] for f in (0.5, 1, 2, 5, 10, 14)]
    assert spent == sorted(spent, reverse=True)
    assert len(set(spent)) == len(spent)


@given(st.floats(1e-6, 0.499999))
def test_owner_allowance_is_where_the_best_test_reaches_the_limit(floor):
    information, evaluation = owner_allowance(Owner(column="household", floor=floor))
    assert evaluation == 0.0
    assert information > 0
    assert success(math.sqrt(information) / 2) <= 1 - floor
    assert success(math.sqrt(information * (1 + 1e-6)) / 2) >= 1 - floor - 1e-12
    with mpmath.workdps(30):
        assert (1 + mpmath.sin(mpmath.sqrt(mpmath.mpf(information)) / 2)) / 2 <= 1 - mpmath.mpf(floor)


@pytest.mark.parametrize(("top", "floor"), [(50_000, 2000.0), (10**6, 5.0), (999, 200.0), (2**40, 0.5)])
def test_an_allowance_is_computed_once(top, floor):
    column = PrivateColumn(range=(0, top), resolution=1, floor=floor)
    _allowance.cache_clear()
    first = allowance(column)
    hits = _allowance.cache_info().hits
    assert allowance(column) == first
    assert _allowance.cache_info().hits == hits + 1


@pytest.mark.parametrize(
    ("width", "resolution", "floor"), [(50, 0.001, 1.0), (50, 0.5, 2.0), (10, 1.0, 1.0), (1, 1.0, 0.2)]
)
def test_exact_allowance_is_the_largest_that_keeps_the_floor(width, resolution, floor):
    column = PrivateColumn(range=(0, width), resolution=resolution, floor=floor)
    other, evaluation, cosine = exact_allowance(column)
    assert other == cosine / 500
    step = float(column.resolution)
    assert least_error(other, evaluation, width, step, floor, cosine) >= floor**2
    assert least_error(other * 1.01, evaluation, width, step, floor, cosine * 1.01) < floor**2
    for part in (0.0, 0.3, 1.0):  # on the whole box
        assert least_error(other * part, evaluation, width, step, floor, cosine * 0.5) >= floor**2
    assert cosine > 1.4 * allowance(column)[0]


@pytest.mark.parametrize("information", [0.01, 0.2, 3.0])
def test_sum_below_the_integral_is_close_to_it(information):
    width, spacing = 50.0, 1e-4

    def inner(h):
        return (
            (h - spacing)
            * (1 - h / width)
            * float(worst_case.doubt(np.array([h]), 0.002 * information, 1e-6, information)[0])
        )

    reach = min(width, 4.7 / math.sqrt(information))
    cuts = np.linspace(0, reach, 41)
    exact = sum(quad(inner, *pair, limit=200, epsabs=1e-7, epsrel=1e-5)[0] for pair in itertools.pairwise(cuts))
    found = least_error(0.002 * information, 1e-6, width, spacing, 1.0, information)
    assert 0.99 * exact < found < exact
