"""Functions of a row stay within the error that pricing assumes, on every engine."""

import itertools
from fractions import Fraction

import mpmath
import pytest

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql import Layout, stored_layout
from errorfloor.sql.plan import (
    Apply,
    Call,
    Compare,
    Constant,
    Count,
    Covariance,
    Indicator,
    Quotient,
    Sum,
    WeightedMean,
    all_of,
)
from errorfloor.sql.sums import ARGUMENT_ERROR, FUNCTION_ERROR, POWER_ERROR, ROUNDING_ERROR
from homes import AREA, ID, PEAK, ROOMS, TOWN, area, kwh, of, open_homes, peak, present, question, rooms
from plan_values import FUNCTIONS, formula_value, number, real, truth

HALF = Fraction(1, 2)
INNER = Call("exp", (), kwh * Fraction(-1, 20))
CALLS = {
    "exp": Call("exp", (), kwh * Fraction(1, 3) - area * Fraction(1, 100)),
    "exp of far negative numbers": Call("exp", (), -((kwh + 11) ** 3)),
    "ln": Call("ln", (), kwh + Fraction(1001, 100)),
    "ln of a large number": Call("ln", (), (peak + 1) ** 3 * 7),
    "sqrt": Call("sqrt", (), kwh + 10),
    "sin": Call("sin", (), kwh * 20_000),
    "cos": Call("cos", (), kwh * area),
    "tanh": Call("tanh", (), kwh * Fraction(1, 10) - 1),
    "cube root": Call("power", (Fraction(1, 3),), kwh + 10),
    "high power": Call("power", (Fraction(61, 2),), kwh + Fraction(1001, 100)),
    "negative power": Call("power", (Fraction(-7, 2),), kwh + 11),
    "far negative power": Call("power", (Fraction(-201, 2),), kwh + 11),
    "reciprocal": Call("reciprocal", (), kwh + 11),
    "above": Call("above", (Fraction(101, 10), Fraction(7, 2)), kwh),
    "above at a far threshold": Call(
        "above", (10**6 + HALF, Fraction(1, 10**4)), kwh * Fraction(1, 10**6) + 10**6 + HALF
    ),
    "greatest": Call("greatest", (Fraction(10, 3),), kwh),
    "least": Call("least", (Fraction(-1, 3),), kwh - 20),
    "of a call": Call("sqrt", (), of(INNER) * kwh * kwh + Fraction(1, 9)),
}

FAR = {
    "exp up to 600": Call("exp", (), kwh * 12),
    "exp of huge negative numbers": Call("exp", (), (kwh - 50) * 10**5),
    "above at its foot": Call("above", (HALF, Fraction(1)), kwh * Fraction(1, 10**30)),
    "power of almost zero": Call("power", (Fraction(61, 2),), (kwh + 10) * Fraction(1, 10**6)),
    "power from zero": Call("power", (Fraction(141, 2),), (kwh + 10) * (kwh + 10)),
    "negative power": Call("power", (Fraction(-201, 2),), (kwh + 11) * 10**2),
    "root of small numbers": Call("power", (Fraction(1, 100),), (kwh + 10) * Fraction(1, 10**20)),
    "reciprocal": Call("reciprocal", (), (kwh + 11) * 10**20),
    "greatest": Call("greatest", (Fraction(1, 10**100),), (kwh - 50) * 10**20),
    "tanh": Call("tanh", (), (kwh + 10) * Fraction(1, 10**30)),
}


def slack(call, row, bits):
    """What the layout's constants promise about a call on a row."""
    argument, parameters = real(number(call.argument, row)), [real(p) for p in call.parameters]
    function = FUNCTIONS[call.function]
    here = function(argument, *parameters)
    relative = POWER_ERROR if call.function == "power" else FUNCTION_ERROR
    turn = 0 if call.function == "above" else ARGUMENT_ERROR
    reached = [function(argument * (1 + sign * turn), *parameters) for sign in (1, 0, -1)]
    moved = max(abs(value - here) for value in reached)
    return moved + relative * max(map(abs, reached)) + ROUNDING_ERROR * mpmath.mpf(2) ** -bits


@pytest.mark.parametrize("some", [CALLS, FAR], ids=["near", "far"])
def test_calls_are_within_the_promised_error_on_every_row(town, some):
    """Groups are single rows, so that each integer is seen; the far ones would make some engine underflow."""
    calls = [INNER, *some.values()]
    where = present(AREA, PEAK)
    asked = question([Sum(of(call), where) for call in some.values()], keys=[of(ID)])
    layout = town.layout(asked, calls)
    answers = town.ask(asked, calls)
    with mpmath.workdps(60):
        for row in town.rows:
            if truth(where, row) is not True:
                assert set(answers[row[0, "id"],].values()) == {None}
                continue
            for output, (name, call) in zip(asked.outputs, some.items(), strict=True):
                exact = FUNCTIONS[call.function](real(number(call.argument, row)), *map(real, call.parameters))
                allowed = slack(call, row, layout.bits[call])
                if name == "of a call":  # the argument is off by the inner call's own error
                    inner = slack(INNER, row, layout.bits[INNER])
                    allowed += inner * real(row[0, "kwh"] ** 2) / 2 / exact
                value = answers[row[0, "id"],][output.name]
                assert abs(real(value) - exact) <= allowed, name


def test_nothing_is_computed_on_rows_that_do_not_count(town):
    """Elsewhere the logarithm is of zero or less, the quotient by zero, and the exponential beyond all doubles."""
    some, few = Compare("<", Polynomial.constant(0), rooms), Compare("<", rooms, Polynomial.constant(3))
    logarithm, inverse, growth = Call("ln", (), rooms), Call("reciprocal", (), rooms), Call("exp", (), rooms * 250)
    formulas = [
        Sum(of(logarithm), some),
        Sum(of(logarithm) * of(logarithm) * kwh, some),
        Sum(of(inverse) * kwh, some),
        Covariance(of(logarithm), of(inverse), some, True),
        Sum(of(Indicator(few)) * of(growth), some),
        Sum(of(growth) * of(growth), few),
    ]
    asked = question(formulas)
    bits = {logarithm: 38, inverse: 39, growth: 39 - 722}
    largest = stored_layout(asked, town.snapshots).largest
    layout = Layout({**largest, **dict.fromkeys(bits, 2**40)}, bits, len(town.rows))
    (values,) = town.ask(asked, layout=layout).values()
    for output in asked.outputs:
        rows = [row for row in town.rows if truth(all_of([some, few]), row) is True or output.name < "out4"]
        exact = formula_value(output.formula, rows)
        assert abs(real(values[output.name]) - exact) <= 1e-9 * abs(exact)


def test_formulas_of_calls_are_close_on_every_engine(town):
    decay, step = CALLS["exp"], CALLS["above"]
    where = present(AREA, ROOMS)
    formulas = [
        Quotient(Sum(of(decay), where), Count(where)),
        Sum(of(decay) * of(decay) * kwh - of(step) * rooms, where),
        Covariance(of(step), kwh, where, True),
        WeightedMean(kwh, of(decay), where),
        Apply("ln", (), Sum(of(decay), where)),
        Apply("exp", (), Quotient(Sum(kwh, where), Constant(Fraction(1000)))),
        Apply("sqrt", (), Covariance(of(step), of(step), where, False)),
        Apply("tanh", (), Quotient(Sum(of(step), where), Constant(Fraction(1000)))),
    ]
    asked = question(formulas, keys=[TOWN])
    answers = town.ask(asked, [decay, step])
    groups = town.groups(asked)
    assert answers.keys() == groups.keys()
    for group, rows in groups.items():
        for output in asked.outputs:
            exact, value = formula_value(output.formula, rows), answers[group][output.name]
            assert abs(real(value) - exact) <= 1e-9 * abs(exact)


def test_calls_agree_between_engines(every_place):
    """Quantised values differ only where the last place of a double decides about rounding."""
    asked = question([Sum(of(call), present(AREA, PEAK)) for call in CALLS.values()])
    found = []
    for place in every_place:
        with open_homes(place) as town:
            found.append(town.ask(asked, [INNER, *CALLS.values()])[()])
    for one, two in itertools.pairwise(found):
        for name in one:
            assert abs(one[name] - two[name]) <= Fraction(1, 10**12) * abs(one[name])
    assert sum(value != 0 for value in found[0].values()) >= len(CALLS) - 1  # one is far below its grid
