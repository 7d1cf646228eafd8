"""Pictures that set noises side by side: at equal usefulness, and under repeated answers."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from errorfloor.dp import Compared
from errorfloor.plots.canvas import COLOURS, canvas

MORE_COLOURS = (*COLOURS, "#e69138", "#888888", "#6fa8dc", "#93c47d", "#c27ba0", "#000000")
WIDTH = 5.0  # inches: letters of 10 points are 11 pixels high where the picture is 390 wide


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


def equal_usefulness(groups: Mapping[str, Sequence[Compared]]) -> Any:
    """Draw floors, curves δ(ε) and entropies of noises, three panels for each group of equally useful ones.

    The panels stand above each other, so that they can be read on a phone.

    >>> from errorfloor.dp import compare
    >>> from errorfloor.noise import Gaussian, Laplace
    >>> noises = {"Gaussian": Gaussian(1.0), "Laplace": Laplace(0.5**0.5)}
    >>> rows = compare(noises, distance=0.5, ranges=(0, 10), epsilons=[0.0, 0.5, 1.0])
    >>> len(equal_usefulness({"the same mean square": rows}).axes)
    3
    """
    names = list(dict.fromkeys(row.name for rows in groups.values() for row in rows))
    colours = {name: MORE_COLOURS[n % len(MORE_COLOURS)] for n, name in enumerate(names)}
    sizes = [size for rows in groups.values() for size in (1.0 + 0.24 * len(rows), 2.9, 1.0 + 0.24 * len(rows))]
    options = {"squeeze": False, "gridspec_kw": {"height_ratios": sizes}}
    figure, grid = canvas(len(sizes), 1, width=WIDTH, height=sum(sizes) / len(sizes), **options)
    panels = iter(grid[:, 0])
    for title, rows in groups.items():
        floors, curves, entropies = next(panels), next(panels), next(panels)
        colour = [colours[row.name] for row in rows]
        _bars(floors, rows, [row.unbiased for row in rows], colour, "none")
        floors.plot([row.any_estimator or None for row in rows], range(len(rows)), "|", color="#222222", markersize=9)
        floors.set_title(title, loc="right", fontweight="bold")  # it reaches over the names, not out of the picture
        floors.set_xlabel("error floor, unbiased\n(mark: any estimator)")
        for row, own in zip(rows, colour, strict=True):
            finite = [(level, value) for level, value in zip(row.epsilons, row.deltas, strict=True) if level < math.inf]
            curves.plot(*zip(*finite, strict=True), color=own, linestyle="-" if row.unbiased else "--")
        curves.set_xlabel("ε")
        curves.set_ylabel("δ(ε); dashed: no floor")
        curves.set_yscale("log")
        curves.set_ylim(1e-4, 1.0)
        _bars(entropies, rows, [row.entropy for row in rows], colour, "has atoms")
        entropies.set_xlabel("entropy of the noise, bits")
    return figure


def _bars(axes: Any, rows: Sequence[Compared], values: Sequence[float], colours: Sequence[str], without: str) -> None:
    for place, (value, colour) in enumerate(zip(values, colours, strict=True)):
        length = value if math.isfinite(value) else 0.0
        axes.barh(place, length, color=colour, height=0.6)
        told = f"{value:.3f}" if length else without
        axes.annotate(told, (length, place), xytext=(3, 0), textcoords="offset points", va="center", fontsize=9)
    axes.set_yticks(range(len(rows)), [row.name for row in rows])
    for name, own in zip(axes.get_yticklabels(), colours, strict=True):
        name.set_color(own)
    axes.invert_yaxis()
    axes.margins(x=0.22)
    axes.grid(visible=False, axis="y")


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
