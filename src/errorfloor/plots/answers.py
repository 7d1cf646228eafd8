"""Pictures of answers: released numbers with the intervals in which the truth certainly lies, and used allowances.

The picture of a released table follows from its keys: bars, a course over dates or numbers, or small multiples. That of
attacks shows what they attained beside what a floor allows.
"""

import datetime
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.plots.canvas import COLOURS, canvas, with_unit

if TYPE_CHECKING:
    from errorfloor.attacks import Finding

MOST_PANELS = 40
MOST_BARS = 40  # in one panel
COURSE = 4  # values of a number or date from which it is a course
Row = Mapping[str, Any]


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


def released(rows: Sequence[Row], outputs: Sequence[Mapping[str, Any]], name: str | None = None) -> Any:
    """Draw one output of an answer, each released number with the interval in which the truth certainly lies.

    ``rows`` are those of the released table, ``outputs`` what is stated of its columns; ``name`` is one of them, by
    default the first with noise. What is neither an output nor the end of an interval is a key. Dates and numbers run
    along the picture; other keys are bars, or panels with one scale.

    Raises InputError for a name that is no output, and where there is nothing to draw, or too much.

    >>> outputs = [{"name": "mean", "unit": "kWh", "exact": False}]
    >>> rows = [{"tariff": name, "mean": 11.2, "mean_low": 10.7, "mean_high": 11.7} for name in ("Std", "ToU")]
    >>> figure = released(rows, outputs)
    >>> figure.axes[0].get_xlabel(), [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ('mean (kWh)', ['Std', 'ToU'])
    """
    one = _chosen(outputs, name)
    ends = {f"{each['name']}{end}" for each in outputs for end in ("", "_low", "_high")}
    drawn = [row for row in rows if isinstance(row[one["name"]], (int, float))]
    if not drawn:
        raise InputError(f"{one['name']} has no number that could be drawn")
    kinds = {key: list(dict.fromkeys(row[key] for row in drawn)) for key in drawn[0] if key not in ends}
    varied = {key: values for key, values in kinds.items() if len(values) > 1}
    across = _across(varied)
    panels: dict[str, list[Row]] = {}
    for row in drawn:
        panels.setdefault(", ".join(_text(row[key]) for key in varied if key != across), []).append(row)
    ordered = across is not None and _is_course(varied[across])
    longest = max(map(len, panels.values()))
    if len(panels) > MOST_PANELS or (longest > MOST_BARS and not ordered):
        raise InputError(
            f"{len(drawn):,} numbers by {', '.join(varied)} do not fit in a picture of at most {MOST_PANELS} panels "
            f"with {MOST_BARS} bars: ask for fewer groups, or draw answer.to_pandas() your way"
        )
    values = [] if across is None else varied[across]
    along = sorted(values) if ordered else [_text(value) for value in values]
    return _figure(panels, one, across, along, ordered)


def _chosen(outputs: Sequence[Mapping[str, Any]], name: str | None) -> Mapping[str, Any]:
    named = {one["name"]: one for one in outputs}
    if name is not None and name not in named:
        raise InputError(f"there is no output {name!r} to draw; there are {', '.join(named)}")
    if name is not None:
        return named[name]
    return next((one for one in outputs if not one["exact"]), outputs[0])


def _across(varied: Mapping[str, list[Any]]) -> str | None:
    """Give the key that runs along the picture: the course with most values, or else the key with most."""
    courses = {key: values for key, values in varied.items() if _is_course(values)}
    found = courses or varied
    return max(found, key=lambda key: len(found[key])) if found else None


def _is_course(values: Sequence[Any]) -> bool:
    given = [value for value in values if value is not None]
    dated = all(isinstance(value, datetime.date) for value in given)
    counted = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in given)
    return len(given) >= COURSE and len(given) == len(values) and (dated or counted)


def _figure(
    panels: Mapping[str, list[Row]], one: Mapping[str, Any], across: str | None, along: Sequence[Any], ordered: bool
) -> Any:
    columns = 2 if len(panels) in (2, 4) else min(3, len(panels))
    lines = -(-len(panels) // columns)
    height = 2.6 if ordered else 0.9 + 0.34 * max(1, len(along))
    width = 9.0 / columns if columns > 1 else 7.2
    figure, axes = canvas(lines, columns, width=width, height=height, sharex=True, sharey=True, squeeze=False)
    flat = axes.ravel()
    for place, (title, rows) in zip(flat, panels.items(), strict=False):
        if ordered:
            _course(place, rows, one, str(across))
        else:
            _bars(place, rows, one, across, along)
        if len(panels) > 1:
            place.set_title(title)
    for number, place in enumerate(flat[len(panels) :], len(panels)):
        place.set_visible(False)
        flat[number - columns].tick_params(axis="x", labelbottom=True)
    label = with_unit(one["name"], one["unit"] or "")
    if not ordered:
        axes[0, 0].invert_yaxis()
        figure.supxlabel(label) if len(panels) > 1 else axes[0, 0].set_xlabel(label)
        return figure
    figure.supylabel(label) if len(panels) > 1 else axes[0, 0].set_ylabel(label)
    for place in axes[-1]:
        place.set_xlabel(across)
    if isinstance(along[0], datetime.date):
        for place in flat:
            place.tick_params(axis="x", labelrotation=30)
    return figure


def _ends(rows: Sequence[Row], one: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    """Give the ends of intervals; where there is no end, the number itself."""
    name = one["name"]
    low, high = (
        [row[f"{name}{end}"] if math.isfinite(row[f"{name}{end}"]) else row[name] for row in rows]
        for end in ("_low", "_high")
    )
    return low, high


def _course(axes: Any, rows: Sequence[Row], one: Mapping[str, Any], across: str) -> None:
    rows = sorted(rows, key=lambda row: row[across])
    place = [row[across] for row in rows]
    if not one["exact"]:
        axes.fill_between(place, *_ends(rows, one), color=COLOURS[0], alpha=0.2, linewidth=0)
    axes.plot(place, [row[one["name"]] for row in rows], color=COLOURS[0], marker="o", markersize=3)


def _bars(axes: Any, rows: Sequence[Row], one: Mapping[str, Any], across: str | None, along: Sequence[str]) -> None:
    labels = list(along) or [one["name"]]
    place = [0 if across is None else labels.index(_text(row[across])) for row in rows]
    values = [row[one["name"]] for row in rows]
    axes.barh(place, values, color=COLOURS[0], alpha=0.35, height=0.6)
    if not one["exact"]:
        axes.hlines(place, *_ends(rows, one), color=COLOURS[0], linewidth=2.5)
        axes.plot(values, place, "o", color=COLOURS[0], markersize=4)
    axes.set_yticks(range(len(labels)), labels)


def _text(value: Any) -> str:
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date().isoformat()
    return "–" if value is None else str(value)


def findings(found: "Sequence[Finding]", *, names: Sequence[str] | None = None) -> Any:
    """Draw each attack's error over its floor, with its interval; all of it left of 1 would be a broken floor.

    Choices between two values are drawn as discs, estimates as squares. ``names`` stand in place of those of the
    attacks.

    >>> from errorfloor.attacks import Finding
    >>> one = Finding("coin", "guess", runs=200, right=104, promised=0.6, distance=5.0, unit="kWh", threshold=158)
    >>> len(findings([one]).axes)
    1
    """
    figure, axes = canvas(width=7.0, height=1.2 + 0.32 * len(found))
    shown = [one.attack for one in found] if names is None else list(names)
    widest = max((end for one in found for end in (*one.interval, one.ratio) if math.isfinite(end)), default=1.0)
    for place, one in enumerate(reversed(found)):
        low, high = one.interval[0], min(one.interval[1], 1.1 * widest)  # no end: beyond all others
        colour = COLOURS[1] if one.beaten else COLOURS[0]
        axes.plot([low, high], [place, place], color=colour, linewidth=2)
        axes.plot([one.ratio], [place], "s" if one.errors else "o", color=colour)
    for marker, label in (("o", "chose between two values"), ("s", "estimated")):
        axes.plot([], [], marker, color=COLOURS[0], label=label)
    axes.legend(loc="upper left", fontsize=8, frameon=False)
    axes.axvspan(0.0, 1.0, color="#444444", alpha=0.07, linewidth=0)
    axes.axvline(1.0, color="#444444", linewidth=1, linestyle="--")
    axes.set_yticks(range(len(found)), list(reversed(shown)))
    axes.set_xlabel("attained error over its floor, with its interval")
    axes.set_xlim(left=0)
    return figure
