"""Released tables as people read them, the same beside the data and behind a server: text, HTML, frames."""

import datetime
import html
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from errorfloor.errors import MissingExtraError
from errorfloor.floors.words import rounded_up

if TYPE_CHECKING:
    import pyarrow as pa

MOST_SHOWN = 60


class Stated(ABC):
    """A price or an answer, which says in words what it states."""

    @abstractmethod
    def explain(self) -> str:
        """Say in sentences what is certain, what nobody can learn, and what it costs."""

    @abstractmethod
    def outputs(self) -> list[dict[str, Any]]:
        """Give what is stated of each output, as plain JSON types."""

    def __repr__(self) -> str:
        return self.explain()


class ReleasedTable(Stated):
    """A released table that shows itself, with what is stated of it."""

    table: "pa.Table"

    def to_arrow(self) -> "pa.Table":
        """Give the released table."""
        return self.table

    def to_pandas(self) -> Any:
        """Give the released table as a pandas frame (extra ``pandas``)."""
        try:
            import pandas  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtraError("pandas", "pandas") from None
        return self.table.to_pandas()

    def text(self) -> str:
        """Write the table as text, each released number with its bound."""
        return text_table(self.table, self.outputs())

    def __repr__(self) -> str:
        return f"{self.text()}\n\n{self.explain()}"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{html.escape(name)}</th>" for name in self.table.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape('' if v is None else str(v))}</td>" for v in row.values()) + "</tr>"
            for row in self.table.slice(0, MOST_SHOWN).to_pylist()
        )
        if self.table.num_rows > MOST_SHOWN:
            rows += f'<tr><td colspan="{self.table.num_columns}">{_further(self.table)}</td></tr>'
        said = "".join(f"<p>{html.escape(line)}</p>" for line in self.explain().split("\n"))
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{said}"


def text_table(table: "pa.Table", outputs: Sequence[Mapping[str, Any]]) -> str:
    """Write a table as text, each released number with its bound; the columns of certain intervals are left out.

    >>> import pyarrow as pa
    >>> outputs = [{"name": "mean", "exact": False, "low": -0.5, "high": 0.5, "step": "0.001", "unit": "kWh"}]
    >>> print(text_table(pa.table({"mean": [12.75], "mean_low": [12.25], "mean_high": [13.25]}), outputs))
    mean
    ────────────────
    12.750 ± 0.5 kWh
    """
    noisy = {one["name"]: one for one in outputs if not one["exact"]}
    ends = {f"{name}{end}" for name in noisy for end in ("_low", "_high")}
    names = [name for name in table.column_names if name not in ends]
    rows = [[_cell(row, name, noisy.get(name)) for name in names] for row in table.slice(0, MOST_SHOWN).to_pylist()]
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(names)]
    lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip()]
    lines += ["  ".join("─" * width for width in widths)]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if table.num_rows > MOST_SHOWN:
        lines.append(_further(table))
    return "\n".join(lines)


def _further(table: "pa.Table") -> str:
    return f"… and {table.num_rows - MOST_SHOWN:,} more rows"


def _cell(row: Mapping[str, Any], name: str, output: Mapping[str, Any] | None) -> str:
    value = row[name]
    if value is None:
        return "–"
    if output is None:
        return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)
    unit = f" {output['unit']}" if output["unit"] else ""
    if output.get("least"):  # each has a bound of its own, of at most five digits, and the lattice that goes with it
        bound = float(f"{(row[f'{name}_high'] - row[f'{name}_low']) / 2:.5g}")
        after = max(0, -math.floor(math.log10(bound / 100) + 1e-9))
        return f"{value:.{after}f} ± {rounded_up(bound)}{unit}"
    number = f"{value:.{decimals(output['step'])}f}"
    if "quantile" in output:
        low, high = (f"{row[f'{name}{end}']:.{decimals(output['step'])}f}" for end in ("_low", "_high"))
        return f"{low} … {high}{unit}"
    if "parts" in output:
        half = (row[f"{name}_high"] - row[f"{name}_low"]) / 2
        return f"{number} ± {rounded_up(half * (1 - 1e-9), 6)}{unit}"
    if output["high"] is not None and output["low"] == -output["high"]:
        return f"{number} ± {rounded_up(output['high'], 6)}{unit}"
    return f"{number}{unit}"


def decimals(step: str) -> int:
    """Give how many digits after the point a multiple of a decimal step needs.

    >>> decimals("0.005"), decimals("10")
    (3, 0)
    """
    return len(step.partition(".")[2])
