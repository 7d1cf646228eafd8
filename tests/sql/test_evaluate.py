"""Formulas of exact sums, in double words: near the exact value, in steps that do not depend on it."""

from fractions import Fraction

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.arithmetic.arrow import read
from errorfloor.arithmetic.double_functions import FUNCTION_ERROR, FUNCTIONS
from errorfloor.arithmetic.double_words import LARGEST, LEAST, NOTHING, ROUNDING, UNDERFLOW, DoubleWord, fast_two_sum
from errorfloor.arithmetic.polynomial import ONE, Polynomial
from errorfloor.sql import Layout, evaluate, needed
from errorfloor.sql.plan import (
    Always,
    Apply,
    Call,
    Compare,
    Constant,
    Count,
    Covariance,
    Plus,
    Power,
    Quotient,
    Sum,
    TableColumn,
    Times,
    WeightedMean,
)
from exact_formulas import exact_value

ALWAYS = Always()
OTHER = Compare("<", Polynomial.constant(1), Polynomial.constant(2))
X = TableColumn(0, "x", "number", private=True, step=Fraction(1, 1000))
Y = TableColumn(0, "y", "number", private=True, step=Fraction(3, 7))
E = Call("exp", (), Polynomial.atom(X))
x, y, e = Polynomial.atom(X), Polynomial.atom(Y), Polynomial.atom(E)
LAYOUT = Layout({X: 10**6, Y: 10**6, E: 2**40}, {E: 12}, rows=1000)
SCALES = {X: Fraction(1, 1000), Y: Fraction(3, 7), E: Fraction(1, 4096)}

stored = st.integers(-(10**6), 10**6)
rows = st.lists(st.fixed_dictionaries({X: stored, Y: stored, E: st.integers(1, 2**40)}), min_size=1, max_size=6)


def sums_of(formula, some):
    """What an engine would give for rows of stored integers."""
    found = {}
    for monomial, where in needed(formula):
        products = []
        for row in some:
            product = 1
            for atom, power in monomial:
                product *= row[atom] ** power
            products.append(product)
        found[monomial, where] = len(some) if monomial == ONE else sum(products)
    return found


def values_of(some):
    return [{atom: k * SCALES[atom] for atom, k in row.items()} for row in some]


def words(sums):
    return {wanted: DoubleWord.of(total or 0) for wanted, total in sums.items()}


def value_of(formula, sums, layout=LAYOUT):
    return evaluate([formula], words(sums), layout)[0].exact(())


def near(found, exact, scale):
    return abs(found - exact) <= 64 * Fraction(ROUNDING) * scale


@given(rows)
def test_sums_and_means_are_those_of_the_rows(some):
    polynomial = x * y * Fraction(2, 3) - x * x + e * y + 5
    values = [Fraction(2, 3) * r[X] * r[Y] - r[X] ** 2 + r[E] * r[Y] + 5 for r in values_of(some)]
    scale = sum(abs(r[X] * r[Y]) + r[X] ** 2 + abs(r[E] * r[Y]) + 5 for r in values_of(some))
    formula = Sum(polynomial, ALWAYS)
    assert exact_value(formula, sums_of(formula, some), LAYOUT) == sum(values)
    assert near(value_of(formula, sums_of(formula, some)), sum(values), scale)
    mean = Quotient(formula, Count(ALWAYS))
    assert near(value_of(mean, sums_of(mean, some)), sum(values) / len(some), scale)


@given(rows, st.booleans())
def test_covariances_equal_their_centred_form(some, sample):
    formula = Covariance(x - y * e, y + Fraction(1, 3), ALWAYS, sample)
    pairs = [(r[X] - r[Y] * r[E], r[Y] + Fraction(1, 3)) for r in values_of(some)]
    if len(pairs) < 1 + sample:
        assert exact_value(formula, sums_of(formula, some), LAYOUT) is None
        return
    one, two = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
    expected = sum((a - one) * (b - two) for a, b in pairs) / (len(pairs) - sample)
    scale = sum((abs(r[X]) + abs(r[Y] * r[E]) + 1) * (abs(r[Y]) + 1) for r in values_of(some)) * len(pairs)
    assert exact_value(formula, sums_of(formula, some), LAYOUT) == expected
    assert near(value_of(formula, sums_of(formula, some)), expected, scale)


@given(rows)
def test_weighted_means_divide_by_the_weight(some):
    formula = WeightedMean(x * y, e, ALWAYS)
    values = values_of(some)
    weight = sum(r[E] for r in values)
    expected = sum(r[X] * r[Y] * r[E] for r in values) / weight
    scale = sum(abs(r[X] * r[Y]) for r in values)
    assert near(value_of(formula, sums_of(formula, some)), expected, scale)


def test_arithmetic_of_formulas_is_that_of_fractions():
    n, third = Count(ALWAYS), Constant(Fraction(1, 3))
    known = {(ONE, ALWAYS): 7, (ONE, OTHER): 0}
    cases = {
        Plus((n, third, n)): Fraction(43, 3),
        Times((n, third, n)): Fraction(49, 3),
        Power(Plus((n, third)), 4): Fraction(22, 3) ** 4,
        Quotient(third, n): Fraction(1, 21),
        Apply("greatest", (Fraction(8),), n): Fraction(8),
        Apply("least", (Fraction(8),), n): Fraction(7),
        Count(OTHER): Fraction(0),
        Sum(Polynomial.constant(2), ALWAYS): Fraction(14),
        Sum(Polynomial.constant(0), ALWAYS): Fraction(0),
    }
    for formula, expected in cases.items():
        assert near(value_of(formula, known), expected, expected), formula
        assert exact_value(formula, known, LAYOUT) == expected


def test_each_sum_is_needed_once():
    variance = Covariance(x, x, ALWAYS, True)
    formula = Plus((variance, Quotient(Sum(x * 3 + 1, ALWAYS), Count(ALWAYS)), Sum(x, OTHER)))
    square, line = ((X, 2),), ((X, 1),)
    assert set(needed(formula)) == {(ONE, ALWAYS), (line, ALWAYS), (square, ALWAYS), (line, OTHER)}
    assert len(needed(formula)) == 4
    assert needed(Constant(Fraction(1))) == []


def test_a_layout_decides_how_stored_functions_are_read():
    formula = Sum(e, ALWAYS)
    known = {(((E, 1),), ALWAYS): 3}
    assert value_of(formula, known, Layout({}, {E: 1}, 1)) == Fraction(3, 2)
    assert value_of(formula, known, Layout({}, {E: -1}, 1)) == 6


def test_what_occurs_twice_is_computed_once(monkeypatch):
    applied = []
    monkeypatch.setitem(FUNCTIONS, "exp", lambda value: applied.append(1) or value)
    part = Apply("exp", (), Count(ALWAYS))
    evaluate([part, Plus((part, part)), part], words({(ONE, ALWAYS): 3}), LAYOUT)
    assert len(applied) == 1


# -- the arithmetic itself, against mpmath

RNG = np.random.default_rng(20261116)
MANY = 400
OPERATIONS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def pairs(high):
    """Double words with these upper parts and random lower ones."""
    high = np.asarray(high, dtype=float)
    return DoubleWord(*fast_two_sum(high, high * RNG.uniform(-1, 1, high.shape) * 2.0**-54))


def spread(low, high):
    return RNG.choice([-1.0, 1.0], MANY) * 2.0 ** RNG.uniform(low, high, MANY)


def real(value, place):
    return mpmath.mpf(float(value.high[place])) + mpmath.mpf(float(value.low[place]))


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("low", "high"), [(-60, 60), (-440, 440)])
def test_each_operation_keeps_its_relative_error(name, low, high):
    one, two = pairs(spread(low, high)), pairs(spread(low, high))
    if name in "+-":  # half of them cancel, to any number of digits
        sign = -1.0 if name == "+" else 1.0
        close = sign * one.high * (1 + RNG.normal(size=MANY) * 2.0 ** RNG.uniform(-70, 0, MANY))
        two = pairs(np.where(np.arange(MANY) % 2 == 0, close, two.high))
    operation = OPERATIONS[name]
    found = operation(one, two)
    with mpmath.workprec(2200):
        for place in range(MANY):
            exact = operation(real(one, place), real(two, place))
            assert abs(real(found, place) - exact) <= ROUNDING * abs(exact) + UNDERFLOW


def test_roots_and_powers_keep_their_error():
    base = pairs(np.abs(spread(-60, 60)))
    with mpmath.workprec(2000):
        for exponent in (1, 2, 3, 7, 12):
            found = base**exponent
            for place in range(MANY):
                exact = real(base, place) ** exponent
                assert abs(real(found, place) - exact) <= 2 * exponent * ROUNDING * exact
        for place in range(MANY):
            exact = mpmath.sqrt(real(base, place))
            assert abs(real(base.root(), place) - exact) <= ROUNDING * exact


ARGUMENTS = {
    "exp": [RNG.uniform(-620, 620, MANY), spread(-90, 0), np.array([0.0, -8000.0, -746.0, -700.0])],
    "ln": [np.abs(spread(-899, 899)), 1 + spread(-50, -2), np.array([1.0, LEAST, LARGEST, 2.0, 0.5])],
    "sqrt": [np.abs(spread(-899, 899)), np.array([4.0, 2.0])],
    "tanh": [RNG.uniform(-60, 60, MANY), spread(-90, 0), np.array([0.0, 1e30, -1e30])],
}
TRUE = {"exp": mpmath.exp, "ln": mpmath.log, "sqrt": mpmath.sqrt, "tanh": mpmath.tanh}


@pytest.mark.parametrize("function", ARGUMENTS)
def test_each_function_keeps_its_error(function):
    with mpmath.workprec(500):
        for some in ARGUMENTS[function]:
            arguments = pairs(some)
            found = FUNCTIONS[function](arguments)
            for place in range(len(some)):
                exact = TRUE[function](real(arguments, place))
                scale = max(1, abs(exact)) if function in ("ln", "tanh") else abs(exact)
                assert abs(real(found, place) - exact) <= FUNCTION_ERROR * scale + UNDERFLOW, some[place]


def test_whole_numbers_of_128_bits_are_read_exactly_up_to_2_to_the_104():
    numbers = [s * (2**k + d) for k in range(123) for s in (1, -1) for d in (0, 1, 12345)]
    upper = np.array([n >> 64 for n in numbers], dtype=np.int64)
    lower = np.array([n % 2**64 for n in numbers], dtype=np.uint64)
    found = DoubleWord.of_words(upper, lower)
    for place, number in enumerate(numbers):
        assert abs(found.exact(place) - number) <= abs(number) * Fraction(2) ** -104
        assert abs(number) > 2**104 or found.exact(place) == number


def zeros_spelled_out(value):
    """The same numbers with a lower word of zeros, so that no step is left out."""
    return DoubleWord(value.high, np.zeros(np.shape(value.high)))


@pytest.mark.parametrize("name", OPERATIONS)
def test_steps_that_only_add_zero_change_no_bit(name):
    some = RNG.integers(-(2**53), 2**53, MANY, endpoint=True) >> RNG.integers(0, 54, MANY)
    few = RNG.integers(1, 2**26, MANY, endpoint=True) >> RNG.integers(0, 26, MANY)
    large, short = DoubleWord.whole(some, 2**53), DoubleWord.whole(np.maximum(few, 1), 2**26)
    assert short.short and not large.short
    words = [large, short, DoubleWord.of(1000), DoubleWord.of(3), pairs(spread(-60, 60)), DoubleWord.of(Fraction(1, 7))]
    operation = OPERATIONS[name]
    for one in words:
        for two in words[1:]:
            singles = [word for word in (one, two) if word.low is NOTHING]
            plain = [zeros_spelled_out(word) if word in singles else word for word in (one, two)]
            with np.errstate(all="ignore"):
                found, whole = operation(one, two), operation(*plain)
            assert np.array_equal(found.high, whole.high) and np.array_equal(found.low + 0.0, whole.low + 0.0)
            assert np.array_equal(np.signbit(found.high), np.signbit(whole.high))


def test_whole_numbers_of_64_bits_are_read_exactly():
    numbers = [s * (2**k + d) for k in range(62) for s in (1, -1) for d in (-1, 0, 1)]
    ends = [-(2**63), 2**63 - 1, 2**63 - 512, 2**63 - 513]
    for some, most in ((numbers, None), (ends, None), ([n for n in numbers if abs(n) <= 2**53], 2**53)):
        found = read(pa.array([*some, None], pa.int64()), most)
        assert [found.exact(place) for place in range(len(some) + 1)] == [*some, 0]


def test_a_function_that_is_none_is_refused():
    with pytest.raises(ValueError, match="no function of a formula is called sin"):
        evaluate([Apply("sin", (), Count(ALWAYS))], words({(ONE, ALWAYS): 1}), LAYOUT)
