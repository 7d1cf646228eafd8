"""Names: which columns a question can see, and what they are."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from sqlglot import exp

from errorfloor.catalogue.model import Table
from errorfloor.sql.plan import Column, Condition, Join, ScalarType
from errorfloor.sql.refusals import Wording, near

ROW_NUMBERS = ("rowid", "rownum", "_rowid_", "ctid", "rownumber")


@dataclass(frozen=True)
class Visible:
    """A column under the name by which the question can use it; a merged one needs its table's name before it."""

    qualifier: str
    name: str
    column: Column
    unit: str
    merged: bool = False


@dataclass(frozen=True)
class Relation:
    """Rows of a table, with public tables joined to it, that fulfil a condition, under visible names."""

    words: Wording
    table: str
    version: str
    joins: tuple[Join, ...]
    where: Condition
    columns: tuple[Visible, ...]

    def find(self, node: exp.Column) -> Visible:
        """Give the column that a name means."""
        self.words.only(node, "this", "table")
        qualifier = name_of(node.args["table"], self.words) if node.args.get("table") else None
        return self.named(node.this, qualifier, node)

    def named(self, identifier: exp.Expression, qualifier: str | None, node: exp.Expression) -> Visible:
        """Give the column of this name; ``node`` is what a refusal quotes."""
        name = name_of(identifier, self.words)
        if qualifier is not None and not any(same(visible.qualifier, qualifier) for visible in self.columns):
            known = {visible.qualifier for visible in self.columns}
            advice = near(qualifier, known) or "tables here: " + ", ".join(sorted(known))
            raise self.words.refusal(node, "table", f"names a table that is not in FROM; {advice}")
        found = list(self._matching(name, qualifier))
        if not found:
            if name.lower() in ROW_NUMBERS:
                raise self.words.refusal(node, "random", "depends on where rows are kept: use the declared row key")
            known = {visible.name for visible in self.columns}
            advice = near(name, known) or "columns here: " + ", ".join(sorted(known))
            raise self.words.refusal(node, "column", f"is not a column here; {advice}")
        if len(found) > 1:
            tables = " or ".join(f"{visible.qualifier}.{visible.name}" for visible in found)
            raise self.words.refusal(node, "column", f"could be {tables}: say which")
        return found[0]

    def _matching(self, name: str, qualifier: str | None) -> Iterator[Visible]:
        for visible in self.columns:
            fits = not visible.merged if qualifier is None else same(visible.qualifier, qualifier)
            if fits and same(visible.name, name):
                yield visible

    def renamed(self, qualifier: str) -> "Relation":
        """Give the same rows under another table name."""
        return replace(self, columns=tuple(replace(visible, qualifier=qualifier) for visible in self.columns))


def columns_of(table: Table, qualifier: str, place: int, *, left_joined: bool = False) -> tuple[Visible, ...]:
    """Give the columns of a declared table; which of them may be null follows from the declaration."""
    visible = [
        Visible(
            qualifier,
            name,
            Column(place, name, "number", True, private.resolution, private.nulls == "public" or left_joined),
            private.unit,
        )
        for name, private in table.private.items()
    ]
    for name, public in table.public.items():
        kind: ScalarType = "number" if public.type in ("whole", "number") else public.type  # type: ignore[assignment]
        nullable = left_joined or name not in table.row_key
        visible.append(Visible(qualifier, name, Column(place, name, kind, False, public.step, nullable), public.unit))
    return tuple(visible)


def name_of(identifier: exp.Expression, words: Wording) -> str:
    """Give the text of a plain name."""
    if type(identifier) is not exp.Identifier:
        raise words.unanswered(identifier)
    words.only(identifier, "this", "quoted")
    return str(identifier.this)


def same(one: str, two: str) -> bool:
    """Tell whether two names are the same: capital letters do not matter, quoted or not.

    >>> same("kWh", "KWH"), same("K", "\N{KELVIN SIGN}")
    (True, False)
    """
    return one.isascii() == two.isascii() and one.lower() == two.lower()
