"""Values that a question compares with a public column, and that no row has: misspelt ones are refused, others said.

Without this a mean over `gender = 'Male'`, where rows say male, would be a mean of nothing, and one over
`region IN ('North', 'south')` a mean of fewer rows than were meant. Public columns alone are read.
"""

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.catalogue.near import nearest
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.pricing import Bounds, FactsCache
from errorfloor.pricing.words import number
from errorfloor.sql.plan import Among, Compare, Literal, TableColumn
from errorfloor.sql.question import Question, walk
from errorfloor.vault import Snapshot

Value = str | datetime.date | bool | Fraction
MOST_VALUES = 1000  # of a column, among which a near one is looked for
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


def check_spelling(
    question: Question, snapshots: Sequence[Snapshot], bounded: Bounds, engine: Engine, cache: FactsCache
) -> tuple[Absent, ...]:
    """Refuse a text that differs from values of its column only in capitals or spaces around it.

    Where no row is left, also one that is near to a value. Give those that no row has and that are near to none; of
    numbers, days and flags where no row is left.
    """
    empty = not bounded.rows.any() or not any(one.defined.any() for one in bounded.outputs)
    gone = []
    for column, values in compared(question).items():
        if column.type != "text" and not empty:
            continue
        at = snapshots[column.place]
        least = question.least if column.place == 0 else 1
        key = ("spelt", at.identity, at.whose, column.name, tuple(sorted(map(str, values))), empty, least)
        found: tuple[Mapping[str, str], Absent | None] | None = cache.find(key)
        if found is None:
            found = _looked_for(column, sorted(values), at, engine, least, empty=empty)
            cache.keep(key, found, len(values) + 1)
        meant, missing = found
        for text, value in meant.items():
            raise RefusedError(
                f"no row of {at.table_name} has {column.name} = {text!r}: did you mean {value!r}?", reason="value"
            )
        gone += [missing] if missing is not None else []
    return tuple(gone)


def compared(question: Question) -> dict[TableColumn, set[Value]]:
    """Give the values that public columns are compared with, by column."""
    found: dict[TableColumn, set[Value]] = {}
    for node in walk(question):
        pairs: list[tuple[Node, Node]] = []
        match node:
            case Compare(operator="=" | "<>", left=left, right=right):
                pairs = [(left, right), (right, left)]
            case Among(value=value, choices=choices):
                pairs = [(value, one) for one in choices]
        for one, other in pairs:
            column, constant = _column(one), _constant(other)
            if column is not None and constant is not None:
                found.setdefault(column, set()).add(constant)
    return found


def _column(node: Node) -> TableColumn | None:
    """Give the public column that something is, if it is one as it is."""
    if isinstance(node, Polynomial):
        node = next(iter(node.atoms)) if len(node.atoms) == 1 and node == Polynomial.atom(*node.atoms) else node
    return node if isinstance(node, TableColumn) and not node.private and node.type != "moment" else None


def _constant(node: Node) -> Value | None:
    match node:
        case Polynomial():
            return node.value
        case Literal():
            return node.value
    return None


def _looked_for(
    column: TableColumn, values: Sequence[Value], at: Snapshot, engine: Engine, least: int, *, empty: bool
) -> tuple[Mapping[str, str], Absent | None]:
    """Give the values that were meant by misspelt texts, and what no row has."""
    texts = [one for one in values if isinstance(one, str)]
    alike = list(_those(column, texts, at, engine)) if texts else []
    there: set[Value] = {*alike} if texts else set(_listed(column, values, at, engine))
    missing = [one for one in values if one not in there]
    astray = [text for text in texts if text not in there]
    meant = {text: value for text in astray for value in alike if _plain(text) == _plain(value)}
    if empty and astray and not meant:
        name = at.columns[column.name]
        some = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE {name} IS NOT NULL LIMIT {MOST_VALUES}"
        choices = engine.query(some).column("v").to_pylist()
        meant = {text: value for text in astray if (value := nearest(text, choices)) is not None}
    return meant, None if meant or not missing else _absent(column, missing, at, engine, least)


def _those(column: TableColumn, texts: Sequence[str], at: Snapshot, engine: Engine) -> Iterator[str]:
    """Give the values of a column that are one of some texts but for capitals and spaces around."""
    name = at.columns[column.name]
    plain = ", ".join(engine.dialect.literal(_plain(text)) for text in texts)
    same = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE lower(trim({name})) IN ({plain})"
    yield from engine.query(same).column("v").to_pylist()


def _listed(column: TableColumn, values: Sequence[Value], at: Snapshot, engine: Engine) -> list[Value]:
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
    return [_value(column, one) for one in engine.query(same).column("v").to_pylist()]


def _plain(text: str) -> str:
    return text.strip(" ").lower()


def _absent(column: TableColumn, values: Sequence[Value], at: Snapshot, engine: Engine, least: int) -> Absent:
    """Say of values that no row has which there are: those of at least ``least`` rows."""
    name, dialect = at.columns[column.name], engine.dialect
    each = f"SELECT {name} AS v FROM {at.relation} WHERE {name} IS NOT NULL GROUP BY {name} HAVING count(*) >= {least}"
    order = dialect.by_bytes("v") if column.type == "text" else "v"
    first = engine.query(f"SELECT v FROM ({each}) AS found ORDER BY {order} LIMIT {MOST_LISTED + 1}")
    there = [written(_value(column, one)) for one in first.column("v").to_pylist()]
    if len(there) > MOST_LISTED:
        ends = "" if column.type == "text" else ", min(v) AS low, max(v) AS high"
        (whole,) = engine.query(f"SELECT count(*) AS n{ends} FROM ({each}) AS found").to_pylist()
        if column.type == "text":
            there = [*there[:MOST_LISTED], f"{whole['n'] - MOST_LISTED:,} more"]
        else:
            low, high = (written(_value(column, whole[end])) for end in ("low", "high"))
            there = [f"{whole['n']:,} values, from {low} to {high}"]
    said = f"there {'is' if len(there) == 1 and ' values' not in there[0] else 'are'} {joined(there, 'and')}"
    nothing = f"no value of {column.name} has so many" if least > 1 else f"{column.name} is missing in all of them"
    named = tuple(map(written, values))
    return Absent(where(at), column.name, named, said if there else nothing)


def where(at: Snapshot) -> str:
    """Say which rows were looked at: those of a table, or of the parts of one that grows."""
    return f"the parts of {at.table_name} that are read" if at.parts else at.table_name


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


def _value(column: TableColumn, stored: Any) -> Value:
    """Read a stored value: a number is stored as a whole number of steps."""
    value: Value = stored if column.step is None else int(stored) * column.step
    return value
