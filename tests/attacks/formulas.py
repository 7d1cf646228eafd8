"""Formulas at random: functions of functions of aggregates, with factors and thresholds that an adversary would try."""

import numpy as np

from errorfloor.attacks.secret import Secret

DEPTH = 3
FACTORS = ("1e-30", "1e-12", "1e-6", "0.001", "0.5", "3", "1000")


def random_formula(secret: Secret, chance: np.random.Generator, *, depth: int = DEPTH) -> str:
    """Draw an output; where it has a threshold, that lies between the two values of the victim.

    >>> from errorfloor.attacks.world import World
    >>> from errorfloor.catalogue import Catalogue
    >>> kwh = {"range": [0, 50], "resolution": 0.001, "floor": 2.0, "unit": "kWh"}
    >>> meters = {"source": "-", "version": "1", "row_key": ["id"], "public": {"id": "whole"}, "private": {"kwh": kwh}}
    >>> with World(Catalogue(tables={"meters": meters}), "meters", "kwh") as world:
    ...     random_formula(world.secret, np.random.default_rng(7), depth=1)
    'tanh(0.5 * (var_pop(kwh) - 25.0))'
    """
    middle, column = repr((secret.values[0] + secret.values[1]) / 2), secret.column
    if depth == 0:
        return str(
            chance.choice([f"sum({column})", f"avg({column})", f"sum({column} * {column})", f"var_pop({column})"])
        )
    inner, other = (random_formula(secret, chance, depth=depth - 1) for _ in range(2))
    factor, exponent = chance.choice(FACTORS), chance.integers(2, 7)
    shapes = (
        f"greatest({inner} - {middle}, 0)",
        f"least({inner}, {middle})",
        f"{factor} * {inner}",
        f"power({factor} * ({inner} - {middle}), {exponent})",
        f"ln(1 + power({factor} * {inner}, 2))",
        f"ln(1 + {factor} * greatest({inner} - {middle}, 0))",
        f"exp(-power({factor} * ({inner} - {middle}), 2))",
        f"tanh({factor} * ({inner} - {middle}))",
        f"sqrt(greatest({inner}, {factor}))",
        f"sqrt({factor} + power({inner}, 2))",
        f"({inner}) / (1 + power({other}, 2))",
        f"({inner}) * ({other})",
        f"({inner}) + {factor} * ({other})",
    )
    return str(shapes[chance.integers(len(shapes))])
