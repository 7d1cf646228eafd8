"""Pictures of noise tables for counts: what small counts become, and how well neighbours can be told apart."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from errorfloor.errors import InputError
from errorfloor.plots.canvas import COLOURS, canvas
from errorfloor.policies.counts import CountTable


def count_tables(tables: Mapping[str, CountTable], *, most: int | None = None) -> Any:
    """Draw tables side by side, and beside them how well neighbouring counts can be told apart.

    >>> from errorfloor.policies.counts import design_counts
    >>> rules = {"max_noise": 2, "variance": 1.0, "keep_zero": True}
    >>> tables = {name: design_counts(**rules, objective=name) for name in ("average", "entropy")}
    >>> len(count_tables(tables).axes)
    4
    """
    if not isinstance(tables, Mapping) or not tables:
        raise InputError('tables must be a mapping from names to tables, such as {"average": table}')
    top = max(_top(table, most) for table in tables.values())
    figure, axes = canvas(1, len(tables) + 1, width=5.6 if len(tables) == 1 else 4.6, height=4.4)
    for n, (panel, (name, table)) in enumerate(zip(axes[:-1], tables.items(), strict=True)):
        _squares(figure, panel, table, top, bar=n == len(tables) - 1)
        panel.set_title(name)
    _neighbours(axes[-1], tables, top)
    axes[-1].set_title("one unit more or less")
    if len(tables) > 1:
        axes[-1].legend(frameon=False)
    return figure


def _top(table: CountTable, most: int | None) -> int:
    return 2 * table.max_noise + 1 if most is None else int(most)


def _squares(figure: Any, axes: Any, table: CountTable, top: int, bar: bool = True) -> None:
    laws = table.dense(0, top)[:, : top + table.max_noise + 1]
    image = axes.pcolormesh(
        np.arange(top + 2) - 0.5,
        np.arange(laws.shape[1] + 1) - 0.5,
        np.sqrt(laws.T),
        cmap="Blues",
        vmin=0,
        vmax=1,
    )
    if bar:
        marks = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
        scale = figure.colorbar(image, ax=axes, shrink=0.85, label="probability")
        scale.set_ticks([mark**0.5 for mark in marks], labels=[f"{mark:g}" for mark in marks])
    axes.plot([0, top], [0, top], color=COLOURS[1], linewidth=0.8)
    axes.set_xlabel("true count")
    axes.set_ylabel("published count")
    axes.grid(visible=False)


def _neighbours(axes: Any, tables: Mapping[str, CountTable], top: int) -> None:
    counts = np.arange(top + 1)
    for n, (name, table) in enumerate(tables.items()):
        floor = table.floor()
        right = [floor.distinguish(count=int(i)) for i in counts]
        axes.plot(counts, right, marker="os^Dv"[n % 5], markersize=4, linewidth=1.2, label=name)
    axes.axhline(0.5, color="#888888", linestyle="--", linewidth=1)
    axes.set_ylim(0.45, 1.0)
    axes.set_xlabel("true count i, against i + 1")
    axes.set_ylabel("right at even odds, exactly")
