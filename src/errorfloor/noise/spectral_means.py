"""Means under the square of a tensor of polynomials, by Gauss rules that are refined until they agree."""

import math
from collections.abc import Callable

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import ConvergenceError
from errorfloor.noise.spectral_axis import Axis, along

MOST_NODES = 2e7
FINER = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0)  # nodes of rules, in those of one


def mean_by_rules(axes: tuple[Axis, ...], unit: Array, integrand: Callable[[Array], Array]) -> float:
    """∫ of a function of u: refine until two rules agree to 1e-12, or as far as memory allows, then to 1e-8."""
    previous, change = math.nan, math.inf
    for factor in FINER:
        counts = [math.ceil(factor * (a.degree + 4)) for a in axes]
        if factor > 1 and math.prod(n * a.pieces for n, a in zip(counts, axes, strict=True)) > MOST_NODES:
            break
        values, weights = unit, np.ones(())
        for i, (axis, count) in enumerate(zip(axes, counts, strict=True)):
            _, w, basis = axis.rule_with(count)
            values = along(basis, values, i)
            weights = np.multiply.outer(weights, w)
        total = float((integrand(values) * weights).sum())
        previous, change = total, abs(total - previous) / (abs(total) or 1.0)
        if change <= 1e-12:
            break
    if not change <= 1e-8:
        raise ConvergenceError("a mean under this noise was not found to a relative 1e-8: use samples")
    return previous
