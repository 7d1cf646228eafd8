"""Pictures of policies: the law of the answer over the true values, and what it tells."""

from typing import Any

import numpy as np

from errorfloor.plots.canvas import canvas, with_unit
from errorfloor.policies import Policy

POINTS = 401
FAINT = 1e-3  # of the highest; fainter answers stay white


def policy(policy: Policy, *, unit: str = "", title: str = "") -> Any:
    """Draw p(y|s) as a map, and below it the information and the mean loss over s with their suprema.

    >>> from errorfloor.policies import Cells
    >>> two = Policy([0.0, 1.0], Cells.of_points([0, 1]), [[0.8, 0.2], [0.2, 0.8]])
    >>> [axes.get_ylabel() for axes in policy(two, unit="kWh").axes[:3]]
    ['answer y (kWh)', 'information (1/kWh²)', 'mean loss']
    """
    figure, (above, middle, below) = canvas(
        3, 1, width=6.8, height=2.6, sharex=True, gridspec_kw={"height_ratios": [2.4, 1, 1]}
    )
    s = np.linspace(policy.values.low, policy.values.high, POINTS)
    _map(figure, above, policy, s, unit)
    above.set_title(title)
    _curve(middle, s, policy.information(s), policy.largest_information)
    middle.set_ylabel(with_unit("information", f"1/{unit}²" if unit else ""))
    _curve(below, s, policy.expected_loss(s), policy.largest_loss)
    below.set_ylabel("mean loss")
    below.set_xlabel(with_unit("true value s", unit))
    return figure


def _map(figure: Any, axes: Any, policy: Policy, s: Any, unit: str) -> None:
    law = policy.law(s)
    cells = policy.cells
    if cells.are_points:
        gaps = np.diff(cells.middle)
        half = gaps.min() / 2 if gaps.size else 0.5
        low, high, shown = cells.low - half, cells.high + half, law
        label = "probability"
    else:
        low, high, shown = cells.low, cells.high, law / cells.width
        label = with_unit("density", f"1/{unit}" if unit else "")
    edges = np.unique(np.concatenate([low, high]))
    height = np.full((len(s), len(edges) - 1), np.nan)
    height[:, np.searchsorted(edges, low)] = np.where(shown > FAINT * shown.max(), shown, np.nan)
    step = (s[1] - s[0]) / 2
    image = axes.pcolormesh(
        np.append(s - step, s[-1] + step), edges, height.T, cmap="viridis", vmin=0, shading="flat", rasterized=True
    )
    figure.colorbar(image, ax=axes, label=label)
    axes.plot(s, s, color="#cc4125", linewidth=1.0, linestyle=":")
    axes.set_ylim(min(edges[0], s[0]), max(edges[-1], s[-1]))
    axes.set_ylabel(with_unit("answer y", unit))
    axes.grid(visible=False)


def _curve(axes: Any, s: Any, values: Any, top: float) -> None:
    axes.plot(s, values)
    axes.axhline(top, color="#888888", linestyle="--", linewidth=1)
    axes.annotate(f"supremum {top:.3g}", (s[0], top), va="bottom", fontsize=8, color="#555555")
    axes.set_ylim(0, 1.2 * top)
