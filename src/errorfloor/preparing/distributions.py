"""Numbers of rows between softened edges, from what was released for each edge: arithmetic, so it costs nothing.

*Guarantee* (``distributions.proof.md``): the number of rows, those on a ramp counted in part, lies between the ends,
and within the bound that was asked for. The bins of a histogram add up to all rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from errorfloor.arithmetic import arrow
from errorfloor.floors.words import rounded_up
from errorfloor.preparing.derived import Bounded, released
from errorfloor.preparing.preparation import Prepared, PreparedOutput
from errorfloor.preparing.rounding import rounded
from errorfloor.pricing.words import number
from errorfloor.sql.question import Bin


def bin_columns(wanted: Bin, prepared: Prepared) -> dict[str, Any]:
    """Give the columns of a bin: the number of rows, and the ends of where it certainly lies."""
    parts = [one for one in prepared.outputs if one.output.part_of == wanted]
    there = np.logical_and.reduce([~arrow.nulls(one.kept) for one in parts])
    found = {one.output.name.rpartition("/")[2]: released(one, prepared) for one in parts}
    less, whole = found.get("start"), found["rows" if wanted.end is None else "end"]
    value, low, high = _less(whole, less)
    low, high = np.maximum(low, 0.0), np.minimum(high, prepared.bounds.rows[prepared.bounds.kind])
    lattices = [one.added.narrowest.lattice for one in parts if one.added is not None]
    columns = {"": value, "_low": low, "_high": high}
    if lattices:  # all of them are multiples of a part of the finest step; doubles are near to that
        finest = min(lattices, key=lambda one: one.size)
        columns = {end: rounded(values, finest) for end, values in columns.items()}
    return {f"{wanted.name}{end}": arrow.column(values, there) for end, values in columns.items()}


def _less(whole: Bounded, less: Bounded | None) -> tuple[Any, Any, Any]:
    if less is None:
        return whole.number, whole.around.low, whole.around.high
    return whole.number - less.number, whole.around.low - less.around.high, whole.around.high - less.around.low


def bins_where(family: Sequence[Bin], one: PreparedOutput, prepared: Prepared) -> str:
    """Say what is certain of the bins of a distribution, from one of their parts, and how edges are softened."""
    if one.constant is not None and one.constant.is_empty:
        return f"{one.output.family} has no values: there are no rows to count."
    declared, width = prepared.table.private[family[0].column], family[0].width
    unit = f" {declared.unit}" if declared.unit else ""
    edges = list(dict.fromkeys(edge for bin_ in family for edge in bin_.edges))
    least, most = (rounded_up(bound * one.output.span, 6) for bound in bounds_of(one))
    within = f"±{most}" if least == most else f"±{least} to ±{most}, by group,"
    names = family[0].name if len(family) == 1 else f"{family[0].name} … {family[-1].name}"
    ramps = [f"{number(edge - width / 2)} … {number(edge + width / 2)}" for edge in edges]
    each, between = ("", "") if len(edges) == 1 else (" each", " and " if len(edges) == 2 else ", …, ")
    shown = between.join(dict.fromkeys([ramps[0], ramps[-1]]))
    return (
        f"{names} {'is the number' if len(family) == 1 else 'are numbers'} of rows by {family[0].column}, certainly "
        f"within {within} of the truth with {family[0].column} clamped to {number(declared.low)} … "
        f"{number(declared.high)}{unit} and edges softened over {number(width)}{unit}{each}: rows at {shown}{unit} "
        f"count in part."
    )


def bounds_of(one: PreparedOutput) -> tuple[float, float]:
    """Give the smallest and the largest bound of a part that is released."""
    if one.added is not None:
        return one.added.narrowest.high, one.added.widest.high
    return (0.0 if one.constant is None else one.constant.error,) * 2


def bin_facts(wanted: Bin, one: PreparedOutput) -> dict[str, Any]:
    """Give what is stated of a bin beforehand, as plain JSON types."""
    plain: dict[str, Any] = {
        "name": wanted.name,
        "unit": wanted.unit,
        "exact": False,
        "edges": [None if edge is None else float(edge) for edge in (wanted.start, wanted.end)],
        "softness": float(wanted.width),
    }
    least, reach = (bound * one.output.span for bound in bounds_of(one))
    if one.added is not None:
        plain |= ({"least": least} if one.added.varies else {}) | {"step": one.added.narrowest.lattice.step}
    return plain | {"low": -reach, "high": reach}
