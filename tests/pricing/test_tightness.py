"""Prices are not only safe but close to the truth where people ask most."""

from fractions import Fraction

import pytest
from pricing_reference import ALWAYS, Row, World, call, mean, p, q, x, y

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.sql.plan import Compare, Covariance, Formula, Quotient, Sum, WeightedMean

ROWS = tuple(Row("a", "n", i % 2, 4 * (i + 1), i) for i in range(5))
WORLD = World(ROWS, {"x": (Fraction(0), Fraction(50)), "y": (Fraction(1), Fraction(9))})
TWO = World(ROWS[:2], WORLD.ranges)


def slope(world: World, formula: Formula, column: str = "x") -> float:
    return float(world.bounds(formula).outputs[0].slopes[column].dense.max())


@pytest.mark.parametrize(
    ("world", "formula", "column", "true"),
    [
        (WORLD, Sum(x, ALWAYS), "x", 1.0),
        (WORLD, mean(x), "x", 1 / 5),
        (WORLD, mean((x - 25) ** 4), "x", 4 * 25**3 / 5),
        (WORLD, mean((x - 25) ** 2), "x", 2 * 25 / 5),
        (TWO, Covariance(x, x, ALWAYS, sample=False), "x", 50 / 2),
        (WORLD, Covariance(x, x, ALWAYS, sample=False), "x", 2 * 50 * 4 / 25),
        (WORLD, Covariance(x, x, ALWAYS, sample=True), "x", 2 * 50 / 5),
        (WORLD, Covariance(x, y, ALWAYS, sample=False), "x", 8 * 4 / 25),
        (WORLD, Covariance(x, p, ALWAYS, sample=False), "x", 2 / 5),  # p is 1 … 5
        (WORLD, Quotient(Sum(x * p, ALWAYS), Sum(p, ALWAYS)), "x", 5 / 15),
        (WORLD, WeightedMean(x, y, ALWAYS), "x", 9 / 13),
        (WORLD, WeightedMean(x, y, ALWAYS), "y", 50 * 4 / 25),
        (TWO, WeightedMean(x, y, ALWAYS), "y", 50 / 4),
        (WORLD, mean(call("above", x, 20, 5)), "x", 1.5 / 5 / 5),
        (WORLD, mean(call("exp", x * Fraction(1, 10))), "x", 0.1 * 148.4131591 / 5),
        (WORLD, Quotient(Covariance(x, p, ALWAYS, sample=False), Covariance(p, p, ALWAYS, sample=False)), "x", 0.2),
    ],
)
def test_slopes_are_sharp(world: World, formula: Formula, column: str, true: float) -> None:
    assert true * (1 - 1e-9) <= slope(world, formula, column) <= 1.02 * true


def test_polynomials_know_that_they_do_not_vanish() -> None:
    value = World(ROWS, {"x": (Fraction(0), Fraction(50)), "y": (Fraction(0), Fraction(1))})
    bound = value.bounds(mean((x - 3) ** 2 + 1)).outputs[0]
    assert 0.97 <= bound.low[0] <= 1.0
    assert slope(value, mean(call("ln", (x - 3) ** 2 + 1))) <= 1.3 / 5  # the true one is 1/5


def test_cancelling_columns_cancel() -> None:
    assert slope(WORLD, mean((x + y) * 3 - x * 2)) == pytest.approx(1 / 5)
    assert "x" not in WORLD.bounds(mean(x * 1 + y - x)).outputs[0].slopes


def test_cells_without_rows_of_a_group_cost_nothing() -> None:
    rows = (Row("a", "n", 0, 1, 1), Row("b", "s", 0, 1, 1))
    dense = World(rows, WORLD.ranges).bounds(mean(x)).outputs[0].slopes["x"].dense
    assert dense.tolist() == [[pytest.approx(1.0), 0.0], [0.0, pytest.approx(1.0)]]


def test_rows_left_out_by_a_condition_cost_nothing() -> None:
    some = Compare("<=", Polynomial.constant(3), q)
    rows = (Row("a", "n", 0, 1, 1), Row("a", "s", 0, 1, 4))
    bound = World(rows, WORLD.ranges).bounds(Sum(x, some)).outputs[0]
    assert bound.slopes["x"].dense.tolist() == [[0.0, 1.0]]


def test_the_rounding_trick_is_a_harmless_line() -> None:
    """((x − m)·1e-9 + ½ + 2⁵²) − 2⁵² is a step in doubles; in fixed point it is the line it says it is."""
    trick = ((x - 20) * Fraction(1, 10**9) + Fraction(1, 2) + 2**52) - 2**52
    bound = WORLD.bounds(Sum(trick, ALWAYS)).outputs[0]
    assert slope(WORLD, Sum(trick, ALWAYS)) == pytest.approx(1e-9)
    assert bound.error[0] < 1e-14


def test_the_rounding_trick_behind_a_function_has_a_large_error() -> None:
    line = (x - 20) * Fraction(1, 10**9) + Fraction(1, 2)
    hidden = call("sqrt", (line + 2**19) * (line + 2**19)) - 2**19  # a root of about 2^19 has steps of 2^-20
    bound = WORLD.bounds(Sum(hidden, ALWAYS)).outputs[0]
    move = slope(WORLD, Sum(hidden, ALWAYS)) * 50
    assert bound.error[0] > 5 * 2.0**-22
    assert bound.error[0] > 10 * move
    deep = call("ln", call("exp", line * Fraction(1, 10**4) + 25)) * 10**4 - 25 * 10**4
    assert WORLD.bounds(Sum(deep, ALWAYS)).outputs[0].error[0] > 1e-9
