"""Pictures of answers: released numbers with the intervals in which the truth certainly lies, and used allowances."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.plots.canvas import COLOURS, canvas, with_unit


def certain_intervals(
    labels: Sequence[str],
    series: Mapping[str, tuple[Sequence[float], Sequence[float], Sequence[float]]],
    *,
    unit: str = "",
    title: str = "",
) -> Any:
    """Draw released numbers, each with the interval in which the truth certainly lies.

    ``series`` maps a name to released numbers and the low and high ends of their intervals, one for each label.

    >>> figure = certain_intervals(["Jan", "Feb"], {"Std": ([11.2, 10.9], [10.7, 10.4], [11.7, 11.4])}, unit="kWh")
    >>> figure.axes[0].get_ylabel()
    'released (kWh)'
    """
    figure, axes = canvas(width=7.2)
    place = np.arange(len(labels))
    for index, (name, (values, low, high)) in enumerate(series.items()):
        if not len(values) == len(low) == len(high) == len(labels):
            raise InputError(f"series {name!r} needs one number and one interval for each of {len(labels)} labels")
        shift = (index - (len(series) - 1) / 2) * 0.18
        middle: Array = np.asarray(values, dtype=float)
        reach = np.abs(np.stack([middle - np.asarray(low, dtype=float), np.asarray(high, dtype=float) - middle]))
        axes.errorbar(
            place + shift, middle, yerr=reach, fmt="o", markersize=4, capsize=3, label=name, color=COLOURS[index % 8]
        )
    axes.set_xticks(place, labels, rotation=0 if len(labels) <= 8 else 45, ha="center" if len(labels) <= 8 else "right")
    axes.set_ylabel(with_unit("released", unit))
    if title:
        axes.set_title(title)
    if len(series) > 1:
        axes.legend(frameon=False)
    return figure


def allowances(used: Mapping[str, float]) -> Any:
    """Draw the share of each allowance that is used.

    >>> len(allowances({"meters.kwh": 0.03, "owners of meters": 0.4}).axes[0].patches)
    4
    """
    figure, axes = canvas(width=7.2, height=0.9 + 0.45 * max(1, len(used)))
    names = list(used)
    axes.barh(names, [1.0] * len(names), color="#e8e8e8")
    axes.barh(names, [min(1.0, share) for share in used.values()], color=COLOURS[0])
    for place, share in enumerate(used.values()):
        axes.text(
            min(1.0, share) + 0.01, place, "< 0.1 %" if 0 < share < 0.001 else f"{100 * share:.2g} %", va="center"
        )
    axes.set_xlim(0, 1.08)
    axes.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.0f} %")
    axes.set_xlabel("of the allowance used")
    axes.grid(False)
    return figure
