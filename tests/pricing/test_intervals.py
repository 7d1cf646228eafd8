"""Interval arithmetic contains what it must, checked with sixty digits."""

from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pricing_reference import _mp_function, exactly

from errorfloor.pricing.functions import FUNCTIONS
from errorfloor.pricing.interval import Enclosure, grouped_hull, grouped_sum

numbers = st.floats(-1e6, 1e6) | st.floats(-1e-300, 1e-300) | st.sampled_from([0.0, 1.0, -1.0, 1e300, -1e300])
ends = st.tuples(numbers, numbers).map(sorted)
shares = st.floats(0, 1)


def inside(pair: list[float], share: float) -> float:
    return min(max(pair[0] + share * (pair[1] - pair[0]), pair[0]), pair[1])


def holds(interval: Enclosure, value: Any) -> bool:
    return bool(mpmath.mpf(float(interval.low)) <= value <= mpmath.mpf(float(interval.high)))


@given(ends, ends, shares, shares)
def test_arithmetic_contains_every_result(one: list[float], two: list[float], s: float, t: float) -> None:
    a, b = Enclosure.of(*one), Enclosure.of(*two)
    with mpmath.workdps(700):
        u, v = mpmath.mpf(inside(one, s)), mpmath.mpf(inside(two, t))
        assert holds(a + b, u + v)
        assert holds(a - b, u - v)
        assert holds(a * b, u * v)
        assert holds(-a, -u)
        if not bool(b.has_zero):
            assert holds(a / b, u / v)


@given(ends, shares, st.integers(0, 12))
def test_powers_contain_every_result(pair: list[float], share: float, exponent: int) -> None:
    result = Enclosure.of(*pair) ** exponent
    with mpmath.workdps(4000):
        assert holds(result, mpmath.mpf(inside(pair, share)) ** exponent)
    if exponent and exponent % 2 == 0:
        assert result.low >= 0


@given(st.fractions(), st.integers(1, 10**40))
def test_fractions_lie_inside_and_tightly(value: Fraction, factor: int) -> None:
    for number in (value, value * factor, value / factor, Fraction(factor)):
        found = Enclosure.exact(number)
        assert Fraction(float(found.low)) <= number <= Fraction(float(found.high))
        assert float(found.high) <= np.nextafter(np.nextafter(float(found.low), np.inf), np.inf)


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@given(st.tuples(st.floats(-30, 30), st.floats(-30, 30)).map(sorted), shares)
def test_functions_contain_every_value_and_derivative(name: str, pair: list[float], share: float) -> None:
    function = FUNCTIONS[name]
    parameters = {
        "power": (Fraction(-5, 3),),
        "above": (Fraction(1, 3), Fraction(7, 2)),
        "greatest": (Fraction(1, 3),),
        "least": (Fraction(1, 3),),
    }.get(name, ())
    if name in ("ln", "sqrt", "power", "reciprocal"):
        pair = sorted(map(abs, pair))
        assume(pair[0] > 1e-6)
    argument = Enclosure.of(*pair)
    assert function.domain(argument, parameters).all()
    with mpmath.workdps(60):
        at = mpmath.mpf(inside(pair, share))

        def of(value: Any) -> Any:
            if name == "above":
                value = (value - exactly(parameters[0])) / exactly(parameters[1]) + mpmath.mpf(1) / 2
            return _mp_function(name, parameters, value)

        assert holds(function.value(argument, parameters), of(at))
        move = mpmath.mpf(10) ** -25 if at + mpmath.mpf(10) ** -25 <= pair[1] else -(mpmath.mpf(10) ** -25)
        assume(pair[1] - pair[0] > 1e-20)
        slope = (of(at + move) - of(at)) / move
        found = function.slope(argument, parameters)
        slack = mpmath.mpf(10) ** -20 * (1 + abs(slope))
        assert mpmath.mpf(float(found.low)) - slack <= slope <= mpmath.mpf(float(found.high)) + slack


@pytest.mark.parametrize("name", ["ln", "sqrt", "reciprocal", "power"])
def test_functions_know_where_they_have_no_derivative(name: str) -> None:
    function, parameters = FUNCTIONS[name], (Fraction(1, 2),) if name == "power" else ()
    assert not function.domain(Enclosure.of(0.0, 1.0), parameters)
    assert not function.domain(Enclosure.of(-1.0, 1.0), parameters)
    assert function.domain(Enclosure.of(0.1, 1.0), parameters)


def test_infinite_ends_stand_for_unknown_finite_numbers() -> None:
    unknown = Enclosure.of(-np.inf, np.inf)
    assert (Enclosure.of(0.0, 1.0) * Enclosure.of(0.0, np.inf)).low == 0
    assert (unknown + unknown).low == -np.inf
    assert (unknown * Enclosure.of(1.0, 2.0)).high == np.inf
    assert np.isinf((Enclosure.of(1.0, 1.0) / Enclosure.of(-1.0, 1.0)).low)
    assert (Enclosure.of(1e308, 1e308) + Enclosure.of(1e308, 1e308)).high == np.inf
    assert (Enclosure.of(1e308, 1e308) + Enclosure.of(1e308, 1e308)).low < np.inf


def test_nan_is_never_taken_for_a_number() -> None:
    for broken in (Enclosure.of(np.nan, 1.0), Enclosure.of(0.0, np.nan)):
        assert (broken * Enclosure.of(2.0, 3.0)).low == -np.inf
        assert (broken * Enclosure.of(2.0, 3.0)).high == np.inf


@given(st.lists(st.tuples(st.floats(-1e9, 1e9), st.integers(0, 3)), min_size=1, max_size=40))
def test_sums_and_hulls_of_groups_contain_the_exact_ones(items: list[tuple[float, int]]) -> None:
    values = np.array([value for value, _ in items])
    group = np.array([place for _, place in items])
    total = grouped_sum(Enclosure(values, values), group, 4)
    hull = grouped_hull(Enclosure(values, values), group, 4)
    for place in set(group.tolist()):
        members = [Fraction(value) for value, mine in items if mine == place]
        assert Fraction(float(total.low[place])) <= sum(members) <= Fraction(float(total.high[place]))
        assert (hull.low[place], hull.high[place]) == (float(min(members)), float(max(members)))
