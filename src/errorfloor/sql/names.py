"""Names: which columns a question can see, what they are, and what is selected without a name of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from errorfloor.catalogue.model import Table
from errorfloor.errors import RefusedError
from errorfloor.sql.plan import Condition, ScalarType, TableColumn
from errorfloor.sql.question import Join, QuestionOutput
from errorfloor.sql.refusals import Wording, near

ROW_NUMBERS = ("rowid", "rownum", "_rowid_", "ctid", "rownumber")
NAMES: dict[type[exp.Expression], str] = {
    exp.VariancePop: "var_pop",
    exp.Variance: "var_samp",
    exp.StddevPop: "stddev_pop",
    exp.StddevSamp: "stddev_samp",
    exp.CovarPop: "covar_pop",
    exp.CovarSamp: "covar_samp",
    exp.RegrSlope: "regr_slope",
    exp.DayOfWeekIso: "isodow",
    exp.DayOfMonth: "day",
    exp.WeekOfYear: "week",
}
NO_NAMES: tuple[type[exp.Expression], ...] = (exp.Cast, exp.Case, exp.Pow, exp.And, exp.Or)
LONGEST = 40


@dataclass(frozen=True)
class Visible:
    """A column under the name by which the question can use it; a merged one needs its table's name before it."""

    qualifier: str
    name: str
    column: TableColumn
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
    is_exact: bool = False  # whether every value may be compared: those of a table that protects records

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
            text = f"a text is written '{name}'; " if _is_operand(node) else ""
            advice = near(name, known) or f"{text}columns here: " + ", ".join(sorted(known))
            raise self.words.refusal(node, "column", f"is not a column here; {advice}")
        if len(found) > 1:
            tables = " or ".join(f"{visible.qualifier}.{visible.name}" for visible in found)
            raise self.words.refusal(node, "column", f"is ambiguous, it could be {tables}: say which")
        return found[0]

    def _matching(self, name: str, qualifier: str | None) -> Iterator[Visible]:
        for visible in self.columns:
            fits = not visible.merged if qualifier is None else same(visible.qualifier, qualifier)
            if fits and same(visible.name, name):
                yield visible

    def renamed(self, qualifier: str) -> "Relation":
        """Give the same rows under another table name."""
        return replace(self, columns=tuple(replace(visible, qualifier=qualifier) for visible in self.columns))


def _is_operand(node: exp.Expression) -> bool:
    """Say whether something is compared, so that it may be meant for a text."""
    parent = node.parent
    return isinstance(parent, (exp.EQ, exp.NEQ, exp.Like)) or (isinstance(parent, exp.In) and parent.this is not node)


def columns_of(table: Table, qualifier: str, place: int, *, left_joined: bool = False) -> tuple[Visible, ...]:
    """Give the columns of a declared table; which of them may be null follows from the declaration."""
    visible = [
        Visible(
            qualifier,
            name,
            TableColumn(place, name, "number", True, private.resolution, private.nulls == "public" or left_joined),
            private.unit,
        )
        for name, private in table.private.items()
    ]
    for name, public in table.compared.items():
        kind: ScalarType = "number" if public.type in ("whole", "number") else public.type  # type: ignore[assignment]
        nullable = left_joined or not (name in table.row_key or table.hides_records)
        visible.append(
            Visible(qualifier, name, TableColumn(place, name, kind, False, public.step, nullable), public.unit)
        )
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


def generated(node: exp.Expression, place: int) -> str:
    """Give a readable name: avg(kwh) is avg_kwh, count(*) is count; what is longer is column_2.

    >>> from errorfloor.sql.reading import read
    >>> [generated(node, 1) for node in read("SELECT avg(exp(kwh)), count(*), tariff, avg(kwh) + 1").expressions]
    ['avg_exp_kwh', 'count', 'tariff', 'column_1']
    """
    if isinstance(node, exp.Column) and node.name.isprintable():
        return str(node.name)  # however long, it is the column's own
    words = _words(node)
    name = "_".join(words) if words else ""
    return name if name and len(name) <= LONGEST and name.isprintable() else f"column_{place}"


def _words(node: exp.Expression) -> list[str] | None:
    """Give the words of a function of columns, from the outside in; None if it is anything else."""
    if isinstance(node, (exp.Filter, exp.Paren)):
        return _words(node.this)
    if isinstance(node, exp.Column):
        return [node.name]
    if isinstance(node, (exp.Literal, exp.Star, exp.Var)):
        return []
    if isinstance(node, exp.DateTrunc):
        first = str(getattr(node.args.get("unit"), "this", "")).lower()
    elif isinstance(node, exp.Extract):
        first = str(getattr(node.this, "this", "")).lower()
    elif isinstance(node, exp.Func) and type(node) not in NO_NAMES:
        first = NAMES.get(type(node)) or (str(node.this).lower() if node.key == "anonymous" else node.key)
    else:
        return None
    words = [first]
    for child in node.iter_expressions():
        inner = _words(child)
        if inner is None:
            return None
        words += inner
    return words


def check_different(names: Sequence[str]) -> None:
    """Refuse two columns of an answer that have the same name."""
    for place, name in enumerate(names):
        if any(same(name, other) for other in names[:place]):
            raise RefusedError(f"two columns of the answer are named {name!r}: rename one with AS", reason="column")


def unique(name: str, taken: Sequence[str]) -> str:
    """Give the name, with a number behind it if it is taken.

    >>> unique("count", ["Count"])
    'count_2'
    """
    candidate, number = name, 1
    while any(same(candidate, other) for other in taken):
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def columns_shown(asked: Sequence[str], outputs: Sequence[QuestionOutput]) -> tuple[str, ...]:
    """Give the names of the columns of an answer: one or several for each thing that is asked for."""
    several: dict[str, dict[str, None]] = {}
    for one in outputs:
        several.setdefault(one.family, {})[one.asked_as] = None
    shown = [column for name in asked for column in several.get(name, (name,))]
    check_different(shown)
    return tuple(shown)
