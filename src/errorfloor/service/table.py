"""Laying out released numbers: order, limit and text; all of it after the noise."""

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.checks import Array
from errorfloor.floors.words import rounded_up
from errorfloor.identity import Part
from errorfloor.sql.plan import Question

if TYPE_CHECKING:
    from errorfloor.service.preparation import Prepared

MOST_SHOWN = 60
FORMULA = "=+-@\t\r"  # how a formula begins


def arranged(
    question: Question, groups: Sequence[tuple[Part, ...]], released: Mapping[str, Sequence[Any]]
) -> tuple[int, ...]:
    """Give the groups that are shown, in the order in which they are shown.

    Without ORDER BY they come in the order of the keys shown. A null counts as smaller than everything else.
    """
    columns: dict[str, Sequence[Any]] = {
        key.name: [group[place] for group in groups] for place, key in enumerate(question.keys)
    }
    shown = [name for name in question.selected if name in columns and name not in released]
    columns |= released
    places = np.arange(len(groups))
    for name in reversed(shown):
        places = places[_order(columns[name], places, descending=False)]
    for wanted in reversed(question.order):
        places = places[_order(columns[wanted.name], places, descending=wanted.descending)]
    return tuple(places[: question.limit].tolist())


def _order(values: Sequence[Any], places: Array, *, descending: bool) -> Array:
    """Give the stable order of the values in some places; of a large table without holding other threads up."""
    try:
        column = pa.array(values).take(pa.array(places))
    except (pa.ArrowException, OverflowError):  # numbers that Arrow does not hold
        ranks = [(False, 0) if values[place] is None else (True, values[place]) for place in places.tolist()]
        return np.array(sorted(range(len(ranks)), key=ranks.__getitem__, reverse=descending), dtype=int)
    order, nulls = ("descending", "at_end") if descending else ("ascending", "at_start")
    return np.asarray(pc.array_sort_indices(column, order=order, null_placement=nulls))


def plain_key(value: Part) -> Any:
    """Give a key as a type that Arrow has: numbers that are not whole become doubles."""
    return float(value) if isinstance(value, (Decimal, Fraction)) else value


def text_table(table: pa.Table, prepared: "Prepared") -> str:
    """Write a table as text, each released number with its bound."""
    bounds = {o.output.name: o for o in prepared.outputs if o.added is not None}
    names = [name for name in table.column_names if name in prepared.question.selected]
    rows = [[_cell(row, name, bounds) for name in names] for row in table.slice(0, MOST_SHOWN).to_pylist()]
    widths = [max(len(name), *(len(row[i]) for row in rows)) if rows else len(name) for i, name in enumerate(names)]
    lines = ["  ".join(name.ljust(width) for name, width in zip(names, widths, strict=True)).rstrip()]
    lines += ["  ".join("─" * width for width in widths)]
    lines += ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if table.num_rows > MOST_SHOWN:
        lines.append(f"… and {table.num_rows - MOST_SHOWN:,} more rows")
    return "\n".join(lines)


def _cell(row: dict[str, Any], name: str, bounds: Mapping[str, Any]) -> str:
    value = row[name]
    if value is None:
        return "–"
    if name not in bounds:
        return value.isoformat(sep=" ") if isinstance(value, datetime.datetime) else str(value)
    added, unit = bounds[name].added, bounds[name].output.unit
    suffix = f" {unit}" if unit else ""
    number = f"{value:.{decimals(added.lattice.step)}f}"
    if added.low == -added.high:
        return f"{number} ± {rounded_up(added.high, 6)}{suffix}"
    return f"{number}{suffix}"


def without_formulas(table: pa.Table) -> pa.Table:
    """Put a quote before texts that a spreadsheet would take for a formula, and could be made to run.

    >>> without_formulas(pa.table({"area": ["=HYPERLINK(1)", "north", None]})).column(0).to_pylist()
    ["'=HYPERLINK(1)", 'north', None]
    """
    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            values = [f"'{one}" if one and one[0] in FORMULA else one for one in table.column(place).to_pylist()]
            table = table.set_column(place, field, pa.array(values, field.type))
    return table


def decimals(step: str) -> int:
    """Give how many digits after the point a multiple of a decimal step needs.

    >>> decimals("0.005"), decimals("10")
    (3, 0)
    """
    return len(step.partition(".")[2])
