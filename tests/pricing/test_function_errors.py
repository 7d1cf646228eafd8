"""What a function of a row is off by before its value is put on a grid, which would hide it."""

from fractions import Fraction
from typing import Any

import mpmath
import pytest
from pricing_reference import ALWAYS, PROMISED, Row, World, _mp_function, call, exactly, x

from errorfloor.arithmetic.polynomial import Polynomial
from errorfloor.pricing import rows as walk
from errorfloor.pricing.rows import PricedRows
from errorfloor.sql.plan import Call, Sum

WORLD = World((Row("a", "n", 0, 4, 1),))
FUNCTIONS = {
    "exp": call("exp", x),
    "ln": call("ln", x + 3),
    "sqrt": call("sqrt", x + 3),
    "reciprocal": call("reciprocal", x + 3),
    "power": call("power", x + 3, Fraction(7, 3)),
    "sin": call("sin", x),
    "cos": call("cos", x),
    "tanh": call("tanh", x),
    "above": call("above", x, 2, 7),
    "greatest": call("greatest", x, 4),
    "least": call("least", x, 4),
}


def worst(polynomial: Polynomial) -> tuple[Any, float]:
    """Give the largest error that the promise allows at some values of x, and the bound on it."""
    ((((node, _),), _),) = polynomial.terms
    assert isinstance(node, Call)
    found = mpmath.mpf(0)
    with mpmath.workdps(50):
        for value in (Fraction(k, 8) for k in range(41)):
            argument = exactly(sum((c * value ** sum(n for _, n in m) for m, c in node.argument.terms), Fraction(0)))
            for up in (-1, 1):
                share = mpmath.mpf(PROMISED["power" if node.function == "power" else "function"])
                if node.function == "above":
                    argument = (exactly(value) - 2) / 7 + mpmath.mpf(1) / 2
                    moved = argument
                else:
                    moved = argument * (1 + up * mpmath.mpf(PROMISED["argument"]))
                exact = _mp_function(node.function, node.parameters, argument)
                for way in (-1, 1):
                    computed = _mp_function(node.function, node.parameters, moved) * (1 + way * share)
                    found = max(found, abs(computed - exact))
    facts = WORLD.facts(WORLD.question(Sum(polynomial, ALWAYS)))
    bound = PricedRows(polynomial, ALWAYS, facts, WORLD.ranges, {})._computed(node).error
    return found, float(bound.max())


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_computed_functions_stay_within_their_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found, bound = worst(FUNCTIONS[name])
    assert found <= mpmath.mpf(bound) <= 4 * found
    for constant in ("FUNCTION_ERROR", "POWER_ERROR"):
        monkeypatch.setattr(walk, constant, 0.0)
    found, bound = worst(FUNCTIONS[name])
    assert found > mpmath.mpf(bound)
