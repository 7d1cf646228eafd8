"""What is asked for: columns, the row key, the batch, what may be published beside them; and what is said about it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from errorfloor.accounts import explained
from errorfloor.bulk.answered import AnsweredColumn
from errorfloor.bulk.columns import ReleasedColumn
from errorfloor.bulk.ruled import RuledColumn
from errorfloor.errors import InputError
from errorfloor.identity import KeyRing, Part
from errorfloor.noise import Noise
from errorfloor.policies import Policy
from errorfloor.random import SAMPLER
from errorfloor.support import Interval

if TYPE_CHECKING:
    from errorfloor.charging.standing import Standing


@dataclass(frozen=True)
class Release:
    """What was released, in words and figures that may be published with it.

    >>> from errorfloor.bulk.columns import ReleasedColumn
    >>> from errorfloor.support import Interval
    >>> column = ReleasedColumn.plan("kwh", Interval(0, 0.5), unit="kWh", out_of_range="refuse", nulls="keep")
    >>> Release(Path("out.parquet"), 3, "2013-q1", "0011", (column,)).explain()
    'kwh: each released number minus the true one lies certainly in 0 … 0.5 kWh, in steps of 0.001 kWh; ...'
    """

    target: Path
    rows: int
    batch: str
    key_id: str
    columns: tuple[RuledColumn, ...]
    unchanged: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        return {
            "batch": self.batch,
            "key_id": self.key_id,
            "rows": self.rows,
            "columns": [column.describe() for column in self.columns],
            "published_unchanged": list(self.unchanged),
            "left_out": list(self.left_out),
            "scope": "one release: floors do not hold for several releases of the same values together",
        }

    def explain(self) -> str:
        """Say it, a paragraph a column."""
        parts = [column.explain() for column in self.columns]
        if self.unchanged:
            parts.append(f"published as they are: {', '.join(self.unchanged)}")
        if self.left_out:
            parts.append(f"left out, because they are not declared public: {', '.join(self.left_out)}")
        return "\n".join(parts)


@dataclass(frozen=True)
class ChargedRelease(Release):
    """The same for a declared table, with the accounts that were charged and how they stand now.

    ``fresh`` says of each column whether it was charged by this release; it is False for what had been charged before.
    Of a table that grows, ``new_parts`` names the parts that were charged now. Neither goes into the released file,
    which is the same whenever it is made.

    >>> ChargedRelease(Path("out.csv"), 3, "q1", "0011", (), table="meters", version="1").to_dict()["table"]
    'meters'
    """

    table: str = ""
    version: str = ""
    fresh: tuple[bool, ...] = ()
    new_parts: tuple[str, ...] | None = None
    standings: "tuple[Standing, ...]" = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the report as plain data."""
        plain = super().to_dict() | {
            "table": self.table,
            "version": self.version,
            "scope": "this release alone; what all answers about the table give away is in its ledger",
        }
        if self.standings:
            plain |= {"fresh": list(self.fresh), "accounts": [standing.to_dict() for standing in self.standings]}
        if self.new_parts is not None:
            plain["new_parts"] = list(self.new_parts)
        return plain

    def explain(self) -> str:
        """Say it, a paragraph a column and a line an account."""
        return "\n".join([super().explain(), *explained(self.standings)])


@dataclass(frozen=True)
class Column:
    """How a column is released: its noise or policy, and what is declared of its numbers.

    ``noise`` is an interval that the noise must not leave, or a noise; or a policy, whose draws at the true values then
    stand in place of them and never leave its outputs. ``out_of_range`` is "refuse" or "clamp" for what lies outside
    the ``range``; ``nulls`` is "keep" or "refuse"; ``step`` is that of the lattice on which numbers leave.

    >>> Column(Interval(0, 0.5), range=(0, 50), unit="kWh").nulls
    'keep'
    """

    noise: Noise | Interval | Policy
    range: tuple[float, float] | None = field(default=None, kw_only=True)
    unit: str = field(default="", kw_only=True)
    step: str | None = field(default=None, kw_only=True)
    out_of_range: str = field(default="refuse", kw_only=True)
    nulls: str = field(default="keep", kw_only=True)


Wanted = Noise | Interval | Policy | Column


@dataclass(frozen=True)
class Request:
    """A release that makes sense in itself; no data has been looked at."""

    columns: tuple[RuledColumn, ...]
    key: tuple[str, ...]
    batch: str
    ring: KeyRing | None = field(default=None, repr=False)
    public: tuple[str, ...] = ()
    again: bool = False
    overwrite: bool = False
    progress: Callable[[int], None] | None = None
    declared: tuple[Part, ...] | None = None

    @property
    def keys(self) -> KeyRing:
        """The custodian's keys; a declared table is drawn with the one that its database uses."""
        assert self.ring is not None
        return self.ring

    @property
    def naming(self) -> Part:
        """What the noise is named by: the batch and, of a declared table, which snapshot it is.

        A text and a tuple are never one part of a label, so declared and undeclared releases share no noise.
        """
        return self.batch if self.declared is None else (SAMPLER, *self.declared, self.batch)

    def choose(self, schema: pa.Schema) -> tuple[list[str], tuple[str, ...]]:
        """Give the columns that will be published, in the source's order, and those that will not."""
        if len({name.lower() for name in schema.names}) < len(schema.names):
            raise InputError("the table has two columns with the same name: rename one")
        wanted = {*self.key, *(column.name for column in self.columns), *self.public}
        for name in wanted:
            if name not in schema.names:
                near = get_close_matches(name, schema.names, 1)
                hint = f": did you mean {near[0]}?" if near else ": its columns have other names"
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


def plan_columns(columns: Mapping[str, Wanted], key: Sequence[str], batch: str) -> tuple[RuledColumn, ...]:
    """Check what was asked for and plan every column; nothing is read yet."""
    if not columns:
        raise InputError("name at least one column to release, with its noise")
    if isinstance(key, str) or not key or len(set(key)) < len(key):
        raise InputError("key must be a list of different columns that together identify a row")
    if not isinstance(batch, str) or not batch.strip():
        raise InputError("batch must be a name that no release of other data has used, such as 2013-q1")
    if both := set(columns) & set(key):
        raise InputError(f"{', '.join(sorted(both))} cannot be both key and released: the key is published as it is")
    return tuple(_planned(name, as_column(wanted)) for name, wanted in columns.items())


def as_column(wanted: Wanted) -> Column:
    """Give how a column is released, where perhaps nothing but its noise is said."""
    return wanted if isinstance(wanted, Column) else Column(wanted)


def _planned(name: str, column: Column) -> RuledColumn:
    rules: dict[str, Any] = {
        "step": column.step,
        "range": _range(name, column.range),
        "unit": column.unit,
        "out_of_range": column.out_of_range,
        "nulls": column.nulls,
    }
    if isinstance(column.noise, Policy):  # which has values of its own
        return AnsweredColumn.plan(name, column.noise, **rules)
    if column.out_of_range == "clamp" and column.range is None:
        raise InputError(f"clamping needs a range: say which numbers {name} may be, range=(low, high)")
    return ReleasedColumn.plan(name, column.noise, **rules)


def _range(name: str, given: Any) -> tuple[float, float] | None:
    if given is None:
        return None
    try:
        low, high = given
        interval = Interval(low, high)
    except (TypeError, ValueError) as problem:
        raise InputError(f"the range of {name} must be a pair (low, high) with low < high: {problem}") from None
    return interval.low, interval.high
