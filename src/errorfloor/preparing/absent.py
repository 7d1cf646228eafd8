"""What is said of values that no row has, and which values there are instead: of public columns alone."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from errorfloor.engines import Engine
from errorfloor.preparing.spelling import Value
from errorfloor.pricing.words import number
from errorfloor.sql.plan import TableColumn
from errorfloor.vault import Snapshot

MOST_NAMED = 3  # values that a question compares with, of those that no row has
MOST_LISTED = 10  # values that there are
LONGEST = 40  # characters of one


@dataclass(frozen=True)
class Absent:
    """Values that a question compares a public column with and that no row has, and in words which there are.

    >>> Absent("pay", "region", ("'Ulm'", "'Kiel'"), "there are 'north' and 'south'").explain()
    "No row of pay has region = 'Ulm' or 'Kiel': there are 'north' and 'south'."
    """

    table: str
    column: str
    values: tuple[str, ...]
    there: str

    def explain(self) -> str:
        """Say it in a sentence."""
        more = len(self.values) - MOST_NAMED
        named = [*self.values[:MOST_NAMED], *([f"{more:,} more"] if more > 0 else [])]
        return f"No row of {self.table} has {self.column} = {joined(named, 'or')}: {self.there}."

    def among(self, values: Iterable[Value]) -> Self:
        """Give what is said of it where these values alone are compared."""
        named = {written(one) for one in values}
        return replace(self, values=tuple(one for one in self.values if one in named))

    def to_dict(self) -> dict[str, Any]:
        """Give it as plain JSON types."""
        return {"table": self.table, "column": self.column, "values": list(self.values), "there": self.there}

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` gave.

        >>> one = Absent("pay", "born", ("2050",), "there are 99 values, from 1900 to 1999")
        >>> Absent.from_dict(one.to_dict()) == one
        True
        """
        return cls(plain["table"], plain["column"], tuple(plain["values"]), plain["there"])


def absent(column: TableColumn, values: Sequence[Value], at: Snapshot, engine: Engine, least: int) -> Absent:
    """Say of values that no row has which there are: those of at least ``least`` rows."""
    name, dialect = at.columns[column.name], engine.dialect
    each = f"SELECT {name} AS v FROM {at.relation} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) >= {least}"
    order = dialect.by_bytes("v") if column.type == "text" else "v"
    first = engine.query(f"SELECT v FROM ({each}) AS found ORDER BY {order} LIMIT {MOST_LISTED + 1}")
    there = [written(_read(column, one)) for one in first.column("v").to_pylist()]
    if len(there) > MOST_LISTED:
        ends = "" if column.type == "text" else ", min(v) AS low, max(v) AS high"
        (whole,) = engine.query(f"SELECT count(*) AS n{ends} FROM ({each}) AS found").to_pylist()
        if column.type == "text":
            there = [*there[:MOST_LISTED], f"{whole['n'] - MOST_LISTED:,} more"]
        else:
            low, high = (written(_read(column, whole[end])) for end in ("low", "high"))
            there = [f"{whole['n']:,} values, from {low} to {high}"]
    said = f"there {'is' if len(there) == 1 and ' values' not in there[0] else 'are'} {joined(there, 'and')}"
    nothing = f"no value of {column.name} has so many" if least > 1 else f"{column.name} is missing in all of them"
    named = tuple(map(written, values))
    return Absent(where(at), column.name, named, said if there else nothing)


def where(at: Snapshot) -> str:
    """Say which rows were looked at: those of a table, or of the parts of one that grows."""
    return f"the parts of {at.table_name} that are read" if at.parts else at.table_name


def listed(column: TableColumn, values: Sequence[Value], at: Snapshot, engine: Engine) -> list[Value]:
    """Give those of some numbers, days or flags that a column has."""
    name, dialect = at.columns[column.name], engine.dialect
    constants = []
    for one in values:
        if not isinstance(one, Fraction):
            constants.append(dialect.literal(one))
        elif column.step is not None and (steps := one / column.step).denominator == 1:
            constants.append(dialect.integer(steps.numerator))
    if not constants:
        return []
    same = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE {name} IN ({', '.join(constants)})"
    return [_read(column, one) for one in engine.query(same).column("v").to_pylist()]


def written(value: Value) -> str:
    """Write a value as a question does; a long text is cut off.

    >>> from datetime import date
    >>> written("north"), written(Fraction(5, 2)), written(date(2026, 1, 1)), written(True)
    ("'north'", '2.5', '2026-01-01', 'true')
    """
    match value:
        case bool():
            return "true" if value else "false"
        case Fraction():
            return number(value)
        case str():
            return repr(value if len(value) <= LONGEST else f"{value[:LONGEST]}…")
    return value.isoformat()


def joined(names: Sequence[str], word: str) -> str:
    """Join names as a sentence does.

    >>> joined(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f" {word} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _read(column: TableColumn, stored: Any) -> Value:
    """Read a stored value: a number is stored as a whole number of steps."""
    value: Value = stored if column.step is None else int(stored) * column.step
    return value
