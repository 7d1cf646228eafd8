"""Laying out released numbers: order, limit and text; all of it after the noise."""

import datetime
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

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
    columns |= released
    shown = [columns[name] for name in question.selected if name in columns and name not in released]
    places = sorted(range(len(groups)), key=lambda place: [_rank(values[place]) for values in shown])
    for wanted in reversed(question.order):
        values = columns[wanted.name]
        places.sort(key=partial(_ranked, values), reverse=wanted.descending)
    return tuple(places if question.limit is None else places[: question.limit])


def _ranked(values: Sequence[Any], place: int) -> tuple[bool, Any]:
    return _rank(values[place])


def _rank(value: Any) -> tuple[bool, Any]:
    return (False, 0) if value is None else (True, value)


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
