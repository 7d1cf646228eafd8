"""Pictures of attacks: what they attained beside what a floor allows."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from errorfloor.plots.canvas import COLOURS, canvas

if TYPE_CHECKING:
    from errorfloor.attacks import Finding


def findings(found: "Sequence[Finding]", title: str = "", *, names: Sequence[str] | None = None) -> Any:
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
    if title:
        axes.set_title(title)
    return figure
