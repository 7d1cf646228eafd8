"""Formulas of exact sums are exact; functions of formulas are right to 48 digits; NULL is as in SQL."""

import decimal
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from errorfloor.sql import Layout, applied, evaluate, needed
from errorfloor.sql.apply import APPLY_ERROR, apply
from errorfloor.sql.plan import (
    Always,
    Apply,
    Call,
    Column,
    Compare,
    Constant,
    Count,
    Covariance,
    Plus,
    Power,
    Quotient,
    Sum,
    Times,
    WeightedMean,
)
from errorfloor.sql.polynomial import ONE, Polynomial
from plan_values import FUNCTIONS, real

ALWAYS = Always()
OTHER = Compare("<", Polynomial.constant(1), Polynomial.constant(2))
X = Column(0, "x", "number", private=True, step=Fraction(1, 1000))
Y = Column(0, "y", "number", private=True, step=Fraction(3, 7))
E = Call("exp", (), Polynomial.atom(X))
x, y, e = Polynomial.atom(X), Polynomial.atom(Y), Polynomial.atom(E)
LAYOUT = Layout({X: 10**6, Y: 10**6, E: 2**40}, {E: 12}, rows=1000)
SCALES = {X: Fraction(1, 1000), Y: Fraction(3, 7), E: Fraction(1, 4096)}

stored = st.integers(-(10**6), 10**6)
rows = st.lists(st.fixed_dictionaries({X: stored, Y: stored, E: st.integers(1, 2**40)}), max_size=6)


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
        found[monomial, where] = len(some) if monomial == ONE else sum(products) if some else None
    return found


def values_of(some):
    return [{atom: k * SCALES[atom] for atom, k in row.items()} for row in some]


@given(rows)
def test_sums_and_means_are_exact(some):
    polynomial = x * y * Fraction(2, 3) - x * x + e * y + 5
    values = [Fraction(2, 3) * r[X] * r[Y] - r[X] ** 2 + r[E] * r[Y] + 5 for r in values_of(some)]
    total = sum(values) if some else None
    formula = Sum(polynomial, ALWAYS)
    assert evaluate(formula, sums_of(formula, some), LAYOUT) == total
    assert applied(polynomial, ALWAYS, sums_of(formula, some), LAYOUT) == total
    mean = Quotient(formula, Count(ALWAYS))
    assert evaluate(mean, sums_of(mean, some), LAYOUT) == (total / len(some) if some else None)


@given(rows, st.booleans())
def test_covariances_equal_their_centred_form(some, sample):
    formula = Covariance(x - y * e, y + Fraction(1, 3), ALWAYS, sample)
    pairs = [(r[X] - r[Y] * r[E], r[Y] + Fraction(1, 3)) for r in values_of(some)]
    if len(pairs) < 1 + sample:
        expected = None
    else:
        one, two = (sum(side) / len(pairs) for side in zip(*pairs, strict=True))
        expected = sum((a - one) * (b - two) for a, b in pairs) / (len(pairs) - sample)
    assert evaluate(formula, sums_of(formula, some), LAYOUT) == expected


@given(rows)
def test_weighted_means_divide_by_the_weight(some):
    formula = WeightedMean(x * y, e, ALWAYS)
    values = values_of(some)
    weight = sum(r[E] for r in values)
    expected = sum(r[X] * r[Y] * r[E] for r in values) / weight if some else None
    assert evaluate(formula, sums_of(formula, some), LAYOUT) == expected


def test_weight_zero_is_null():
    formula = WeightedMean(x, y, ALWAYS)
    assert evaluate(formula, sums_of(formula, [{X: 3, Y: 0}]), LAYOUT) is None


def test_arithmetic_of_formulas_is_exact():
    n, third = Count(ALWAYS), Constant(Fraction(1, 3))
    known = {(ONE, ALWAYS): 7, (ONE, OTHER): 0}
    cases = {
        Plus((n, third, n)): Fraction(43, 3),
        Times((n, third, n)): Fraction(49, 3),
        Power(Plus((n, third)), 4): Fraction(22, 3) ** 4,
        Quotient(third, n): Fraction(1, 21),
        Quotient(n, Count(OTHER)): None,
        Plus((Quotient(n, Count(OTHER)), third)): None,
        Times((Count(OTHER), Quotient(n, Count(OTHER)))): None,
        Power(Quotient(n, Count(OTHER)), 2): None,
        Apply("exp", (), Quotient(n, Count(OTHER))): None,
        Apply("greatest", (Fraction(8),), n): Fraction(8),
        Apply("least", (Fraction(8),), n): Fraction(7),
        Count(OTHER): Fraction(0),
        Sum(Polynomial.constant(2), ALWAYS): Fraction(14),
        Sum(Polynomial.constant(2), OTHER): None,
        Sum(Polynomial.constant(0), ALWAYS): Fraction(0),
        Sum(Polynomial.constant(0), OTHER): None,
    }
    for formula, expected in cases.items():
        assert evaluate(formula, known, LAYOUT) == expected, formula


def test_each_sum_is_needed_once():
    variance = Covariance(x, x, ALWAYS, True)
    formula = Plus((variance, Quotient(Sum(x * 3 + 1, ALWAYS), Count(ALWAYS)), Sum(x, OTHER)))
    square, line = ((X, 2),), ((X, 1),)
    assert set(needed(formula)) == {(ONE, ALWAYS), (line, ALWAYS), (square, ALWAYS), (line, OTHER)}
    assert len(needed(formula)) == 4
    assert needed(Constant(Fraction(1))) == []


def test_two_layouts_are_not_confused():
    formula = Sum(e, ALWAYS)
    known = {(((E, 1),), ALWAYS): 3}
    assert evaluate(formula, known, Layout({}, {E: 1}, 1)) == Fraction(3, 2)
    assert evaluate(formula, known, Layout({}, {E: -1}, 1)) == 6


TINY = Fraction(1, 10**40)
ARGUMENTS = {
    "exp": [Fraction(0), TINY, Fraction(1, 3), Fraction(-700), Fraction(12345, 7), Fraction(-98765, 3)],
    "ln": [Fraction(1), 1 + TINY, 1 - TINY, Fraction(1, 10**90), Fraction(10**90, 7), Fraction(2), Fraction(99, 100)],
    "sqrt": [Fraction(0), Fraction(2), TINY / 3, Fraction(10**77), Fraction(1, 4)],
    "tanh": [
        Fraction(0),
        TINY,
        -TINY / 7,
        Fraction(1, 10**60),
        Fraction(1, 3),
        Fraction(-50),
        Fraction(500),
        Fraction(-101),
    ],
}


@pytest.mark.parametrize("function", ARGUMENTS)
def test_functions_of_formulas_are_right_to_48_digits(function):
    with mpmath.workdps(250):
        for argument in ARGUMENTS[function]:
            exact = FUNCTIONS[function](real(argument))
            value = apply(function, (), argument)
            assert abs(real(value) - exact) <= APPLY_ERROR * abs(exact), argument


@given(st.fractions(min_value=-100, max_value=100), st.sampled_from(["exp", "tanh", "ln", "sqrt"]))
def test_functions_of_any_fraction_are_right_to_48_digits(argument, function):
    argument = abs(argument) + Fraction(1, 10**9) if function in ("ln", "sqrt") else argument
    with mpmath.workdps(100):
        exact = FUNCTIONS[function](real(argument))
        assert abs(real(apply(function, (), argument)) - exact) <= APPLY_ERROR * abs(exact)


def test_outside_the_domain_is_null():
    assert apply("ln", (), Fraction(0)) is None
    assert apply("ln", (), Fraction(-1)) is None
    assert apply("sqrt", (), Fraction(-1, 10**9)) is None


def test_digits_do_not_depend_on_the_callers_context():
    expected = [apply(function, (), Fraction(22, 7)) for function in ARGUMENTS]
    with decimal.localcontext() as context:
        context.prec, context.rounding = 5, decimal.ROUND_UP
        context.traps[decimal.Inexact] = True
        assert [apply(function, (), Fraction(22, 7)) for function in ARGUMENTS] == expected
