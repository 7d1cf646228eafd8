"""Released cells as compressed Arrow columns: what is kept of an answer, and all that is stated of its cells.

Two streams follow each other: one row for each group (its keys, its kind, the released numbers, its noise where noises
differ), and one for each kind of group (how far private values move its cells, and what those can be). All of it
follows from what was released and from public facts.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from errorfloor.answering.cells import most_rows
from errorfloor.arithmetic import arrow
from errorfloor.checks import Array
from errorfloor.preparing.preparation import Prepared
from errorfloor.pricing import Bounds, OutputBounds
from errorfloor.pricing.bounding import RowSlopes
from errorfloor.pricing.keys import GroupKeys, KeyColumn
from errorfloor.pricing.owners import OwnerCounts
from errorfloor.sql.sums import Layout

FEW = 2**14  # groups: handing the columns of fewer to other threads takes longer than their work, for the same bytes


@dataclass(frozen=True, eq=False)
class PackedCells:
    """What was kept of an answer: its groups, and for each output the bounds of each kind of group and the numbers."""

    groups: GroupKeys
    kind: Array
    rows: Array
    most: Array | None  # the rows of an owner in each group, at most
    bounds: tuple[OutputBounds, ...]
    numbers: tuple[Any, ...]
    levels: tuple[Any, ...]  # for each output the noise of each group; None where all have the same


class Packing:
    """Cells that are packed as they are released, some groups after others, in order."""

    def __init__(self, prepared: Prepared) -> None:
        bounds = prepared.bounds
        self._bounds, self._sink = bounds, pa.BufferOutputStream()
        self._writer: Any = None  # of the stream that is being written
        self._cells = {f"k{j}": one.values for j, one in enumerate(bounds.groups.columns)}
        self._cells |= {"kind": arrow.column(bounds.kind)}
        for j, one in enumerate(prepared.outputs):
            if one.added is not None and one.added.varies:
                noises = [json.dumps(noise.to_dict(), sort_keys=True) for noise in one.added.each]
                self._cells[f"added{j}"] = pa.DictionaryArray.from_arrays(one.added.level[bounds.kind], noises)
        if bounds.owners is not None:
            self._cells["most"] = arrow.column(most_rows(bounds.owners, len(bounds.groups)))

    def write(self, start: int, count: int, numbers: Sequence[Any]) -> None:
        """Write ``count`` groups from ``start`` on, with the released numbers of each output."""
        cells = {name: column.slice(start, count) for name, column in self._cells.items()}
        self._write(pa.table(cells | {f"y{j}": one for j, one in enumerate(numbers)}))

    def finished(self) -> bytes:
        """Give what was written, with what holds for each kind of group."""
        bounds = self._bounds
        kinds = {"rows": arrow.column(bounds.rows.astype(np.int64))}
        for j, bounded in enumerate(bounds.outputs):
            kinds |= {f"defined{j}": arrow.column(bounded.defined), f"error{j}": arrow.column(bounded.error)}
            kinds |= {f"{name}{j}": arrow.column(getattr(bounded, name)) for name in ("owner", "low", "high")}
            for place, slopes in enumerate(bounded.slopes.values()):
                kinds[f"slope{j}_{place}"] = arrow.column(slopes.by_group(len(bounds.rows)))
        self._close()
        self._write(pa.table(kinds))
        self._close()
        content: bytes = self._sink.getvalue().to_pybytes()
        return content

    def _write(self, table: pa.Table) -> None:
        if self._writer is None:
            how = pa.ipc.IpcWriteOptions(compression="zstd", use_threads=len(self._bounds.groups) > FEW)
            self._writer = pa.ipc.new_stream(self._sink, table.schema, options=how)
        self._writer.write_table(table)

    def _close(self) -> None:
        self._writer.close()
        self._writer = None


def pack(prepared: Prepared) -> bytes:
    """Write the cells of a question that was answered."""
    packing = Packing(prepared)
    packing.write(0, len(prepared.bounds.groups), [one.kept for one in prepared.outputs])
    return packing.finished()


def unpack(content: bytes, units: Sequence[int | None], columns: Sequence[Sequence[str]]) -> PackedCells:
    """Read what ``pack`` wrote; ``units`` are those of the keys, ``columns`` the private ones that move each output."""
    source, how = pa.BufferReader(content), pa.ipc.IpcReadOptions(use_threads=len(content) > 8 * FEW)
    cells, kinds = (pa.ipc.open_stream(source, options=how).read_all() for _ in range(2))

    def of_kind(name: str) -> Array:
        return arrow.values_of(arrow.flat(kinds.column(name)))

    def bounds(j: int, moving: Sequence[str]) -> OutputBounds:
        error, place = of_kind(f"error{j}"), np.arange(kinds.num_rows)
        shape = kinds.num_rows, 1
        slopes = {
            column: RowSlopes(of_kind(f"slope{j}_{at}"), place, np.zeros_like(place), shape)
            for at, column in enumerate(moving)
        }
        possible = f"low{j}" in kinds.column_names  # what was kept by older versions says nothing of it
        low, high = (
            of_kind(f"{end}{j}") if possible else np.full(kinds.num_rows, endless)
            for end, endless in (("low", -np.inf), ("high", np.inf))
        )
        return OutputBounds(slopes, of_kind(f"owner{j}"), error, low, high, of_kind(f"defined{j}"))

    keys = tuple(KeyColumn(arrow.flat(cells.column(f"k{j}")), unit) for j, unit in enumerate(units))
    return PackedCells(
        GroupKeys(keys, cells.num_rows),
        arrow.values_of(arrow.flat(cells.column("kind"))),
        of_kind("rows"),
        arrow.values_of(arrow.flat(cells.column("most"))) if "most" in cells.column_names else None,
        tuple(bounds(j, moving) for j, moving in enumerate(columns)),
        tuple(arrow.flat(cells.column(f"y{j}")) for j in range(len(columns))),
        tuple(
            arrow.flat(cells.column(f"added{j}").unify_dictionaries()) if f"added{j}" in cells.column_names else None
            for j in range(len(columns))
        ),
    )


def bounds_of(table: str, chosen: Sequence[tuple[PackedCells, int]]) -> Bounds:
    """Give the bounds of outputs that were kept, one of each of these cells; all have the same groups."""
    first = chosen[0][0]
    together = all(cells is first for cells, _ in chosen)
    each = np.arange(first.groups.size)
    kind = first.kind if together else each
    outputs = [cells.bounds[j] if together else _spread(cells.bounds[j], cells.kind) for cells, j in chosen]
    place = np.arange(len(outputs[0].error))
    return Bounds(
        table=table,
        groups=first.groups,
        cells=[()],
        group=place,
        cell=np.zeros_like(place),
        kind=kind,
        rows=first.rows if together else first.rows[first.kind],
        layout=Layout({}, {}, rows=0),
        outputs=tuple(outputs),
        owners=None if first.most is None else OwnerCounts(each, each, first.most),
    )


def _spread(bounds: OutputBounds, kind: Array) -> OutputBounds:
    """Give the bounds of each group, where kinds are told apart in other ways."""
    place = np.arange(len(kind))
    slopes: Mapping[str, RowSlopes] = {
        column: RowSlopes(slopes.values[kind], place, np.zeros_like(place), (len(kind), 1))
        for column, slopes in bounds.slopes.items()
    }
    owner, error, low, high, defined = (
        one[kind] for one in (bounds.owner, bounds.error, bounds.low, bounds.high, bounds.defined)
    )
    return OutputBounds(slopes, owner, error, low, high, defined)
