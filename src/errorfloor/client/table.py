"""A released table as text, as it is shown beside the data."""

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from errorfloor.floors.words import rounded_up

MOST_SHOWN = 60


def text_table(table: pa.Table, outputs: Sequence[Mapping[str, Any]]) -> str:
    """Write a table as text, each released number with its bound; the columns of certain intervals are left out.

    >>> outputs = [{"name": "mean", "exact": False, "low": -0.5, "high": 0.5, "step": "0.001", "unit": "kWh"}]
    >>> print(text_table(pa.table({"mean": [12.75], "mean_low": [12.25], "mean_high": [13.25]}), outputs))
    mean
    ────────────────
    12.750 ± 0.5 kWh
    """
    noisy = {one["name"]: one for one in outputs if not one["exact"]}
    ends = {f"{name}{end}" for name in noisy for end in ("_low", "_high")}
    names = [name for name in table.column_names if name not in ends]
    rows = [[_cell(row[name], noisy.get(name)) for name in names] for row in table.slice(0, MOST_SHOWN).to_pylist()]
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(names)]
    lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip()]
    lines += ["  ".join("─" * width for width in widths)]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if table.num_rows > MOST_SHOWN:
        lines.append(f"… and {table.num_rows - MOST_SHOWN:,} more rows")
    return "\n".join(lines)


def _cell(value: Any, output: Mapping[str, Any] | None) -> str:
    if value is None:
        return "–"
    if output is None:
        return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)
    unit = f" {output['unit']}" if output["unit"] else ""
    number = f"{value:.{len(output['step'].partition('.')[2])}f}"
    if output["high"] is not None and output["low"] == -output["high"]:
        return f"{number} ± {rounded_up(output['high'], 6)}{unit}"
    return f"{number}{unit}"
