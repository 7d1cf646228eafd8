"""What is said about a release."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from errorfloor.accounts import explained
from errorfloor.bulk.ruled import RuledColumn

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
