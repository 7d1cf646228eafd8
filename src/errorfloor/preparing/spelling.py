"""Values that a question compares with a public column, and that no row has: misspelt ones are refused, others said.

Without this a mean over `gender = 'Male'`, where rows say male, would be a mean of nothing, and one over
`region IN ('North', 'south')` a mean of fewer rows than were meant. Public columns alone are read.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from errorfloor.arithmetic.polynomial import Node, Polynomial
from errorfloor.catalogue.near import nearest
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.pricing import Bounds, FactsCache
from errorfloor.sql.plan import Among, Compare, Literal, TableColumn
from errorfloor.sql.question import Question, walk
from errorfloor.vault import Snapshot

if TYPE_CHECKING:
    from errorfloor.preparing.absent import Absent

Value = str | datetime.date | bool | Fraction
MOST_VALUES = 1000  # of a column, among which a near one is looked for


def check_spelling(
    question: Question, snapshots: Sequence[Snapshot], bounded: Bounds, engine: Engine, cache: FactsCache
) -> "tuple[Absent, ...]":
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
) -> "tuple[Mapping[str, str], Absent | None]":
    """Give the values that were meant by misspelt texts, and what no row has."""
    from errorfloor.preparing.absent import absent, listed  # loaded where it is needed: few questions name values

    texts = [one for one in values if isinstance(one, str)]
    alike = list(_those(column, texts, at, engine)) if texts else []
    there: set[Value] = {*alike} if texts else set(listed(column, values, at, engine))
    missing = [one for one in values if one not in there]
    astray = [text for text in texts if text not in there]
    meant = {text: value for text in astray for value in alike if _plain(text) == _plain(value)}
    if empty and astray and not meant:
        name = at.columns[column.name]
        some = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE {name} IS NOT NULL LIMIT {MOST_VALUES}"
        choices = engine.query(some).column("v").to_pylist()
        meant = {text: value for text in astray if (value := nearest(text, choices)) is not None}
    return meant, None if meant or not missing else absent(column, missing, at, engine, least)


def _those(column: TableColumn, texts: Sequence[str], at: Snapshot, engine: Engine) -> Iterator[str]:
    """Give the values of a column that are one of some texts but for capitals and spaces around."""
    name = at.columns[column.name]
    plain = ", ".join(engine.dialect.literal(_plain(text)) for text in texts)
    same = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE lower(trim({name})) IN ({plain})"
    yield from engine.query(same).column("v").to_pylist()


def _plain(text: str) -> str:
    return text.strip(" ").lower()
