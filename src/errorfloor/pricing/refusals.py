"""Why a question has no price, and what to ask instead; public facts and declarations only."""

from fractions import Fraction

import numpy as np

from errorfloor.arithmetic.polynomial import Node
from errorfloor.errors import RefusedError
from errorfloor.pricing.interval import Enclosure
from errorfloor.pricing.words import call_words, words

NEEDS = {"ln": "above 0", "sqrt": "above 0", "power": "above 0", "reciprocal": "all on one side of 0"}
HALF_FREE = "at least 0"  # what a power above one needs


def no_derivative(function: str, parameters: tuple[Fraction, ...], argument: Node, reach: Enclosure) -> RefusedError:
    """A function whose derivative has no bound where its argument may be."""
    inside, low, high = words(argument), _least(reach), _greatest(reach)
    whole = call_words(function, parameters, inside)
    cut = f"least({inside}, -{_cut(-low)})" if abs(low) > high else f"greatest({inside}, {_cut(high)})"
    allowed = HALF_FREE if function == "power" and parameters[0] > 1 else NEEDS.get(function, "bounded")
    return RefusedError(
        f"{whole} cannot be answered: {inside} can lie anywhere in {low:.6g} … {high:.6g}, and the answer's derivative "
        f"is bounded only where it is {allowed}: ask for {call_words(function, parameters, cut)}, with a constant of "
        f"your choice",
        reason="unbounded",
    )


def no_quotient(numerator: Node, denominator: Node, reach: Enclosure) -> RefusedError:
    """A quotient whose denominator may be zero."""
    below, low, high = words(denominator), _least(reach), _greatest(reach)
    cut = f"least({below}, -{_cut(-low)})" if abs(low) > high else f"greatest({below}, {_cut(high)})"
    return RefusedError(
        f"({words(numerator)}) / ({below}) cannot be answered: the denominator can lie anywhere in "
        f"{low:.6g} … {high:.6g}, so it may be 0: ask for ({words(numerator)}) / {cut}, with a constant of your "
        f"choice",
        reason="unbounded",
    )


def no_weight(weight: Node, reach: Enclosure) -> RefusedError:
    """Weights that may all be zero, or of both signs."""
    inside, low, high = words(weight), _least(reach), _greatest(reach)
    return RefusedError(
        f"the weight {inside} can lie anywhere in {low:.6g} … {high:.6g}; a weighted mean is bounded only for weights "
        f"above 0: ask with the weight greatest({inside}, {_cut(high)}), with a constant of your choice",
        reason="unbounded",
    )


def too_large(node: Node, reach: float, most: float) -> RefusedError:
    """A value beyond what is kept exactly."""
    return RefusedError(
        f"{words(node)} can be as large as {reach:.3g}; at most {most:.3g} is kept exactly: divide it by a constant, "
        f"or cut its argument with least(…) or greatest(…)",
        reason="unbounded",
    )


def no_number(node: Node) -> RefusedError:
    """A formula whose value or derivative exceeds every double."""
    return RefusedError(
        f"{words(node)} has no bound that fits a number: ask for it in other units, or for its parts",
        reason="unbounded",
    )


def _least(reach: Enclosure) -> float:
    return float(np.min(reach.low))


def _greatest(reach: Enclosure) -> float:
    return float(np.max(reach.high))


def _cut(scale: float) -> str:
    """Give about a thousandth of a number, to one digit: something above zero to suggest."""
    if not 0 < scale < np.inf:
        return "0.01"
    digit = float(f"{scale / 1000:.0e}")
    return f"{digit:g}"
