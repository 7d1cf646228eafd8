"""Several noises by every measure at once: what they cost, what they promise, what they reveal."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from errorfloor.checks import positive
from errorfloor.dp import delta
from errorfloor.errors import InputError
from errorfloor.floors import floor
from errorfloor.noise import Noise
from errorfloor.plots.canvas import COLOURS, canvas

MORE_COLOURS = (*COLOURS, "#e69138", "#888888", "#6fa8dc", "#93c47d", "#c27ba0", "#000000")
WIDTH = 5.0  # inches: letters of 10 points are 11 pixels high where the picture is 390 wide


@dataclass(frozen=True)
class Compared:
    """One noise on the line, measured; lengths are in the units of the answer.

    ``bound`` is the farthest that it goes from zero and ``size`` its root mean square. ``unbiased`` is the floor
    1/√I under the error of an unbiased estimator and ``any_estimator`` that under any, in the worst case over the
    range; both are 0 where the information is infinite. Two values a ``distance`` apart are named rightly, at even
    odds, with probability at most ``promised`` by the floor and exactly ``told_apart`` by the best test of one
    answer. ``deltas`` are δ(ε) at the ``epsilons``, for a sensitivity of that distance, and ``entropy`` is in bits.

    >>> from errorfloor.noise import Uniform
    >>> one = compare({"uniform": Uniform(low=-1, high=1)}, distance=0.5, ranges=(0, 10), epsilons=[0.0, 1.0])[0]
    >>> one.unbiased, one.promised, one.told_apart, one.deltas, one.entropy
    (0.0, 1.0, 0.625, (0.25, 0.25), 1.0)
    """

    name: str
    bound: float
    size: float
    unbiased: float
    any_estimator: float
    promised: float
    told_apart: float
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    entropy: float


def compare(
    noises: Mapping[str, Noise], *, distance: Any, ranges: tuple[float, float], epsilons: Sequence[float]
) -> tuple[Compared, ...]:
    """Measure noises on the line side by side, each added to an answer that one entry moves one to one.

    ``distance`` is that between the two values to be told apart, and the sensitivity of the curve δ(ε); ``ranges``
    the declared range of the entry. Choose the noises of one mean square, or of one bound, or the comparison
    says nothing. Raises InputError for anything but noises on the line, NoClosedFormError for noises that are not
    known to be log-concave.

    >>> from errorfloor.noise import Gaussian, Laplace
    >>> both = compare(
    ...     {"Laplace": Laplace(0.5**0.5), "Gaussian": Gaussian(1.0)}, distance=0.5, ranges=(0, 10), epsilons=[0.5]
    ... )
    >>> [(one.name, round(one.size, 9), round(one.unbiased, 4), round(one.deltas[0], 4)) for one in both]
    [('Laplace', 1.0, 0.7071, 0.0984), ('Gaussian', 1.0, 1.0, 0.0524)]
    """
    if not isinstance(noises, Mapping) or not noises:
        raise InputError('noises must be a mapping from names to noises, such as {"Gaussian": Gaussian(1.0)}')
    gap = positive("distance", distance)
    return tuple(_measured(name, noise, gap, ranges, epsilons) for name, noise in noises.items())


def _measured(
    name: str, noise: Noise, distance: float, ranges: tuple[float, float], epsilons: Sequence[float]
) -> Compared:
    if not isinstance(noise, Noise) or noise.dimension != 1:
        raise InputError(f"noises are compared on the line; {name!r} is not a noise in one dimension")
    promise = floor(noise, [[1.0]], ranges=ranges)
    at_zero, *deltas = (float(value) for value in delta(noise, distance, [0.0, *epsilons]))
    return Compared(
        name,
        bound=max(abs(noise.knots[0]), abs(noise.knots[-1])),
        size=noise.unit,
        unbiased=float(promise.worst_entry),
        any_estimator=float(promise.any_estimator[0]),
        promised=float(promise.distinguish(distance)),
        told_apart=(1 + at_zero) / 2,
        epsilons=tuple(float(level) for level in epsilons),
        deltas=tuple(deltas),
        entropy=noise.entropy / math.log(2),
    )


def equal_usefulness(groups: Mapping[str, Sequence[Compared]]) -> Any:
    """Draw floors, curves δ(ε) and entropies of noises, three panels for each group of equally useful ones.

    The panels stand above each other, so that they can be read on a phone.

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
