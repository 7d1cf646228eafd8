"""Do the rows of a stream ascend strictly by their key? Then they are in order, and no two share a key."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import pyarrow as pa
import pyarrow.compute as pc

from errorfloor.bulk.request import Request
from errorfloor.checks import Array
from errorfloor.errors import ErrorFloorError


class Step(Enum):
    """How the keys of neighbouring rows compare, at worst."""

    ASCENDS = "ascends"
    REPEATS = "repeats"
    DESCENDS = "descends"


class DescentError(ErrorFloorError):
    """Rows came whose keys do not ascend; whoever hoped so has to sort them. It never leaves this room."""


@dataclass(frozen=True)
class Stretch:
    """What is kept of some rows that follow each other: their worst step, and their first and last keys.

    >>> rows = pa.record_batch({"id": [1, 1, 2], "day": [1, 2, 1], "kwh": [9.0, 8.0, 7.0]})
    >>> one = Stretch.of(rows, ["id", "day"])
    >>> one.step, one.then(Stretch.of(rows.slice(2), ["id", "day"])), Stretch.of(rows, ["id"]).step
    (<Step.ASCENDS: 'ascends'>, <Step.REPEATS: 'repeats'>, <Step.REPEATS: 'repeats'>)
    """

    step: Step
    first: tuple[pa.Array, ...]
    last: tuple[pa.Array, ...]

    @classmethod
    def of(cls, rows: pa.RecordBatch, key: Sequence[str]) -> "Stretch":
        """Look at rows, of which there is at least one and whose keys have no nulls."""
        columns = [rows.column(name) for name in key]
        ends = (tuple(column.slice(place, 1) for column in columns) for place in (0, rows.num_rows - 1))
        return cls(worst_step(columns), *ends)

    def then(self, following: "Stretch") -> Step:
        """Compare the last row with the first of the rows that follow."""
        pairs = zip(self.last, following.first, strict=True)
        return worst_step([pa.concat_arrays(pair) for pair in pairs])


class AscentWatch:
    """Looks at the keys of all rows and stops the stream as soon as they do not ascend strictly.

    Guarantee: a stream that came through has its rows in the order of their key, and no two of them share it; what is
    checked are the rows that are released, not an earlier reading of them.
    """

    def __init__(self, request: Request, *, is_sorted: bool) -> None:
        self._request, self._is_sorted = request, is_sorted
        self._last: Stretch | None = None

    def look(self, batch: pa.RecordBatch, tags: Array) -> Stretch:
        """Look at the rows of a batch, which has some."""
        return Stretch.of(batch, self._request.key)

    def take(self, found: Stretch) -> None:
        """Compare it with the batch before; equal neighbours are a repeated key, whether or not the rest ascends."""
        steps = {found.step} if self._last is None else {found.step, self._last.then(found)}
        self._last = found
        if Step.REPEATS in steps:
            raise self._request.not_unique()
        if Step.DESCENDS in steps:
            if self._is_sorted:
                raise ErrorFloorError("the rows did not come sorted by their key: nothing was released")
            raise DescentError("the rows are not stored in the order of their key")

    def settle(self) -> None:
        """Nothing is left to check: a stream that came to its end ascends."""


def worst_step(columns: Sequence[pa.Array]) -> Step:
    """Compare each row with the next, column after column, in the order in which DuckDB sorts.

    Numbers, dates and moments compare as numbers, texts byte by byte as they are encoded in UTF-8.

    >>> worst_step([pa.array(["a", "ä", "z"])])
    <Step.DESCENDS: 'descends'>
    """
    tied = None
    for column in columns:
        earlier, later = column.slice(0, len(column) - 1), column.slice(1)
        falls, equal = pc.greater(earlier, later), pc.equal(earlier, later)
        if tied is not None:
            falls, equal = pc.and_(falls, tied), pc.and_(equal, tied)
        if pc.any(falls).as_py():
            return Step.DESCENDS
        tied = equal
        if not pc.any(tied).as_py():
            return Step.ASCENDS
    return Step.REPEATS
