"""What is asked for: columns with noise or policy, the row key, the batch, and what may be published beside them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import pyarrow as pa

from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.report import Release
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing, Part
from errorfloor.noise import Noise
from errorfloor.policies import Policy
from errorfloor.random import SAMPLER
from errorfloor.support import Interval


@dataclass(frozen=True)
class Request:
    """A release that makes sense in itself; no data has been looked at."""

    columns: tuple[RuledColumn, ...]
    key: tuple[str, ...]
    batch: str
    ring: KeyRing = field(repr=False)
    public: tuple[str, ...] = ()
    order_is_public: bool = False
    again: bool = False
    overwrite: bool = False
    progress: Callable[[int], None] | None = None
    declared: tuple[Part, ...] | None = None

    @property
    def naming(self) -> Part:
        """What the noise is named by: the batch and, of a declared table, which snapshot it is.

        A text and a tuple are never one part of a label, so declared and undeclared releases share no noise.
        """
        return self.batch if self.declared is None else (SAMPLER, *self.declared, self.batch)

    def choose(self, schema: pa.Schema) -> tuple[list[str], tuple[str, ...]]:
        """Give the columns that will be published, in the source's order, and those that will not."""
        if len({name.lower() for name in schema.names}) < len(schema.names):
            raise InputError("the table has two columns of one name: rename one")
        wanted = {*self.key, *(column.name for column in self.columns), *self.public}
        for name in wanted:
            if name not in schema.names:
                near = get_close_matches(name, schema.names, 1)
                hint = f": did you mean {near[0]}?" if near else ": its columns are named otherwise"
                raise InputError(f"the table has no column {name}{hint}")
        chosen = [name for name in schema.names if name in wanted]
        return chosen, tuple(name for name in schema.names if name not in wanted)

    def report(self, target: Path, key_id: str, chosen: Sequence[str], left_out: tuple[str, ...]) -> Release:
        """Give what can be said before the rows are counted."""
        noisy = {column.name for column in self.columns}
        unchanged = tuple(name for name in chosen if name not in noisy)
        return Release(target, 0, self.batch, key_id, self.columns, unchanged, left_out)

    def not_unique(self) -> InputError:
        """Give the error that refuses a table in which rows share their key."""
        return InputError(
            f"the row key {', '.join(self.key)} is not unique: some keys name several rows, which would share their "
            f"noise; name more columns"
        )


def plan_columns(
    columns: Mapping[str, Noise | Interval | Policy],
    key: Sequence[str],
    batch: str,
    ranges: Mapping[str, tuple[float, float]],
    units: Mapping[str, str],
    steps: Mapping[str, str],
    out_of_range: str,
    nulls: str,
) -> tuple[RuledColumn, ...]:
    """Check what was asked for and plan every column; nothing is read yet."""
    if not columns:
        raise InputError("name at least one column to release, with its noise")
    if isinstance(key, str) or not key or len(set(key)) < len(key):
        raise InputError("key must be a list of different columns that together name a row")
    if not isinstance(batch, str) or not batch.strip():
        raise InputError("batch must be a name that no other release of other data has had, such as 2013-q1")
    for stated, what in ((ranges, "range"), (units, "unit"), (steps, "step")):
        if unknown := set(stated) - set(columns):
            raise InputError(f"a {what} is given for {', '.join(sorted(unknown))}, which is not released")
    answered = {name for name, wanted in columns.items() if isinstance(wanted, Policy)}  # which has values of its own
    if out_of_range == "clamp" and set(ranges) | answered != set(columns):
        raise InputError("clamping needs the range of every released column")
    if both := set(columns) & set(key):
        raise InputError(f"{', '.join(sorted(both))} cannot be both key and released: the key is published as it is")
    planned: list[RuledColumn] = []
    for name, wanted in columns.items():
        rules: dict[str, Any] = {
            "step": steps.get(name),
            "range": _range(name, ranges.get(name)),
            "unit": units.get(name, ""),
            "out_of_range": out_of_range,
            "nulls": nulls,
        }
        if isinstance(wanted, Policy):
            planned.append(AnsweredColumn.plan(name, wanted, **rules))
        else:
            planned.append(ReleasedColumn.plan(name, wanted, **rules))
    return tuple(planned)


def _range(name: str, given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = given
        interval = Interval(low, high)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the range of {name} must be a pair (low, high) with low < high: {problem}") from None
    return interval.low, interval.high
