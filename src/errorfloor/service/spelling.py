"""Texts that a question compares with a public column, and that no row has: misspelt ones are refused.

Without this a mean over `gender = 'Male'`, where rows say male, would be a mean of nothing, and one over
`region IN ('North', 'south')` a mean of fewer rows than were meant. Public columns alone are read.
"""

from collections.abc import Sequence

from errorfloor.catalogue.near import nearest
from errorfloor.engines import Engine
from errorfloor.errors import RefusedError
from errorfloor.pricing import Bounds, FactsCache
from errorfloor.sql.plan import Among, Compare, Literal, TableColumn
from errorfloor.sql.question import Question, walk
from errorfloor.vault import Snapshot

MOST_VALUES = 1000  # of a column, among which a near one is looked for


def check_spelling(
    question: Question, snapshots: Sequence[Snapshot], bounded: Bounds, engine: Engine, cache: FactsCache
) -> None:
    """Refuse a text that differs from values of its column only in capitals or spaces around it.

    Where no row is left, also one that is near to a value.
    """
    empty = not any(one.defined.any() for one in bounded.outputs)
    for column, texts in _compared(question).items():
        at = snapshots[column.place]
        key = ("spelt", at.identity, column.name, tuple(sorted(texts)), empty)
        found: dict[str, str] | None = cache.find(key)
        if found is None:
            found = _misspelt(column, sorted(texts), at, engine, empty=empty)
            cache.keep(key, found, len(texts) + 1)
        for text, meant in found.items():
            raise RefusedError(
                f"no row of {at.table_name} has {column.name} = {text!r}: did you mean {meant!r}?", reason="value"
            )


def _compared(question: Question) -> dict[TableColumn, set[str]]:
    """Give the texts that public columns are compared with, by column."""
    found: dict[TableColumn, set[str]] = {}
    for node in walk(question):
        match node:
            case Compare(operator="=" | "<>", left=TableColumn() as column, right=Literal(value=str() as text)):
                found.setdefault(column, set()).add(text)
            case Compare(operator="=" | "<>", left=Literal(value=str() as text), right=TableColumn() as column):
                found.setdefault(column, set()).add(text)
            case Among(value=TableColumn() as column, choices=choices):
                texts = {one.value for one in choices if isinstance(one, Literal) and isinstance(one.value, str)}
                found.setdefault(column, set()).update(texts)
    return {column: texts for column, texts in found.items() if texts and column.type == "text" and not column.private}


def _misspelt(
    column: TableColumn, texts: Sequence[str], at: Snapshot, engine: Engine, *, empty: bool
) -> dict[str, str]:
    name = at.columns[column.name]
    listed = ", ".join(engine.dialect.literal(_plain(text)) for text in texts)
    same = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE lower(trim({name})) IN ({listed})"
    there = engine.query(same).column("v").to_pylist()
    absent = [text for text in texts if text not in there]
    found = {text: value for text in absent for value in there if _plain(text) == _plain(value)}
    if empty and absent and not found:
        some = f"SELECT DISTINCT {name} AS v FROM {at.relation} WHERE {name} IS NOT NULL LIMIT {MOST_VALUES}"
        values = engine.query(some).column("v").to_pylist()
        near = {text: nearest(text, values) for text in absent}
        found = {text: value for text, value in near.items() if value is not None}
    return found


def _plain(text: str) -> str:
    return text.strip(" ").lower()
