"""How the error of an estimator falls under repeated answers, as numbers and as a picture."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.plots import canvas


@dataclass(frozen=True)
class Decline:
    """Root-mean-square error of an estimator against the number of draws, and the slope between their logarithms.

    >>> Decline("midrange", (10, 100), (0.1, 0.01)).slope
    -1.0
    """

    name: str
    draws: tuple[int, ...]
    errors: tuple[float, ...]

    @property
    def slope(self) -> float:
        """The exponent: −1 for extremes against a jump, −1/2 for a law of finite information."""
        return round(float(np.polyfit(np.log(self.draws), np.log(self.errors), 1)[0]), 12)


def slopes(panels: Mapping[str, Sequence[Decline]], *, floor: float, fitted: int = 3) -> Any:
    """Draw how errors fall with the number of fresh answers, a panel for each estimator.

    The slope in the legend is fitted to the last ``fitted`` numbers of answers at which the error was not zero;
    ``floor`` is the error that one answer allows an unbiased estimator of the smooth noise.

    >>> len(slopes({"midrange": [Decline("uniform", (10, 100, 1000), (0.1, 0.01, 0.001))]}, floor=0.3).axes)
    1
    """
    figure, grid = canvas(1, len(panels), width=5.0, height=5.6, squeeze=False, sharex=True, sharey=True)
    least = min(min(one.errors) for found in panels.values() for one in found if 0.0 not in one.errors)
    for axes, (title, found) in zip(grid[0], panels.items(), strict=True):
        for one in found:
            axes.loglog(one.draws, one.errors, marker="o", markersize=4, label=f"{one.name}: {told(one, fitted)}")
        ends = found[0].draws[0], found[0].draws[-1]
        axes.loglog(ends, [floor / math.sqrt(k) for k in ends], "k--", linewidth=1, label="floor, raised cosine: −0.50")
        axes.set_title(title)
        axes.set_xlabel("fresh answers K")
        axes.set_ylim(bottom=least / 2)
        axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.14), title="slopes")
    grid[0][0].set_ylabel("root-mean-square error, in units of the bound")
    return figure


def told(one: Decline, fitted: int = 3) -> str:
    """Give the slope of the last numbers of answers, in words where the truth was found exactly.

    >>> told(Decline("uniform", (10, 100, 1000), (0.1, 0.01, 0.001))), told(Decline("clamped", (10, 100), (0.1, 0.0)))
    ('−1.00', 'exact from 100 on')
    """
    if 0.0 in one.errors:
        return f"exact from {one.draws[one.errors.index(0.0)]:,} on"
    return f"{late(one, fitted).slope:.2f}".replace("-", "−")


def late(one: Decline, fitted: int = 3) -> Decline:
    """Give the last numbers of answers alone, where a rate has set in.

    >>> late(Decline("uniform", (10, 100, 1000), (0.3, 0.01, 0.001)), 2).slope
    -1.0
    """
    return replace(one, draws=one.draws[-fitted:], errors=one.errors[-fitted:])
